"""Strata by themselves, or one model of everybody in which the strata's columns are columns.

Measured in each stratum, a table costs what it costs measured once, but its noise is in every
stratum: put together, S strata have sqrt(S) times the noise of one table of everybody. What strata
have of their own is worth that only if it is more than the noise added. Both follow from the noised
sizes of the strata and from public numbers, so the choice costs the sizes' price alone.

One-way tables have few cells, so of strata that are one model they are measured inside strata all
the same, as far as that is worth its price (`joint.shared_one_ways`), and the strata's rows are
weighted until they have them (`joint.stratum_share`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms.budget import Price
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.adaptive.joint.shared_one_ways import SharedOneWays, deepest, pair_tables
from sqlpriv.synth.adaptive.joint.strata_distance import distance_of
from sqlpriv.synth.adaptive.joint.strata_tables import tables_inside
from sqlpriv.synth.adaptive.joint.stratum_share import StrataPool, StratumShare
from sqlpriv.synth.adaptive.strata_sizes import measured_sizes
from sqlpriv.synth.api.ask import Ask, Guess, Marginal
from sqlpriv.synth.api.method import (
    Fit,
    Model,
    OneModel,
    Options,
    PairPlan,
    Phase,
    Phases,
    Space,
    Strata,
)
from sqlpriv.synth.api.one_way_marginals import modelled_columns, one_ways
from sqlpriv.synth.api.progress import Progress
from sqlpriv.synth.inference.one_way_tables import LEAST_SIGMA, TO_DISTANCE, count_sigma
from sqlpriv.synth.inference.strata_constants import LOOK, OWN_PAIRS, SIZES, WORTH


def phases(
    inner: Phases, space: Space, price: Price, options: Options, name: str
) -> tuple[Phase, ...]:
    """Returns what a price is spent on. Raises DataError where it is too small for either way."""
    if space.strata == 1:
        return inner(space, price, options)
    size, rest = split_price(price, [SIZES, 1 - SIZES])
    look, left = split_price(rest, [LOOK, 1 - LOOK])
    one_ways(space.sizes, look)
    least = type(price)(math.floor(left.nano * (1 - deepest(left))))
    inner(space, rest, options), inner(everybody(space), least, options)
    sizes = Phase("sizes of strata", "noise", size, 1, (Marginal((), size),))
    return (sizes, Phase(f"{name}, of each stratum or of all", "noise and choices", rest))


def everybody(space: Space) -> Space:
    """Returns the space in which the strata's columns are columns like others, the last ones."""
    return Space((*space.sizes, *space.strata_shape), (), space.zeros)


def fit(
    inner: Fit,
    ask: Ask,
    space: Space,
    price: Price,
    options: Options,
    pair_plan: Callable[[Space, Options], PairPlan],
) -> Sequence[Model]:
    """Returns one model per stratum; spends exactly `price`.

    Where sizes alone say that one model is nearer, the look is taken, and its columns say how far
    strata are apart: of strata that are far apart each is fitted by itself all the same.

    Price: the sizes are one measurement of the strata; what follows is the method's own statement
    for the rest in every stratum, or a look at one-way marginals in every stratum and then the
    method's own statement for what is left, once for the population (`joint.shared_one_ways`).

    Args:
        inner: The method, which fits every stratum by itself.
        ask, space, price, options: See `api.method`.
        pair_plan: By space and options, what the method's pairs have of its price.
    """
    if space.strata == 1:
        return inner(ask, space, price, options)
    plan = pair_plan(space, options)
    size, rest = split_price(price, [SIZES, 1 - SIZES])
    ask.report(Progress("measuring the sizes of strata", 0, 1))
    (sizes,) = ask.measure([Marginal((), size)])
    values = sizes.values.reshape(space.strata)
    if not is_better_whole(float(values.sum()), rest, space, plan):
        return inner(ask, space, rest, options)
    rows = measured_sizes(sizes)
    look, rest = split_price(rest, [LOOK, 1 - LOOK])
    shared = SharedOneWays(ask, rows)
    shared.look(one_ways(space.sizes, look))
    if not is_better_whole(float(values.sum()), rest, space, plan, _own_pairs(shared)):
        return inner(Ask(shared.measure_inside, ask.select, ask.report), space, rest, options)
    most = math.comb(len(modelled_columns(space.sizes)), 2)
    all_pairs = plan.pairs is not None and plan.pairs >= most
    one_column = sum(n > 1 for n in space.strata_shape) == 1
    rest = shared.deepen(rest, *pair_tables(space, plan), all_pairs and one_column)
    (joint,) = inner(_ask_of_everybody(ask, shared), everybody(space), rest, options)
    ones = {column: release.values for column, release in shared.inside.items()}
    sigmas = {column: release.sigma for column, release in shared.inside.items()}
    shape, zeros = space.strata_shape, space.zeros
    tables_and_noise = tables_inside(shared.inside, shared.answers, shape, len(space.sizes))
    pool = StrataPool(joint, space.sizes, shape, rows, ones, sigmas, *tables_and_noise, zeros)
    pool.rows = pool.sizes_beside_joint(values, max(sizes.sigma, LEAST_SIGMA))
    return [StratumShare(pool, s, float(n)) for s, n in enumerate(pool.rows.tolist())]


def whole_if_better(pair_plan: Callable[[Space, Options], PairPlan]) -> OneModel:
    """Returns what says, of a method's whole price, whether `fit` makes strata one model: by sizes,
    its first decision, and whether any look at columns could make the second one another."""

    def one_model(rows: float, price: Price, space: Space, options: Options) -> Strata:
        if space.strata == 1:
            return Strata.EACH
        plan, rest = pair_plan(space, options), split_price(price, [SIZES, 1 - SIZES])[1]
        if not is_better_whole(rows, rest, space, plan):
            return Strata.EACH
        left = split_price(rest, [LOOK, 1 - LOOK])[1]
        is_sure = is_better_whole(rows, left, space, plan, _share_of_own_pair(space.strata, 1.0))
        return Strata.ONE if is_sure else Strata.UNLESS_APART

    return one_model


def is_better_whole(
    rows: float, price: Price, space: Space, plan: PairPlan, own: float = WORTH
) -> bool:
    """Returns whether the noise that measuring strata adds is more than strata have of their own.

    Args:
        rows: The noised number of all rows.
        price: Of the method.
        space: Columns and strata.
        plan: What the method's pairs have of its price.
        own: What strata have of their own: the part of a pair's table, in total variation, that one
            model of everybody misses.
    """
    if len(modelled_columns(space.sizes)) < 2:
        return False
    cells, tables = pair_tables(space, plan)
    each = type(price)(max(int(price.nano / tables), 1))
    noise = TO_DISTANCE * count_sigma(each) * cells / max(rows, 1.0)
    return (math.sqrt(space.strata) - 1) * noise > own


def _own_pairs(shared: SharedOneWays) -> float:
    """Returns what strata have of a pair of their own, by the looks at their columns."""
    between = distance_of(shared.rows, shared.looks).between_strata()
    return _share_of_own_pair(len(shared.rows), between)


def _share_of_own_pair(strata: int, between: float) -> float:
    """Returns what strata have of a pair of their own. What all strata are together tells more of
    each where they are few.

    Args:
        strata: How many there are.
        between: The total variation of a column's table inside a stratum from everybody's, up to 1.
    """
    return max(OWN_PAIRS * (1 - 1 / strata) * between, WORTH)


def _ask_of_everybody(ask: Ask, shared: SharedOneWays) -> Ask:
    """Returns a gate that asks all questions of the population, as one stratum, but for one-way
    marginals, which are shared with the strata."""

    def select(
        guesses: Sequence[Guess], price: Price, allowed: NDArray[np.bool_]
    ) -> tuple[int, ...]:
        return ask.select([replace(g, within=None, pooled=True) for g in guesses], price, allowed)

    return Ask(shared.measure, select, ask.report)
