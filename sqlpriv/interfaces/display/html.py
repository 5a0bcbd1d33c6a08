"""A result as a notebook shows it: values with their error bars, and what it cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from statistics import median

import pyarrow as pa

from sqlpriv.interfaces.display.footnote import cell_text, footnote, half_width
from sqlpriv.interfaces.display.values import numeric, rows, shown_half_width
from sqlpriv.session.session import Result

SHOWN = 60
"""Rows that a notebook shows; df() has them all."""
BAR = 90
"""Width of an error bar's picture, in pixels."""

Axis = tuple[float, float]


def cursor_html(result: Result | None) -> str:
    """Returns the HTML of a cursor's last result; of a statement without rows, its message."""
    if result is None:
        return "<em>nothing was executed</em>"
    if result.table is None:
        return f"<em>{_with_breaks(result.message)}</em>"
    under = _with_breaks(footnote(result, SHOWN))
    return f"{html_table(result, result.table, SHOWN)}<p><em>{under}</em></p>"


def _with_breaks(text: str) -> str:
    return escape(text).replace("\n", "<br>")


def html_table(result: Result, table: pa.Table, limit: int) -> str:
    """Returns the first rows of a result as a table element."""
    names, kinds = table.column_names, table.schema.types
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    part = rows(table, 0, limit)
    axes = [
        _axis([row[at] for row in part], result.half_widths.get(n)) for at, n in enumerate(names)
    ]
    lines = (
        "".join(
            _cell(
                cell_text(result, name, at, value),
                value,
                half_width(result, name, at),
                numeric(kind),
                axis,
            )
            for name, kind, value, axis in zip(names, kinds, row, axes, strict=True)
        )
        for at, row in enumerate(part)
    )
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(text: str, value: object, width: float | None, right: bool, axis: Axis | None) -> str:
    style = ' style="text-align: right; white-space: nowrap"' if right else ""
    error = shown_half_width(width) if value is not None else ""
    small = f" <small>{error}</small>" if error else ""
    bar = (
        _error_bar(value, width, axis) if error and axis and isinstance(value, int | float) else ""
    )
    return f"<td{style}>{escape(text)}{small}{bar}</td>"


def _axis(values: Sequence[object], widths: Sequence[float | None] | None) -> Axis | None:
    """Returns the ends of a column's axis: all values, and whiskers but for the very longest.

    A group of two people has a whisker that would leave the others no room: an axis reaches
    beyond the values by the median half-width, and what goes on has no end mark.
    """
    finite_widths = [w for w in widths or () if w is not None and math.isfinite(w)]
    numbers = [v for v in values if isinstance(v, int | float) and math.isfinite(v)]
    if not finite_widths or not numbers:
        return None
    beyond = median(finite_widths)
    return min(numbers) - beyond, max(numbers) + beyond


def _error_bar(value: float, width: float | None, axis: Axis) -> str:
    """Returns a small picture: a dot at the value, a whisker over its interval."""
    low, high = axis
    if width is None or not math.isfinite(value) or high <= low:
        return ""

    def x(at: float) -> float:
        return round(2 + (BAR - 4) * (min(max(at, low), high) - low) / (high - low), 1)

    left, right = x(value - width), x(value + width)
    ends = [x(end) for end in (value - width, value + width) if low <= end <= high]
    marks = "".join(f'<path d="M{end} 3v6"/>' for end in ends)
    return (
        f' <svg width="{BAR}" height="12" style="vertical-align: middle" stroke="currentColor">'
        f'<path d="M{left} 6H{right}"/>{marks}'
        f'<circle cx="{x(value)}" cy="6" r="2" fill="currentColor"/></svg>'
    )
