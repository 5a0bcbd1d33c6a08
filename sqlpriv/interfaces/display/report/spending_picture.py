"""What was spent over time as a picture: one SVG, in the colours of the page that it stands in."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from html import escape

from sqlpriv.kernel.terms.budget import PERIODS

WIDTH, HEIGHT = 720, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 14, 30
Points = Sequence[tuple[dt.date, float]]
"""Days and the amount from each on, in order."""


def spending_picture(spent: Points, budget: Points, until: dt.date, title: str) -> str:
    """Returns a step line of what was spent, under one of the budget, as an SVG element.

    Args:
        spent: Epsilon spent in all, from each day on.
        budget: The budget in force, from each day on; drawn dashed.
        until: The last day shown.
        title: What is shown, for those who do not see it.
    """
    first = min([day for day, _ in (*spent, *budget)], default=until)
    days = max(1, (until - first).days + 1)
    most = max([amount for _, amount in (*spent, *budget)], default=0.0) or 1.0
    most = _round_up(most)

    def x(day: dt.date) -> float:
        return _LEFT + (day - first).days / days * (WIDTH - _LEFT - _RIGHT)

    def y(amount: float) -> float:
        return HEIGHT - _BOTTOM - amount / most * (HEIGHT - _TOP - _BOTTOM)

    def steps(points: Points) -> str:
        path, last = "", 0.0
        for i, (day, amount) in enumerate(points):
            path += f"M{x(day):.1f} {y(amount):.1f}" if i == 0 else f"V{y(amount):.1f}"
            following = points[i + 1][0] if i + 1 < len(points) else until + dt.timedelta(1)
            path, last = f"{path}H{x(following):.1f}", x(following)
        return path if last else ""

    lines = [
        f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y(v):.1f}" y2="{y(v):.1f}"/>'
        f'<text x="{_LEFT - 6}" y="{y(v) + 4:.1f}" text-anchor="end">{v:g}</text>'
        for v in (0.0, most / 2, most)
    ]
    ends = [(first, "start"), (until, "end")] if until > first else [(first, "start")]
    lines += [
        f'<text x="{_LEFT if anchor == "start" else WIDTH - _RIGHT}" y="{HEIGHT - 8}"'
        f' text-anchor="{anchor}">{day.isoformat()}</text>'
        for day, anchor in ends
    ]
    curve = steps([(first, 0.0), *spent] if spent and spent[0][0] > first else spent)
    area = f"{curve}V{y(0):.1f}H{x(first):.1f}Z" if curve else ""
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(lines)}"
        f'<path class="area" d="{area}"/><path class="spent" d="{curve}"/>'
        f'<path class="budget" d="{steps(budget)}"/></svg>'
    )


def spent_within_periods(
    spent: Sequence[tuple[dt.date, float]], per: str, until: dt.date
) -> list[tuple[dt.date, float]]:
    """Returns days and what was spent in their period, which begins at 0 each time.

    >>> spent = [(dt.date(2026, 1, 30), 0.5)]
    >>> for day, amount in spent_within_periods(spent, "month", dt.date(2026, 3, 1)):
    ...     print(day, amount)
    2026-01-30 0.5
    2026-02-01 0.0
    """
    first_of, points = PERIODS[per], list[tuple[dt.date, float]]()
    for day, amount in [*spent, (until, 0.0)]:
        if points and (period := first_of(points[-1][0])) != first_of(day):
            following = points[-1][0]
            while first_of(following) == period:
                following += dt.timedelta(1)
            points.append((following, 0.0))
        points.append((day, amount))
    return points[:-1]


def _round_up(amount: float) -> float:
    """Returns the least of 1, 2, 5 times a power of ten that is not below.

    >>> [_round_up(x) for x in (0.3, 1.0, 7.2, 120.0)]
    [0.5, 1.0, 10.0, 200.0]
    """
    power = 10.0 ** (len(str(int(amount))) - 1) if amount >= 1 else 1.0
    while amount < 1 and power / 10 >= amount:
        power /= 10
    if amount < 1:
        power /= 10
    return next(step * power for step in (1, 2, 5, 10) if step * power >= amount * (1 - 1e-12))
