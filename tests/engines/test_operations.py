"""Every operation of row expressions over nasty values: the same in both engines, row by row."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import pytest
from engines.both import Both

from sqlpriv.kernel.sql.dialect import DIALECTS, SPARK
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Column, PrivacyUnit, TableContract, Type
from sqlpriv.kernel.terms.operations import OPERATIONS, Operation

LAST_BIT = {"exp", "ln", "log2", "log10", "cbrt", "pow"}
COLUMNS = {
    "x": "DOUBLE",
    "y": "DOUBLE",
    "i": "BIGINT",
    "j": "BIGINT",
    "b": "BOOLEAN",
    "c": "BOOLEAN",
    "s": "VARCHAR",
    "t": "VARCHAR",
    "d": "DATE",
    "e": "DATE",
    "m": "TIMESTAMP",
    "n": "TIMESTAMP",
}
TYPES = {"DOUBLE": Type.REAL, "BIGINT": Type.INTEGER, "VARCHAR": Type.TEXT}
REALS = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    0.49999999999999994,
    1.0,
    -1.0,
    3.7,
    -3.7,
    12345.678,
    1.005,
    0.285,
    2.0**53,
    2.0**53 + 2,
    2.0**63,
    -(2.0**63),
    1e18,
    5e17,
    1e37,
    1e300,
    -1e300,
    1e308,
    5e-324,
    1e-300,
    math.inf,
    -math.inf,
    math.nan,
    None,
]
WHOLE = [
    0,
    1,
    -1,
    2,
    3,
    -3,
    7,
    2**31,
    2**53,
    2**53 + 1,
    -(2**53) - 1,
    2**62,
    2**63 - 1,
    -(2**63),
    None,
]
TEXTS = [
    "",
    "a",
    "A",
    "it's",
    "\\",
    '"',
    "İ",
    "ΑΣ",
    "ß",
    "日本",
    "\U0001f600",
    "a\nb",
    "\x01",
    None,
]
DAYS = [
    "0001-01-01",
    "0001-01-01 (BC)",
    "0044-03-15 (BC)",
    "0099-12-31",
    "1582-10-15",
    "1582-10-04",
    "1899-12-31",
    "1969-12-31",
    "1970-01-01",
    "2000-02-29",
    "2024-12-30",
    "2023-01-01",
    "9999-12-31",
    "123456-07-08",
    "0144-06-01 (BC)",
    "290000-01-01",
    None,
]
CLOCKS = ["00:00:00", "23:59:59.999999", "11:30:00.5"]


def literal_list(values: list[Any], type_: str) -> str:
    def one(value: Any) -> str:
        if value is None:
            return f"NULL::{type_}"
        if isinstance(value, float):
            return f"'{value}'::DOUBLE"
        if isinstance(value, str):
            return "'" + value.replace("'", "''") + f"'::{type_}"
        return f"'{value}'::{type_}"

    return f"[{', '.join(map(one, values))}]"


def moments() -> list[str | None]:
    return [
        None if day is None else f"{day} {clock}" for day, clock in itertools.product(DAYS, CLOCKS)
    ]


PAIRS = {
    ("x", "y"): (REALS, "DOUBLE"),
    ("i", "j"): (WHOLE, "BIGINT"),
    ("b", "c"): ([True, False, None], "BOOLEAN"),
    ("s", "t"): (TEXTS, "VARCHAR"),
    ("d", "e"): (DAYS, "DATE"),
    ("m", "n"): (moments(), "TIMESTAMP"),
}


@pytest.fixture(scope="module")
def both(spark_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    engines = Both(spark_url, tmp_path_factory.mktemp("files"))
    for (first, second), (values, type_) in PAIRS.items():
        listed = literal_list(values, type_)
        engines.fill(
            first + second,
            f"SELECT row_number() OVER () AS id, {first}, {second} FROM (SELECT unnest({listed}) AS"
            f" {first}), (SELECT unnest({listed}) AS {second})",
        )
    yield engines
    engines.spark.close()


def expressions(operation: Operation, op: str, names: tuple[str, str]) -> a.Call:
    return a.Call(op, tuple(a.Col(n) for n in names[: operation.arity or 2]))


def same(x: Any, y: Any, near: bool) -> bool:
    if isinstance(x, float) and isinstance(y, float):
        if math.isnan(x) or math.isnan(y):
            return math.isnan(x) and math.isnan(y)
        return math.isclose(x, y, rel_tol=1e-13) if near else x == y
    return x == y and (x is None) == (y is None)


@pytest.mark.parametrize("names", list(PAIRS))
def test_operations_are_the_same(both: Both, names: tuple[str, str]) -> None:
    sql_type = PAIRS[names][1]
    type_ = TYPES.get(sql_type, Type.BOOLEAN if sql_type == "BOOLEAN" else None)
    type_ = type_ or (Type.DATE if sql_type == "DATE" else Type.TIMESTAMP)
    table = "".join(names)
    columns = (Column("id", Type.INTEGER, "BIGINT"), *(Column(n, type_, sql_type) for n in names))
    ops = [op for op, operation in OPERATIONS.items() if type_ in operation.takes]
    ops = [op for op in ops if SPARK.operations.get(op) != ""]
    answers = []
    for engine in ("duckdb", "spark"):
        contract = TableContract(
            table, columns, PrivacyUnit(table, "id"), key=("id",), engine=engine
        )
        scope = Scope(a.Scan(table), contract)
        texts = [scope.value(expressions(OPERATIONS[op], op, names)) for op in ops]
        texts = [
            cast_of(text, OPERATIONS[op].gives or type_, engine)
            for text, op in zip(texts, ops, strict=True)
        ]
        text = ", ".join(f"{text} AS c{i}" for i, text in enumerate(texts))
        sql = f"SELECT {', '.join(names)}, {text}{scope.source()} ORDER BY id"
        sql = sql.replace(
            f"SELECT {names[0]}, {names[1]}", f"SELECT {DIALECTS[engine].identifier('id')}"
        )
        answers.append(
            both.duckdb.execute(sql).fetchall() if engine == "duckdb" else both.rows_of_spark(sql)
        )
    differences = []
    inputs = both.duckdb.execute(
        f"SELECT {', '.join(f'{n}::VARCHAR' for n in names)} FROM {table} ORDER BY id"
    ).fetchall()
    for row, mine, other in zip(inputs, *answers, strict=True):
        for op, x, y in zip(ops, mine[1:], other[1:], strict=True):
            if not same(x, y, op in LAST_BIT):
                differences.append((op, row, x, y))
    shown = {}
    for op, *rest in differences:
        shown.setdefault(op, []).append(rest)
    assert not differences, "\n".join(f"{op}: {len(r)}, {r[:4]}" for op, r in shown.items())


def cast_of(text: str, type_: Type, engine: str) -> str:
    """Numbers as doubles, moments as microseconds: what Python cannot hold is compared, too."""
    if type_ in (Type.INTEGER, Type.REAL):
        return f"CAST({text} AS DOUBLE)"
    if type_ in (Type.DATE, Type.TIMESTAMP):
        moment = f"CAST({text} AS TIMESTAMP)"
        return f"epoch_us({moment})" if engine == "duckdb" else f"unix_micros({moment})"
    return text
