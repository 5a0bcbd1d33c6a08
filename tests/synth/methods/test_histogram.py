"""The noised table of all columns, and its occupied cells where the domain is large."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from support.fake_gate import FakeGate
from support.synth_tables import contract
from support.vaults import allowed, left

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.budget import Budget, Epsilon, Rho, rho_of
from sqlpriv.kernel.terms.contract import Categories, Interval
from sqlpriv.synth.explained_steps import steps
from sqlpriv.synth.methods import histogram
from sqlpriv.synth.models.joint_table import JointModel
from sqlpriv.synth.synthesis import prepare, synthesize

SMALL = contract({n: ("INTEGER", Categories((0, 1, 2))) for n in "abc"})
WIDE_NAMES = ("p", "q", "r", "s", "t")
WIDE = contract(
    {
        "p": ("INTEGER", Interval(0, 49, nullable=True)),
        "q": ("VARCHAR", Categories((*(f"v{i}" for i in range(30)), None))),
        "r": ("INTEGER", Interval(-20, 19)),
        "s": ("DOUBLE", Interval(0, 1, nullable=True)),
        "t": ("INTEGER", Categories((2, 3))),
    }
)


def small(rows: int, seed: int = 0) -> dict[str, list[int]]:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, (2, rows))  # level 2 is empty
    return {"a": a.tolist(), "b": b.tolist(), "c": (a ^ b).tolist()}


def wide(rows: int, seed: int = 0) -> dict[str, list]:
    """Five kinds of people in a domain of millions of cells."""
    rng = np.random.default_rng(seed)
    kinds = [
        (3, "v7", -20, 0.99, 2),
        (49, None, 19, None, 3),
        (None, "v0", 0, 0.5, 2),
        (10, "v29", 5, 0.0, 3),
        (11, "v3", 5, 1.0, 2),
    ]
    picked = [kinds[i] for i in rng.choice(5, rows, p=[0.4, 0.25, 0.2, 0.1, 0.05])]
    return {name: [kind[i] for kind in picked] for i, name in enumerate(WIDE_NAMES)}


def made(table, data, columns, price, strata=(), exact=False, **options):
    job = prepare(table, columns, strata, None, "histogram", options, price)
    gate = FakeGate(data, table, price, exact=exact)
    return job, gate, synthesize(job, gate)


def test_three_way_interactions_are_kept():
    """c is the parity of a and b: no pair of columns shows it, and no method of pairs keeps it."""
    _, gate, out = made(SMALL, small(3_000), "abc", rho_of(1.0, 1e-9))
    a, b, c = (out.table[n].to_numpy() for n in "abc")
    assert np.mean(c == a ^ b) > 0.95
    assert [len(m.query.keys) for m in gate.asked][:2] == [0, 3]


def test_without_noise_the_table_is_the_datas():
    data = small(200)
    _, _, out = made(SMALL, data, "abc", Rho(10**12), exact=True)
    rows = Counter(zip(*(out.table[n].to_pylist() for n in "abc"), strict=True))
    assert rows == Counter(zip(*(data[n] for n in "abc"), strict=True))


def test_noise_makes_no_crowd_of_empty_cells():
    """500 people, 3^7 cells, sigma about 8: clamping alone would give 2187 * 8 / sqrt(2 pi) =
    7,000 rows; the noised size is within 5 * 24 of 500."""
    many = contract({n: ("INTEGER", Categories((0, 1, 2))) for n in "abcdefg"})
    rng = np.random.default_rng(1)
    data = {n: rng.integers(0, 3, 500).tolist() for n in "abcdefg"}
    _, gate, out = made(many, data, "abcdefg", Rho(8_700_000))
    assert gate.left.nano == 0
    assert abs(out.table.num_rows - 500) < 120


@pytest.mark.parametrize("strata", [(), ("t",)])
def test_a_large_domain_is_walked_by_occupied_prefixes(strata):
    """2,000 people of five kinds: each kind's share is found within 2 points, little else is."""
    data = wide(2_000)
    job, gate, out = made(
        WIDE, data, WIDE_NAMES, rho_of(2.0, 1e-9), strata, bins=50, binning="width"
    )
    assert len(job.phases()) > 2
    assert gate.spent == job.price.nano
    columns = {n: out.table[n].to_pylist() for n in WIDE_NAMES}
    found = Counter(zip(columns["p"], columns["q"], columns["r"], columns["t"], strict=True))
    truth = Counter(zip(data["p"], data["q"], data["r"], data["t"], strict=True))
    for kind in truth:
        assert found[kind] / out.table.num_rows == pytest.approx(truth[kind] / 2_000, abs=0.02)
    assert sum(found[k] for k in truth) > 0.97 * out.table.num_rows
    biggest = max(np.prod([len(k.values) for k in m.query.keys]) for m in gate.asked)
    assert biggest <= histogram.AT_ONCE


def test_the_real_gate_reads_the_prefixes_as_the_fake_one_does(make_kernel):
    rows = wide(400)
    values = ", ".join(
        "(" + ", ".join([str(i), *("NULL" if v is None else repr(v) for v in row)]) + ")"
        for i, row in enumerate(zip(*(rows[n] for n in WIDE_NAMES), strict=True))
    )
    sql = (
        "CREATE TABLE people (id INTEGER PRIMARY KEY, p INTEGER, q VARCHAR, r INTEGER, s DOUBLE,"
        f" t INTEGER); INSERT INTO people VALUES {values};"
    )
    domains = {c.name: c.domain for c in WIDE.columns}
    kernel = make_kernel(sql, domains=domains, budget=Budget("people", Rho(10**18), 1e-9))
    price = Rho(10**14)
    found = kernel.contracts()["people"]
    job = prepare(
        found, WIDE_NAMES, ("t",), None, "histogram", {"bins": 50, "binning": "width"}, price
    )
    with allowed(kernel, price) as allowance:
        out = synthesize(job, allowance).table
        assert left(allowance).nano == 0
    names = ("p", "q", "r", "t")
    assert Counter(zip(*(out[n].to_pylist() for n in names), strict=True)) == Counter(
        zip(*(rows[n] for n in names), strict=True)
    )


def test_steps_cover_every_column_once_and_fit():
    for sizes, strata in itertools.product(
        [(2,) * 30, (1, 1), (5, 1, 300, 7), (9_000, 9_000)], (1, 18)
    ):
        found = histogram.steps_of(sizes, strata, 2_000)
        assert sum(found, ()) == tuple(i for i, n in enumerate(sizes) if n > 1)
        assert all(step for step in found) or found == ((),)


def test_a_domain_beyond_exact_arithmetic_is_refused():
    huge = contract({f"c{i}": ("INTEGER", Interval(0, 999)) for i in range(7)})
    names = tuple(f"c{i}" for i in range(7))
    with pytest.raises(Refused, match="cells"):
        prepare(huge, names, (), None, "histogram", {"bins": 1000}, Rho(10**9))


@pytest.mark.parametrize("price", [Rho(7), Rho(10**9 + 1), Epsilon(10**8 - 1)])
@pytest.mark.parametrize("strata", [(), ("t",)])
def test_steps_told_add_up_to_the_price(price, strata):
    job = prepare(WIDE, WIDE_NAMES, strata, None, "histogram", {}, price)
    assert sum(step.price.nano for step in steps(job)) == price.nano
    gate = FakeGate(wide(20), WIDE, price)
    synthesize(job, gate)
    assert gate.spent == price.nano


def test_a_joint_model_draws_its_cells():
    model = JointModel((0, 2), np.array([1, 5]), np.array([3.0, 1.0]), 4.0)
    drawn = model.sample((2, 1, 3), 400, np.random.default_rng(0))
    assert Counter(map(tuple, drawn.tolist())) == {(0, 0, 1): 300, (1, 0, 2): 100}
