"""What strata cost the population's figure: the variance of two independent figures combined."""

from __future__ import annotations

import pytest

from sqlpriv.kernel.terms.budget import Epsilon, Rho
from sqlpriv.plan.aggregates import cost_of_strata as s


@pytest.mark.parametrize(("price", "power"), [(Rho, 1), (Epsilon, 2)])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_the_cost_is_that_of_two_independent_figures(price: type, power: int, share: float) -> None:
    """A figure bought with the part f of the price has the variance f^-power of one with all."""
    variances = [12 * (1 - share) ** -power] + ([share**-power] if share else [])
    together = 1 / sum(1 / v for v in variances)
    assert s.population_cost(12, price, share) == pytest.approx(together**0.5)
    assert s.stratum_cost(price, share) == pytest.approx((variances[0] / 12) ** 0.5)
