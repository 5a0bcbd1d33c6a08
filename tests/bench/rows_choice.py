"""`python tests/bench/rows_choice.py [--shares 5 10 20] [--runs 100]`.

Errors of COUNT(*) under `max_rows_contributed = auto`, by the part of the price that chooses,
beside the owner's bound of 1,000 rows and the best bound, which nobody knows beforehand. Rows of
units are drawn; counts have the noise of the statement, so that many runs take seconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from sqlpriv.answer.bounds.rows_per_unit import bound_of_least_error, expected_units
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Epsilon
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.aggregates.rows_left_out import few_edges as edges_of

MOST = 1000
TABLES = ((2000, 1, 1), (2000, 1, 18), (100_000, 0.1, 18), (100_000, 1, 18), (100_000, 1, 1))
"""Units, epsilon and cells."""
UNITS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "three rows each": lambda _, n: np.full(n, 3),
    "geometric, mean 5": lambda r, n: r.geometric(0.2, n),
    "one in 20 has 60": lambda r, n: np.where(r.random(n) < 0.05, 60, 3),
    "one in 200 has 600": lambda r, n: np.where(r.random(n) < 0.005, 600, 3),
    "Pareto 1.2": lambda r, n: np.ceil(1 + r.pareto(1.2, n)).astype(int),
    "log-normal": lambda r, n: np.ceil(np.exp(r.normal(2, 1.2, n))).astype(int),
}


def errors(rows: np.ndarray, epsilon: float, share: int, cells: int, runs: int) -> np.ndarray:
    """Returns errors of a cell's count under each way: auto, the owner's bound, the best one.

    Units are spread over the cells evenly. Of shape (3,): mean absolute errors.
    """
    rng = np.random.default_rng()
    edges = tuple(edges_of(MOST))
    key = a.Key(a.Bin(a.Col("n"), edges), tuple(range(len(edges) + 1)))
    query = a.Count(a.Scan("t"), keys=(key,))
    exact = np.bincount(np.searchsorted(edges, rows, side="right"), minlength=len(edges) + 1)
    of_choice, left = epsilon / share, epsilon - epsilon / share
    found = []
    for _ in range(runs):
        counts = np.rint(exact + rng.laplace(0, 1 / of_choice, exact.shape))
        release = Release(0, query, counts, 2**0.5 / of_choice, Epsilon(1))
        bound = bound_of_least_error(expected_units(release), cells / left, MOST)
        found.append(_error(rows, bound, left, cells))
    best = min(_error(rows, b, epsilon, cells) for b in range(1, MOST + 1))
    return np.array([np.mean(found), _error(rows, MOST, epsilon, cells), best])


def _error(rows: np.ndarray, bound: int, epsilon: float, cells: int) -> float:
    """Returns the mean absolute error of a cell: what is left out, beside Laplace noise.

    With b left out and noise of scale s, E|b + noise| is b + s exp(-b / s).
    """
    out = float(np.maximum(np.minimum(rows, MOST) - bound, 0).sum()) / cells
    scale = bound / epsilon
    return out + scale * float(np.exp(-out / scale))


def main() -> None:
    """Prints a line for each table, number of units, price and number of cells."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shares", nargs="*", type=int, default=[3, 5, 10, 20])
    parser.add_argument("--runs", type=int, default=100)
    given = parser.parse_args()
    print(
        f"{'rows of a unit':20} units epsilon cells    best  owner's"
        + "".join(f"  auto 1/{share}" for share in given.shares)
    )
    for name, draw in UNITS.items():
        for units, epsilon, cells in TABLES:
            rows = draw(np.random.default_rng(5), units)
            by_share = [errors(rows, epsilon, s, cells, given.runs) for s in given.shares]
            _, owners, best = by_share[0]
            print(
                f"{name:20} {units:6} {epsilon:6} {cells:4} {best:8.1f} {owners:8.1f}"
                + "".join(f"{auto:10.1f}" for auto, _, _ in by_share),
                flush=True,
            )


if __name__ == "__main__":
    main()
