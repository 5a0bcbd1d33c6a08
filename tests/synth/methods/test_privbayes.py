"""Networks: the parents that matter are found, within what is useful; tables agree."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.fake_gate import FakeGate
from support.synth_tables import contract

from sqlpriv.kernel.terms.budget import Rho, rho_of
from sqlpriv.kernel.terms.contract import Categories
from sqlpriv.synth.methods import privbayes
from sqlpriv.synth.models.bayesian_network import NetworkModel, NetworkNode
from sqlpriv.synth.synthesis import prepare, synthesize

NAMES = ("a", "b", "c", "d")
TABLE = contract({n: ("INTEGER", Categories((0, 1, 2))) for n in (*NAMES, "s")})


def people(rows: int, seed: int = 0) -> dict[str, list[int]]:
    """c is (a + b) mod 3, which needs two parents; d copies c in stratum 0, a in the others."""
    rng = np.random.default_rng(seed)
    a, b, s = rng.integers(0, 3, (3, rows))
    c = (a + b) % 3
    d = np.where(s == 0, c, a)
    return {n: v.tolist() for n, v in (("a", a), ("b", b), ("c", c), ("d", d), ("s", s))}


def made(data, price, strata=(), **options):
    job = prepare(TABLE, NAMES, strata, None, "privbayes", options, price)
    gate = FakeGate(data, TABLE, price)
    return gate, synthesize(job, gate).table


def held(table, inside=None):
    a, b, c, d = (table[n].to_numpy() for n in NAMES)
    inside = np.ones(a.size, dtype=bool) if inside is None else inside
    return np.mean((c == (a + b) % 3)[inside]), np.mean((d == c)[inside]), np.mean((d == a)[inside])


def test_two_parents_are_found_where_one_says_nothing():
    """Of one parent c is independent: with degree 1 the parity is lost (1/3), with 2 it is kept."""
    data = people(6_000)
    assert held(made(data, rho_of(2.0, 1e-9))[1])[0] > 0.9
    assert held(made(data, rho_of(2.0, 1e-9), degree=1)[1])[0] < 0.5


def test_each_stratum_has_its_own_network():
    gate, table = made(people(12_000), rho_of(3.0, 1e-9), ("s",))
    s = table["s"].to_numpy()
    assert held(table, s == 0)[1] > 0.9
    assert held(table, s == 1)[2] > 0.9
    widest = [m for m in gate.asked if m.query.within is not None]
    assert widest, "strata chose differently"
    rounds = [len(c) for c in gate.choices]
    assert rounds == [3] * 3  # d - 1 rounds, one choice per stratum each


def test_a_small_stratum_takes_no_useless_parents():
    """90 people, sigma about 20: a three-way table of 27 cells would hold 3 people a cell."""
    gate, _ = made(people(90), rho_of(0.5, 1e-9))
    assert max(len(m.query.keys) for m in gate.asked) == 2


def test_rounds_repeat_no_work(monkeypatch):
    """Of 100 columns every pair was scored in each of 99 rounds, and the expected counts of a set
    of parents were counted anew each time: 66 processor seconds, of which 12 are left. Four columns
    have six pairs and four triples, of which six have one column that is not placed, in either of
    the rounds that follow the first."""
    competitors, counted, choose = [], [], FakeGate.choose
    flat = privbayes.flat

    def compete(gate, candidates, price, allowed):
        competitors.append(len(candidates))
        return choose(gate, candidates, price, allowed)

    def count(drawn, columns, sizes):
        counted.append(columns)
        return flat(drawn, columns, sizes)

    monkeypatch.setattr(FakeGate, "choose", compete)
    monkeypatch.setattr(privbayes, "flat", count)
    made(people(6_000), rho_of(2.0, 1e-9))
    assert competitors == [10, 6, 6]
    assert counted
    assert len(counted) == len(set(counted))


def test_the_score_is_the_distance_from_independence_less_the_noise():
    drawn = np.array([[0, 0], [0, 0], [1, 0], [1, 0]])
    shares = {0: np.array([0.5, 0.5]), 1: np.array([0.25, 0.75])}
    stratum = privbayes._Stratum(8.0, shares, drawn, [NetworkNode(0, (), np.array([[4.0, 4.0]]))])
    guess = privbayes._guess((0, 1), [stratum], (2, 2), 3.0)
    assert guess.estimate[0] == pytest.approx(np.array([[1.0, 3.0], [1.0, 3.0]]))
    assert guess.penalty == pytest.approx([math.sqrt(2 / math.pi) * 3.0 * 4])


@pytest.mark.parametrize("seed", range(5))
def test_consistent_tables_are_nearer_than_noisy_ones(seed):
    """No cell is negative, the levels have their margin; a table that has it is left as it is."""
    rng = np.random.default_rng(seed)
    exact = rng.poisson(30, (6, 4)).astype(float)
    noisy = exact + rng.normal(0, 20, exact.shape)
    found = privbayes.consistent(noisy, exact.sum(axis=0))
    assert (found >= 0).all()
    assert found.sum(axis=0) == pytest.approx(exact.sum(axis=0))
    assert privbayes.consistent(exact, exact.sum(axis=0)) == pytest.approx(exact)
    assert np.abs(found - exact).sum() < np.abs(noisy - exact).sum()


def test_rows_of_nobody_take_the_columns_margin():
    found = privbayes.consistent(np.array([[-9.0, -9.0], [1.0, 3.0]]), np.array([1.0, 3.0]))
    assert found == pytest.approx(np.array([[1.0, 3.0], [1.0, 3.0]]))
    model = NetworkModel(
        (NetworkNode(0, (), np.array([[0.0, 9.0]])), NetworkNode(1, (0,), found)), 9.0
    )
    drawn = model.sample((2, 2), 400, np.random.default_rng(0))
    assert (drawn[:, 0] == 1).all()
    assert drawn[:, 1].mean() == pytest.approx(0.75, abs=0.01)


def test_no_parents_are_left_to_choose_in_one_column():
    job = prepare(TABLE, ("a",), (), None, "privbayes", {}, Rho(10**9))
    assert [p.name for p in job.phases()] == ["one-way marginals"]
