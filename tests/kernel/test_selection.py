"""Scores of a private selection: whole numbers that one unit moves no further than is said."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.vaults import allowed

from sqlpriv.errors import KernelError
from sqlpriv.kernel.proof import noise, sensitivity
from sqlpriv.kernel.proof.sensitivity import (
    SCORE_UNIT,
    Candidate,
    distance,
    score,
    selection_hash,
    total_distance,
)
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Budget, Epsilon, Price, Rho
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.kernel.vault import Kernel

STRATA = (a.Key(a.Col("s"), ("a", "b", "c")),)
QUERY = a.Count(a.Scan("people"), STRATA, (a.Key(a.Col("k"), (0, 1)),))
counts = st.lists(st.integers(0, 50), min_size=6, max_size=6)
reals = st.floats(-100, 100)


def candidate(estimates: list[float], weight: float = 1.0, penalty: Any = None) -> Candidate:
    fined = None if penalty is None else np.array(penalty)
    return Candidate(QUERY, np.array(estimates).reshape(3, 2), weight, fined)


@given(
    counts,
    st.lists(reals, min_size=6, max_size=6),
    st.lists(reals, min_size=3, max_size=3),
    st.floats(0, 9),
    st.integers(1, 4),
    st.integers(0, 2),
    st.integers(0, 4),
)
def test_a_unit_moves_no_score_further_than_said(
    exact: list[int],
    estimates: list[float],
    penalty: list[float],
    weight: float,
    m: int,
    stratum: int,
    split: int,
) -> None:
    """It adds up to m rows to the cells of a stratum, and leaves the other strata alone."""
    one = candidate(estimates, weight, penalty)
    far = distance([one, candidate(estimates, 0.5)], m)
    more = list(exact)
    more[2 * stratum] += min(split, m)
    more[2 * stratum + 1] += m - min(split, m)
    for s in range(3):
        moved = score(one, np.array(more))[s] - score(one, np.array(exact))[s]
        assert abs(moved) <= (far if s == stratum else 0)


def test_the_bound_is_attained_and_the_score_is_what_it_says() -> None:
    one = candidate([0.0] * 6, weight=2.5, penalty=[4.0, 0.0, 0.0])
    before, after = np.array([1, 2, 0, 0, 0, 0]), np.array([4, 2, 0, 0, 0, 0])
    assert score(one, after)[0] - score(one, before)[0] == distance([one], 3)
    assert score(one, before)[0] == 2.5 * (3 - 4) * SCORE_UNIT**2


@pytest.mark.parametrize("g", [1, 2, 3, 9])
def test_every_stratum_selects_at_its_share(
    make_kernel: Callable[..., Kernel], monkeypatch: pytest.MonkeyPatch, g: int
) -> None:
    """A unit lies in up to g strata (of 3): each selection may cost no more than price / g."""
    kernel = make_kernel("CREATE TABLE people (id INTEGER, s VARCHAR, k INTEGER)", m=2, g=g)
    asked: list[tuple[int, Price]] = []
    picked: list[int] = []
    real = noise.chooser

    def watched(sensitivity: int, price: Price) -> Callable[[Sequence[int]], int]:
        asked.append((sensitivity, price))
        choose = real(sensitivity, price)

        def counted(scores: Sequence[int]) -> int:
            picked.append(len(scores))
            return choose(scores)

        return counted

    monkeypatch.setattr(noise, "chooser", watched)
    with allowed(kernel) as allowance:
        everywhere = np.ones((3, 2), dtype=bool)
        pair = [candidate([0.0] * 6, weight=3.0), candidate([1.0] * 6)]
        allowance.choose(pair, Rho(1000), everywhere)
    assert asked == [(3 * SCORE_UNIT**2 * 2, Rho(1000 // min(g, 3)))]
    assert picked == [2] * 3
    assert kernel.ledger.account("people").spent == Rho(1000)


@given(
    counts,
    st.lists(reals, min_size=6, max_size=6),
    st.floats(0, 9),
    st.integers(1, 4),
    st.integers(0, 2),
    st.integers(0, 4),
)
def test_a_unit_moves_no_sum_of_scores_further_than_said(
    exact: list[int], estimates: list[float], weight: float, m: int, stratum: int, split: int
) -> None:
    pair = [candidate(estimates, weight), candidate([0.0] * 6, 0.5)]
    more = list(exact)
    more[2 * stratum] += min(split, m)
    more[2 * stratum + 1] += m - min(split, m)
    for s in range(3):
        sums = [sum(score(c, np.array(x))[s] for c in pair) for x in (exact, more)]
        far = total_distance(pair, m) if s == stratum else 0
        assert abs(sums[1] - sums[0]) <= far


def test_the_bound_of_a_sum_is_attained() -> None:
    pair = [candidate([0.0] * 6, 2.5), candidate([0.0] * 6, 0.5)]
    before, after = np.zeros(6, dtype=np.int64), np.array([3, 0, 0, 0, 0, 0])
    sums = [sum(score(c, x)[0] for c in pair) for x in (before, after)]
    assert sums[1] - sums[0] == total_distance(pair, 3)


@pytest.mark.parametrize("g", [1, 2, 9])
@pytest.mark.parametrize("kind", [Rho, Epsilon])
def test_a_distance_has_the_noise_of_its_price(
    make_kernel: Callable[..., Kernel], monkeypatch: pytest.MonkeyPatch, g: int, kind: type[Price]
) -> None:
    """A unit has up to m rows in each of up to g strata of 3: the sums of two scores of weights 3
    and 1 are a vector that it moves by (3 + 1) m g in L1, by (3 + 1) m sqrt(g) in L2."""
    sql = "CREATE TABLE people (id INTEGER, s VARCHAR, k INTEGER)"
    delta = 0.0 if kind is Epsilon else 1e-9
    kernel = make_kernel(sql, m=2, g=g, budget=Budget("people", kind(10**18), delta))
    name = "gaussian" if kind is Rho else "laplace"
    real, asked = getattr(noise, name), []

    def watched(sensitivity: float, price: Any) -> noise.Noise:
        asked.append((sensitivity, price))
        drawn: noise.Noise = real(sensitivity, price)
        return drawn

    monkeypatch.setattr(noise, name, watched)
    pair = [candidate([0.0] * 6, weight=3.0), candidate([5.0] * 6)]
    with allowed(kernel) as allowance:
        sums, sigma = allowance.measure_distance(pair, kind(10**8))
        again, _ = allowance.measure_distance(pair, kind(10**8))
    groups = min(g, 3)
    far = 4 * 2 * SCORE_UNIT**2 * (groups**0.5 if kind is Rho else groups)
    assert asked[0][0] == pytest.approx(far, rel=1e-9)
    assert asked[0][1] == kind(10**8)
    drawn = real(asked[0][0], kind(10**8))
    assert sigma == pytest.approx(drawn.sigma / SCORE_UNIT**2)
    assert sums.tolist() == again.tolist()  # sealed: the second is a replay
    assert kernel.ledger.account("people").spent == kind(10**8)


def test_distances_are_noised_sums_of_scores(make_kernel: Callable[..., Kernel]) -> None:
    """n = 300 draws of 3 sums with sigma about 71 around 10, 20 and 0: the standard deviation of
    900 draws is within 12 % of sigma (5 of its own standard errors, so a true gate fails once in a
    million; half the noise fails always), their mean within 5 standard errors."""
    kernel = make_kernel(
        "CREATE TABLE people AS SELECT i AS id, chr(97 + (i >= 10)::INTEGER) AS s, i % 2 AS k"
        " FROM range(30) r(i)"
    )
    drawn = []
    for i in range(300):
        pair = [candidate([i / SCORE_UNIT**2] * 6, weight=1.0), candidate([0.0] * 6, weight=0.0)]
        with allowed(kernel) as allowance:
            sums, sigma = allowance.measure_distance(pair, Rho(10**5 + i))
        drawn.append(sums - [10, 20, 0])
    assert np.std(drawn) / sigma == pytest.approx(1.0, abs=0.12)
    assert abs(np.mean(drawn)) < 5 * sigma / 30


@pytest.mark.parametrize(
    "change",
    [
        {"source": a.Where(a.Scan("people"), a.Col("t"))},
        {"strata": (a.Key(a.Col("k"), ("a", "b", "c")),)},
        {"within": (0, 1, 2)},
        {"of": a.Col("x")},
    ],
)
def test_candidates_are_of_one_relation_and_its_strata(change: dict[str, Any]) -> None:
    """A choice is paid for as one of its first candidate's."""
    one = candidate([0.0] * 6)
    other = replace(one, query=replace(QUERY, **change))
    with pytest.raises(KernelError, match="share relation and strata"):
        sensitivity.check_candidates([one, other], np.ones((3, 2), np.bool_))
    sensitivity.check_candidates([one, one], np.ones((3, 2), np.bool_))


@pytest.mark.parametrize("kind", [a.Count, a.Distinct])
def test_candidates_count_rows_though_all_of_them_count_values(kind: type[a.Count]) -> None:
    """What a unit moves a score by is proved of rows: of values it would be another claim."""
    asked = kind(QUERY.source, QUERY.strata, QUERY.keys, of=a.Col("x"))
    pair = [replace(candidate([x] * 6), query=asked) for x in (0.0, 1.0)]
    with pytest.raises(KernelError, match="count rows"):
        sensitivity.check_candidates(pair, np.ones((3, 2), np.bool_))


@pytest.mark.parametrize("weight", [-1.0, 2.0**20 + 1, math.nan])
def test_a_weight_of_no_sense_is_refused(weight: float) -> None:
    allowed_everywhere = np.ones((3, 1), np.bool_)
    sensitivity.check_candidates([candidate([0.0] * 6, 2.0**20)], allowed_everywhere)
    with pytest.raises(KernelError, match="out of shape"):
        sensitivity.check_candidates([candidate([0.0] * 6, weight)], allowed_everywhere)


def test_a_choice_is_named_by_all_that_it_depends_on() -> None:
    where = np.ones((3, 1), dtype=bool)
    pair = np.ones((3, 2), dtype=bool)
    one, fewer = candidate([0.0] * 6), pair.copy()
    fewer[0, 0] = False
    other = a.Count(a.Scan("people"), STRATA, (a.Key(a.Col("k"), (1, 0)),))
    names = [
        selection_hash([one], where),
        selection_hash([candidate([0.0] * 5 + [1e-9])], where),
        selection_hash([candidate([0.0] * 6, 2.0)], where),
        selection_hash([candidate([0.0] * 6, 1.0, [0.0, 0.0, 0.0])], where),
        selection_hash([candidate([0.0] * 6, 1.0, [0.0, 0.0, 1.0])], where),
        selection_hash([Candidate(other, one.estimate)], where),
        selection_hash([one, one], pair),
        selection_hash([one, one], fewer),
    ]
    assert len(set(names)) == len(names)
    assert selection_hash([candidate([0.0] * 6)], where) == names[0]


def test_queries_over_other_rows_are_others_though_their_hash_is_one() -> None:
    """A hash that left nothing out took half of the time of a choice among thousands of pairs."""
    old, young = (
        a.Where(a.Scan("people"), a.Call("<", (a.Col("age"), a.Lit(x, Type.INTEGER))))
        for x in (90, 9)
    )
    assert hash(old) == hash(young)
    counts = [a.Count(source, STRATA) for source in (old, young)]
    assert len(dict.fromkeys(counts)) == 2
    assert a.query_hash(counts[0]) != a.query_hash(counts[1])
    assert counts[0] == a.Count(replace(old), STRATA)
