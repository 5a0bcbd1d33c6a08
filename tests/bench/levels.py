"""`python tests/bench/levels.py [the options of coverage.py]`: what either level gains and loses.

Root mean square errors of AVG(x), as ratios:

- `everybody`: everybody's figure of a stratified statement, by that of asking for everybody alone
  at the same price; with `population_share = 0`, by default, with `population_share = auto`;
- `groups`: those of the strata, weighted by rows, by the same with `population_share = 0`; by
  default, and with `population_share = auto`.
"""

from __future__ import annotations

from dataclasses import replace

import coverage
import numpy as np
from coverage import StratifiedRows

OPTIONS = {"0": ", population_share = 0", "default": "", "auto": ", population_share = auto"}


def ratios(rows: StratifiedRows, kind: str, runs: int, epsilon: float) -> tuple[np.ndarray, ...]:
    """Returns everybody's ratios for each of `OPTIONS`, the strata's, and the parts of everybody's
    and of the strata's intervals that held by default."""
    alone = replace(rows, stratum=np.zeros_like(rows.stratum), sizes=())
    nobody_else = coverage.run(alone, kind, "auto", runs, epsilon)
    asked = [coverage.run(rows, kind, "auto", runs, epsilon, o) for o in OPTIONS.values()]
    fresh = np.sqrt((nobody_else.whole_errors**2).mean())
    everybody = np.array([np.sqrt((one.whole_errors**2).mean()) for one in asked]) / fresh
    weights = asked[0].sizes / asked[0].sizes.sum()
    groups = np.sqrt([(one.errors**2).mean(axis=0) @ weights for one in asked])
    held = np.array([asked[1].whole_covered.mean(), asked[1].covered.mean()])
    return everybody, groups / groups[0], held


def main() -> None:
    """Prints a line for each table, then the means of all."""
    given = coverage.arguments(__doc__).parse_args()
    heads = [f"{name:>8}" for name in OPTIONS]
    print(f"{coverage.HEADING}  kind  everybody: {' '.join(heads)}   groups: {' '.join(heads[1:])}")
    of_everybody, of_groups = [], []
    for label, rows, kind in coverage.chosen_rows(given):
        if rows.strata == 1:
            continue
        everybody, groups, held = ratios(rows, kind, given.runs, given.epsilon)
        of_everybody.append(everybody)
        of_groups.append(groups)
        shown = " ".join(f"{x:8.2f}" for x in everybody)
        parts = " ".join(f"{x:8.2f}" for x in groups[1:])
        print(
            f"{label} {kind:>5}             {shown}           {parts}"
            f"  held {held[0]:.2f}, {held[1]:.2f}",
            flush=True,
        )
    print(
        "means: everybody",
        *np.mean(of_everybody, axis=0).round(2),
        "groups",
        *np.mean(of_groups, axis=0)[1:].round(2),
    )


if __name__ == "__main__":
    main()
