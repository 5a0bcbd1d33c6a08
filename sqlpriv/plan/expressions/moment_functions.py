"""Functions of moments: their parts and distances, seconds and durations.

A duration is only compared, and its comparison is one of moments: x - y < INTERVAL 3 DAY where
x < y + INTERVAL 3 DAY.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.plan.expressions.facts.dates import DATE_PARTS, DISTANCES
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.statements import tree as t
from sqlpriv.statements.keywords import TURNED

if TYPE_CHECKING:
    from sqlpriv.plan.expressions.binder import Binder

PART_NAMES = {
    **{name: name for name in DATE_PARTS},
    "dayofmonth": "day",
    "dayofweek": "dow",
    "dayofyear": "doy",
    "weekofyear": "week",
    "weekday": "dow",
    "years": "year",
    "months": "month",
    "days": "day",
}
LONG_PARTS = ("decade", "century", "millennium", "isoyear", "yearweek")
"""Parts that are computed from the year, and the week."""
DAYS_IN_MONTH = 30
"""As intervals are compared in DuckDB."""
_COMPARISONS = {"=": "=", "<>": "<>", **TURNED}
_MILLION = a.Lit(1_000_000, Type.INTEGER)


def bind_epoch(binder: Binder, name: str, arg: t.Node) -> a.Expr:
    """Returns epoch(x), in seconds, epoch_ms(x) or epoch_us(x); of a duration x - y, too."""
    ends = [arg.left, arg.right] if isinstance(arg, t.Binary) and arg.op == "-" else [arg]
    micros = [a.Call("micros", (bound,)) for bound in map(binder.bind, ends)]
    number: a.Expr = micros[0] if len(micros) == 1 else a.Call("-", tuple(micros))
    if name == "epoch_us":
        return number
    if name == "epoch_ms":
        thousandth = a.Call("/", (number, a.Lit(1000, Type.INTEGER)))
        return a.Call("integer", (a.Call("floor", (thousandth,)),))
    return a.Call("/", (number, _MILLION))


def beginning(call: t.FunctionCall) -> t.Node | None:
    """Returns what make_date(year(x), month(x), 1) and make_timestamp(year(x), …, 0) are: a moment
    cut to one of its parts. None of other arguments."""
    moment: t.Node | None = None
    unit = ""
    for number, (part, first) in enumerate(_MADE_OF.items()):
        arg = call.args[number] if number < len(call.args) else t.Literal(first)
        match arg:
            case t.FunctionCall(name, (of,)) if name == part:
                pass
            case t.FunctionCall("date_part" | "extract", (t.Literal(name), of)) if name == part:
                pass
            case t.Literal(value) if moment is not None and value == first:
                unit = unit or tuple(_MADE_OF)[number - 1]
                continue
            case _:
                return None
        if unit or moment not in (None, of):
            return None
        moment = of
    if moment is None or not unit:
        return None
    start = t.FunctionCall("date_trunc", (t.Literal(unit), moment), pos=call.pos)
    return t.Cast(start, "DATE", pos=call.pos) if call.name == "make_date" else start


def moved_to_beginning(binder: Binder, node: t.Node) -> t.Node | None:
    """Returns date_trunc(…) for a moment that its own parts move to where a unit begins: MySQL has
    no date_trunc, and BI tools write `CAST(x - to_days(day(x) - 1) AS DATE)` for the month, and
    `CAST(x AS DATE) + to_hours(hour(x))`. A TIMESTAMP's TIME that an interval moves is that of the
    moved moment: both go around at midnight. None of anything else: DuckDB casts neither a DATE
    nor a TIMESTAMPTZ to TIME."""
    match node:
        case t.Binary("+" | "-" as sign, t.Cast(t.Name() as moment, "TIME"), t.Span() as span):
            shape = binder.shape(moment, binder.bind(moment))
            if shape.type is not Type.TIMESTAMP or shape.zoned is not False:
                return None
            moved = t.Binary(sign, moment, span, node.pos)
            return t.Cast(moved, "TIME", pos=node.pos)
        case t.Cast(t.Binary("-", moment, t.FunctionCall("to_days", (t.Cast(count),))), "DATE"):
            day = t.Span(0, 1, 0)
            before = t.Binary("-", moment, day)
            begun = {
                _part_less_one("day", moment): "month",
                _part_less_one("dayofyear", moment): "year",
                _part_less_one("isodow", moment): "week",
                _day_of_week_from_sunday(before): "week",
            }
            if (unit := begun.get(count)) is not None:
                return t.Cast(_truncate(unit, moment, node.pos), "DATE", pos=node.pos)
            if count == _day_of_week_from_sunday(moment):
                monday = _truncate("week", t.Binary("+", moment, day), node.pos)
                return t.Cast(t.Binary("-", monday, day, node.pos), "DATE", pos=node.pos)
        case t.Binary("+", t.Cast(moment, "DATE"), t.FunctionCall(name, (t.Cast(number),))):
            hours = t.FunctionCall("hour", (moment,))
            minutes = t.Binary("*", hours, t.Literal(60))
            minutes = t.Binary("+", minutes, t.FunctionCall("minute", (moment,)))
            for unit, part in (("hour", hours), ("minute", minutes)):
                if (name, number) == (f"to_{unit}s", part):
                    return _truncate(unit, moment, node.pos)
    return None


def _truncate(unit: str, moment: t.Node, pos: t.Pos) -> t.Node:
    return t.FunctionCall("date_trunc", (t.Literal(unit), moment), pos=pos)


def _part_less_one(part: str, moment: t.Node) -> t.Node:
    return t.Binary("-", t.FunctionCall(part, (moment,)), t.Literal(1))


def _day_of_week_from_sunday(moment: t.Node) -> t.Node:
    """Returns MySQL's DAYOFWEEK(x) - 1."""
    of_mysql = t.Binary("+", t.FunctionCall("dayofweek", (moment,)), t.Literal(1))
    return t.Binary("-", of_mysql, t.Literal(1))


_MADE_OF = {"year": None, "month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0}
"""The parts of a moment, and where each begins."""


def bind_second(binder: Binder, arg: t.Node) -> a.Expr:
    """Returns the whole seconds of a moment's minute."""
    expr = binder.bind(arg)
    seconds = a.Call("diff second", (a.Call("trunc minute", (expr,)), expr))
    low, high = a.Lit(0, Type.INTEGER), a.Lit(59, Type.INTEGER)
    clamped = a.Call("least", (a.Call("greatest", (seconds, low)), high))
    return a.Case(((a.Call("is null", (seconds,)), a.Lit(None, Type.INTEGER)),), clamped)


def bind_duration(binder: Binder, node: t.Binary) -> a.Expr | None:
    """Returns a comparison of a duration, x - y < INTERVAL 3 DAY; None of other comparisons.

    Raises:
        Refused: What is compared with the interval is no difference of moments.
    """
    op, left, right = node.op, node.left, node.right
    if isinstance(left, t.Span):
        op, left, right = _COMPARISONS[op], right, left
    if not isinstance(right, t.Span):
        return None
    hint = "compare a difference of timestamps: left_at - came_at < INTERVAL 3 DAY"
    if isinstance(left, t.FunctionCall) and (left.name, len(left.args)) == ("age", 2):
        return _bind_age(binder, op, left, right)
    if not (isinstance(left, t.Binary) and left.op == "-"):
        raise refuse(node, "intervals are not answered privately", hint)
    last, first = binder.bind_together((left.left, left.right))
    if binder.shape(left, last).type is not Type.TIMESTAMP:
        raise refuse(node, "a difference of dates is a number of days", "write last - first < 3")
    days = right.days + DAYS_IN_MONTH * right.months
    return a.Call(op, (last, a.Shift(first, 0, days, right.micros)))


def _bind_age(binder: Binder, op: str, age: t.FunctionCall, span: t.Span) -> a.Expr:
    """Returns age(last, first) > INTERVAL 18 YEAR of days: whether last is behind first, moved.

    AGE counts whole months and the days left, and a month counts as 30 days where intervals are
    compared: one of 30 days or a month's end is not told from a month by >= or <, nor are hours.
    """
    last, first = binder.bind_together((age.args[0], age.args[1]))
    at_midnight = all(_is_day(binder, age, end) for end in (last, first))
    is_plain = op in (">", "<=") and not (span.days or span.micros) and span.months >= 0
    if not (at_midnight and is_plain):
        hint = "of days write age(x, y) > INTERVAL 18 YEAR, or x >= y + INTERVAL 18 YEAR"
        raise refuse(age, "this comparison of AGE is not answered privately", hint)
    moved = a.Shift(first, span.months, 0, 0)
    is_date = binder.shape(age, last).type is Type.DATE
    return a.Call(op, (a.Call("midnight", (last,)) if is_date else last, moved))


def _is_day(binder: Binder, node: t.Node, expr: a.Expr) -> bool:
    """Returns whether a bound expression is a day, or its midnight."""
    match expr:
        case a.Call("midnight") | a.Lit(None):
            return True
        case a.Lit(dt.datetime() as value):
            return value.time() == dt.time()
    return binder.shape(node, expr).type is Type.DATE


def bind_distance(
    binder: Binder,
    node: t.FunctionCall,
    unit: str,
    ends: tuple[t.Node, t.Node],
    *,
    whole: bool = False,
) -> a.Expr:
    """date_diff(unit, first, last), which counts beginnings of units between two moments; date_sub
    counts whole units."""
    whole = whole or node.name in ("date_sub", "datesub")
    units = (*DISTANCES[1:], "day") if whole else DISTANCES
    if unit not in units:
        raise refuse(node, f"there is no distance in {unit}", f"one of: {', '.join(units)}")
    first, last = binder.bind_together(ends)
    return a.Call(f"{'sub' if whole else 'diff'} {unit}", (first, last))


def bind_years_of_age(binder: Binder, first: t.Node, last: t.Node) -> a.Expr:
    """Returns date_part('year', age(last, first)), which differs from date_sub in one thing.

    From February 29th to the 28th of another year DATE_SUB counts a whole year, the last day of a
    month being as good as any later one. A day before the 28th it does not, nor does AGE.
    """
    nodes = (first, last)
    moments = binder.bind_together(nodes)
    whole: a.Expr = a.Call("sub year", moments)
    tests = []
    for leap, other in (moments, moments[::-1]):
        if _may_be(leap, 29) and _may_be(other, 28):
            test = a.Call("and", (*_is_in_february(leap, 29), *_is_in_february(other, 28)))
            clocks = tuple(_with_clock(binder, x, n) for x, n in zip(moments, nodes, strict=True))
            ends = tuple(
                a.Shift(clock, 0, -1, 0) if moment is other else clock
                for clock, moment in zip(clocks, moments, strict=True)
            )
            tests.append((test, a.Call("sub year", ends)))
    return a.Case(tuple(tests), whole) if tests else whole


def _with_clock(binder: Binder, moment: a.Expr, node: t.Node) -> a.Expr:
    """Returns a day as its midnight: a day that is moved by an interval is a TIMESTAMP."""
    is_day = binder.shape(node, moment).type is Type.DATE
    return a.Call("midnight", (moment,)) if is_day else moment


def _may_be(moment: a.Expr, day: int) -> bool:
    """Returns whether a moment may be on a day of February."""
    value = moment.value if isinstance(moment, a.Lit) else None
    return not isinstance(value, dt.date) or (value.month, value.day) == (2, day)


def _is_in_february(moment: a.Expr, day: int) -> tuple[a.Expr, ...]:
    if isinstance(moment, a.Lit):
        return ()
    parts = (("month", 2), ("day", day))
    return tuple(
        a.Call("=", (a.Call(part, (moment,)), a.Lit(number, Type.INTEGER)))
        for part, number in parts
    )


def are_timestamps(binder: Binder, nodes: tuple[t.Node, ...]) -> bool:
    """Returns whether expressions are timestamps, whose difference is an interval."""
    if any(isinstance(node, t.Span) for node in nodes):
        return False
    return all(binder.shape(node, binder.bind(node)).type is Type.TIMESTAMP for node in nodes)


def days_between(first: a.Expr, last: a.Expr) -> a.Expr:
    """Returns how many midnights lie between two moments."""
    return a.Call("-", (a.Call("days", (last,)), a.Call("days", (first,))))


def bind_part(binder: Binder, node: t.FunctionCall, part: str, arg: t.Node) -> a.Expr:
    """Returns a part of a moment: a number."""
    if part in LONG_PARTS:
        moment = binder.bind(arg)
        first = binder.shape(arg, moment).lower
        return _long_part(part, moment, after_christ=first is not None)
    if part not in PART_NAMES:
        raise refuse(
            node, f"there is no date part {part}", f"one of: {', '.join(sorted(DATE_PARTS))}"
        )
    return a.Call(PART_NAMES[part], (binder.bind(arg),))


def _long_part(part: str, moment: a.Expr, *, after_christ: bool) -> a.Expr:
    """Returns the decade, the century or the millennium of a moment, the year of its ISO week, or
    that year and the week as one number.

    Centuries begin in years 1, 101, …; before year 1, which Python's dates begin with and so all
    declared ends lie behind, the last one is century -1.
    """
    if part == "decade":
        return a.Call("//", (a.Call("year", (moment,)), _whole(10)))
    if part in ("isoyear", "yearweek"):
        thursday = a.Shift(a.Call("trunc week", (moment,)), 0, 3, 0)
        year = a.Call("year", (thursday,))
        if part == "isoyear":
            return year
        return a.Call("+", (a.Call("*", (year, _whole(100))), a.Call("week", (moment,))))
    size = _whole(100 if part == "century" else 1000)
    year = a.Call("year", (moment,))
    before = a.Call("-", (year, _whole(1)))
    later = a.Call("+", (a.Call("//", (before, size)), _whole(1)))
    if after_christ:
        return later
    earlier = a.Call("-", (a.Call("//", (year, size)), _whole(1)))
    return a.Case(((a.Call(">", (year, _whole(0))), later),), earlier)


def _whole(number: int) -> a.Lit:
    return a.Lit(number, Type.INTEGER)
