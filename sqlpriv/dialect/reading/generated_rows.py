"""Functions in FROM that write rows, `generate_series(0, 3)` or `UNNEST([1, 2])`, as VALUES."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from sqlglot import exp

from sqlpriv.dialect.constants import moved_by_interval
from sqlpriv.dialect.marks import function_name
from sqlpriv.dialect.tokens import Token

MOST = 1_000
"""Rows that are written."""
_LAST_LEFT_OUT = ("range",)
_SERIES = ("generate_series", "generate_array", "generate_date_array", "sequence", *_LAST_LEFT_OUT)


def write_rows(tree: exp.Expr, dialect: str, token: Token) -> None:
    """Writes such functions of literals in FROM as VALUES, in place; others stay as they are.

    Args:
        tree: The query.
        dialect: In which it is written: of PostgreSQL's and BigQuery's functions the alias is the
            column's name, too.
        token: Any of its tokens, for a refusal of an interval.
    """
    for node in list(tree.find_all(exp.Unnest, exp.Table)):
        if not isinstance(node.parent, exp.From | exp.Join):
            continue
        alias = node.args.get("alias")
        call = node.expressions[0] if isinstance(node, exp.Unnest) else node.this
        if isinstance(call, exp.Identifier) or node.args.get("offset"):
            continue
        own = exp.to_identifier(function_name(call) or "unnest")
        columns = [column.copy() for column in alias.columns] if alias else []
        name, values = (alias and alias.args.get("this")) or None, _values(call, token)
        if values is None or len(columns) > 1:
            continue
        if not columns:
            columns = [name if name and dialect in ("postgres", "bigquery") else own]
            columns = [exp.to_identifier("value")] if dialect == "tsql" else columns
        rows = [exp.Tuple(expressions=[value]) for value in values]
        table = exp.TableAlias(this=(name or columns[0]).copy(), columns=columns)
        node.replace(exp.Values(expressions=rows, alias=table))


def _values(call: exp.Expr, token: Token) -> list[exp.Expr] | None:
    """Returns what a list or a function of literals holds; None where that is not written."""
    if isinstance(call, exp.Array):
        return call.expressions or None
    ends = call.expressions if function_name(call) in _SERIES else []
    is_open = function_name(call) in _LAST_LEFT_OUT
    numbers = [number for number in map(_whole, ends) if number is not None]
    if ends and len(numbers) == len(ends):
        first, last, by = ([0, *numbers, 1] if len(numbers) == 1 else [*numbers, 1])[:3]
        series = range(first, last if is_open else last + (1 if by > 0 else -1), by or 1)
        fits = by != 0 and 0 < len(series) <= MOST
        return [exp.Literal.number(number) for number in series] if fits else None
    days = [day for day in map(_day, ends[:2]) if day is not None]
    step = ends[2] if len(ends) == 3 else exp.Interval(this=exp.Literal.string("1 day"))
    if isinstance(step, exp.Cast) and step.to.this is exp.DType.INTERVAL:  # '1 day'::interval
        step = step.this
    if isinstance(step, exp.Literal) and step.is_string:
        step = exp.Interval(this=step)
    if len(days) < 2 or is_open or not isinstance(step, exp.Interval):
        return None
    listed = list(_days(days[0], days[1], step, token))
    return [_date_literal(day) for day in listed] if 0 < len(listed) <= MOST else None


def _days(first: dt.date, last: dt.date, step: exp.Interval, token: Token) -> Iterator[dt.date]:
    size, unit = step.this, step.args.get("unit")
    day: dt.date | dt.datetime = first
    for _ in range(MOST + 1):
        if day > last:
            return
        yield day
        moved = moved_by_interval(day, str(size.name), unit.name if unit else "", 1, token)
        if isinstance(moved, dt.datetime):
            if moved.time() != dt.time():
                return
            moved = moved.date()
        if moved <= day:
            return
        day = moved


def _whole(node: exp.Expr) -> int | None:
    sign, inside = (-1, node.this) if isinstance(node, exp.Neg) else (1, node)
    return sign * int(inside.name) if isinstance(inside, exp.Literal) and inside.is_int else None


def _day(node: exp.Expr) -> dt.date | None:
    text = node.this if isinstance(node, exp.Cast) else node
    if not isinstance(text, exp.Literal) or not text.is_string:
        return None
    try:
        return dt.date.fromisoformat(text.name.removesuffix(" 00:00:00"))
    except ValueError:
        return None


def _date_literal(day: dt.date) -> exp.Expr:
    return exp.Cast(this=exp.Literal.string(day.isoformat()), to=exp.DataType.build("DATE"))
