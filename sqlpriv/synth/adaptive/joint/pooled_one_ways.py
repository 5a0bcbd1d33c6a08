"""What pooled strata's one-way marginals may cost, and which strata they tell something of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sqlpriv.kernel.terms.release import Release
from sqlpriv.synth.adaptive.joint.pool_layout import Layout
from sqlpriv.synth.adaptive.joint.shared_one_ways import SharedOneWays
from sqlpriv.synth.api.ask import Marginal
from sqlpriv.synth.inference.one_way_tables import Floats, dearer_prices, scale_sigma
from sqlpriv.synth.inference.strata_constants import TIMES


def strata_with_one_ways(sizes: Floats, shared: SharedOneWays) -> list[int]:
    """Returns the strata whose one-way marginals say something of them, of noised sizes: they have
    TIMES the noise of a cell in rows."""
    sigma = max((release.sigma for release in shared.inside.values()), default=np.inf)
    return [s for s, n in enumerate(sizes.tolist()) if n >= TIMES * sigma]


def dearer_questions(
    questions: Sequence[Marginal], layout: Layout, sizes: Release, most: int
) -> tuple[Marginal, ...]:
    """Returns the one-way marginals of the population at the prices at which they have no more
    noise than is tolerated; see `dearer_prices`. By the rows of a stratum in place of everybody's
    they took up to half of the price, and everybody's pairs of strata that are alike erred 1.2
    times as much; `SharedOneWays.deepen` buys what strata have of their own.

    Args:
        questions: At the least prices.
        layout: Columns by number.
        sizes: Of the strata, noised.
        most: What they may cost together, in nano.
    """
    kind = type(sizes.price)
    levels = np.array([float(layout.graph.sizes[q.clique[0]]) for q in questions])
    sigmas = np.array([scale_sigma((sizes.sigma, sizes.price), q.price) for q in questions])
    noise = levels * sigmas / max(float(sizes.values.sum()), 1.0)
    prices = np.array([float(q.price.nano) for q in questions])
    more = dearer_prices(noise, prices, most - round(prices.sum()), kind)
    return tuple(
        replace(q, price=kind(q.price.nano + added), pooled=True)
        for q, added in zip(questions, more, strict=True)
    )
