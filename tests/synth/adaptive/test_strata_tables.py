"""Tables of columns by strata say of a column inside strata what a look says."""

from __future__ import annotations

import numpy as np
import pytest

from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.kernel.terms.release import Release
from sqlpriv.synth.adaptive.joint.strata_tables import tables_inside


def release(number: int, values: np.ndarray, sigma: float) -> Release:
    return Release(number, None, values, sigma, Rho(1))


def test_a_table_by_strata_is_a_look_with_the_noise_of_its_sums() -> None:
    """Columns of 2 and 3 levels and strata of 1 by 2: the look at the first column has variance 4,
    its table by the second column and strata has 4 / 3 in a cell and so 4 in a sum of three. The
    twins: a table without strata, and the same release once more, change nothing."""
    looks = {0: release(1, np.array([[10.0, 0.0], [0.0, 20.0]]), 2.0)}
    table = np.arange(12.0).reshape(1, 2, 3, 2)  # columns 0 and 1, strata's column 3
    by_strata = release(2, table, 2 / np.sqrt(3))
    summed = table[0].sum(axis=1).T
    for answers in ([((0, 1, 3), by_strata)], [((0, 1, 3), by_strata)] * 2):
        values, sigmas = tables_inside(looks, answers, (1, 2), 2)
        assert values[0] == pytest.approx((looks[0].values + summed) / 2)
        assert sigmas[0] == pytest.approx(np.sqrt(2))
    untold, sigmas = tables_inside(
        looks, [((0, 1), release(3, np.ones((1, 2, 3)), 1.0))], (1, 2), 2
    )
    assert (untold[0] == looks[0].values).all()
    assert sigmas[0] == 2.0
