"""Parts, units and moments in calls of other dialects, and what no template writes of them."""

from __future__ import annotations

import re

from sqlglot import exp

from sqlpriv.dialect.foreign.writers.function_writers import Arguments, Writer
from sqlpriv.dialect.marks import duckdb_call, function_name

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT = re.compile(rf"{_DAY.pattern}[ T]\d{{2}}:\d{{2}}(:\d{{2}}(\.\d{{1,6}})?)?")
PARTS = frozenset({"year", "quarter", "month", "day", "hour", "minute"})
"""Parts of dates that every dialect counts alike."""
UNITS = frozenset({"year", "quarter", "month", "day", "week", "hour", "minute", "second"})
_SHORT_WORDS = """mm=month mon=month m=month yyyy=year yy=year qq=quarter q=quarter dd=day d=day
    hh=hour mi=minute n=minute ss=second s=second wk=week ww=week isoweek=week isowk=iso_week
    isoww=iso_week dw=weekday dy=dayofyear"""
_SHORT = dict(entry.split("=") for entry in _SHORT_WORDS.split())
"""Short words for parts of dates, and BigQuery's for a week that begins on Monday."""


def unit_word(node: exp.Expr) -> str:
    """Returns the lower-case word of a date part, written bare or as a text."""
    if function_name(node) == "week":  # BigQuery's WEEK(MONDAY)
        return "week" if [day.name.upper() for day in node.expressions] == ["MONDAY"] else ""
    word = node.name if isinstance(node, exp.Column | exp.Literal | exp.Var) else ""
    return _SHORT.get(word.lower(), word.lower()) if not node.args.get("table") else ""


def is_bare_week(node: exp.Expr) -> bool:
    """Returns whether a unit is WEEK without the day on which it begins."""
    return node.name.lower() in ("week", "ww", "wk")


def is_interval(node: exp.Expr) -> bool:
    return isinstance(node, exp.Interval) or function_name(node).startswith("to_")


def interval_of(size: exp.Expr, unit: str) -> exp.Expr:
    """Returns so many units as an interval, of a number that is written or computed."""
    number = size.unnest()
    if isinstance(number, exp.Literal | exp.Neg):
        return exp.Interval(this=exp.Literal.string(number.sql("duckdb")), unit=exp.Var(this=unit))
    whole = exp.Cast(this=size, to=exp.DataType(this=exp.DType.INT))
    return duckdb_call(f"to_{unit}s", whole)


def with_days_read(node: exp.Expr) -> exp.Expr:
    """Returns a day or a moment that is written as a text, '2023-06-30', as a DATE or a TIMESTAMP;
    anything else as it is."""
    text = str(node.this) if isinstance(node, exp.Literal) and node.is_string else ""
    kind = "DATE" if _DAY.fullmatch(text) else "TIMESTAMP" if _MOMENT.fullmatch(text) else ""
    return exp.cast(node, kind) if kind else node


def beginning_of_unit(args: Arguments) -> exp.Expr | None:
    """SQL Server's DATEADD(month, DATEDIFF(month, 0, x), 0), which is the month's beginning."""
    if len(args) != 3 or str(args[2]) != "0":
        return None
    unit = unit_word(args[0])
    ends = _ends_of_weeks(args[1]) if unit == "week" else _ends_of_units(args[1], unit)
    if ends is None or unit == "second" or str(ends[0]) != "0":
        return None
    return duckdb_call("date_trunc", exp.Literal.string(unit), ends[1])


def _ends_of_units(distance: exp.Expr, unit: str) -> list[exp.Expr] | None:
    """Returns the moments of DATE_DIFF of a unit; None of anything else."""
    if function_name(distance) != "date_diff" or unit_word(distance.expressions[0]) != unit:
        return None
    return list(distance.expressions[1:])


def _ends_of_weeks(distance: exp.Expr) -> list[exp.Expr] | None:
    """Returns the moments of SQL Server's DATEDIFF of weeks, the last one a day later; None of
    anything else. It was written as the days between two Mondays, each of the day after its moment,
    by 7."""
    weeks = distance.unnest()
    mondays = _ends_of_units(weeks.this, "day") if isinstance(weeks, exp.IntDiv) else None
    if mondays is None or any(function_name(day) != "date_trunc" for day in mondays):
        return None
    first, last = (day.expressions[1] for day in mondays)
    return [first.this, last] if isinstance(first, exp.Add) else None


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
    return time_buckets(args) if len(args) == 3 else None


def time_buckets(args: Arguments) -> exp.Expr | None:
    """TimescaleDB's TIME_BUCKET('15 minutes', x), which begins buckets where DuckDB's does."""
    if len(args) not in (2, 3) or not isinstance(args[0], exp.Literal | exp.Interval):
        return None
    width = args[0] if isinstance(args[0], exp.Interval) else exp.Interval(this=args[0])
    return duckdb_call("time_bucket", width, *args[1:])


_MONDAY_FIRST = ("mo", "tu", "we", "th", "fr", "sa", "su")


def day_of_week(*, before: bool) -> Writer:
    """Writes NEXT_DAY(x, 'Mon'), the first Monday behind x, or PREVIOUS_DAY, the last one before:
    the beginning of the week of an earlier day, and so many days later."""

    def write(args: Arguments) -> exp.Expr | None:
        is_named = len(args) == 2 and isinstance(args[1], exp.Literal)
        name = args[1].name.lower()[:2] if is_named else ""
        if name not in _MONDAY_FIRST:
            return None
        place = _MONDAY_FIRST.index(name)
        days = (place + 1, place) if before else (place, place + 7)
        back, on = (interval_of(exp.Literal.number(number), "day") for number in days)
        earlier = exp.Sub(this=exp.cast(args[0], "DATE"), expression=back)
        week = duckdb_call("date_trunc", exp.Literal.string("week"), earlier)
        return exp.cast(exp.Paren(this=exp.Add(this=week, expression=on)), "DATE")

    return write
