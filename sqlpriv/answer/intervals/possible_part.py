"""The part of an interval that is possible, of a figure that was brought to what is possible.

A mean lies inside its column's declared interval, and a variance is no less than 0. Noise takes
figures of few rows far outside, and the estimate is the nearest possible figure. The interval was
made around the noised figure. What of it lies outside of what is possible holds no truth, so the
rest holds exactly as often as the whole.
"""

from __future__ import annotations

import numpy as np

from sqlpriv.answer.intervals.estimate import Array


def possible_half_widths(
    values: Array, ends: tuple[Array, Array], possible: tuple[Array | float, Array | float]
) -> Array:
    """Returns how far from a figure the possible part of its interval reaches, at the farther side.

    Where everything possible is inside the interval nothing is known. The half-width is then the
    length of the whole interval, which is no less than all that is possible is long.

    Args:
        values: The figures, possible ones.
        ends: The lower and the upper end of each interval.
        possible: The least and the greatest possible value.

    Of a noised mean of -3 ± 5 in a domain from 0 to 10, 0 to 2 is possible, so 0 ± 2 is stated:

    >>> low, high = np.array([-8.0, 1.0, -5.0]), np.array([2.0, 5.0, 15.0])
    >>> possible_half_widths(np.array([0.0, 3.0, 5.0]), (low, high), (0.0, 10.0)).tolist()
    [2.0, 2.0, 20.0]
    """
    (low, high), (least, most) = ends, possible
    inside = np.maximum(np.minimum(high, most) - values, values - np.maximum(low, least))
    return np.asarray(np.where((low <= least) & (most <= high), high - low, inside))
