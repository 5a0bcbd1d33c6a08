"""Quantiles and modes: scores that one unit moves no further than is said, and levels they find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.vaults import EXACT, allowed, ask

from sqlpriv.errors import KernelError, Refused
from sqlpriv.kernel.proof import noise
from sqlpriv.kernel.proof.sensitivity import MAX_RANK, level_distance, level_scores
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Budget, Epsilon, Rho
from sqlpriv.kernel.terms.contract import Categories, Interval
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.kernel.vault import Kernel

SCAN = a.Scan("people")
X = a.Key(a.Col("x"), (0, 1, 2, 3))
BY = a.Key(a.Col("k"), (0, 1))
RANKS = [None, (0, 1), (1, 2), (1, 1), (1, 10), (7, 8), (990, MAX_RANK)]
counts = st.lists(st.integers(0, 30), min_size=8, max_size=8)


def level(rank: tuple[int, int] | None, **more: Any) -> a.Level:
    return a.Level(SCAN, X, rank, **{"keys": (BY,), **more})


@given(
    counts,
    st.sampled_from(RANKS),
    st.integers(1, 4),
    st.lists(st.integers(0, 7), max_size=4),
)
@example([0] * 8, (7, 8), 4, [0, 0, 0, 4])
def test_a_unit_moves_the_scores_of_a_stratum_no_further_than_said(
    exact: list[int], rank: tuple[int, int] | None, m: int, at: list[int]
) -> None:
    """Its rows may fall into several cells: what moves there adds up to no more than `distance`."""
    query = level(rank)
    more = list(exact)
    for i in at[:m]:
        more[i] += 1
    before, after = (np.array(level_scores(query, x)) for x in (exact, more))
    moved = np.abs(after - before).max(axis=1)
    assert moved.sum() <= level_distance(query, m)


@pytest.mark.parametrize("rank", RANKS)
def test_the_distance_is_attained(rank: tuple[int, int] | None) -> None:
    query, few = level(rank, keys=()), [5, 0, 2, 9]
    moved = []
    for i in range(4):
        more = [n + 3 * (i == j) for j, n in enumerate(few)]
        pairs = zip(level_scores(query, few)[0], level_scores(query, more)[0], strict=True)
        moved += [abs(x - y) for x, y in pairs]
    assert max(moved) == level_distance(query, 3)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.integers(1, 99))
def test_the_best_level_holds_the_rank(values: list[int], percent: int) -> None:
    query = level((percent, 100), keys=())
    scores = level_scores(query, [values.count(x) for x in range(4)])[0]
    best = int(scores.argmax())
    below, up_to = sum(v < best for v in values), sum(v <= best for v in values)
    assert below * 100 <= percent * len(values) <= up_to * 100


@pytest.mark.parametrize("rank", [(2, 1), (-1, 2), (0, 0), (1, MAX_RANK + 1), (0.5, 1), (True, 2)])
def test_what_is_no_rank_is_refused(rank: tuple[Any, Any]) -> None:
    with pytest.raises(KernelError, match="a rank is"):
        level_distance(level(rank), 1)


# --- through the gate ---

ROWS = """CREATE TABLE people AS
SELECT i AS id, ['a', 'b', 'c'][i % 3 + 1] AS s, i % 2 AS k, (i // 25) % 4 AS x FROM range(100) r(i)
"""
STRATA = (a.Key(a.Col("s"), ("a", "b", "c")),)
DOMAINS = {"s": Categories(("a", "b", "c")), "x": Interval(0, 3)}


def test_levels_where_the_choice_is_bought_sure(make_kernel: Callable[..., Kernel]) -> None:
    kernel = make_kernel(ROWS, domains=DOMAINS)
    asked = [
        level((1, 100)),
        level((99, 100)),
        level((3, 5), strata=STRATA, keys=()),
        level(None, strata=STRATA, within=(1,)),
    ]
    low, high, median, mode = ask(kernel, *(Measurement(q, EXACT) for q in asked))
    assert low.values.tolist() == [[0, 0]]
    assert high.values.tolist() == [[3, 3]]
    assert median.values.tolist() == [2, 2, 2]
    assert mode.values.shape == (1, 2)
    assert (mode.sigma, mode.replayed) == (0.0, False)
    assert ask(kernel, Measurement(asked[0], EXACT))[0].replayed


@pytest.mark.parametrize("price", [Rho(900), Epsilon(900)])
@pytest.mark.parametrize(("g", "share"), [(1, 900), (2, 450), (9, 300)])
def test_every_stratum_chooses_at_its_share_and_every_cell_in_it_at_the_same(
    make_kernel: Callable[..., Kernel],
    monkeypatch: pytest.MonkeyPatch,
    price: Rho | Epsilon,
    g: int,
    share: int,
) -> None:
    total = type(price)(1000)
    budget = Budget("people", total, 1e-9 if isinstance(price, Rho) else 0.0)
    kernel = make_kernel(ROWS, domains=DOMAINS, m=4, g=g, budget=budget)
    bought: list[tuple[int, Rho | Epsilon]] = []
    real = noise.chooser

    def watched(distance: int, paid: Rho | Epsilon) -> Callable[[Any], int]:
        bought.append((distance, paid))
        return real(distance, paid)

    monkeypatch.setattr(noise, "chooser", watched)
    with allowed(kernel) as allowance:
        query = level((1, 4), strata=STRATA)
        (release,) = allowance.release([Measurement(query, price)])
    assert bought == [(3 * 4, type(price)(share))]
    assert release.values.shape == (3, 2)
    assert kernel.ledger.account("people").spent == price


def test_a_choice_too_noisy_is_refused_before_the_charge(
    make_kernel: Callable[..., Kernel],
) -> None:
    budget = Budget("people", Epsilon(10), 0.0)
    kernel = make_kernel(ROWS, domains=DOMAINS, m=10**6, budget=budget)
    with pytest.raises(Refused, match="nothing was read"):
        ask(kernel, Measurement(level((1, MAX_RANK)), Epsilon(1)))
    assert kernel.ledger.account("people").charges == 0
