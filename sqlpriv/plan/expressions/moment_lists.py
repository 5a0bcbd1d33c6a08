"""Texts, names and buckets of moments: each is a CASE over a public list.

The list is of the hours, days or months between the declared ends, whichever the text tells apart,
or of the buckets' beginnings.
"""

from __future__ import annotations

import calendar
import datetime as dt
import itertools
import re
from typing import TYPE_CHECKING

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.plan.expressions.facts.dates import MAX_SPAN, shift_moment
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.expressions.public_engine import public_value
from sqlpriv.plan.expressions.public_evaluation import case_over_values
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
    ("hour", "HIp", "TIMESTAMP '2000-01-01' + to_hours(x)"),
    ("isodow", "aAwu", "DATE '2023-12-31' + CAST(x AS INTEGER)"),
    ("month", "mbB", "make_date(2000, x, 1)"),
)
"""A part of a moment, the directives that tell nothing else, and some moment with that part."""


def bind_strftime(binder: Binder, node: t.FunctionCall, arg: t.Node, pattern: str) -> a.Expr:
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
        for part, only, moment in _PARTS:
            if letters <= set(only) and (part != "hour" or shape.type is Type.TIMESTAMP):
                whole, text = a.Call(part, (expr,)), moment
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


def _case_of_texts(binder: Binder, arg: t.Node, whole: a.Expr, text: str) -> a.Expr | None:
    """Returns the text of each of a moment's listed values `x`; None where they have no list."""
    listed = binder.shape(arg, whole)
    case = case_over_values(whole, listed, text)
    if case is not None and not listed.nullable:
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
    starts = [start]
    while starts[-1] <= shape.upper:
        if len(starts) > MOST_BUCKETS:
            raise refuse(node, f"there are more than {MOST_BUCKETS} buckets", "use wider buckets")
        starts.append(_bucket_after(start, width, len(starts)))
    type_ = shape.type
    whens = [
        (a.Call("<", (expr, a.Lit(end, type_))), a.Lit(begin, type_))
        for begin, end in itertools.pairwise(starts[:-1])
    ]
    last = a.Lit(starts[-2], type_)
    return a.Case(
        (*whens, (a.Call("not", (a.Call("is null", (expr,)),)), last)), a.Lit(None, type_)
    )


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
