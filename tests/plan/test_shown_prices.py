"""What a price is shown as: never less than what is lost, and what somebody would write."""

import random

import pytest

from sqlpriv.kernel.terms.budget import Epsilon, Rho, epsilon_of, rho_of
from sqlpriv.plan.pricing.display import epsilon_shown


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-5])
@pytest.mark.parametrize("epsilon", [0.01, 0.05, 0.1, 0.25, 0.3, 0.4567, 1.0, 3.0, 10.0])
def test_a_price_is_shown_as_it_was_written(epsilon: float, delta: float) -> None:
    """0.1 was shown as 0.0999998: rho is rounded down to a nano."""
    assert epsilon_shown(rho_of(epsilon, delta), delta) == epsilon
    assert epsilon_shown(Epsilon.at_most(epsilon), 0.0) == epsilon


def test_no_loss_is_shown_as_less_and_what_is_shown_buys_it() -> None:
    chance = random.Random(5)
    for nano in [0, 1, 2, 10**18, *(int(10 ** chance.uniform(0, 12)) for _ in range(300))]:
        shown = epsilon_shown(Rho(nano), 1e-9)
        assert shown >= epsilon_of(Rho(nano), 1e-9)
        assert nano in (0, 10**18) or rho_of(shown, 1e-9).nano == nano
