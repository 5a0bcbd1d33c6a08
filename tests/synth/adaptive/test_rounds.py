"""AIM and MWEM: what they ask, what they pay, and that they find what matters."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from support.fake_gate import FakeGate
from support.pairwise_rows import NAMES, dependence, pairwise, table

from sqlpriv.errors import BudgetExhausted, DataError, Refused
from sqlpriv.kernel.terms.budget import Epsilon, Price, Rho
from sqlpriv.synth.adaptive import rounds
from sqlpriv.synth.explained_steps import steps
from sqlpriv.synth.quality.measured_error import price_parts
from sqlpriv.synth.synthesis import prepare, synthesize

METHODS = ("aim", "mwem")


def run(method: str, price: Price, strata=(), data=None, made=None, **options):
    made = made or table()
    job = prepare(made, NAMES, strata, None, method, options, price)
    gate = FakeGate(data or pairwise(), made, price)
    return job, gate, synthesize(job, gate)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("strata", [(), ("s",)])
@pytest.mark.parametrize("bounds", [{}, {"groups_per_unit": 2}, {"rows_per_unit": 3}])
@pytest.mark.parametrize("price", [Rho(10**9), Rho(1_234_567), Rho(301), Epsilon(10**9 + 1)])
@pytest.mark.parametrize("columns", [NAMES, NAMES[:2], NAMES[:1], ()])
def test_the_charge_is_the_price_to_the_nano(method, price, strata, bounds, columns):
    made = table(**bounds)
    try:
        job = prepare(made, columns or ("s",), strata, None, method, {}, price)
    except DataError:
        assert price.nano < 1000
        return
    gate = FakeGate(pairwise(200), made, price)
    out = synthesize(job, gate)
    assert gate.spent == price.nano
    assert sum(step.price.nano for step in steps(job)) == price.nano
    assert out.table.column_names == list(job.domain.output)


@pytest.mark.parametrize("method", METHODS)
def test_every_stratum_pays_the_same(method):
    """What each has spent adds up to the price, though they ask for different things."""
    options = {"pooling": 0} if method == "aim" else {}
    _, gate, _ = run(method, Rho(10**8), strata=("s",), **options)
    (losses,) = (x for (_, strata), x in gate._losses.items() if strata)
    left = price_parts(Rho(10**8))[1].nano  # the rest measures the error of all strata together
    assert losses == [left, left]


@pytest.mark.parametrize("method", METHODS)
def test_a_gate_with_a_nano_less_refuses(method):
    job = prepare(table(), NAMES, (), None, method, {}, Rho(10**8))
    with pytest.raises(BudgetExhausted):
        synthesize(job, FakeGate(pairwise(50), table(), Rho(10**8 - 1)))


@pytest.mark.parametrize("method", METHODS)
def test_they_keep_what_independent_loses_in_each_stratum(method):
    """In stratum s = 0, b follows a; in s = 1 it follows e. Total variation from independence."""
    _, gate, out = run(method, Rho(10**8), strata=("s",))
    parts = [out.table.filter(np.asarray(out.table["s"]) == s) for s in (0, 1)]
    assert dependence(parts[0], "a", "b") > 0.5
    assert dependence(parts[0], "b", "e") < 0.1
    assert dependence(parts[1], "b", "e") > 0.5
    assert dependence(out.table, "c", "d") > 0.5
    assert any(m.query.within == (0,) for m in gate.asked)


def test_aim_measures_at_rising_prices_and_nothing_twice():
    """No stratum is measured in one clique again for less: the gate would repeat its answer."""
    _, gate, _ = run("aim", Rho(10**8), strata=("s",), pooling=0)
    paid: dict[tuple[object, int], int] = Counter()
    last = [0, 0]
    for m in gate.tables:
        for s in m.query.within or (0, 1):
            assert m.price.nano > paid[m.query.keys, s]
            paid[m.query.keys, s] = m.price.nano
            last[s] = m.price.nano
    first = gate.asked[0].price.nano
    assert len(gate.asked) < 60
    assert min(last) > 4 * first


@pytest.mark.parametrize("method", METHODS)
def test_junction_trees_stay_within_their_cells(method, monkeypatch):
    """All five columns depend on each other; 4^5 cells would hold them, 100 may be used."""
    rng = np.random.default_rng(1)
    base = rng.integers(0, 4, 3_000)
    data = {n: np.where(rng.random(3_000) < 0.7, base, rng.integers(0, 4, 3_000)) for n in NAMES}
    data["s"] = base % 2
    seen = []
    real = rounds.engines.CLIQUE_ENGINES["numpy"]

    def watched(*args):
        model = real(*args)
        seen.append(sum(belief.size for belief in model.beliefs))
        return model

    monkeypatch.setitem(rounds.engines.CLIQUE_ENGINES, "numpy", watched)
    columns = {n: x.tolist() for n, x in data.items()}
    run(method, Rho(10**9), data=columns, cells=100)
    assert max(seen) <= 100
    run(method, Rho(10**9), data=columns, cells=2000, degree=3)
    assert max(seen) > 100


def test_three_columns_that_are_independent_two_by_two():
    """c = a xor b: only the marginal of all three shows it, and AIM's workload has it."""
    rng = np.random.default_rng(2)
    data = {n: rng.integers(0, 2, 4_000) for n in ("a", "b", "d", "e", "s")}
    data["c"] = data["a"] ^ data["b"]
    _, _, out = run("aim", Rho(10**7), data={n: x.tolist() for n, x in data.items()})
    a, b, c = (out.table[n].to_numpy() for n in "abc")
    assert np.mean(c == a ^ b) > 0.9


def test_weights_are_those_of_the_workload():
    """|r and s| added up over all triples s of five columns, as a share of the largest."""
    found = rounds.closure(range(5), 3)
    triples = list(itertools.combinations(range(5), 3))
    exact = {r: sum(len({*r} & {*s}) for s in triples) for r in found}
    assert found == pytest.approx({r: n / max(exact.values()) for r, n in exact.items()})


@pytest.mark.parametrize("value", [1, -0.1, 1.5, "always", True])
def test_a_share_is_below_one(value):
    with pytest.raises(Refused, match="share"):
        prepare(table(), NAMES, ("s",), None, "aim", {"pooling": value}, Rho(10**9))


def test_of_many_columns_only_pairs_compete():
    assert max(map(len, rounds.closure(range(14), 3))) == 3
    assert max(map(len, rounds.closure(range(35), 3))) == 2
    assert max(map(len, rounds.closure(range(200), 4))) == 2


@pytest.mark.whole
@pytest.mark.parametrize("method", METHODS)
def test_the_engines_agree(method):
    """With (almost) no noise and the same choices both reproduce the counts of every pair."""
    shares = []
    for engine in ("numpy", "mbi"):
        made = table()
        job = prepare(made, NAMES[:3], (), None, method, {"engine": engine}, Rho(10**12))
        out = synthesize(job, FakeGate(pairwise(1_000), made, Rho(10**12))).table
        pair = np.zeros((4, 4))
        np.add.at(pair, (out["a"].to_numpy(), out["b"].to_numpy()), 1)
        shares.append(pair)
    assert np.abs(shares[0] - shares[1]).max() <= 6


@pytest.mark.parametrize("strata", [(), ("s",)], ids=["whole", "pooled"])
def test_one_way_marginals_that_are_mostly_noise_are_measured_once_more(strata):
    """For half of the price in all, beside a look at strata of .07 and what is measured inside
    strata once more. The twin: where they have less noise than is tolerated they cost AIM's share
    of the price, inside two strata of 1,500 rows half of it more, and rounds have the rest."""
    rng = np.random.default_rng(2)
    data = {name: rng.integers(0, 4, 3_000).tolist() for name in NAMES}
    data["s"] = (np.arange(3_000) < 1_500).astype(int).tolist()
    for price, least, most in (
        (Rho(20_000), 0.45, 0.75),
        (Rho(10**9), 0.05, 0.6 if strata else 0.2),
    ):
        job = prepare(table(), NAMES, strata, None, "aim", {}, price)
        gate = FakeGate(data, table(), price)
        synthesize(job, gate)
        ones = [m.price.nano for m in gate.asked if len(m.query.keys) == 1]
        assert least < sum(ones[: (2 + bool(strata)) * len(NAMES)]) / price.nano < most
        assert gate.spent == price.nano
