"""What a session keeps of statements that are asked again: nothing that another would miss."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from support.templates import vault_of

from sqlpriv import dialect as sql_dialect
from sqlpriv.answer.tails.noised_columns import TailInput
from sqlpriv.dialect.lowering import current_day
from sqlpriv.errors import BudgetExhausted, Refused
from sqlpriv.kernel.ledger import records
from sqlpriv.kernel.proof.charged_units import largest_sum
from sqlpriv.kernel.terms.algebra import query_hash
from sqlpriv.kernel.terms.budget import Epsilon
from sqlpriv.session.access import kept_statements
from sqlpriv.session.access.kept_statements import MOST, KeptStatements
from sqlpriv.session.queries import lasting_answers, private_steps, runner, step_runner
from sqlpriv.session.queries.programs import gate_requests, kept_programs
from sqlpriv.session.session import Session

MAKE = """
CREATE TABLE people (id BIGINT PRIMARY KEY, sex VARCHAR, income BIGINT);
INSERT INTO people SELECT range, ['f', 'm'][1 + range % 2], range % 100 FROM range(1000);
CREATE TABLE places (name VARCHAR, size BIGINT);
INSERT INTO places VALUES ('f', 400), ('m', 600);
ALTER TABLE places SET PUBLIC;
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm');
ALTER TABLE people ALTER COLUMN income SET PRIVACY DOMAIN BETWEEN (0, 99) NOT NULL;
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1000)
"""
GROUPED = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {}) {} FROM people GROUP BY sex"
COUNTED = "sex, COUNT(*) AS n, AVG(income) AS a"
Counter = Callable[[], int]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return vault_of(MAKE, tmp_path / "v.duckdb")


@pytest.fixture
def analyst(vault: Path):
    with Session(vault) as session:
        yield session


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> Counter:
    """How often a statement was planned."""
    made: list[object] = []
    plan = private_steps.plan
    monkeypatch.setattr(
        private_steps, "plan", lambda *args, **more: made.append(args) or plan(*args, **more)
    )
    return lambda: len(made)


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> Counter:
    """How often an allowance was opened: never for kept answers."""
    opened: list[object] = []

    def open_allowance(*args: object, **options: object) -> object:
        opened.append(args)
        return allowance(*args, **options)

    allowance = step_runner.Allowance
    monkeypatch.setattr(step_runner, "Allowance", open_allowance)
    return lambda: len(opened)


def rows(session: Session, text: str) -> list[dict[str, object]]:
    table = session.execute(text).table
    assert isinstance(table, pa.Table)
    return table.to_pylist()


def test_a_replay_is_planned_and_looked_up_once(
    analyst: Session, plans: Counter, released: Counter
) -> None:
    text = GROUPED.format(1, COUNTED)
    first = analyst.execute(text)
    again = [analyst.execute(text) for _ in range(4)]
    assert plans() == 1
    assert released() == 2  # the fresh one, and the first replay
    assert first.price is not None
    assert first.price.nano == 10**9
    for result in again:
        assert result.table.to_pylist() == first.table.to_pylist()
        assert (result.price, result.epsilon) == (type(first.price)(0), 0.0)
        assert (result.half_widths, result.message) == (again[0].half_widths, again[0].message)


AROUND = "SELECT sex, n * 2 AS twice FROM ({}) ORDER BY sex"


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> Counter:
    """How often a tail was run over moved answers."""
    asked: list[object] = []
    find = runner.tail_half_widths
    monkeypatch.setattr(runner, "tail_half_widths", lambda *args: asked.append(args) or find(*args))
    return lambda: len(asked)


def test_half_widths_of_plain_sql_are_found_once(analyst: Session, moved: Counter) -> None:
    text = AROUND.format(GROUPED.format(1, COUNTED))
    first = analyst.execute(text)
    again = [analyst.execute(text) for _ in range(3)]
    assert moved() == 1
    assert first.half_widths["twice"]
    for result in again:
        assert result.table.equals(first.table)
        assert (result.half_widths, result.summed) == (first.half_widths, first.summed)


def test_half_widths_of_other_rows_are_found_anew(analyst: Session, moved: Counter) -> None:
    """Of rows that change by themselves, and of answers to another price."""
    text = f"SELECT sex, n + random() AS n FROM ({GROUPED.format(1, COUNTED)})"
    for _ in range(3):
        analyst.execute(text)
    assert moved() == 3
    cheap = analyst.execute(AROUND.format(GROUPED.format(0.25, COUNTED)))
    dear = analyst.execute(AROUND.format(GROUPED.format(4, COUNTED)))
    assert moved() == 5
    assert cheap.half_widths["twice"] != dear.half_widths["twice"]


def test_a_tail_of_other_answers_is_another_one() -> None:
    """One whose rows happen to be the same."""
    rows, plan = pa.table({"n": [1.0, 2.0]}), SimpleNamespace()
    inputs = {"w": TailInput(plan, rows, {"n": [3.0, None]})}
    kept = kept_programs.KeptTail(inputs, rows, {}, {})
    assert kept.is_of(inputs, rows)
    assert not kept.is_of(inputs, rows.slice(1))
    assert not kept.is_of({"w": TailInput(plan, rows.slice(1), {"n": [3.0, None]})}, rows)
    assert not kept.is_of({"w": TailInput(plan, rows, {"n": [4.0, None]})}, rows)


def test_each_replay_is_recorded(analyst: Session) -> None:
    text = GROUPED.format(1, "sex, COUNT(*) AS n")
    for _ in range(5):
        analyst.execute(text)
    db = analyst._access.kernel.ledger.store.db
    assert db.execute("SELECT count(*) FROM replay").fetchone() == (4,)
    assert db.execute("SELECT count(*) FROM statement").fetchone() == (5,)
    assert db.execute("SELECT count(*) FROM charge").fetchone() == (1,)


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm', 'x')",
        "INSERT INTO people VALUES (5000, 'f', 3)",
        "ALTER TABLE people SET PRIVACY BOUND (rows_per_unit = 2)",
    ],
)
def test_what_another_session_declares_or_writes_counts(
    vault: Path, analyst: Session, change: str
) -> None:
    text = GROUPED.format(1, COUNTED)
    for _ in range(3):
        analyst.execute(text)
    with Session(vault, role="owner") as owner:
        owner.execute(change)
    anew = analyst.execute(text)
    assert anew.price is not None
    assert anew.price.nano == 10**9
    assert anew.table.num_rows == 2 + ("'x'" in change)


def test_another_budget_is_planned_for(vault: Path, analyst: Session, plans: Counter) -> None:
    text = GROUPED.format(1, COUNTED)
    for _ in range(3):
        analyst.execute(text)
    with Session(vault, role="owner") as owner:
        owner.execute("ALTER TABLE people SET PRIVACY BUDGET (epsilon = 2000)")
    analyst.execute(text)
    assert plans() == 2


def test_earlier_charges_are_added_up_before_a_charge_alone(
    analyst: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That grows with the number of their filters; planning and replays need the budget's kind."""
    added: list[object] = []
    monkeypatch.setattr(
        records, "largest_sum", lambda *args: added.append(args) or largest_sum(*args)
    )
    for epsilon in (1, 1, 2):
        analyst.execute(GROUPED.format(epsilon, COUNTED))
    assert len(added) == 1  # nothing was there before the first, and the second is a replay


def test_a_budget_that_another_session_declares_counts(tmp_path: Path) -> None:
    vault = vault_of(
        MAKE.replace("ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1000)", ""),
        tmp_path / "w.duckdb",
    )
    with Session(vault) as analyst:
        with pytest.raises(Refused, match="no budget is declared"):
            analyst.execute(GROUPED.format(1, COUNTED))
        with Session(vault, role="owner") as owner:
            owner.execute("ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1000)")
        assert analyst.execute(GROUPED.format(1, COUNTED)).price == Epsilon(10**9)


def test_a_statement_that_pays_names_no_query_to_keep_its_answers_by(
    analyst: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    named: list[object] = []
    monkeypatch.setattr(
        kept_programs, "query_hash", lambda asked: named.append(asked) or query_hash(asked)
    )
    analyst.execute(GROUPED.format(1, COUNTED))
    assert not named
    analyst.execute(GROUPED.format(1, COUNTED))
    assert named


def test_settings_count(analyst: Session) -> None:
    text = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
    prices = []
    for epsilon in (1, 2, 2, 3):
        analyst.execute(f"SET privacy_epsilon = {epsilon}")
        prices.append(analyst.execute(text).price.nano)
    assert prices == [10**9, 2 * 10**9, 0, 3 * 10**9]


def test_an_answer_that_another_session_bought_dearer_is_taken(
    vault: Path, analyst: Session
) -> None:
    """At a lower price the dearest seal is replayed: the one that is dearest now. The first has a
    noise of 5,000 rows, so that both of its counts are the true ones once in 10**8."""
    cheap = GROUPED.format(0.0001, "sex, COUNT(*) AS n")
    analyst.execute(GROUPED.format(0.0002, "sex, COUNT(*) AS n"))
    earlier = [rows(analyst, cheap) for _ in range(3)][-1]
    with Session(vault) as other:
        dearest = rows(other, GROUPED.format(500, "sex, COUNT(*) AS n"))
        assert rows(other, cheap) == dearest
    assert rows(analyst, cheap) == dearest != earlier


def test_an_answer_that_is_sealed_meanwhile_is_not_kept(analyst: Session) -> None:
    ledger = analyst._access.kernel.ledger
    analyst.execute(GROUPED.format(1, "sex, COUNT(*) AS n"))
    hashes = [name for (name,) in ledger.store.db.execute("SELECT query_hash FROM seal")]
    lookups = kept_programs.Lookups()
    lookups.hashes = frozenset(hashes)
    last = kept_programs.last_seal(ledger)
    for before, is_kept in ((last, True), (last - 1, False)):
        kept = kept_programs.ReplayedAnswers.keep((), {}, lookups, ledger, before)
        assert (kept is not None) is is_kept


def test_outputs_of_the_moment_are_computed_each_time(analyst: Session) -> None:
    text = GROUPED.format(1, "sex, COUNT(*) AS n, random() AS r")
    numbers = {row["r"] for _ in range(5) for row in rows(analyst, text)}
    assert len(numbers) == 10


def test_subqueries_are_answered_each_time(
    analyst: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it cannot be seen beforehand that their answers differ."""
    monkeypatch.setattr(lasting_answers, "_OF_THE_MOMENT", frozenset())
    inside = "income < (SELECT max(size) * random() FROM places)"
    priced = "WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1)"
    text = f"SELECT {priced} COUNT(*) FROM people WHERE {inside}"
    prices = [analyst.execute(text).price.nano for _ in range(3)]
    assert prices == [10**9] * 3


def test_a_target_is_priced_each_time() -> None:
    text = GROUPED.format(1, "sex, COUNT(*) AS n")
    priced, target = (
        KeptStatements().read(sql, None, "duckdb")[0]
        for sql in (text, text.replace("epsilon = 1", "max_relative_error = .1"))
    )
    assert gate_requests.has_lasting_plan(priced)
    assert not gate_requests.has_lasting_plan(target)


def test_few_statements_are_kept(analyst: Session) -> None:
    for number in range(2 * MOST):
        rows(analyst, f"SELECT {number} AS n")
        analyst.quote(GROUPED.format(1 + number / 1000, "sex, COUNT(*) AS n"))
    assert len(analyst._kept_statements._queries) == MOST
    assert len(analyst._statements._queries.kept._programs) == MOST


def test_texts_are_told_apart_by_parameters_and_dialect() -> None:
    kept = KeptStatements()
    text = "SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) FROM people WHERE income < ?"
    read = [kept.read(text, [value], "duckdb")[0].where for value in (1, 1.0, True, "1")]
    assert len({repr(where) for where in read}) == 4
    assert kept.read(text, [1], "duckdb") is kept.read(text, [1], "duckdb")
    assert kept.read(text, [1], "postgres") is not kept.read(text, [1], "duckdb")
    named = text.replace("?", "$a + $b")
    one, other = (kept.read(named, {"a": a, "b": b}, "duckdb") for a, b in ((1, 2), (2, 1)))
    assert one != other


PRICED = (
    "  SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (Epsilon = {}, report = 'short') {} FROM people"
)


@pytest.mark.parametrize(
    ("shape", "prices", "dialect", "parameters"),
    [
        (GROUPED, ("0.75", "0.50", "1.25"), "duckdb", None),
        (GROUPED.replace("epsilon", "rho") + "; -- again", ("1", "2", "3"), "duckdb", None),
        (PRICED + " WHERE income < $a", ("1.5", "2.5", "0.5"), "duckdb", {"a": 1.5}),
        (PRICED.replace("report = 'x'", "max_rows_contributed = 5"), "123", "bigquery", None),
    ],
)
def test_a_text_says_the_same_at_a_third_price(
    shape: str, prices: tuple[str, ...], dialect: str, parameters: dict[str, float] | None
) -> None:
    kept, texts = KeptStatements(), [shape.format(price, "COUNT(*), 1.5 AS x") for price in prices]
    read = [kept.read(text, parameters, dialect)[0] for text in texts]
    for text, select in zip(texts, read, strict=True):
        (afresh,) = sql_dialect.read_parts(text, parameters, dialect)
        assert repr(select) == repr(afresh)
        assert select.origin.text == afresh.origin.text
        assert select.origin.place_of("people") == afresh.origin.place_of("people")


def test_parameters_that_change_later_are_those_that_were_given() -> None:
    kept, text, given = KeptStatements(), PRICED + " WHERE income < ?", [1]
    for price in (1, 2):
        kept.read(text.format(price, "COUNT(*)"), given, "duckdb")
    (select,) = kept.read(text.format(3, "COUNT(*)"), given, "duckdb")
    given[0] = 2
    assert list(select.origin.values().values()) == [1]


def test_texts_at_new_prices_are_told_apart_by_parameters_and_dialect() -> None:
    kept, text = KeptStatements(), PRICED.replace("report = 'x'", "max_rows_contributed = 5")
    text += " WHERE income < ?"
    for price in (1, 2, 3):
        kept.read(text.format(price, "COUNT(*)"), [1], "duckdb")
    for given in (([1], "duckdb"), ([2], "duckdb"), ([1.0], "duckdb"), ([1], "postgres")):
        (read,) = kept.read(text.format(4, "COUNT(*)"), *given)
        (afresh,) = sql_dialect.read_parts(text.format(4, "COUNT(*)"), *given)
        assert repr(read) == repr(afresh)
        assert read.origin.text == afresh.origin.text


def test_a_statement_in_parts_is_answered_at_its_price(analyst: Session) -> None:
    joined = "people AS p JOIN (SELECT max(income) AS most FROM people) AS q ON p.income < q.most"
    text = GROUPED.format("{}", "sex, COUNT(*) AS n").replace("people", joined)
    prices = [analyst.execute(text.format(price)).price.nano for price in (1, 2, 3, 4)]
    assert prices == [1e9, 2e9, 3e9, 4e9]


def test_a_new_price_is_charged_under_its_own_text(analyst: Session) -> None:
    texts = [GROUPED.format(price, COUNTED) for price in (1, 2, 3, 4)]
    prices = [analyst.execute(text).price.nano for text in texts]
    assert prices == [1e9, 2e9, 3e9, 4e9]
    with analyst._access.kernel.ledger.begin() as db:
        said = db.execute("SELECT text FROM statement ORDER BY id").fetchall()
    assert [text for (text,) in said] == texts
    with pytest.raises(BudgetExhausted, match="costs epsilon = 9999"):
        analyst.execute(GROUPED.format(9999, COUNTED))


def test_today_is_another_day_tomorrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that is open over midnight: CURRENT_DATE stands in what was read as a literal."""
    kept = KeptStatements()
    text = "SELECT COUNT(*) FROM visits WHERE day < CURRENT_DATE"
    said = []
    for day in (dt.date(2026, 1, 31), dt.date(2026, 1, 31), dt.date(2026, 2, 1)):
        clock = SimpleNamespace(date=SimpleNamespace(today=lambda day=day: day))
        for module in (current_day, kept_statements):
            monkeypatch.setattr(module, "dt", clock)
        said.append(kept.read(text, None, "duckdb"))
    assert said[0] is said[1]
    assert repr(dt.date(2026, 1, 31)) in repr(said[1])
    assert repr(dt.date(2026, 2, 1)) in repr(said[2])


def test_a_declaration_in_between_is_not_lost(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that comes after the contracts were read, and before they are kept."""
    with Session(vault) as analyst:
        tables = analyst._access.tables
        read = tables.kernel.contracts

        def read_then_declare() -> object:
            monkeypatch.undo()
            read_first = read()
            with Session(vault, role="owner") as owner:
                owner.execute("ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f')")
            return read_first

        monkeypatch.setattr(tables.kernel, "contracts", read_then_declare)
        tables.kept._kept = None
        for _ in range(2):
            contracts = tables.contracts()
        labels = {c.name: c.domain for c in contracts["people"].columns}["sex"].labels
    assert labels == ("f",)
