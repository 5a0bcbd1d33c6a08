"""What is expected in bins beyond the last one that stands out of the noise.

On a geometric grid the rows of a power law's tail fall by the same factor from bin to bin; those of
an exponential, a gamma or a log-normal one fall faster and faster. Bin j beyond the last visible
one is taken to hold

    a n (b r)^j exp(-κ φ(j)),        0 < a, b <= 1
    φ(t) = t² / 2   as of log-normal values,   or   (q^t - 1 - t ln q) / ln² q   of exponential ones

with n the last visible count, r the factor by which it was reached, κ the curvature, and q the
ratio of the grid: the mean over `DROPS` of a and b, over `CURVATURES` and both φ, weighted by
`BELIEF`, by how likely they make the noised counts there, and each κ and φ besides by how well they
fit the logarithms of the last visible bins.

The last visible bins may be a body's, beside which a heavy tail lies in the noise: 200 of 20,000
rows of a power law beyond exponential ones. However well a curve fits the body, it tells nothing of
such a tail. So the fit leaves κ = 0 a belief of `STRAIGHT` at least, and `HEAVIER` is left to a
tail that falls by `HEAVIER_FALL` at most, slower than what is seen; the counts beyond decide.
Without that, intervals of such means held less than with a power law alone (.29 for .75).

A power law alone, κ = 0, had a tail go on where it has ended: of 20,000 gamma values with 40 %
zeros under pure epsilon 1 a mean was clipped at four times the largest value.

Its constants stand in `tail_constants`. What it changed: tests/bench/README.md, *Curved tails*.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.rounds.histogram.tail_constants import (
    BELIEF,
    CURVATURES,
    CURVE_MISFIT,
    CURVED_BINS,
    DROPS,
    FEWEST_CURVED,
    HEAVIER,
    HEAVIER_FALL,
    SLOWEST_FALL,
    STRAIGHT,
)
from sqlpriv.plan.pricing.tuned_constants import PARTS


class Falls(NamedTuple):
    """How a tail may go on, each of shape (curvatures,).

    Args:
        bend: κ φ of a number of bins from the last visible one: takes shape (bins,), returns
            (curvatures, bins).
        rate: r.
        log_belief: The logarithm of how likely it is by what is visible, but for a constant.
    """

    bend: Callable[[Array], Array]
    rate: Array
    log_belief: Array

    @classmethod
    def straight(cls, rate: float) -> Falls:
        """Returns that a tail falls as it came."""
        return cls(lambda t: np.zeros((1, t.size)), np.array([rate]), np.zeros(1))


def curved_bends(t: Array) -> Array:
    """Returns κ φ(t) of κ = 0, then of each other κ and both φ, of shape (curvatures, bins)."""
    log_ratio = math.log(2) / PARTS
    parabola = t**2 / 2
    exponential = (np.expm1(t * log_ratio) - t * log_ratio) / log_ratio**2
    curvature = CURVATURES[:, None]
    return np.concatenate([0 * parabola[None], curvature * parabola, curvature * exponential])


def curved_falls(
    counts: Array, is_visible: NDArray[np.bool_], sigma: float, straight: Falls
) -> Falls:
    """Returns how a tail may go on from the last of some bins, by how it came.

    The logarithms of the visible counts are fitted by a + s t - κ φ(t), t the number of bins from
    the last; r is exp(s). Where fewer than `FEWEST_CURVED` bins tell, it falls as it came.

    Args:
        counts: Noised, up to the last visible bin, of shape (bins,).
        is_visible: Which bins stand out of the noise and are no mass of equal values; what lies
            before one that does not is left out.
        sigma: Standard deviation of the noise.
        straight: The fall of κ = 0.

    An exponential tail falls faster and faster; a power law does not:

    >>> x = 2 ** (np.arange(9) / 4)
    >>> seen, one = np.ones(8, bool), Falls.straight(0.6)
    >>> for beyond in (np.exp(-x), x**-2.0):
    ...     falls = curved_falls(-1e5 * np.diff(beyond), seen, 20.0, one)
    ...     likely = np.exp(falls.log_belief - falls.log_belief.max())
    ...     print(round(float(likely[0] / likely.sum()), 2))
    0.76
    0.91
    """
    gaps = np.flatnonzero(~is_visible)
    first = max(counts.size - CURVED_BINS, int(gaps[-1]) + 1 if gaps.size else 0)
    n = counts[first:]
    is_clear = n > 2 * sigma
    if np.count_nonzero(is_clear) < FEWEST_CURVED:
        return straight
    t, n = np.arange(1.0 - n.size, 1.0)[is_clear], n[is_clear]
    weight = 1 / ((sigma**2 + n) / n**2 + CURVE_MISFIT**2)
    weight /= (total := float(weight.sum()))
    flat = np.log(n) + curved_bends(t)
    away, apart = t - weight @ t, flat - (flat @ weight)[:, None]
    slope = apart @ (weight * away) / float(weight @ away**2)
    fit = -total / 2 * ((apart - slope[:, None] * away) ** 2 @ weight)
    rate = np.minimum(np.exp(slope), SLOWEST_FALL)
    rate[0] = straight.rate[0]
    belief = np.exp(fit - fit.max())
    belief[1:] *= (1 - STRAIGHT) / STRAIGHT / (rate.size - 1)
    belief /= belief.sum()
    if belief[0] < STRAIGHT:
        belief[1:] *= (1 - STRAIGHT) / belief[1:].sum()
        belief[0] = STRAIGHT
    belief = np.append((1 - HEAVIER) * belief, HEAVIER)
    return Falls(
        lambda t: np.concatenate([curved_bends(t), np.zeros((1, t.size))]),
        np.append(rate, HEAVIER_FALL),
        np.log(np.maximum(belief, 1e-300)),
    )


def extrapolate(
    beyond: Array,
    last: float,
    falls: Falls,
    sigma: float,
    size: Array | None = None,
    place: Array | None = None,
) -> tuple[Array, Array]:
    """Returns what is expected in bins beyond the last visible one, and its standard deviations.

    Args:
        beyond: Noised counts, the nearest first, of shape (bins,).
        last: n.
        falls: κ and r.
        sigma: Standard deviation of the noise.
        size, place: Widths of the bins, and how far they are, in widths of the last visible bin: a
            bin holds its width times what the module's text says of j = place. None for 1, and
            1, 2, 3, …

    Where the noise hides the tail, a part of it is expected; where it does not, there is none:

    >>> falls = Falls.straight(0.5)
    >>> for sigma in (1e6, 2.0):
    ...     print(extrapolate(np.zeros(3), 64.0, falls, sigma)[0].round(1).tolist())
    [18.0, 7.9, 3.7]
    [1.8, 0.3, 0.1]
    """
    steps = np.arange(1.0, beyond.size + 1) if place is None else place
    curved = np.exp(-falls.bend(steps))
    fall = (falls.rate[:, None, None] * DROPS[:, None]) ** steps * curved[:, None]
    tails = last * DROPS[:, None, None] * fall[:, None]
    tails = tails if size is None else tails * size
    # counts are whole, so that noise of less than a hundredth tells no more
    fit = -((beyond - tails) ** 2).sum(axis=-1) / (2 * max(sigma, 0.01) ** 2)
    fit += falls.log_belief[:, None, None]
    weight = BELIEF[:, None] * BELIEF * np.exp(fit - fit.max())
    weight /= weight.sum()
    mean = np.einsum("cab,cabj->j", weight, tails)
    return mean, np.sqrt(np.einsum("cab,cabj->j", weight, (tails - mean) ** 2))
