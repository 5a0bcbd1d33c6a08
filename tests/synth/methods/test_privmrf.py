"""privmrf: edges of dependent pairs, cliques as large as noise allows, cycles that a tree loses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.fake_gate import FakeGate
from support.synth_tables import contract

from sqlpriv.kernel.terms.budget import Rho, rho_of
from sqlpriv.kernel.terms.contract import Categories
from sqlpriv.synth.api.ask import Ask
from sqlpriv.synth.api.method import Phase
from sqlpriv.synth.graph.junction_tree import Graph
from sqlpriv.synth.methods.graphs import privmrf
from sqlpriv.synth.synthesis import prepare, synthesize

NAMES = ("a", "b", "c", "d")
TABLE = contract({n: ("INTEGER", Categories((0, 1, 2))) for n in (*NAMES, "s")})


def people(rows: int) -> dict[str, np.ndarray]:
    """a and b are independent, c is their sum modulo 3 in half of the rows and a or b in the rest;
    d depends on nothing. A tree keeps two of the three pairs of a, b and c."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 3, rows), rng.integers(0, 3, rows)
    which = rng.random(rows)
    c = np.where(which < 0.5, (a + b) % 3, np.where(which < 0.75, a, b))
    return {"a": a, "b": b, "c": c, "d": rng.integers(0, 3, rows), "s": rng.integers(0, 2, rows)}


def triple_error(method: str, price: Rho) -> float:
    """Returns the total variation of the table of a, b and c."""
    rows = people(20_000)
    job = prepare(TABLE, NAMES, (), None, method, {}, price)
    gate = FakeGate({n: v.tolist() for n, v in rows.items()}, TABLE, price, seed=3)
    drawn = synthesize(job, gate).table
    assert gate.spent == price.nano
    shares = []
    for columns in (rows, {n: drawn[n].to_numpy() for n in NAMES}):
        code = (columns["a"] * 3 + columns["b"]) * 3 + columns["c"]
        shares.append(np.bincount(code, minlength=27) / len(code))
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def test_a_cycle_is_kept_whole() -> None:
    """The three columns are one clique. The twin: a tree of pairs misses .2 of their table."""
    price = rho_of(2.0, 1e-9)
    assert triple_error("privmrf", price) < 0.06
    assert triple_error("mst", price) > 0.15


@pytest.mark.parametrize("most", [10.0, 30.0, 1e6])
def test_cliques_are_no_larger_than_noise_allows(most: float) -> None:
    """All pairs of six columns are dependent; the choice is always the first one allowed. Cliques
    of three columns have 27 cells; without a limit all columns are one clique."""
    graph, price = Graph((3,) * 6), Rho(10**6)
    asked = []

    def select(_, each, allowed):
        asked.append(each.nano)
        return (int(np.flatnonzero(allowed[0])[0]),)

    ones = {c: np.full(3, 100.0) for c in range(6)}
    plan = Phase("edges", "exponential mechanism", price, 15)
    ask = Ask(lambda _: (), select)
    cliques, unspent = privmrf._choose_graph(ask, ones, graph, most, plan, 1.0)
    assert sum(asked) + unspent == price.nano
    sizes = [math.prod(graph.sizes[c] for c in clique) for clique in cliques]
    assert max(sizes) <= max(most, 9)
    assert max(sizes) == {10.0: 9, 30.0: 27, 1e6: 729}[most]
    assert {c for clique in cliques for c in clique} == set(range(6))


def test_noise_alone_ends_the_rounds() -> None:
    """Of independent columns nothing is left to learn: most strata stop before they have played a
    round for each column, and spend the rest on the cliques all the same."""
    rng = np.random.default_rng(0)
    rows = {n: rng.integers(0, 3, 5_000).tolist() for n in (*NAMES, "s")}
    price = rho_of(1.0, 1e-9)
    gate = FakeGate(rows, TABLE, price, seed=1)
    synthesize(prepare(TABLE, NAMES, (), None, "privmrf", {}, price), gate)
    edges = privmrf._edge_count(4)
    assert len(gate.choices) - edges < len(NAMES)
    assert gate.spent == price.nano


def test_edges_join_parts() -> None:
    parts = privmrf._parts([0b0011, 0b0100, 0b1010])
    assert parts == {0: 0b1011, 1: 0b1011, 3: 0b1011, 2: 0b0100}
