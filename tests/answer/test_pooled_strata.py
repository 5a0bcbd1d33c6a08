"""`AVG(x USING pooled)`: strata that borrow strength from each other."""

from __future__ import annotations

import numpy as np
import pytest
from support.exact_people import planned

from sqlpriv.answer.means import Moments, main_effects
from sqlpriv.answer.pooled_strata import draw_together
from sqlpriv.answer.reconcile import two_levels
from sqlpriv.errors import Refused


def _errors(apart: np.ndarray, deviations: np.ndarray, effects: np.ndarray | None) -> np.ndarray:
    """Mean absolute errors in 100 draws of noise: pooled, the strata's own, everybody's for all."""
    rng = np.random.default_rng(5)
    errors = []
    for _ in range(100):
        own = apart + rng.normal(0, deviations)
        pooled = draw_together(own, deviations**2, effects, 1000.0).means
        errors.append([np.abs(guess - apart).mean() for guess in (pooled, own, 0 * own)])
    return np.mean(errors, axis=0)


def test_strata_drawn_together_are_nearer_than_their_own_means_and_than_everybodys() -> None:
    """60 strata around everybody with deviation 10, noise from 1 to 100: below .7 of the better of
    the two in 100 draws. The twin has strata as far apart as the domain, and takes their own."""
    rng = np.random.default_rng(3)
    deviations = 10 ** rng.uniform(0, 2, 60)
    pooled, own, everybody = _errors(rng.normal(0, 10, 60), deviations, None)
    assert pooled < 0.7 * min(own, everybody)
    pooled, own, _ = _errors(rng.normal(0, 400, 60), deviations, None)
    assert 0.9 * own < pooled <= 1.05 * own


def test_a_stratum_borrows_from_those_with_its_keys() -> None:
    """6 x 8 strata whose keys add up to their means: pooling by keys errs less than without."""
    rng, effects = np.random.default_rng(4), main_effects((6, 8))
    apart = effects @ rng.normal(0, 20, 14)
    deviations = np.where(np.arange(48) % 2, 100.0, 2.0)
    assert _errors(apart, deviations, effects)[0] < 0.8 * _errors(apart, deviations, None)[0]


def test_a_stratum_without_rows_is_like_everybody() -> None:
    """One stratum of 1,000 rows has its own mean, one of none everybody's; the twin has none."""
    select = "SELECT sex, AVG(income{}) AS a FROM people STRATIFY BY sex"
    for using, like in ((" USING pooled", True), ("", False)):
        recipe = planned(select.format(using)).output.recipes[0]
        moments = Moments(np.array([1000.0, -1.0]), np.array([90_000.0, 300.0]), np.zeros(2),
                          1.0, 250_000.0, 0.0, 2.0)  # fmt: skip
        strata, everybody = two_levels(recipe, moments, None, None)
        assert strata.values[0] == pytest.approx(590, abs=2)
        assert (abs(strata.values[1] - everybody.values) < 100) == like


def test_pooled_needs_strata() -> None:
    with pytest.raises(Refused, match="write STRATIFY BY"):
        planned("SELECT AVG(income USING pooled) AS a FROM people")


def test_half_widths_hold_on_average_over_strata() -> None:
    """200 draws of 60 strata, deviation 10, noise from 1 to 100: of 12,000 means 92 to 98 % are in
    their intervals. The twin is told of half the noise, and holds less."""
    rng, held = np.random.default_rng(6), {1.0: [], 0.5: []}
    for _ in range(200):
        apart, deviations = rng.normal(0, 10, 60), 10 ** rng.uniform(0, 2, 60)
        own = apart + rng.normal(0, deviations)
        for told, covered in held.items():
            drawn = draw_together(own, (told * deviations) ** 2, None, 1000.0)
            covered.append(np.abs(drawn.means - apart) <= 1.96 * drawn.variances**0.5)
    assert 0.92 < np.mean(held[1.0]) < 0.98
    assert np.mean(held[0.5]) < 0.92


def test_smooth_draws_strata_together_and_needs_a_truth_value() -> None:
    select = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, smooth = {}) AVG(income) AS a"
    stratified = select + " FROM people STRATIFY BY sex"
    assert planned(stratified.format("true")).output.recipes[0].pooled
    assert not planned(stratified.format("false")).output.recipes[0].pooled
    assert not planned(select.format("true") + " FROM people").output.recipes[0].pooled
    with pytest.raises(Refused, match="smooth is true or false"):
        planned(stratified.format("1"))
