"""The interval of a ratio of two noised numbers, whose divisor may be small beside its noise."""

from __future__ import annotations

import numpy as np

from sqlpriv.answer.intervals.estimate import Array


def ratio_ends(
    total: Array,
    rows: Array,
    variances: tuple[Array | float, Array | float],
    z: Array | float,
    most: float,
) -> tuple[Array, Array]:
    """Returns the lower and the upper end of the interval of S / N.

    Counts of few rows are noised by much of themselves, and so the ratio errs by more than its
    Taylor series says. But S - μ N has the variance σ_S² + μ² σ_N² for the true ratio μ, so the
    ratios for which it is within z deviations hold μ as often as z says (Fieller 1954):

        (N² - z² σ_N²) μ² - 2 S N μ + S² - z² σ_S² <= 0

    Where N itself is within z deviations of 0 any ratio is possible.

    Args:
        total, rows: S, and N, positive, of one shape.
        variances: σ_S² and σ_N².
        z: The half-width in standard deviations.
        most: The farthest from S / N that an end is.

    >>> ends = ratio_ends(np.array([0.0, 5.0]), np.array([10.0, 1.0]), (4.0, 1.0), 2.0, 50.0)
    >>> [end.round(2).tolist() for end in ends]
    [[-0.41, -45.0], [0.41, 55.0]]
    """
    (var_s, var_n), z2 = variances, z**2
    left = rows**2 - z2 * var_n
    is_bounded = left > 0
    a = np.where(is_bounded, left, 1.0)
    reach = np.sqrt(z2 * (a * var_s + total**2 * var_n)) / a
    ratio, middle = total / rows, total * rows / a
    low = np.where(is_bounded, np.maximum(middle - reach, ratio - most), ratio - most)
    high = np.where(is_bounded, np.minimum(middle + reach, ratio + most), ratio + most)
    return low, high
