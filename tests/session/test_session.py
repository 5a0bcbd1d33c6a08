"""The whole way, from SQL to rows: who may do what, what it costs, what is left as it was."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from support.templates import vault_of

from sqlpriv.errors import (
    BudgetExhausted,
    DeclarationError,
    InterfaceError,
    OperationalError,
    PermissionDenied,
    ProgrammingError,
    Refused,
    VaultBusy,
)
from sqlpriv.kernel.reader import Reader
from sqlpriv.session.session import Result, Session

pytestmark = pytest.mark.usefixtures("narrow_means_are_plain")

PEOPLE = """
CREATE TABLE people AS SELECT range AS id, (range % 2 + 1)::TINYINT AS sex,
    (range % 3 + 1)::TINYINT AS race, (range % 80)::TINYINT AS age,
    (range * 7 % 1000)::DOUBLE AS pay
FROM range(30000);
ALTER TABLE people ADD PRIMARY KEY (id);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN (1, 2);
ALTER TABLE people ALTER COLUMN race SET PRIVACY DOMAIN IN (1, 2, 3);
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN (0, 99);
ALTER TABLE people ALTER COLUMN pay SET PRIVACY DOMAIN BETWEEN (0, 1000);
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 3, delta = 1e-9);
CREATE TABLE shares AS SELECT * FROM (VALUES (1, 0.25), (2, 0.75)) AS v (sex, weight);
ALTER TABLE shares SET PUBLIC;
CREATE TABLE secrets AS SELECT 1 AS x;
"""
ASKED = (
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) sex, COUNT(*) AS n, AVG(pay) AS pay"
)


STAGED = f"WITH w AS ({ASKED} FROM people GROUP BY sex)"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return vault_of(PEOPLE, tmp_path / "people.duckdb")


@pytest.fixture
def analyst(vault: Path) -> Iterator[Session]:
    with Session(vault, principal="ann") as session:
        yield session


def rows(result: Result) -> list[dict[str, object]]:
    assert result.table is not None
    return result.table.to_pylist()


def spent(session: Session) -> tuple[float, int]:
    (budget,) = rows(session.execute("SHOW PRIVACY BUDGET"))
    return budget["rho_spent"], budget["charges"]


def test_strata_then_the_population_that_they_add_up_to(analyst: Session) -> None:
    answer = rows(analyst.execute(f"{ASKED} FROM people STRATIFY BY sex"))
    assert [row["sex"] for row in answer] == [1, 2, None]
    summed = analyst.execute(
        f"{ASKED}, race FROM people GROUP BY race STRATIFY BY sex ORDER BY race DESC, sex"
    )
    places = {i for i, row in enumerate(rows(summed)) if row["sex"] is None}
    assert len(places) == 3
    assert summed.summed == {"sex": places}
    computed = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) sex + 1 AS s, COUNT(*) AS n"
    )
    assert analyst.execute(f"{computed} FROM people STRATIFY BY sex").summed == {"s": {2}}
    assert answer[0]["n"] + answer[1]["n"] == answer[2]["n"]
    # sigma of the count is about 14 at epsilon 0.5: 200 is 14 standard deviations
    assert abs(answer[0]["n"] - 15000) < 200
    assert all(abs(row["pay"] - 499.5) < 30 for row in answer)


def test_explain_says_what_is_then_charged_and_reads_nothing(analyst: Session) -> None:
    explained = rows(analyst.execute(f"EXPLAIN PRIVACY {ASKED} FROM people STRATIFY BY sex"))
    assert spent(analyst) == (0.0, 0)
    total = next(row for row in explained if row["measurement"] == "total")
    after = next(row for row in explained if row["measurement"] == "budget left after")
    analyst.execute(f"{ASKED} FROM people STRATIFY BY sex")
    (budget,) = rows(analyst.execute("SHOW PRIVACY BUDGET"))
    assert budget["rho_spent"] == total["rho"]
    assert budget["epsilon_left"] == after["epsilon"]


def test_the_same_question_is_answered_again_for_nothing(vault: Path, analyst: Session) -> None:
    first = rows(analyst.execute(f"{ASKED} FROM people STRATIFY BY sex"))
    before = spent(analyst)
    with Session(vault, principal="bob") as other:
        again = other.execute(f"{ASKED}   FROM people STRATIFY BY sex -- another text")
        assert rows(again) == first
        assert again.price is not None
        assert again.price.nano == 0
        (explained,) = [
            row
            for row in rows(other.execute(f"EXPLAIN PRIVACY {ASKED} FROM people STRATIFY BY sex"))
            if row["measurement"] == "total"
        ]
        assert explained["rho"] == 0
    assert spent(analyst) == before


def test_changed_data_start_anew_and_what_was_spent_stays_spent(vault: Path) -> None:
    with Session(vault, role="owner") as owner:
        first = rows(owner.execute(f"{ASKED} FROM people STRATIFY BY sex"))
        before = spent(owner)
        owner.execute("DELETE FROM people WHERE id = 17")
        assert rows(owner.execute(f"{ASKED} FROM people STRATIFY BY sex")) != first
        assert spent(owner) == (2 * before[0], 2 * before[1])


def test_an_owner_is_exact_unless_asked_to_be_private(vault: Path) -> None:
    with Session(vault, role="owner") as owner:
        plain = owner.execute("SELECT COUNT(*) AS n FROM people")
        assert (rows(plain), plain.exact) == ([{"n": 30000}], True)
        assert not owner.execute(f"{ASKED} FROM people STRATIFY BY sex").exact


@pytest.mark.parametrize(
    ("statement", "error", "says"),
    [
        ("SELECT * FROM people", Refused, "raw columns never leave"),
        ("SELECT id FROM people", Refused, 'the column "id"'),
        ("SELECT COUNT(*) FROM secrets", Refused, "nobody declared"),
        ("SELECT x FROM secrets", Refused, "Hint|line|only|no "),
        ("SELECT COUNT(*) FROM nowhere", Refused, "no released or public table"),
        ("SELECT * FROM 'people.duckdb'", Refused, "Hint|line|only|no "),
        ("SELECT COUNT(*) FROM read_csv('x.csv')", Refused, "table functions are out of reach"),
        ("SELECT COUNT(*) FROM sqlite_master", Refused, "Hint|line|only|no "),
        ("FROM duckdb_settings()", Refused, "Hint|line|only|no "),
        ("SELECT COUNT(*) FROM people FULL JOIN shares USING (sex)", Refused, "Hint|line|only|no "),
        (f"{STAGED} SELECT * FROM people", Refused, "raw columns"),
        (f"{STAGED} SELECT * FROM w, secrets", Refused, "raw columns"),
        (f"{STAGED} SELECT * FROM w, read_csv('/etc/passwd')", Refused, "raw columns"),
        (f"{STAGED} SELECT * FROM w, people STRATIFY BY sex", Refused, "raw columns"),
        (f"{STAGED} CREATE TABLE x AS SELECT * FROM w", Refused, "expected SELECT"),
        (f"{STAGED} FROM w SELECT *, no_such_function(n)", ProgrammingError, "no_such_function"),
        ("WITH RECURSIVE p AS (SELECT * FROM people) SELECT 1 FROM p", Refused, "recursive"),
        ("WITH p AS (SELECT * FROM people) SELECT age FROM p", Refused, "Hint|line|only|no "),
        ("PRAGMA database_list", PermissionDenied, "PRAGMA"),
        ("ATTACH 'x.duckdb'", PermissionDenied, "ATTACH"),
        ("COPY people TO 'x.csv'", PermissionDenied, "COPY"),
        ("SET threads = 1", PermissionDenied, "SET"),
        ("INSTALL httpfs", PermissionDenied, "only an owner"),
        ("INSERT INTO people VALUES (1)", PermissionDenied, "only an owner"),
        ("DROP TABLE people", PermissionDenied, "only an owner"),
        ("CREATE TABLE copy AS SELECT * FROM people", PermissionDenied, "only an owner"),
        ("ALTER TABLE people SET PUBLIC", PermissionDenied, "declare"),
        (
            "ALTER TABLE people SET PRIVACY BUDGET (epsilon = 100, delta = 1e-9)",
            PermissionDenied,
            "declare",
        ),
        ("SET privacy_delta = 0.5", Refused, "privacy_epsilon"),
        (f"{ASKED} FROM people STRATIFY BY sex WEIGHTS FROM nowhere", Refused, "not public"),
        (f"{ASKED} FROM people STRATIFY BY sex WEIGHTS FROM people", Refused, "not public"),
    ],
)
def test_refused_for_an_analyst_with_nothing_charged(
    analyst: Session, statement: str, error: type[Exception], says: str
) -> None:
    analyst.execute("SET privacy_epsilon = 0.5")
    with pytest.raises(error, match=says) as raised:
        analyst.execute(statement)
    assert "30000" not in str(raised.value)
    assert spent(analyst) == (0.0, 0)


def test_a_budget_is_spent_and_no_more(analyst: Session) -> None:
    def ask_on() -> None:
        for age in range(40):
            count = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.7) COUNT(*) FROM people"
            analyst.execute(f"{count} WHERE age > ?", [age])

    with pytest.raises(BudgetExhausted, match="nothing was read"):
        ask_on()
    (budget,) = rows(analyst.execute("SHOW PRIVACY BUDGET"))
    assert 2 < budget["charges"] < 40
    assert budget["epsilon_spent"] <= 3


def test_weights_recombine_the_population(analyst: Session) -> None:
    answer = rows(analyst.execute(f"{ASKED} FROM people STRATIFY BY sex WEIGHTS FROM shares"))
    expected = 0.25 * answer[0]["pay"] + 0.75 * answer[1]["pay"]
    assert answer[2]["pay"] == pytest.approx(expected)


def test_public_tables_are_free_and_exact(analyst: Session) -> None:
    result = analyst.execute("SELECT sum(weight) AS w FROM shares WHERE sex >= ?", [1])
    assert rows(result) == [{"w": 1.0}]
    assert spent(analyst) == (0.0, 0)


def test_a_synthetic_table_is_published_queried_replaced_and_dropped(
    vault: Path, analyst: Session
) -> None:
    create = (
        "SYNTHETIC TABLE twins AS SELECT sex, race, age, pay FROM people WHERE age >= 18 "
        "STRATIFY BY sex USING mst OPTIONS (epsilon = 1)"
    )
    total = rows(analyst.execute(f"EXPLAIN PRIVACY CREATE {create}"))[-2]["rho"]
    said = analyst.execute(f"CREATE {create}").message
    assert "twins" in said
    assert spent(analyst)[0] == total
    counts = rows(
        analyst.execute("SELECT sex, COUNT(*) AS n, MIN(age) AS a FROM twins GROUP BY sex")
    )
    assert sorted(row["sex"] for row in counts) == [1, 2]
    assert all(abs(row["n"] - 11650) < 800 for row in counts)
    release = vault.with_suffix(".release.duckdb")
    with duckdb.connect(str(release), read_only=True) as plain:
        comment = plain.execute("SELECT comment FROM duckdb_tables()").fetchone()
        assert comment is not None
        assert "mst" in comment[0]
        assert plain.execute("SELECT typeof(age) FROM twins LIMIT 1").fetchone() == ("TINYINT",)
    with pytest.raises(Refused, match="already"):
        analyst.execute(f"CREATE {create}")
    again = analyst.execute(f"CREATE OR REPLACE {create}")
    assert again.price is not None
    assert again.price.nano == 0, "what was measured before is replayed"
    with pytest.raises(PermissionDenied):
        analyst.execute("DROP SYNTHETIC TABLE twins")
    with Session(vault, role="owner") as owner:
        owner.execute("DROP SYNTHETIC TABLE twins")
        assert owner.catalog().released == {}


def test_strata_that_are_not_selected_join_the_synthetic_table(analyst: Session) -> None:
    """They come first: each stratum of the synthetic table can be told by its rows."""
    analyst.execute(
        "CREATE SYNTHETIC TABLE twins AS SELECT age, pay FROM people STRATIFY BY sex USING mst "
        "OPTIONS (epsilon = 1)"
    )
    table = analyst.execute("SELECT * FROM twins").table
    assert table.column_names == ["sex", "age", "pay"]
    assert set(table["sex"].to_pylist()) == {1, 2}


def test_units_with_several_rows(tmp_path: Path) -> None:
    with Session(tmp_path / "visits.duckdb", role="owner") as owner:
        owner.execute("""
            CREATE TABLE visits AS SELECT range // 5 AS person, (range % 5)::TINYINT AS ward
            FROM range(50000);
            ALTER TABLE visits ADD PRIVACY_KEY (person);
            ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN BETWEEN (0, 4);
            ALTER TABLE visits SET PRIVACY BUDGET (epsilon = 10, delta = 1e-9)""")
        with pytest.raises(DeclarationError, match="rows_per_unit"):
            owner.execute("ALTER TABLE visits SET PU")
        owner.execute("ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = 2)")
        owner.execute("ALTER TABLE visits SET PU; SET privacy_epsilon = 1")
        per_ward = rows(owner.execute("SELECT ward, COUNT(*) AS n FROM visits STRATIFY BY ward"))
        # one stratum of five is kept of each person: 2,000 a ward, sigma about 8 * 2
        assert all(abs(row["n"] - 2000) < 500 for row in per_ward[:5])
        narrow = rows(
            owner.execute("EXPLAIN PRIVACY SELECT ward, COUNT(*) FROM visits STRATIFY BY ward")
        )
        owner.execute(
            "ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = 2, groups_per_unit = 4)"
        )
        wide = rows(
            owner.execute("EXPLAIN PRIVACY SELECT ward, COUNT(*) FROM visits STRATIFY BY ward")
        )
        assert wide[0]["sigma"] == pytest.approx(2 * narrow[0]["sigma"], rel=1e-6)
        per_ward = rows(owner.execute("SELECT ward, COUNT(*) AS n FROM visits STRATIFY BY ward"))
        assert all(abs(row["n"] - 8000) < 1000 for row in per_ward[:5])


def test_rows_linked_to_a_unit_are_charged_to_it(tmp_path: Path) -> None:
    with Session(tmp_path / "shop.duckdb", role="owner") as owner:
        owner.execute("""
            CREATE PU TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR, PRIVACY_KEY (id));
            CREATE TABLE orders AS SELECT range AS o, range % 100 AS c FROM range(300);
            INSERT INTO customer SELECT range, 'x' FROM range(100);
            ALTER TABLE orders SET PRIVACY BOUND (rows_per_unit = 3);
            ALTER TABLE orders ADD PRIVACY_LINK (c) REFERENCES customer(id);
            ALTER TABLE customer SET PRIVACY BUDGET (epsilon = 8)""")
        answer = owner.execute(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 4) COUNT(*) AS n FROM orders"
        )
        # discrete Laplace of scale 3 / 4: beyond 30 with probability below exp(-39)
        assert abs(rows(answer)[0]["n"] - 300) < 30
        (budget,) = rows(owner.execute("SHOW PRIVACY BUDGET"))
        assert (budget["unit_table"], budget["epsilon_spent"]) == ("customer", 4.0)


def test_an_analyst_needs_a_vault_and_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(OperationalError, match="there is no vault"):
        Session(tmp_path / "none.duckdb")
    with pytest.raises(InterfaceError, match="role"):
        Session(tmp_path / "none.duckdb", role="root")
    assert list(tmp_path.iterdir()) == []


def test_free_queries_have_half_of_the_memory(
    vault: Path, analyst: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a vault's engine beside them, whose limit is the same. Analysts are not told it."""
    monkeypatch.setattr("sqlpriv.session.session.check_settings", lambda _: None)
    asked = "SELECT current_setting('memory_limit') AS m"
    (free,) = rows(analyst.execute(asked))
    with Reader(vault) as opened:
        assert opened.truths(asked) == (free["m"],)


def test_python_variables_are_not_tables(analyst: Session) -> None:
    import pyarrow as pa

    analyst.execute(
        "CREATE SYNTHETIC TABLE t AS SELECT sex FROM people USING independent "
        "OPTIONS (epsilon = 0.1, rows = 10)"
    )
    hidden = pa.table({"a": [1]})
    with pytest.raises((Refused, ProgrammingError)):
        analyst.execute("SELECT * FROM hidden")
    with pytest.raises((Refused, ProgrammingError)):
        analyst.execute("SELECT * FROM t, hidden")
    assert hidden.num_rows == 1


def test_any_query_is_run_over_the_answers_of_with(vault: Path) -> None:
    """What is released may be asked anything; for an owner as for an analyst it is noised."""
    asked = f"{STAGED} SELECT *, n / sum(n) OVER () AS share FROM w ORDER BY sex"
    found = []
    for role in ("analyst", "owner"):
        with Session(vault, role=role) as session:
            found.append(rows(session.execute(asked)))
            assert spent(session)[1] == 1
    assert found[0] == found[1]
    assert sum(row["share"] for row in found[0]) == pytest.approx(1)
    assert list(found[0][0]) == ["sex", "n", "pay", "share"]


def test_an_owner_waits_for_those_who_read(vault: Path) -> None:
    with Session(vault, role="owner") as owner:
        with Reader(vault), pytest.raises(VaultBusy, match="is in use"):
            owner.execute("INSERT INTO secrets VALUES (2)")
        owner.execute("INSERT INTO secrets VALUES (2)")
        assert rows(owner.execute("SELECT sum(x) AS x FROM secrets")) == [{"x": 3}]


def test_an_open_transaction_is_finished_first(vault: Path) -> None:
    with Session(vault, role="owner") as owner:
        owner.execute("BEGIN; DELETE FROM people WHERE id < 100")
        with pytest.raises(OperationalError, match="COMMIT or ROLLBACK"):
            owner.execute(f"{ASKED} FROM people STRATIFY BY sex")
        owner.execute("ROLLBACK")
        assert rows(owner.execute("SELECT COUNT(*) AS n FROM people")) == [{"n": 30000}]


def test_a_new_vault_is_for_its_owners_eyes_alone(tmp_path: Path) -> None:
    """Nobody else may read it, nor the ledger; what there was keeps its mode."""
    made, there = tmp_path / "made.duckdb", tmp_path / "there.duckdb"
    duckdb.connect(str(there)).close()
    there.chmod(0o640)
    for path in (made, there):
        with Session(path, role="owner") as owner:
            owner.execute("CREATE TABLE t (x INTEGER); ALTER TABLE t ADD PRIVACY_KEY (x)")
    found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert found["there.duckdb"] == 0o640
    assert {found[f"made.{end}"] for end in ("duckdb", "ledger", "ledger.mark")} == {0o600}


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_what_is_written_is_for_the_same_eyes_as_the_vault(vault: Path, mode: int) -> None:
    """Rows are in DuckDB's log first, which it makes for all to read (the twin), and in whatever
    file the owner copies them to."""
    log, copy = vault.with_name(f"{vault.name}.wal"), vault.with_name("copy.csv")
    before = os.umask(0o022)
    try:
        vault.chmod(0o600)
        with duckdb.connect(str(vault)) as plain:
            plain.execute("INSERT INTO secrets VALUES (2)")
            assert stat.S_IMODE(log.stat().st_mode) == 0o644
        vault.chmod(mode)
        with Session(vault, role="owner") as owner:
            owner.execute(f"INSERT INTO secrets VALUES (3); COPY secrets TO '{copy}'")
            assert {stat.S_IMODE(path.stat().st_mode) for path in (log, copy)} == {mode}
            assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)


def test_nobody_else_may_look_at_what_spills_while_an_owner_writes(vault: Path) -> None:
    spills = vault.with_name(f"{vault.name}.tmp")
    spills.mkdir(0o755)  # a crash's, of DuckDB itself
    (spills / "rows").touch()
    with Session(vault, role="owner") as owner:
        found = owner.execute("SELECT current_setting('temp_directory') AS at")
        assert rows(found) == [{"at": str(spills)}]
        assert stat.S_IMODE(spills.stat().st_mode) == 0o700
        assert [*spills.iterdir()] == []
    assert not spills.exists()


def test_an_owner_spills_into_no_folder_of_others(vault: Path, tmp_path: Path) -> None:
    spills = vault.with_name(f"{vault.name}.tmp")
    spills.symlink_to(tmp_path, target_is_directory=True)  # what others made cannot be removed
    with Session(vault, role="owner") as owner:
        with pytest.raises(OperationalError, match="is not ours to use; remove it"):
            owner.execute("INSERT INTO secrets VALUES (2)")
        spills.unlink()
        owner.execute("INSERT INTO secrets VALUES (2)")


def test_what_a_crash_left_of_spilled_rows_goes_when_an_owner_writes(vault: Path) -> None:
    """And nothing of another vault, nor of anybody who reads."""
    left, others = (vault.with_name(f"{n}.spill7.tmp") for n in (vault.name, "x.duckdb"))
    for folder in (left, others):
        folder.mkdir()
        (folder / "duckdb_temp_storage").write_bytes(b"rows")
    with Session(vault, role="owner") as owner:
        with Reader(vault) as reader, pytest.raises(VaultBusy):
            owner.execute("INSERT INTO secrets VALUES (2)")
        assert left.exists()
        owner.execute("INSERT INTO secrets VALUES (2)")
    assert not left.exists()
    assert not reader._engine.spills.exists()
    assert others.exists()


def test_a_dropped_table_takes_its_declarations_with_it(vault: Path) -> None:
    with Session(vault, role="owner") as owner:
        owner.execute("DROP TABLE shares")
        owner.execute("SHOW PRIVACY TABLES")
        owner.execute("CREATE TABLE shares AS SELECT * FROM people")
        owner.execute("CREATE OR REPLACE TABLE people AS SELECT * FROM people WHERE id < 100")
        status = {row["table"]: row["status"] for row in rows(owner.execute("SHOW PRIVACY TABLES"))}
    assert status == {"people": "private", "shares": "undeclared", "secrets": "undeclared"}


def test_a_principals_ceiling_lies_under_the_tables_budget(vault: Path) -> None:
    asked = f"{ASKED} FROM people WHERE age > "
    with Session(vault, role="owner", principal="olga") as owner:
        declared = "SET PRIVACY BUDGET (epsilon = 0.6, delta = 1e-9) FOR 'team_a'"
        said = owner.execute(f"ALTER TABLE people {declared}").message
        assert said.startswith("what team_a may spend of people is rho = ")
    with Session(vault, principal="team_a") as team, Session(vault, principal="ann") as ann:
        team.execute(f"{asked} 1 STRATIFY BY sex")
        assert team.budgets() != ann.budgets()
        explained = rows(team.execute(f"EXPLAIN PRIVACY {asked} 2 STRATIFY BY sex"))
        assert "short of budget by" in [row["measurement"] for row in explained]
        with pytest.raises(BudgetExhausted, match="is left to team_a"):
            team.execute(f"{asked} 2 STRATIFY BY sex")
        ann.execute(f"{asked} 2 STRATIFY BY sex")
        table, ceiling = rows(ann.execute("SHOW PRIVACY BUDGET"))
    assert (table["principal"], ceiling["principal"]) == (None, "team_a")
    assert (table["charges"], ceiling["charges"]) == (2, 1)
    assert table["rho_spent"] == pytest.approx(2 * ceiling["rho_spent"])


def test_disjoint_strata_share_the_budget(analyst: Session) -> None:
    asked = ASKED.replace("sex, ", "")
    for sex in (1, 2):
        before = rows(analyst.execute(f"EXPLAIN PRIVACY {asked} FROM people WHERE sex = {sex}"))
        analyst.execute(f"{asked} FROM people WHERE sex = {sex}")
        total = next(row for row in before if row["measurement"] == "total")
        left = next(row for row in before if row["measurement"] == "budget left after")
        assert spent(analyst)[0] == total["rho"]  # of the two the larger, not their sum
        (budget,) = rows(analyst.execute("SHOW PRIVACY BUDGET"))
        assert left["rho"] + total["rho"] == pytest.approx(budget["rho"])
    assert spent(analyst)[1] == 2


def test_an_undeclared_key_is_selected_where_the_budget_keeps_delta_for_it(vault: Path) -> None:
    asked = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) ward, COUNT(*) AS n, AVG(pay)"
    with Session(vault, role="owner") as owner:
        owner.execute("""ALTER TABLE people ADD COLUMN ward VARCHAR;
            UPDATE people SET ward = CASE WHEN id % 100 = 0 THEN 'rare' || id END;
            UPDATE people SET ward = 'w' || (id % 3) WHERE ward IS NULL AND id % 7 > 0""")
        with pytest.raises(Refused, match="keys_delta"):
            owner.execute(f"{asked} FROM people GROUP BY ward")
        said = owner.execute("""ALTER TABLE people
            SET PRIVACY BUDGET (epsilon = 3, delta = 1e-9, keys_delta = 1e-9)""").message
        assert said.endswith("delta = 1e-09 + 1e-09 for keys")
    with Session(vault, principal="ann") as ann:
        explained = rows(ann.execute(f"EXPLAIN PRIVACY {asked} FROM people GROUP BY ward"))
        assert explained[0]["mechanism"] == "Gaussian threshold"
        first = ann.execute(f"{asked} FROM people GROUP BY ward ORDER BY ward")
        assert [row["ward"] for row in rows(first)] == ["w0", "w1", "w2", None]  # nothing rare
        total = next(row for row in explained if row["measurement"] == "total")
        assert spent(ann)[0] == total["rho"]
        again = ann.execute(f"{asked} FROM people GROUP BY ward ORDER BY ward")
        assert (rows(again), again.epsilon) == (rows(first), 0)
        none = rows(ann.execute(f"{asked} FROM people WHERE age > 99 GROUP BY ward"))
        assert none == []
        (budget,) = rows(ann.execute("SHOW PRIVACY BUDGET"))
        assert budget["keys_delta_spent"] == pytest.approx(2e-11)
        with pytest.raises(Refused, match="belongs to one unit"):
            ann.execute(f"{asked} FROM people GROUP BY ward, id")


@pytest.mark.parametrize("budget", ["epsilon = 1000000, delta = 1e-9", "epsilon = 1000000"])
def test_a_target_error_costs_the_same_under_a_very_large_budget(vault: Path, budget: str) -> None:
    asked = "sex, COUNT(*) AS n FROM people STRATIFY BY sex"
    select = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_relative_error = 0.02) {asked}"
    prices = []
    for declared in (budget.replace("1000000", "3"), budget):
        with Session(vault, role="owner") as owner:
            owner.execute(f"ALTER TABLE people SET PRIVACY BUDGET ({declared})")
        with Session(vault, principal="ann") as ann:
            ann.execute(f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) {asked}")
            explained = rows(ann.execute(f"EXPLAIN PRIVACY {select}"))
        (due,) = [row for row in explained if row["measurement"] == "total"]
        prices.append(due["rho"] or due["epsilon"])
    assert prices[1] == pytest.approx(prices[0], rel=0.1)


@pytest.mark.parametrize("budget", ["epsilon = 3, delta = 1e-9", "epsilon = 3"])
def test_a_target_error_finds_the_least_price_that_meets_it(vault: Path, budget: str) -> None:
    """Half the error costs four times the rho, or twice the epsilon; the sizes are known first."""
    with Session(vault, role="owner") as owner:
        owner.execute(f"ALTER TABLE people SET PRIVACY BUDGET ({budget})")
    asked = "sex, COUNT(*) AS n, AVG(pay) AS pay FROM people STRATIFY BY sex"
    select = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_relative_error = {})"
    with Session(vault, principal="ann") as ann:
        with pytest.raises(Refused, match="size of the smallest group is not known"):
            ann.execute(f"{select.format(0.02)} {asked}")
        ann.execute(ASKED.replace(", AVG(pay) AS pay", "") + " FROM people STRATIFY BY sex")
        before, total = spent(ann)[1], {}
        for target in (0.02, 0.01):
            explained = rows(ann.execute(f"EXPLAIN PRIVACY {select.format(target)} {asked}"))
            errors = [row["relative_error"] for row in explained if row["relative_error"]]
            assert 0.97 * target < max(errors) < 1.03 * target  # of the median group, here
            (due,) = [row for row in explained if row["measurement"] == "total"]
            total[target] = due["rho"] or due["epsilon"]
        assert total[0.01] == pytest.approx((4 if "delta" in budget else 2) * total[0.02], rel=0.05)
        with pytest.raises(Refused, match="costs more than epsilon"):
            ann.execute(f"{select.format(0.00001)} {asked}")
        with pytest.raises(Refused, match="a price or a max_relative_error"):
            ann.execute(f"{select.format('0.1, epsilon = 1')} {asked}")
        assert spent(ann)[1] == before
        made = ann.execute(f"{select.format(0.02)} {asked}")
    for row, half in zip(rows(made), made.half_widths["n"], strict=True):
        assert half is not None
        assert half <= 0.0203 * row["n"]


def test_a_link_asks_how_many_rows_of_a_unit_count(tmp_path):
    """Without a bound one row of each unit counts: 5,000 orders were 1,013 ± 12, without a word."""
    with Session(tmp_path / "shop.duckdb", role="owner") as owner:
        owner.execute("CREATE TABLE customers AS SELECT range AS id FROM range(1000)")
        owner.execute("ALTER TABLE customers ADD PRIMARY KEY (id)")
        owner.execute("CREATE TABLE orders AS SELECT range % 1000 AS customer FROM range(5000)")
        owner.execute("ALTER TABLE customers ADD PRIVACY_KEY (id); ALTER TABLE customers SET PU")
        link = "ALTER TABLE orders ADD PRIVACY_LINK (customer) REFERENCES customers(id)"
        with pytest.raises(DeclarationError, match=r"SET PRIVACY BOUND \(rows_per_unit = …\)"):
            owner.execute(link)
        assert "LINK" not in str(rows(owner.execute("SHOW PRIVACY DECLARATIONS")))
        bound = "ALTER TABLE orders SET PRIVACY BOUND (rows_per_unit = {})"
        owner.execute(bound.format(1))
        message = owner.execute(link).message
        assert "4000 rows beyond one row of a unit, left out" in message
        message = owner.execute(bound.format(3)).message
        assert "2000 rows beyond 3 rows of a unit" in message
        assert "spares" not in message  # 5 is too many more than 3 for the sake of time
        message = owner.execute(bound.format(4)).message
        assert "1000 rows beyond 4 rows of a unit" in message
        assert message.endswith("every read sorts all rows by unit: rows_per_unit = 5 spares it")
        assert "left out" not in owner.execute(bound.format(5)).message
