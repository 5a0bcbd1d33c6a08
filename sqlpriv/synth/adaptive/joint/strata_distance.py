"""How far strata are apart, as noised one-way marginals inside them say, and what a column's tables
inside strata are then expected to be off.

A cell of stratum s is taken to hold a share p of the stratum's rows that lies around everybody's
with variance (a² + 1 / n_s) p (1 - p): strata that are alike differ as samples of n_s rows do, and
a is how far they are apart beyond that. One look at one column says little of `a` where noise is
large, and an estimate that is cut off at 0 says that strata are alike, or apart by the noise, half
of the time each. So `a` has the scales that `shrinkage` expects before anything is seen, with
weights that are estimated from all columns together (empirical Bayes: expectation maximisation, as
there), and every expected error is the mean over the scales that a column's look leaves likely.
Only noised numbers are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sqlpriv.kernel.terms.release import Release
from sqlpriv.synth.inference.one_way_tables import LEAST_SIGMA, TO_DISTANCE, Floats
from sqlpriv.synth.inference.scale_mixture import component_probabilities
from sqlpriv.synth.inference.strata_constants import AS_COLUMNS, LIKELY, SCALES


@dataclass(frozen=True, eq=False)
class StrataDistance:
    """See the module.

    Args:
        rows: Of each stratum, above 0, shape (strata,).
        spreads: By column, p (1 - p) of everybody's shares, shape (levels,).
        probabilities: By column, of each of SCALES, shape (scales,).
    """

    rows: Floats
    spreads: Mapping[int, Floats]
    probabilities: Mapping[int, Floats]

    def between_strata(self) -> float:
        """Returns the expected total variation of a column's table inside a stratum from
        everybody's, beyond chance: the mean over columns."""
        scales = {c: float(p @ SCALES) for c, p in self.probabilities.items()}
        each = [scales[c] * float(np.sqrt(spread).sum()) for c, spread in self.spreads.items()]
        return min(TO_DISTANCE * float(np.mean(each)), 1.0)

    def error_inside(self, column: int, noise: float, of_all: float) -> float:
        """Returns the total variation by which a column's tables inside strata are expected to be
        off, the mean over strata.

        Args:
            column: Its number.
            noise: The variance of a cell that was measured inside a stratum, in rows squared.
            of_all: The standard deviation of a cell's share in everybody's table.
        """
        apart = SCALES[:, None] ** 2 + 1 / self.rows  # shape (scales, strata)
        apart = apart[:, :, None] * self.spreads[column] + of_all**2
        measured = (noise / self.rows**2)[:, None]
        left = np.sqrt(apart * measured / (apart + measured)).sum(axis=2).mean(axis=1)
        return float(min(TO_DISTANCE * float(self.probabilities[column] @ left), 1.0))


def distance_of(rows: Floats, looks: Mapping[int, Release]) -> StrataDistance:
    """Returns how far strata are apart.

    Args:
        rows: Of each stratum, above 0, shape (strata,).
        looks: By column, its noised tables, values of shape (strata, levels); at least one.
    """
    shares = {c: _shares_of_all(rows, look) for c, look in looks.items()}
    logs = np.array([_logs(rows, looks[c], p) for c, p in shares.items()])
    probabilities = component_probabilities(logs, AS_COLUMNS * LIKELY / LIKELY.sum())
    spreads = {c: p * (1 - p) for c, p in shares.items()}
    return StrataDistance(rows, spreads, dict(zip(looks, probabilities, strict=True)))


def _shares_of_all(rows: Floats, look: Release) -> Floats:
    """Returns everybody's shares of a column's levels, moved towards even ones by as many rows as
    all cells' noise: a cell that noise made 0 may hold some."""
    counts = np.maximum(look.values.sum(axis=0), 0.0)
    noise = max(look.sigma, LEAST_SIGMA) * math.sqrt(len(rows)) + 1e-9
    shares: Floats = (counts + noise) / (counts + noise).sum()
    return shares


def _logs(rows: Floats, look: Release, shares: Floats) -> Floats:
    """Returns the log-likelihood of a look by scale, shape (scales,).

    Strata's distances from their own sum are a little less than from what they are drawn around,
    and add up to nothing: so many of them are no evidence of their own.
    """
    strata, levels = look.values.shape
    rest = np.maximum(1 - rows / rows.sum(), 1e-3)[:, None]
    off = (look.values - rows[:, None] * shares) ** 2
    own = (rows**2)[:, None] * shares * (1 - shares) * rest
    noise = max(look.sigma, LEAST_SIGMA) ** 2 * rest
    logs = []
    for scale in SCALES.tolist():
        variance = own * (scale**2 + 1 / rows[:, None]) + noise
        logs.append(-0.5 * float((np.log(variance) + off / variance).sum()))
    weighted: Floats = np.array(logs) * ((1 - 1 / strata) * (1 - 1 / levels))
    return weighted
