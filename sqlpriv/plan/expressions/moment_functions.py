"""Functions of moments: their parts and distances, texts, buckets, seconds and durations.

A text or a bucket is a CASE over a public list: of the hours, days or months between the declared
ends, whichever the text tells apart, or of the buckets' beginnings. A duration is only compared,
and its comparison is one of moments: x - y < INTERVAL 3 DAY where x < y + INTERVAL 3 DAY.
`x AT TIME ZONE 'Europe/Berlin'` is a CASE over the public times at which the zone's clock is put:
DuckDB is asked, in an engine without tables, how far that clock is ahead within the declared ends
of x, so that hours which occur twice and hours which no clock shows are its own.
"""

from __future__ import annotations

import calendar
import datetime as dt
import itertools
import re
from functools import lru_cache
from typing import TYPE_CHECKING

import duckdb

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.plan.expressions.dates import DATE_PARTS, DISTANCES, MAX_SPAN, shift_moment
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.expressions.public_evaluation import (
    case_over_values,
    public_engine,
    public_value,
)
from sqlpriv.statements import tree as t
from sqlpriv.statements.keywords import TURNED
from sqlpriv.statements.printer import literal, sql
from sqlpriv.statements.traverse import as_literal

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
MOST_BUCKETS = 1000
DAYS_IN_MONTH = 30
"""As intervals are compared in DuckDB."""
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
_COMPARISONS = {"=": "=", "<>": "<>", **TURNED}
_MILLION = a.Lit(1_000_000, Type.INTEGER)

UTC = ("UTC", "ETC/UTC", "GMT")
_ZONES_FROM = dt.datetime(1970, 1, 1)
MOST_CHANGES = 400
"""Times at which a clock is put; two in each of 200 years."""
_IN_ZONE = {
    True: "(x AT TIME ZONE 'UTC') AT TIME ZONE $zone",
    False: "(x AT TIME ZONE $zone) AT TIME ZONE 'UTC'",
}
"""Whether x is a TIMESTAMPTZ → the moment, without a zone, that `x AT TIME ZONE` is."""


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
        listed = binder.shape(arg, whole)
        case = case_over_values(whole, listed, f"strftime({text}, {literal(pattern)})")
        if case is not None:
            if not listed.nullable:
                binder.evaluated.add(case)
            return case
    raise refuse(
        node,
        "there is no short public list of these texts",
        "declare the ends of the column, or write a coarser format: strftime(d, '%Y-%m')",
    )


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
    if not (isinstance(left, t.Binary) and left.op == "-"):
        raise refuse(node, "intervals are not answered privately", hint)
    last, first = binder.bind_together((left.left, left.right))
    if binder.shape(left, last).type is not Type.TIMESTAMP:
        raise refuse(node, "a difference of dates is a number of days", "write last - first < 3")
    days = right.days + DAYS_IN_MONTH * right.months
    return a.Call(op, (last, a.Shift(first, 0, days, right.micros)))


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


def bind_time_zone(binder: Binder, node: t.FunctionCall, zone: str, arg: t.Node) -> a.Expr:
    """Returns `arg AT TIME ZONE zone`: a TIMESTAMPTZ as the zone's clock shows it, or the moment at
    which the zone's clock shows a TIMESTAMP.

    Raises:
        Refused: It is no moment, or not known to be of either type; it has no declared ends, or
            those lie before 1970; there is no such zone.
    """
    expr = binder.bind(t.Cast(arg, "TIMESTAMP", pos=arg.pos))
    if zone.upper() in UTC:
        return expr
    is_zoned = _is_zoned(binder, arg)
    if is_zoned is None:
        hint = "write CAST(x AS TIMESTAMPTZ) AT TIME ZONE 'Europe/Berlin' of a moment in UTC"
        raise refuse(node, "whether this moment has a zone of its own is not known", hint)
    shape = binder.shape(arg, expr)
    if shape.lower is None or shape.lower < _ZONES_FROM:
        hint = "declare them: SET PRIVACY DOMAIN BETWEEN ('2020-01-01', '2030-01-01')"
        raise refuse(node, "a time zone is read of moments with declared ends from 1970 on", hint)
    steps = _clock_steps(zone, shape.lower, shape.upper, is_zoned=is_zoned)
    if steps is None:
        raise refuse(node, f"the time zone '{zone[:40]}' is not known", "as in 'Europe/Berlin'")
    if not steps:
        first, last = shape.lower.year, shape.upper.year
        message = f"the clocks of {zone[:40]} are put too often between {first} and {last}"
        raise refuse(node, message, "narrow the moments' declared ends: at most 200 years")
    *earlier, (_, last) = steps
    whens = tuple(
        (a.Call("<", (expr, a.Lit(until, Type.TIMESTAMP))), a.Shift(expr, 0, 0, ahead))
        for until, ahead in earlier
    )
    moved = a.Shift(expr, 0, 0, last)
    return a.Case(whens, moved) if whens else moved


def _is_zoned(binder: Binder, node: t.Node) -> bool | None:
    """Returns whether a moment is a TIMESTAMPTZ; None where that is not known."""
    match node:
        case t.Name():
            return binder.shape(node, binder.bind(node)).zoned
        case t.Cast(_, type_):
            return {"TIMESTAMP": False, "TIMESTAMPTZ": True}.get(type_.upper())
        case t.FunctionCall("timezone", (_, inner)):
            inside = _is_zoned(binder, inner)
            return None if inside is None else not inside
    return None


@lru_cache(64)
def _clock_steps(
    zone: str, lower: dt.datetime, upper: dt.datetime, *, is_zoned: bool
) -> tuple[tuple[dt.datetime, int], ...] | None:
    """Returns, in order, until when a moment is moved by how many microseconds; the last for good.

    None where there is no such zone, empty where its clock was put too often. Clocks are put at
    whole minutes; a day in which one is put is looked at minute by minute.
    """
    moved = f"epoch_us({_IN_ZONE[is_zoned]}) - epoch_us(x)"
    of_days = f"SELECT x, {moved} FROM range($lower, $upper, INTERVAL 1 DAY) t(x) ORDER BY x"
    of_minutes = of_days.replace("1 DAY", "1 MINUTE")
    engine = public_engine().cursor()
    start, end = lower - dt.timedelta(days=1), upper + dt.timedelta(days=2)
    try:
        days = engine.execute(of_days, {"zone": zone, "lower": start, "upper": end}).fetchall()
        changes = [one[0] for one, other in itertools.pairwise(days) if one[1] != other[1]]
        steps: list[tuple[dt.datetime, int]] = []
        for day in changes[: MOST_CHANGES + 1]:
            ends = {"zone": zone, "lower": day, "upper": day + dt.timedelta(days=1, minutes=1)}
            minutes = engine.execute(of_minutes, ends).fetchall()
            pairs = itertools.pairwise(minutes)
            steps += [(after[0], before[1]) for before, after in pairs if before[1] != after[1]]
    except duckdb.Error:
        return None
    return (*steps, (upper, days[-1][1])) if len(steps) <= MOST_CHANGES else ()
