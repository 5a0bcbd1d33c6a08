"""Everybody's own clipped sum beside the strata's: what either level gains, and what it costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bench.coverage import ExactTable, budget_of, plan_of, rows_of, run
from bench.mean_tables import StratifiedRows
from bench.value_shapes import SHAPES

from sqlpriv.answer import means
from sqlpriv.answer.intervals.estimate import Estimate
from sqlpriv.answer.moments import Moments
from sqlpriv.answer.reconcile import reconcile, two_levels
from sqlpriv.answer.rounds import adaptive_means
from sqlpriv.dialect import read
from sqlpriv.kernel.terms.algebra import Clipped
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.plan.aggregates.cost_of_strata import largest_own_part, strata_left
from sqlpriv.plan.planner import plan
from sqlpriv.plan.pricing.tuned_constants import STRATA_LOSE


def test_everybody_errs_less_and_the_strata_little_more() -> None:
    """Clamped log-normal values, 20,000 in 18 strata, zCDP, 200 runs each: everybody's root mean
    square error is less than .7 of that without an own sum. A ratio of 30 runs has a standard
    deviation of .19 of itself (20 ratios were measured), one of 200 runs of .075; strata, of
    3,600 errors each, lose a quarter at most, give or take 2 %."""
    rows = rows_of(SHAPES["clamped top"], 20_000, "18")
    by_default = run(rows, "zcdp", "auto", 200)
    strata_alone = run(rows, "zcdp", "auto", 200, options=", population_share = 0")
    everybody = [np.sqrt((one.whole_errors**2).mean()) for one in (by_default, strata_alone)]
    groups = [np.sqrt((one.errors**2).mean()) for one in (by_default, strata_alone)]
    assert everybody[0] < 0.7 * everybody[1]
    assert groups[0] < 1.4 * groups[1]
    assert by_default.whole_covered.mean() > 0.8


@pytest.mark.parametrize(
    ("options", "kind", "strata", "own_sums"),
    [("", "zcdp", "18", 1), (", population_share = 0", "zcdp", "18", 0), ("", "zcdp", "1", 0)],
)
def test_the_own_sum_is_part_of_the_price(
    options: str, kind: str, strata: str, own_sums: int
) -> None:
    """What is paid is what was announced."""
    rows = rows_of(SHAPES["clamped top"], 20_000, strata)
    table, asked = ExactTable(rows), list[Measurement]()

    def measure(batch: list[Measurement]) -> tuple[Release, ...]:
        asked.extend(batch)
        return table.release(batch)

    by = "" if strata == "1" else " STRATIFY BY g0"
    sql = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1{options}) AVG(x) AS x FROM people"
    (statement,) = read(sql + by)
    planned = plan(statement, table.contract, budget_of(kind), None)
    adaptive_means.ask_rounds(planned.rounds, measure(list(planned.measurements)), measure)
    sums = [m.query for m in asked if isinstance(m.query, Clipped)]
    assert sum(1 for one in sums if by and not one.strata) == own_sums
    assert sum(m.price.nano for m in asked) == planned.price.nano


@pytest.mark.parametrize("power", [1, 2])
def test_no_stratum_errs_more_than_a_quarter_more(power: int) -> None:
    """Three of which a third is the noise of their sums, and three that are all noise: a hundredth
    more of the price is too much. Once both levels agree they err less, by the formulas of
    `reconcile`, which ± do not state."""
    of_sums, variance = np.array([1.0, 4.0] * 3), np.array([3.0, 4.0] * 3)
    shares = np.full(6, 1 / 6)
    part = largest_own_part(of_sums, variance, power)

    def grown(f: float) -> np.ndarray:
        return variance - of_sums + of_sums / (1 - f) ** power

    assert np.sqrt(grown(part) / variance).max() <= STRATA_LOSE
    assert np.sqrt(grown(part + 0.01) / variance).max() > STRATA_LOSE
    own = (shares**2 @ np.sqrt(of_sums)) ** 2 / part**power
    strata = Estimate(np.zeros(6), np.sqrt(grown(part)), 2.0)
    whole = Estimate(np.zeros(()), np.sqrt(shares**2 @ grown(part)), 2.0)
    agreed, _ = reconcile(strata, whole, Estimate(np.zeros(()), np.sqrt(own), 2.0), shares)
    left = strata_left(part, of_sums, variance, shares, power)
    assert (agreed.deviations**2 <= left + 1e-9).all()  # v is pulled, too, not s alone
    assert (left < grown(part)).all()


@pytest.mark.parametrize("kind", ["pure", "zcdp"])
def test_no_stratums_mean_is_moved_out_of_the_domain(kind: str) -> None:
    """Two strata whose means are at the domain's lower end, everybody's own figure lower than
    theirs: to agree they would go below it, as the twin, `reconcile` alone, lets them."""
    rows = StratifiedRows(np.zeros(40), np.repeat([0, 1], 20), (2,), 0, 1000, whole=True)
    recipe = plan_of(rows, kind, "plain").output.recipes[0]
    n, s = np.array([20.0, 20.0]), np.array([-9_900.0, -9_950.0])  # around the middle, 500
    of_strata = Moments(n, s, np.zeros(2), 0.0, 400.0**2, 0.0, 2.0)
    of_all = Moments(np.array([40.0]), np.array([-20_000.0]), np.zeros(1), 0.0, 1.0, 0.0, 2.0)
    strata, whole = two_levels(recipe, replace(of_strata, everybody=of_all), None, None)
    assert (strata.values >= 0).all()
    assert float(whole.values) == pytest.approx(0.0, abs=0.1)
    share = n / n.sum()
    alone = means.combine_strata(recipe, of_all, None)
    apart = means.combine_strata(recipe, of_strata, None)
    moved, _ = reconcile(means.cells(recipe, of_strata), apart, alone, share)
    assert moved.values.min() < -1


def test_a_narrow_domain_has_everybodys_own_sum_beside_the_strata() -> None:
    """Whole numbers from 0 to 5, 20,000 in 18 strata, zCDP, 200 runs: the error of everybody's
    figure is less than .6 of the twin's, which asks the strata alone; a ratio of two root mean
    squares of 200 has a standard deviation of .07 of itself.
    Strata lose a quarter at most, and 3,600 errors tell it to 2 %. Intervals hold."""
    rows = rows_of(SHAPES["integers 0..5"], 20_000, "18")
    both = run(rows, "zcdp", "auto", 200)
    alone = run(rows, "zcdp", "auto", 200, options=", population_share = 0")
    everybody = [np.sqrt((one.whole_errors**2).mean()) for one in (both, alone)]
    groups = [np.sqrt((one.errors**2).mean()) for one in (both, alone)]
    assert everybody[0] < 0.6 * everybody[1]
    assert groups[0] < 1.4 * groups[1]
    assert both.whole_covered.mean() > 0.8  # of .95: ten standard deviations off
    assert both.covered.mean() > 0.9
    assert not both.doubtful.any()
