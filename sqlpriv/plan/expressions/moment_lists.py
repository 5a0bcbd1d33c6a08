"""Texts, names and buckets of moments: each is a CASE over a public list.

The list is of the hours, days or months between the declared ends, whichever the text tells apart,
or of the buckets' beginnings.
"""

from __future__ import annotations

import calendar
import datetime as dt
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import duckdb

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type, Value
from sqlpriv.plan.expressions.facts.dates import MAX_SPAN, shift_moment
from sqlpriv.plan.expressions.facts.engine_types import listed_sql_type
from sqlpriv.plan.expressions.facts.public_engine import public_engine, public_value
from sqlpriv.plan.expressions.facts.value_facts import Shape
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.expressions.public_evaluation import MOST_ROWS, as_literals
from sqlpriv.statements import tree as t
from sqlpriv.statements.printer import literal, sql
from sqlpriv.statements.traverse import as_literal

if TYPE_CHECKING:
    from sqlpriv.plan.expressions.binder import Binder


MOST_BUCKETS = 1000
_DIRECTIVES = {
    "year": "YyC",
    "month": "mbB",
    "day": "djaAwuUWVGxD",
    "hour": "HIp",
    "minute": "M",
    "second": "SXcT",
    "": "%Zz",
}
"""What the directives of a format tell of a moment."""
_PARTS = (
    ({"hour": 1}, "HIp", "TIMESTAMP '2000-01-01' + to_hours(x)"),
    ({"isodow": 1}, "aAwu", "DATE '2023-12-31' + CAST(x AS INTEGER)"),
    ({"month": 1}, "mbB", "make_date(2000, x, 1)"),
    ({"day": 1}, "d", "make_date(2000, 1, x)"),
    ({"isodow": 24, "hour": 1}, "aAwuHIp", "TIMESTAMP '2023-12-31' + to_hours(x)"),
    ({"hour": 60, "minute": 1}, "HIpM", "TIMESTAMP '2000-01-01' + to_minutes(x)"),
)
"""Parts of a moment with what each counts in a number of theirs, the directives that tell nothing
else, and some moment with those parts."""

_FIRST_LETTERS = {4: "%Y", 7: "%Y-%m", 10: "%Y-%m-%d", 13: "%Y-%m-%d %H", 16: "%Y-%m-%d %H:%M"}
"""How many letters of '2024-02-29 12:30:00' are a format of their own."""


def bind_strftime(binder: Binder, node: t.Node, arg: t.Node, pattern: str) -> a.Expr:
    """Returns strftime(x, pattern) of a moment with declared ends.

    Raises:
        Refused: Too many texts, or a DATE whose days can be listed: `evaluate_over_lists` does.
    """
    expr = binder.bind(arg)
    shape = binder.shape(arg, expr)
    letters = {letter for letter in re.findall(r"%-?(.)", pattern) if letter != "%"}
    units = [unit for unit, of in _DIRECTIVES.items() if letters & set(of)]
    all_read = letters <= set("".join(_DIRECTIVES.values()))
    few_days = isinstance(arg, t.Name) and shape.type is Type.DATE and shape.lower
    few_days = few_days and shape.upper - shape.lower < MAX_SPAN
    if all_read and units and not few_days and shape.type in (Type.DATE, Type.TIMESTAMP):
        whole: a.Expr = a.Call(f"trunc {[*filter(None, units)][-1]}", (expr,))
        text = "x"
        for parts, only, moment in _PARTS:
            if letters <= set(only) and ("hour" not in parts or shape.type is Type.TIMESTAMP):
                whole, text = _number_of_parts(expr, parts), moment
                break
        if case := _case_of_texts(binder, arg, whole, f"strftime({text}, {literal(pattern)})"):
            return case
    # what a truncation left is listed by itself, however fine the text: '2024-02-01 00:00:00.000'
    is_truncated = isinstance(expr, a.Call) and expr.op.startswith("trunc ")
    text = f"strftime(x, {literal(pattern)})"
    if units and is_truncated and (case := _case_of_texts(binder, arg, expr, text)):
        return case
    raise refuse(
        node,
        "there is no short public list of these texts",
        "declare the ends of the column, or write a coarser format: strftime(d, '%Y-%m')",
    )


def _number_of_parts(moment: a.Expr, parts: Mapping[str, int]) -> a.Expr:
    """Returns the sum of parts of a moment, each times its weight."""
    terms = [
        a.Call(part, (moment,))
        if weight == 1
        else a.Call("*", (a.Call(part, (moment,)), a.Lit(weight, Type.INTEGER)))
        for part, weight in parts.items()
    ]
    return terms[0] if len(terms) == 1 else a.Call("+", tuple(terms))


def format_of_letters(place: Sequence[t.Node]) -> str | None:
    """Returns the format of a moment's first letters: of the year, month, day, hour or minute.

    Args:
        place: What follows the text in left(x, 7) or substring(x, 1, 7).
    """
    numbers = [number.value for number in map(as_literal, place) if number is not None]
    match numbers:
        case [int(count)] | [1, int(count)]:
            return _FIRST_LETTERS.get(count)
    return None


def _case_of_texts(binder: Binder, arg: t.Node, whole: a.Expr, text: str) -> a.Expr | None:
    """Returns the text of each of a moment's listed values `x`; None where they have no list."""
    listed = binder.shape(arg, whole)
    case = _case_over_values(whole, listed, text)
    if case is not None and not listed.nullable:
        binder.evaluated.add(case)
    return case


def _case_over_values(arg: a.Expr, shape: Shape, function: str) -> a.Expr | None:
    """Returns a function of an expression whose values are listed, as a CASE over them.

    Args:
        arg: The expression; a value that is not listed has NULL.
        shape: What is known of it.
        function: DuckDB's text of the function, over `x`.

    Returns:
        None where the values are too many, or one has no literal.
    """
    values = [value for value in shape.values or () if value is not None]
    if not values or len(values) > MOST_ROWS:
        return None
    marks = ", ".join(["(?)"] * len(values))
    listed = f"(SELECT CAST(c AS {listed_sql_type(shape)}) AS x FROM (VALUES {marks}) AS v (c))"
    try:
        answer = public_engine().cursor().execute(f"SELECT {function} FROM {listed}", values)
        results = as_literals([value for (value,) in answer.fetchall()])
    except duckdb.Error:
        return None
    if results is None:
        return None
    alike: dict[a.Lit, list[Value]] = {}
    for value, result in zip(values, results, strict=True):
        alike.setdefault(result, []).append(value)
    whens = tuple((a.In(arg, tuple(of)), result) for result, of in alike.items())
    return a.Case(whens, a.Lit(None, results[0].type))


def bind_moment_of_number(binder: Binder, node: t.FunctionCall, arg: t.Node) -> a.Expr:
    """Returns to_timestamp(x), in seconds, or make_timestamp(x), in microseconds, where x has few
    values in public: `to_timestamp(floor(epoch(t) / 900) * 900)`.

    Raises:
        Refused: The values have no public list.
    """
    expr = binder.bind(arg)
    shape = binder.shape(arg, expr)
    text = "make_timestamp(x)"
    if node.name == "to_timestamp":
        text = "to_timestamp(x) AT TIME ZONE 'UTC'"
    if (case := _case_over_values(expr, shape, text)) is None:
        message = "the numbers that become moments have no short public list"
        raise refuse(node, message, "write date_trunc('hour', t), or time_bucket(INTERVAL …, t)")
    if not shape.nullable:
        binder.evaluated.add(case)
    return case


def bind_time_bucket(binder: Binder, node: t.FunctionCall) -> a.Expr:
    """Returns time_bucket(INTERVAL …, x [, origin]): the beginning of the bucket that x is in.

    Raises:
        Refused: x has no public ends, or more than `MOST_BUCKETS` buckets lie between them.
    """
    width, arg, *origin = node.args
    expr = binder.bind(arg)
    shape = binder.shape(arg, expr)
    moment = shape.type in (Type.DATE, Type.TIMESTAMP)
    fixed = all(isinstance(as_literal(one), t.Literal) for one in origin)
    if not isinstance(width, t.Span) or not moment or len(origin) > 1 or not fixed:
        raise refuse(node, "time_bucket takes an interval and a moment", _BUCKETS)
    if width.micros and shape.type is Type.DATE:
        raise refuse(node, "a date has no part of a day", "write INTERVAL 1 DAY")
    if shape.lower is None:
        raise refuse(node, "time_bucket needs public ends of its argument", _BUCKETS)
    of = sql(t.FunctionCall("time_bucket", (width, t.Literal(shape.lower), *origin)))
    start = public_value(of)
    if not isinstance(start, dt.date):
        raise refuse(node, "DuckDB has no such bucket", _BUCKETS)
    upper = shape.upper
    if shape.type is Type.DATE and isinstance(start, dt.datetime):  # from a moment on
        upper = dt.datetime(upper.year, upper.month, upper.day)
        expr = a.Call("midnight", (expr,))
    starts = [start]
    while starts[-1] <= upper:
        if len(starts) > MOST_BUCKETS:
            raise refuse(node, f"there are more than {MOST_BUCKETS} buckets", "use wider buckets")
        starts.append(_bucket_after(start, width, len(starts)))
    type_ = Type.TIMESTAMP if isinstance(start, dt.datetime) else Type.DATE
    whens = [
        (a.Call("<", (expr, a.Lit(end, type_))), a.Lit(begin, type_))
        for begin, end in itertools.pairwise(starts[:-1])
    ]
    last = (a.Call("not", (a.Call("is null", (expr,)),)), a.Lit(starts[-2], type_))
    bucket = a.Case((*whens, last), a.Lit(None, type_))
    if not shape.nullable or binder.is_present(expr):  # the last bucket takes all that are left
        binder.evaluated.add(bucket)
    return bucket


_BUCKETS = "write time_bucket(INTERVAL 7 DAY, day) of a column with declared ends"


def _bucket_after(start: dt.date, width: t.Span, number: int) -> dt.date:
    midnight = dt.datetime(start.year, start.month, start.day)
    moment = start if isinstance(start, dt.datetime) else midnight
    parts = (number * part for part in (width.months, width.days, width.micros))
    moved = shift_moment(moment, *parts)
    return moved if isinstance(start, dt.datetime) else moved.date()


def bind_name(binder: Binder, function: str, arg: t.Node) -> a.Expr:
    """dayname(d) and monthname(d): English, as the engine has them, whatever the locale."""
    names = calendar.day_name if function == "dayname" else calendar.month_name
    part = a.Call("isodow" if function == "dayname" else "month", (binder.bind(arg),))
    first = 1 if function == "dayname" else 0
    tests = tuple(
        (a.Call("=", (part, a.Lit(number + first, Type.INTEGER))), a.Lit(str(name), Type.TEXT))
        for number, name in enumerate(names)
        if name
    )
    name = a.Case(tests, a.Lit(None, Type.TEXT))
    if not binder.shape(arg, part).nullable:
        binder.evaluated.add(name)
    return name
