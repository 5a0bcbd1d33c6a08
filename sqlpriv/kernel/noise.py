"""The only entropy in sqlpriv: OpenDP's exact samplers, each checked against its own price.

A mechanism is built from a sensitivity and a price. Its scale is computed with exact rationals and
rounded up; then OpenDP's privacy map, which rounds its loss up, must say that the price is met.

Noise is drawn by running the measurement on the zero vector; the caller adds it to exact Python
integers. Claim: this is the measurement itself. An OpenDP noise measurement over the integers is
M(x) = x + Z with Z independent of x, so x + M(0) and M(x) have one distribution, and neighbours'
exact values lie as far apart as the sensitivity says however large they are. The one difference is
that OpenDP's result saturates at ±2^63; at a scale of at most 2^55 the noise gets that far with
probability below exp(-255) (Laplace) or exp(-32000) (Gaussian) a draw.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian, make_laplace, make_noisy_max
from opendp.measures import max_divergence, zero_concentrated_divergence
from opendp.metrics import l1_distance, l2_distance, linf_distance
from opendp.mod import enable_features

from sqlpriv.errors import KernelError, Refused
from sqlpriv.kernel.budget import NANO, Epsilon, Price, Rho

enable_features("contrib")  # OpenDP's name for proven mechanisms that await a vetting of its own

MAX_SCALE = 2**55
MAX_SCORE = 2**62
_MARGIN = 1 + Fraction(1, 2**40)
"""Widens a scale by a trillionth: far more than the rounding in OpenDP's map, and unseen."""

_INTEGERS = vector_domain(atom_domain(T="i64"))


@dataclass(frozen=True, eq=False)
class Noise:
    """A noise mechanism whose price has been checked.

    Args:
        sigma: Standard deviation of one draw; for the discrete Gaussian its scale, which is an
            upper bound, and equal to within 1e-6 of it for scales above 1 (Canonne, Kamath and
            Steinke 2020, arXiv:2004.00010, section 2).
        scale: The distribution's parameter.
        mechanism: "discrete Gaussian" or "discrete Laplace".
    """

    sigma: float
    scale: float
    mechanism: str
    _measurement: Any = field(repr=False)

    def draw(self, n: int) -> list[int]:
        """Returns n independent draws, to be added to exact integers (see the module's claim)."""
        return list(self._measurement([0] * n)) if n else []


def gaussian(sensitivity_l2: float | Fraction, rho: Rho) -> Noise:
    """Returns discrete Gaussian noise that makes a vector of integers rho-zCDP.

    P(z) is proportional to exp(-z^2 / (2 scale^2)). Noise of scale s on every cell of a vector that
    one unit moves by at most D in the L2 norm is D^2 / (2 s^2)-zCDP (Canonne, Kamath and Steinke
    2020, Theorem 14); s = D / sqrt(2 rho), rounded up.

    D, in lattice steps, is `root(square)` where it is a square root.

    Raises:
        Refused: The scale is above 2^55.
        KernelError: OpenDP's map does not confirm the price.
    """
    distance = _upper(Fraction(sensitivity_l2))
    scale = _scale(distance, root(Fraction(distance) ** 2 / (2 * _exact(rho))))
    measurement = make_gaussian(_INTEGERS, l2_distance(T="f64"), scale)
    _confirm(measurement, distance, rho)
    return Noise(scale, scale, "discrete Gaussian", measurement)


def laplace(sensitivity_l1: int, epsilon: Epsilon) -> Noise:
    """Returns discrete Laplace noise that makes a vector of integers epsilon-DP.

    P(z) is proportional to exp(-|z| / scale), the two-sided geometric law of Ghosh, Roughgarden and
    Sundararajan 2009; a vector that one unit moves by at most D in the L1 norm is (D / scale)-DP.
    With a = exp(-1/scale) its variance is 2 a / (1 - a)^2 = 1 / (2 sinh(1 / (2 scale))^2).
    Raises as `gaussian` does.
    """
    scale = _scale(sensitivity_l1, sensitivity_l1 / _exact(epsilon))
    measurement = make_laplace(_INTEGERS, l1_distance(T="i64"), scale)
    _confirm(measurement, sensitivity_l1, epsilon)
    sigma = math.sqrt(0.5) / math.sinh(min(0.5 / scale, 700.0))  # beyond 700 it is below 1e-300
    return Noise(sigma, scale, "discrete Laplace", measurement)


def select(scores: Sequence[int], sensitivity: int, price: Price) -> int:
    """Returns the number of a candidate, a high score more likely than a low one.

    Under zCDP Gumbel noise is added and the largest taken: the exponential mechanism, P(i)
    proportional to exp(score_i / s). Scores that each move by at most D make it 2D/s-DP, hence
    (2D/s)^2 / 8 = D^2 / (2 s^2)-zCDP (Cesar and Rogers 2021, arXiv:2004.07223; the range of its
    privacy loss is bounded). A pure price runs permute-and-flip (McKenna and Sheldon 2020,
    arXiv:2010.12603), which is 2D/s-DP. Neither assumes that all scores move the same way.
    Scores are clamped to ±2^62 so that none can overflow, which moves no two of them apart.
    Raises as `gaussian` does, and KernelError where there is no candidate.
    """
    if not scores:
        raise KernelError("there is no candidate to choose from")
    if isinstance(price, Rho):
        measure = zero_concentrated_divergence()
        scale = _scale(sensitivity, root(sensitivity**2 / (2 * _exact(price))))
    else:
        measure = max_divergence()
        scale = _scale(sensitivity, 2 * sensitivity / _exact(price))
    metric = linf_distance(T="i64", monotonic=False)
    measurement = make_noisy_max(_INTEGERS, metric, measure, scale)
    _confirm(measurement, sensitivity, price)
    return int(measurement([max(-MAX_SCORE, min(MAX_SCORE, score)) for score in scores]))


def root(square: int | Fraction) -> float:
    """Returns a double whose exact square is at least `square`, and next to the true root.

    The square root of a correctly rounded double is within three doubles of it. Raises Refused
    where the root is beyond every scale and sensitivity in use.
    """
    if square > MAX_SCALE**4:
        raise _too_large()
    candidate = math.sqrt(square)
    for _ in range(4):
        if Fraction(candidate) ** 2 >= square:
            return candidate
        candidate = math.nextafter(candidate, math.inf)
    raise KernelError("a square root did not round up")


def _upper(exact: Fraction) -> float:
    """Returns the least double that is not below a number."""
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def _scale(sensitivity: float, exact: float | Fraction) -> float:
    """Returns the scale to use, a little above the exact one."""
    widened = Fraction(exact) * _MARGIN
    if sensitivity <= 0:
        raise KernelError("a sensitivity is above zero")
    if widened > MAX_SCALE or sensitivity > MAX_SCORE:
        raise _too_large()
    return _upper(widened)


def _exact(price: Price) -> Fraction:
    if price.nano == 0:
        raise KernelError("a price is above zero")
    return Fraction(price.nano, NANO)


def _confirm(measurement: Any, distance: float, price: Price) -> None:
    """Compares OpenDP's loss, a double that it rounded up, with the exact price."""
    if not Fraction(measurement.map(distance)) <= _exact(price):
        raise KernelError("the noise does not meet its price")


def _too_large() -> Refused:
    return Refused(
        "the noise would be larger than 2^55 steps of its lattice; nothing was read",
        hint="declare a narrower PRIVACY DOMAIN or pay a larger epsilon",
    )
