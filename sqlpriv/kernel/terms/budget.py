"""Privacy prices as exact integers, and the way between rho and (epsilon, delta).

Prices are whole numbers of nano (1e-9), so sums of any length are exact. Every conversion rounds
toward privacy: what may be spent is rounded down, what is shown as the cost is rounded up.
zCDP: Bun and Steinke 2016 (arXiv:1605.02065). Conversion: Canonne, Kamath and Steinke 2020
(arXiv:2004.00010), Corollary 13.
"""

import datetime as dt
import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from sqlpriv.errors import DataError, DeclarationError

NANO = 10**9
YOCTO = 10**24
"""Deltas of key selections are whole numbers of 1e-24, so that their sums are exact, too."""
MAX_KEYS = 10**18  # 1e-6
PERIODS: dict[str, Callable[[dt.date], dt.date]] = {
    "day": lambda day: day,
    "week": lambda day: day - dt.timedelta(day.weekday()),
    "month": lambda day: day.replace(day=1),
    "quarter": lambda day: day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1),
    "year": lambda day: day.replace(month=1, day=1),
}
"""What a budget may be `per`, and the first day of a day's period; weeks begin on Monday."""
MAX_NANO = 10**18  # above a billion there is no privacy to account for; all totals fit 64 bits


@dataclass(frozen=True, order=True)
class _Amount:
    """A privacy loss of `nano` × 1e-9, 0 to MAX_NANO; compared within its own type alone.

    A float is read as the shortest decimal that denotes it, which is what its author wrote: 0.3 is
    three tenths, though the double lies just below. Raises DataError where it is out of range.
    """

    nano: int

    def __post_init__(self) -> None:
        if type(self.nano) is not int or not 0 <= self.nano <= MAX_NANO:
            raise DataError(f"a privacy loss lies between 0 and {MAX_NANO // NANO}")

    @classmethod
    def at_most(cls, amount: float | Fraction) -> Self:
        """Returns the amount rounded down to a nano: for what may be spent.

        >>> Rho.at_most(0.3), Rho.at_most(1e-10)
        (Rho(nano=300000000), Rho(nano=0))
        """
        if not math.isfinite(amount):
            raise DataError(f"a privacy loss is a finite number, not {amount}")
        return cls(math.floor(Fraction(str(amount)) * NANO))

    @property
    def value(self) -> float:
        """The nearest double."""
        return self.nano / NANO


class Rho(_Amount):
    """zCDP: rho adds up over measurements, also when each is chosen after seeing the last."""

    kind = "zcdp"


class Epsilon(_Amount):
    """Pure differential privacy: epsilon adds up, adaptively too."""

    kind = "pure"


Price = Rho | Epsilon
KINDS: dict[str, type[Rho] | type[Epsilon]] = {"zcdp": Rho, "pure": Epsilon}


@dataclass(frozen=True)
class Budget:
    """All that may ever be learned about the units of one table: `total` is positive.

    With `per` (see `PERIODS`) it is what may be learned in each period of the calendar, in UTC. In
    all, n periods come to n times the total: it adds up over them. `whole`, in nano, is the most
    over all periods, 0 without such a limit; nothing is charged after the day `until` (ISO).

    Under zCDP epsilon is stated at `delta`, 0 < delta < 1; a pure budget has delta = 0. Anything
    else is a DeclarationError. `keys`, in 1e-24, is the delta that selections of undeclared keys
    may use in all, beside `delta`: they come in zCDP budgets alone.

    Claim: all that is bought is (epsilon, delta + keys)-DP. A selection is keys_i-approximate
    rho_i-zCDP; both amounts add up, adaptively too (Bun and Steinke 2016, Lemma 8.2), to at most
    `keys` and `total`; and keys-approximate rho-zCDP is (epsilon, delta + keys)-DP for every
    epsilon, delta that rho-zCDP implies (ibid., Lemma 8.8). Both totals are fixed beforehand: a
    split of one delta that followed what was asked would need a proof of its own.
    """

    unit_table: str
    total: Price
    delta: float
    keys: int = 0
    per: str = ""
    until: str = ""
    whole: int = 0

    def __post_init__(self) -> None:
        if self.total.nano <= 0:
            raise DeclarationError("a privacy budget is above zero")
        if not (0 < self.delta < 1 if isinstance(self.total, Rho) else self.delta == 0):
            raise DeclarationError("a zCDP budget has 0 < delta < 1, one of pure epsilon delta = 0")
        if not 0 <= self.keys <= (MAX_KEYS if isinstance(self.total, Rho) else 0):
            raise DeclarationError("keys_delta lies from 0 to 1e-6, in a budget with a delta")

    def period_start(self, day: str) -> str:
        """Returns the first day (ISO) of the period that a day is in; '' where there are none.

        >>> Budget("t", Epsilon(1), 0.0, per="quarter").period_start("2026-06-30")
        '2026-04-01'
        """
        start = PERIODS.get(self.per)
        return start(dt.date.fromisoformat(day)).isoformat() if start else ""


def epsilon_of(rho: Rho, delta: float) -> float:
    """Returns an epsilon such that rho-zCDP implies (epsilon, delta)-DP, rounded up.

    For every alpha > 1, rho-zCDP gives (epsilon, delta)-DP with
    epsilon = alpha rho + log(1 - 1/alpha) + (log(1/delta) - log alpha) / (alpha - 1),
    which is Corollary 13 solved for epsilon: missing the best alpha costs accuracy, not privacy.
    With u = alpha - 1 it is least where rho u^2 + log(1 + u) = log(1/delta); bisection comes close.
    Added is 2**-45 of the terms' magnitudes: more than the error of a few dozen double operations,
    each within a few 2**-53. Raises DataError unless 0 < delta < 1.

    >>> round(epsilon_of(Rho.at_most(0.02), 1e-6), 6)
    0.899935
    """
    if not 0 < delta < 1:
        raise DataError(f"delta lies strictly between 0 and 1, not {delta}")
    if rho.nano == 0:
        return 0.0
    r, log_inverse = rho.value, -math.log(delta)
    low, high = 0.0, math.sqrt(log_inverse / r)
    for _ in range(60):
        u = (low + high) / 2
        low, high = (u, high) if r * u * u + math.log1p(u) < log_inverse else (low, u)
    u = max(high, 1e-9)
    terms = ((1 + u) * r, math.log(u), -math.log1p(u), log_inverse / u, -math.log1p(u) / u)
    return max(0.0, math.fsum(terms) + 2.0**-45 * math.fsum(map(abs, terms)))


def rho_of(epsilon: float, delta: float) -> Rho:
    """Returns the most rho, in whole nanos, that is (epsilon, delta)-DP: rounded down.

    A bisection returns only a rho that it tried: `epsilon_of(rho_of(e, d), d) <= e` always holds.

    >>> rho_of(1.0, 1e-6)
    Rho(nano=24355970)
    """
    if not 0 < epsilon < math.inf:
        raise DataError(f"epsilon is a positive finite number, not {epsilon}")
    return Rho(bisect_right(range(MAX_NANO), epsilon, key=lambda n: epsilon_of(Rho(n), delta)) - 1)
