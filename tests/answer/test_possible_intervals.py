"""Intervals of figures that noise took outside of what is possible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from support.exact_people import planned

from sqlpriv.answer import means
from sqlpriv.answer.interval_notes import without_unknown
from sqlpriv.answer.moments import Moments

Z, DRAWS, ROWS, NOISE = 1.96, 20_000, 30.0, 6.0
RECIPE = planned("SELECT AVG(age) AS v FROM people").output.recipes[0]
WIDTH = RECIPE.width


def noised_means(mean: float, noise: float = NOISE) -> Moments:
    """Returns the moments of as many groups of 30 rows with one mean, given as a part of the width
    above the domain's lower end. The draws have a seed."""
    rng = np.random.default_rng(5)
    centred = (mean - 0.5) * WIDTH
    n = ROWS + rng.normal(0, noise, DRAWS)
    s = ROWS * centred + rng.normal(0, noise * WIDTH, DRAWS)
    return Moments(n, s, np.zeros(DRAWS), (noise) ** 2, (noise * WIDTH) ** 2, 0.0, Z)


def test_the_impossible_part_of_an_interval_is_left_out() -> None:
    """30 rows near the domain's end, half of whose means noise takes outside it, under a count's
    noise of 6: of 20,000 intervals .95 and more hold, and their median is no longer than 1.4
    times the error that .95 stay below. By the farther end of the whole interval it was 1.73 to
    1.84 times as long, and held as often."""
    for mean in (0.002, 0.05, 0.95, 0.998):
        estimate = means.cells(RECIPE, noised_means(mean))
        errors = np.abs(estimate.values - RECIPE.lower - mean * WIDTH)
        assert (errors <= estimate.half_widths).mean() >= 0.95
        assert np.median(estimate.half_widths) < 1.4 * np.quantile(errors, 0.95)


def test_intervals_inside_the_domain_are_as_long_as_before() -> None:
    """A mean in the middle of the domain: its half-width is the noise's; and one of which nothing
    is known stays as long as the domain, which is NULL."""
    estimate = means.cells(RECIPE, noised_means(0.5, NOISE / 4))
    assert np.allclose(estimate.half_widths, Z * estimate.deviations)
    far = replace(noised_means(0.5), var_s=(100 * WIDTH * NOISE) ** 2)
    unknown = means.cells(RECIPE, far)
    assert (unknown.half_widths == WIDTH).mean() > 0.9
    assert np.isnan(without_unknown(RECIPE, unknown).values).mean() > 0.9
