"""What a synthetic table's error will be, before anything is paid: from prices, levels and rows.

Noise is known beforehand, but for how rows spread over a column's levels; how much columns depend
on each other is not. So the prediction takes level i of a column to hold rows in proportion to
1 / (i + 1), and every pair to be DEPENDENCE away from independence; what a method keeps of that
depends on the method and on how much noise its pairs have. Numbers and dates are taken to be cut
into CELLS cells of equally many rows, which may be finer than their levels: inside levels rows lie
as noised histograms say. FITTED says what was fitted to what.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.synth.api.method import Phase
from sqlpriv.synth.inference.one_way_tables import count_sigma
from sqlpriv.synth.quality.column_checks import CELLS, table_noise

DEPENDENCE, SPOILT = 0.052, 0.033
ONE_WAY, INSIDE, TWO_WAY = 0.71, 1.28, 2.2
DRAWN = (0.33, 0.94)
LEVELS_END, INSIDE_ENDS, PAIRS_END = 0.3, 4.0, 0.59
OTHER = (1.0, 0.5)
FITTED = {
    "independent": (0.83, 0.5),
    "mst": (0.96, 0.56),
    "aim": (0.98, 0.13),
    "gsd": (1.01, 0.13),
    "gaussian": (1.29, 0.41),
    "privbayes": (2.1, 0.05),
    "mwem": (0.9, 0.24),
    "hdmm": (0.7, 0.1),
    "privsyn": (1.0, 0.06),
    "privmrf": (0.79, 0.1),
}
"""By method: how its one-way error compares with the noise of its one-way tables, over ONE_WAY, and
which part of DEPENDENCE it misses where noise is nothing; OTHER for a method that was not fitted.
INSIDE is how the error inside levels compares with the noise of a histogram of CELLS parts, DRAWN
what the errors of columns and pairs have of rows that are drawn by chance. An error e that noise
alone makes is no more than e / (1 + c e), with the last three numbers: large noise is cut off at 0.
Fitted by least squares of logarithms to the errors that `python tests/bench/synth.py --all-tables
--rows 4000 --methods aim mst gsd gaussian independent` prints, of the first seventeen tables, to
three made-up tables of 8,000 to 20,000 rows and 7 to 14 columns of numbers, and to sixteen lines at
epsilon .1, .3 and 3. With each table
left out of its own fit, 90 % of 1-way and 83 % of 2-way errors were within a factor of 1.5, of 111
(of 95 at epsilon 1: 92 and 84 %; 63 and 65 % by the rule before, which knew of levels alone).
The last five were fitted by themselves to the first ten tables (`--rows 10000 --epsilons 1 0.1`);
with each table left out 88 and 98 % of 96 were within 1.5, where OTHER, and an earlier fit, had 85
and 82 %. A method that measures one table of all columns is `hidden_cells`'s.
Furthest off is `nltcs`, whose columns depend on each other twice as much as those of the others."""
OF_ALL = 0.7
"""Of the price, about what is left for everybody's tables beside sizes of strata and their columns,
which take .09 and more where strata are apart (`joint.shared_one_ways`). Were each stratum of one
model taken to be measured by itself, 2-way errors of `aim` with eight strata were forecast 1.8 and
1.25 times too large at epsilon .1 and 1; so they are .89 and .97 times (four made-up tables of
12,000 rows)."""
MOST_PAIRS = 200
RUNS = 48
"""Into so many runs of cells of about equal shares a long list is cut, for a pair's cells."""


@dataclass(frozen=True)
class ExpectedError:
    """The total variation distances that are expected of marginals of one and of two columns."""

    one_way: float
    two_way: float


@dataclass(frozen=True)
class TableNoise:
    """What a statement's tables are expected to be off by noise alone, in total variation.

    Args:
        columns: Of the one-way table of each column.
        inside: Of the histogram, or the counts of a list's values, that say how a column's values
            lie inside levels; 0 for none.
        pairs: The mean over measured tables of two columns; None where no pair is measured.
        drawn: The distance of two samples of so many rows: the mean over columns, and over pairs.
    """

    columns: tuple[float, ...]
    inside: tuple[float, ...]
    pairs: float | None
    drawn: tuple[float, float]


NOTHING = TableNoise((0.0,), (0.0,), None, (0.0, 0.0))


def expected_noise(
    sizes: tuple[int, ...],
    strata: int,
    phases: tuple[Phase, ...],
    rows: float,
    histograms: Mapping[int, float],
    lists: Mapping[int, tuple[int, float]],
    one_model: bool = False,
) -> TableNoise:
    """Returns how far noise puts the tables of a statement off.

    Args:
        sizes: Levels of the columns.
        strata: How many there are.
        phases: Of the method, as EXPLAIN shows them.
        rows: Of the table.
        histograms: By the number of a column of numbers or dates, the noise of a count of the
            histograms that its levels are from.
        lists: By the number of a column whose levels are groups of values, how many values there
            are, and the noise of a value's count.
        one_model: Whether strata are one model (`api.method.OneModel`), for OF_ALL of the price.
    """
    several = [c for c, size in enumerate(sizes) if size > 1]
    columns = [sizes[c] for c in several]
    if not columns:
        return NOTHING
    kind, first = type(phases[0].price), phases[0].price.nano
    has_one_ways = bool(phases[0].marginals) and len(phases[0].marginals) >= len(columns)
    rest = sum(p.price.nano for p in phases[1:] if "noise" in p.mechanism)
    if not has_one_ways and not rest:
        rest = first  # a method of one batch, whose tables of pairs hold the columns, too
    pairs_measured = max(len(columns) - 1, 1)
    pair_sigma = count_sigma(kind(max(rest // pairs_measured, 1))) if rest else None
    one_sigma = count_sigma(kind(max(first // len(columns), 1))) if has_one_ways else None
    typical = float(np.median(columns))
    sigma = _joined_sigma(one_sigma, pair_sigma, typical)
    pairs = list(combinations(columns, 2))
    some = pairs[:: 1 + len(pairs) // MOST_PAIRS]
    if one_model and pair_sigma is not None:
        strata, times = 1, OF_ALL**-0.5 if kind is Rho else 1 / OF_ALL
        pair_sigma, sigma = pair_sigma * times, sigma * times
    of_columns = tuple(table_noise(_zipf(k, rows), sigma, rows, strata) for k in columns)
    of_pairs = None
    if pair_sigma is not None and some:
        of_pairs = _mean_noise(some, pair_sigma, rows, strata)
    cells = [_cells(sizes[c], histograms.get(c), lists.get(c)) for c in several]
    inside = tuple(table_noise(rows * shares, of_cell, rows) for shares, of_cell in cells)
    drawn = _distances_of_samples([shares for shares, _ in cells], rows)
    return TableNoise(of_columns, inside, of_pairs, drawn)


def expected_error(noise: TableNoise, method: str) -> ExpectedError:
    """Returns what the error will be about.

    Args:
        noise: Of the statement's tables.
        method: Name of the synthesizer.

    >>> expected_error(NOTHING, "independent").one_way
    0.0
    """
    noisier, missed = FITTED.get(method, OTHER)
    of_levels = _cut_off(ONE_WAY * noisier * np.array(noise.columns), LEVELS_END)
    inside = _cut_off(INSIDE * np.array(noise.inside), INSIDE_ENDS)
    one = math.hypot(float(np.hypot(of_levels, inside).mean()), DRAWN[0] * noise.drawn[0])
    kept = 0.0
    if noise.pairs is not None:
        kept = (1 - missed) * DEPENDENCE / (DEPENDENCE + SPOILT * noise.pairs)
    of_pairs = _cut_off(np.array(TWO_WAY * one + DEPENDENCE * (1 - kept)), PAIRS_END)
    two = math.hypot(float(of_pairs), DRAWN[1] * noise.drawn[1])
    return ExpectedError(min(one, 1.0), min(two, 1.0))


def with_joint_error(noise: TableNoise, joint: tuple[float, float]) -> ExpectedError:
    """Returns what the error will be about of a method that measures one table of all columns.

    Args:
        noise: Of the statement's histograms, and of drawn rows.
        joint: What that table is off by: `hidden_cells.joint_table_error`.
    """
    inside = float(_cut_off(INSIDE * np.array(noise.inside), INSIDE_ENDS).mean())
    one = math.hypot(joint[0], inside, DRAWN[0] * noise.drawn[0])
    two = math.hypot(joint[1], TWO_WAY * inside, DRAWN[1] * noise.drawn[1])
    return ExpectedError(min(one, 1.0), min(two, 1.0))


def _cut_off(errors: NDArray[np.float64], end: float) -> NDArray[np.float64]:
    return np.asarray(errors / (1 + end * errors), dtype=np.float64)


def _cells(
    levels: int, histogram: float | None, values: tuple[int, float] | None
) -> tuple[NDArray[np.float64], float]:
    """Returns the shares of the cells in which a column is compared, and the noise of what says how
    rows lie in them; 0 where cells are levels."""
    if histogram is not None:
        return np.full(CELLS, 1 / CELLS), histogram
    if values is not None:
        return _zipf(values[0], 1.0), values[1]
    return _zipf(levels, 1.0), 0.0


def _distances_of_samples(
    shares: Sequence[NDArray[np.float64]], rows: float
) -> tuple[float, float]:
    """Returns about the total variation of two samples of so many rows: the mean over columns of
    these shares, and over their pairs. A cell that hardly a row is in is off by no more than its
    share."""
    columns = [_alike_cells(p) for p in shares]
    pairs = list(combinations(columns, 2))
    of_columns = [_distance_of_samples(p, cells, rows) for p, cells in columns]
    of_pairs = [
        _distance_of_samples(np.outer(p, q), np.outer(m, n), rows)
        for (p, m), (q, n) in pairs[:: 1 + len(pairs) // MOST_PAIRS]
    ]
    return float(np.mean(of_columns)), float(np.mean(of_pairs)) if of_pairs else 0.0


def _distance_of_samples(
    shares: NDArray[np.float64], cells: NDArray[np.float64], rows: float
) -> float:
    """Returns the total variation of two samples over so many cells of each of these shares."""
    off = np.minimum(0.4 * np.sqrt(shares / max(rows, 1.0)), shares)
    return min(float((cells * off).sum()), 1.0)


def _alike_cells(shares: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns mean shares of runs of cells, and how many cells each run has: RUNS at most, of cells
    in descending order, longer where shares are smaller.

    >>> means, cells = _alike_cells(np.full(1_000, 0.001))
    >>> len(cells) <= RUNS, round(float(means @ cells), 9)
    (True, 1.0)
    """
    ordered = np.sort(shares)[::-1]
    starts = np.unique(np.geomspace(1, len(ordered) + 1, RUNS + 1).astype(np.int64))[:-1] - 1
    cells = np.diff([*starts, len(ordered)]).astype(np.float64)
    return np.add.reduceat(ordered, starts) / cells, cells


def _mean_noise(pairs: Sequence[tuple[int, int]], sigma: float, rows: float, strata: int) -> float:
    """Returns the mean noise of tables of so many levels by so many."""
    tables = (np.outer(_zipf(u, 1.0), _zipf(v, rows)).ravel() for u, v in pairs)
    return float(np.mean([table_noise(table, sigma, rows, strata) for table in tables]))


def _joined_sigma(one: float | None, pair: float | None, levels: float) -> float:
    """Returns the noise of a one-way table's cell, where two pairs that hold the column say of it,
    too, what they say when added up over the other column's levels."""
    precision = 0.0
    if one is not None:
        precision += 1 / one**2
    if pair is not None:
        precision += 2 / (pair**2 * levels)
    return 1 / math.sqrt(precision)


def _zipf(levels: int, rows: float) -> NDArray[np.float64]:
    """Returns how many rows each level is taken to hold."""
    weights = 1 / np.arange(1.0, levels + 1)
    return np.asarray(rows * weights / weights.sum())
