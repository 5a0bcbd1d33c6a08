"""Multiplicative weights: worst marginals first, each once, errors of all that is known go down."""

from __future__ import annotations

import numpy as np
import pytest
from support.fake_gate import FakeGate
from support.synth_tables import contract

from sqlpriv.kernel.terms.budget import Rho, rho_of
from sqlpriv.kernel.terms.contract import Categories
from sqlpriv.synth.api.ask import Known
from sqlpriv.synth.methods.pmw import Weights, workload
from sqlpriv.synth.synthesis import prepare, synthesize

NAMES = ("a", "b", "c", "d")
TABLE = contract({n: ("INTEGER", Categories((0, 1, 2))) for n in (*NAMES, "s")})


def people(rows: int, seed: int = 0) -> dict[str, list[int]]:
    """c is (a + b) mod 3; d follows a in stratum 0, b in the others."""
    rng = np.random.default_rng(seed)
    a, b, s = rng.integers(0, 3, (3, rows))
    d = np.where(s == 0, a, b)
    columns = {"a": a, "b": b, "c": (a + b) % 3, "d": d, "s": s}
    return {n: v.tolist() for n, v in columns.items()}


def made(price, strata=(), rows=3_000, **options):
    job = prepare(TABLE, NAMES, strata, None, "pmw", options, price)
    gate = FakeGate(people(rows), TABLE, price)
    return gate, synthesize(job, gate).table


def test_the_interaction_that_matters_is_measured_first():
    """Of the marginals only those with a, b and c are far from independent, and (a or b, d)."""
    gate, table = made(rho_of(2.0, 1e-9))
    a, b, c = (table[n].to_numpy() for n in "abc")
    assert np.mean(c == (a + b) % 3) > 0.9
    first = workload((3, 3, 3, 3), 3)[gate.choices[0][0]]
    assert first in ((0, 1, 2), (0, 2, 3), (1, 2, 3))
    assert made(rho_of(2.0, 1e-9), degree=2)[0].choices != gate.choices


def test_a_marginal_is_measured_once_in_a_stratum_and_strata_differ():
    gate, table = made(rho_of(4.0, 1e-9), ("s",), rows=9_000, rounds=50)
    for stratum in zip(*gate.choices, strict=True):
        assert len(set(stratum)) == len(stratum) == 10  # all of six pairs and four triples
    s, a, b, d = (table[n].to_numpy() for n in ("s", "a", "b", "d"))
    assert np.mean((d == a)[s == 0]) > 0.9
    assert np.mean((d == b)[s == 1]) > 0.9


def test_descending_reaches_what_is_known_where_it_agrees():
    rng = np.random.default_rng(0)
    exact = rng.dirichlet(np.ones(12)).reshape(3, 4) * 100
    known = [Known((0,), exact.sum(axis=1), 1.0), Known((1,), exact.sum(axis=0), 1.0)]
    weights = Weights((0, 1), (3, 4), 100.0, known)
    before = np.abs(weights.table - exact).sum()
    weights.known.append(Known((0, 1), exact, 1.0))
    weights.descend(500)
    assert np.abs(weights.table - exact).sum() < 0.02 * before
    assert weights.table.sum() == pytest.approx(100)
    assert (weights.table >= 0).all()


def test_an_error_is_never_made_worse():
    """Contradicting measurements: the loss after each call is at most the loss before."""
    rng = np.random.default_rng(1)
    known = [Known(c, rng.normal(30, 20, 3), 20.0) for c in ((0,), (1,))]
    weights = Weights((0, 1), (3, 3), 90.0, known)
    weights.known.append(Known((0, 1), rng.normal(10, 20, (3, 3)), 5.0))
    losses = []
    for _ in range(20):
        losses.append(weights._errors(weights.table)[0])
        weights.descend(5)
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


def test_one_column_has_nothing_to_choose():
    job = prepare(TABLE, ("a",), (), None, "pmw", {}, Rho(10**9))
    assert [p.name for p in job.phases()] == ["one-way marginals"]
