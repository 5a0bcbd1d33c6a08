"""Strata by themselves, or one model of everybody in which the strata's columns are columns.

Measured in each stratum, a table costs what it costs measured once, but its noise is in every
stratum: put together, S strata have sqrt(S) times the noise of one table of everybody. What strata
have of their own is worth that only if it is more than the noise added. Both follow from the noised
sizes of the strata and from public numbers, so the choice costs the sizes' price alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.adaptive.strata_sizes import nonnegative
from sqlpriv.synth.api.ask import Ask, Guess, Marginal, Question
from sqlpriv.synth.api.method import Fit, Model, Options, Phase, Phases, Space
from sqlpriv.synth.api.one_way_marginals import modelled_columns
from sqlpriv.synth.api.progress import Progress
from sqlpriv.synth.inference.one_way_tables import LEAST_SIGMA, count_sigma

SIZES = 0.03
"""Of the price, for the strata's sizes."""
WORTH = 0.03
"""The part of a pair's table, in total variation, that strata have of their own and one model of
everybody misses. Of mst on six tables (`python tests/bench/strata.py --methods mst --epsilons 0.3 1
5`): at .02 strata of SEX at epsilon = .3 were made one, where means were .046 off for .020; strata
that stayed apart at .03 had errors of at most 1.1 times those of one model."""
POOL = 400_000
"""Rows drawn of everybody at most, of which the strata's are taken."""
MARGIN = 4
"""How many times the noised rows are drawn, where that is fewer."""


def phases(
    inner: Phases, space: Space, price: Price, options: Options, name: str
) -> tuple[Phase, ...]:
    """Returns what a price is spent on. Raises DataError where it is too small for either way."""
    if space.strata == 1:
        return inner(space, price, options)
    size, rest = split_price(price, [SIZES, 1 - SIZES])
    inner(space, rest, options), inner(everybody(space), rest, options)
    sizes = Phase("sizes of strata", "noise", size, 1, (Marginal((), size),))
    return (sizes, Phase(f"{name}, of each stratum or of all", "noise and choices", rest))


def everybody(space: Space) -> Space:
    """Returns the space in which the strata's columns are columns like others, the last ones."""
    return Space((*space.sizes, *space.strata_shape), (), space.zeros)


def fit(
    inner: Fit, ask: Ask, space: Space, price: Price, options: Options, choosing: float
) -> Sequence[Model]:
    """Returns one model per stratum; spends exactly `price`.

    Price: the sizes are one measurement of the strata; what follows is the method's own statement
    for the rest, in every stratum or once for the population.

    Args:
        inner: The method, which fits every stratum by itself.
        ask, space, price, options: See `api.method`.
        choosing: The part of its price that the method spends on anything but its pairs.
    """
    if space.strata == 1:
        return inner(ask, space, price, options)
    size, rest = split_price(price, [SIZES, 1 - SIZES])
    ask.report(Progress("measuring the sizes of strata", 0, 1))
    (sizes,) = ask.measure([Marginal((), size)])
    values = sizes.values.reshape(space.strata)
    if not is_better_whole(float(values.sum()), rest, space, choosing):
        return inner(ask, space, rest, options)
    (joint,) = inner(_of_everybody(ask), everybody(space), rest, options)
    rows = nonnegative(values, np.full(values.shape, max(sizes.sigma, LEAST_SIGMA) ** 2))
    pool = _Pool(joint, space)
    return [Share(pool, s, float(n)) for s, n in enumerate(rows.tolist())]


def is_better_whole(rows: float, price: Price, space: Space, choosing: float) -> bool:
    """Returns whether the noise that measuring strata adds is more than strata have of their own.

    Args:
        rows: The noised number of all rows.
        price: Of the method.
        space: Columns and strata.
        choosing: See `fit`.
    """
    columns = modelled_columns(space.sizes)
    if len(columns) < 2:
        return False
    tables = len(columns) - 1
    each = type(price)(max(int(price.nano * (1 - choosing)) // tables, 1))
    cells = float(
        np.mean(
            [math.prod(p) for p in itertools.combinations([space.sizes[c] for c in columns], 2)]
        )
    )
    noise = math.sqrt(2 / math.pi) * count_sigma(each) * cells / 2 / max(rows, 1.0)
    return (math.sqrt(space.strata) - 1) * noise > WORTH


def _of_everybody(ask: Ask) -> Ask:
    """Returns a gate that asks all questions of the population, as one stratum."""

    def measure(questions: Sequence[Question]) -> tuple[Release, ...]:
        marginals = [q for q in questions if isinstance(q, Marginal)]
        assert len(marginals) == len(questions), "cells and moments are asked of strata alone"
        return ask.measure([replace(q, within=None, pooled=True) for q in marginals])

    def select(
        guesses: Sequence[Guess], price: Price, allowed: NDArray[np.bool_]
    ) -> tuple[int, ...]:
        return ask.select([replace(g, within=None, pooled=True) for g in guesses], price, allowed)

    return Ask(measure, select, ask.report)


@dataclass(eq=False)
class _Pool:
    """Rows drawn from one model of everybody, by stratum: with a fixed seed, so that they do not
    depend on who asks first, and the table's error is a question that can be repeated."""

    joint: Model
    space: Space
    drawn: NDArray[np.int64] | None = None
    members: list[NDArray[np.int64]] = field(default_factory=list)

    def __getstate__(self) -> dict[str, object]:
        """Returns what is kept in a file: the rows can be drawn again."""
        return {"joint": self.joint, "space": self.space, "drawn": None, "members": []}

    def rows_of(self, stratum: int) -> NDArray[np.int64]:
        """Returns the rows of a stratum, shape (rows, columns); of everybody where it has none."""
        if self.drawn is None:
            count = int(min(max(self.joint.size, 1.0) * MARGIN, POOL))
            whole = everybody(self.space)
            drawn = self.joint.sample(whole.sizes, count, np.random.default_rng(0))
            columns = len(self.space.sizes)
            code = np.ravel_multi_index(tuple(drawn[:, columns:].T), self.space.strata_shape)
            self.members = [np.flatnonzero(code == s) for s in range(self.space.strata)]
            self.drawn = drawn[:, :columns]
        members = self.members[stratum]
        rows: NDArray[np.int64] = self.drawn[members] if members.size else self.drawn
        return rows


@dataclass(frozen=True, eq=False)
class Share:
    """One stratum of everybody's model; a `Model`.

    Args:
        pool: Rows of everybody.
        stratum: Its number.
        size: The noised number of rows.
    """

    pool: _Pool
    stratum: int
    size: float

    def sample(
        self, sizes: Sequence[int], rows: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Returns levels; see `method.Model`."""
        assert len(sizes) == len(self.pool.space.sizes)
        rows_of_stratum = self.pool.rows_of(self.stratum)
        if rows <= len(rows_of_stratum):
            few: NDArray[np.int64] = rows_of_stratum[
                rng.choice(len(rows_of_stratum), rows, replace=False)
            ]
            return few
        times, more = divmod(rows, len(rows_of_stratum))
        at = [
            *[np.arange(len(rows_of_stratum))] * times,
            rng.choice(len(rows_of_stratum), more, replace=False),
        ]
        drawn: NDArray[np.int64] = rows_of_stratum[rng.permutation(np.concatenate(at))]
        return drawn
