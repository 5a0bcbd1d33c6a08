"""How far cells are off what was expected of them, and so which part of it is noise.

Cells lie around what is expected at one of SCALES, whose weights are estimated from all of them
together by expectation maximisation (Kiefer and Wolfowitz 1956; Efron 2016, "Empirical Bayes
deconvolution estimates"; the mixture over scales is what makes shrinkage robust, as in Carvalho,
Polson and Scott 2010).
"""

from __future__ import annotations

import numpy as np

from sqlpriv.synth.graph.embedding import row_sums
from sqlpriv.synth.inference.one_way_tables import Floats
from sqlpriv.synth.inference.strata_constants import LIKELY, SCALES

STEPS = 8


def kept_shares(cells: tuple[Floats, Floats, Floats, Floats], doubt: float, prior: float) -> Floats:
    """Returns which share of its distance from the prior each cell keeps, shape (cells,). A prior
    with noise of its own is off by that, too, but not by more than the cell's own reach.

    Args:
        cells: How far they may be off at scale 1, how far they are off, the variance of their
            noise, and that of rows which are drawn as is expected; each of shape (cells,).
        doubt: The variance of the noise in what is expected over that of the cells' own.
        prior: How many cells the expectation of scales weighs.
    """
    reach, apart, noise, sampled = cells
    spread = (np.maximum(reach, 1e-9)[:, None] * SCALES) ** 2
    spread += np.minimum(doubt * noise, reach**2)[:, None]
    spread += np.maximum(sampled, 0.0)[:, None]
    whole = spread + noise[:, None]
    logs = -0.5 * (np.log(whole) + apart[:, None] ** 2 / whole)
    each = component_probabilities(logs, prior * LIKELY / LIKELY.sum())
    return row_sums(each * (spread / whole))


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
        each /= row_sums(each)[:, None]
        weights = each.sum(axis=0) + prior
    return each
