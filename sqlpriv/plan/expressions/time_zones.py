"""AT TIME ZONE: how far a zone's clock is ahead of UTC, as a CASE over public moments.

`x AT TIME ZONE 'Europe/Berlin'` is a CASE over the public times at which the zone's clock is put:
DuckDB is asked, in an engine without tables, how far that clock is ahead within the declared ends
of x, so that hours which occur twice and hours which no clock shows are its own.
"""

from __future__ import annotations

import datetime as dt
import itertools
from functools import lru_cache
from typing import TYPE_CHECKING

import duckdb

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.plan.expressions.columns import is_zoned
from sqlpriv.plan.expressions.facts.public_engine import public_engine
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.statements import tree as t

if TYPE_CHECKING:
    from sqlpriv.plan.expressions.binder import Binder


UTC = ("UTC", "ETC/UTC", "GMT")
_ZONES_FROM = dt.datetime(1970, 1, 1)
MOST_CHANGES = 400
"""Times at which a clock is put; two in each of 200 years."""
_IN_ZONE = {
    True: "(x AT TIME ZONE 'UTC') AT TIME ZONE $zone",
    False: "(x AT TIME ZONE $zone) AT TIME ZONE 'UTC'",
}
"""Whether x is a TIMESTAMPTZ → the moment, without a zone, that `x AT TIME ZONE` is."""


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
    has_zone = is_zoned(binder, arg)
    if has_zone is None:
        hint = "write CAST(x AS TIMESTAMPTZ) AT TIME ZONE 'Europe/Berlin' of a moment in UTC"
        raise refuse(node, "whether this moment has a zone of its own is not known", hint)
    shape = binder.shape(arg, expr)
    if shape.lower is None or shape.lower < _ZONES_FROM:
        hint = "declare them: SET PRIVACY DOMAIN BETWEEN ('2020-01-01', '2030-01-01')"
        raise refuse(node, "a time zone is read of moments with declared ends from 1970 on", hint)
    steps = _clock_steps(zone, shape.lower, shape.upper, is_zoned=has_zone)
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
