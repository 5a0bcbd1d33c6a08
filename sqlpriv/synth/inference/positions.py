"""Where inside their levels the numbers of a row lie: columns stay related below their levels.

A model says which bin each number of a row falls into. Drawn independently inside the bins, two
numbers lose what they have in common there: of a rank correlation of .94, eight levels keep .91. So
columns are taken to show, through the ends of their levels, the coordinates of a Gaussian vector.
Its correlations follow from the levels that were drawn (`latent_correlation`); given those, and a
row's levels, its coordinates are drawn one after the other, each between the ends of its level and
given all others (SWEEPS sweeps of Gibbs sampling of a truncated Gaussian, begun at the means of the
levels). Their ranks inside a level are the positions, so that each column's distribution inside a
level stays what it is. Columns whose levels tell of no relation get independent positions.

All of it is post-processing of rows that a model drew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from sqlpriv.synth.inference.latent_correlation import (
    hermite_terms,
    nearest_correlations,
    solve_correlations,
)

SWEEPS = 3
WEAK = 0.05
"""Correlations below this are left out: a column that has no other gets independent positions."""
MOST_COLUMNS = 64
CHUNK = 50_000
"""Rows whose coordinates are drawn together."""
FARTHEST = 8.0
"""Coordinates lie within this."""
Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
_NORMAL = NormalDist()


@dataclass(frozen=True, eq=False)
class Coupling:
    """How the coordinates of ordered columns hang together.

    Args:
        columns: Those that have a relation; in the order of the matrices.
        ends: Of each column's levels, as coordinates, ascending, shape (levels + 1,).
        precision: The inverse of the coordinates' correlation matrix.
    """

    columns: tuple[int, ...]
    ends: tuple[Floats, ...]
    precision: Floats


def fit_coupling(codes: Codes, levels: Mapping[int, int]) -> Coupling:
    """Returns how columns hang together by the levels that were drawn.

    Args:
        codes: Drawn levels, shape (rows, columns).
        levels: How many ordered levels a column has, by its number; those from there on (NULL) say
            nothing.
    """
    ordered = [c for c, count in levels.items() if count > 1][:MOST_COLUMNS]
    shares = [_shares(codes[:, c], levels[c]) for c in ordered]
    scores = [_level_means(p) for p in shares]
    matrix = _correlations([codes[:, c] for c in ordered], shares, scores)
    related = np.flatnonzero((np.abs(matrix) >= WEAK).sum(axis=0) > 1)
    chosen = nearest_correlations(matrix[np.ix_(related, related)])
    chosen += 0.01 * (np.eye(related.size) - chosen)  # so that its inverse is no noise
    columns, ends = (tuple(ordered[i] for i in related), tuple(_ends(shares[i]) for i in related))
    return Coupling(columns, ends, np.asarray(np.linalg.inv(chosen), dtype=np.float64))


def draw_positions(
    coupling: Coupling, codes: Codes, rng: np.random.Generator
) -> Mapping[int, Floats]:
    """Returns where in its level each row lies, from 0 to 1, by column: of those of the coupling.

    Args:
        coupling: From `fit_coupling`.
        codes: Levels, shape (rows, columns).
        rng: Any generator.
    """
    drawn = np.zeros((len(codes), len(coupling.columns)))
    for begin in range(0, len(codes), CHUNK):
        part = slice(begin, begin + CHUNK)
        drawn[part] = _draw_coordinates(coupling, codes[part], rng)
    return {c: ranks_inside(codes[:, c], drawn[:, i], rng) for i, c in enumerate(coupling.columns)}


def ranks_inside(codes: Codes, order: Floats, rng: np.random.Generator) -> Floats:
    """Returns each row's rank by `order` among the rows of its level, as a number from 0 to 1: of n
    rows one lies at random in each n-th of it.

    >>> ranks = ranks_inside(np.array([0, 0, 1]), np.array([5.0, 2, 3]), np.random.default_rng(0))
    >>> (ranks[:2] > 0.5).tolist()
    [True, False]
    """
    sorted_rows = np.lexsort((order, codes))
    held = np.bincount(codes) if codes.size else np.zeros(1, dtype=np.int64)
    first = (np.cumsum(held) - held)[codes[sorted_rows]]
    places = np.empty(codes.size)
    places[sorted_rows] = np.arange(codes.size) - first
    return np.asarray((places + rng.random(codes.size)) / np.maximum(held, 1)[codes])


def _shares(codes: Codes, levels: int) -> Floats:
    counts = np.bincount(codes[codes < levels], minlength=levels).astype(np.float64)
    shares: Floats = counts / max(counts.sum(), 1.0)
    return shares


def _ends(shares: Floats) -> Floats:
    below = np.cumsum(shares)[:-1].clip(1e-12, 1 - 1e-12)
    return np.array([-FARTHEST, *(_NORMAL.inv_cdf(p) for p in below), FARTHEST])


def _level_means(shares: Floats) -> Floats:
    """Returns the mean of a standard normal coordinate between the ends of each level."""
    density = np.exp(-(_ends(shares) ** 2) / 2) / np.sqrt(2 * np.pi)
    return np.where(shares > 0, -np.diff(density) / np.maximum(shares, 1e-12), 0.0)


def _correlations(
    columns: Sequence[Codes], shares: Sequence[Floats], scores: Sequence[Floats]
) -> Floats:
    """Returns the correlations of the coordinates, shape (columns, columns)."""
    terms = [hermite_terms(p, score) for p, score in zip(shares, scores, strict=True)]
    values = [
        np.append(score, np.nan)[np.minimum(codes, len(score))]
        for codes, score in zip(columns, scores, strict=True)
    ]
    if len(columns) < 2:
        return np.eye(len(columns))
    has_level = (~np.isnan(values)).astype(np.float64)
    filled = np.nan_to_num(np.array(values))
    both = np.maximum(has_level @ has_level.T, 1.0)
    means = filled @ filled.T / both
    u, v = np.triu_indices(len(columns), 1)
    matrix = np.eye(len(columns))
    series = np.array([terms[i] * terms[j] for i, j in zip(u, v, strict=True)])
    matrix[u, v] = matrix[v, u] = solve_correlations(series, means[u, v])
    return matrix


def _draw_coordinates(coupling: Coupling, codes: Codes, rng: np.random.Generator) -> Floats:
    """Returns coordinates between the ends of these levels, shape (rows, columns)."""
    from scipy.special import ndtr, ndtri  # loads slowly, and every session lists the methods

    precision, count = coupling.precision, len(coupling.columns)
    low, high, now = (np.zeros((count, len(codes))) for _ in range(3))
    for i, (c, ends) in enumerate(zip(coupling.columns, coupling.ends, strict=True)):
        below = np.append(ends[:-1], -FARTHEST)  # NULL may lie anywhere
        above = np.append(ends[1:], FARTHEST)
        level = np.minimum(codes[:, c], len(ends) - 1)
        low[i], high[i] = below[level], above[level]
        density = np.exp(-(np.array([below, above]) ** 2) / 2) / np.sqrt(2 * np.pi)
        mass = np.maximum(ndtr(above) - ndtr(below), 1e-12)
        now[i] = ((density[0] - density[1]) / mass)[level]
    for _ in range(SWEEPS):
        for i in range(count):
            spread = precision[i, i] ** -0.5
            centre = now[i] - precision[i] @ now / precision[i, i]
            start, end = (low[i] - centre) / spread, (high[i] - centre) / spread
            side = np.where(start + end > 0, -1.0, 1.0)  # in the lower tail, where ndtr is exact
            start, end = np.minimum(side * start, side * end), np.maximum(side * start, side * end)
            at = ndtr(start) + rng.random(len(codes)) * (ndtr(end) - ndtr(start))
            drawn = side * ndtri(np.maximum(at, 1e-300))
            now[i] = np.clip(centre + spread * drawn, low[i], high[i])
    return now.T
