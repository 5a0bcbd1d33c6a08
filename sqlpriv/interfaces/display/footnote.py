"""What stands under a result: how many rows, how sure, at what cost."""

from __future__ import annotations

from sqlpriv.interfaces.display.values import format_value
from sqlpriv.session.session import Result

ALL = "(all)"
"""What stands, for people, where programs read NULL: the row is of all values of the key."""


def half_width(result: Result, column: str, row: int) -> float | None:
    """Returns the half-width of one cell of a result; None where its value is exact."""
    widths = result.half_widths.get(column)
    return widths[row] if widths else None


def cell_text(result: Result, column: str, row: int, value: object) -> str:
    """Returns a value as people read it: `(all)` where a row is of all values of a key."""
    if value is None and row in result.summed.get(column, ()):
        return ALL
    return format_value(value, half_width(result, column, row))


def cost(result: Result) -> str:
    """Says what a result cost, in epsilon."""
    if result.exact:
        return "exact: not protected"
    if result.price is None:
        return "no charge"
    if result.price.nano == 0:
        return "answered before, no charge"
    return f"ε {result.epsilon:.4g} spent"


def footnote(result: Result, limit: int | None = None) -> str:
    """Returns what stands under a table, of which the first `limit` rows are shown: one line, below
    the result's message if it has one.
    """
    if result.table is None:
        return result.message if result.price is None else f"{result.message} · {cost(result)}"
    count = result.table.num_rows
    parts = [f"{count} row{'' if count == 1 else 's'}"]
    if limit is not None and count > limit:
        parts.append(f"the first {limit} shown")
    if any(value is not None for widths in result.half_widths.values() for value in widths):
        parts.append("± 95 %")
    parts.append(cost(result))
    line = " · ".join(parts)
    return f"{result.message}\n{line}" if result.message else line
