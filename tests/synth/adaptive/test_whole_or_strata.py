"""Whether strata are one model follows from how far they are seen to be apart."""

from __future__ import annotations

import numpy as np
import pytest
from support.fake_gate import FakeGate
from support.vaults import contract

from sqlpriv.kernel.terms.budget import rho_of
from sqlpriv.kernel.terms.contract import Categories
from sqlpriv.synth.synthesis import prepare, synthesize

NAMES, STRATA, LEVELS, ROWS = ("a", "b", "c", "d", "e", "f"), 8, 8, 20_000
COLUMNS = ("s", *NAMES)
TABLE = contract(
    dict.fromkeys(COLUMNS, "INTEGER"),
    {name: Categories(tuple(range(LEVELS))) for name in NAMES}
    | {"s": Categories(tuple(range(STRATA)))},
)


def is_one_model(moved: float, method: str) -> bool:
    """Returns whether everybody's pairs are counted, of strata whose columns' means are moved by so
    many standard deviations, at epsilon = 1."""
    rng = np.random.default_rng(3)
    stratum = np.arange(ROWS) % STRATA
    rows = {"s": stratum.tolist()}
    for name in NAMES:
        values = rng.normal(0, 1, ROWS) + moved * rng.normal(0, 1, STRATA)[stratum]
        rows[name] = (
            np.clip(np.floor(values * 1.5 + LEVELS / 2), 0, LEVELS - 1).astype(int).tolist()
        )
    job = prepare(TABLE, COLUMNS, ("s",), None, method, {}, rho_of(1.0, 1e-9))
    assert job.method.one_model is not None
    assert job.method.one_model(ROWS, job.parts[1], job.space, job.options), "by sizes alone"
    gate = FakeGate(rows, TABLE, job.price)
    synthesize(job, gate)
    assert gate.spent == job.price.nano
    return any(not m.query.strata for m in gate.tables)


@pytest.mark.parametrize("method", ["mst", "privbayes"])
def test_strata_far_apart_are_fitted_by_themselves_where_sizes_would_make_them_one(
    method: str,
) -> None:
    """Eight strata of 2,500 rows; the twin, strata that are alike, are one model."""
    assert not is_one_model(1.5, method)
    assert is_one_model(0.0, method)
