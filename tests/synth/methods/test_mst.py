"""MST: what it asks, what it pays, and that it finds the pairs that matter."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from support.fake_gate import FakeGate
from support.pairwise_rows import NAMES, dependence, pairwise, table
from support.synth_tables import contract

from sqlpriv.errors import DataError, Refused
from sqlpriv.kernel.terms.budget import Epsilon, Price, Rho, rho_of
from sqlpriv.kernel.terms.contract import Interval
from sqlpriv.synth.api.method import Space
from sqlpriv.synth.explained_steps import steps
from sqlpriv.synth.methods import mst
from sqlpriv.synth.registry import REGISTRY, method_of, options_of
from sqlpriv.synth.synthesis import prepare, synthesize


def run(price: Price, strata=(), data=None, made=None, **options):
    made = made or table()
    job = prepare(made, NAMES, strata, None, "mst", options, price)
    gate = FakeGate(data or pairwise(), made, price)
    return job, gate, synthesize(job, gate)


def chosen_edges(gate: FakeGate, stratum: int = 0) -> list[tuple[int, ...]]:
    """Returns the pairs of columns that a stratum chose, by their places in NAMES, in order."""
    queries = [choice[stratum] for choice in gate.chosen_queries]
    return [tuple(NAMES.index(key.expr.name) for key in query.keys) for query in queries]


@pytest.mark.parametrize("strata", [(), ("s",)])
@pytest.mark.parametrize("bounds", [{}, {"groups_per_unit": 2}, {"rows_per_unit": 3}])
@pytest.mark.parametrize(
    "price",
    [Rho(10**9), Rho(1_234_567), Rho(7), Rho(101), Epsilon(10**9 + 1), Epsilon(10**6 - 1)],
)
@pytest.mark.parametrize("columns", [NAMES, NAMES[:3], NAMES[:2], NAMES[:1], ()])
def test_the_charge_is_the_price_to_the_nano(price, strata, bounds, columns):
    selected = columns or ("s",)
    made = table(**bounds)
    try:
        job = prepare(made, selected, strata, None, "mst", {}, price)
    except DataError:
        assert price.nano < 20  # 5 one-ways, 4 choices, 4 two-ways
        return
    gate = FakeGate(pairwise(200), made, price)
    out = synthesize(job, gate)
    assert gate.spent == price.nano
    assert sum(step.price.nano for step in steps(job)) == price.nano
    assert out.table.column_names == list(job.domain.output)


def test_a_gate_with_a_nano_less_refuses():
    from sqlpriv.errors import BudgetExhausted

    job = prepare(table(), NAMES, (), None, "mst", {}, Rho(10**8))
    with pytest.raises(BudgetExhausted):
        synthesize(job, FakeGate(pairwise(50), table(), Rho(10**8 - 1)))


def test_what_is_explained_is_what_is_asked():
    job, gate, _ = run(Rho(10**9))
    of_table = [s for s in steps(job) if not s.name.startswith("error of the table")]
    told = [s.measurement for s in of_table if s.measurement is not None]
    assert told == gate.asked[: len(told)]
    assert [s.name for s in of_table][-2:] == ["spanning tree (4 rounds)", "two-way marginals"]
    thirds = Counter()
    for step in of_table:
        thirds[step.name.split(":")[0].split(" (")[0]] += step.price.nano
    assert all(abs(nano - 98 * 10**7 // 3) < 10 for nano in thirds.values())


def test_the_tree_spans_and_holds_the_dependent_pairs():
    _, gate, _ = run(Rho(10**9))
    edges = chosen_edges(gate)
    assert {(0, 1), (2, 3)} <= set(edges)
    reached = {0}
    for _ in edges:
        reached |= {c for edge in edges if reached & set(edge) for c in edge}
    assert reached == {0, 1, 2, 3, 4}
    assert len(edges) == 4


def test_pairs_that_no_stratum_may_choose_do_not_compete(monkeypatch):
    """Of 100 columns 4,950 pairs were scored in each of 99 rounds. Five columns have ten pairs, and
    the fourth edge joins the last two parts: six pairs are between them at most."""
    competitors, choose = [], FakeGate.choose

    def count(gate, candidates, price, allowed):
        competitors.append(len(candidates))
        return choose(gate, candidates, price, allowed)

    monkeypatch.setattr(FakeGate, "choose", count)
    run(Rho(10**9))
    assert competitors[:2] == [10, 9]
    assert competitors[-1] <= 6


def test_each_stratum_has_its_own_tree_measured_where_it_was_chosen():
    """In stratum s = 1, b follows e and not a."""
    _, gate, out = run(Rho(10**9), strata=("s",))
    trees = [set(chosen_edges(gate, s)) for s in (0, 1)]
    first = [set(chosen_edges(gate, s)[:2]) for s in (0, 1)]
    assert (0, 1) in first[0] - first[1]  # the last edge of stratum 1 may be any that spans
    assert (1, 4) in trees[1] - trees[0]
    two_ways = [m for m in gate.asked if len(m.query.keys) == 2]
    assert any(m.query.within == (0,) for m in two_ways)
    covered = Counter(s for m in two_ways for s in (m.query.within or (0, 1)))
    assert covered == {0: 4, 1: 4}
    assert len({m.price for m in two_ways}) == 1
    assert "s" in out.table.column_names


def test_mst_keeps_pairs_that_independent_loses():
    _, _, out = run(Rho(10**8))
    assert dependence(out.table, "a", "b") > 0.2
    assert dependence(out.table, "c", "d") > 0.5
    job = prepare(table(), NAMES, (), None, "independent", {}, Rho(10**8))
    alone = synthesize(job, FakeGate(pairwise(), table(), Rho(10**8))).table
    assert dependence(alone, "c", "d") < 0.05


def test_siblings_of_one_parent_are_not_made_alike():
    """a, b, c copy the parent d half of the time: given d they are independent in the data."""
    rng = np.random.default_rng(8)
    d = rng.integers(0, 4, 6_000)
    data = {"d": d, "e": rng.integers(0, 4, 6_000), "s": d % 2}
    for name in "abc":
        data[name] = np.where(rng.random(6_000) < 0.5, d, rng.integers(0, 4, 6_000))
    _, _, out = run(Rho(10**10), data={n: v.tolist() for n, v in data.items()})
    made = {n: out.table[n].to_numpy() for n in "abcd"}
    for level in range(4):
        inside = made["d"] == level
        both = np.mean((made["a"][inside] == level) & (made["b"][inside] == level))
        single = np.mean(made["a"][inside] == level) * np.mean(made["b"][inside] == level)
        assert abs(both - single) < 0.06  # about 1,500 rows: five standard errors


def test_both_engines_agree():
    """With (almost) no noise both reproduce the counts, so tables differ by rounding alone."""
    made, price = table(), Rho(10**15)
    data = pairwise(1_000)
    shares = []
    for engine in ("numpy", "mbi"):
        job = prepare(made, NAMES, (), None, "mst", {"engine": engine}, price)
        out = synthesize(job, FakeGate(data, made, price)).table
        pair = np.zeros((4, 4))
        np.add.at(pair, (out["c"].to_numpy(), out["d"].to_numpy()), 1)
        shares.append(pair)
    assert np.abs(shares[0] - shares[1]).max() <= 4


def test_rare_levels_cost_little_and_stay_in_the_domain():
    """200 levels, three of them frequent: the rest are a bucket, and few rows leave the three."""
    rng = np.random.default_rng(9)
    wide = rng.choice([17, 90, 150], 3_000)
    made = contract({"w": ("INTEGER", Interval(0, 199)), "v": ("INTEGER", Interval(0, 2))})
    data = {"w": wide.tolist(), "v": (wide // 80).tolist()}
    price = rho_of(1.0, 1e-9)
    job = prepare(made, ("w", "v"), (), None, "mst", {"bins": 200}, price)
    out = synthesize(job, FakeGate(data, made, price)).table
    drawn = out["w"].to_numpy()
    assert drawn.min() >= 0
    assert drawn.max() <= 199
    assert np.isin(drawn, [17, 90, 150]).mean() > 0.8


def test_too_many_cells_or_strata_are_refused_before_anything_is_asked():
    wide = contract({n: ("INTEGER", Interval(0, 999)) for n in "abcdefg"})
    with pytest.raises(Refused, match="cells at most"):
        prepare(wide, tuple("abcdefg"), (), None, "mst", {"bins": 1000}, Rho(10**9))
    assert prepare(wide, tuple("abcdefg"), (), None, "mst", {"bins": 32}, Rho(10**9))
    with pytest.raises(Refused, match="strata"):
        prepare(wide, ("c",), ("a", "b"), None, "mst", {}, Rho(10**9))


def test_a_price_too_small_to_share_is_refused():
    with pytest.raises(DataError):
        mst.phases(Space((2, 2, 2)), Rho(5), {})
    assert sum(p.price.nano for p in mst.phases(Space((2, 2, 2)), Rho(9), {})) == 9


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"bin": 3}, 'no option "bin"'),
        ({"bins": 0}, "whole number"),
        ({"bins": 2.5}, "whole number"),
        ({"rows": True}, "whole number"),
        ({"rows": -1}, "whole number"),
        ({"engine": "pgm"}, "numpy, mbi"),
    ],
)
def test_wrong_options_are_refused(given, says):
    with pytest.raises(Refused, match=says):
        options_of(REGISTRY["mst"], given)


def test_options_have_defaults_and_methods_are_found_by_name():
    assert options_of(method_of("MST"), {"ENGINE": "MBI", "epsilon": 1}) == {
        "bins": 32,
        "binning": "auto",
        "outside": "drop",
        "rows": None,
        "zeros": None,
        "totals": "noised",
        "engine": "mbi",
        "grid": None,
        "patterns": None,
        "constraints": None,
    }
    with pytest.raises(Refused, match="aimm") as refused:
        method_of("aimm")
    assert "USING auto | independent | " in str(refused.value)
