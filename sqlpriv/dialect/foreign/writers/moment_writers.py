"""How DuckDB writes functions of other dialects over dates and timestamps."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from sqlpriv.dialect.foreign.writers.function_writers import (
    Arguments,
    Writer,
    parenthesize,
)
from sqlpriv.dialect.marks import as_day, duckdb_call, function_name

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
PARTS = frozenset({"year", "quarter", "month", "day", "hour", "minute"})
"""Parts of dates that every dialect counts alike."""
UNITS = frozenset({"year", "quarter", "month", "day", "week", "hour", "minute", "second"})
_SHORT_WORDS = """mm=month mon=month m=month yyyy=year yy=year qq=quarter q=quarter dd=day d=day
    hh=hour mi=minute n=minute ss=second s=second wk=week ww=week isoweek=week isowk=iso_week
    isoww=iso_week dw=weekday dy=dayofyear"""
_SHORT = dict(entry.split("=") for entry in _SHORT_WORDS.split())
"""Short words for parts of dates, and BigQuery's for a week that begins on Monday."""


def without_weeks(write: Writer) -> Writer:
    """Leaves out the unit of a week, whose beginning is not known."""
    return lambda args: None if args and unit_word(args[0]) in ("week", "w") else write(args)


def day_or_today(args: Arguments) -> exp.Expr | None:
    """SQLite's DATE(x) and DATE('now')."""
    is_now = len(args) == 1 and isinstance(args[0], exp.Literal) and args[0].this == "now"
    return exp.CurrentDate() if is_now else as_day(args[0]) if len(args) == 1 else None


def unit_word(node: exp.Expr) -> str:
    """Returns the lower-case word of a date part, written bare or as a text."""
    if function_name(node) == "week":  # BigQuery's WEEK(MONDAY)
        return "week" if [day.name.upper() for day in node.expressions] == ["MONDAY"] else ""
    word = node.name if isinstance(node, exp.Column | exp.Literal | exp.Var) else ""
    return _SHORT.get(word.lower(), word.lower()) if not node.args.get("table") else ""


def date_part(parts: frozenset[str]) -> Writer:
    def write(args: Arguments) -> exp.Expr | None:
        if len(args) != 2 or unit_word(args[0]) not in parts:
            return None
        return duckdb_call("date_part", exp.Literal.string(unit_word(args[0])), args[1])

    return write


def date_trunc(parts: frozenset[str], *, unit_last: bool = False) -> Writer:
    def write(args: Arguments) -> exp.Expr | None:
        if len(args) != 2:
            return None
        moment, unit = args if unit_last else (args[1], args[0])
        if unit_word(unit) not in parts:
            return None
        return duckdb_call("date_trunc", exp.Literal.string(unit_word(unit)), moment)

    return write


def day_of(write: Writer) -> Writer:
    """Makes a moment that is written a day."""
    return lambda args: None if (moment := write(args)) is None else as_day(moment)


def truncated_to_unit(args: Arguments) -> exp.Expr | None:
    """BigQuery's DATE_TRUNC(x, MONTH); its WEEK alone begins on Sunday, WEEK(MONDAY) does not."""
    if len(args) == 2 and isinstance(args[1], exp.Column | exp.Var) and _is_week(args[1]):
        monday = duckdb_call("date_trunc", exp.Literal.string("week"), _next_day(args[0]))
        return exp.Paren(this=exp.Sub(this=monday, expression=_ONE_DAY.copy()))
    return date_trunc(UNITS, unit_last=True)(args)


def truncated_day(args: Arguments) -> exp.Expr | None:
    """BigQuery's DATE_TRUNC of a day, which is one whatever the unit is."""
    is_time = len(args) == 2 and unit_word(args[1]) in ("hour", "minute", "second")
    return truncated_to_unit(args) if is_time else day_of(truncated_to_unit)(args)


_ONE_DAY = exp.Interval(this=exp.Literal.string("1"), unit=exp.Var(this="DAY"))


def _next_day(node: exp.Expr) -> exp.Expr:
    return exp.Add(this=parenthesize(node), expression=_ONE_DAY.copy())


def _is_week(node: exp.Expr) -> bool:
    return node.name.lower() in ("week", "ww", "wk")


def date_diff(order: str, *, weeks: bool = False) -> Writer:
    """Writes the number of boundaries between two moments.

    Args:
        order: What the arguments are: `ufl` is (unit, first, last), `lfu` (last, first, unit), `lf`
            (last, first) in days.
        weeks: Whether weeks begin on Monday; SQL Server's, and BigQuery's WEEK, on Sunday. DuckDB's
            own DATE_DIFF of weeks counts seven days each, from wherever they begin.
    """

    def write(args: Arguments) -> exp.Expr | None:
        if len(args) != len(order):
            return None
        by_letter = dict(zip(order, args, strict=True))
        unit = unit_word(by_letter["u"]) if "u" in by_letter else "day"
        if unit not in UNITS:
            return None
        ends = [with_days_read(by_letter[letter]) for letter in "fl"]
        if unit != "week":
            return duckdb_call("date_diff", exp.Literal.string(unit), *ends)
        if not weeks or (order == "lfu" and _is_week(by_letter["u"])):
            ends = [_next_day(end) for end in ends]
        mondays = [duckdb_call("date_trunc", exp.Literal.string("week"), end) for end in ends]
        days = duckdb_call("date_diff", exp.Literal.string("day"), *mondays)
        number = exp.Paren(this=exp.IntDiv(this=days, expression=exp.Literal.number(7)))
        number.meta[_WEEKS_OF] = [by_letter["f"], ends[1]]
        return number

    return write


def whole_units(order: str, *, months: bool = False) -> Writer:
    """Writes how many whole years, months, or days or less, lie between two moments; `order` as in
    `date_diff`.

    Months, where they are read, go by the day alone. DuckDB's DATE_SUB counts a whole one from
    January 31st to February 28th, as Trino does.
    """

    def write(args: Arguments) -> exp.Expr | None:
        if len(args) != len(order):
            return None
        by_letter = dict(zip(order, args, strict=True))
        unit, ends = unit_word(by_letter["u"]), [with_days_read(by_letter[x]) for x in "fl"]
        if unit == "year":
            age = duckdb_call("age", *reversed(ends))
            return duckdb_call("date_part", exp.Literal.string(unit), age)
        if unit == "month" and months:
            return _whole_months(*ends)
        if unit not in ("day", "hour", "minute", "second"):
            return None
        return duckdb_call("date_sub", exp.Literal.string(unit), *ends)

    return write


def _whole_months(first: exp.Expr, last: exp.Expr) -> exp.Expr:
    """Returns the beginnings of months between two moments, less one where the last is not as far
    in its month as the first is; backwards where the last comes before the first."""

    def place_in_month(moment: exp.Expr) -> exp.Expr:
        start = duckdb_call("date_trunc", exp.Literal.string("month"), moment.copy())
        now, then = duckdb_call("epoch_us", moment.copy()), duckdb_call("epoch_us", start)
        return exp.Paren(this=exp.Sub(this=now, expression=then))

    def one_if(test: type[exp.Expr]) -> exp.Expr:
        is_nearer = test(this=place_in_month(last), expression=place_in_month(first))
        one, zero = exp.Literal.number(1), exp.Literal.number(0)
        return exp.Paren(this=exp.Case(ifs=[exp.If(this=is_nearer, true=one)], default=zero))

    begun = duckdb_call("date_diff", exp.Literal.string("month"), first.copy(), last.copy())
    is_forward = exp.LTE(this=first.copy(), expression=last.copy())
    forward = exp.Sub(this=begun, expression=one_if(exp.LT))
    backward = exp.Add(this=begun.copy(), expression=one_if(exp.GT))
    return exp.Case(ifs=[exp.If(this=is_forward, true=forward)], default=backward)


def move_by_interval(order: str, sign: type[exp.Expr]) -> Writer:
    """Writes a moment moved by an interval; `order` as in `date_diff`: u, n and m(oment)."""

    def write(args: Arguments) -> exp.Expr | None:
        if len(args) != len(order):
            return None
        by_letter = dict(zip(order, args, strict=True))
        interval = by_letter.get("i")
        if interval is None:
            unit, size = unit_word(by_letter["u"]), by_letter["n"]
            interval = interval_of(size, unit) if unit in UNITS else None
        if not isinstance(interval, exp.Interval) and not function_name(interval).startswith("to_"):
            return None
        moment = parenthesize(with_days_read(by_letter["m"]))
        return exp.Paren(this=sign(this=moment, expression=interval))

    return write


_WEEKS_OF = "weeks_of"
"""Of a number of weeks, in its `meta`: the moments that they lie between."""


def interval_of(size: exp.Expr, unit: str) -> exp.Expr:
    """Returns so many units as an interval, of a number that is written or computed."""
    number = size.unnest()
    if isinstance(number, exp.Literal | exp.Neg):
        return exp.Interval(this=exp.Literal.string(number.sql("duckdb")), unit=exp.Var(this=unit))
    whole = exp.Cast(this=size, to=exp.DataType(this=exp.DType.INT))
    return duckdb_call(f"to_{unit}s", whole)


def move_from_beginning(args: Arguments) -> exp.Expr | None:
    """SQL Server's DATEADD; DATEADD(month, DATEDIFF(month, 0, x), 0) is the month's beginning. Its
    0 is a Monday, and a week of DATEDIFF begins on Sunday, the day before."""
    if len(args) != 3 or str(args[2]) != "0":
        return move_by_interval("unm", exp.Add)(args)
    unit, distance = unit_word(args[0]), args[1]
    since = distance.expressions if isinstance(distance, exp.Anonymous) else []
    if unit == "week" and (ends := distance.meta.get(_WEEKS_OF)):
        since = [args[0], *ends]
    elif distance.name != "date_diff" or unit_word(since[0]) != unit or unit == "second":
        return None
    from_zero = str(since[1]) == "0"
    return duckdb_call("date_trunc", exp.Literal.string(unit), since[2]) if from_zero else None


def with_days_read(node: exp.Expr) -> exp.Expr:
    """Returns a day that is written as a text, '2023-06-30', as a date; anything else as it is."""
    is_day = isinstance(node, exp.Literal) and node.is_string and _DAY.fullmatch(str(node.this))
    return as_day(node) if is_day else node


def months_between(*, with_times: bool) -> Writer:
    """Writes MONTHS_BETWEEN(last, first): months, and days of a 31st each; whole months between the
    same days, and between last days, of months.

    Args:
        with_times: Whether the times of day count, as Oracle's and Spark's do.
    """

    def write(args: Arguments) -> exp.Expr | None:
        if len(args) != 2:
            return None
        last, first = map(parenthesize, map(with_days_read, args))
        begun = duckdb_call("date_diff", exp.Literal.string("month"), first.copy(), last.copy())
        days = [_day_in_month(moment, with_times=with_times) for moment in (last, first)]
        same_day = exp.EQ(this=duckdb_call("day", last), expression=duckdb_call("day", first))
        ends = [
            exp.EQ(this=as_day(x.copy()), expression=duckdb_call("last_day", x.copy()))
            for x in (last, first)
        ]
        is_whole = exp.or_(same_day, exp.and_(*ends))
        part = exp.Div(
            this=exp.Paren(this=exp.Sub(this=days[0], expression=days[1])),
            expression=exp.Literal.number(31),
        )
        rest = exp.Case(ifs=[exp.If(this=is_whole, true=exp.Literal.number(0))], default=part)
        return exp.Paren(this=exp.Add(this=begun, expression=rest))

    return write


def _day_in_month(moment: exp.Expr, *, with_times: bool) -> exp.Expr:
    day = duckdb_call("day", moment.copy())
    if not with_times:
        return day
    start = duckdb_call("date_trunc", exp.Literal.string("day"), moment.copy())
    seconds = exp.Sub(
        this=duckdb_call("epoch", moment.copy()), expression=duckdb_call("epoch", start)
    )
    of_day = exp.Div(this=exp.Paren(this=seconds), expression=exp.Literal.number(86400))
    at_least_0 = duckdb_call("greatest", of_day, exp.Literal.number(0))
    within = duckdb_call("least", at_least_0, exp.Literal.number(1))
    return exp.Paren(this=exp.Add(this=day, expression=within))


def months_later(args: Arguments) -> exp.Expr | None:
    """Spark's ADD_MONTHS: a day, which is the last of a shorter month."""
    moved = move_by_interval("unm", exp.Add)([exp.Var(this="month"), *reversed(args)])
    return moved and as_day(moved)


def months_later_at_end(args: Arguments) -> exp.Expr | None:
    """Snowflake's ADD_MONTHS: the last day of a month leads to the last of another.

    The day before `x + 1 day + n months` is that, and is before `x + n months` of any other day.
    """
    if len(args) != 2:
        return None
    next_day = exp.Add(this=as_day(args[0].copy()), expression=exp.Literal.number(1))
    moved, after = months_later(args), months_later([exp.Paren(this=next_day), args[1].copy()])
    if moved is None or after is None:
        return None
    return duckdb_call("greatest", moved, exp.Sub(this=after, expression=exp.Literal.number(1)))


_ORACLE_WORDS = """YYYY=year YEAR=year YY=year Q=quarter MM=month MONTH=month MON=month IW=week
    DD=day DDD=day HH24=hour HH=hour MI=minute"""
_ORACLE_UNITS = dict(entry.split("=") for entry in _ORACLE_WORDS.split())


def truncated_by_word(args: Arguments) -> exp.Expr | None:
    """Oracle's TRUNC(x), of a number or a moment, and TRUNC(x, 'MM')."""
    if len(args) == 1 and function_name(args[0]) == "now":
        return exp.CurrentDate()
    if len(args) == 1:
        return duckdb_call("trunc", *args)
    is_word = len(args) == 2 and isinstance(args[1], exp.Literal) and args[1].is_string
    unit = _ORACLE_UNITS.get(args[1].name.upper()) if is_word else None
    return duckdb_call("date_trunc", exp.Literal.string(unit), args[0]) if unit else None


def moment_bins(args: Arguments) -> exp.Expr | None:
    """PostgreSQL's DATE_BIN('15 minutes', x, origin)."""
    if len(args) != 3 or not isinstance(args[0], exp.Literal | exp.Interval):
        return None
    width = args[0] if isinstance(args[0], exp.Interval) else exp.Interval(this=args[0])
    return duckdb_call("time_bucket", width, *args[1:])


_MONDAY_FIRST = ("mo", "tu", "we", "th", "fr", "sa", "su")


def next_day(args: Arguments) -> exp.Expr | None:
    """NEXT_DAY(x, 'Mon'): the first Monday behind x."""
    return _day_beside(args, lambda place: (place, place + 7))


def previous_day(args: Arguments) -> exp.Expr | None:
    """Snowflake's PREVIOUS_DAY(x, 'Mon'): the last Monday before x."""
    return _day_beside(args, lambda place: (place + 1, place))


def _day_beside(args: Arguments, distances: Callable[[int], tuple[int, int]]) -> exp.Expr | None:
    """Writes the beginning of the week of an earlier day, and so many days later.

    Args:
        args: The moment, and the name of a day.
        distances: Of the day's place in a week, 0 for Monday: how many days before the moment that
            earlier day is, and how many days later it goes on.
    """
    name = args[1].name.lower()[:2] if len(args) == 2 and isinstance(args[1], exp.Literal) else ""
    if name not in _MONDAY_FIRST:
        return None
    before, after = (
        exp.Interval(this=exp.Literal.string(str(days)), unit=exp.Var(this="DAY"))
        for days in distances(_MONDAY_FIRST.index(name))
    )
    earlier = exp.Sub(this=as_day(args[0]), expression=before)
    week = duckdb_call("date_trunc", exp.Literal.string("week"), earlier)
    return as_day(exp.Paren(this=exp.Add(this=week, expression=after)))
