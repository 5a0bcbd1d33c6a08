"""`python tests/bench/tails.py`: how numbers of many shapes come out of their histograms.

Each shape of `value_shapes.py`, and differences of dates and seconds, is declared in domains once,
ten and a hundred times as wide as written there, and its histograms are noised as those of one of
`--columns` binned columns at each epsilon. Levels have their true rows: what is measured is what
lies inside and between levels, as every method draws it. Printed, over RUNS draws: the share of
columns whose standard deviation is within 5 % and whose mean is within .02 deviations, the mean
absolute log ratio of standard deviations, the ratio of the largest values' distances from the
median, and rows drawn beyond the real ends, widened by a tenth.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "bench")]

import numpy as np
from value_shapes import FURTHER, SHAPES, ValueShape

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import rho_of
from sqlpriv.kernel.terms.contract import Column, Interval, Type
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.domain import binning
from sqlpriv.synth.domain.decode import decode
from sqlpriv.synth.domain.domain import Attribute, Domain, _equal_width_bins
from sqlpriv.synth.inference.one_way_tables import count_sigma
from sqlpriv.synth.inference.positions import ranks_inside

OTHERS = {
    "days apart 0..12": ValueShape(lambda r, n: r.integers(0, 13, n), 0, 365, True),
    "days apart geometric": ValueShape(lambda r, n: r.geometric(0.2, n), 0, 365, True),
    "days of a wait": ValueShape(lambda r, n: np.floor(r.gamma(2, 10, n)), 0, 2920, True),
    "seconds of a call": ValueShape(lambda r, n: 20 + r.integers(0, 100, n), 0, 31_536_000, True),
    "seconds log-normal": ValueShape(
        lambda r, n: np.floor(np.exp(r.normal(5, 1, n))), 0, 31_536_000, True
    ),
    "half euro": ValueShape(lambda _, n: np.full(n, 0.5), 0, 99),
    "far code": ValueShape(
        lambda r, n: np.where(r.random(n) < 0.01, 9999, r.integers(17, 90, n)), 0, 9999, True
    ),
    "uniform on a tenth": ValueShape(lambda r, n: r.uniform(500, 600, n), 0, 1000),
    "normal, wide": ValueShape(lambda r, n: r.normal(0, 1, n), -1e6, 1e6),
    "poisson": ValueShape(lambda r, n: r.poisson(3, n), 0, 1000, True),
}
ALL = SHAPES | FURTHER | OTHERS


def drawn_values(
    values: np.ndarray, attribute: Attribute, sigma: float, rng: np.random.Generator
) -> np.ndarray:
    """Returns as many values, drawn inside the levels that noised histograms give."""
    nothing = Domain(a.Scan("t"), (), (attribute,), ("x",))
    look = binning.begin_look(nothing, 0)
    prices = binning.round_prices(rho_of(1.0, 1e-9), look)
    first = count_sigma(prices[0])
    for done in range(binning.ROUNDS):
        answers: list[Any] = []
        for m in binning.questions(nothing, look, prices, done):
            noise = sigma * count_sigma(m.price) / first
            assert isinstance(m.query, a.Count)
            counts = count_query(m.query, values, look, len(answers))
            noisy = counts + np.rint(rng.normal(0, noise, len(counts)))
            answers.append(SimpleNamespace(id=rng.integers(2**62), values=noisy, sigma=noise))
        look = binning.learn(look, answers)
    refined = binning.refine_domain(nothing, {0: look}, "auto").attributes[0]
    inner = refined.bounds[1:-1]
    codes = np.searchsorted(np.asarray(inner, dtype=float), values, side="right").astype(np.int64)
    where = ranks_inside(codes, rng.random(len(codes)), rng)
    return decode(refined, codes, rng, where).to_numpy(zero_copy_only=False).astype(float)


def count_query(query: a.Count, values: np.ndarray, look: Any, which: int) -> np.ndarray:
    """Returns the true counts of a histogram, or of the classes of a grid."""
    (key,) = query.keys
    if which == 0:
        edges = np.asarray(key.expr.edges, dtype=float)
        at = np.searchsorted(edges, values, side="right")
        return np.bincount(at, minlength=len(edges) + 1).astype(float)
    classes = np.full(len(values), len(look.ladder) + 1)
    for number, step in reversed(list(enumerate(look.ladder, 1))):
        apart = values / step
        classes[(np.abs(apart - np.rint(apart)) < 1e-4) & (np.rint(apart) != 0)] = number
    classes[values == 0] = 0
    return np.bincount(classes, minlength=len(look.ladder) + 2).astype(float)


def figures(real: np.ndarray, made: np.ndarray) -> tuple[float, ...]:
    """Returns log ratio of deviations, error of the mean, ratio of reaches, rows beyond."""
    spread = max(real.std(), 1e-9 * max(1.0, abs(real).max()))
    middle = np.median(real)
    reach = max(np.abs(real - middle).max(), 1.0)
    slack = 0.1 * (real.max() - real.min()) + 1
    beyond = ((made > real.max() + slack) | (made < real.min() - slack)).sum()
    made_spread = max(made.std(), spread / 100)
    return (
        float(np.log(made_spread / spread)) if real.std() > 0 else float(made.std() > 0.05),
        float((made.mean() - real.mean()) / spread) if real.std() > 0 else 0.0,
        float(np.abs(made - middle).max() / reach),
        float(beyond),
    )


def measure(
    shape: ValueShape, rows: int, epsilon: float, columns: int, wide: float, runs: int, seed: int
) -> np.ndarray:
    """Returns the figures of each run, shape (runs, 4)."""
    rho = rho_of(epsilon, 1e-9)
    each = split_price(rho, [binning.SHARE / columns] * columns + [1 - binning.SHARE])[0]
    kind = (Type.INTEGER, "BIGINT") if shape.whole else (Type.REAL, "DOUBLE")
    middle = shape.lower if shape.lower >= 0 else (shape.lower + shape.upper) / 2
    ends = [middle + (end - middle) * wide for end in (shape.lower, shape.upper)]
    interval = Interval(*(map(int, ends) if shape.whole else ends))
    attribute = _equal_width_bins(Column("x", *kind, interval), interval, 32)
    look = binning.begin_look(Domain(a.Scan("t"), (), (attribute,), ("x",)), 0)
    sigma = count_sigma(binning.round_prices(each, look)[0])
    found = []
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        values = np.clip(shape.draw(rng, rows).astype(float), *ends)
        found.append(figures(values, drawn_values(values, attribute, sigma, rng)))
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shapes", nargs="+", default=list(ALL))
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0])
    parser.add_argument("--wide", nargs="+", type=float, default=[1.0, 10.0, 100.0])
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--short", action="store_true", help="the last lines alone")
    given = parser.parse_args()
    for epsilon in given.epsilons:
        every = []
        for name, wide in itertools.product(given.shapes, given.wide):
            one = measure(
                ALL[name], given.rows, epsilon, given.columns, wide, given.runs, given.seed
            )
            every.append(one)
            if not given.short:
                print(f"{name:<22} x{wide:<5g} eps {epsilon:<5g}{line(one)}", flush=True)
        print(f"{'all':<22} {'':<6} eps {epsilon:<5g}{line(np.concatenate(every))}", flush=True)


def line(found: np.ndarray) -> str:
    """Returns the figures of some runs as text."""
    ratio, mean, reach, beyond = found.T
    return (
        f" sd in 5 % {np.mean(np.abs(ratio) < np.log(1.05)):5.2f}"
        f"  mean in .02 {np.mean(np.abs(mean) < 0.02):5.2f}"
        f"  |log sd| {np.abs(ratio).mean():6.3f}  log sd {ratio.mean():7.3f}"
        f"  reach {np.median(reach):9.2f} (worst {reach.max():9.1f})"
        f"  beyond {beyond.mean():7.2f}"
    )


if __name__ == "__main__":
    main()
