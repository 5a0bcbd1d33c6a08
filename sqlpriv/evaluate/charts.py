"""Pictures of an evaluation, as SVG: by stratum, the largest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sqlpriv.errors import InterfaceError
from sqlpriv.evaluate.evaluation import Evaluation, label
from sqlpriv.evaluate.parity import relative_errors
from sqlpriv.evaluate.workload_error import WorkloadError

if TYPE_CHECKING:
    import pandas as pd

WIDTH = 620
ROW = 20
"""Height of a stratum's row, in pixels."""
LABEL_LIMIT, GLYPH = 330, 7.0
"""The longest label and the widest letter of its kind, in pixels."""
REAL, SYNTHETIC, POPULATION = "#33415c", "#e07a1f", "#8a8f98"


def _altair() -> Any:
    try:
        import altair
    except ImportError:
        raise InterfaceError(
            'the report\'s charts need altair: pip install "sqlpriv[evaluate]"'
        ) from None
    return altair


def svg(chart: Any) -> str:
    """Returns the chart as SVG text, without a browser."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(chart.to_dict(format="vega-lite")))


def strata_names(evaluation: Evaluation) -> list[str]:
    """Returns the strata as people read them, with how many rows each has; same order as means."""
    rows = evaluation.means.rows[:-1, 0]
    return [
        f"{label(evaluation.strata, s)}  (n = {n:,})"
        for s, n in zip(evaluation.means.strata, rows, strict=True)
    ]


def _order(evaluation: Evaluation) -> list[str]:
    names = strata_names(evaluation)
    return [names[i] for i in np.argsort(-evaluation.means.rows[:-1, 0], kind="stable")]


def _frame(rows: Sequence[Sequence[object]], columns: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(list(rows), columns=list(columns))


def _axis(evaluation: Evaluation) -> Any:
    alt = _altair()
    order = _order(evaluation)
    # Browsers' fonts are wider than the one that SVG is laid out with: leave room for the longest.
    room = min(LABEL_LIMIT, GLYPH * max(map(len, order), default=0))
    axis = alt.Axis(
        labelLimit=LABEL_LIMIT,
        minExtent=room,
        title=None,
        ticks=False,
        domain=False,
        labelPadding=4,
    )
    return alt.Y("stratum:N", sort=order, axis=axis)


def _style_chart(chart: Any, evaluation: Evaluation) -> Any:
    height = ROW * max(len(evaluation.means.strata), 2)
    return (
        chart.properties(width=WIDTH, height=height)
        .configure(font="system-ui, sans-serif")
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=11, titleFontSize=11, gridColor="#e7e9ee")
    )


def mean_errors(evaluation: Evaluation) -> str:
    """A map of strata by columns: how far the synthetic mean is off, in percent."""
    alt, m = _altair(), evaluation.means
    errors = relative_errors(m.real[:-1], m.synthetic[:-1])
    names = strata_names(evaluation)
    cells = [
        (names[i], column, None if np.isnan(e) else min(float(e), 1.0), _percent(e))
        for i in range(len(names))
        for j, column in enumerate(m.columns)
        for e in (errors[i, j],)
    ]
    frame = _frame(cells, ("stratum", "column", "error", "text"))
    scale = alt.Scale(scheme="oranges", domain=[0, 0.25], clamp=True)
    top = alt.Axis(orient="top", title=None, labelAngle=-35 if len(m.columns) > 8 else 0)
    base = alt.Chart(frame).encode(
        x=alt.X("column:N", sort=list(m.columns), axis=top), y=_axis(evaluation)
    )
    legend = alt.Legend(title="relative error of the mean", format="%", orient="bottom")
    boxes = base.mark_rect().encode(color=alt.Color("error:Q", scale=scale, legend=legend))
    on_dark_box = {"test": "datum.error > 0.18", "value": "white"}
    on_no_box = {"test": "datum.error === null", "value": "#000"}
    ink = alt.value("#222", condition=[on_dark_box, on_no_box])
    texts = base.mark_text(fontSize=10).encode(text="text:N", color=ink)
    return svg(_style_chart(boxes + texts, evaluation))


def _percent(error: float) -> str:
    if np.isnan(error):
        return "–"
    return f"{error:.1%}" if error < 0.1 else f"{error:.0%}"


def marginal_errors(evaluation: Evaluation, e: WorkloadError) -> str:
    """Bars of the workload error inside each stratum, a line for the population's."""
    alt = _altair()
    names = dict(zip(evaluation.means.strata, strata_names(evaluation), strict=True))
    bars = _frame([(names[s], v) for s, v in e.strata.items()], ("stratum", "error"))
    title = f"error of {e.ways}-way marginals (0: the same, 2: nothing in common)"
    bars_chart = alt.Chart(bars).mark_bar(color=SYNTHETIC, height={"band": 0.65})
    bars_chart = bars_chart.encode(
        x=alt.X("error:Q", title=title, axis=alt.Axis(tickCount=8)), y=_axis(evaluation)
    )
    whole = _frame([(e.population, f"population {e.population:.3g}")], ("error", "text"))
    rule = alt.Chart(whole).mark_rule(color=REAL, strokeDash=[4, 3]).encode(x="error:Q")
    text = alt.Chart(whole).mark_text(color=REAL, align="left", dx=4, dy=-6, baseline="bottom")
    text = text.encode(x="error:Q", y=alt.value(0), text="text:N")
    return svg(_style_chart(bars_chart + rule + text, evaluation))


def means_against_means(evaluation: Evaluation) -> str:
    """Small pictures, one per column: every stratum's true mean against its synthetic one."""
    alt, m = _altair(), evaluation.means
    points = [
        (column, float(m.real[i, j]), float(m.synthetic[i, j]), int(m.rows[i, 0]))
        for i in range(len(m.strata))
        for j, column in enumerate(m.columns)
        if not (np.isnan(m.real[i, j]) or np.isnan(m.synthetic[i, j]))
    ]
    ends = [
        (column, end(v for p in points if p[0] == column for v in p[1:3]))
        for column in m.columns
        for end in (min, max)
        if any(p[0] == column for p in points)
    ]
    frame = _frame(points, ("column", "real", "synthetic", "rows"))
    plain, few = alt.Scale(zero=False, nice=True), alt.Axis(tickCount=4, format="~s")
    dots = (
        alt.Chart(frame)
        .mark_circle(color=SYNTHETIC, opacity=0.75)
        .encode(
            x=alt.X("real:Q", title="true mean", scale=plain, axis=few),
            y=alt.Y("synthetic:Q", title="synthetic mean", scale=plain, axis=few),
            size=alt.Size("rows:Q", legend=None, scale=alt.Scale(range=[18, 320])),
        )
    )
    line = alt.Chart(_frame(ends, ("column", "end"))).mark_line(color=POPULATION, strokeWidth=1)
    line = line.encode(x="end:Q", y="end:Q")
    every = [
        alt.layer(
            line.transform_filter(alt.datum.column == column),
            dots.transform_filter(alt.datum.column == column),
        ).properties(width=170, height=150, title=column)
        for column in m.columns
    ]
    chart = alt.concat(*every, columns=3).resolve_scale(x="independent", y="independent")
    return svg(
        chart.configure(font="system-ui, sans-serif")
        .configure_view(stroke="#e7e9ee")
        .configure_axis(labelFontSize=10, titleFontSize=10, gridColor="#f1f2f5")
    )


def classifier_rates(evaluation: Evaluation) -> str:
    """Dots per stratum: how a classifier treats it, trained on synthetic or on real rows."""
    alt = _altair()
    assert evaluation.trained_on_synthetic is not None
    assert evaluation.trained_on_real is not None
    names = dict(zip(evaluation.means.strata, strata_names(evaluation), strict=True))
    dots = [
        (names.get(s, label(evaluation.strata, s)), trained, measure, value)
        for trained, scores in (
            ("real", evaluation.trained_on_real),
            ("synthetic", evaluation.trained_on_synthetic),
        )
        for s, r in scores.strata.items()
        for measure, value in (
            ("classified positive", r.selected),
            ("false positives", r.false_positive),
            ("false negatives", r.false_negative),
        )
        if value is not None
    ]
    frame = _frame(dots, ("stratum", "trained on", "measure", "share"))
    colour = alt.Color(
        "trained on:N",
        scale=alt.Scale(domain=["real", "synthetic"], range=[REAL, SYNTHETIC]),
        legend=alt.Legend(title="trained on", orient="bottom"),
    )
    height = ROW * max(len(evaluation.means.strata), 2)
    one = (
        alt.Chart(frame)
        .mark_point(filled=True, size=55, opacity=0.85)
        .encode(
            x=alt.X("share:Q", title=None, axis=alt.Axis(format="%")),
            y=_axis(evaluation),
            color=colour,
        )
        .properties(width=170, height=height)
    )
    measures = ["classified positive", "false positives", "false negatives"]
    chart = one.facet(column=alt.Column("measure:N", sort=measures, title=None))
    return svg(
        chart.configure(font="system-ui, sans-serif")
        .configure_view(stroke="#e7e9ee")
        .configure_axis(labelFontSize=11, gridColor="#e7e9ee")
    )
