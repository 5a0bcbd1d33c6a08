"""What is wrong with columns and pairs of a synthetic table, from releases and draws alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.release import Release
from sqlpriv.synth.api.method import Method, Options
from sqlpriv.synth.domain.domain import Domain
from sqlpriv.synth.inference.one_way_tables import LEAST_SIGMA
from sqlpriv.synth.inference.positions import Codes

NOISE = 0.25
"""The total variation by which noise alone puts a column's table off, from which on the column is
told to be mostly noise: a quarter of its rows are in a wrong level then."""

CELLS = 16
"""Cells of a number or date in which errors are told: of about as many rows each."""
ALONE = 0.99
"""The share of rows from which on a column is told to have one value: the others are remnants of
noise, or hardly more."""


def noisy_columns(domain: Domain, releases: Sequence[Release], rows: float) -> list[str]:
    """Returns the columns whose measured tables are mostly noise.

    A cell of count c and noise sigma is off by about .8 sigma, but by no more than the larger of
    half that and c once what is below 0 is cut off.

    Args:
        domain: The cells.
        releases: All of the statement.
        rows: Noised, of the table.
    """
    least: dict[int, float] = {}
    numbers = {attribute.key: i for i, attribute in enumerate(domain.attributes)}
    for release in releases:
        keys = release.query.keys if isinstance(release.query, a.Count) else ()
        if len(keys) == 1 and keys[0] in numbers:
            off = table_noise(release.values.sum(axis=0), release.sigma, rows, len(release.values))
            column = numbers[keys[0]]
            least[column] = min(off, least.get(column, 1.0))
    return [domain.attributes[c].column.name for c, off in sorted(least.items()) if off >= NOISE]


def noisy_numbers(table: pa.Table, rows: float, histograms: Sequence[Release]) -> list[str]:
    """Returns the columns of which noise hides where their numbers lie: it would put NOISE of them
    into another one of CELLS cells.

    Only rows beside NULL and beside the commonest number are meant. Of 11,000 rows at epsilon = .1,
    a tenth with hours in intensive care, those hours' mean was 3 to 12 standard deviations off, and
    nothing was said of the column, since nine tenths of it were NULL.

    Args:
        table: The drawn rows.
        rows: The noised number of rows that they stand for.
        histograms: Of columns of numbers, several of each; other releases are passed over.
    """
    precisions: dict[str, float] = {}
    for release in {release.id: release for release in histograms}.values():
        match release.query:
            case a.Count(keys=(a.Key(a.Bin(a.Col(name))),)):
                precision = max(release.sigma, LEAST_SIGMA) ** -2
                precisions[name] = precisions.get(name, 0.0) + precision
    names = []
    for name, precision in precisions.items():
        numbers = table[name].drop_null()
        commonest = pc.max(pc.value_counts(numbers).field("counts")).as_py() or 0
        beside = (len(numbers) - commonest) / max(table.num_rows, 1)
        each = np.full(CELLS, beside * rows / CELLS)
        if beside > 1 - ALONE and table_noise(each, precision**-0.5, beside * rows) >= NOISE:
            names.append(name)
    return names


def table_noise(counts: np.ndarray, sigma: float, rows: float, strata: int = 1) -> float:
    """Returns about the total variation by which noise puts a table off.

    Args:
        counts: Noised counts of one table, or the sum of those of all strata.
        sigma: The noise of a count.
        rows: Of the table.
        strata: How many tables were added up.

    >>> round(table_noise(np.array([500.0, 500.0]), 10.0, 1_000.0), 4)
    0.008
    """
    each = 0.8 * sigma * math.sqrt(strata)
    off = np.minimum(each, np.maximum(each / 2, np.maximum(counts, 0.0)))
    return float(min(off.sum() / (2 * max(rows, 1.0)), 1.0))


def total_noise(releases: Sequence[Release]) -> float:
    """Returns the noise of the number of all rows: that of the table whose sum has least; 0 where
    no table counts all rows."""
    return min(
        (
            r.sigma * math.sqrt(r.values.size)
            for r in releases
            if isinstance(r.query, a.Count) and r.query.within is None
        ),
        default=0.0,
    )


def constant_columns(declared: Domain, codes: Codes) -> list[str]:
    """Returns the columns that have one value in the table, and several as declared.

    Args:
        declared: As it was before histograms were looked at.
        codes: The cells of drawn rows, shape (rows, columns and strata): see `fine_cells`.
    """
    names = []
    for c, attribute in enumerate(declared.attributes):
        alone = np.bincount(codes[:, c], minlength=1).max() >= ALONE * len(codes)
        if attribute.size > 1 and alone:
            names.append(attribute.column.name)
    return names


def large_pairs(domain: Domain, method: Method, options: Options) -> list[str]:
    """Returns the pairs of columns whose tables are too large for the method to look at."""
    if method.pair_cells is None:
        return []
    most = method.pair_cells(options, domain.strata_count)
    pairs = itertools.combinations(domain.attributes, 2)
    return [f"{u.column.name} with {v.column.name}" for u, v in pairs if u.size * v.size > most]
