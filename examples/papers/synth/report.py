"""results.jsonl into results.parquet, figures 4, 5, 7 and 9, and README.md."""

from __future__ import annotations

import json
from pathlib import Path

import altair as alt
import pandas as pd
import vl_convert

AUTHORS = Path(__file__).parents[4] / "shared" / "reference" / "synth_performance_summary.csv"
STRATA = ["none", "SEX", "RAC1P", "SEX_RAC1P"]
COLOURS = ["#8a8f98", "#2a78b5", "#3b9b5c", "#d1495b"]
FIGURES = {
    "figure4_accuracy": ("accuracy", "accuracy_mean", "accuracy of a classifier of ESR"),
    "figure5_parity": (
        "parity_means_SEX_RAC1P",
        "parity_error_sum_SEX+RAC1P_mean",
        "parity error of the means, SEX × RAC1P",
    ),
    "figure7a_disparity": (
        "max_disparity_SEX_RAC1P",
        "max_disparity_SEX+RAC1P_mean",
        "max disparity of the means, SEX × RAC1P",
    ),
    "figure7b_demographic_parity": ("dem_parity", "dem_parity_ratio_mean", "demographic parity"),
    "figure7c_fnr": ("fnr_diff", "fnr_diff_mean", "max FNR difference"),
    "figure9_marginals": ("parity_3way_SEX_RAC1P", None, "parity error of 3-way marginals"),
}
"""By file: our column, the authors' column of the same (None: not published), the title."""
LOGARITHMIC = ("figure5_parity", "figure7a_disparity", "figure9_marginals")
NAMES = {"0": "", "auto": " pooled"}


def write(results: Path, to: Path) -> None:
    """Writes the table, the figures and the page of what was measured."""
    trials = pd.DataFrame([json.loads(line) for line in results.read_text().splitlines()])
    trials.to_parquet(to / "results.parquet", index=False, compression="zstd")
    figures = to / "figures"
    figures.mkdir(exist_ok=True)
    theirs = pd.read_csv(AUTHORS) if AUTHORS.exists() else None
    for file, (column, their_column, title) in FIGURES.items():
        picture = _figure(trials, theirs, column, their_column, title, file in LOGARITHMIC)
        (figures / f"{file}.svg").write_text(picture)
    (to / "README.md").write_text(_page(trials))


def _lines(trials: pd.DataFrame, column: str) -> pd.DataFrame:
    found = trials.groupby(["method", "strata", "pooling", "epsilon"], as_index=False)[
        column
    ].mean()
    found["who"] = found["pooling"].map({"0": "sqlpriv", "auto": "sqlpriv, pooled"})
    return found.rename(columns={column: "value"})[["method", "strata", "epsilon", "value", "who"]]


def _figure(
    trials: pd.DataFrame,
    theirs: pd.DataFrame | None,
    column: str,
    their_column: str | None,
    title: str,
    logarithmic: bool,
) -> str:
    lines = _lines(trials, column)
    if theirs is not None and their_column:
        known = theirs[["algo", "strat", "epsilon", their_column]].copy()
        known.columns = pd.Index(["method", "strata", "epsilon", "value"])
        known["method"] = known["method"].str.lower()
        known["strata"] = known["strata"].replace({"vanilla": "none", "SEX+RAC1P": "SEX_RAC1P"})
        known["who"] = "the authors"
        lines = pd.concat([lines, known[known["method"].isin(set(lines["method"]))]])
    unfair = {"gem": "gem (the authors' spend up to 187 times the epsilon shown)"}
    lines["method"] = lines["method"].replace(unfair)
    kind = "symlog" if logarithmic else "linear"
    dash = {"sqlpriv": [1, 0], "sqlpriv, pooled": [6, 3], "the authors": [2, 3]}
    points = alt.Chart(lines).encode(
        x=alt.X(
            "epsilon:Q",
            scale=alt.Scale(type="log"),
            title="epsilon (delta = 1e-9)",
            axis=alt.Axis(values=sorted(set(lines["epsilon"])), format="~g"),
        ),
        y=alt.Y("value:Q", scale=alt.Scale(type=kind, zero=False), title=title),
        color=alt.Color("strata:N", sort=STRATA, scale=alt.Scale(domain=STRATA, range=COLOURS)),
    )
    who = alt.StrokeDash(
        "who:N",
        title=None,
        legend=alt.Legend(symbolSize=400),
        scale=alt.Scale(domain=list(dash), range=list(dash.values())),
    )
    joined = points.mark_line().encode(strokeDash=who)
    chart = alt.layer(joined, points.mark_circle(size=22)).properties(width=250, height=220)
    whole = chart.facet(column=alt.Column("method:N", title=None)).resolve_scale(y="shared")
    return str(vl_convert.vegalite_to_svg(whole.configure_view(stroke="#ddd").to_dict()))


def _table(trials: pd.DataFrame, column: str, digits: int) -> str:
    trials = trials.assign(strata=trials["strata"] + trials["pooling"].map(NAMES))
    found = trials.pivot_table(index=["method", "strata"], columns="epsilon", values=column)
    lines = [
        "| method | strata | " + " | ".join(f"ε = {e:g}" for e in found.columns) + " |",
        "|---" * (2 + len(found.columns)) + "|",
    ]
    for (method, strata), row in found.iterrows():
        cells = " | ".join("" if pd.isna(v) else f"{v:.{digits}f}" for v in row)
        lines.append(f"| {method} | {strata} | {cells} |")
    return "\n".join(lines)


def _ratios(trials: pd.DataFrame, column: str, pooling: str) -> str:
    """Returns the errors of strata over those of none, or of pooled strata over the better one: of
    means, each with the standard error that the scatter of the runs leaves it (none of one run)."""
    runs = trials.groupby(["method", "strata", "pooling", "epsilon"])[column]
    means, relative = runs.mean(), (runs.std() / runs.mean()) ** 2 / runs.size()
    epsilons = sorted(set(trials["epsilon"]))
    lines = [
        "| method | strata | " + " | ".join(f"ε = {e:g}" for e in epsilons) + " |",
        "|---" * (2 + len(epsilons)) + "|",
    ]
    for method, strata, how in sorted({key[:3] for key in means.index}):
        if strata == "none" or how != pooling:
            continue
        cells = []
        for e in epsilons:
            mine, others = (method, strata, how, e), [(method, "none", "0", e)]
            if pooling == "auto":
                others.append((method, strata, "0", e))
            best = min(others, key=means.__getitem__)
            ratio, apart = means[mine] / means[best], (relative[mine] + relative[best]) ** 0.5
            cells.append(f"{ratio:.2f}" + (f" ± {ratio * apart:.2f}" if apart == apart else ""))
        lines.append(f"| {method} | {strata} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _runs(trials: pd.DataFrame) -> str:
    """Returns how many runs each setting has."""
    runs = trials.groupby(["method", "strata", "epsilon"]).size()
    return f"{runs.min()}" if runs.min() == runs.max() else f"{runs.min()} to {runs.max()}"


def _page(trials: pd.DataFrame) -> str:
    runs, pooled = (_runs(trials[trials["pooling"] == how]) for how in ("0", "auto"))
    less = "" if pooled == runs else f" ({pooled} of pooled ones)"
    seconds = trials.groupby("method")["cpu_s"].mean().round(1).to_dict()
    told = ", ".join(f"{m} {s:g}" for m, s in seconds.items())
    sections = "\n\n".join(
        f"## {title[0].upper() + title[1:]}\n\n![{title}](figures/{file}.svg)\n\n"
        + _table(trials, column, 3)
        for file, (column, _, title) in FIGURES.items()
    )
    return f"""# Stratified synthesis, measured

Made by `python examples/papers/synth/run.py`, which does five runs of every setting, goes on where
it was stopped (`--work`), and needs `pip install ".[test]"`. What is kept here are the means of
{runs} runs of each setting{less}, {len(trials)} trials. CPU seconds a
table, without comparing it with the truth, on the mean: {told}.

The experiment is that of Rosenblatt, Stoyanovich and Musco (2024): MST, AIM and GEM, stratified by
nothing, SEX, RAC1P and both, at six budgets. What differs from theirs: 196,967 persons of the same
survey (2018) from the whole country, for New York's are not to be had here, so levels of error
differ while their order can be compared; 80 % are synthesized from and the classifier is tested on
the others (they tested on rows that they had trained on); every budget is charged as it is named
(their GEM passes the total to every one of its rounds, so its points are not at equal privacy and
no target); no stratum is dropped for being small. "Pooled" is ours: the population's model steadies
the strata, `OPTIONS (pooling = auto)`; without it, strata are the paper's method.

## What it shows

Errors of plain strata over those without strata, with the standard error of the ratio: below 1
strata help, above 1 they do harm, which is wherever the noise is large beside the smallest groups.
First the parity error of the means between SEX × RAC1P, then the error of all 3-way marginals of
everybody.

{_ratios(trials, "parity_means_SEX_RAC1P", "0")}

{_ratios(trials, "error_3way", "0")}

Errors of pooled strata over those of the better one of no strata and plain strata, likewise.

{_ratios(trials, "parity_means_SEX_RAC1P", "auto")}

{_ratios(trials, "error_3way", "auto")}

Two large strata have nothing to gain from a pool: of SEX at ε = 5 `auto` makes none, and their own
rounds are more and cheaper than AIM's, with less for choosing (`APART` in
[pooling.py](../../../sqlpriv/synth/adaptive/pooling.py)).

{sections}

## Error of all 2-way marginals inside the strata of SEX × RAC1P

{_table(trials, "error_2way_inside_SEX_RAC1P", 3)}

## Error of all 3-way marginals of the population

{_table(trials, "error_3way", 4)}
"""
