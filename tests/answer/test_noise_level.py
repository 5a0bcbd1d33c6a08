"""The level that a count's noise rarely passes, by the exact distribution of whole-number noise."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from sqlpriv.answer.rounds.tail_model import noise_level
from sqlpriv.kernel.terms.algebra import Count, Scan
from sqlpriv.kernel.terms.budget import Epsilon, Price, Rho
from sqlpriv.kernel.terms.release import Release

SCALES = (0.1, 0.2, 0.25, 0.3, 0.5, 0.8, 1.0, 2.0, 5.5, 40.0)
CHANCES = (0.05, 1e-3, 1e-5, 1e-8)


def _chance_above(level: float, log_weight: np.ndarray) -> float:
    """Returns P(z > level) of z in -2000 .. 2000 with the given logarithms of its weights."""
    numbers = np.arange(-2000, 2001)
    weights = np.exp(log_weight)
    return float(weights[numbers > level].sum() / weights.sum())


def _laplace(scale: float) -> tuple[float, np.ndarray]:
    """Returns the deviation of discrete Laplace noise and its weights' logarithms."""
    numbers = np.abs(np.arange(-2000, 2001))
    return math.sqrt(0.5) / math.sinh(0.5 / scale), -numbers / scale


def _level(price: Price, sigma: float, chance: float) -> float:
    return noise_level(Release(0, Count(Scan("t")), np.zeros(1), sigma, price), chance)


@pytest.mark.parametrize("scale", SCALES)
def test_laplace_noise_passes_it_no_more_often(scale: float) -> None:
    sigma, log_weight = _laplace(scale)
    for chance in CHANCES:
        level = _level(Epsilon(1), sigma, chance)
        assert _chance_above(level, log_weight) <= chance
        assert _chance_above(level - 1.001, log_weight) > chance


@pytest.mark.parametrize("sigma", [scale for scale in SCALES if scale >= 0.2])
def test_gaussian_noise_passes_it_no_more_often(sigma: float) -> None:
    log_weight = -((np.arange(-2000, 2001) / sigma) ** 2) / 2
    for chance in CHANCES:
        level = _level(Rho(1), sigma, chance)
        assert _chance_above(level, log_weight) <= chance * (1 + 1e-9)
        assert _chance_above(level - 1.51, log_weight) > chance


def test_levels_of_continuous_noise_are_passed_more_often() -> None:
    """The twin: noise of the same deviation, as if it were no whole number."""
    sigma, log_weight = _laplace(0.25)
    continuous = sigma * math.log(0.5 / 1e-5) / math.sqrt(2)
    assert _chance_above(continuous, log_weight) > 30 * 1e-5
    log_weight = -((np.arange(-2000, 2001) / 0.5) ** 2) / 2
    assert _chance_above(0.5 * NormalDist().inv_cdf(1 - 0.05), log_weight) > 2 * 0.05
