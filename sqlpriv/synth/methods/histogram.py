"""`histogram`: the noised table of all columns at once; on a large domain, of its occupied cells.

**Small domain** (every cell fits one query). Every cell is counted with two-sided geometric noise
under a pure budget (discrete Gaussian under zCDP) and brought to a nonnegative table. Clamping each
cell at 0 alone would add about 0.4 sigma rows for every empty cell, which on a domain of a hundred
thousand cells is a crowd; so the clamped table is the one nearest to the noised one *that has the
noised size of its stratum*: every cell is lowered by one common amount and then clamped at 0.

**Large domain.** The stability-based histogram (Korolova, Kenthapadi, Mishra and Ntoulas 2009; Bun,
Nissim and Stemmer 2016, arXiv:1511.08552) counts occupied cells alone and keeps those whose noised
count passes a threshold; that *which* cells are occupied is private costs it a delta. Here the same
is had without one, and under a pure budget, from a tree of prefixes: the first columns' table is
noised, prefixes whose noised count is within the noise are given up, the rest are crossed with the
next columns, and so on. As there, a cell that holds few people counts as empty, and work and output
grow with the number of people and not with the domain.

Price: a tenth for the sizes; then one batch for each step of the tree (one step where the domain is
small), equal shares. A step's cells are named by noised counts of the step before alone.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms.budget import Price
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.api.ask import Ask, Marginal
from sqlpriv.synth.api.cell_queries import Cells
from sqlpriv.synth.api.method import Method, Option, Options, Phase, Space
from sqlpriv.synth.api.one_way_marginals import modelled_columns
from sqlpriv.synth.api.progress import Progress
from sqlpriv.synth.inference.one_way_tables import Floats, onto_simplex
from sqlpriv.synth.models.joint_table import JointModel

AT_ONCE = 100_000
"""Cells, over all strata, that one step counts at most where it can: the gate's exact sampler takes
30 to 50 microseconds for each."""
SIZE_SHARE = 1 / 9
"""Of the price, for the strata's sizes, against 1 for the rest: a tenth in all."""

Steps = tuple[tuple[int, ...], ...]


def steps_of(sizes: tuple[int, ...], strata: int, kept: int) -> Steps:
    """Returns which columns each step adds: as many as `AT_ONCE` cells allow, at least one."""
    steps: list[tuple[int, ...]] = []
    cells, now = strata, list[int]()
    for column in modelled_columns(sizes):
        if now and cells * sizes[column] > AT_ONCE:
            steps.append(tuple(now))
            now, cells = [], strata * kept
        now.append(column)
        cells *= sizes[column]
    return (*steps, tuple(now))


def phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    """Returns the sizes, and one phase for each step; prices add up to `price` exactly."""
    sizes, strata = space.sizes, space.strata
    steps = steps_of(sizes, strata, options["cells"])
    if not steps[0]:
        return (Phase("sizes", "noise", price, 1, (Marginal((), price),)),)
    first, *rest = split_price(price, [SIZE_SHARE, *[1 / len(steps)] * len(steps)])
    listed_phases = [Phase("sizes", "noise", first, 1, (Marginal((), first),))]
    listed_phases.append(Phase("table", "noise", rest[0], 1, (Marginal(steps[0], rest[0]),)))
    for number, share in enumerate(rest[1:], 2):
        listed_phases.append(Phase(f"table, step {number} of {len(steps)}", "noise", share))
    return tuple(listed_phases)


def fit(ask: Ask, space: Space, price: Price, options: Options) -> tuple[JointModel, ...]:
    """Returns one table per stratum. Spends exactly `price`; see the module."""
    sizes, strata = space.sizes, space.strata
    steps, plan = steps_of(sizes, strata, options["cells"]), phases(space, price, options)
    totals = ask.measure(plan[0].marginals)[0].values.reshape(strata)
    if not steps[0]:
        none = np.zeros(1, dtype=np.int64)
        return tuple(JointModel((), none, np.ones(1), float(n)) for n in totals)
    ask.report(Progress("counting cells", 0, len(steps)))
    (first,) = ask.measure(plan[1].marginals)
    columns, values, sigma = steps[0], first.values.reshape(strata, -1), first.sigma
    cells: NDArray[np.int64] = np.arange(values.shape[1])
    for done, (step, phase) in enumerate(zip(steps[1:], plan[2:], strict=True), 1):
        ask.report(Progress("counting cells", done, len(steps)))
        wide = math.prod(sizes[c] for c in step)
        kept, alive = _kept_cells(values, sigma, min(options["cells"], AT_ONCE // (strata * wide)))
        cell_counts = Cells(columns, tuple(cells[kept].tolist()), step, phase.price)
        (release,) = ask.measure([cell_counts])
        cells = (cells[kept][:, None] * wide + np.arange(wide)).ravel()
        values = np.where(alive[:, :, None], release.values.reshape(strata, kept.size, wide), 0.0)
        values, sigma, columns = values.reshape(strata, -1), release.sigma, (*columns, *step)
    ask.report(Progress("counting cells", len(steps), len(steps)))
    large = len(steps) > 1
    pairs = zip(values, totals.tolist(), strict=True)
    return tuple(_model(columns, cells, v, sigma, n, large) for v, n in pairs)


def _kept_cells(
    values: Floats, sigma: float, most: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Returns the positions of the cells that go on, ascending, and in which strata they do.

    The threshold is where one empty cell in all is expected to pass by its noise. Of more than
    `most` cells those of the largest counts stay; at least one cell does.
    """
    alive = values > sigma * math.sqrt(2 * math.log(max(values.size, 2)))
    best = np.where(alive, values, -np.inf).max(axis=0)
    order = np.argsort(-best, kind="stable")[: max(1, min(most, int((best > -np.inf).sum())))]
    kept = np.sort(order)
    return kept, alive[:, kept]


def _model(
    columns: tuple[int, ...],
    cells: NDArray[np.int64],
    values: Floats,
    sigma: float,
    size: float,
    large: bool,
) -> JointModel:
    """Returns a stratum's table: nonnegative, of its noised size.

    On a large domain cells within the noise are left out, and the rest keep their proportions.
    """
    if not large:
        return JointModel(columns, cells, onto_simplex(values, max(size, 1.0)), size)
    inside = np.flatnonzero(values > sigma * math.sqrt(2 * math.log(max(values.size, 2))))
    if not inside.size:
        inside = np.array([values.argmax()])
    return JointModel(columns, cells[inside], np.maximum(values[inside], 0.0), size)


METHOD = Method(
    name="histogram",
    title="one noised table of all columns together; of its occupied cells where that is large",
    paper="Dwork, McSherry, Nissim and Smith 2006; Korolova et al. 2009 (thresholded cells)",
    options=(
        Option(
            "cells", 2_000, "cells that a step on a large domain goes on with", least=1, most=20_000
        ),
    ),
    max_strata=10_000,
    max_cells=2**53,
    arity=None,
    fit=fit,
    phases=phases,
)
