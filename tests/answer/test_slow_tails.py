"""The slowest tails that noised counts allow, and the intervals that count on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from bench.coverage import rows_of, run
from bench.value_shapes import SHAPES, ValueShape
from support.exact_people import planned

from sqlpriv.answer.interval_notes import interval_notes
from sqlpriv.answer.moments import Moments
from sqlpriv.answer.rounds import tail_model
from sqlpriv.answer.rounds.histogram import pooled_histogram, slow_tails, tail_constants
from sqlpriv.answer.rounds.histogram.pooled_bins import BinEnds, excess_above
from sqlpriv.plan.aggregates.means import mean_bins
from sqlpriv.plan.pricing.tuned_constants import SECTIONS
from sqlpriv.session.session import Session

ROWS, SIGMA = 20_000, 40.0
ENDS = np.concatenate([[0.0], 1e6 * 2.0 ** (np.arange(-48, 1) / 4)])


def _beyond_last_visible(below: Callable[[float], float]) -> tuple[float, float, float]:
    """Returns what a distribution holds beyond the bins that stand out of noise, what an interval
    counts on by its expected counts, and the slowest tails, in units of x."""
    bins = BinEnds.between(ENDS)
    counts = ROWS * np.diff([below(end) for end in ENDS])
    visible = np.flatnonzero(counts > 3 * SIGMA)
    tails = slow_tails.slow_tails(
        counts,
        counts,
        np.isin(np.arange(counts.size), visible),
        bins,
        ROWS,
        (SIGMA, 5.0),
        np.zeros(counts.size),
    )
    excess = excess_above(bins, np.array([bins.highest[visible[-1]]])).excess
    held = float((counts / ROWS) @ excess[0])
    counted, slowest = (
        float(slow_tails.believed_beyond(tails.above, excess, part)[0])
        for part in (tail_constants.COUNTED, tail_constants.SLOWEST)
    )
    return held, counted, slowest


@pytest.mark.parametrize(
    "below",
    [
        lambda x: 1 - max(x / 300, 1) ** -1.5,
        lambda x: 1 - max(x / 300, 1) ** -2.0,
        lambda x: 1 - np.exp(-x / 700),
        lambda x: NormalDist(7, 1).cdf(np.log(max(x, 1e-9))),
    ],
    ids=["Pareto 1.5", "Pareto 2", "exponential", "log-normal"],
)
def test_an_interval_counts_on_no_less_than_a_tail_holds(
    below: Callable[[float], float],
) -> None:
    """The counts have no noise, so that the tail itself must be among those that are believed, up
    to the grid of ξ. The slowest is not just any: it holds 20 times as much at most."""
    held, counted, slowest = _beyond_last_visible(below)
    assert held <= 1.1 * counted
    assert held <= slowest
    assert counted <= slowest < max(20 * held, 30.0)


LATE = ValueShape(
    lambda r, n: np.where(r.random(n) < 0.6, 20.0, 10 * (1 + r.pareto(1.5, n))), 0, 1e6
)


def _held(shape: ValueShape, rows: int, kind: str) -> int:
    """Returns how many of 120 of everybody's intervals hold, of 40 tables."""
    tables = [rows_of(shape, rows, "1", 7 + seed) for seed in range(40)]
    return sum(int(run(table, kind, "auto", 3).whole_covered.sum()) for table in tables)


def test_a_tail_far_below_the_domains_end_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """20,000 values of 20 and a power law beside, in [0, 1e6]. Of 480 runs .967 held: fewer than
    104 of 120 have a chance of 1e-6. Twin: a grid whose first bin holds nearly all of them; .675 of
    480 runs held, from 36 to 43 of 60, and 104 of 120 are eight standard deviations off."""
    assert _held(LATE, 20_000, "pure") >= 104
    monkeypatch.setattr(mean_bins, "FINE_SECTIONS", SECTIONS)
    assert _held(LATE, 20_000, "pure") < 104


def test_a_tail_is_fitted_to_what_is_far_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine tenths are exponential and a tenth is a power law; the counts have no noise. The
    interval counts on .70 of what is hidden; the twin, fitted to the bulk alike, on .38."""

    def part_counted_on() -> float:
        held, counted, _ = _beyond_last_visible(
            lambda x: 1 - 0.9 * np.exp(-x / 500) - 0.1 * max(x / 500, 1) ** -1.6
        )
        return counted / held

    assert part_counted_on() > 0.6
    monkeypatch.setattr(slow_tails, "INNER_MISFIT", 0.0)
    assert part_counted_on() < 0.5


def test_no_tail_begins_where_counts_have_fallen_to_nothing() -> None:
    """20,000 values, uniform up to an end inside [0, 1e6]; 2 σ of noise in each of the bins beyond,
    spread as a tail may be, would move the mean by 200."""
    held, _, most = _beyond_last_visible(lambda x: min(x / 1100.0, 1.0))
    assert held < 1
    assert most < 20


def test_an_interval_holds_where_the_noise_hides_a_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,000 rows of a power law under zCDP: 8 tables, 10 runs of each. Of 25 runs of each .95 held,
    .88 of two of the tables; fewer than 55 of 80 are ten standard deviations off. Twin: no slow
    tail is counted on; .33 held, and 55 are seven standard deviations off."""
    tables = [rows_of(SHAPES["heavy negative"], 1_000, "1", seed) for seed in range(8)]

    def held() -> int:
        return sum(int(run(rows, "zcdp", "auto", 10).whole_covered.sum()) for rows in tables)

    assert held() >= 55
    monkeypatch.setattr(
        tail_model, "slow_tails", lambda counts, *_: slow_tails.no_tails(counts.size)
    )
    assert held() < 55


@pytest.mark.parametrize("shape", ["uniform", "integers 0..5", "clamped top"])
def test_intervals_of_distributions_that_end_are_as_long_as_before(
    monkeypatch: pytest.MonkeyPatch, shape: str
) -> None:
    """20,000 rows, 15 runs: no note, and the median half-width grows by less than a tenth. It was
    the same but for 1.3 % of 60 runs, whose deciles were within 1 %. The test below is the twin."""
    rows = rows_of(SHAPES[shape], 20_000, "1")
    now = run(rows, "pure", "auto", 15)
    monkeypatch.setattr(
        tail_model, "slow_tails", lambda counts, *_: slow_tails.no_tails(counts.size)
    )
    before = run(rows, "pure", "auto", 15)
    assert now.doubtful.sum() <= 1
    assert np.median(now.whole_halves) < 1.1 * np.median(before.whole_halves)


def test_intervals_of_a_power_law_are_longer_for_slow_tails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """1,000 rows under zCDP, 45 runs: of 100, one in 25 half-widths was below 14.5, and without
    slow tails one in eight was above. A median on the wrong side has a chance below 1e-8."""
    rows = rows_of(SHAPES["heavy negative"], 1_000, "1")
    assert np.median(run(rows, "zcdp", "auto", 45).whole_halves) > 14.5
    monkeypatch.setattr(
        tail_model, "slow_tails", lambda counts, *_: slow_tails.no_tails(counts.size)
    )
    assert np.median(run(rows, "zcdp", "auto", 45).whole_halves) < 14.5


def test_equal_values_have_short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """20,000 times 42 in [0, 1000], pure epsilon, 120 runs: one half-width in 17 is above .1, and
    30 of 120 have a chance of 4e-9. The twin knows no tail that ends in its first bin: half of its
    half-widths are above .1, and fewer than 30 of 120 have a chance below 1e-7."""
    rows = rows_of(SHAPES["constant"], 20_000, "1")

    def long_ones() -> int:
        return int((run(rows, "pure", "auto", 120).whole_halves > 0.1).sum())

    assert long_ones() < 30
    monkeypatch.setattr(slow_tails, "COARSE", tail_constants.FINE)
    assert long_ones() >= 30


def test_values_that_end_have_few_notes_and_short_intervals() -> None:
    """1,000 bimodal values in [0, 100,000], zCDP, 48 runs. Of 150, half-widths had the median 120
    and one in five was above 250; a note stood under one in five, and all held. Half of 48 above
    250, or 28 notes, have a chance of 1e-8, and 16 that do not hold a smaller one. The twin is a
    power law, whose half-widths are ten times as long."""
    ends = run(rows_of(SHAPES["bimodal"], 1_000, "1"), "zcdp", "auto", 48)
    assert ends.doubtful.sum() < 28
    assert np.median(ends.whole_halves) < 250
    assert ends.whole_covered.sum() > 32
    falls = run(rows_of(SHAPES["Pareto 1.5"], 1_000, "1"), "zcdp", "auto", 24)
    assert np.median(falls.whole_halves) > 500


@pytest.mark.parametrize(("unseen", "said"), [(40.0, True), (20.0, False)])
def test_what_a_tail_without_variance_may_move_is_said(unseen: float, said: bool) -> None:
    """The half-width is 2 x 10,000 / 1,000: what moves the mean by 1.5 times as much is told."""
    output = planned("SELECT AVG(income) AS a FROM people").output
    zero = np.zeros(1)
    n = np.array([1_000.0])
    moments = Moments(n, zero, zero, 1.0, 1e8, 0.0, 2.0, unseen=np.array([unseen]))
    notes = "; ".join(interval_notes(output, {output.recipes[0]: moments}))
    assert ("as many as move a by 40" in notes) == said


def test_a_slow_tail_is_no_reason_to_doubt_what_bins_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells of 55 rows at 10 or 250, some of which are clipped below 250: what other cells' rows
    are there is visible. While tails were compared with a cell's own rows everybody's half-width
    was 500 instead of 4; 12 runs. The twin takes ten times what is visible for allowed tails."""
    rows = rows_of(SHAPES["two atoms"], 1_000, "18")
    now = run(rows, "pure", "auto", 12)
    assert np.median(now.whole_halves) < 10

    def with_visible(counts: np.ndarray, *_: object) -> slow_tails.BothSlowTails:
        shares = 10 * np.maximum(counts, 0)[None] / counts.sum()
        side = slow_tails.SlowTails(shares, np.ones(1))
        return slow_tails.BothSlowTails(side, side)

    monkeypatch.setattr(tail_model, "slow_tails", with_visible)
    assert np.median(run(rows, "pure", "auto", 12).whole_halves) > 10


@pytest.mark.parametrize("domain", [(0, 9), (-3, 0), (0, 1)])
def test_bins_of_one_whole_number_have_tails(tmp_path: Path, domain: tuple[int, int]) -> None:
    """A bin of a narrow column is as wide as nothing: a first one gave no scale to fit with."""
    lower, upper = domain
    make = f"""
    CREATE TABLE people AS SELECT i AS id, i % 2 AS sex, {lower} + i % {upper - lower + 1} AS n
        FROM range(3000) AS r(i);
    ALTER TABLE people SET PRIVACY (
        KEY (id), BOUND (rows_per_unit = 1), COLUMN sex IN (0, 1),
        COLUMN n BETWEEN ({lower}, {upper}), BUDGET (epsilon = 10)
    );"""
    asked = "sex, AVG(n USING quantile) AS a FROM people GROUP BY ROLLUP (sex)"
    with Session(tmp_path / "v.duckdb", role="owner") as owner:
        owner.run(make)
        table = owner.run(f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 2) {asked}")[
            -1
        ].table
    assert table is not None
    # more than 40 standard deviations of the noise in a mean of 1,500 rows at a part of the price
    assert table.column("a").to_pylist() == pytest.approx([(lower + upper) / 2] * 3, abs=1.5)


def test_a_mass_of_equal_values_is_no_part_of_the_tail_around_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """5,000 of 20,000 rows lie at 1,150, in the midst of a power law x^-1.7 from 300 on, and are
    the last that noise shows: in 20 draws of noise intervals count on what the tail holds beyond
    them. In the twin nothing is taken for a mass, and a tail that begins in that bin falls to
    nothing at once in some draws."""
    bins, rng = BinEnds.between(ENDS), np.random.default_rng(2)
    above = np.array([1 - max(end / 300, 1.0) ** -1.7 for end in ENDS])
    exact = 5_000 * np.diff(above)
    mass = int(np.searchsorted(ENDS, 1_150) - 1)
    is_beyond = np.arange(exact.size) > mass
    is_visible = ~is_beyond & (exact > 3 * SIGMA)
    excess = excess_above(bins, np.array([13_000.0])).excess
    held = float((exact / ROWS) @ excess[0])
    draws = exact + rng.laplace(0, SIGMA / 2**0.5, (20, exact.size))
    draws[:, mass] += 5_000

    def held_in() -> int:
        enough = 0
        for counts in draws:
            merged = np.where(is_beyond, counts[is_beyond].mean(), counts)
            noise, nothing = (SIGMA, 5.0), np.zeros(exact.size)
            tails = slow_tails.slow_tails(counts, merged, is_visible, bins, ROWS, noise, nothing)
            part = tail_constants.COUNTED
            enough += bool(slow_tails.believed_beyond(tails.above, excess, part)[0] >= held)
        return enough

    assert held_in() >= 19
    monkeypatch.setattr(pooled_histogram, "MASS", 0.0)
    assert held_in() < 19
