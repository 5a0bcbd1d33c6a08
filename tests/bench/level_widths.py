"""`python tests/bench/level_widths.py [--runs …]`: how long intervals of quantiles have to be.

Histograms of generated whole numbers are noised with Laplace noise, and quantiles read off them.
Each line, by the half-width of one Laplace noise and by that of the sums that decide: the part of
the intervals that held, and the median half-width by what 95 % of the errors stay below.
"""

from __future__ import annotations

import argparse

import numpy as np

from sqlpriv.answer.quantiles import best, half_widths_of_levels, level_intervals
from sqlpriv.kernel.terms.budget import Epsilon
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.pricing.statement import LAPLACE_95

RNG = np.random.default_rng(7)
COLUMNS = {
    "1,200 uniform": (RNG.integers(0, 1001, 1200), 1001, 2.8),
    "5,000 log-normal": (np.minimum(np.exp(RNG.normal(4, 1, 5000)).astype(int), 1000), 1001, 2.8),
    "2,000 geometric": (np.minimum(RNG.geometric(0.1, 2000), 59), 60, 2.8),
    "20,000 uniform": (RNG.integers(0, 251, 20_000), 251, 14.0),
}
"""By name: the numbers, how many levels there are, and the noise's standard deviation."""


def main() -> None:
    """Prints a line for each column and rank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1500)
    given = parser.parse_args()
    for name, (numbers, levels, sigma) in COLUMNS.items():
        counts = np.bincount(numbers, minlength=levels).astype(float)
        for rank in ((1, 2), (9, 10)):
            recipe = Recipe("level", None, rank=rank, values=tuple(range(levels)))
            exact = best(recipe, counts[None])[0]
            noised = counts + np.rint(RNG.laplace(0, sigma / 2**0.5, (given.runs, levels)))
            at = best(recipe, noised)
            far = np.abs(at - exact)
            line = f"{name:17} {rank[0] / rank[1]:3}"
            for z in (LAPLACE_95, half_widths_of_levels(rank, levels, Epsilon(1))):
                first, last = level_intervals(recipe, noised, sigma**2, z)
                half = np.maximum(last - at, at - first) + 0.5
                length = np.median(half) / max(float(np.quantile(far, 0.95)), 0.5)
                line += f"   held {(far <= half).mean():.3f} length {length:.2f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
