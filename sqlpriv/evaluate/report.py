"""The evaluation as one HTML page: nothing is fetched, nothing runs; for the owner's eyes alone."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable
from html import escape

from sqlpriv.evaluate import charts
from sqlpriv.evaluate.evaluation import Evaluation, rows
from sqlpriv.evaluate.parity import max_disparity, parity_error

BANNER = (
    "Computed from private rows. Do not release this page or any number on it: it is exact, and no"
    " budget was charged for it."
)
STYLE = """
:root { color-scheme: light dark; --ink: #1d2433; --soft: #5b6478; --line: #d9dde5; --page: #fff;
  --faint: #e7e9ee; --real: #33415c; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e7ebf2; --soft: #9aa6ba;
  --line: #3a4456; --page: #12161f; --faint: #2a3241; --real: #9db4dc; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
  margin: 0; }
main { max-width: 62rem; margin: 0 auto; padding: 0 1.5rem 3rem; }
.banner { background: #9b1c1c; color: #fff; padding: .8rem 1.5rem; font-weight: 600; }
h1 { font-size: 1.5rem; margin: 1.6rem 0 .2rem; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .3rem; }
p { margin: .3rem 0 .8rem; max-width: 46rem; } .muted { color: var(--soft); }
.tiles { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1.2rem 0; padding: 0; }
.tiles li { list-style: none; }
.tiles li { border: 1px solid var(--line); border-radius: .5rem; padding: .6rem 1rem;
  min-width: 9rem; }
.tiles b { display: block; font-size: 1.5rem; font-variant-numeric: tabular-nums; }
figure { margin: 0; overflow-x: auto; } figure svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--faint);
  text-align: left; }
td.number { text-align: right; } summary { cursor: pointer; margin: 2rem 0 .6rem; }
svg > rect[fill="white"] { fill: none; } svg [fill="#000"] { fill: var(--ink); }
svg [fill="#33415c"] { fill: var(--real); } svg [stroke="#33415c"] { stroke: var(--real); }
svg [stroke="#888"], svg [stroke="#ddd"] { stroke: var(--soft); }
svg [stroke="#e7e9ee"], svg [stroke="#f1f2f5"] { stroke: var(--faint); }
"""
"""The page follows the reader's choice of light or dark, on paper it is light. The last four lines
give the charts' colours, which are attributes of their SVG, the page's own."""


def html(evaluation: Evaluation, synthetic: str, real: str) -> str:
    """Returns the page: one file, charts as inline SVG, no script, no link to anywhere.

    Args:
        evaluation: What was measured.
        synthetic: Name of the synthetic table.
        real: Name of the private one.

    Raises:
        InterfaceError: altair is not installed.
    """
    when = dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M UTC")
    strata = ", ".join(evaluation.strata)
    title = f"{synthetic} against {real}"
    body = "".join(_sections(evaluation))
    real_rows, synthetic_rows = evaluation.means.rows[-1]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style></head><body>"
        f'<div class="banner" role="alert">{BANNER}</div><main><h1>{escape(title)}</h1>'
        f'<p class="muted">By {escape(strata)}: {len(evaluation.means.strata)} strata, '
        f"{real_rows:,} real and {synthetic_rows:,} synthetic rows."
        f" {when}.</p>"
        f"{body}</main></body></html>"
    )


def _sections(evaluation: Evaluation) -> Iterable[str]:
    yield _tiles(evaluation)
    if evaluation.inside is not None:
        ways = evaluation.inside.ways
        yield _figure(
            "Who is described well",
            f"How far the {ways}-way marginals inside each stratum are from the true ones, the"
            " largest stratum first. The dashed line is the whole population's.",
            charts.marginal_errors(evaluation, evaluation.inside),
        )
    if evaluation.means.columns:
        yield _figure(
            "Whose averages are off",
            "Relative error of each column's mean in each stratum; a dash where the true mean is"
            " zero or there is none.",
            charts.mean_errors(evaluation),
        )
        yield _figure(
            "Averages, true and synthetic",
            "One dot per stratum, as large as the stratum; on the line, both agree.",
            charts.means_against_means(evaluation),
        )
    if evaluation.trained_on_synthetic is not None and evaluation.target is not None:
        tested = (
            "real rows that no synthesizer saw"
            if evaluation.target.held_out is not None
            else "real rows that the synthesizer was given, too: expect worse on new ones"
        )
        yield _figure(
            f"A classifier of {evaluation.target.column} = {evaluation.target.positive}",
            f"Gradient-boosted trees, tested on {tested}.",
            charts.classifier_rates(evaluation),
        )
    yield _table(evaluation)


def _tiles(evaluation: Evaluation) -> str:
    tiles = [(f"{e.ways}-way marginal error", f"{e.population:.3g}") for e in evaluation.workloads]
    m = evaluation.means
    if m.columns:
        pairs = [(m.real[:, j], m.synthetic[:, j]) for j in range(len(m.columns))]
        parity = sum(parity_error(*pair).error for pair in pairs) / len(pairs)
        tiles.append(("parity error, mean of the columns", f"{parity:.3g}"))
        spread = [d for d in (max_disparity(*pair) for pair in pairs) if not math.isnan(d)]
        tiles += [("max disparity of means", f"{max(spread):.1%}")] if spread else []
    if (s := evaluation.trained_on_synthetic) is not None and (
        r := evaluation.trained_on_real
    ) is not None:
        tiles.append(("accuracy (trained on real)", f"{s.accuracy:.1%} ({r.accuracy:.1%})"))
        tiles.append(("macro F1 (trained on real)", f"{s.macro_f1:.3f} ({r.macro_f1:.3f})"))
        if s.demographic_parity is not None:
            tiles.append(("demographic parity", f"{s.demographic_parity:.2f}"))
    cells = "".join(f"<li><b>{escape(v)}</b>{escape(what)}</li>" for what, v in tiles)
    return f'<ul class="tiles">{cells}</ul>'


def _figure(title: str, caption: str, picture: str) -> str:
    head = f"<h2>{escape(title)}</h2><p>{escape(caption)}</p>"
    return f"<section>{head}<figure>{picture}</figure></section>"


def _table(evaluation: Evaluation) -> str:
    table = rows(evaluation)
    lines = []
    for row in table.to_pylist():
        value = "" if row["value"] is None else f"{row['value']:.6g}"
        texts = (row["measure"], row["about"], row["stratum"] or "population")
        cells = "".join(f"<td>{escape(str(text))}</td>" for text in texts)
        note = escape(row["note"])
        lines.append(
            f'<tr>{cells}<td class="number">{value}</td><td class="muted">{note}</td></tr>'
        )
    head = "".join(f"<th>{c}</th>" for c in ("measure", "about", "stratum", "value", ""))
    return (
        f"<details><summary>Every figure ({table.num_rows})</summary><table><thead><tr>{head}</tr>"
        f"</thead><tbody>{''.join(lines)}</tbody></table></details>"
    )
