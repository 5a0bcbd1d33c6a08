"""Strata are moved to add up to the population, as far as they are not known better themselves."""

from __future__ import annotations

import numpy as np
import pytest

from sqlpriv.synth.adaptive.joint.pool_layout import Layout
from sqlpriv.synth.adaptive.strata_sum import reconcile_with_population
from sqlpriv.synth.adaptive.stratum_run import Run
from sqlpriv.synth.api.method import Space
from sqlpriv.synth.inference.mirror_descent import estimate
from sqlpriv.synth.models.clique_model import CliqueModel
from sqlpriv.synth.models.tree_model import Noisy


def model_of(layout: Layout, shares: list[float]) -> CliqueModel:
    """Returns the model of a stratum of 1,000 rows with these shares of the one column."""
    table = Noisy(1_000 * np.array(shares), np.ones(2))
    return estimate(layout.graph, {(0,): table}, 1_000.0)


@pytest.mark.parametrize(("sigma", "most"), [(5.0, 0.01), (500.0, 0.2)])
def test_noise_of_the_population_does_not_replace_what_strata_measured(
    sigma: float, most: float
) -> None:
    """The population's table is 400 rows off, its noise being 200. Strata that were measured with a
    noise of 5 stay where they are; the twin, of a noise of 500, is moved by .1 and more."""
    layout = Layout(Space((2,), (2,)))
    population = {(0,): Noisy(np.array([1_400.0, 600.0]), np.full(2, 200.0**2))}
    everybody = Run(layout.graph, 0, 0, tables=population, totals=[(2_000.0, 1.0)])
    models = [model_of(layout, [0.7, 0.3]), model_of(layout, [0.3, 0.7])]
    moved = reconcile_with_population(everybody, models, [0, 1], layout, {0: sigma})
    off = [abs(m.shares((0,))[0] - share) for m, share in zip(moved, (0.7, 0.3), strict=True)]
    assert max(off) < most
    assert max(off) > most / 4 or sigma == 5.0
