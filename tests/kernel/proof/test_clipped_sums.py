"""Clipped sums out of bins: equal to clipping row by row, and never further than the bound."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.vaults import Engine, contract

from sqlpriv.errors import KernelError
from sqlpriv.kernel.checked import prepare_measurement
from sqlpriv.kernel.proof.clipped_sums import clipped_sums, clips_of
from sqlpriv.kernel.proof.sensitivity import REAL_STEPS, lattice_of
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.kernel.terms.contract import Interval, Type
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.plan.aggregates.means.mean_bins import bin_edges

X = a.Col("x")
WHOLE = a.Bin(X, (1, 5, 20, 100))
REAL = a.Bin(X, (0.25, 0.5, 3.0, 10.0))


def clipped(bins: a.Bin, low: float, high: float, ends: tuple[float, float]) -> a.Clipped:
    return a.Clipped(a.Scan("people"), bins, low, high, (ends,))


def released(query: a.Clipped, type_: Type, rows: list[int], sums: list[int]) -> int:
    grid = lattice_of(query.by_bin[1], type_)
    (number,) = clipped_sums(clips_of(query, type_, grid), rows, sums)
    return number


@given(
    st.lists(st.integers(0, 100), max_size=20),
    st.integers(0, 100),
    st.sampled_from([(0, 100), (1, 20), (5, 99), (5, 4.0 + 15), (-25, 125), (-25, 0), (20, 200)]),
)
def test_whole_numbers_are_clipped_exactly_and_a_row_moves_the_sum_by_k_at_most(
    values: list[int], one_more: int, ends: tuple[float, float]
) -> None:
    query = clipped(WHOLE, 0, 100, ends)

    def number(xs: list[int]) -> int:
        at = np.searchsorted(WHOLE.edges, xs, side="right")
        counts = np.bincount(at, minlength=5).tolist()
        sums = [sum(2 * x - 100 for x, b in zip(xs, at, strict=True) if b == i) for i in range(5)]
        return released(query, Type.INTEGER, counts, sums)

    low, high = map(Fraction, ends)
    exact = sum((2 * min(max(Fraction(x), low), high) - low - high) / (high - low) for x in values)
    assert number(values) == math.floor(exact * REAL_STEPS)
    assert abs(number([*values, one_more]) - number(values)) <= REAL_STEPS


def test_the_bound_is_attained_and_a_looser_clip_breaks_it() -> None:
    """A row at an end moves the sum by K. Twin: were values up to the bin above u left as they are,
    a row would move it by more."""
    query = clipped(WHOLE, 0, 100, (1, 4))
    assert released(query, Type.INTEGER, [0, 0, 0, 0, 1], [0, 0, 0, 0, 100]) == REAL_STEPS
    grid = lattice_of(query.by_bin[1], Type.INTEGER)
    (clip,) = clips_of(query, Type.INTEGER, grid)
    (loose,) = clipped_sums([clip._replace(last=5)], [0, 0, 0, 0, 1], [0, 0, 0, 0, 100])
    assert loose > REAL_STEPS


@pytest.mark.parametrize("ends", [(0.25, 3.0), (0.5, 10.0), (0.0, 12.5), (-3.0, 0.5), (3.0, 10.0)])
def test_reals_are_clipped_as_the_engine_rounds_them(ends: tuple[float, float]) -> None:
    """Rows at every edge, and one unit in the last place beside it, one at a time: each is worth
    what clipping it is, within a step, and K at most."""
    engine = Engine()
    made = contract({"id": "BIGINT", "x": "DOUBLE"}, {"x": Interval(0.0, 10.0)})
    query = clipped(REAL, 0.0, 10.0, ends)
    values = [
        x for e in (0.0, *REAL.edges) for x in (math.nextafter(e, -9), e, math.nextafter(e, 99))
    ]
    low, high = ends
    for x in [*values, -1e300, 1e300, 7.3]:
        engine.fill(made, [(1, x)])
        counts, sums = (answer.ravel().tolist() for answer in engine.exact(query.by_bin, made))
        number = released(query, Type.REAL, counts, sums)
        worth = (min(max(min(max(x, 0.0), 10.0), low), high) - (low + high) / 2) * 2 / (high - low)
        assert abs(number) <= REAL_STEPS
        assert number / REAL_STEPS == pytest.approx(worth, abs=20 / (high - low) / 2**40)


@pytest.mark.parametrize(
    "ends",
    [(2, 20), (1, 30), (20, 1), (5, 5), (-math.inf, 20), (1, math.inf), (math.nan, 20), (1, 18)],
)
def test_ends_that_no_bin_has_are_refused(ends: tuple[float, float]) -> None:
    with pytest.raises((KernelError, ValueError, OverflowError)):
        released(clipped(WHOLE, 0, 100, ends), Type.INTEGER, [0] * 5, [0] * 5)


def test_one_below_an_edge_is_an_end_of_whole_numbers_alone() -> None:
    """Of reals, 2.5 lies in the bin before 3: it would count as itself and be above the end 2."""
    with pytest.raises(KernelError, match="ends of bins"):
        released(clipped(REAL, 0.0, 10.0, (0.25, 2.0)), Type.REAL, [0] * 5, [0] * 5)
    assert released(clipped(WHOLE, 0, 100, (1, 4)), Type.INTEGER, [0] * 5, [0] * 5) == 0


@pytest.mark.parametrize("ends", [(4.4, 4.5), (1, 4.5), (4.4, 19.5)])
def test_whole_numbers_have_no_end_between_two_of_them(ends: tuple[float, float]) -> None:
    """5 lies in the bin before 5.5: it would count as itself, ten times as far above 4.5 as that is
    above 4.4."""
    bins = a.Bin(X, (1, 4.4, 5.5, 20.5))
    with pytest.raises(KernelError, match="ends of bins"):
        released(clipped(bins, 0, 100, ends), Type.INTEGER, [0] * 5, [0] * 5)
    assert released(clipped(bins, 0, 100, (4.4, 5.5)), Type.INTEGER, [0] * 5, [0] * 5) == 0


FIRST = 2**53
BY_ROOT = a.Roots(X, bin_edges(FIRST, FIRST + 2000, whole=True), FIRST, FIRST + 2000)
ODD = a.Bin(a.Call("+", (X, a.Lit(0, Type.INTEGER))), (FIRST + 1, FIRST + 3, FIRST + 5))


@pytest.mark.parametrize(
    ("bins", "ends"),
    [
        (BY_ROOT, (FIRST + 4, FIRST + 6)),
        (BY_ROOT, (FIRST + 8, FIRST + 12)),
        (ODD, (FIRST + 1, FIRST + 3)),
        (ODD, (FIRST + 3, FIRST + 2002)),
    ],
)
def test_whole_numbers_that_are_compared_as_doubles_move_the_sum_by_k_at_most(
    bins: a.Bin, ends: tuple[int, int]
) -> None:
    """From 2^53 on doubles are even: 2^53 + 3 as one is 2^53 + 4, and reaches that edge."""
    engine = Engine()
    made = contract({"id": "BIGINT", "x": "BIGINT"}, {"x": Interval(FIRST, FIRST + 2002)})
    assert set(ends) <= {*bins.edges, FIRST + 2002}
    query = clipped(bins, FIRST, FIRST + 2002, ends)
    for x in range(FIRST, FIRST + 16):
        engine.fill(made, [(1, x)])
        counts, sums = (answer.ravel().tolist() for answer in engine.exact(query.by_bin, made))
        assert abs(released(query, Type.INTEGER, counts, sums)) <= REAL_STEPS


def test_bins_are_of_what_is_summed() -> None:
    """A column clamped to [0, 10] for its bins is not summed over [-5, 10]: a stored -5 would be in
    the bin that begins at 0."""
    made = contract({"id": "BIGINT", "x": "DOUBLE"}, {"x": Interval(0.0, 10.0)})
    scope = Scope(a.Scan("people"), made)
    for low, high in ((-5.0, 10.0), (0.0, 11.0)):
        with pytest.raises(KernelError, match="one interval inside"):
            prepare_measurement(
                Measurement(clipped(REAL, low, high, (0.25, 3.0)), Rho(10**9)), scope
            )
    twice = a.Clipped(a.Scan("people"), REAL, 0.0, 10.0, ((0.25, 3.0),) * 2)
    with pytest.raises(KernelError, match="of each cell"):
        prepare_measurement(Measurement(twice, Rho(10**9)), scope)
    prepare_measurement(Measurement(clipped(REAL, 0.0, 10.0, (0.25, 3.0)), Rho(10**9)), scope)


def test_a_whole_end_above_the_interval_moves_a_double_no_further(engine: Engine) -> None:
    """2^60 + 127 beside a double is 2^60: a row at the interval's upper end was above an end that
    lies beyond it, and moved the sum 255 times as far as its noise was made for."""
    made, top = contract({"id": "INTEGER", "x": "DOUBLE"}), 2**60
    ends = top + 127, top + 128
    query = clipped(a.Bin(X, (ends[0],)), top - 1024.0, float(top), ends)
    clips = clips_of(query, Type.REAL, lattice_of(query.by_bin[1], Type.REAL))
    numbers = []
    for rows in ([], [(1, float(top))]):
        engine.fill(made, rows)
        exact = engine.exact([*query.by_bin], made)
        numbers += clipped_sums(clips, *([int(n) for n in cells.ravel()] for cells in exact))
    assert abs(numbers[1] - numbers[0]) <= REAL_STEPS
