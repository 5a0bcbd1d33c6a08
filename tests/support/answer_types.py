"""Which types answers have: keys and aggregates of a column of each type, against DuckDB's own.

The answers' columns are told by the session before anything is asked, DuckDB's by a DESCRIBE.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import duckdb

from sqlpriv.errors import Error
from sqlpriv.interfaces.display.values import type_name
from sqlpriv.session.session import Session

COLUMNS: Mapping[str, tuple[str, str]] = {
    "TINYINT": ("i % 7", "BETWEEN (0, 6)"),
    "SMALLINT": ("i % 7", "BETWEEN (0, 6)"),
    "INTEGER": ("i % 7", "BETWEEN (0, 6)"),
    "BIGINT": ("i % 7", "BETWEEN (0, 6)"),
    "HUGEINT": ("i % 7", "BETWEEN (0, 6)"),
    "UTINYINT": ("i % 7", "BETWEEN (0, 6)"),
    "USMALLINT": ("i % 7", "BETWEEN (0, 6)"),
    "UINTEGER": ("i % 7", "BETWEEN (0, 6)"),
    "UBIGINT": ("i % 7", "BETWEEN (0, 6)"),
    "UHUGEINT": ("i % 7", ""),
    "FLOAT": ("i % 7", "BETWEEN (0, 6)"),
    "DOUBLE": ("i % 7", "BETWEEN (0, 6)"),
    "DECIMAL(4,1)": ("i % 7", "BETWEEN (0, 6)"),
    "DECIMAL(18,3)": ("(i % 7) / 1000.0", "BETWEEN (0, 0.006)"),
    "VARCHAR": ("'v' || i % 3", "IN ('v0', 'v1', 'v2')"),
    "ENUM('low', 'high')": ("(['low', 'high'])[1 + i % 2]", "IN ('low', 'high')"),
    "BOOLEAN": ("i % 2 = 0", "IN (TRUE, FALSE)"),
    "DATE": ("DATE '2024-02-27' + (i % 5)::INTEGER", "BETWEEN ('2024-02-27', '2024-03-02')"),
    **dict.fromkeys(
        ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ"),
        ("TIMESTAMP '2024-02-27' + to_hours(i % 5)", "BETWEEN ('2024-02-27', '2024-02-28')"),
    ),
    "TIME": ("TIME '08:00' + to_hours(i % 5)", "BETWEEN (TIME '08:00', TIME '12:00')"),
    "TIMETZ": ("(TIME '08:00' + to_hours(i % 5))::TIMETZ", ""),
    "INTERVAL": ("to_hours(i % 5)", ""),
    "UUID": (
        "('00000000-0000-0000-0000-00000000000' || i % 2)::UUID",
        "IN ('00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000001')",
    ),
    "BLOB": ("(['a', 'b'])[1 + i % 2]::BLOB", ""),
    "BIT": ("(['01', '10'])[1 + i % 2]::BIT", ""),
    "INTEGER[]": ("[i % 2]", ""),
    "STRUCT(a INTEGER)": ("{'a': i % 2}", ""),
}
"""Types of a column, each with its values over i and the domain that its owner declares."""

_KEY = "SELECT {key} AS v, COUNT(*) AS n FROM {table} GROUP BY v"
_AGGREGATE = "SELECT {key} AS v FROM {table}"
OUTPUTS = {
    **dict.fromkeys(
        (
            "x",
            "x + 1",
            "CASE WHEN id > 5 THEN x END",
            "round(x)",
            "x::DATE",
            "date_trunc('day', x)",
        ),
        _KEY,
    ),
    **dict.fromkeys(
        (
            "SUM(x)",
            "AVG(x)",
            "MIN(x)",
            "median(x)",
            "quantile_disc(x, 0.5)",
            "mode(x)",
            "COUNT(DISTINCT x)",
            "MAX(x) - MIN(x)",
        ),
        _AGGREGATE,
    ),
}
"""What is asked of a column, as a key or as an aggregate, and in which statement."""


class AnswerType(NamedTuple):
    """DuckDB's type of an output ('' where it has none), and the answer's ('' where refused)."""

    of_duckdb: str
    of_answer: str


def answer_types(folder: Path) -> dict[str, dict[str, AnswerType]]:
    """Returns by output and by column type which types there are; nothing is asked or charged.

    Args:
        folder: Where a vault may be made.
    """
    path = folder / "types.duckdb"
    plain = duckdb.connect()
    plain.execute("SET TimeZone = 'UTC'")
    with Session(path, role="owner", principal="owner") as owner:
        for number, (sql_type, (value, domain)) in enumerate(COLUMNS.items()):
            statements = f"""CREATE TABLE t{number} (id INTEGER PRIMARY KEY, x {sql_type} NOT NULL);
                INSERT INTO t{number} SELECT i, {value} FROM range(10) AS r (i)"""
            plain.execute(statements)
            owner.execute(statements)
            owner.execute(f"""ALTER TABLE t{number} ADD PRIVACY_KEY (id);
                ALTER TABLE t{number} SET PU;
                ALTER TABLE t{number} SET PRIVACY BUDGET (epsilon = 1, delta = 1e-9)""")
            if domain:
                owner.execute(f"ALTER TABLE t{number} ALTER COLUMN x SET PRIVACY DOMAIN {domain}")
    with Session(path, principal="types") as session:
        session.execute("SET privacy_epsilon = 1")
        return {
            output: {
                sql_type: AnswerType(
                    _type_in_duckdb(plain, text.format(key=output, table=f"t{number}")),
                    _type_of_answer(session, text.format(key=output, table=f"t{number}")),
                )
                for number, sql_type in enumerate(COLUMNS)
            }
            for output, text in OUTPUTS.items()
        }


def _type_in_duckdb(plain: duckdb.DuckDBPyConnection, text: str) -> str:
    """Returns the type of a query's first column, as Arrow has it from DuckDB."""
    try:
        return type_name(plain.sql(text).to_arrow_table().schema.field(0).type)
    except duckdb.Error:
        return ""


def _type_of_answer(session: Session, text: str) -> str:
    try:
        return type_name(session.describe(text).field(0).type)
    except Error:
        return ""


HEAD = """
## Types of answers

A key or an aggregate comes back in the type that DuckDB itself gives it: over Arrow, the DB-API,
Flight SQL and PostgreSQL's protocol alike. A cell has the type; in brackets DuckDB's where that is
another; – where the output is refused, nothing where DuckDB refuses it, too.

- A key or an aggregate keeps a wider type where a public value of it does not fit DuckDB's: `x * 2`
  of a TINYINT that goes to 100 is BIGINT, where DuckDB raises an error. What is computed of several
  aggregates is BIGINT, HUGEINT, DOUBLE or a DECIMAL for the same reason.
- A HUGEINT is DECIMAL(38,0) in Arrow, as DuckDB gives it, and a Python int in the DB-API.
- A SUM of DECIMALs with more than twelve digits behind the point is DOUBLE.

"""


def section(types: Mapping[str, Mapping[str, AnswerType]]) -> str:
    """Returns the types as a section of docs/types.md: a row for each type of column."""
    lines = [
        f"| column x | {' | '.join(f'`{output}`' for output in types)} |",
        f"|---|{'---|' * len(types)}",
    ]
    for sql_type in COLUMNS:
        cells = " | ".join(_cell(by_type[sql_type]) for by_type in types.values())
        lines.append(f"| {'ENUM' if sql_type.startswith('ENUM') else sql_type} | {cells} |")
    return HEAD + "\n".join(lines) + "\n"


def _cell(types: AnswerType) -> str:
    if not types.of_answer:
        return "–" if types.of_duckdb else ""
    is_same = types.of_answer == types.of_duckdb
    return types.of_answer if is_same else f"{types.of_answer} ({types.of_duckdb})"
