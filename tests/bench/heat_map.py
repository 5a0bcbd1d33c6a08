"""Pictures of the tables of `coverage.py` and `regret.py`: a coloured square for each cell."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Square(NamedTuple):
    """One figure of a table.

    Args:
        panel: Above which panel it is, such as "groups".
        row, column: Where it is in the panel.
        figure: What is coloured, and written inside.
        mark: What is written behind the figure, such as a note's sign.
    """

    panel: str
    row: str
    column: str
    figure: float
    mark: str = ""


def draw(
    squares: list[Square], title: str, scale: tuple[list[float], list[str]], path: Path
) -> None:
    """Writes an SVG file.

    Args:
        squares: In the order of the rows and columns.
        title: Above all panels.
        scale: Figures and their colours, ascending; between two of them colours are mixed.
        path: Of the file.
    """
    import altair as alt  # half a second, of which who draws nothing has no use
    import pandas as pd

    table = pd.DataFrame([s._asdict() for s in squares])
    table["shown"] = [f"{s.figure:.2f}{s.mark}" for s in squares]
    rows, columns = (list(dict.fromkeys(table[name])) for name in ("row", "column"))
    base = alt.Chart(table).encode(
        alt.X("column:N", sort=columns, title=None, axis=alt.Axis(orient="top", labelAngle=-40)),
        alt.Y("row:N", sort=rows, title=None),
    )
    figures, colours = scale
    coloured = base.mark_rect(stroke="white").encode(
        alt.Color(
            "figure:Q",
            legend=None,
            scale=alt.Scale(domain=figures, range=colours, clamp=True),
        )
    )
    panel = (coloured + base.mark_text(fontSize=10).encode(text="shown:N")).properties(
        width=42 * len(columns), height=18 * len(rows)
    )
    faceted = panel.facet(
        alt.Facet("panel:N", title=None, sort=list(dict.fromkeys(table.panel))), columns=2
    )
    faceted.properties(title=title).save(str(path))
