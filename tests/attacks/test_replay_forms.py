"""What a statement is replayed from, and what it is charged, by how it is written.

Each of these tests would catch a name of seals, a reading of prices or a forecast that is too
coarse: an answer that is served for another question, a spelling that is charged anew, a price that
is paid at less than it says.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.templates import vault_of

from sqlpriv.errors import DataError, ProgrammingError, Refused
from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.session.session import Session

COMPOSED, DECOMPOSED = "\N{LATIN SMALL LETTER E WITH ACUTE}", "e\N{COMBINING ACUTE ACCENT}"
MAKE = f"""
CREATE TABLE people (id BIGINT PRIMARY KEY, sex VARCHAR, income BIGINT, x DOUBLE, f FLOAT,
    s VARCHAR, tz TIMESTAMPTZ, "A.b" BIGINT);
INSERT INTO people SELECT i, ['f', 'm'][1 + i % 2], i % 10, [0.0, 0.5, 1.0, 1.5][1 + i % 4], 0.1,
    ['a', 'A', 'a ', '{COMPOSED}', '{DECOMPOSED}', 'a''b', 'a"b'][1 + i % 7],
    TIMESTAMPTZ '2024-01-01 00:00:00+00' + INTERVAL (i) HOUR, i % 3 FROM range(60) r(i);
CREATE TABLE places (sex VARCHAR PRIMARY KEY, w BIGINT);
INSERT INTO places VALUES ('f', 1), ('m', 2);
ALTER TABLE places SET PUBLIC;
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm');
ALTER TABLE people ALTER COLUMN income SET PRIVACY DOMAIN BETWEEN (0, 9) NOT NULL;
ALTER TABLE people ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN (0, 2);
ALTER TABLE people ALTER COLUMN "A.b" SET PRIVACY DOMAIN BETWEEN (0, 2);
ALTER TABLE people SET PRIVACY BUDGET
"""
BUDGETS = {"pure": "(epsilon = 100000000)", "zcdp": "(rho = 100000000, delta = 1e-9)"}
NEAR: dict[str, int] = {
    "s = 'a'": 9,
    "s = 'A'": 9,
    "s = 'a '": 9,
    "s IN ('a', 'A')": 18,
    "lower(s) = 'a'": 18,
    f"s = '{COMPOSED}'": 9,
    f"s LIKE '{COMPOSED}%' OR s = 'a'": 18,
    f"s = '{DECOMPOSED}' OR s = 'a' OR s = 'A'": 26,
    "s = 'a''b'": 8,
    "s = 'a\"b' OR s = 'a'": 17,
    "x > 0": 45,
    "x >= -0.0": 60,
    "x > 1e-300 AND x < 1.5": 30,
    "CAST(x AS INT) = 0": 30,
    "x = 0": 15,
    "floor(x) = 1": 30,
    "x < 0.5": 15,
    "x < 0.50000000000000011": 30,
    "f = 0.1": 60,
    "f = 0.1::DOUBLE": 0,
    "income / 4 = 1": 6,
    "income // 4 = 1": 24,
    '"A.b" = 1': 20,
    "tz < TIMESTAMPTZ '2024-01-02 00:00:00+00'": 24,
    "tz < TIMESTAMPTZ '2024-01-02 00:00:00+05'": 19,
}
"""Conditions that are written almost alike → the rows that satisfy them, counted by hand."""
QUESTION = "COUNT(*) AS n, SUM(income) AS t FROM people WHERE income > 3 AND sex = 'f'"
SPELLINGS = (
    QUESTION.replace(" ", "  \n\t"),
    QUESTION.lower(),
    QUESTION.replace("FROM", "/* of */ FROM -- whom\n"),
    QUESTION.replace(" AS n", " AS m"),
    QUESTION.replace("people", "main.people p").replace("income >", "p.income >"),
    QUESTION.replace("people", '"PEOPLE"'),
    QUESTION.replace("people", "(SELECT * FROM people)"),
    QUESTION.replace("COUNT(*)", "COUNT(1)"),
    QUESTION.replace("> 3", "> 3.0"),
    QUESTION.replace("> 3", "> 3e0"),
    QUESTION + " ORDER BY 1 LIMIT 5;",
)
PRICES: dict[str, int | None] = {
    "0.25": 250_000_000,
    ".25": 250_000_000,
    "+25e-2": 250_000_000,
    "0.1234567894999": 123_456_789,
    "0.1234567895": 123_456_789,
    "1.9999999999e-9": 1,
    **dict.fromkeys(
        [
            "-0.1",
            "0",
            "-0.0",
            "9e-10",
            "5e-324",
            "1e-400",
            "1e400",
            "nan",
            "inf",
            "-inf",
            "'nan'",
            "'0.1'",
            "0.1::FLOAT",
            "1/10",
            "NULL",
            "TRUE",
            "(0.1)",
            "0x1",
            "1e-1f",
            "abs(-1)",
            "(SELECT 0.1)",
            "0.1,epsilon=0.2",
            "0.1,rho=0.1",
            "1000000001",
        ]
    ),
}
"""Prices as they are written → what is charged in nano; None for what is refused."""
GIVEN = (-0.1, float("nan"), float("inf"), True, "0.1", None, 0, 5e-324)
AGGREGATES = "COUNT(*), SUM(income), AVG(x), MEDIAN(income), REGR_SLOPE(income, x)"
ENDS = (
    "WHERE id > 1",
    "WHERE id > 2 GROUP BY sex",
    "WHERE id > 3 STRATIFY BY sex",
    'WHERE id > 4 GROUP BY ROLLUP (sex, "A.b")',
    'WHERE id > 5 GROUP BY GROUPING SETS ((sex), ("A.b"), ())',
    "JOIN places USING (sex) WHERE id > 6",
    "LEFT JOIN places p ON people.sex = p.sex AND w > 1 WHERE id > 7",
)


@pytest.fixture(params=BUDGETS)
def vault(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return vault_of(MAKE + BUDGETS[request.param], tmp_path / "v.duckdb")


@pytest.fixture
def analyst(vault: Path) -> Iterator[Session]:
    with Session(vault) as session:
        yield session


def spent(vault: Path) -> int:
    """What was charged so far, in nano."""
    with closing(Ledger(vault.with_suffix(".ledger"))) as ledger:
        account = ledger.account("people")
        assert account is not None
        return account.spent.nano


def answer(session: Session, text: str) -> pa.Table:
    """The rows of a statement's answer."""
    table = session.execute(text).table
    assert table is not None
    return table


def written(price: str, rest: str) -> str:
    return f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({price}) {rest}"


def price_for_no_noise(vault: Path) -> str:
    """A price at which noise other than 0 has probability below exp(-100,000)."""
    with closing(Ledger(vault.with_suffix(".ledger"))) as ledger:
        account = ledger.account("people")
        assert account is not None
        return {"pure": "epsilon = 300000", "zcdp": "rho = 300000"}[account.budget.total.kind]


def wrong_counts(analyst: Session, vault: Path) -> list[str]:
    """The conditions whose count, asked alone behind all those before it, is not that by hand."""
    price = price_for_no_noise(vault)
    counts = {
        test: answer(analyst, written(price, f"COUNT(*) FROM people WHERE {test}"))[0][0]
        for test in NEAR
    }
    return [test for test, counted in counts.items() if counted.as_py() != NEAR[test]]


def test_no_question_is_answered_from_another_that_is_written_almost_alike(
    analyst: Session, vault: Path
) -> None:
    assert wrong_counts(analyst, vault) == []


def test_of_one_statement_too_each_part_has_its_own_answer(analyst: Session, vault: Path) -> None:
    parts = ", ".join(f"COUNT(*) FILTER (WHERE {test}) AS c{i}" for i, test in enumerate(NEAR))
    (row,) = answer(
        analyst,
        written(price_for_no_noise(vault).replace("300000", "10000000"), f"{parts} FROM people"),
    ).to_pylist()
    assert list(row.values()) == list(NEAR.values())


def test_twin_seals_that_are_named_in_one_case_are_found_out(
    analyst: Session, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = a.query_hash
    monkeypatch.setattr(a, "query_hash", lambda asked: exact(repr(asked).lower()))
    with pytest.MonkeyPatch.context() as other:
        other.setitem(NEAR, "s = 'A' AND id < 5", 1)
        other.setitem(NEAR, "s = 'a' AND id < 5", 1)
        other.setitem(NEAR, "s = 'A' AND id < 8", 1)
        other.setitem(NEAR, "s = 'a' AND id < 8", 2)
        assert wrong_counts(analyst, vault) == ["s = 'a' AND id < 8"]


def test_another_spelling_is_free_and_has_the_same_numbers(analyst: Session, vault: Path) -> None:
    first = answer(analyst, written("epsilon = 0.5", QUESTION)).to_pylist()
    paid = spent(vault)
    for dialect in ("duckdb", "postgres", "snowflake", "bigquery"):
        analyst.execute(f"SET privacy_dialect = '{dialect}'")
        assert answer(analyst, written("epsilon = 0.5", QUESTION)).to_pylist() == first
    analyst.execute("SET privacy_dialect = 'duckdb'")
    for spelling in SPELLINGS:
        again = answer(analyst, written("epsilon = 0.5", spelling)).to_pylist()
        assert [[*row.values()] for row in again] == [[*row.values()] for row in first], spelling
    assert spent(vault) == paid


@pytest.mark.parametrize("vault", ["pure"], indirect=True)
def test_a_price_is_charged_as_it_is_written_or_nothing_is_read(
    analyst: Session, vault: Path
) -> None:
    def charge(price: str, values: list[Any] | None) -> int | None:
        """What is charged in nano; None where it is refused and nothing is charged."""
        before = spent(vault)
        text = written(f"epsilon = {price}", f"COUNT(*) FROM people WHERE id > {next(ids)}")
        try:
            analyst.execute(text, values)
        except (Refused, DataError, ProgrammingError):
            assert spent(vault) == before
            return None
        return spent(vault) - before

    ids = count(1)  # each asks another question
    charges = {price: charge(price, None) for price in PRICES}
    assert charges == PRICES
    assert [charge("?", [value]) for value in GIVEN] == [None] * len(GIVEN)
    assert charge("?", [0.25]) == 250_000_000


@pytest.mark.parametrize("end", ENDS)
def test_what_is_forecast_is_what_is_charged(analyst: Session, vault: Path, end: str) -> None:
    text = written("epsilon = 0.7", f"{AGGREGATES} FROM people {end}")
    forecast = sum(charge.price.nano for charge in analyst.quote(text).charges)
    rows = answer(analyst, f"EXPLAIN PRIVACY {text}").to_pylist()
    (total,) = [row for row in rows if row["measurement"] == "total"]
    before = spent(vault)
    assert before == 0 < forecast
    analyst.execute(text)
    assert spent(vault) == forecast
    told = total["epsilon"] if total["rho"] is None else total["rho"]
    assert round(told * 10**9) == forecast
    assert [charge.price.nano for charge in analyst.quote(text).charges] == [0]
