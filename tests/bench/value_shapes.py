"""Distributions of values whose means are measured, each with the interval declared for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Draw = Callable[[np.random.Generator, int], np.ndarray]


@dataclass(frozen=True)
class ValueShape:
    """A distribution of values, and the interval that is declared for it.

    Args:
        draw: Takes a generator and a number of rows; returns values of shape (rows,).
        lower, upper: The declared interval; values are clamped to it.
        whole: Whether the column is an INTEGER.
    """

    draw: Draw
    lower: float
    upper: float
    whole: bool = False


SHAPES: dict[str, ValueShape] = {
    "uniform": ValueShape(lambda r, n: r.uniform(0, 1000, n), 0, 1000),
    "log-normal": ValueShape(lambda r, n: np.exp(r.normal(10, 1, n)), 0, 1e7),
    "Pareto 1.5": ValueShape(lambda r, n: 1000 * (1 + r.pareto(1.5, n)), 0, 1e7),
    "zero-inflated": ValueShape(
        lambda r, n: np.where(r.random(n) < 0.9, 0.0, np.exp(r.normal(7, 1, n))), 0, 1e6
    ),
    "two atoms": ValueShape(lambda r, n: np.where(r.random(n) < 0.3, 10.0, 250.0), 0, 1000),
    "integers 0..5": ValueShape(lambda r, n: r.integers(0, 6, n).astype(float), 0, 5, True),
    "clamped top": ValueShape(lambda r, n: np.exp(r.normal(10, 1, n)), 0, float(np.exp(12.326))),
    "clamped bottom": ValueShape(lambda r, n: r.normal(84, 100, n), 0, 10_000),
    "bimodal": ValueShape(
        lambda r, n: np.where(r.random(n) < 0.5, r.normal(100, 10, n), r.normal(5000, 200, n)),
        0,
        100_000,
    ),
    "constant": ValueShape(lambda _, n: np.full(n, 42.0), 0, 1000),
    "heavy negative": ValueShape(lambda r, n: -100 * (1 + r.pareto(2, n)) + 300, -1e6, 1e4),
}
"""The last parts: 1 % of the top's values are clamped (e^12.326 is the 99th percentile of the
log-normal ones), and 20 % of the bottom's."""


def _body_and_tail(
    body: np.ndarray, tail: np.ndarray, r: np.random.Generator, part: float
) -> np.ndarray:
    """Returns a body's values, of which about such a part are the tail's."""
    return np.where(r.random(body.size) < part, tail, body)


FURTHER: dict[str, ValueShape] = {
    "income": ValueShape(
        lambda r, n: (
            np.minimum(x := np.exp(r.normal(10, 0.6, n)), top := np.exp(11.1285))
            + np.where(x > top, top * r.pareto(1.7, n), 0.0)
        ),
        0,
        1e7,
    ),
    "exponential and tail": ValueShape(
        lambda r, n: _body_and_tail(r.exponential(700, n), 3000 * (1 + r.pareto(1.3, n)), r, 0.01),
        0,
        1e6,
    ),
    "gamma and tail": ValueShape(
        lambda r, n: _body_and_tail(r.gamma(2, 300, n), 2000 * (1 + r.pareto(1.5, n)), r, 0.02),
        0,
        1e6,
    ),
    "Pareto 1.2": ValueShape(lambda r, n: 500 * (1 + r.pareto(1.2, n)), 0, 1e7),
    "heavy negative 1.8": ValueShape(lambda r, n: -50 * (1 + r.pareto(1.8, n)), -1e6, 1e5),
    "Weibull .5": ValueShape(lambda r, n: 300 * r.weibull(0.5, n), 0, 1e6),
    "log-normal 2": ValueShape(lambda r, n: np.exp(r.normal(6, 2, n)), 0, 1e7),
    "Student t 2": ValueShape(lambda r, n: 50 * r.standard_t(2, n) - 200, -1e5, 1e5),
    "zeros and tail": ValueShape(
        lambda r, n: np.where(r.random(n) < 0.7, 0.0, 100 * (1 + r.pareto(1.6, n))), 0, 1e6
    ),
    "log-logistic 1.4": ValueShape(
        lambda r, n: 800 * (1 / r.uniform(0, 1, n) - 1) ** (1 / 1.4), 0, 5e6
    ),
    "gamma .3": ValueShape(lambda r, n: r.gamma(0.3, 2000, n), 0, 1e6),
    "normal": ValueShape(lambda r, n: r.normal(170, 12, n), 0, 10_000),
    "exponential": ValueShape(lambda r, n: r.exponential(40, n), 0, 1e4),
    "ages": ValueShape(lambda r, n: np.floor(100 * r.beta(2, 3, n)), 0, 120, True),
    "two clumps": ValueShape(
        lambda r, n: np.where(r.random(n) < 0.97, r.normal(50, 5, n), r.normal(3000, 300, n)),
        0,
        1e5,
    ),
    "log-uniform": ValueShape(lambda r, n: np.exp(r.uniform(0, 8, n)), 0, 1e6),
    "triangular": ValueShape(lambda r, n: r.triangular(200, 900, 1000, n), 0, 50_000),
    "Gumbel": ValueShape(lambda r, n: r.gumbel(300, 40, n), -1e4, 1e4),
    "F 6, 3": ValueShape(lambda r, n: 100 * r.f(6, 3, n), 0, 1e6),
    "inverse gamma 2.5": ValueShape(lambda r, n: 1000 / r.gamma(2.5, 1, n), 0, 1e6),
    "round numbers": ValueShape(lambda r, n: 500 * r.poisson(3, n), 0, 1e6, True),
    "log-gamma": ValueShape(lambda r, n: 100 * np.exp(r.gamma(3, 0.6, n)), 0, 1e8),
    "masses and Pareto": ValueShape(
        lambda r, n: np.choose(
            r.integers(0, 4, n),
            [np.zeros(n), np.full(n, 500.0), np.full(n, 1200.0), 300 * (1 + r.pareto(1.7, n))],
        ),
        0,
        1e7,
    ),
    "days": ValueShape(lambda r, n: np.floor(20_000 - r.exponential(900, n)), 0, 40_000, True),
    "salaries": ValueShape(
        lambda r, n: np.rint(np.exp(r.normal(10.6, 0.5, n)) / 1000) * 1000, 0, 1e7, True
    ),
    "Student t 3": ValueShape(lambda r, n: 200 * r.standard_t(3, n) + 40, -1e6, 1e6),
    "three exponentials": ValueShape(
        lambda r, n: r.exponential(r.choice([1.0, 20.0, 600.0], n, p=[0.6, 0.35, 0.05])), 0, 1e5
    ),
    "two log-normals": ValueShape(
        lambda r, n: np.exp(np.where(r.random(n) < 0.6, r.normal(4, 0.4, n), r.normal(8, 0.7, n))),
        0,
        1e6,
    ),
    "hurdle": ValueShape(
        lambda r, n: np.where(r.random(n) < 0.4, 0.0, r.gamma(2.0, 700, n)), 0, 1e5
    ),
    "Likert": ValueShape(
        lambda r, n: r.choice(np.arange(1.0, 8), n, p=[0.3, 0.08, 0.06, 0.06, 0.1, 0.15, 0.25]),
        1,
        7,
        True,
    ),
    "prices in .99": ValueShape(
        lambda r, n: np.floor(np.exp(r.normal(3, 0.9, n))) + 0.99, 0, 10_000
    ),
    "losses": ValueShape(lambda r, n: -np.exp(r.normal(5, 1.6, n)) + 40, -1e7, 1e4),
}
"""Distributions that no estimator was tuned on, but for the first three: on these, heavy tails
beside light bodies, STRAIGHT of `tail_constants` was chosen. The last seventeen were looked at when
the constants of `slow_tails` stood, and the last five of these when regret was."""

ASIDE: dict[str, ValueShape] = {
    "Weibull .45": ValueShape(lambda r, n: 120 * r.weibull(0.45, n), 0, 1e5),
    "triangular at 0": ValueShape(lambda r, n: r.triangular(0, 0, 800, n), 0, 1000),
    "three modes": ValueShape(
        lambda r, n: (
            r.choice([10.0, 1_000.0, 50_000.0], n, p=[0.5, 0.3, 0.2]) * r.normal(1, 0.04, n)
        ),
        0,
        1e6,
    ),
    "Zipf 1.3": ValueShape(lambda r, n: r.zipf(1.3, n).astype(float), 1, 1e6, True),
    "by 5, 30 % zeros": ValueShape(
        lambda r, n: np.where(r.random(n) < 0.3, 0.0, 5 * np.rint(r.gamma(2, 9, n))),
        0,
        10_000,
        True,
    ),
    "minus log-normal": ValueShape(lambda r, n: -np.exp(r.normal(8, 1, n)), -1e7, 0),
    "2 % beyond the end": ValueShape(
        lambda r, n: np.where(r.random(n) < 0.02, 5_000.0, r.normal(100, 15, n)), 0, 1_000
    ),
    "beta .3": ValueShape(lambda r, n: r.beta(0.3, 0.3, n), 0, 1),
    "shop prices": ValueShape(lambda r, n: np.floor(r.exponential(60, n)) + 10.99, 0, 1e5),
    "log-normal pair": ValueShape(
        lambda r, n: r.choice([-1.0, 1.0], n) * np.exp(r.normal(6, 1, n)), -1e6, 1e6
    ),
    "far offset": ValueShape(lambda r, n: 1e9 + r.normal(0, 1e5, n), 0, 1e12, True),
}
"""Distributions that were drawn up by somebody who had tuned nothing, and looked at afterwards."""
LATER: dict[str, ValueShape] = {
    "Rayleigh": ValueShape(lambda r, n: r.rayleigh(30, n), 0, 500),
    "Laplace": ValueShape(lambda r, n: r.laplace(-40, 25, n), -5_000, 5_000),
    "quarters": ValueShape(lambda r, n: np.rint(4 * r.gamma(3, 2, n)) / 4, 0, 100),
    "two blocks": ValueShape(
        lambda r, n: np.where(r.random(n) < 0.35, r.uniform(0, 50, n), r.uniform(700, 900, n)),
        0,
        2_000,
    ),
    "geometric": ValueShape(lambda r, n: r.geometric(0.04, n).astype(float), 1, 100_000, True),
    "scores": ValueShape(lambda r, n: r.binomial(20, 0.7, n).astype(float), 0, 20, True),
    "log-logistic 2": ValueShape(lambda r, n: 70 * (1 / r.uniform(0, 1, n) - 1) ** 0.5, 0, 1e6),
    "debts": ValueShape(
        lambda r, n: np.where(r.random(n) < 0.6, 0.0, -np.exp(r.normal(7, 1.2, n))), -1e6, 1e3
    ),
    "arcsine": ValueShape(lambda r, n: 100 * np.sin(np.pi * r.random(n) / 2) ** 2, 0, 100),
    "thousands": ValueShape(
        lambda r, n: 1_000 * np.rint(np.exp(r.normal(3.6, 0.5, n))), 0, 1e6, True
    ),
}
"""Distributions that were drawn up after what `ASIDE` showed was mended. What these showed, the
noise of counts of strata on both sides of the middle, was mended as well, and nothing else."""
SETS: dict[str, dict[str, ValueShape]] = {
    "suite": SHAPES,
    "further": FURTHER,
    "aside": ASIDE,
    "later": LATER,
}
