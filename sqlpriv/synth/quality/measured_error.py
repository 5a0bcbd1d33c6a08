"""What a synthetic table's error is: measured, for a small part of the price, beside the model.

The L1 distance between a marginal of the data and one of the model moves by one for each row that
comes or goes, whatever the number of cells is. So the mean distance over many marginals is had with
the noise of one count: SHARE of the price says it to a few rows' worth in each (a distance of d
rows is a total variation of d / 2n). Two fifths of the share are for columns, as much for pairs,
whose errors are larger, and a fifth for the number of all rows, of which those with undeclared
values are missing. Numbers and dates are compared in cells that may be finer than their levels
(fine_cells.py).

The model is represented by rows drawn from it with a fixed seed: the same releases give the same
question, and a repeated statement the same, sealed answer.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.proof.sensitivity import Candidate
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.contract import Interval, Type
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.api.ask import Gate
from sqlpriv.synth.api.method import Model
from sqlpriv.synth.domain.domain import Domain
from sqlpriv.synth.inference.positions import Codes
from sqlpriv.synth.models.sampling import strata_rows

SHARE = 0.02
"""Of the price."""
WORTH = 10_000
"""Nanos of a statement's price below which nothing is measured: the answer would be noise."""
MOST_TABLES = 100
"""Columns, and pairs, of which the distance is the mean: of more, so many, in which each column has
about an equal part. Of drawn pairs a column that is far off had half or twice its part."""
MOST_CELLS = 1_000_000
"""Of all pairs that are compared."""
MOST_DRAWN = 100_000
"""Rows that stand for the model. More would hardly differ from it where there are fewer rows."""
COLUMNS, PAIRS, ALL_ROWS = "distance of columns", "distance of pairs", "number of all rows"


@dataclass(frozen=True)
class NoisedNumber:
    """A noised number, and its noise's standard deviation."""

    value: float
    sigma: float


@dataclass(frozen=True)
class MeasuredError:
    """What was measured.

    Args:
        ways: By number of columns, 1 and 2, the mean total variation distance; 0 is exact.
        all_rows: The noised number of rows, with undeclared values or without; None where no row
            can have one.
        beyond: Of these, those with a number beyond its declared ends; None without such columns.
        uncompared: Pairs of columns that are in no figure: their tables have too many cells.
    """

    ways: dict[int, NoisedNumber]
    all_rows: NoisedNumber | None
    beyond: NoisedNumber | None = None
    uncompared: Sequence[str] = ()


def is_measured(price: Price) -> bool:
    """Returns whether a statement of this price measures its error."""
    return price.nano >= WORTH


def price_parts(price: Price) -> tuple[Price, Price]:
    """Returns what measuring the error costs, and what is left for the table.

    >>> from sqlpriv.kernel.terms.budget import Rho
    >>> [part.nano for part in price_parts(Rho(1_000_000))]
    [20001, 979999]
    """
    if not is_measured(price):
        return type(price)(0), price
    error, table = split_price(price, [SHARE, 1 - SHARE])
    return error, table


def step_prices(domain: Domain, base: a.Relation, price: Price) -> dict[str, Price]:
    """Returns what each number costs, by its name for people.

    Args:
        domain: Of the table.
        base: All rows that the statement is about.
        price: Of all of it, above 0.
    """
    several = sum(size > 1 for size in all_sizes(domain))
    wanted = {PAIRS: 2.0 * (several > 1), COLUMNS: 2.0 * (several > 0)}
    wanted[ALL_ROWS] = float(domain.source != base or is_beyond(domain) is not None)
    weights = {name: weight for name, weight in wanted.items() if weight}
    return dict(zip(weights, split_price(price, list(weights.values())), strict=True))


def measure_error(
    gate: Gate,
    cells: Domain,
    codes: Codes,
    base: a.Relation,
    total: float,
    price: Price,
    selects: bool = False,
) -> MeasuredError:
    """Returns the error of drawn rows; spends `price`, or less where there are no pairs.

    Args:
        gate: The allowance.
        cells: In which rows are compared: see `fine_cells`.
        codes: The drawn rows' cells, shape (rows, columns and strata).
        base: All rows that the statement is about.
        total: The noised number of rows that the drawn ones stand for.
        price: Of all of it.
        selects: Whether the table stands for all rows though some of their combinations of values
            are left out, which `total` does not count: shares are compared with those of all rows.
    """
    prices = step_prices(cells, base, price)
    all_rows = beyond = None
    if every := prices.get(ALL_ROWS):
        (release,) = gate.release([Measurement(rows_query(cells, base), every)])
        counts = release.values.ravel()
        all_rows = NoisedNumber(float(counts.sum()), release.sigma * math.sqrt(counts.size))
        if counts.size > 1:
            beyond = NoisedNumber(float(counts[1]), release.sigma)
    total = max(total, 1.0, all_rows.value if selects and all_rows else 1.0)
    ways: dict[int, NoisedNumber] = {}
    for k, name in ((1, COLUMNS), (2, PAIRS)):
        cliques = compared_cliques(cells, k)
        if cliques and name in prices:
            ways[k] = _distance(gate, cells, codes, cliques, total, prices[name])
    counted_rows = all_rows if cells.source != base else None
    return MeasuredError(ways, counted_rows, beyond, uncompared_pairs(cells))


def rows_query(domain: Domain, base: a.Relation) -> a.Count:
    """Returns the count of all rows: where columns have declared ends, of those without a number
    beyond its ends, and of those with one."""
    beyond = is_beyond(domain)
    if beyond is None:
        return a.Count(base)
    yes, no = (a.Lit(number, Type.INTEGER) for number in (1, 0))
    return a.Count(base, (), (a.Key(a.Case(((beyond, yes),), no), (0, 1)),))


def is_beyond(domain: Domain) -> a.Expr | None:
    """Returns the condition of rows with a number, date or timestamp beyond its declared ends, as
    which it is counted; None without columns that have such ends."""
    tests: list[a.Expr] = []
    for attribute in (*domain.attributes, *domain.strata):
        column = attribute.column
        if isinstance(column.domain, Interval) and column.type is not None:
            value = a.Col(column.name)
            low, high = (a.Lit(x, column.type) for x in (column.domain.lower, column.domain.upper))
            tests += [a.Call("<", (value, low)), a.Call("<", (high, value))]
    return a.Call("or", tuple(tests)) if tests else None


def all_sizes(domain: Domain) -> tuple[int, ...]:
    """Returns the levels of the columns, and then those of the strata's."""
    return (*domain.sizes, *domain.strata_shape)


def compared_cliques(domain: Domain, ways: int) -> list[tuple[int, ...]]:
    """Returns the columns, or pairs, that are compared; the columns of strata come last.

    The error of a pair is mostly that of its columns. So pairs are taken around a circle of all
    columns in random order: each with the next one, then with the second next. Every column is in
    about as many pairs.
    """
    return _cliques_by_room(domain, ways)[0]


def uncompared_pairs(domain: Domain) -> list[str]:
    """Returns the names of the pairs that would have been compared, if their tables had fitted into
    MOST_CELLS."""
    names = [x.column.name for x in (*domain.attributes, *domain.strata)]
    return [" with ".join(names[c] for c in pair) for pair in _cliques_by_room(domain, 2)[1]]


def _cliques_by_room(
    domain: Domain, ways: int
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Returns the columns, or pairs, that are compared, and those that there was no room for."""
    sizes = all_sizes(domain)
    columns = [c for c, size in enumerate(sizes) if size > 1]
    count = len(columns)
    circle = np.random.default_rng(count).permutation(columns).tolist()
    cliques: list[tuple[int, ...]] = [(c,) for c in circle]
    if ways == 2:
        steps = itertools.product(range(1, count // 2 + 1), range(count))
        pairs = [{circle[i], circle[(i + step) % count]} for step, i in steps]
        cliques = [*dict.fromkeys(tuple(sorted(pair)) for pair in pairs)]
    chosen: list[tuple[int, ...]] = []
    too_large: list[tuple[int, ...]] = []
    cells = 0
    for clique in cliques:
        if len(chosen) == MOST_TABLES:
            break
        table = math.prod(sizes[c] for c in clique)
        fits = cells + table <= MOST_CELLS
        (chosen if fits else too_large).append(clique)
        cells += table * fits
    return sorted(chosen), sorted(too_large)


def draw_codes(domain: Domain, models: Sequence[Model], total: float) -> Codes:
    """Returns rows of the models with a fixed seed: levels of columns and strata."""
    rng = np.random.default_rng(0)
    rows = int(min(max(total, 1.0), MOST_DRAWN))
    counts = strata_rows([m.size for m in models], rows, None, rng)
    drawn = [m.sample(domain.sizes, int(n), rng) for m, n in zip(models, counts, strict=True)]
    strata = np.repeat(np.arange(len(models)), counts)
    places = np.unravel_index(strata, domain.strata_shape) if domain.strata else ()
    return np.column_stack([np.concatenate(drawn), *places]).astype(np.int64)


def count_cells(codes: Codes, clique: tuple[int, ...], sizes: Sequence[int]) -> NDArray[np.float64]:
    """Returns the rows in each cell, of the shape of the clique's levels."""
    shape = tuple(sizes[c] for c in clique)
    cells = np.ravel_multi_index(tuple(codes[:, c] for c in clique), shape)
    return np.bincount(cells, minlength=math.prod(shape)).reshape(shape).astype(np.float64)


def _distance(
    gate: Gate,
    domain: Domain,
    codes: Codes,
    cliques: Sequence[tuple[int, ...]],
    total: float,
    price: Price,
) -> NoisedNumber:
    """Returns the mean total variation distance of these marginals."""
    sizes = all_sizes(domain)
    scale = total / max(len(codes), 1)
    candidates = [
        Candidate(
            domain.query(clique, pooled=True), count_cells(codes, clique, sizes)[None] * scale
        )
        for clique in cliques
    ]
    sums, sigma = gate.measure_distance(candidates, price)
    to_share = 1 / (2 * total * len(cliques))
    return NoisedNumber(min(max(float(sums[0]) * to_share, 0.0), 1.0), sigma * to_share)
