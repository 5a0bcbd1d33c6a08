"""A result as a chart: of each noised column a panel, with a point and its ± for each row."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from sqlpriv.errors import DataError, NotSupportedError
from sqlpriv.interfaces.display.footnote import ALL, cell_text, footnote, half_width
from sqlpriv.interfaces.display.values import numeric, rows
from sqlpriv.session.session import Result

MOST_ROWS = 500
"""Rows that one chart can show so that each is seen."""
_MANY = 12
"""Numbers as keys from which on the axis is one of numbers, and no list of labels."""
_WIDTH, _HEIGHT, _ROW = 320, 240, 20
"""Of a panel, and of a row of labels, in pixels."""
_ROW_NAME, _KIND = "row", "kind"
_PLAIN, _WHOLE = "#33415c", "#e07a1f"
"""Colours of a group, and of everybody."""


def result_chart(result: Result, columns: Sequence[str] = ()) -> Any:
    """Returns an altair chart of a result.

    Args:
        result: One with rows.
        columns: Which columns to draw; all that have half-widths by default, else all numbers. The
            other columns are the keys.

    Raises:
        DataError: There is nothing to draw: no rows, too many, or no such column of numbers.
        NotSupportedError: altair is not installed.
    """
    table = result.table
    if table is None or not table.num_rows:
        raise DataError("there are no rows to draw")
    if table.num_rows > MOST_ROWS:
        raise DataError(
            f"a chart shows at most {MOST_ROWS} rows, and there are {table.num_rows}: write LIMIT"
        )
    numbers = [f.name for f in table.schema if numeric(f.type)]
    if not numbers:
        raise DataError("this answer has no column of numbers, so nothing can be drawn")
    drawn = list(columns) or [name for name in numbers if any(result.half_widths.get(name, ()))]
    drawn = drawn or numbers
    if wrong := [name for name in drawn if name not in numbers]:
        listed = ", ".join(numbers)
        raise DataError(f"what is drawn are columns of numbers: {listed}; not {', '.join(wrong)}")
    altair = _altair()
    keys = [name for name in table.column_names if name not in drawn]
    by_number = _axis_of_numbers(result, keys)
    panels = []
    for name in drawn:
        records = _records(result, name, keys)
        panels.append((_axis_panel if by_number else _row_panel)(altair, records, name, keys))
    return altair.hconcat(*panels).properties(title=footnote(result).splitlines()[-1])


def _altair() -> Any:
    try:
        import altair
    except ImportError:
        raise NotSupportedError('altair is not installed; pip install "sqlpriv[plot]"') from None
    return altair


def _axis_of_numbers(result: Result, keys: Sequence[str]) -> bool:
    """Tells whether there is one key, of moments or of many numbers, and no row of everybody."""
    assert result.table is not None
    if len(keys) != 1 or result.summed.get(keys[0]):
        return False
    values = [value for (value,) in rows(result.table.select([keys[0]])) if value is not None]
    if values and all(isinstance(value, dt.date) for value in values):
        return True
    is_numbers = all(isinstance(value, int | float) for value in values)
    return is_numbers and len(set(values)) > _MANY


def _records(result: Result, name: str, keys: Sequence[str]) -> list[dict[str, Any]]:
    """Returns, for each row with a number: the number, the ends of its interval, its labels."""
    assert result.table is not None
    records = []
    places = {column: i for i, column in enumerate(result.table.column_names)}
    for at, row in enumerate(rows(result.table)):
        value = row[places[name]]
        if value is None:
            continue
        width = half_width(result, name, at)
        texts = [cell_text(result, key, at, row[places[key]]) for key in keys]
        key = row[places[keys[0]]] if keys else None
        records.append(
            {
                "value": float(value),
                "error": width,
                "low": float(value) - (width or 0),
                "high": float(value) + (width or 0),
                _ROW_NAME: " · ".join(texts) or name,
                _KIND: "everybody" if ALL in texts else "group",
                "key": key.isoformat() if isinstance(key, dt.date) else key,
            }
        )
    return records


def _scale(altair: Any, records: Sequence[Mapping[str, Any]]) -> Any:
    """Returns the axis: all points, and whiskers but for the very longest, which go on.

    A group of two people has a whisker that would leave the others no room.
    """
    widths = [record["error"] for record in records if record["error"]]
    if not widths:
        return altair.Scale(zero=False)
    beyond, values = 1.5 * median(widths), [record["value"] for record in records]
    return altair.Scale(domain=[min(values) - beyond, max(values) + beyond], zero=False)


def _row_panel(altair: Any, records: list[dict[str, Any]], name: str, keys: Sequence[str]) -> Any:
    """Returns a panel with a line of its own for each value of the keys."""
    order = list(dict.fromkeys(record[_ROW_NAME] for record in records))
    colours = altair.Scale(domain=["group", "everybody"], range=[_PLAIN, _WHOLE])
    base = altair.Chart(altair.Data(values=records)).encode(
        y=altair.Y(f"{_ROW_NAME}:N", sort=order, title=" · ".join(keys) or None),
        color=altair.Color(f"{_KIND}:N", scale=colours, legend=None),
        tooltip=_tooltip(altair, name),
    )
    axis = altair.Axis(tickCount=5)
    low = altair.X("low:Q", title=f"{name} (± 95 %)", scale=_scale(altair, records), axis=axis)
    whisker = base.mark_rule(clip=True, strokeWidth=1.5).encode(x=low, x2="high:Q")
    points = base.mark_circle(size=45, opacity=1, clip=True).encode(x=altair.X("value:Q"))
    return (whisker + points).properties(width=_WIDTH, height=_ROW * max(len(order), 2))


def _axis_panel(altair: Any, records: list[dict[str, Any]], name: str, keys: Sequence[str]) -> Any:
    """Returns a panel whose points stand along an axis of numbers or moments."""
    kind = "T" if any(isinstance(record["key"], str) for record in records) else "Q"
    x = altair.X(f"key:{kind}", title=keys[0])
    base = altair.Chart(altair.Data(values=records)).encode(
        x=x, color=altair.value(_PLAIN), tooltip=_tooltip(altair, name)
    )
    whisker = base.mark_rule(clip=True, strokeWidth=1.5).encode(
        y=altair.Y("low:Q", title=f"{name} (± 95 %)", scale=_scale(altair, records)), y2="high:Q"
    )
    points = base.mark_circle(size=40, opacity=1, clip=True).encode(y=altair.Y("value:Q"))
    return (whisker + points).properties(width=_WIDTH, height=_HEIGHT)


def _tooltip(altair: Any, name: str) -> list[Any]:
    return [
        altair.Tooltip(f"{_ROW_NAME}:N"),
        altair.Tooltip("value:Q", title=name),
        altair.Tooltip("error:Q", title="±"),
    ]
