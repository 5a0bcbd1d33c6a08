"""What stratifying costs the population's figure, from the strata's shares alone.

Rosenblatt, Stoyanovich and Musco (2024), numbered as in the version with the appendix (the
conference version counts from Definition 10 on one less). There, n rows in k groups of sizes
|G_i| lie within R of 0 up to a standard normal deviation; values are clipped at
R + √log(|G_i| / γ) and group means get Laplace noise. What decides how much worse the recombined
mean is than a fresh one is L = Σ log|G_i|, between (k - 1) + log(n - k) and k log(n / k).

Errors below leave out the constants that both sides share, so only their ratios mean something.
Our own estimators clip at declared bounds, so their noise does not depend on |G_i| at all:
`population_cost` is exact for them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import takewhile

from sqlpriv.errors import DataError
from sqlpriv.kernel.terms.budget import Price, Rho


def largest_log_sizes(k: int, n: float) -> float:
    """Returns the most that L = Σ log g_i can be for Σ g_i = n: k log(n / k) (Lemma 12).

    Two unequal sizes replaced by their mean have the same sum and a larger product, so the product
    is largest where all are equal.
    """
    return k * math.log(n / k)


def smallest_log_sizes(k: int, n: float) -> float:
    """Returns the paper's informal lower bound of L, (k - 1) + log(n - k): one group has nearly
    all, and each of the others counts as 1.
    """
    return k - 1 + math.log(n - k)


def expected_log_sizes(alpha: float, k: int, n: float) -> float:
    """Returns E[L] = k (ψ(α) - ψ(kα) + log n) for shares drawn from Dirichlet(α, …, α).

    Theorem 10 states it as a bound. It holds with equality: a share is Beta(α, (k - 1) α), whose
    expected logarithm is ψ(α) - ψ(kα).
    """
    return k * (digamma(alpha) - digamma(k * alpha) + math.log(n))


def log_sizes(shares: Sequence[float], n: float) -> float:
    """Returns L of given shares; a group of less than one row counts as one row."""
    total = sum(shares)
    return sum(math.log(max(share / total * n, 1.0)) for share in shares)


def fresh_error(n: float, reach: float, epsilon: float, gamma: float = 0.05) -> float:
    """Returns (R + √log(n / γ)) / (n ε): Eq. 2's error of a mean that ignores the groups.

    Args:
        n: Rows.
        reach: R.
        epsilon: Pure differential privacy.
        gamma: Chance that a value is clipped or the noise larger.
    """
    return (reach + math.sqrt(math.log(n / gamma))) / (n * epsilon)


def stratified_error(
    logs: float, k: int, n: float, reach: float, epsilon: float, gamma: float = 0.05
) -> float:
    """Returns √Σ_i (R + √log(|G_i| / γ))² / (n ε), bounded through L (the proof of Proposition 9).

    Σ_i (R + √ℓ_i)² = k R² + 2 R Σ √ℓ_i + Σ ℓ_i with ℓ_i = log(|G_i| / γ), and by Cauchy and
    Schwarz Σ √ℓ_i <= √(k Σ ℓ_i). With `largest_log_sizes` this is Proposition 9's worst case, with
    `expected_log_sizes` its expectation (Theorem 10). For k = 1 it is `fresh_error`.

    Args:
        logs: L.
        k: Groups.
        n, reach, epsilon, gamma: As in `fresh_error`.
    """
    clipped = logs - k * math.log(gamma)
    square = k * reach**2 + 2 * reach * math.sqrt(k * clipped) + clipped
    return math.sqrt(square) / (n * epsilon)


def better_than_worst(alpha: float, k: int, n: float, worst: float | None = None) -> float:
    """Returns which part of the way from the worst case's L to the best one's the expected L goes.

    0 where groups are equal, towards 1 as a few groups have nearly all.

    The paper's "about 80 % better than the worst case" (New York's races, α about 0.13): with
    Lemma 12's worst case, k log(n / k), it is 72 %. With k log n, to which the paper simplifies
    Proposition 9 for small k, it is 78 %; and at α = 0.125, which rounds to 0.13, 80 %.

    Args:
        alpha, k, n: As in `expected_log_sizes`.
        worst: L of the worst case; None for `largest_log_sizes`.
    """
    top, best = worst or largest_log_sizes(k, n), smallest_log_sizes(k, n)
    return (top - expected_log_sizes(alpha, k, n)) / (top - best)


def dirichlet_alpha(shares: Sequence[float]) -> float:
    """Returns the α of the symmetric Dirichlet distribution that has these shares' concentration.

    With s = Σ g_i², E[s] = (α + 1) / (kα + 1), so α = (1 - s) / (k s - 1). Chosen over maximum
    likelihood, whose Σ log g_i hangs on the one smallest group. For New York's races it gives the
    paper's 0.13, which was found by simulation.

    Raises:
        DataError: Fewer than two groups, a negative or infinite share, or all rows in one group.
    """
    total = sum(shares)
    if len(shares) < 2 or not all(0 <= g < math.inf for g in shares) or max(shares) >= total:
        raise DataError("a Dirichlet distribution is fitted to the shares of two groups or more")
    square = sum((share / total) ** 2 for share in shares)
    excess = len(shares) * square - 1
    return (1 - square) / excess if excess > 1e-12 else math.inf


def population_cost(k: int, price: type[Price], population_share: float = 0.0) -> float:
    """Returns how many times the noise of a fresh population figure the statement's own one has.

    The part f of the price buys the population's figure itself, 1 - f the strata's, which add up
    to a second one with k times the variance; both are combined by inverse variance
    (`estimate.reconcile`). Precision grows with ρ under zCDP and with ε² under pure differential
    privacy, so with p = f or f², and q = (1 - f) or (1 - f)², the factor is 1 / √(p + q / k).
    """
    power = 1 if issubclass(price, Rho) else 2
    own, recombined = population_share**power, (1 - population_share) ** power / k
    return 1 / math.sqrt(own + recombined)


def share_for(k: int, price: type[Price], cost: float) -> float:
    """Returns the population's share, in whole hundredths, from which its cost is at most `cost`.

    The cost falls from there to a share of 1; `cost` is above 1.
    """
    shares = [hundredth / 100 for hundredth in range(99, -1, -1)]
    enough = takewhile(lambda share: population_cost(k, price, share) <= cost, shares)
    return min(enough, default=0.99)


def own_share(price: type[Price], cost: float) -> float:
    """Returns the population's share with which its own figure alone has `cost` times the noise of
    a fresh one: cost^-2 of ρ, 1 / cost of ε, in whole thousandths, rounded up.

    Whatever the strata tell of the population besides makes it better, so this holds for any number
    of strata and however they are estimated; `population_cost` of it is at most `cost`.
    """
    power = 2 if issubclass(price, Rho) else 1
    return math.ceil(1000 / cost**power) / 1000


def stratum_cost(price: type[Price], population_share: float) -> float:
    """Returns how many times the noise of a stratum grows for the population's own share."""
    return float((1 - population_share) ** (-0.5 if issubclass(price, Rho) else -1.0))


def digamma(x: float) -> float:
    """Returns ψ(x) = d/dx log Γ(x) for x > 0, to about 1e-12.

    ψ(x) = ψ(x + 1) - 1/x leads to x >= 10, where five terms of the asymptotic series
    log x - 1/(2x) - Σ B_2j / (2j x^2j) are enough (Abramowitz and Stegun, 6.3.5 and 6.3.18).
    """
    if not 0 < x < math.inf:
        raise DataError("the digamma function is taken of positive numbers")
    shift = 0.0
    while x < 10:
        shift, x = shift + 1 / x, x + 1
    s = 1 / (x * x)
    series = s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s / 132))))
    return math.log(x) - 0.5 / x - series - shift
