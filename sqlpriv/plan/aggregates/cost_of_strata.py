"""What stratifying costs the population's figure, for estimators that clip at declared bounds.

The noise of such an estimator depends on the price alone, not on the sizes of the strata, so the
ratios below are exact. For means that are clipped at the sizes of groups (Rosenblatt, Stoyanovich
and Musco 2024) see `examples/papers/strata/theorems.py`.
"""

from __future__ import annotations

import math
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.plan.pricing.tuned_constants import LEAST_OWN_GAIN, MOST_OWN, STRATA_LOSE


def population_cost(k: int, price: type[Price], population_share: float = 0.0) -> float:
    """Returns how many times the noise of a fresh population figure the statement's own one has.

    The part f of the price buys the population's figure itself, 1 - f the strata's, which add up
    to a second one with k times the variance; both are combined by inverse variance
    (`estimate.reconcile`). Precision grows with ρ under zCDP and with ε² under pure differential
    privacy, so with p = f or f², and q = (1 - f) or (1 - f)², the factor is 1 / √(p + q / k).

    Args:
        k: Number of strata.
        price: The kind of budget: Rho (zCDP) or Epsilon (pure).
        population_share: f, from 0 to 1.

    >>> population_cost(9, Rho), round(population_cost(9, Rho, 0.5), 3)
    (3.0, 1.342)
    """
    power = 1 if issubclass(price, Rho) else 2
    own, recombined = population_share**power, (1 - population_share) ** power / k
    return 1 / math.sqrt(own + recombined)


def share_for(k: int, price: type[Price], cost: float) -> float:
    """Returns the population's share, in whole hundredths, from which its cost is at most `cost`.

    The cost falls from there to a share of 1; `cost` is above 1.

    >>> from sqlpriv.kernel.terms.budget import Epsilon
    >>> share_for(9, Rho, 1.1), share_for(9, Epsilon, 1.1)
    (0.81, 0.91)
    """
    shares = [hundredth / 100 for hundredth in range(99, -1, -1)]
    enough = takewhile(lambda share: population_cost(k, price, share) <= cost, shares)
    return min(enough, default=0.99)


def own_share(price: type[Price], cost: float) -> float:
    """Returns the population's share with which its own figure alone has `cost` times the noise of
    a fresh one: cost^-2 of ρ, 1 / cost of ε, in whole thousandths, rounded up.

    Whatever the strata tell of the population besides makes it better, so this holds for any number
    of strata and however they are estimated; `population_cost` of it is at most `cost`.

    >>> from sqlpriv.kernel.terms.budget import Epsilon
    >>> own_share(Rho, 1.09), own_share(Epsilon, 1.09)
    (0.842, 0.918)
    """
    power = 2 if issubclass(price, Rho) else 1
    return math.ceil(1000 / cost**power) / 1000


def plain_own_part(k: int, price: type[Price]) -> float:
    """Returns the part of a plain mean's price that everybody's own sum takes beside k strata's.

    It makes no stratum's noise more than `STRATA_LOSE` times as large; 0 where everybody's falls by
    less than `LEAST_OWN_GAIN`, or by less than strata lose. In whole hundredths, rounded down.

    >>> from sqlpriv.kernel.terms.budget import Epsilon
    >>> [plain_own_part(k, Rho) for k in (1, 2, 3, 18)], plain_own_part(18, Epsilon)
    ([0.0, 0.36, 0.36, 0.36], 0.0)
    """
    if k < 2:
        return 0.0
    power = 1 if issubclass(price, Rho) else 2
    of_sums = np.ones(k)
    part = largest_own_part(of_sums, of_sums, power)
    gain = population_cost(k, price) / population_cost(k, price, part)
    lost = strata_left(part, of_sums, of_sums, of_sums / k, power)[0] ** 0.5
    return part if gain >= max(LEAST_OWN_GAIN, lost) else 0.0


def largest_own_part(
    of_sums: NDArray[np.float64], variance: NDArray[np.float64], power: int
) -> float:
    """Returns the part f of a price that everybody's own sum may take: no stratum's ± becomes more
    than `STRATA_LOSE` times as long.

    With p the power, v a stratum's variance for the whole price and s what of it is the noise of
    its sum, v - s + s / (1 - f)^p <= STRATA_LOSE² v. What agreement takes off (`strata_left`) is
    left out, since ± do not state it where both levels rest on the same counts: two strata's were
    1.6 times as long where it was counted.

    Args:
        of_sums, variance: s and v of each stratum, of one shape.
        power: Of a part of the price that a variance falls with: 1 for ρ, 2 for ε.

    Returns:
        f in whole hundredths, rounded down, `MOST_OWN` at most.

    >>> one = np.ones(4)
    >>> [largest_own_part(one, v * one, p) for v, p in ((1.0, 1), (1.0, 2), (9.0, 1))]
    [0.36, 0.2, 0.8]
    """
    left = of_sums / np.maximum((STRATA_LOSE**2 - 1) * variance + of_sums, 1e-300)
    most = float(np.min(1 - left ** (1 / power)))
    return math.floor(100 * min(most, MOST_OWN) + 1e-9) / 100


def strata_left(
    part: float,
    of_sums: NDArray[np.float64],
    variance: NDArray[np.float64],
    shares: NDArray[np.float64],
    power: int,
) -> NDArray[np.float64]:
    """Returns the strata's variances, of shape (strata,), where everybody's own sum takes the part
    f of the price and both levels agree.

    With a a stratum's share of the rows its sum's noise becomes S = s / (1 - f)^p, and agreement
    (`answer.reconcile`) takes off (a S)² / (V_A + V_B): V_A = Σ a² (v - s + S) is the variance of
    the strata put together, V_B = (Σ a² √s)² / f^p that of everybody's own sum, clipped as they.

    No Gaussian noise leaves strata of one size as well off and everybody better: with Σ its
    covariance, ρ bounds each (Σ⁻¹)_ii, which is convex, so that the best Σ is alike in all strata.

    Args:
        part: f.
        of_sums, variance, power: See `largest_own_part`.
        shares: a.
    """
    s, v, a = (np.ravel(x) for x in (of_sums, variance, shares))
    alone = float((a**2 @ np.sqrt(s)) ** 2)
    dearer = s / (1 - part) ** power
    together = float(a**2 @ (v - s + dearer)) + alone / part**power
    return np.asarray(v - s + dearer - (a * dearer) ** 2 / max(together, 1e-300))


def stratum_cost(price: type[Price], population_share: float) -> float:
    """Returns how many times the noise of a stratum grows for the population's own share.

    >>> from sqlpriv.kernel.terms.budget import Epsilon
    >>> stratum_cost(Rho, 0.75), stratum_cost(Epsilon, 0.75)
    (2.0, 4.0)
    """
    return float((1 - population_share) ** (-0.5 if issubclass(price, Rho) else -1.0))
