"""`rap` and `"rap++"`: relaxed rows moved by gradients until they agree with chosen tables.

Aydore et al. 2021, "Differentially Private Query Release Through Adaptive Projection" (RAP,
arXiv:2103.06641): rows whose categories are shares of levels are projected onto noised answers by
Adam. Vietri et al. 2022, "Private Synthetic Data for Multitask Learning and Marginal Queries"
(RAP++, arXiv:2209.07400): numbers stay numbers, thresholds are sigmoids of falling temperature, and
linear forms of the numbers are asked about, too (`relaxed_rows`). Where the papers select and
measure K single queries, here K calls of `choose` take K whole tables and slices, since a table
costs what one of its cells costs.

The papers' published code has faults that are not repeated here. It noises the answers of earlier
rounds anew in each round, and what it spends on that is in no proof. It scales numbers by their
smallest and largest private values, uncharged; here the declared ends scale them. It takes delta
from the private number of rows. Its noise is for an average over n rows, n being private, of
neighbours that replace a row; here counts are noised, of neighbours that add or remove a unit.

Price: sizes and one-way marginals are one batch at FIRST of the price; the rest are steps of
`table_rounds`, whose prices add up to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sqlpriv.kernel.terms.budget import Price
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.api.ask import Ask
from sqlpriv.synth.api.method import Method, Model, Option, Options, Phase, Space
from sqlpriv.synth.api.one_way_marginals import modelled_columns, one_ways
from sqlpriv.synth.inference.one_way_tables import onto_simplex
from sqlpriv.synth.methods import independent
from sqlpriv.synth.methods.choose_and_measure import measured_ones, totals_of
from sqlpriv.synth.methods.mixed.candidate_tables import slices, target_columns, whole_tables
from sqlpriv.synth.methods.mixed.edited_rows import FittedTable, GroupAxis, PlacedRows
from sqlpriv.synth.methods.mixed.table_rounds import OPTIONS, play_tables

FIRST = 0.2
"""Of the price, for the one-way marginals."""
DRAWN = 5_000
"""Rows drawn of the one-way marginals, by which slices are cut into bins."""
SEED = 0
"""Of directions and of the rows' beginning, which are no noise."""


def phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    """Returns the one-way marginals and the rounds; prices add up to `price` exactly."""
    target_columns(space, options["target"])
    if len(modelled_columns(space.sizes)) < 2:
        return independent.phases(space, price, options)
    first, rest = split_price(price, [FIRST, 1 - FIRST])
    split_price(rest, [1.0] * (2 * options["tables"]))  # refuses what cannot pay for both halves
    ones = Phase("one-way marginals", "noise", first, 1, one_ways(space.sizes, first))
    named = "tables and slices, by relaxed rows"
    return ones, Phase(named, "exponential mechanism and noise", rest, options["tables"])


def fit_relaxed(ask: Ask, space: Space, price: Price, options: Options) -> Sequence[Model]:
    """Fits `rap`: numbers are shares of their levels, as categories are. Spends `price`."""
    return _fit(ask, space, price, options, ())


def fit_annealed(ask: Ask, space: Space, price: Price, options: Options) -> Sequence[Model]:
    """Fits `rap++`: numbers are places, and slices are asked about. Spends `price`."""
    return _fit(ask, space, price, options, tuple(space.values))


def _fit(
    ask: Ask, space: Space, price: Price, options: Options, placed: tuple[int, ...]
) -> Sequence[Model]:
    columns, plan = modelled_columns(space.sizes), phases(space, price, options)
    if len(columns) < 2:
        return independent.fit(ask, space, price, options)
    from sqlpriv.synth.methods.mixed.relaxed_rows import RelaxedRows, rows_needed  # imports JAX

    ones, rng = measured_ones(ask, plan), np.random.default_rng(SEED)
    totals = totals_of(ones, space.strata)
    strata, drawn = [], []
    count = options["points"] or rows_needed(len(columns))
    for s, total in enumerate(max(n, 1.0) for n in totals):
        tables = [
            FittedTable(
                (GroupAxis(c, np.arange(space.sizes[c])),),
                onto_simplex(r.values[s], total),
                r.sigma,
            )
            for c, r in zip(columns, ones, strict=True)
        ]
        shares = {c: t.counts for c, t in zip(columns, tables, strict=True)}
        strata.append(RelaxedRows(space, shares, count, total, placed, options["steps"], SEED))
        strata[-1].start_with(tables)
        levels = np.zeros((DRAWN, len(space.sizes)), dtype=np.int64)
        for c, share in shares.items():
            levels[:, c] = rng.choice(share.size, DRAWN, p=share / share.sum())
        drawn.append(levels)
    everybody = np.concatenate(drawn)
    targets = target_columns(space, options["target"])
    candidates = whole_tables(space, targets, everybody)
    if placed:
        rows = PlacedRows(everybody, rng.uniform(-1.0, 1.0, everybody.shape))
        candidates += slices(space, targets, rows, rng)
    noise = ones[0].sigma, ones[0].price
    play_tables(ask, strata, candidates, plan[1].price, options["tables"], noise)
    return tuple(rows.model(n) for rows, n in zip(strata, totals, strict=True))


METHOD = Method(
    name="rap",
    title="relaxed rows, moved by gradients until they agree with chosen tables",
    paper="Aydore et al. 2021 (arXiv:2103.06641)",
    options=(
        *OPTIONS,
        Option("points", 0, "relaxed rows of a stratum; 0: as many as columns need", most=20_000),
        Option("steps", 60, "of Adam, at each of five temperatures", least=1, most=10_000),
    ),
    max_strata=30,
    max_cells=200_000,
    arity=1,
    fit=fit_relaxed,
    phases=phases,
    max_columns=80,  # 100 took 64 CPU s, and rap++ 88 (20,000 rows of six levels, epsilon 1)
    merges_lists=True,
)
ANNEALED = replace(
    METHOD,
    name="rap++",
    title='the same with numbers as numbers, and with linear forms of them (USING "rap++")',
    paper="Vietri et al. 2022 (arXiv:2209.07400)",
    fit=fit_annealed,
)
