"""hdmm and privsyn: strategies, chosen pairs, prices by size, and rows that agree with tables."""

from __future__ import annotations

import numpy as np
import pytest
from support.fake_gate import FakeGate
from support.synth_tables import contract

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.budget import Rho, rho_of
from sqlpriv.kernel.terms.contract import Categories
from sqlpriv.synth.api.method import Space
from sqlpriv.synth.methods.batches.hdmm import measured_marginals
from sqlpriv.synth.methods.batches.marginal_strategy import (
    expected_error,
    strategy_shares,
    workload_of,
)
from sqlpriv.synth.methods.batches.table_rows import rows_of_tables
from sqlpriv.synth.synthesis import prepare, synthesize

NAMES = ("a", "b", "c", "d")
SIZES = {"a": 3, "b": 3, "c": 4, "d": 8, "s": 2}
TABLE = contract({n: ("INTEGER", Categories(tuple(range(k)))) for n, k in SIZES.items()})


def people(rows: int) -> dict[str, list[int]]:
    """b copies a; d is c or c + 4; nothing else depends on anything."""
    rng = np.random.default_rng(0)
    a, c = rng.integers(0, 3, rows), rng.integers(0, 4, rows)
    columns = {"a": a, "b": a, "c": c, "d": c + 4 * rng.integers(0, 2, rows)}
    columns["s"] = rng.integers(0, 2, rows)
    return {name: values.tolist() for name, values in columns.items()}


def drawn(method: str, strata=(), rows=4_000, price=None, **options):
    price = price or rho_of(2.0, 1e-9)
    job = prepare(TABLE, NAMES, strata, None, method, options, price)
    gate = FakeGate(people(rows), TABLE, price)
    return gate, synthesize(job, gate).table


@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 20, 5), (10, 10, 3)])
def test_no_other_parts_answer_a_workload_better(sizes):
    """The parts against equal ones, all for pairs, and 200 random ones: none has a smaller error,
    but for the parts that are too small to be measured."""
    workload = workload_of((0, 1, 2), 2)
    best = expected_error(strategy_shares(workload, workload, sizes), workload, workload, sizes)
    rng = np.random.default_rng(0)
    equal = np.full(6, 1 / 6)
    pairs = np.array([0, 0, 0, 1, 1, 1]) / 3
    for parts in (equal, pairs, *rng.dirichlet(np.ones(6), 200)):
        assert best <= 1.01 * expected_error(parts, workload, workload, sizes)
    assert best < 0.99 * expected_error(equal, workload, workload, sizes)


def test_prices_of_a_strategy_add_up():
    for price in (Rho(10**9 + 7), Rho(10**6 + 1)):
        marginals = measured_marginals(Space((3, 1, 4, 8)), price, 2)
        assert sum(m.price.nano for m in marginals) == price.nano
        assert len({m.clique for m in marginals}) == len(marginals)
        assert {m.clique for m in marginals} >= {(0,), (2,), (3,)}
    with pytest.raises(Refused, match="1000 marginals"):
        measured_marginals(Space((2,) * 60), Rho(10**9), 2)


def test_rows_agree_with_tables_that_no_tree_has():
    """A ring of three columns: every pair's table is met within 3 % of the rows, in L1; rows that
    were never told of one pair (the twin) are off by more than 10 % there."""
    rng = np.random.default_rng(0)
    joint = rng.dirichlet(np.full(27, 0.3)).reshape(3, 3, 3) * 5_000
    tables = {(c,): (joint.sum(axis=tuple({0, 1, 2} - {c})), 1.0) for c in range(3)}
    tables |= {
        (u, v): (joint.sum(axis=next(iter({0, 1, 2} - {u, v}))), 1.0)
        for u, v in ((0, 1), (0, 2), (1, 2))
    }

    def worst(model) -> float:
        apart = []
        for (u, v), (values, _) in ((q, t) for q, t in tables.items() if len(q) == 2):
            counts = np.zeros((3, 3))
            np.add.at(counts, (model.rows[:, u], model.rows[:, v]), 5_000 / len(model.rows))
            apart.append(np.abs(counts - values).sum() / 5_000)
        return float(max(apart))

    assert worst(rows_of_tables(tables, (3, 3, 3), 5_000.0)) < 0.03
    tree = {q: t for q, t in tables.items() if q != (1, 2)}
    assert worst(rows_of_tables(tree, (3, 3, 3), 5_000.0)) > 0.1


@pytest.mark.parametrize("method", ["hdmm", "privsyn"])
@pytest.mark.parametrize("strata", [(), ("s",)], ids=["whole", "strata"])
def test_pairs_survive_and_the_price_is_spent(method, strata):
    """n = 4,000 at epsilon = 2: b copies a in all rows, d % 4 is c; at least .93 of both. The
    twin, independent columns, has a third and a quarter."""
    gate, table = drawn(method, strata)
    a, b, c, d = (table[n].to_numpy() for n in NAMES)
    assert np.mean(a == b) > 0.93
    assert np.mean(c == d % 4) > 0.93
    assert gate.spent == gate.limit.nano
    _, twin = drawn("independent", strata)
    assert np.mean(twin["a"].to_numpy() == twin["b"].to_numpy()) < 0.5


def test_privsyn_peels_the_dependent_pairs_first_and_pays_by_cells():
    gate, _ = drawn("privsyn", pairs=2)
    measured = {
        tuple(k.expr.name for k in m.query.keys): m.price.nano
        for m in gate.asked
        if len(m.query.keys) == 2
    }
    assert set(measured) == {("a", "b"), ("c", "d")}
    assert measured["c", "d"] / measured["a", "b"] == pytest.approx((32 / 9) ** (2 / 3), rel=1e-3)
