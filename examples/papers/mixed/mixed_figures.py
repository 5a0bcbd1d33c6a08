"""results.parquet, the pictures and README.md of what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd
import vl_convert

METHODS = ["real", "mst", "aim", "gsd", "rap++"]
COLOURS = ["#333333", "#8a8f98", "#2a78b5", "#3b9b5c", "#d1495b"]
ERRORS = {"CM": "categories (CM)", "MM": "mixed marginals (MM)", "LT": "linear thresholds (LT)"}
PAGE = """# Categories and numbers by a target, measured

Made by `python examples/papers/mixed/run.py`, which goes on where it was stopped (`--work`) and
needs `pip install ".[test]"`; `--rows 0 --full --runs 5` is the whole experiment, which takes
longer. What is kept here (`results.parquet`) is {runs} run of each setting with at most {rows} rows
in a vault, `rap++` taking fewer steps than by itself (`--full`): methods that are near one another
are not told apart by it.

The experiment is that of Vietri et al. 2022, "Private Synthetic Data for Multitask Learning and
Marginal Queries" (arXiv:2209.07400), on the American Community Survey. Of it are had here: four of
five tasks, of the year 2018, which is not the paper's, so that orders can be compared and levels
cannot. Travel time is missing; employment is New York's alone and has one number, so no mixed
marginals; income has neither occupation nor place of birth. No table has several tasks' labels, so
figures 5 and 9 are not made. Figures 1 and 6 compare temperatures of `rap++` without privacy and
are not made. `aim` and `mst` stand where the paper has PGM.

## What it shows

{findings}

## Errors (the paper's figures 2 and 7)

![Errors of categories, mixed marginals and linear thresholds](errors.svg)

{errors}

## Macro F1 of a logistic regression (figures 4 and 8)

![F1 by epsilon](f1.svg)

{f1}

## F1 and CPU seconds (figure 3)

![F1 by CPU seconds](time.svg)

{time}

## What numbers are worth (table 3)

F1 of a regression that is trained on the real rows.

{worth}
"""


def write_report(lines: Sequence[Mapping[str, Any]], to: Path) -> None:
    """Writes the table, the pictures and the page.

    Args:
        lines: Of results.jsonl.
        to: The folder.
    """
    trials = pd.DataFrame(list(lines))
    trials.to_parquet(to / "results.parquet", index=False, compression="zstd")
    (to / "errors.svg").write_text(_errors_picture(trials))
    (to / "f1.svg").write_text(_f1_picture(trials))
    (to / "time.svg").write_text(_time_picture(trials))
    page = PAGE.format(
        runs=trials.groupby("task")["run"].nunique().min(),
        rows=f"{trials['rows'].max():,}",
        findings=findings(trials),
        errors="\n\n".join(f"{ERRORS[e]}:\n\n{_table(trials, e, 4)}" for e in ERRORS),
        f1=_table(trials, "F1", 3),
        time=_table(trials, "cpu", 1),
        worth=_worth(trials),
    )
    (to / "README.md").write_text(page)


def findings(trials: pd.DataFrame) -> str:
    """Returns a line for each figure: in how many settings, of a task and an epsilon, each method
    is the best one."""
    synthetic = trials[trials["method"] != "real"]
    lines = []
    for figure, is_least in (*((e, True) for e in ERRORS), ("F1", False)):
        means = synthetic.pivot_table(index=["task", "epsilon"], columns="method", values=figure)
        best = (means.idxmin(axis=1) if is_least else means.idxmax(axis=1)).value_counts()
        told = ", ".join(f"`{method}` in {n}" for method, n in best.items())
        lines.append(f"- {ERRORS.get(figure, 'F1')}, of {best.sum()} settings best: {told}.")
    return "\n".join(lines)


def _means(trials: pd.DataFrame, figures: Sequence[str]) -> pd.DataFrame:
    synthetic = trials[trials["method"] != "real"]
    by = synthetic.groupby(["task", "method", "epsilon"], as_index=False)
    return by[list(figures)].mean().melt(["task", "method", "epsilon"], var_name="figure")


def _lines(means: pd.DataFrame, title: str, logarithmic: bool) -> alt.Chart:
    scale = alt.Scale(type="log", nice=False) if logarithmic else alt.Scale(zero=False)
    return (
        alt.Chart(means)
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "epsilon:Q",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(values=sorted(set(means["epsilon"])), format="~g"),
                title="epsilon (delta = 1e-9)",
            ),
            y=alt.Y("value:Q", scale=scale, title=title),
            color=_colour(means),
        )
        .properties(width=170, height=150)
    )


def _colour(means: pd.DataFrame) -> alt.Color:
    there = [m for m in METHODS if m in set(means["method"])]
    colours = [COLOURS[METHODS.index(m)] for m in there]
    return alt.Color("method:N", scale=alt.Scale(domain=there, range=colours))


def _svg(chart: alt.TopLevelMixin) -> str:
    return str(vl_convert.vegalite_to_svg(chart.configure_view(stroke="#ddd").to_dict()))


def _errors_picture(trials: pd.DataFrame) -> str:
    means = _means(trials, tuple(ERRORS)).dropna()
    rows = [
        _lines(means[means["figure"] == figure], title, True).facet(
            column=alt.Column("task:N", title=None)
        )
        for figure, title in ERRORS.items()
    ]
    return _svg(alt.vconcat(*rows))


def _f1_picture(trials: pd.DataFrame) -> str:
    means = _means(trials, ("F1",))
    real = trials[trials["method"] == "real"].groupby("task", as_index=False)["F1"].mean()
    ends = [real.assign(epsilon=e, method="real", value=real["F1"]) for e in set(means["epsilon"])]
    whole = pd.concat([means, *ends])[["task", "method", "epsilon", "value"]]
    return _svg(_lines(whole, "macro F1", False).facet(column=alt.Column("task:N", title=None)))


def _time_picture(trials: pd.DataFrame) -> str:
    synthetic = trials[trials["method"] != "real"]
    means = synthetic.groupby(["task", "method", "epsilon"], as_index=False)[["cpu", "F1"]].mean()
    points = (
        alt.Chart(means)
        .mark_point(filled=True, size=60)
        .encode(
            x=alt.X("cpu:Q", scale=alt.Scale(type="log"), title="CPU seconds"),
            y=alt.Y("F1:Q", scale=alt.Scale(zero=False), title="macro F1"),
            color=_colour(means),
            shape=alt.Shape("epsilon:N"),
        )
        .properties(width=170, height=150)
    )
    return _svg(points.facet(column=alt.Column("task:N", title=None)))


def _table(trials: pd.DataFrame, figure: str, digits: int) -> str:
    wide = trials[trials["method"] != "real"].pivot_table(
        index=["task", "epsilon"], columns="method", values=figure
    )
    methods = [m for m in METHODS if m in wide.columns]
    rows = [f"| task | ε | {' | '.join(methods)} |", "|---" * (2 + len(methods)) + "|"]
    for (task, epsilon), row in wide.iterrows():
        cells = " | ".join("" if pd.isna(row[m]) else f"{row[m]:.{digits}f}" for m in methods)
        rows.append(f"| {task} | {epsilon:g} | {cells} |")
    return "\n".join(rows)


def _worth(trials: pd.DataFrame) -> str:
    real = trials[trials["method"] == "real"].groupby("task")[["F1", "F1_categories"]].mean()
    rows = ["| task | all columns | categories alone |", "|---|---|---|"]
    rows += [f"| {t} | {r['F1']:.3f} | {r['F1_categories']:.3f} |" for t, r in real.iterrows()]
    return "\n".join(rows)
