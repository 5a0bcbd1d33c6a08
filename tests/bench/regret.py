"""`python tests/bench/regret.py [the options of coverage.py]`: how far `auto` is from the best.

For every cell of the coverage suite, or table of files: the mean absolute error of AVG(x), weighted
by rows, and of everybody's figure; then the ratio of auto's to the least of all single estimators.
Estimators that plan the same queries at the same prices are one, and are run once: what two runs of
one differ by is luck, and the least of several lucky ones is less than any of them errs.
For `pooled`, which is no such: the plain mean over strata of its errors, by the lesser of that of
auto's and that of everybody's released mean for all. `--picture FILE` draws the ratios.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import coverage
import numpy as np
from bench.heat_map import Square, draw
from coverage import Runs, StratifiedRows

from sqlpriv.plan.plan import Plan


def errors(result: Runs) -> tuple[float, float]:
    """Returns the mean absolute error of a row's group, and of everybody."""
    weights = result.sizes / result.sizes.sum()
    groups = float(np.abs(result.errors).mean(axis=0) @ weights)
    return groups, float(np.abs(result.whole_errors).mean())


def pooled_ratio(rows: StratifiedRows, auto: Runs, pooled: Runs) -> float:
    """Returns the errors of pooled strata by the lesser of auto's and of everybody's for all."""
    sizes = np.bincount(rows.stratum, minlength=rows.strata)
    held = sizes > 0
    truth = np.bincount(rows.stratum, rows.x, rows.strata)[held] / sizes[held]
    released = rows.x.mean() + auto.whole_errors
    for_all = float(np.abs(released[:, None] - truth).mean())
    return float(np.abs(pooled.errors).mean() / min(np.abs(auto.errors).mean(), for_all))


def runs_of_estimators(
    rows: StratifiedRows, kind: str, names: Sequence[str], runs: int, epsilon: float
) -> dict[str, Runs]:
    """Returns the runs of each estimator, of which those with one plan are the same."""
    of_plans: list[tuple[Plan, Runs]] = []
    by_name: dict[str, Runs] = {}
    for name in names:
        planned = coverage.plan_of(rows, kind, name, epsilon)
        asked = (planned.measurements, planned.rounds)
        same = (result for p, result in of_plans if (p.measurements, p.rounds) == asked)
        result = next(same, None) or coverage.run(rows, kind, name, runs, epsilon)
        of_plans.append((planned, result))
        by_name[name] = result
    return by_name


def main() -> None:
    """Prints a line for each cell, then the mean and the largest ratios."""
    parser = coverage.arguments(__doc__)
    parser.add_argument("--picture", type=Path, help="an SVG file")
    given = parser.parse_args()
    squares: list[Square] = []
    names = [name for name in given.using if name != "auto"]
    single = [name for name in names if name != "pooled"]
    print(f"{coverage.HEADING}  kind " + " ".join(f"{n:>10}" for n in ["auto", *names]))
    ratios, of_pooled = [], []
    for label, rows, kind in coverage.chosen_rows(given):
        runs = runs_of_estimators(rows, kind, ("auto", *names), given.runs, given.epsilon)
        measured = {using: errors(result) for using, result in runs.items()}
        best = np.min([measured[name] for name in single], axis=0)
        ratios.append(np.array(measured["auto"]) / best)
        column = " ".join([*label[18:].split(), kind]) if not given.tables else kind
        row = label.strip() if given.tables else label[:18].strip()
        for panel, figure in zip(("groups", "everybody"), ratios[-1].tolist(), strict=True):
            squares.append(Square(panel, row, column, figure))
        shown = " ".join(f"{measured[name][0]:10.4g}" for name in ["auto", *names])
        last = f"regret: groups {ratios[-1][0]:.2f}, everybody {ratios[-1][1]:.2f}"
        if "pooled" in runs:
            of_pooled.append(pooled_ratio(rows, runs["auto"], runs["pooled"]))
            held = runs["pooled"].covered.mean()
            last += f"; pooled {of_pooled[-1]:.2f}, held {held:.2f}"
        print(f"{label} {kind:>5} {shown}   {last}", flush=True)
    table = np.array(ratios)
    for label, column in zip(("groups", "everybody"), table.T, strict=True):
        print(f"{label}: regret {column.mean():.3f} on average, {column.max():.2f} at worst")
    if given.picture:
        title = "Error of AVG(x) by that of the best single estimator"
        colours = ["#4393c3", "#f7f7f7", "#b2182b"]
        draw(squares, title, ([0.8, 1.1, 1.6], colours), given.picture)
    if of_pooled:
        print(f"pooled: {np.mean(of_pooled):.3f} on average, {max(of_pooled):.2f} at worst")


if __name__ == "__main__":
    main()
