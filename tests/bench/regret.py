"""`python tests/bench/regret.py [the options of coverage.py]`: how far `auto` is from the best.

For every cell of the coverage suite: the mean absolute error of AVG(x), weighted by rows, and of
everybody's figure; then the ratio of auto's to the least of all that USING may name.
"""

from __future__ import annotations

import coverage
import numpy as np


def errors(result: coverage.Runs) -> tuple[float, float]:
    """Returns the mean absolute error of a row's group, and of everybody."""
    weights = result.sizes / result.sizes.sum()
    groups = float(np.abs(result.errors).mean(axis=0) @ weights)
    return groups, float(np.abs(result.whole_errors).mean())


def main() -> None:
    """Prints a line for each cell, then the mean and the largest ratios."""
    given = coverage.arguments(__doc__).parse_args()
    names = [name for name in given.using if name != "auto"]
    print(f"{coverage.HEADING}  kind " + " ".join(f"{n:>10}" for n in ["auto", *names]))
    ratios = []
    for name, rows, kind in coverage.chosen_rows(given):
        measured = {
            using: errors(coverage.run(rows, kind, using, given.runs, given.epsilon))
            for using in ("auto", *names)
        }
        best = np.min([measured[name] for name in names], axis=0)
        ratios.append(np.array(measured["auto"]) / best)
        shown = " ".join(f"{measured[name][0]:10.4g}" for name in ["auto", *names])
        last = f"regret: groups {ratios[-1][0]:.2f}, everybody {ratios[-1][1]:.2f}"
        print(f"{name} {kind:>5} {shown}   {last}", flush=True)
    table = np.array(ratios)
    for name, column in zip(("groups", "everybody"), table.T, strict=True):
        print(f"{name}: regret {column.mean():.3f} on average, {column.max():.2f} at worst")


if __name__ == "__main__":
    main()
