"""Every row operation on every type: `PYTHONPATH=tests python tests/support/type_matrix.py`.

The page in Markdown goes to docs/types.md.
A cell is found by trying it: the operation is bound as a statement's expression is, the kernel's
SQL is run over every row of a small table, and its values are compared with DuckDB's own for the
same text. So the page says what is, and `tests/plan/test_type_matrix.py` fails where it is not.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from sqlpriv.dialect import read
from sqlpriv.errors import Refused
from sqlpriv.kernel.sql.queries import MACROS
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Column, PrivacyUnit, TableContract, Type
from sqlpriv.kernel.terms.operations import OPERATIONS, type_of
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.statements.tree import Node, Select
from support import answer_types

TYPES: Mapping[str, tuple[str, ...]] = {
    "SMALLINT": ("-3", "0", "2", "7"),
    "BIGINT": ("-3", "0", "2", "7"),
    "UBIGINT": ("0", "2", "3"),
    "HUGEINT": ("-3", "0", "2"),
    "DECIMAL(4,1)": ("-2.5", "0.3", "0.5", "3.0", "2.5"),
    "DECIMAL(18,3)": ("-0.125", "0.300", "2.500", "8.350", "-893.550", "1234567890.125"),
    "FLOAT": ("-2.5", "0.25", "3.5", "0.5"),
    "DOUBLE": ("-2.5", "0.3", "0.1", "3.5", "0.5"),
    "VARCHAR": ("'a'", "'B'", "'ab'", "'é'"),
    "ENUM('low', 'mid', 'high')": ("'low'", "'high'", "'mid'"),
    "BOOLEAN": ("true", "false"),
    "DATE": ("'1969-12-31'", "'2000-02-29'", "'2024-12-30'"),
    "TIMESTAMP": ("'1969-12-31 23:59:59'", "'2000-02-29 12:30:00'", "'2024-12-30 00:00:00'"),
    "TIMESTAMPTZ": ("'1969-12-31 23:59:59+00'", "'2000-02-29 12:30:00+00'"),
    "TIMESTAMP_NS": ("'1969-12-31 23:59:59'", "'2000-02-29 12:30:00'", "'2024-12-30 00:00:00'"),
    "TIME": ("'00:00:00'", "'12:30:00'", "'23:59:59'"),
    "UUID": ("'00000000-0000-0000-0000-000000000001'", "'00000000-0000-0000-0000-0000000000ff'"),
    "INTEGER[]": ("[1, 2]", "[]"),
}
"""Column types, and the values that x and y take, each with each, and NULL."""
LARGE = {
    "BIGINT": "9007199254740993",
    "UBIGINT": "18446744073709551615",
    "HUGEINT": "170141183460469231731687303715884105",
    "DECIMAL(18,3)": "123456789012345.678",
}
"""One more value where values are compared, not computed with: arithmetic is exact up to 2**53."""
COMPARED = ("is null", "=", "<>", "<", "<=", ">", ">=", "coalesce", "IN", "BETWEEN", "CASE")
LITERALS = {
    "VARCHAR": "'ab'",
    "ENUM('low', 'mid', 'high')": "'mid'",
    "BOOLEAN": "true",
    "DATE": "DATE '2000-02-29'",
    "TIMESTAMP": "TIMESTAMP '2000-02-29 12:30:00'",
    "TIMESTAMP_NS": "TIMESTAMP '2000-02-29 12:30:00'",
    "TIMESTAMPTZ": "TIMESTAMPTZ '2000-02-29 12:30:00+00'",
    "TIME": "TIME '12:30:00'",
    "UUID": "UUID '00000000-0000-0000-0000-000000000001'",
    "INTEGER[]": "[1, 2]",
}
"""A literal of each type that is no number; numbers are compared with 3 and 0.3."""


def sql_texts() -> dict[str, tuple[str, ...]]:
    """Returns for each operation the SQL texts that are tried, over columns x and y."""
    special = {
        "and": "x AND y",
        "or": "x OR y",
        "not": "NOT x",
        "is null": "x IS NULL",
        "neg": "-x",
        "integer": "CAST(x AS BIGINT)",
        "real": "CAST(x AS DOUBLE)",
        "days": "date_diff('day', x, y)",
        "week": "weekofyear(x)",
        "dow": "dayofweek(x)",
        "doy": "dayofyear(x)",
        "date": "CAST(x AS DATE)",
        "clock": "CAST(x AS TIME)",
        "midnight": "CAST(x AS TIMESTAMP)",
        "pow": "pow(abs(x), 2)",
        "micros": "epoch_us(x)",
    }
    texts: dict[str, tuple[str, ...]] = {}
    for name, operation in OPERATIONS.items():
        if name in special:
            text = special[name]
        elif name.startswith("trunc "):
            text = f"date_trunc('{name.removeprefix('trunc ')}', x)"
        elif name.startswith("diff "):
            text = f"date_diff('{name.removeprefix('diff ')}', x, y)"
        elif name.startswith("sub "):
            text = f"date_sub('{name.removeprefix('sub ')}', x, y)"
        elif name.startswith("scale "):
            if name != "scale 1":
                continue
            text = "CAST(x AS DECIMAL(18,1))"
        elif name in ("sqrt", "ln", "log10", "log2"):
            text = f"{name}(abs(x) + 1)"
        elif name.isalpha():
            text = f"{name}(x)" if operation.arity == 1 else f"{name}(x, y)"
        else:
            text = f"x {name} y"
        texts[name] = (text,)
    for name in ("=", "<>", "<", "<=", ">", ">="):
        texts[name] = (f"x {name} y", f"x {name} {{literal}}")
    for name in ("+", "-", "*", "/", "%"):
        texts[name] = (f"x {name} y", f"x {name} 3")
    texts["//"] = ("x // 2",)
    texts["round to"] = ("round(x, 1)", "round(x, -1)", "round(x, 20 - 18)")
    texts["shift"] = ("x + INTERVAL 1 MONTH", "x - INTERVAL 3 DAY", "x + INTERVAL 5 HOUR")
    texts["days on"] = ("x + 3", "x - 30")
    texts["last day"] = (
        "last_day(x)",
        "dayname(x)",
        "monthname(x)",
        "date_part('year', age(x, y))",
    )
    texts["IS DISTINCT FROM"] = ("x IS DISTINCT FROM y", "x IS NOT DISTINCT FROM {literal}")
    texts["IN NULL"] = ("x IN ({literal}, NULL)", "x NOT IN ({literal}, NULL)")
    texts["rows"] = ("(x, y) IN (({literal}, {literal}))", "(x, y) NOT IN (({literal}, NULL))")
    texts["moments"] = ("x >= TIMESTAMP '2000-02-29 12:30:00'", "x < DATE '2000-02-29'")
    texts["decimal"] = ("x * 0.1 = 0.3", "x + 0.1 = 0.4", "x - 0.2 IN (0.1, 0.3)")
    texts["IN"] = ("x IN ({literal})",)
    texts["BETWEEN"] = ("x BETWEEN {literal} AND y",)
    texts["CASE"] = ("CASE WHEN x = y THEN x ELSE y END",)
    texts["seconds"] = ("epoch(x)", "second(x)")
    texts["duration"] = ("x - y < INTERVAL 3 DAY", "INTERVAL 1 MONTH >= x - y")
    texts["finite"] = ("isnan(x)", "isinf(x)", "isfinite(x)")
    texts["LIKE"] = ("x LIKE 'a%'",)
    texts["substring"] = ("substring(x, 1, 1)",)
    return texts


DIFFERENCES = {
    ("/", "SMALLINT"): "a division by zero is NULL as a value, where DuckDB says inf or nan;"
    " in a comparison it is DuckDB's, but for the sign of a zero that divides",
    ("/", "FLOAT"): "a FLOAT is computed with as a DOUBLE, which has more digits",
    ("round to", "FLOAT"): "a FLOAT is computed with as a DOUBLE, which has more digits",
}
"""Cells where the answer is not DuckDB's, and why: nothing else may differ."""
for integers in ("BIGINT", "UBIGINT", "HUGEINT"):
    DIFFERENCES["/", integers] = DIFFERENCES["/", "SMALLINT"]


class Cell(NamedTuple):
    """What came of an operation on a type: `agrees`, `refused`, or `differs`, and the reason."""

    outcome: str
    reason: str = ""


def contract_of(sql_type: str) -> TableContract:
    """Returns the contract of a table of x and y, both of that type."""
    type_ = type_of(sql_type)
    columns = (Column("i", Type.INTEGER, "INTEGER"),)
    columns += tuple(Column(name, type_, sql_type) for name in ("x", "y"))
    return TableContract("t", columns, unit=PrivacyUnit("t", "i"))


def table_of(sql_type: str, *more: str) -> duckdb.DuckDBPyConnection:
    """Returns an engine whose table t has every pair of the type's values, and NULLs."""
    engine = duckdb.connect()
    engine.execute("SET timezone = 'UTC'")
    engine.execute(f"CREATE TABLE t (i INTEGER, x {sql_type}, y {sql_type})")
    values = (*TYPES[sql_type], *more, "NULL")
    pairs = [f"({x}, {y})" for x in values for y in values]
    rows = ", ".join(f"({i}, {pair[1:]}" for i, pair in enumerate(pairs))
    engine.execute(f"INSERT INTO t VALUES {rows}")
    engine.execute(MACROS)
    return engine


def expression(text: str) -> Node:
    """Returns the expression as the dialect reads it."""
    (statement,) = read(f"SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) FROM t WHERE {text}")
    if not isinstance(statement, Select) or statement.where is None:
        raise Refused("this is not read")
    return statement.where


def try_cell(engine: duckdb.DuckDBPyConnection, sql_type: str, text: str) -> Cell:
    """Returns what comes of one SQL text on one type."""
    literal = LITERALS.get(sql_type, "0.3" if "DECIMAL" in sql_type else "3")
    text = text.format(literal=literal)
    try:
        relation = engine.sql(f"SELECT ({text}) AS v FROM t ORDER BY i")
        if str(relation.types[0]) == "TIMESTAMP WITH TIME ZONE":  # the kernel has one of UTC
            text_in_utc = f"({text}) AT TIME ZONE 'UTC'"
            relation = engine.sql(f"SELECT {text_in_utc} AS v FROM t ORDER BY i")
        native = relation.fetchall()
    except duckdb.Error as error:
        return Cell("no such operation", str(error).split("\n", 1)[0])
    contract = contract_of(sql_type)
    try:
        bound = Binder.of(contract).bind(expression(text))
        ours = Scope(a.Scan("t"), contract)
        value = ours.value(bound)
    except Refused as error:
        return Cell("refused", error.message)
    rows = engine.sql(f"SELECT ({value}) AS v FROM {ours.base} ORDER BY sqlpriv_row.i").fetchall()
    for (mine,), (theirs,) in zip(rows, native, strict=True):
        if not alike(mine, theirs):
            return Cell("differs", f"{text}: {mine} for {theirs}")
    return Cell("agrees")


def alike(mine: Any, theirs: Any) -> bool:
    """Returns whether two values are the same number, moment, text or NULL."""
    if mine is None or theirs is None:
        return mine is theirs
    if isinstance(mine, float) or isinstance(theirs, float):
        return math.isclose(float(mine), float(theirs), rel_tol=1e-15, abs_tol=0.0)
    if hasattr(mine, "date") != hasattr(theirs, "date"):  # a DATE is its own midnight
        return str(mine)[:10] == str(theirs)[:10]
    return bool(mine == theirs) or (isinstance(mine, str) and mine == str(theirs))


def matrix() -> dict[str, dict[str, Cell]]:
    """Returns the cells by operation and type; of several texts the first of `order`."""
    order = ("differs", "agrees", "refused", "no such operation")
    cells: dict[str, dict[str, Cell]] = {name: {} for name in sql_texts()}
    for sql_type in TYPES:
        engine = table_of(sql_type)
        larger = table_of(sql_type, *([LARGE[sql_type]] if sql_type in LARGE else []))
        for name, texts in sql_texts().items():
            table = larger if name in COMPARED else engine
            outcomes = [try_cell(table, sql_type, text) for text in texts]
            cells[name][sql_type] = min(outcomes, key=lambda cell: order.index(cell.outcome))
        engine.close()
        larger.close()
    return cells


SIGNS = {"agrees": "✓", "differs": "≠", "refused": "–", "no such operation": ""}
HEAD = """# Types and operations on private rows

✓ the value is DuckDB's, row by row; ≠ it is not, for the reason below; – refused, nothing is read
or charged; an empty cell: DuckDB has no such operation, either. Made by
`PYTHONPATH=tests python tests/support/type_matrix.py > docs/types.md`; every cell is tried anew by
`tests/plan/test_type_matrix.py`.

- A DECIMAL, and a literal with a point, is computed as a scaled integer, exactly up to 2^53 units
  of its last digit. As stored it is compared as a DOUBLE, which tells apart 15 digits.
- Whole numbers are exact up to 2^53 in arithmetic, and without bound where they are compared,
  listed or added up as stored.
- A NaN is read as NULL, and so is an infinite TIMESTAMPTZ.
- A TIMESTAMPTZ is read in UTC, and keys of it are shown in UTC.
- A TIMESTAMP_NS is read in whole microseconds, and a TIMESTAMP_S or TIMESTAMP_MS as a TIMESTAMP;
  one beyond the ends of a TIMESTAMP is NULL.
- MIN, MAX and quantiles of a TIME are to the minute.
- A SUM of numbers beyond ±2^31 is computed as a DOUBLE, and rounded to a whole number.
- MIN, MAX and quantiles of a TIMESTAMP or a TIMESTAMPTZ are to the 2,048th part of its domain:
  42 seconds of a day, four and a half hours of a year.
- COUNT_IF of no rows is 0, as COUNT is; DuckDB's is NULL. SUM, AVG and quantiles of no rows are
  NULL, by the noised count.
- A UUID is compared as its text, an ENUM by its labels; keys of an ENUM are shown as
  one, and sort in the order in which their domain lists them: its own labels are private. MIN, MAX
  and windows over such keys take the same order.
- Inside a unit a SUM of DECIMALs is exact; sums of doubles are exact where they are multiples
  of 2^-40 of the largest power of two that their domain reaches (whole numbers, halves, eighths).
- Lists, structs and maps cannot be used in expressions: no bounds of theirs can be declared. Take
  their parts in a column of their own.
- BLOBs, BITs, INTERVALs, TIMETZs and UHUGEINTs are not read either; `COUNT(x)` of such a column is
  answered where it is declared NOT NULL. Keep minutes, a text or a HUGEINT in a column of its own.
"""


def page(cells: dict[str, dict[str, Cell]]) -> str:
    """Returns the matrix as Markdown."""
    short = [sql_type.split("(")[0] if "ENUM" in sql_type else sql_type for sql_type in TYPES]
    lines = [HEAD, f"| operation | {' | '.join(short)} |", f"|---|{':-:|' * len(short)}"]
    for name, by_type in cells.items():
        texts = ", ".join(f"`{text.format(literal='c')}`" for text in sql_texts()[name])
        signs = " | ".join(SIGNS[by_type[sql_type].outcome] for sql_type in TYPES)
        lines.append(f"| {texts.replace('|', chr(92) + '|')} | {signs} |")
    reasons = sorted({f"- `{name}` of {of}: {why}." for (name, of), why in DIFFERENCES.items()})
    return "\n".join([*lines, "", "Where the answer is not DuckDB's:", "", *reasons, ""])


def whole_page(cells: dict[str, dict[str, Cell]]) -> str:
    """Returns docs/types.md: the matrix, and which types answers have."""
    with tempfile.TemporaryDirectory() as folder:
        return page(cells) + answer_types.section(answer_types.answer_types(Path(folder)))


if __name__ == "__main__":
    sys.stdout.write(whole_page(matrix()))
