"""The only entropy in sqlpriv: OpenDP's exact samplers, each checked against its own price.

A scale is computed with exact rationals from a sensitivity and a price, and rounded up; then
OpenDP's privacy map, which rounds its loss up, must say that the price is met.

Noise is drawn by measuring the zero vector; the caller adds it to exact Python integers. Claim:
this is the measurement itself. OpenDP's M(x) = x + Z, with Z independent of x, and x + M(0) have
one law, however large x is. The one difference: M(x) saturates at ±2^63; at a scale of at most 2^55
Z gets that far with probability below exp(-255) (Laplace) or exp(-32000) (Gaussian) a draw.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Not `opendp.prelude`: it loads scikit-learn, scipy, polars and pandas wherever they are installed.
from opendp import domains, measurements, measures, metrics
from opendp.mod import enable_features

from sqlpriv.errors import KernelError, Refused
from sqlpriv.kernel.terms.budget import NANO, YOCTO, Epsilon, Price, Rho
from sqlpriv.system.daemon_thread import run_in_parts

enable_features("contrib")  # OpenDP's name for proven mechanisms that await a vetting of its own

MAX_SCALE = 2**55
MAX_SCORE = 2**62
_INTEGERS = domains.vector_domain(domains.atom_domain(T="i64"))
_L1, _L2, _EACH = (
    metrics.l1_distance(T="i64"),
    metrics.l2_distance(T="f64"),
    metrics.linf_distance(T="i64", monotonic=False),
)


@dataclass(frozen=True, eq=False)
class Noise:
    """A mechanism whose price has been checked; a draw's standard deviation is `sigma`: that of the
    discrete Gaussian is its scale, a bound, tight within 1e-6 above 1 (arXiv:2004.00010)."""

    sigma: float
    _measurement: Any = field(repr=False)

    def draw(self, n: int) -> list[int]:
        """Returns n independent draws, to be added to exact integers (see the module's claim).

        Many are drawn by several threads at once, and all of them are returned, each once. Claim:
        they are independent. OpenDP's entropy is OpenSSL's, which keeps a generator for each
        thread, seeded by itself (RAND_get0_private(3)); OpenDP's measurements hold no state.
        """
        return run_in_parts(
            lambda part: list(_measure(self._measurement, np.zeros(part, np.int64))), n
        )


@lru_cache(1024)
def gaussian(sensitivity_l2: float, rho: Rho) -> Noise:
    """Returns discrete Gaussian noise, P(z) ~ exp(-z^2 / (2 scale^2)), that is rho-zCDP.

    Where one unit moves a vector of integers by at most D (L2), its price is D^2 / (2 scale^2)
    (arXiv:2004.00010, Theorem 14). Raises Refused where the scale is above 2^55, KernelError where
    OpenDP's map disagrees, as do the next two.
    """
    scale, distance = _noise_scale(sensitivity_l2, rho), root_above(Fraction(sensitivity_l2) ** 2)
    measurement = measurements.make_gaussian(_INTEGERS, _L2, scale)
    return Noise(scale, _confirm_price(measurement, distance, rho))


@lru_cache(1024)
def laplace(sensitivity_l1: int, epsilon: Epsilon) -> Noise:
    """Returns discrete Laplace noise, P(z) ~ exp(-|z| / scale), that is epsilon-DP.

    Where one unit moves a vector of integers by at most D (L1), its price is D / scale (Ghosh,
    Roughgarden and Sundararajan 2009); its variance is 1 / (2 sinh(1 / (2 scale))^2).
    """
    scale = _noise_scale(sensitivity_l1, epsilon)
    measurement = measurements.make_laplace(_INTEGERS, _L1, scale)
    sigma = math.sqrt(0.5) / math.sinh(min(0.5 / scale, 700.0))  # beyond 700 it is below 1e-300
    return Noise(sigma, _confirm_price(measurement, sensitivity_l1, epsilon))


def additive(l1: int, l2_squared: int, price: Price) -> Noise:
    """Returns the price's noise for a vector of integers that one unit moves by at most this."""
    return gaussian(root_above(l2_squared), price) if isinstance(price, Rho) else laplace(l1, price)


def chooser(sensitivity: int, price: Price) -> Callable[[Sequence[int] | NDArray[np.int64]], int]:
    """Returns what picks the number of a candidate by scores, a high one more likely than a low.

    Each score moves by at most D, in whichever direction. Rho buys the exponential mechanism,
    P(i) ~ exp(score_i / s), which is 2D/s-DP and D^2 / (2 s^2)-zCDP (Cesar and Rogers 2021,
    arXiv:2004.07223); epsilon buys permute-and-flip, which is 2D/s-DP (McKenna and Sheldon 2020,
    arXiv:2010.12603). Clamping to ±2^62, against overflow, moves no two scores apart.
    """
    scale = _noise_scale(sensitivity, price, 2)
    divergence = (
        measures.zero_concentrated_divergence()
        if isinstance(price, Rho)
        else measures.max_divergence()
    )
    noisy_max = measurements.make_noisy_max(_INTEGERS, _EACH, divergence, scale)
    confirmed_max = _confirm_price(noisy_max, sensitivity, price)

    def choose(scores: Sequence[int] | NDArray[np.int64]) -> int:
        # OpenDP takes an array as it is, and a list number by number, 3 µs each
        exact = scores if isinstance(scores, np.ndarray) else np.array(scores, object)
        return int(_measure(confirmed_max, np.clip(exact, -MAX_SCORE, MAX_SCORE).astype(np.int64)))

    return choose


def threshold(groups: int, rho: Rho, yocto: int) -> Callable[[Sequence[int]], list[int]]:
    """Returns what selects positions by counts, most likely large ones: see `threshold_of`.

    Claim: where a unit adds 1 to the counts of at most `groups` positions, of which some may be
    new, the selection is delta-approximate rho-zCDP, with delta = yocto × 1e-24. The counts of
    positions with and without the unit are noised as `gaussian` does, D = sqrt(groups). A position
    that is new has the count 1, and passes with probability P(Z >= threshold - 1) <=
    exp(-(threshold - 1)² / (2 scale²)) <= delta / groups (discrete Gaussians are subgaussian:
    arXiv:2004.00010, Corollary 17); at most `groups` of them: delta. OpenDP's map confirms both.
    """
    scale, least = threshold_of(groups, rho, yocto)
    counts = domains.map_domain(domains.atom_domain(T="u32"), domains.atom_domain(T="i64"))
    metric = metrics.l02inf_distance(metrics.absolute_distance(T="i64"))
    measurement = measurements.make_gaussian_threshold(counts, metric, scale, least)
    loss, delta = measurement.map((groups, math.isqrt(groups - 1) + 1, 1))
    if Fraction(loss) > Fraction(rho.nano, NANO) or Fraction(delta) > Fraction(yocto, YOCTO):
        raise KernelError("the threshold does not meet its price")
    return lambda exact: sorted(_measure(measurement, dict(enumerate(exact))))


def threshold_of(groups: int, rho: Rho, yocto: int) -> tuple[float, int]:
    """Returns the scale of the noise on a count of units, and the threshold that it has to pass."""
    if yocto <= 0:
        raise KernelError("a selection of keys has a delta above zero")
    scale = _noise_scale(root_above(groups), rho)
    return scale, 1 + math.ceil(scale * math.sqrt(2 * math.log(groups * YOCTO / yocto)) + 1e-6)


def root_above(square: int | Fraction) -> float:
    """Returns a double whose exact square is at least `square`, at most three above the root's.

    >>> root_above(2), Fraction(root_above(2)) ** 2 >= 2
    (1.4142135623730951, True)
    """
    upper = math.sqrt(square)
    while Fraction(upper) ** 2 < square:
        upper = math.nextafter(upper, math.inf)
    return upper


def _noise_scale(distance: float, price: Price, factor: int = 1) -> float:
    """Returns D / sqrt(2 rho) or factor * D / epsilon, a little above the exact one."""
    if distance <= 0 or price.nano == 0:
        raise KernelError("a sensitivity and a price are above zero")
    loss = Fraction(price.nano, NANO)
    divisor = 2 * loss if isinstance(price, Rho) else (loss / factor) ** 2
    # the margin is unseen, yet far more than the rounding in OpenDP's map
    square = (Fraction(distance) * (1 + Fraction(1, 2**40))) ** 2 / divisor
    if square > MAX_SCALE**2 or distance > MAX_SCORE:
        raise Refused(
            "the noise would be larger than 2^55 steps of its lattice; nothing was read",
            hint="declare a narrower PRIVACY DOMAIN or pay a larger epsilon",
        )
    return root_above(square)


def _confirm_price(measurement: Any, distance: float, price: Price) -> Any:
    """Compares OpenDP's loss, a double that it rounded up, with the exact price."""
    if not Fraction(measurement.map(distance)) <= Fraction(price.nano, NANO):
        raise KernelError("the noise does not meet its price")
    return measurement


def _measure(measurement: Any, exact: NDArray[np.int64] | list[int] | dict[int, int]) -> Any:
    """Measures; an error of OpenDP, which may quote numbers, is gone before ours is raised."""
    with suppress(Exception):  # whatever it was: it may quote exact numbers
        return measurement(exact)
    raise KernelError("the noise could not be drawn")
