"""No statement can be made to fail by a row: the suites' statements over rows of extreme values.

An attacker who is told that the engine could not finish knows that somebody's row is there. Each
private table of the suites' vault gets rows whose values are the ends of their types, infinities,
NaN, -0.0, long and odd texts; then every statement is answered, or refused as it is without them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from suites.run import classes, in_its_dialect, statements
from suites.vault import make_vault

from sqlpriv.errors import Error, ReadFailed
from sqlpriv.kernel.terms import operations
from sqlpriv.session.session import Session

pytestmark = pytest.mark.slow  # the vault takes seconds
ROWS, UNITS = 40, 5
PRIVATE = {  # the column that names the row, and the one that names its unit
    "people": ("id", "id"),
    "visits": ("id", "person"),
    "stays": ("id", "person"),
    "events": ("id", "person"),
    "odd": ("id", "u"),
    "customers": ("cid", "cid"),
    "sales": ("sid", "cid"),
    "members": ("mid", "mid"),
    "logins": ("lid", "mid"),
    "baskets": ("bid", "lid"),
}
REALS = ("'nan'", "'inf'", "'-inf'", "5e-324", "'-0.0'")
MOMENTS = ("'infinity'", "'-infinity'", "'0001-01-01'")
FARTHEST = (*MOMENTS, "'290000-01-01'", "'290000-01-01 (BC)'")
EXTREME = {
    "SMALLINT": ("-32768", "32767"),
    "INTEGER": ("-2147483648", "2147483647", "0"),
    "BIGINT": ("-9223372036854775808", "9223372036854775807", "0"),
    "HUGEINT": (f"{2**127 - 1}", f"-{2**127 - 1}"),
    "UTINYINT": ("0", "255"),
    "USMALLINT": ("0", "65535"),
    "DOUBLE": (*REALS, "1e308", "-1e308"),
    "FLOAT": (*REALS, "3e38"),
    "BOOLEAN": ("true", "false"),
    "DATE": (*FARTHEST, "'5881580-07-10'"),
    "TIMESTAMP": FARTHEST,
    "TIMESTAMP WITH TIME ZONE": (*MOMENTS, "'290000-01-01 00:00:00+00'"),
    "TIME": ("'24:00:00'", "'00:00:00'", "'23:59:59.999999'"),
    "VARCHAR": ("''", "'%'", "chr(0)", "'ß'", "'İ'", "'Σς'", "'nan'", r"'\'", "repeat('x', 70000)"),
}


def value(kind: str, rng: random.Random) -> str:
    """The SQL of an extreme value of a type, or NULL."""
    if kind.startswith("DECIMAL"):
        digits, scale = map(int, kind[8:-1].split(","))
        most = f"{'9' * (digits - scale)}.{'9' * scale}"
        return rng.choice([most, f"-{most}", "0", "NULL"])
    return rng.choice([*EXTREME.get(kind, ()), "NULL"])


def name_of(number: int, kind: str) -> str:
    """The SQL of a row's name that no row of the suites has."""
    return f"'{number:08x}-0000-0000-0000-000000000000'" if kind == "UUID" else str(number)


def hostile_rows(table: str, kinds: dict[str, str]) -> Iterator[str]:
    """The SQL of rows of a few units."""
    rng, (row_name, unit) = random.Random(table), PRIVATE[table]
    for i in range(ROWS):
        values = {column: value(kind, rng) for column, kind in kinds.items()}
        values[unit] = name_of(100_000 + i % UNITS, kinds[unit])
        values[row_name] = name_of(100_000 + i, kinds[row_name])
        yield f"({', '.join(values.values())})"


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_vault(tmp_path_factory.mktemp("hostile") / "people.duckdb")
    with Session(made, role="owner") as owner:
        for table in PRIVATE:
            described = owner.execute(f"DESCRIBE {table}").table
            assert described is not None
            names = described.column("column_name").to_pylist()
            kinds = dict(zip(names, described.column("column_type").to_pylist(), strict=True))
            owner.execute(f"INSERT INTO {table} VALUES {', '.join(hostile_rows(table, kinds))}")
    return made


def failures(vault: Path, asked: list[str]) -> list[str]:
    """The statements that a row made fail."""
    failed = []
    with Session(vault, principal="ann") as session:
        session.execute("SET privacy_epsilon = 8")
        for text in asked:
            dialect, sql = in_its_dialect(text)
            session.execute(f"SET privacy_dialect = '{dialect}'")
            try:
                session.execute(sql)
            except ReadFailed:
                failed.append(text)
            except Error:
                pass  # refused in public: nothing was read
    return failed


def all_statements() -> list[str]:
    return [text for name in classes() for text in statements(name)]


def test_twin_a_sum_that_overflows_is_noticed(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = operations.OPERATIONS["+"]._replace(sql="(CAST({0} AS SMALLINT) + {1})")
    monkeypatch.setitem(operations.OPERATIONS, "+", plain)
    overflowing = "SELECT COUNT(*) AS n FROM odd WHERE id + 1 > 300"
    assert failures(vault, [overflowing]) == [overflowing]


def test_no_statement_can_be_made_to_fail(vault: Path) -> None:
    assert failures(vault, all_statements()) == []
