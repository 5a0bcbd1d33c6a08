"""Noisy tables moved towards what was believed of them: empirical Bayes, cell by cell.

A stratum's cell is taken to lie around the count m that its prior expects with a standard deviation
of scale * m (and a little for cells that nobody is expected in). How far strata go from their prior
differs from cell to cell - most are close to it, some relation of theirs is their own - so the
scale is a mixture over SCALES, whose weights are estimated from all cells of the stratum together
by expectation maximisation (Kiefer and Wolfowitz 1956; Efron 2016, "Empirical Bayes deconvolution
estimates"; the mixture over scales is what makes shrinkage robust, as in Carvalho, Polson and Scott
2010). To that comes the noise that m itself was measured with. A cell's estimate is its posterior
mean. Only noised numbers are looked at.

Cells of one column are not off by themselves alone: where a stratum is older than others, all cells
of its ages are a little off, each by less than its noise. Moved cell by cell they would all stay
where the prior has them, and so would the mean. So the mean level of a one-way table is moved
first, by the same rule: the prior is tilted (p_l to p_l exp(theta l), the least change in relative
entropy: Csiszar 1975) until its mean level is the posterior mean of the stratum's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import reduce

import numpy as np

from sqlpriv.synth.graph.junction_tree import Clique
from sqlpriv.synth.inference.one_way_tables import Floats
from sqlpriv.synth.models.tree_model import Noisy

SCALES = np.array([0.001, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 4.0, 10.0])
LIKELY = np.exp(-0.5 * (np.log(SCALES / 0.05) / 1.2) ** 2)
"""The scales that are expected beforehand: about a twentieth, within a factor of 3."""
AS_CELLS = 20.0
"""How many cells that expectation weighs."""
EMPTY = 0.2
"""The part of a mean cell nearby by which a cell of any expectation may be off at scale 1."""
KEPT = 0.1
"""What is left at least of a shrunk table's variance, as a share of its noise's."""
STEPS = 8
MOST_TILT = 20.0
"""The logarithm of what a tilt multiplies the outermost level by, at most."""
TILTS = 50
"""Halvings."""


def shrunk(
    tables: Mapping[Clique, Noisy], expected: Mapping[Clique, Floats], doubt: float = 0.0
) -> dict[Clique, Noisy]:
    """Returns the tables moved towards what was expected of them, with the posterior's variance.

    Args:
        tables: Of one stratum.
        expected: For each of them, of its shape: counts, at least 0.
        doubt: The variance of the noise in what is expected over that of the tables' own.
    """
    if not tables:
        return {}
    expected = _with_mean_levels(tables, expected, doubt)
    reach = _concatenate([_reach(expected[c]) for c in tables])
    apart = _concatenate([noisy.values - expected[c] for c, noisy in tables.items()])
    noise = _concatenate([noisy.variance for noisy in tables.values()])
    keep = _kept_shares(reach, apart, noise, doubt)
    ends = np.cumsum([noisy.values.size for noisy in tables.values()])[:-1]
    return {
        c: _move_towards(noisy, expected[c], k.reshape(noisy.values.shape))
        for (c, noisy), k in zip(tables.items(), np.split(keep, ends), strict=True)
    }


def _with_mean_levels(
    tables: Mapping[Clique, Noisy], expected: Mapping[Clique, Floats], doubt: float
) -> dict[Clique, Floats]:
    """Returns what is expected, of one-way tables with the posterior mean of their mean level."""
    ones = [c for c, noisy in tables.items() if len(c) == 1 and expected[c].sum() > 0]
    if not ones:
        return dict(expected)
    centred = [_centred_levels(expected[c]) for c in ones]
    reach = [
        math.sqrt(float(expected[c].sum()) * float(expected[c] @ z**2))
        for c, z in zip(ones, centred, strict=True)
    ]
    pairs = list(zip(ones, centred, strict=True))
    apart = np.array([float((tables[c].values - expected[c]) @ z) for c, z in pairs])
    noise = np.array([float(tables[c].variance @ z**2) for c, z in pairs])
    keep = _kept_shares(np.array(reach), apart, noise, doubt)
    moved = {
        c: _tilted(expected[c], z, float(share))
        for (c, z), share in zip(pairs, keep * apart, strict=True)
    }
    return dict(expected) | moved


def _centred_levels(counts: Floats) -> Floats:
    levels = np.arange(counts.size, dtype=np.float64)
    centred: Floats = levels - float(counts @ levels) / float(counts.sum())
    return centred


def _tilted(counts: Floats, levels: Floats, moment: float) -> Floats:
    """Returns the counts times exp(theta levels), scaled to their sum, with this first moment as
    nearly as a tilt within MOST_TILT makes it.

    >>> _tilted(np.array([2.0, 2.0]), np.array([-0.5, 0.5]), 1.0).round(6).tolist()
    [1.0, 3.0]
    """
    wide = max(float(np.abs(levels).max()), 1e-300)
    low, high = -MOST_TILT / wide, MOST_TILT / wide
    tilted = counts
    for _ in range(TILTS):
        theta = (low + high) / 2
        tilted = counts * np.exp(theta * levels)
        tilted *= float(counts.sum()) / float(tilted.sum())
        low, high = (theta, high) if float(tilted @ levels) < moment else (low, theta)
    return tilted


def _reach(expected: Floats) -> Floats:
    """Returns how far cells may be off at scale 1. What is near to a cell are those that share a
    level with it, and of its levels the rarest counts: a level that hardly anybody has does not get
    the room of one that many have."""
    axes = range(expected.ndim)
    if len(axes) == 1:
        near = [expected.mean()]
    else:
        near = [expected.mean(axis=tuple({*axes} - {i}), keepdims=True) for i in axes]
    rarest: Floats = reduce(np.minimum, near)
    return expected + EMPTY * rarest


def _kept_shares(reach: Floats, apart: Floats, noise: Floats, doubt: float) -> Floats:
    """Returns which share of its distance from the prior each cell keeps, shape (cells,). A prior
    with noise of its own is off by that, too, but not by more than the cell's own reach."""
    spread = (np.maximum(reach, 1e-9)[:, None] * SCALES) ** 2
    spread += np.minimum(doubt * noise, reach**2)[:, None]
    whole = spread + noise[:, None]
    logs = -0.5 * (np.log(whole) + apart[:, None] ** 2 / whole)
    each = component_probabilities(logs, AS_CELLS * LIKELY / LIKELY.sum())
    kept_shares: Floats = (each * (spread / whole)).sum(axis=1)
    return kept_shares


def component_probabilities(logs: Floats, prior: Floats) -> Floats:
    """Returns how likely each component of a mixture is to have made each observation, the weights
    of the components being estimated from all of them; shape (observations, components).

    Args:
        logs: Log-likelihoods, of that shape.
        prior: How many observations of each component are taken for seen, shape (components,).
    """
    likely: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    each, weights = likely, prior
    for _ in range(STEPS + 1):
        each = likely * weights
        each /= each.sum(axis=1, keepdims=True)
        weights = each.sum(axis=0) + prior
    return each


def _move_towards(noisy: Noisy, expected: Floats, keep: Floats) -> Noisy:
    values = expected + keep * (noisy.values - expected)
    return Noisy(values, noisy.variance * np.maximum(keep, KEPT))


def _concatenate(tables: list[Floats]) -> Floats:
    return np.concatenate([table.ravel() for table in tables])
