"""What stratifying costs the population's figure, for estimators that clip at declared bounds.

The noise of such an estimator depends on the price alone, not on the sizes of the strata, so the
ratios below are exact. For means that are clipped at the sizes of groups (Rosenblatt, Stoyanovich
and Musco 2024) see `examples/papers/strata/theorems.py`.
"""

from __future__ import annotations

import math
from itertools import takewhile

from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.plan.pricing.tuned_constants import LEAST_OWN_GAIN, STRATA_LOSE


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
    less than `LEAST_OWN_GAIN`. In whole hundredths, rounded down.

    >>> from sqlpriv.kernel.terms.budget import Epsilon
    >>> [plain_own_part(k, Rho) for k in (1, 2, 3, 18)], plain_own_part(18, Epsilon)
    ([0.0, 0.0, 0.17, 0.17], 0.0)
    """
    power = 2 if issubclass(price, Rho) else 1
    part = math.floor(100 * (1 - STRATA_LOSE**-power)) / 100
    gain = population_cost(k, price) / population_cost(k, price, part)
    return part if gain >= LEAST_OWN_GAIN else 0.0


def stratum_cost(price: type[Price], population_share: float) -> float:
    """Returns how many times the noise of a stratum grows for the population's own share.

    >>> from sqlpriv.kernel.terms.budget import Epsilon
    >>> stratum_cost(Rho, 0.75), stratum_cost(Epsilon, 0.75)
    (2.0, 4.0)
    """
    return float((1 - population_share) ** (-0.5 if issubclass(price, Rho) else -1.0))
