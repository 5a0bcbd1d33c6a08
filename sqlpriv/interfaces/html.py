"""A result as a notebook shows it: values with their half-widths, and what it cost."""

from __future__ import annotations

from html import escape

import pyarrow as pa

from sqlpriv.interfaces.footnote import footnote, half_width
from sqlpriv.interfaces.rows import numeric, rows, shown, shown_half_width
from sqlpriv.session import Result

SHOWN = 60
"""Rows that a notebook shows; df() has them all."""


def cursor_html(result: Result | None) -> str:
    """Returns the HTML of a cursor's last result; of a statement without rows, its message."""
    if result is None:
        return "<em>nothing was executed</em>"
    if result.table is None:
        return f"<em>{escape(result.message)}</em>"
    return f"{_table(result, result.table)}<p><em>{escape(footnote(result, SHOWN))}</em></p>"


def _table(result: Result, table: pa.Table) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.column_names)
    lines = (
        "".join(
            _cell(value, half_width(result, name, at), numeric(kind))
            for name, kind, value in zip(table.column_names, table.schema.types, row, strict=True)
        )
        for at, row in enumerate(rows(table, 0, SHOWN))
    )
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object, width: float | None, right: bool) -> str:
    style = ' style="text-align: right"' if right else ""
    error = shown_half_width(width) if value is not None else ""
    small = f" <small>{error}</small>" if error else ""
    return f"<td{style}>{escape(shown(value, width))}{small}</td>"
