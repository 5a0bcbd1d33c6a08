"""The report's style sheet, its tables as HTML, and its numbers as text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

STYLE = """
:root { color-scheme: light dark; --ink: #1d2433; --soft: #5b6577; --line: #d9dee7; --page: #fff;
  --card: #f6f8fb; --spent: #2563a8; --area: #2563a822; --budget: #b45309; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7ebf2; --soft: #9aa6ba; --line: #333c4d;
  --page: #12161f; --card: #1a202c; --spent: #6fb1f5; --area: #6fb1f533; --budget: #f0a44b; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; margin-bottom: 0; } h2 { margin-top: 2.4rem; border-bottom: 1px solid
  var(--line); } .soft, caption { color: var(--soft); font-size: .9rem; text-align: left; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .9rem; }
.scroll + .scroll { margin-top: 1.2rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line);
  vertical-align: top; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
code { font-size: .85rem; overflow-wrap: anywhere; } .card { background: var(--card); padding:
  .6rem 1rem; border-radius: .5rem; margin: 1rem 0; } svg { width: 100%; height: auto; }
svg text { font-size: 12px; fill: var(--soft); } .grid { stroke: var(--line); }
.spent { fill: none; stroke: var(--spent); stroke-width: 2; } .area { fill: var(--area); }
.budget { fill: none; stroke: var(--budget); stroke-width: 2; stroke-dasharray: 6 4; }
@media (max-width: 40rem) { svg text { font-size: 20px; } }
@media print { body { margin: 0; max-width: none; } .card, svg, tr { break-inside: avoid; }
  h2, h3, caption, thead { break-after: avoid; } }
"""


@dataclass(frozen=True)
class Code:
    """Text that is shown as code."""

    text: str


def html_table(
    head: Sequence[str], rows: Iterable[Sequence[object]], numbers: int = 99, caption: str = ""
) -> str:
    """Returns an HTML table, '' without rows; columns from `numbers` on hold numbers."""
    lines = [
        "".join(f"<td{_class(i, numbers)}>{_cell(value)}</td>" for i, value in enumerate(row))
        for row in rows
    ]
    if not lines:
        return ""
    names = "".join(f"<th{_class(i, numbers)}>{escape(name)}</th>" for i, name in enumerate(head))
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    words = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="scroll"><table>{words}<thead><tr>{names}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _class(column: int, numbers: int) -> str:
    return ' class="n"' if column >= numbers else ""


def _cell(value: object) -> str:
    if isinstance(value, Code):
        return f"<code>{escape(value.text)}</code>"
    return "" if value is None else escape(str(value))


def number_text(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def rounded_down(value: float) -> str:
    """Returns a number with four digits: of 100, 99.978 is not 100. A budget's epsilon is computed
    from its rho, and may be a millionth below what was declared.

    >>> [rounded_down(x) for x in (99.978, 2.9999999, 0.0456, 0.0)]
    ['99.97', '3', '0.0456', '0']
    """
    if value <= 0:
        return "0"
    step = 10.0 ** (math.floor(math.log10(value)) - 3)
    return f"{math.floor(value * (1 + 1e-6) / step) * step:.4g}"
