"""`python tests/bench/hidden_tails.py [--columns PREFIX …] [--runs N] [--workers N]`.

Whether AVG's interval holds, or a note says that it may not, on 144 columns drawn by a seed, on
which no constant was chosen: `easy` ones, whose intervals need no note; `light` bodies of twelve
families, some with zeros; `mix`, the same bodies with .002 to .06 of their rows in a tail that
begins at 1.5 to 5 times the body. Each with 800, 4,000 and 25,000 rows at epsilon 1, and 25,000
rows at .2, pure and zCDP.

Each line: the part of intervals that held, of answers with a note, and of answers that missed
without one; last, how many cells missed without a note in more than .14 of their answers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import coverage
from bench.value_shapes import ValueShape

Rng = np.random.Generator
Body = Callable[[Rng, int, float], np.ndarray]
BODIES: dict[str, Body] = {
    "halfnormal": lambda r, n, _: abs(r.normal(0, 125, n)),
    "rayleigh": lambda r, n, _: r.rayleigh(80, n),
    "logistic": lambda r, n, p: np.maximum(r.logistic(100, 8 + 8 * p, n), 0),
    "wald": lambda r, n, p: r.wald(100, 40 + 300 * p, n),
    "gamma3": lambda r, n, _: r.gamma(3, 33, n),
    "beta": lambda r, n, p: 300 * r.beta(1.2 + p, 3, n),
    "poisson": lambda r, n, p: 25.0 * r.poisson(2 + 3 * p, n),
    "geometric": lambda r, n, _: 20.0 * r.geometric(0.2, n),
    "gompertz": lambda r, n, p: 100 * np.log1p(r.exponential(1 + 2 * p, n)),
    "ln.7": lambda r, n, _: 80 * np.exp(r.normal(0, 0.7, n)),
    "uniform": lambda r, n, _: r.uniform(50, 150, n),
    "expmix": lambda r, n, _: r.exponential(np.where(r.random(n) < 0.6, 40, 200)),
}
"""Take a generator, a number of rows and what sets the shape, in [0, 1]."""
TAILS: dict[str, Body] = {
    "lomax": lambda r, n, a: 1 + r.pareto(a, n),
    "frechet": lambda r, n, a: (-np.log(r.random(n))) ** (-1 / a) + 0.5,
    "burr": lambda r, n, a: (r.random(n) ** (-1 / a) - 1) ** 0.7 + 0.7,
    "ln": lambda r, n, a: np.exp(r.normal(0.3, 2.6 / a, n)),
    "t": lambda r, n, a: 1 + abs(r.standard_t(a, n)),
}
"""The same, of a slope; they begin near 1."""
EASY: dict[str, Body] = {
    "uniform": lambda r, n, p: r.uniform(100 * p, 300, n),
    "normal": lambda r, n, p: r.normal(150, 10 + 20 * p, n),
    "log-normal": lambda r, n, _: 60 * np.exp(r.normal(0, 1, n)),
    "integers": lambda r, n, _: np.floor(r.uniform(0, 300, n)),
    "bimodal": lambda r, n, p: np.where(
        r.random(n) < 0.3 + 0.4 * p, r.normal(40, 6, n), r.normal(260, 15, n)
    ),
    "triangular": lambda r, n, p: r.triangular(20, 50 + 200 * p, 300, n),
}
SEED, TABLES = 20261127, 5
SIZES = ((800, 1.0), (4_000, 1.0), (25_000, 0.2), (25_000, 1.0))
Cell = tuple[str, int, float, str, int]


def columns() -> dict[str, ValueShape]:
    """Returns the columns by name: the group, a number and the body."""
    rng, drawn, names = np.random.default_rng(SEED), {}, list(BODIES)
    for i in range(60):
        tail = list(TAILS)[rng.integers(5)]
        part, slope = float(10 ** rng.uniform(-2.7, -1.2)), float(rng.uniform(1.25, 2.4))
        far, wide, p = rng.uniform(1.5, 5), 10 ** rng.uniform(1.4, 4), float(rng.uniform())
        zeros = float(rng.choice([0, 0, 0, 0.4]))

        def mixed(
            r: Rng,
            n: int,
            body: Body = BODIES[names[i % 12]],
            tail: Body = TAILS[tail],
            of: tuple[float, ...] = (part, 100 * far, slope, p, zeros),
        ) -> np.ndarray:
            part, begin, slope, p, zeros = of
            x = np.where(r.random(n) < part, begin * tail(r, n, slope), body(r, n, p))
            return np.where(r.random(n) < zeros, 0.0, x)

        drawn[f"mix {i} {names[i % 12]}"] = ValueShape(mixed, 0, float(round(100 * wide)))
    for i in range(60):
        wide, p = 10 ** rng.uniform(0.9, 4), float(rng.uniform())
        zeros = float(rng.choice([0, 0, 0.3, 0.6]))

        def light(
            r: Rng,
            n: int,
            body: Body = BODIES[names[i % 12]],
            of: tuple[float, float] = (p, zeros),
        ) -> np.ndarray:
            return np.where(r.random(n) < of[1], 0.0, body(r, n, of[0]))

        drawn[f"light {i} {names[i % 12]}"] = ValueShape(light, 0, float(round(100 * wide)))
    for i, name in enumerate(list(EASY) * 4):
        p, wide = float(rng.uniform()), 10 ** rng.uniform(0.3, 1.6)

        def easy(r: Rng, n: int, body: Body = EASY[name], p: float = p) -> np.ndarray:
            return body(r, n, p)

        reach = 3000 if name == "log-normal" else 300
        drawn[f"easy {i} {name}"] = ValueShape(easy, 0, float(round(reach * wide)))
    return drawn


def ask(cell: Cell) -> np.ndarray:
    """Returns which answers of a cell held and which have a note, of shape (2, runs)."""
    name, rows, epsilon, kind, runs = cell
    shape = columns()[name]
    tables = [coverage.rows_of(shape, rows, "1", 500 + table) for table in range(TABLES)]
    of_tables = [coverage.run(one, kind, "auto", -(-runs // TABLES), epsilon) for one in tables]
    joined = coverage.join_runs(of_tables)
    return np.array([joined.whole_covered, joined.doubtful])


def main() -> None:
    """Prints a line for each group, and for each size of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", nargs="*", default=["easy", "light", "mix"])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    names = [name for name in columns() if name.startswith(tuple(given.columns))]
    cells = [
        (name, rows, epsilon, kind, given.runs)
        for name, (rows, epsilon), kind in product(names, SIZES, ("pure", "zcdp"))
    ]
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
        answers = dict(zip(cells, pool.map(ask, cells), strict=True))
    for prefix, size in product(given.columns, (None, *SIZES)):
        of_group = [
            answer
            for (name, *at, _, _), answer in answers.items()
            if name.startswith(prefix) and size in (None, tuple(at))
        ]
        held, noted = np.stack(of_group, axis=1)
        missed = (held == 0) & (noted == 0)
        print(
            f"{prefix:12} {'all' if size is None else f'{size[0]} rows at {size[1]}':18}"
            f" held {held.mean():.3f}  noted {noted.mean():.3f}  missed without {missed.mean():.4f}"
            f"  cells {np.count_nonzero(missed.mean(axis=1) > 0.14)} of {len(of_group)}"
        )


if __name__ == "__main__":
    main()
