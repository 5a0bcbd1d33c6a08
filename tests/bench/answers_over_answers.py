"""`python tests/bench/answers_over_answers.py [--seed N] [--runs …] [--tails …]`.

How often the 95 % intervals of what plain SQL makes of noised counts hold: shares of a total,
growth from row to row, running totals, largest ones, spreads, indices of concentration. Counts are
drawn by the seed, many and few beside their noise; the tail is a function of numpy in the place of
DuckDB's, and `tail_half_widths` is what a session calls.

Each line: the part of the stated intervals that held; the part of all answers whose ± is stated and
does not hold, and that of the worst row; the median over rows of the median half-width by the error
that 95 % of runs stay below; and the part without ±.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.exact_people import planned

from sqlpriv.answer.tails.noised_columns import TailInput
from sqlpriv.answer.tails.tail_errors import tail_half_widths
from sqlpriv.plan.pricing.statement import GAUSSIAN_95, LAPLACE_95

Tail = Callable[[np.ndarray], np.ndarray]
TAILS: dict[str, Tail] = {
    "share": lambda n: n / n.sum(),
    "share of those above 0": lambda n: np.maximum(n, 0) / np.maximum(n, 0).sum(),
    "by the mean": lambda n: n / n.mean(),
    "growth": lambda n: np.append(np.nan, n[1:] / n[:-1] - 1),
    "running total": lambda n: n.cumsum(),
    "square": lambda n: n**2,
    "logarithm": np.log,
    "largest": lambda n: np.full(n.size, n.max()),
    "range": lambda n: np.full(n.size, n.max() - n.min()),
    "spread": lambda n: np.full(n.size, n.std()),
    "concentration": lambda n: np.full(n.size, (n * n).sum() / n.sum() ** 2),
    "entropy": lambda n: np.full(n.size, _entropy(np.maximum(n, 0.5))),
}
"""What is made of counts of shape (rows,): a figure for each row."""
SIZES = ((6, 200, 5.0), (8, 13, 5.0), (18, 30, 8.0), (18, 6, 8.0), (40, 400, 8.0))
"""Numbers of rows, their mean counts, and the standard deviation of the noise."""
EQUAL = ((6, 60, 8.0), (18, 60, 8.0), (40, 60, 8.0))
"""The same, of counts that are all alike: which of them is the largest the noise alone decides."""


def _entropy(n: np.ndarray) -> float:
    return float(-(n / n.sum() * np.log(n / n.sum())).sum())


def table_of(figures: np.ndarray) -> pa.Table:
    """Returns rows with a key that tells them apart, NULL where a figure is not defined."""
    masked = pa.array(figures, mask=~np.isfinite(figures))
    return pa.table({"race": np.arange(figures.size), "n": masked})


def ask_tail(
    tail: Tail, counts: np.ndarray, sigma: float, kind: str, runs: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Returns errors and half-widths of a tail over noised counts, of shape (runs, rows); NaN where
    there is none."""
    plan = planned("SELECT race, COUNT(*) AS n FROM people GROUP BY race")
    half = (GAUSSIAN_95 if kind == "zcdp" else LAPLACE_95) * sigma

    def run(answers: Mapping[str, pa.Table]) -> pa.Table:
        moved = np.array(answers["counts"].column("n").to_pylist(), float)
        with np.errstate(divide="ignore", invalid="ignore"):
            return table_of(tail(moved))

    errors, halves = [], []
    for _ in range(runs):
        draws = rng.normal if kind == "zcdp" else rng.laplace
        scale = sigma if kind == "zcdp" else sigma / np.sqrt(2)
        noised = table_of(np.rint(counts + draws(0, scale, counts.size)))
        answer = TailInput(plan, noised, {"n": [half] * counts.size})
        rows = run({"counts": noised})
        widths = tail_half_widths(rows, {"counts": answer}, run).get("n")
        halves.append(np.array(widths or [None] * counts.size, float))
        errors.append(np.array(rows.column("n").to_pylist(), float) - tail(counts))
    return np.array(errors), np.array(halves)


def main() -> None:
    """Prints a line for each tail, size and kind of noise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--kinds", nargs="*", default=["pure", "zcdp"])
    parser.add_argument("--tails", nargs="*", default=list(TAILS), choices=TAILS)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    for (rows, mean, sigma), kind in product((*SIZES, *EQUAL), given.kinds):
        counts = np.rint(rng.gamma(2, mean / 2, rows)) + 1
        if (rows, mean, sigma) in EQUAL:
            counts = np.full(rows, float(mean))
        for name in given.tails:
            errors, halves = ask_tail(TAILS[name], counts, sigma, kind, given.runs, rng)
            stated = np.isfinite(errors) & np.isfinite(halves)
            missed = stated & (np.abs(errors) > halves * (1 + 1e-9))
            far = [
                np.median(halves[one, g]) / np.quantile(np.abs(errors[one, g]), 0.95)
                for g, one in enumerate(stated.T)
                if one.sum() >= 20
            ]
            print(
                f"{kind} {rows:3} rows of {counts.mean():4.0f} ± {sigma}"
                f"  held {1 - missed.sum() / max(stated.sum(), 1):.3f}  missed {missed.mean():.3f}"
                f"  worst {missed.mean(axis=0).max():.2f}"
                f"  long {np.median(far) if far else np.nan:5.2f}"
                f"  without ± {1 - stated.mean():.2f}  {name}",
                flush=True,
            )


if __name__ == "__main__":
    main()
