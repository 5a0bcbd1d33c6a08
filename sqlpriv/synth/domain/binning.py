"""The levels of wide number and date columns, and what lies inside them, from charged histograms.

A column whose declared interval holds many values is first cut into bins of equal width, from its
declaration alone. A part of the price (`SHARE`) then goes to noised histograms of each such column
over the whole population: ROUNDS of them, each finer where rows are (histogram_rounds.py), and one
of the grid that values lie on (lattice.py). They say how values lie inside each level, in every
stratum alike. With `binning = auto` they also say which levels there are (level_choice.py), with
`binning = quantile` where as many bins as before end, so that each holds about as many people;
`binning = width` keeps the bins.

Price: the histograms of a column share its part nearly equally by round, the grid's takes GRID of a
round's. They count every stratum together, so they are paid for besides what the method is given,
which is the rest. A later round's ends follow from earlier noised counts (adaptive composition);
levels, shapes and drawn values are post-processing.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.contract import Interval
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.domain import lattice
from sqlpriv.synth.domain.domain import Attribute, Domain, Within
from sqlpriv.synth.domain.histogram_rounds import (
    Density,
    Histogram,
    Ints,
    estimate,
    first_ends,
    next_ends,
)
from sqlpriv.synth.domain.lattice import ValueLattice
from sqlpriv.synth.domain.level_choice import chosen_levels, level_count
from sqlpriv.synth.domain.tail_shape import taper_tails
from sqlpriv.synth.models.made_up import read_assignments

SHARE = 0.15
ROUNDS = 4
DEARER = 0.02
"""By how much each round's price is above the first one's, as a share of it: a repeated question at
the same price would be answered by the release that there is, and tell nothing new."""
GRID = 0.25
WORTH = 1_000
"""Nanos of price for each binned column, below which no histogram is worth it: values are drawn
evenly then, and bins are of equal width."""


@dataclass(frozen=True, eq=False)
class ColumnLook:
    """What is known of a binned column so far.

    Args:
        number: Of the column among the domain's attributes.
        lattice: The grid of its values.
        ladder: The steps of the grid that are asked for, coarsest first; none for no question.
        ends: Of the next histogram's parts, numbers of the lattice.
        histograms: Those that were measured.
        release_ids: The releases that they are from: one that the gate repeats tells nothing new.
    """

    number: int
    lattice: ValueLattice
    ladder: tuple[float, ...]
    ends: Ints
    histograms: tuple[Histogram, ...] = ()
    release_ids: frozenset[int] = frozenset()


def binned_columns(domain: Domain) -> tuple[int, ...]:
    """Returns the numbers of the columns that are made of bins."""
    return tuple(i for i, x in enumerate(domain.attributes) if x.bounds is not None)


def with_grids(domain: Domain, text: str | None) -> Domain:
    """Returns the domain whose binned columns know of their grids, `'pay = 0.01; hours = 5'`.

    Raises:
        Refused: A column is not made of bins, or has no such multiples.
    """
    hint = "grid = 'pay = 0.01; hours = 5': what values are multiples of"
    grids = read_assignments(text, "grid", hint)
    attributes = list(domain.attributes)
    numbers = {attributes[i].column.name.lower(): i for i in binned_columns(domain)}
    for name, multiple in grids.items():
        if name not in numbers:
            raise Refused(
                f'"{name}" is no selected number or date of more values than levels', hint=hint
            )
        x = attributes[numbers[name]]
        grid = lattice.read_grid(x.column, _interval(x), multiple)
        attributes[numbers[name]] = replace(x, grid=grid)
    return replace(domain, attributes=tuple(attributes))


def begin_look(domain: Domain, number: int) -> ColumnLook:
    """Returns what the declaration says of a column, nothing measured yet."""
    column, interval = domain.attributes[number].column, _interval(domain.attributes[number])
    declared_grid = domain.attributes[number].grid
    grid = lattice.first_lattice(column, interval)
    steps = lattice.ladder(column, interval)
    if declared_grid is not None:
        grid, steps = lattice.declared_lattice(column, declared_grid), ()
    low = grid.number(lattice.number_of(column, interval.lower))
    high = max(low, grid.last_number(lattice.number_of(column, interval.upper)))
    return ColumnLook(number, grid, steps, first_ends(low, high))


def round_prices(price: Price, look: ColumnLook) -> tuple[Price, ...]:
    """Returns the prices of a column's ROUNDS histograms and, where it has one, of its grid's."""
    weights = [1 + DEARER * i for i in range(ROUNDS)] + ([GRID] if look.ladder else [])
    return split_price(price, weights)


def questions(
    domain: Domain, look: ColumnLook, prices: Sequence[Price], done: int
) -> list[Measurement]:
    """Returns what is measured of a column after `done` rounds: in the first the grid, too."""
    measurements = [Measurement(_histogram_query(domain, look), prices[done])]
    if look.ladder and not done:
        column = domain.attributes[look.number].column
        grid = lattice.grid_query(domain.source, column, look.ladder)
        measurements.append(Measurement(grid, prices[-1]))
    return measurements


def learn(look: ColumnLook, releases: Sequence[Release]) -> ColumnLook:
    """Returns what is known with the answers to `questions`, and the next histogram's ends."""
    release = releases[0]
    if release.id in look.release_ids:
        return look
    histogram = Histogram(look.ends, release.values.ravel(), release.sigma)
    grid, histograms = look.lattice, (*look.histograms, histogram)
    if len(releases) > 1:
        counts = releases[1].values.ravel()
        grid = lattice.measured_lattice(grid, look.ladder, counts, releases[1].sigma)
        histograms = (_move_histogram(histogram, look.lattice, grid),)
    ends, release_ids = next_ends(estimate(histograms)), look.release_ids | {release.id}
    return replace(look, lattice=grid, ends=ends, histograms=histograms, release_ids=release_ids)


def _move_histogram(histogram: Histogram, old: ValueLattice, new: ValueLattice) -> Histogram:
    """Returns a histogram in the numbers of another lattice; parts that hold none of its values
    are left out."""
    if (old.unit, old.middle) == (new.unit, new.middle):
        return histogram
    *starts, last = histogram.ends.tolist()
    moved = [new.number(old.edge(end)) for end in starts]
    top = max(new.number(old.edge(last - 1)) + 1, moved[-1] + 1)
    kept = np.flatnonzero(np.diff([*moved, top]) > 0)
    ends = np.array([*(moved[i] for i in kept), top], dtype=np.int64)
    return Histogram(ends, histogram.counts[kept], histogram.sigma)


def refine_domain(domain: Domain, looks: Mapping[int, ColumnLook], by: str) -> Domain:
    """Returns the domain with the insides of its bins, and with other levels unless `by` is width.

    Args:
        domain: Of bins of equal width.
        looks: By number of the column, after ROUNDS rounds.
        by: "auto", "width" or "quantile". Prices are the same for all of them.
    """
    attributes = list(domain.attributes)
    for number, look in looks.items():
        density = taper_tails(estimate(look.histograms), look.lattice.usual_step)
        attribute = attributes[number]
        bins = len(attribute.bounds or ()) - 1
        if by == "width":
            density, starts = _with_ends(density, look.lattice, attribute)
        else:
            count = level_count(density.total, density.sigma, bins)
            if by == "quantile":
                density, count = _cut_finely(density, bins), bins
            starts = chosen_levels(density, count, by == "quantile")
        attributes[number] = _attribute(attribute, look.lattice, density, starts, by)
    return replace(domain, attributes=tuple(attributes))


def _histogram_query(domain: Domain, look: ColumnLook) -> a.Count:
    column = domain.attributes[look.number].column
    edges = part_edges(domain.attributes[look.number], look.lattice, look.ends)
    key = a.Key(a.Bin(a.Col(column.name), edges), tuple(range(len(look.ends) - 1)))
    return a.Count(domain.source, (), (key,))


def part_edges(attribute: Attribute, grid: ValueLattice, ends: Ints) -> tuple[Any, ...]:
    """Returns the inner ends, of numbers of the lattice, as values of the column."""
    return tuple(lattice.value_at(attribute.column, grid.edge(int(e))) for e in ends[1:-1])


def _with_ends(density: Density, grid: ValueLattice, attribute: Attribute) -> tuple[Density, Ints]:
    """Returns the density cut at the ends of equally wide bins, and the parts at which they begin.
    Bins that no value of the lattice falls into are empty: they keep one part of no rows."""
    bounds = attribute.bounds or ()
    inner = [grid.number(bound) for bound in bounds[1:-1]]
    low, high = int(density.ends[0]), int(density.ends[-1])
    wanted = np.clip(np.array([low, *inner, high], dtype=np.int64), low, high)
    cut = _cut_at(density, wanted)
    return cut, np.searchsorted(cut.ends, wanted)


def _cut_finely(density: Density, bins: int) -> Density:
    """Returns the density with parts cut, evenly, so that there are as many levels as bins."""
    cuts = [density.ends]
    for first, last, rows in zip(density.ends, density.ends[1:], density.rows, strict=False):
        parts = min(int(last - first), max(1, round(4 * bins * rows / density.total)))
        cuts.append(first + (last - first) * np.arange(parts, dtype=np.int64) // parts)
    ends = np.unique(np.concatenate(cuts))
    while len(ends) - 1 < bins and int(np.diff(ends).max()) > 1:
        widest = int(np.argmax(np.diff(ends)))
        ends = np.insert(ends, widest + 1, (ends[widest] + ends[widest + 1]) // 2)
    return _cut_at(density, ends)


def _cut_at(density: Density, cuts: Ints) -> Density:
    """Returns the density with these ends besides its own, rows lying evenly inside a part."""
    ends: Ints = np.unique(np.concatenate([density.ends, cuts]))
    inside = np.searchsorted(density.ends, ends[:-1], side="right") - 1
    share = np.diff(ends) / np.diff(density.ends)[inside]
    return Density(ends, density.rows[inside] * share, density.sigma)


def _attribute(
    attribute: Attribute, grid: ValueLattice, density: Density, starts: Ints, by: str
) -> Attribute:
    """Returns the column with these levels and the shares of the parts of each."""
    count = len(starts) - 1
    bounds = attribute.bounds or ()
    if by != "width":
        inner = part_edges(attribute, grid, density.ends[starts])
        nothing = (None,) if None in attribute.key.values else ()
        levels = (*range(count), *nothing)
        key = a.Key(a.Bin(a.Col(attribute.column.name), inner), levels)
        numbers = (lattice.number_of(attribute.column, edge) for edge in inner)
        attribute = replace(attribute, key=key, bounds=(bounds[0], *numbers, bounds[-1]))
    return replace(attribute, within=_shares_of_parts(grid, density, starts))


def _shares_of_parts(grid: ValueLattice, density: Density, starts: Ints) -> Within:
    """Returns the shares of the parts of each level; even ones by width where it has no rows."""
    widths = np.diff(density.ends).astype(np.float64)
    share = np.zeros((len(starts) - 1, max(1, int(np.diff(starts).max()))))
    for i, (first, last) in enumerate(itertools.pairwise(starts.tolist())):
        rows = density.rows[first:last]
        mass = rows if rows.sum() > 0 else widths[first:last]
        if last > first:
            share[i, : last - first] = mass / mass.sum()
        else:  # no value of the lattice lies in this bin: what noise puts there gets a neighbour
            share[i, 0] = 1.0
    first_parts: NDArray[np.int64] = np.minimum(starts[:-1], len(widths) - 1)
    return Within(grid, density.ends, first_parts, share)


def _interval(attribute: Attribute) -> Interval:
    domain = attribute.column.domain
    assert isinstance(domain, Interval)
    return domain
