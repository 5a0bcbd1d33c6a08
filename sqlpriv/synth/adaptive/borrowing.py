"""Small strata borrow from all strata, at no price: tables moved towards the population's, and
choices that are left to the largest stratum.

A stratum of few rows has the noise of a large one in every cell: measured by itself it is mostly
noise. What was released of the other strata says what it is like, and costs nothing more.

- **Tables.** The population's table is the sum of the strata's. A stratum's table is shrunk towards
  the population's shares times the stratum's size, as far as its cells say (`shrinkage`). A pair of
  columns is shrunk towards the table that has the population's relation (its odds ratios) and the
  stratum's own one-way tables (iterative proportional fitting, Deming and Stephan 1940).
- **Choices.** Where the exponential mechanism's noise is larger than what tells candidates apart in
  a stratum, its choice would be noise: it follows the largest stratum, whose table of the same
  columns it can then borrow from.

Both look at released numbers alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.synth.adaptive.strata_sizes import nonnegative
from sqlpriv.synth.adaptive.stratum_run import Run, average_tables
from sqlpriv.synth.api.ask import Ask, Guess, Known
from sqlpriv.synth.graph.junction_tree import Clique
from sqlpriv.synth.inference.one_way_tables import (
    LEAST_SIGMA,
    Floats,
    Merging,
    merge_rare,
    onto_simplex,
)
from sqlpriv.synth.inference.shrinkage import shrunk
from sqlpriv.synth.inference.strata_constants import GAP, OWN
from sqlpriv.synth.models.tree_model import Noisy

SWEEPS = 10
"""Of iterative proportional fitting."""


@dataclass(frozen=True, eq=False)
class Measured:
    """One marginal as it was measured in some strata.

    Args:
        clique: Its columns.
        who: The strata, ascending.
        values: Noisy counts, shape (strata of `who`, levels of each column).
        sigma: Standard deviation of the noise in each cell, in rows; one for all strata, or of
            shape (strata of `who`,).
    """

    clique: Clique
    who: Sequence[int]
    values: Floats
    sigma: float | Floats

    @property
    def variances(self) -> list[float]:
        """The variance of a cell in each stratum of `who`."""
        sigmas = np.broadcast_to(np.maximum(self.sigma, LEAST_SIGMA), len(self.who))
        return [float(sigma) ** 2 for sigma in sigmas]


def posterior_sizes(tables: Sequence[Measured]) -> Floats:
    """Returns the number of rows in each stratum: above 0, shape (strata,).

    Args:
        tables: Each measured in all strata.
    """
    variance = np.array([np.multiply(t.values[0].size, t.variances) for t in tables])
    sums = np.array([t.values.reshape(len(t.values), -1).sum(axis=1) for t in tables])
    whole = 1 / (1 / variance).sum(axis=0)
    return nonnegative(whole * (sums / variance).sum(axis=0), whole)


def borrowed_tables(
    tables: Sequence[Measured], sizes: Floats, ones: Sequence[Mapping[int, Noisy]] | None = None
) -> list[dict[Clique, Noisy]]:
    """Returns each stratum's tables, shrunk towards the population's; variances are posterior ones.

    A table that one stratum alone has measured stays as it is.

    Args:
        tables: As measured.
        sizes: Rows of each stratum, above 0.
        ones: By stratum and column its one-way table, for tables of several columns.
    """
    own: list[dict[Clique, Noisy]] = [{} for _ in sizes]
    expected: list[dict[Clique, Floats]] = [{} for _ in sizes]
    doubts = np.zeros(len(sizes))
    for table in tables:
        who = list(table.who)
        everybody = table.values.sum(axis=0)
        total = max(float(everybody.sum()), 1.0)
        shares = onto_simplex(everybody, total) / total
        for row, (s, variance) in enumerate(zip(who, table.variances, strict=True)):
            values = table.values[row]
            own[s][table.clique] = Noisy(values, np.full(values.shape, variance))
            if len(who) > 1:
                prior = shares if ones is None else with_margins(shares, table.clique, ones[s])
                expected[s][table.clique] = prior * sizes[s]
                doubts[s] = len(who) * (sizes[s] / max(sizes[who].sum(), 1.0)) ** 2
    shrunk_tables = []
    for mine, prior_tables, doubt in zip(own, expected, doubts.tolist(), strict=True):
        moved = shrunk({c: mine[c] for c in prior_tables}, prior_tables, doubt)
        shrunk_tables.append(mine | moved)
    return shrunk_tables


def ones_with_margins(
    tables: Sequence[Measured], ones: Sequence[Mapping[int, Noisy]]
) -> list[dict[int, Noisy]]:
    """Returns one-way tables averaged, by inverse variances, with what tables of several columns
    say of their columns.

    A table that is moved towards one-way tables alone loses what its own cells, added up, say of
    its columns.

    Args:
        tables: Of several columns.
        ones: By stratum and column its one-way table.
    """
    averaged = [dict(of) for of in ones]
    for table in tables:
        for axis, column in enumerate(table.clique):
            beside = tuple(i + 1 for i in range(len(table.clique)) if i != axis)
            sums = table.values.sum(axis=beside)
            cells = table.values[0].size / sums.shape[1]
            for row, (s, of_cell) in enumerate(zip(table.who, table.variances, strict=True)):
                margin = Noisy(sums[row], np.full(sums.shape[1], cells * of_cell))
                averaged[s][column] = average_tables(margin, averaged[s][column])
    return averaged


def borrow_by_stratum(
    tables: Sequence[Mapping[Clique, tuple[Floats, float]]],
) -> list[dict[Clique, tuple[Floats, float]]]:
    """Returns the tables of strata, each measured by itself, moved towards everybody's, with the
    noise that is left in a cell: the root of the mean of the posterior's variances.

    Args:
        tables: By stratum and columns the noised counts and their sigma; all strata have the same
            one-way tables.
    """
    if len(tables) == 1:
        return [dict(tables[0])]

    def tables_of(cliques: Iterable[Clique]) -> list[Measured]:
        every = []
        for clique in cliques:
            who = [s for s, of in enumerate(tables) if clique in of]
            values = np.stack([tables[s][clique][0] for s in who])
            every.append(Measured(clique, who, values, max(tables[s][clique][1] for s in who)))
        return every

    several = tables_of(sorted({c for of in tables for c in of if len(c) > 1}))
    alone = [clique for clique in tables[0] if len(clique) == 1]
    averaged = ones_with_margins(several, [_noisy_ones(of, alone) for of in tables])
    ones = [
        Measured(
            (c,),
            range(len(tables)),
            np.stack([of[c].values for of in averaged]),
            np.sqrt([float(of[c].variance[0]) for of in averaged]),
        )
        for (c,) in alone
    ]
    sizes = posterior_sizes(tables_of(alone))
    of_columns = borrowed_tables(ones, sizes)
    by_column = [{clique[0]: noisy for clique, noisy in of.items()} for of in of_columns]
    of_several = borrowed_tables(several, sizes, by_column)
    return [
        {c: (noisy.values, math.sqrt(noisy.variance.mean())) for c, noisy in (one | more).items()}
        for one, more in zip(of_columns, of_several, strict=True)
    ]


def _noisy_ones(
    tables: Mapping[Clique, tuple[Floats, float]], cliques: Sequence[Clique]
) -> dict[int, Noisy]:
    noisy = {}
    for clique in cliques:
        values, sigma = tables[clique]
        noisy[clique[0]] = Noisy(values, np.full(values.shape, max(sigma, LEAST_SIGMA) ** 2))
    return noisy


def borrowed_answers(
    answers: Sequence[Known], sizes: Floats, ones: Sequence[Mapping[int, Noisy]]
) -> tuple[Known, ...]:
    """Returns what each stratum has measured in a round, shrunk towards the population's.

    Args:
        answers: One for each stratum: see `asking.measured_where_chosen`.
        sizes: Rows of each stratum.
        ones: By stratum and column its one-way table.
    """
    if len(answers) == 1:
        return tuple(answers)
    who: dict[Clique, list[int]] = {}
    for s, answer in enumerate(answers):
        who.setdefault(answer.clique, []).append(s)
    tables = [
        Measured(clique, at, np.stack([answers[s].values for s in at]), answers[at[0]].sigma)
        for clique, at in who.items()
    ]
    moved = borrowed_tables(tables, sizes, ones_with_margins(tables, ones))
    return tuple(
        replace(answer, values=mine[answer.clique].values)
        for answer, mine in zip(answers, moved, strict=True)
    )


def rows_of_runs(runs: Sequence[Run]) -> Floats:
    """Returns the rows of each stratum, shape (strata,); of several strata above 0."""
    rows = np.array([run.size for run in runs])
    return nonnegative(rows, np.array([r.size_variance for r in runs])) if len(runs) > 1 else rows


def borrow_from_runs(runs: Sequence[Run]) -> None:
    """Has each stratum's tables fitted as they are once shrunk towards the population's; a run that
    is alone stays as it is."""
    if len(runs) == 1:
        return
    measured = []
    for clique in sorted({clique for run in runs for clique in run.tables if clique}):
        who = [s for s, run in enumerate(runs) if clique in run.tables]
        values = np.stack([runs[s].tables[clique].values for s in who])
        sigma = math.sqrt(max(float(runs[s].tables[clique].variance.max()) for s in who))
        measured.append(Measured(clique, who, values, sigma))
    for run, tables in zip(runs, borrowed_tables(measured, rows_of_runs(runs)), strict=True):
        run.steadied = partial(_with_tables, tables)


def _with_tables(tables: dict[Clique, Noisy], run: Run) -> dict[Clique, Noisy]:
    return run.tables | tables


def with_margins(shares: Floats, clique: Clique, ones: Mapping[int, Noisy]) -> Floats:
    """Returns the table with the odds ratios of `shares` and these one-way tables' shares."""
    table = shares + 1e-6 / shares.size
    margins = []
    for column in clique:
        counts = np.maximum(ones[column].values, 0.0) + 1e-9
        margins.append(counts / counts.sum())
    for _ in range(SWEEPS):
        for axis, margin in enumerate(margins):
            others = tuple(i for i in range(table.ndim) if i != axis)
            table = table * np.expand_dims(margin / table.sum(axis=others), others)
    return table


def merge_unsure(noisy: Noisy, sigma: float) -> Merging:
    """Returns a column's levels with those merged whose count is below 3 standard deviations, as
    `merge_rare` does. A level that has borrowed nearly all of its count is not merged.

    Args:
        noisy: One-way table of a stratum.
        sigma: The noise that it was measured with.
    """
    keep = noisy.variance / max(sigma, LEAST_SIGMA) ** 2
    if keep.min() >= 1:
        return merge_rare(noisy.values, sigma)
    rare = (noisy.values < 3 * np.sqrt(noisy.variance)) & (keep > OWN)
    if rare.sum() <= 1:
        return Merging(np.arange(rare.size), np.ones(rare.size), rare.size)
    kept, share = rare.size - int(rare.sum()), np.ones(rare.size)
    raised = np.maximum(noisy.values[rare], 0.0)
    share[rare] = raised / raised.sum() if raised.sum() > 0 else 1 / raised.size
    return Merging(np.where(rare, kept, np.cumsum(~rare) - 1), share, kept + 1)


def leaders(sizes: Floats, price: Price, candidates: int) -> list[int]:
    """Returns for each stratum the one whose choices it takes: itself, or the largest stratum.

    Args:
        sizes: Rows of each stratum.
        price: Of one choice.
        candidates: How many there are to choose from.
    """
    epsilon = math.sqrt(8 * price.value) if isinstance(price, Rho) else price.value
    least = 2 * math.log(max(candidates, 2)) / max(epsilon, 1e-300) / GAP
    largest = int(np.argmax(sizes))
    return [s if n >= least else largest for s, n in enumerate(sizes.tolist())]


def following(ask: Ask, sizes: Floats) -> Ask:
    """Returns a gate in which strata too small to choose take the largest one's choice, where it is
    open to them. The choices are charged all the same.

    Args:
        ask: The gate.
        sizes: Rows of each stratum; of one stratum the gate stays as it is.
    """

    def select(
        guesses: Sequence[Guess], price: Price, allowed: NDArray[np.bool_]
    ) -> tuple[int, ...]:
        picks = ask.select(guesses, price, allowed)
        leader = leaders(sizes, price, len(guesses))
        return tuple(
            picks[to] if allowed[s, picks[to]] else picks[s] for s, to in enumerate(leader)
        )

    return Ask(ask.measure, select, ask.report) if len(sizes) > 1 else ask
