"""A price that is divided is neither lost nor made."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlpriv.errors import DataError
from sqlpriv.kernel.terms.budget import Epsilon, Rho
from sqlpriv.plan.pricing.split import split_price


@given(
    st.integers(100, 10**18),
    st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20),
    st.sampled_from([Rho, Epsilon]),
)
def test_shares_add_up_and_keep_proportion(nano: int, weights: list[float], kind: type) -> None:
    shares = split_price(kind(nano), weights)
    assert sum(share.nano for share in shares) == nano
    total = sum(map(Fraction, weights))
    for share, weight in zip(shares, weights, strict=True):
        assert isinstance(share, kind)
        assert share.nano >= 1
        assert abs(share.nano - nano * Fraction(weight) / total) <= len(weights)


@pytest.mark.parametrize(
    "weights", [[], [1.0, 0.0], [1.0, -1.0], [math.nan], [math.inf], [1.0] * 4]
)
def test_shares_that_cannot_be(weights: list[float]) -> None:
    with pytest.raises(DataError):
        split_price(Rho(3), weights)
