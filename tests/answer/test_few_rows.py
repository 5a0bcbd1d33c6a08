"""Of groups of few rows, noise chooses which have a ±: of those that are stated 95 % hold, too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.exact_people import PURE, planned

from sqlpriv.answer import means
from sqlpriv.answer.interval_notes import without_unknown
from sqlpriv.answer.moments import Moments
from sqlpriv.answer.reconcile import two_levels
from sqlpriv.plan.pricing.statement import GAUSSIAN_95, LAPLACE_95

GROUPS, DEVIATION, VARIANCE, MIDDLE = 40_000, 3.0, 30.0**2, -450.0
"""Noise of 3 rows in counts and, as a row moves them, in sums, of incomes in [0, 1000] near 50."""


def held_of_stated(
    kind: str, rows: float, is_laplace: bool, ratio: float = 1.0, groups: int = GROUPS
) -> tuple[float, int]:
    """Returns which part of the stated intervals held, and how many are stated.

    Args:
        kind: VAR_POP, STDDEV_POP or AVG.
        rows: Of each group.
        is_laplace: Whether noise is Laplace's. It has no seed.
        ratio: How many times the count's noise, in rows, the sums have.
        groups: How many there are.
    """
    plain = " USING gaussian" if kind == "AVG" else ""
    (recipe,) = planned(f"SELECT {kind}(income{plain}) AS v FROM people").output.recipes
    rng, moved = np.random.default_rng(), np.array([1.0, 500.0 * ratio, 125_000.0 * ratio])
    exact = rows * np.array([1.0, MIDDLE, VARIANCE + MIDDLE**2 - 125_000])
    draw = rng.laplace if is_laplace else rng.normal
    scale = DEVIATION / (2**0.5 if is_laplace else 1)
    n, s, q = exact[:, None] + moved[:, None] * draw(0, scale, (3, groups))
    variances = (DEVIATION * moved) ** 2
    moments = Moments(n, s, q, *variances.tolist(), LAPLACE_95 if is_laplace else GAUSSIAN_95)
    truth = {"VAR_POP": VARIANCE, "STDDEV_POP": VARIANCE**0.5, "AVG": 500 + MIDDLE}[kind]
    estimate = without_unknown(recipe, means.cells(recipe, moments))
    stated = np.isfinite(estimate.values)
    apart = np.abs(estimate.values - truth)[stated]
    return float((apart <= estimate.half_widths[stated]).mean()), int(stated.sum())


@pytest.mark.parametrize("is_laplace", [True, False])
@pytest.mark.parametrize("rows", [2.0, 4.0, 9.0, 15.0])
@pytest.mark.parametrize("kind", ["VAR_POP", "STDDEV_POP", "AVG"])
def test_of_few_rows_what_is_stated_holds(kind: str, rows: float, is_laplace: bool) -> None:
    """Counts have a noise of 3 rows. Of 40,000 groups 2,400 to 39,950 have a ±, of which .953 to
    .997 held; .935 is four standard errors less than .953 of 2,400, and .92 would pass with a
    chance of 1 in 300."""
    held, stated = held_of_stated(kind, rows, is_laplace)
    assert stated > 2_000
    assert held > 0.935


@pytest.mark.parametrize("is_laplace", [True, False])
@pytest.mark.parametrize("ratio", [1.5, 2.0, 3.0])
@pytest.mark.parametrize("part", [0.6, 0.9, 1.6])
@pytest.mark.parametrize("kind", ["VAR_POP", "AVG"])
def test_it_holds_where_sums_are_noisier_than_their_count(
    kind: str, part: float, ratio: float, is_laplace: bool
) -> None:
    """Rows are so many times 2 deviations of the sums' noise in rows. Of 200,000 groups 1,900 and
    more have a ±, of which .979 and more held; .935 is ten standard errors less. While
    intervals were longer up to twice the count's noise alone, .87 to .90 of means held at a ratio
    of 2 and 3 and a part of .6: at .90 and 1,900 groups .935 has a chance of 1 in a million."""
    rows = part * 2 * DEVIATION * ratio
    held, stated = held_of_stated(kind, rows, is_laplace, ratio, 5 * GROUPS)
    assert stated > 1_500
    assert held > 0.935


@pytest.mark.parametrize("is_laplace", [True, False])
def test_means_that_noise_chose_need_longer_intervals(
    is_laplace: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: intervals as if all groups had been stated. Of means of two rows .85 held under
    Laplace noise and .89 under Gaussian noise."""
    monkeypatch.setattr(means, "reach_of_rows", lambda *given: given[-1])
    held, _ = held_of_stated("AVG", 2.0, is_laplace)
    assert held < 0.92


@pytest.mark.parametrize("kind", ["VAR_POP", "STDDEV_POP"])
def test_a_variance_is_stated_by_its_rows_alone(kind: str) -> None:
    """Sums that leave the whole domain possible: a group whose count stands out of its noise is
    stated with all that is possible, and one whose count does not is NULL. While the half-width
    decided, both were NULL, and noise in the sums chose others."""
    (recipe,) = planned(f"SELECT {kind}(income) AS v FROM people").output.recipes
    n, most = np.array([5.5, 6.5]), 500.0**2
    moments = Moments(n, n * 10.0, n * 9e4, 9.0, (3 * 500.0) ** 2, (3 * 125e3) ** 2, 1.96)
    estimate = without_unknown(recipe, means.cells(recipe, moments))
    assert np.isnan(estimate.values).tolist() == [True, False]
    value, half = float(estimate.values[1]), float(estimate.half_widths[1])
    assert half == pytest.approx(max(value, (most if kind == "VAR_POP" else 500.0) - value))


@pytest.mark.parametrize("level", ["strata", "everybody"])
def test_means_that_agreement_moves_reach_to_the_farther_end(level: str) -> None:
    """Everybody's own mean beside that of 8 strata, with 1 row in all and a noise of 3 rows in each
    figure, 40,000 times. Of 8,700 strata and 3,300 of everybody that have a ± .997 held; .935 has
    no chance. While intervals ended where the domain did before the move .89 and .85 held, of which
    .935 has none either."""
    on_own = planned("SELECT AVG(income USING gaussian) AS v FROM people").output.recipes[0]
    by_race = planned("SELECT AVG(income USING gaussian) AS v FROM people STRATIFY BY race")
    rng, moved = np.random.default_rng(), DEVIATION * np.array([1.0, 500.0])

    def measured(strata: int) -> Moments:
        exact = np.array([1.0, MIDDLE])[:, None, None] / strata
        n, s = exact + moved[:, None, None] * rng.normal(0, 1, (2, strata, GROUPS))
        return Moments(n, s, np.zeros_like(n), *(moved**2).tolist(), 0.0, GAUSSIAN_95)

    recipe = by_race.output.recipes[0]
    levels = two_levels(recipe, measured(8), None, (on_own, measured(1)))
    estimate = without_unknown(recipe, levels[level == "everybody"])
    stated = np.isfinite(estimate.values)
    apart = np.abs(estimate.values - 500 - MIDDLE)[stated]
    assert stated.sum() > 2_000
    assert (apart <= estimate.half_widths[stated]).mean() > 0.935


@pytest.mark.parametrize(("noise", "is_known"), [(1.0, False), (1e-3, True)])
@pytest.mark.parametrize("kind", ["VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP"])
def test_with_weights_a_variance_of_which_nothing_is_known_is_null(
    kind: str, noise: float, is_known: bool
) -> None:
    """Weights are not counted rows, so the half-width decides, not cut at what is possible. While
    it was, such figures stood there with all that is possible; a root's interval, which is never
    as long as all roots, stood there always. The twin has little noise."""
    (recipe,) = planned(f"SELECT {kind}(income) AS v FROM people STRATIFY BY sex").output.recipes
    n, variances = np.full(2, 50.0), (noise * 30 * np.array([1.0, 500.0, 125e3])) ** 2
    moments = Moments(n, n * MIDDLE, n * 9e4, *variances.tolist(), GAUSSIAN_95)
    estimate = means.combine_strata(recipe, moments, np.array([0.2, 0.8]))
    assert np.isfinite(without_unknown(recipe, estimate).values) == is_known


def test_a_stratum_of_few_rows_that_is_drawn_to_all_is_stated() -> None:
    """A plain mean in [1, 3] of 2 rows beside 900, counted with a noise of 3 rows: drawn together
    it is like everybody's. While its own rows decided it was NULL, as the twin's is."""
    sql = "SELECT AVG(race USING pooled) AS v FROM people STRATIFY BY sex"
    (recipe,) = planned(sql, PURE).output.recipes
    assert not recipe.using
    n = np.array([2.0, 900.0])
    moments = Moments(n, n * 0.4, 0 * n, 9.0, 9.0, 0.0, LAPLACE_95)
    for of, is_known in ((recipe, True), (replace(recipe, pooled=False), False)):
        strata, _ = two_levels(of, moments, None, None)
        assert np.isfinite(without_unknown(of, strata).values).tolist() == [is_known, True]
