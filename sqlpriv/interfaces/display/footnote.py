"""What stands under a result: how many rows, how sure, at what cost."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TextIO

from rich.console import Console

from sqlpriv.interfaces.display.values import escape_controls, format_value
from sqlpriv.session.session import Result

ALL = "(all)"
"""What stands, for people, where programs read NULL: the row is of all values of the key."""

WIDEST = 100
"""Columns of a note on a wide terminal: longer lines are hard to read."""


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


def footnote(result: Result, limit: int | None = None, width: int | None = None) -> str:
    """Returns what stands under a table, of which the first `limit` rows are shown.

    Each note on the numbers is a paragraph of its own behind a dot, wrapped to `width` columns, or
    on one line where `width` is None. The last line says how many rows there are, and what they
    cost. A statement without rows has its message first.
    """
    if result.table is None:
        first, *notes = escape_controls(result.message).split("\n")
        if result.price is not None and not notes:
            return _paragraph(f"{first} · {cost(result)}", width)
        under = [cost(result)] if result.price is not None else []
        return "\n".join((_paragraph(first, width), *_paragraphs(notes, width), *under))
    count = result.table.num_rows
    parts = [f"{count} row{'' if count == 1 else 's'}"]
    if limit is not None and count > limit:
        parts.append(f"the first {limit} shown")
    if any(value is not None for widths in result.half_widths.values() for value in widths):
        parts.append("± 95 %")
    parts.append(cost(result))
    notes = result.message.split("\n") if result.message else []
    return "\n".join((*_paragraphs(notes, width), " · ".join(parts)))


def text_width(out: TextIO) -> int | None:
    """Returns how wide notes are on a stream: at most `WIDEST` on a terminal; None elsewhere."""
    if not out.isatty():
        return None
    return min(WIDEST, Console(file=out).width)


def _paragraphs(notes: Sequence[str], width: int | None) -> Iterator[str]:
    return (_paragraph(f"· {note}", width, "  ") for note in notes)


def _paragraph(text: str, width: int | None, indent: str = "") -> str:
    if width is None:
        return text
    lines = textwrap.wrap(
        text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines)
