"""Prices are exact; conversions are tight and err toward privacy only."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest
from dp_accounting import rdp
from hypothesis import given
from hypothesis import strategies as st

from sqlpriv.errors import DataError, DeclarationError
from sqlpriv.kernel.terms.budget import KINDS, MAX_NANO, Budget, Epsilon, Rho, epsilon_of, rho_of
from sqlpriv.plan.pricing.display import epsilon_shown
from sqlpriv.plan.pricing.statement import price_of
from sqlpriv.session.declarations.budgets import budget_at

DELTAS = (1e-15, 1e-9, 1e-6, 1e-3, 0.3, 0.9)


def least_delta(rho: float, epsilon: float) -> Decimal:
    """The infimum over alpha in Canonne-Kamath-Steinke's Corollary 13, with 60 digits."""
    with localcontext(prec=60):
        r, e = Decimal(rho), Decimal(epsilon)

        def log_delta(log_u: Decimal) -> Decimal:
            u = log_u.exp()
            return u * ((1 + u) * r - e) - u.ln() + (1 + u) * (u / (1 + u)).ln()

        low, high = Decimal(-25), Decimal(25)
        for _ in range(90):  # ternary search: the logarithm of delta has one minimum
            a, b = low + (high - low) / 3, high - (high - low) / 3
            low, high = (low, b) if log_delta(a) < log_delta(b) else (a, high)
        return log_delta(low).exp()


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("rho", [1e-6, 1e-3, 0.1, 1.0, 30.0, 1e4])
def test_epsilon_is_true_and_tight(rho: float, delta: float) -> None:
    epsilon = epsilon_of(Rho.at_most(rho), delta)
    assert least_delta(rho, epsilon) <= Decimal(delta)
    if epsilon > 0:  # a hair less would be a lie
        assert least_delta(rho, epsilon * (1 - 1e-9)) > Decimal(delta)


@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("rho", [1e-6, 1e-3, 0.015, 0.12, 1.0, 10.0, 100.0])
def test_epsilon_agrees_with_dp_accounting(rho: float, delta: float) -> None:
    orders = 1 + np.geomspace(0.02, 1e6, 20_000)  # its own orders miss the optimum for small rho
    accountant = rdp.RdpAccountant(orders=orders)
    accountant.compose(dp_accounting.ZCDpEvent(rho))
    theirs = accountant.get_epsilon(delta)
    assert theirs * (1 - 1e-5) <= epsilon_of(Rho.at_most(rho), delta) <= theirs * 1.01


@given(st.floats(1e-2, 1e6), st.floats(1e-15, 0.999))
def test_rho_of_never_buys_too_much_and_wastes_under_a_nano(epsilon: float, delta: float) -> None:
    rho = rho_of(epsilon, delta)
    assert epsilon_of(rho, delta) <= epsilon
    assert epsilon_of(Rho(rho.nano + 1), delta) > epsilon


@given(st.integers(0, 10**12), st.integers(1, 10**12), st.sampled_from(DELTAS))
def test_epsilon_grows_with_rho_and_shrinks_with_delta(nano: int, more: int, delta: float) -> None:
    assert epsilon_of(Rho(nano), delta) <= epsilon_of(Rho(nano + more), delta)
    assert epsilon_of(Rho(nano), delta) <= epsilon_of(Rho(nano), delta / 2)


def test_nothing_costs_nothing() -> None:
    assert epsilon_of(Rho(0), 1e-9) == 0.0
    assert epsilon_shown(Epsilon(0), 0.0) == 0.0


@given(st.floats(0, 1e8) | st.fractions(0, 10**8))
def test_rounding_is_down_and_by_less_than_a_nano(amount: float | Fraction) -> None:
    low = Rho.at_most(amount)
    written = amount if isinstance(amount, Fraction) else Fraction(repr(amount))
    assert low.nano <= written * 10**9 < low.nano + 1
    assert low.value <= amount or isinstance(amount, Fraction)


def test_a_decimal_is_read_as_it_was_written() -> None:
    assert Epsilon.at_most(0.3) == Epsilon(300_000_000)
    assert Epsilon.at_most(1e-10) == Epsilon(0) < Epsilon.at_most(1e-9) == Epsilon(1)


def test_the_two_kinds_do_not_mix() -> None:
    with pytest.raises(TypeError):
        assert Rho(1) < Epsilon(2)
    assert Rho(1) != Epsilon(1)
    assert {kind: one(1).kind for kind, one in KINDS.items()} == {k: k for k in KINDS}


@pytest.mark.parametrize("nano", [-1, MAX_NANO + 1, 1.0, True])
def test_an_amount_is_a_whole_number_in_range(nano: int) -> None:
    with pytest.raises(DataError):
        Rho(nano)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0])
def test_amounts_and_epsilons_must_be_numbers(bad: float) -> None:
    for convert in (Rho.at_most, lambda e: rho_of(e, 1e-9)):
        with pytest.raises(DataError):
            convert(bad)
    with pytest.raises(DataError):
        budget_at("people", bad, 1e-9)
    with pytest.raises(DataError):
        budget_at("people", bad)


@pytest.mark.parametrize("delta", [-1e-9, 1.0, 2.0, math.nan])
def test_delta_lies_between_zero_and_one(delta: float) -> None:
    with pytest.raises(DataError):
        epsilon_of(Rho(1), delta)
    with pytest.raises(DeclarationError):
        Budget("people", Rho(1), delta)
    with pytest.raises((DataError, DeclarationError)):
        budget_at("people", 1.0, delta)


def test_budgets() -> None:
    zcdp, pure = budget_at("people", 3, 1e-9), budget_at("people", 3)
    assert (zcdp.total.kind, pure.total.kind) == ("zcdp", "pure")
    assert zcdp.total == rho_of(3, 1e-9) == Rho(120_582_428)
    assert pure.total == Epsilon(3 * 10**9)
    assert price_of(zcdp, 0.5) == rho_of(0.5, 1e-9)
    assert price_of(pure, 0.5) == Epsilon(5 * 10**8)
    assert epsilon_shown(zcdp.total, 1e-9) == pytest.approx(3, rel=1e-7)
    for wrong in ((Rho(1), 0.0), (Epsilon(1), 1e-9), (Rho(0), 1e-9), (Epsilon(0), 0.0)):
        with pytest.raises(DeclarationError):
            Budget("people", *wrong)


def test_an_epsilon_that_buys_nothing_is_refused() -> None:
    for budget in (budget_at("people", 1, 1e-9), budget_at("people", 1)):
        with pytest.raises(DataError, match="too small"):
            price_of(budget, 1e-12)
