"""What is decided of pooled strata, from noised sizes and the noise alone: how much of the price is
the population's, and which strata have rounds of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlpriv.kernel.terms.budget import Price
from sqlpriv.synth.inference.one_way_tables import Floats, scale_sigma
from sqlpriv.synth.inference.strata_constants import (
    LEAST,
    MOST,
    POWER,
    ROUNDS,
    SHARE_STEPS,
    STRATA_APART,
    TIMES,
)


def alone(rows: float, sigma: float, sizes: Sequence[int]) -> float:
    """Returns the noise that would be in every pair of columns, as a share of the rows, were all
    pairs measured for the whole price.

    Args:
        rows: Whose noised number is meant.
        sigma: Standard deviation of a count's noise if it had the whole price.
        sizes: Levels of the columns.
    """
    pairs = math.comb(len(sizes), 2)
    cells = (sum(sizes) ** 2 - sum(n**2 for n in sizes)) / 2 / max(pairs, 1)
    return math.sqrt(2 / math.pi * pairs) * sigma * cells / max(rows, 1.0)


def share(rows: float, sigma: float, sizes: Sequence[int]) -> float:
    """Returns the part of the price that `pooling = auto` spends on the population; for the
    arguments see `alone`.

    The population's model gets better with its price until its noise is below what strata have of
    their own; from there on what it gains is lost on them.
    """
    wanted = min(max(math.pow(alone(rows, sigma, sizes) / STRATA_APART, POWER), LEAST), MOST)
    return round(wanted * SHARE_STEPS) / SHARE_STEPS


def apart(strata: Floats, sigma: float, sizes: Sequence[int]) -> bool:
    """Returns whether the noise of every stratum by itself is below what it has of its own: the
    population's model would be further off. For the other arguments see `alone`.

    Args:
        strata: Noised numbers of rows.
    """
    return alone(float(strata.min()), sigma, sizes) < STRATA_APART


def taking_part(sizes: Floats, noise: tuple[float, Price], own: int) -> list[int]:
    """Returns the strata that have rounds of their own: those whose noised size is TIMES the noise
    of a round and more."""
    if own < 2:
        return []
    each = scale_sigma(noise, type(noise[1])(max(own // ROUNDS, 1)))
    return [s for s, n in enumerate(sizes.tolist()) if n >= TIMES * each]
