"""How many columns `hdmm` takes: what its refusal says is taken."""

from __future__ import annotations

import re

import pytest

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.synth.api.method import Space
from sqlpriv.synth.methods.batches.hdmm import measured_marginals


@pytest.mark.parametrize("degree", [2, 3])
def test_the_refusal_names_the_most_columns_that_are_taken(degree: int) -> None:
    price = Rho(10**9)
    with pytest.raises(Refused) as refused:
        measured_marginals(Space((2,) * 60), price, degree)
    hint = str(refused.value.hint)
    assert ("degree = 2" in hint) == (degree == 3)
    match = re.search(r"select (\d+) columns at most", hint)
    assert match
    most = int(match[1])
    assert measured_marginals(Space((2,) * most), price, degree)
    with pytest.raises(Refused):
        measured_marginals(Space((2,) * (most + 1)), price, degree)
