"""Every method after an earlier, dearer statement: the gate repeats releases that are less noisy
than what the method would buy, and the table is no worse for it.

Data: 3,000 rows of a chain of six columns, each of which depends on the one before. The error is
the mean total variation distance over the pairs of five columns. The earlier statements are the
method's own, one of `mst` and one of `independent`, at epsilon = 30; the statement itself is at .3.
n = 3 runs of each; the ratio of the two means must be at most 1.2. Its standard error was at most
.1 where the ratio was near 1 (mwem in strata, .91; 15 runs), so a method that is no worse passes.
What fails: `aim` that pairs the repeated release's noise with the price asked (.28 for .14), and
`pmw` in strata that weighs a repeated table by its precision without limit (ratio 1.64).

`gem` measures six pairs: with four, as many as the chain has, one pair that it chooses outside of
the chain costs it .29 for .17, so that the ratio of three runs was 1.20 once in eight though .88 on
average. With six it was .65 to .85 (24 runs).
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from support.fake_gate import FakeGate
from support.synth_tables import contract

from sqlpriv.kernel.terms.budget import rho_of
from sqlpriv.kernel.terms.contract import Categories
from sqlpriv.synth.registry import REGISTRY
from sqlpriv.synth.synthesis import prepare, synthesize

SIZES = {"s": 4, "a": 6, "b": 8, "c": 5, "d": 10, "e": 4}
COLUMNS = tuple("abcde")
PEOPLE = contract({c: ("INTEGER", Categories(tuple(range(n)))) for c, n in SIZES.items()})
OPTIONS = {"gem": {"rounds": 6, "steps": 60, "components": 50}, "pmw": {"rounds": 5}}
OPTIONS |= {"rap": {"tables": 8, "steps": 30}, "rap++": {"tables": 8, "steps": 30}}
COMPILED = ("gem", "rap", "rap++", "dpmerf")
REPEATS, WORSE = 3, 1.2
METHODS = [
    pytest.param(m, marks=pytest.mark.slow) if m in COMPILED else m
    for m in REGISTRY
    if m not in ("topdown", "stability")
]


@cache
def chain(rows: int) -> dict[str, list[int]]:
    """Rows in which each column depends on the one before."""
    rng = np.random.default_rng(1)
    columns, before = {}, np.zeros(rows, dtype=int)
    for name, size in SIZES.items():
        shares = rng.dirichlet(np.full(size, 0.3), size=int(before.max()) + 1)
        running = shares.cumsum(axis=1)[before]
        before = (rng.random(rows)[:, None] > running).sum(axis=1).clip(0, size - 1)
        columns[name] = before.tolist()
    return columns


def pairwise_error(rows: dict[str, list[int]], table: pa.Table) -> float:
    """The mean total variation distance over all pairs of COLUMNS."""
    apart = []
    for u, v in itertools.combinations(COLUMNS, 2):
        shares = [
            np.bincount(
                np.asarray(x[u]) * SIZES[v] + np.asarray(x[v]), minlength=SIZES[u] * SIZES[v]
            )
            / len(x[u])
            for x in (rows, {c: table[c].to_numpy() for c in (u, v)})
        ]
        apart.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(apart))


def run(method, strata, epsilon, seed, earlier):
    """One statement: the gate it was put to, and the table's error."""
    rows = chain(3_000)
    price = rho_of(epsilon, 1e-9)
    job = prepare(PEOPLE, COLUMNS, strata, None, method, OPTIONS.get(method, {}), price)
    gate = FakeGate(rows, PEOPLE, price, seed=seed, earlier=earlier)
    return gate, pairwise_error(rows, synthesize(job, gate).table)


@cache
def dear_releases(method, strata, seed):
    """What a statement of this method at epsilon = 30 is told, by query."""
    return run(method, strata, 30.0, 100 + seed, {})[0].sold


@pytest.mark.parametrize("strata", [(), ("s",)], ids=["whole", "strata"])
@pytest.mark.parametrize("method", METHODS)
def test_a_dearer_statement_before_makes_no_table_worse(method, strata):
    fresh, after, repeated = [], [], 0
    for seed in range(REPEATS):
        fresh.append(run(method, strata, 0.3, seed, {})[1])
        earlier = {}
        for other in (method, "mst", "independent"):
            earlier |= dear_releases(other, strata, seed)
        gate, error = run(method, strata, 0.3, seed, earlier)
        after.append(error)
        repeated += len(gate.asked) - len(gate.sold)
    print(f"{method}: {np.mean(fresh):.3f}, after a dearer statement {np.mean(after):.3f}")
    assert np.mean(after) <= WORSE * np.mean(fresh)
    assert repeated > 0, "no earlier release was repeated"
