"""What a statement would cost, before it is paid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlpriv.errors import BudgetExhausted
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.plan.pricing.display import epsilon_shown


@dataclass(frozen=True)
class Charge:
    """What one budget would pay.

    Args:
        unit_table: The table of units whose budget it is.
        price: The amount, of the budget's kind (rho, or pure epsilon).
        left: The most that may still be charged for such rows: of the budget, and of the ceiling
            of who asks where there is one.
        delta: The delta at which amounts are shown as an epsilon.
    """

    unit_table: str
    price: Price
    left: Price
    delta: float

    @property
    def epsilon(self) -> float:
        """The price as an epsilon."""
        return epsilon_shown(self.price, self.delta)

    @property
    def epsilon_left(self) -> float:
        """What is left before the statement, as an epsilon."""
        return epsilon_shown(self.left, self.delta)


@dataclass(frozen=True)
class Quote:
    """What a statement would cost, of whose budget, and how sure its outputs would be.

    Args:
        charges: One for each budget that pays; none where the statement is free.
        expected_errors: Output → the half-width of its 95 % interval in one cell, in the output's
            units; None where it is not known beforehand.

    >>> from sqlpriv.kernel.terms.budget import Epsilon
    >>> quote = Quote((Charge("people", Epsilon(2 * 10**8), Epsilon(10**9), 0.0),))
    >>> quote.epsilon, quote.is_covered
    (0.2, True)
    """

    charges: tuple[Charge, ...] = ()
    expected_errors: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def epsilon(self) -> float:
        """The price as an epsilon, over all budgets that pay."""
        return sum(charge.epsilon for charge in self.charges)

    @property
    def is_covered(self) -> bool:
        """Whether every budget has that much left."""
        return not self._uncovered

    def check_covered(self) -> None:
        """Raises BudgetExhausted where a budget has less left than the statement costs."""
        charge = next(iter(self._uncovered), None)
        if charge is not None:
            raise BudgetExhausted(
                f"costs epsilon = {charge.epsilon:.6g} of {charge.unit_table} but epsilon ="
                f" {charge.epsilon_left:.6g} is left; nothing was read or charged"
            )

    @property
    def _uncovered(self) -> list[Charge]:
        return [charge for charge in self.charges if charge.price.nano > charge.left.nano]
