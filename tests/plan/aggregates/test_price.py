"""The price of a statement and its split."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.exact_people import BUDGET, PEOPLE, PURE, planned, select

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.budget import Budget, Epsilon, Price, Rho
from sqlpriv.plan.aggregates.price_shares import error_terms, row_effect
from sqlpriv.plan.plan import Plan
from sqlpriv.plan.planner import plan
from sqlpriv.plan.pricing.statement import price_of

pytestmark = pytest.mark.usefixtures("narrow_means_are_plain")

OUTPUTS = [
    "COUNT(*)",
    "COUNT(hours)",
    "SUM(income)",
    "SUM(debt)",
    "AVG(income)",
    "AVG(hours)",
    "VARIANCE(income)",
    "STDDEV(age)",
    "SUM(7)",
]


def _planned(outputs: list[str], budget: Budget = BUDGET) -> Plan:
    sql = f"SELECT {', '.join(outputs)} FROM people STRATIFY BY sex"
    return planned(sql, budget)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(OUTPUTS), min_size=1), st.sampled_from([BUDGET, PURE]))
def test_the_shares_add_up_to_the_price(outputs: list[str], budget: Budget) -> None:
    found = _planned(outputs, budget)
    assert sum(m.price.nano for m in found.measurements) == found.price.nano
    assert found.price == price_of(budget, 0.5)
    assert all(m.price.nano > 0 for m in found.measurements)


def _loss(found: Plan, shares: np.ndarray, price: Price) -> float:
    """The length of the outputs' squared relative errors that these shares would give."""
    paid, of = error_terms(found.output.recipes)
    assert [m.query for m in found.measurements] == paid
    return float(np.linalg.norm((of / shares ** (1 if isinstance(price, Rho) else 2)).sum(axis=1)))


@pytest.mark.parametrize("budget", [BUDGET, PURE], ids=["zcdp", "pure"])
def test_no_other_split_has_a_smaller_error(budget: Budget) -> None:
    found = _planned(["COUNT(*)", "AVG(income)", "SUM(debt)", "VARIANCE(age)"], budget)
    shares = np.array([float(m.price.nano) for m in found.measurements])
    best, rng = _loss(found, shares, found.price), np.random.default_rng(5)
    for _ in range(200):
        other = shares * np.exp(rng.normal(0, 0.2, shares.shape))
        assert _loss(found, other * shares.sum() / other.sum(), found.price) > best
    even = np.full_like(shares, shares.mean())
    assert _loss(found, even, found.price) > 1.02 * best


def test_what_errs_most_gets_more_than_it_does_where_errors_are_added_up() -> None:
    """Least for the sum of errors: ε ∝ 2, 3/4, 3/4 to the power of a third. Its sum errs most."""
    found = _planned(["COUNT(*)", "AVG(age)", "SUM(income)"], PURE)
    paid, of = error_terms(found.output.recipes)
    added = of.sum(axis=0) ** (1 / 3)
    got = np.array([float(m.price.nano) for m in found.measurements])
    ratio = got / got.sum() / (added / added.sum())
    count, mean, total = (of / got**2).sum(axis=1)
    assert count < mean < total
    assert ratio[paid.index(found.output.recipes[2].total)] > 1.03
    assert ratio[paid.index(found.output.recipes[0].count)] < 0.98


def test_the_coefficients_are_the_derivatives_at_a_typical_cell() -> None:
    """AVG = 500 + S / N at S / N = 1000 / √12: the docstring's coefficients, by differences."""
    found = _planned(["AVG(income)"])
    paid, (of,) = error_terms(found.output.recipes)
    weights, (count, total) = dict(zip(paid, of, strict=True)), paid
    n, s, h = 1e4, 1e4 * 1000 / 12**0.5, 1e-3
    size = (500**2 + 1000**2 / 12) ** 0.5
    by_n = (s / (n + h) - s / (n - h)) / (2 * h) * n / size
    by_s = 1 / size
    assert weights[count] == pytest.approx(by_n**2, rel=1e-6)
    assert weights[total] == pytest.approx((by_s * row_effect(total)) ** 2, rel=1e-6)


def test_a_statement_s_own_price_goes_before_the_session_s() -> None:
    own = planned("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.2) COUNT(*) FROM people")
    assert own.price == price_of(BUDGET, 0.2)
    rho = planned("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.01) COUNT(*) FROM people")
    assert rho.price == Rho(10_000_000)
    assert _planned(["COUNT(*)"], PURE).price == Epsilon(500_000_000)


@pytest.mark.parametrize(
    ("options", "budget", "session", "message"),
    [
        ("", BUDGET, None, "has no price"),
        ("OPTIONS (rho = 0.1)", PURE, 0.5, "pure epsilon"),
        ("OPTIONS (rho = 0.0000000001)", BUDGET, 0.5, "too small"),
        ("", BUDGET, -1.0, "positive"),
        ("OPTIONS (epsilon = 0.000000001)", PURE, None, "too small for 2 shares"),
    ],
)
def test_a_price_that_cannot_be_is_refused(
    options: str, budget: Budget, session: float | None, message: str
) -> None:
    sql = f"SELECT WITH DIFFERENTIAL_PRIVACY {options} COUNT(*), AVG(income) FROM people"
    with pytest.raises(Refused, match=message) as caught:
        plan(select(sql), PEOPLE, budget, session)
    assert caught.value.hint


def test_the_refusal_tells_both_ways_to_give_a_price() -> None:
    with pytest.raises(Refused) as caught:
        plan(select("SELECT COUNT(*) FROM people STRATIFY BY sex"), PEOPLE, BUDGET, None)
    assert "OPTIONS (epsilon = " in str(caught.value)
    assert "SET privacy_epsilon" in str(caught.value)
