"""What columns plain SQL and answers would give, and which of their NULLs stand for all values."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeVar

import pyarrow as pa

from sqlpriv.errors import Error
from sqlpriv.plan.explanation.explain import SCHEMA
from sqlpriv.plan.plan import Plan
from sqlpriv.session.access.plain_sql import PlainSql
from sqlpriv.session.access.result import Result
from sqlpriv.statements import commands as cmd
from sqlpriv.statements import tree as t
from sqlpriv.system import arrow

_Query = TypeVar("_Query", bound=t.Select | cmd.Plain)
_EXPLAINED = pa.schema([("explain_key", pa.string()), ("explain_value", pa.string())])
_SHOWS = ("DESCRIBE", "DESC", "SHOW", "SUMMARIZE")


def columns(statement: _Query, run: Callable[[_Query], pa.Table]) -> pa.Schema:
    """Returns the columns of a query that DuckDB runs, in the very types of its result.

    The engine binds it, which touches no row, and gives no row of it, which runs nothing.

    Args:
        statement: A query, and nothing that writes.
        run: Runs a statement in the place of that one, with its rights.

    Raises:
        ProgrammingError: What the engine says of the query.
    """
    text = statement.text
    first = text.split(None, 1)[0].upper()
    if first == "EXPLAIN":
        return _EXPLAINED
    if first in _SHOWS:  # facts about tables, which cost little: no subquery of their own
        return run(statement).schema
    names = run(replace(statement, text=f"DESCRIBE {text}")).column("column_name").to_pylist()
    typed = run(replace(statement, text=f"SELECT * FROM ({text}\n) LIMIT 0")).schema
    # A subquery renames the second of two columns of one name: DESCRIBE knows them both.
    return pa.schema([x.with_name(name) for x, name in zip(typed, names, strict=True)])


def empty_answer(planned: Plan, schema: pa.Schema, sql: PlainSql) -> pa.Table:
    """Returns an answer without rows; a key that is an ENUM has its labels all the same.

    Args:
        planned: The plan of the query.
        schema: The columns of its answer.
        sql: Runs SQL over nothing: DuckDB reads the labels of an ENUM.
    """
    rows = arrow.table([], schema)
    types = planned.output.enum_types
    for number, field in enumerate(schema):
        if pa.types.is_dictionary(field.type) and (enum := types.get(field.name)):
            labels = sql.run_alone({}, f"SELECT CAST(NULL AS {enum}) AS label", None).column(0)
            rows = rows.set_column(number, field.name, labels.slice(0, 0))
    return rows


def rows_of_all(
    table: pa.Table,
    answers: Mapping[str, Result],
    run: Callable[[Mapping[str, pa.Table]], pa.Table],
) -> dict[str, frozenset[int]]:
    """Returns, of plain SQL over answers, the columns and rows whose NULL is a key of all values.

    The SQL is run again with another value in the place of these NULLs: where it gives that value
    instead of NULL, and nothing else differs, the NULL is one of them. A value above all others
    keeps the order where NULLs come last, one below all others where they come first.

    Args:
        table: What the SQL gave.
        answers: What it reads, by name.
        run: Runs it, with these tables in the place of answers.
    """
    if not any(answer.summed for answer in answers.values()) or not any(
        column.null_count for column in table.columns
    ):
        return {}
    for step in (1, -1):
        used: set[Any] = set()
        try:
            other = run({n: _with_values_for_all(a, step, used) for n, a in answers.items()})
        except (Error, pa.ArrowInvalid, OverflowError):  # the SQL, or the type, has no such value
            continue
        if (places := _replaced_nulls(table, other, used)) is not None:
            return places
    return {}


def _with_values_for_all(answer: Result, step: int, used: set[Any]) -> pa.Table:
    """Returns an answer's rows with a value in the place of each key of all values, which is added
    to `used`."""
    rows = answer.table
    assert rows is not None
    for name, places in answer.summed.items():
        at, column = rows.column_names.index(name), rows.column(name)
        values = column.to_pylist()
        value = _far_beyond([v for v in values if v is not None], step, column.type)
        if value is not None:
            used.add(value)
            filled = [value if i in places and v is None else v for i, v in enumerate(values)]
            rows = rows.set_column(at, name, arrow.array(filled, column.type))
    return rows


def _far_beyond(values: list[Any], step: int, of: pa.DataType) -> Any:
    """Returns a value above (1) or below (-1) all others of a column; None where there is none.

    It is far from them, so that SQL that adds something to a key does not meet another key, as far
    as the column's type has room. SQL that meets the value among the keys changes more than NULLs.
    """
    end = max(values, default=None) if step > 0 else min(values, default=None)
    match end:
        case None:
            return None
        case bool():
            return step > 0
        case Decimal():
            return _largest_decimal(end, of) * step
        case int() if pa.types.is_integer(of):
            return _far_integer(end, step, of)
        case int() | float():
            return end + step * (100 if abs(end) < 28 else 10_007)
        case str():
            return end + "\U0010ffff" if step > 0 else ""
        case dt.date():
            return end + dt.timedelta(days=step * 10_007)
    return None


def _far_integer(end: int, step: int, of: pa.DataType) -> int:
    """Returns a whole number beyond an end, or the type's own last one. Beyond a small end it fits
    a TINYINT, to which the SQL may cast it.

    >>> [_far_integer(end, 1, pa.int8()) for end in (1, 99)], _far_integer(99, 1, pa.int32())
    ([101, 127], 10106)
    """
    far = end + step * (100 if abs(end) < 28 else 10_007)
    least, most = arrow.integer_ends(of)
    return max(min(far, most), least)


def _largest_decimal(than: Decimal, of: pa.Decimal128Type) -> Decimal:
    """Returns a value above others that has as many digits, one more of them before the point, as
    far as the column's type has room.

    >>> _largest_decimal(Decimal("12.50"), pa.decimal128(18, 2))
    Decimal('999.99')
    >>> _largest_decimal(Decimal("2.00"), pa.decimal128(3, 2))
    Decimal('9.99')
    """
    _, digits, places = than.as_tuple()
    assert isinstance(places, int)  # no NaN
    return Decimal((0, (9,) * min(max(len(digits), 1 - places) + 1, of.precision), places))


def _replaced_nulls(
    table: pa.Table, other: pa.Table, used: set[Any]
) -> dict[str, frozenset[int]] | None:
    """Returns where one table has NULL and the other a used value; None if more differs."""
    if (table.num_rows, table.column_names) != (other.num_rows, other.column_names):
        return None
    places = {}
    for name, one, two in zip(table.column_names, table.columns, other.columns, strict=True):
        pairs = list(zip(one.to_pylist(), two.to_pylist(), strict=True))
        if among := frozenset(i for i, (a, b) in enumerate(pairs) if a != b):
            if any(pairs[i][0] is not None or pairs[i][1] not in used for i in among):
                return None
            places[name] = among
    return places


def nothing_private() -> Result:
    """Returns what EXPLAIN PRIVACY says of constants, declared levels, public and released tables:
    the one row of a total of nothing."""
    row = {"measurement": "total", "cells": 0, "rho": 0.0, "epsilon": 0.0}
    return Result(arrow.table([row], SCHEMA), "no private row is read: free")
