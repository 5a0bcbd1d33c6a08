"""Columns as strangers have them: cells of `random_shapes.py` from number 20,000 on.

Thirteen families that neither `value_shapes.py` nor the lower cells have in this form, each with
parameters that the number draws. Rows are 30 to 100,000 in 1, 18 or 200 strata, of equal sizes or
by Zipf's law; the declared interval reaches 1 to 10^6 times as far as the values do.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

FIRST_FRESH = 20_000
ROWS = (30, 300, 3_000, 100_000)
STRATA = ("1", "1", "18", "Zipf 18", "Zipf 200")
REACHES = (1.0, 1.0, 10.0, 100.0, 1e4, 1e6)
"""How many times as far as the values an interval reaches."""
Draw = Callable[[np.random.Generator, int], np.ndarray]
FAMILIES = (
    *("gamma", "Weibull", "rare clump", "hurdle", "tens", "prices", "negative binomial"),
    *("negative skew", "heaped ages", "dates", "Student t", "outliers", "few atoms"),
)


def draw_fresh(rng: np.random.Generator, family: str) -> tuple[str, Draw, bool]:
    """Returns a distribution's name, its draw, and whether its values are whole numbers."""
    scale = float(10 ** rng.uniform(0.5, 4.5))
    a, b = (float(v) for v in rng.uniform(0.4, 4, 2))
    part = float(rng.choice([0.002, 0.01, 0.04]))
    match family:
        case "gamma":
            return f"Gamma({a:.1f}, {scale:.3g})", lambda r, n: r.gamma(a, scale, n), False
        case "Weibull":
            return f"Weibull({a:.1f}, {scale:.3g})", lambda r, n: scale * r.weibull(a, n), False
        case "rare clump":
            far = float(rng.uniform(5, 100))
            return (
                f"Gamma({1 + a:.1f}, {scale:.3g}), {part:g} of them {far:.0f} times as far",
                lambda r, n: np.where(
                    r.random(n) < part,
                    scale * far * r.normal(1, 0.1, n),
                    r.gamma(1 + a, scale, n),
                ),
                False,
            )
        case "hurdle":
            zeros, spread = float(rng.uniform(0.2, 0.9)), float(rng.uniform(0.4, 1.6))
            return (
                f"{zeros:.2f} zeros, LN({np.log(scale):.1f}, {spread:.1f})",
                lambda r, n: np.where(
                    r.random(n) < zeros, 0.0, scale * np.exp(r.normal(0, spread, n))
                ),
                False,
            )
        case "tens":
            spread = float(rng.uniform(0.3, 1.2))
            return (
                f"LN({np.log(30 * scale):.1f}, {spread:.1f}) by 10",
                lambda r, n: 10 * np.rint(3 * scale * np.exp(r.normal(0, spread, n))),
                True,
            )
        case "prices":
            spread = float(rng.uniform(0.3, 1.2))
            return (
                f"prices ending in .99, LN({np.log(scale):.1f}, {spread:.1f})",
                lambda r, n: np.floor(scale * np.exp(r.normal(0, spread, n))) + 0.99,
                False,
            )
        case "negative binomial":
            mean = float(10 ** rng.uniform(-0.5, 1.5))
            return (
                f"NB({a:.1f}, mean {mean:.1f})",
                lambda r, n: r.negative_binomial(a, a / (a + mean), n).astype(float),
                True,
            )
        case "negative skew":
            top = scale * (4 + 4 * a)
            return (
                f"{top:.3g} - Gamma({a:.1f}, {scale:.3g})",
                lambda r, n: np.maximum(top - r.gamma(a, scale, n), 0.0),
                False,
            )
        case "heaped ages":
            return (
                f"ages of Beta({1 + a:.1f}, {1 + b:.1f}), a third by 5",
                lambda r, n: _heaped_ages(r, 95 * r.beta(1 + a, 1 + b, n)),
                True,
            )
        case "dates":
            last, days = int(rng.integers(15_000, 20_500)), float(10 ** rng.uniform(2, 3.6))
            return (
                f"days, {days:.0f} before {last}",
                lambda r, n: np.maximum(last - np.floor(r.exponential(days, n)), 0.0),
                True,
            )
        case "Student t":
            freedom, middle = float(rng.uniform(2.5, 5)), scale * float(rng.uniform(-2, 2))
            return (
                f"{middle:.3g} + {scale:.3g} t({freedom:.1f})",
                lambda r, n: middle + scale * r.standard_t(freedom, n),
                False,
            )
        case "outliers":
            far = float(rng.uniform(3, 300))
            return (
                f"{scale:.3g}, {part:g} of them up to {far:.0f} times",
                lambda r, n: np.where(r.random(n) < part, scale * r.uniform(1, far, n), scale),
                False,
            )
    values = np.sort(np.rint(rng.uniform(0, 100, int(rng.integers(1, 4)))) * scale / 50)
    weight = rng.dirichlet(np.ones(values.size))
    return (
        f"{values.size} atoms up to {values[-1]:.3g}",
        lambda r, n: r.choice(values, n, p=weight),
        False,
    )


def _heaped_ages(r: np.random.Generator, ages: np.ndarray) -> np.ndarray:
    """Returns whole ages, a third of them said to the nearest five years."""
    return np.where(r.random(ages.size) < 1 / 3, 5 * np.rint(ages / 5), np.floor(ages))


def reach_interval(values: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """Returns an interval with round ends that holds nearly all of the values, or far more.

    >>> reach_interval(np.array([1.0, 70.0]), np.random.default_rng(0))[0]
    0.0
    """
    far = max(float(np.quantile(np.abs(values), 0.9999)), 1.0) * float(rng.choice(REACHES))
    power = 10.0 ** np.floor(np.log10(far))
    upper = float(np.ceil(far / power) * power)
    return (-upper if (values < 0).any() else 0.0), max(upper, 2.0)
