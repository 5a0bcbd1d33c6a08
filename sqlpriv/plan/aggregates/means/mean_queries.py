"""The queries of a mean's rounds: sums in intervals of cells' own, histograms, views of cells."""

from __future__ import annotations

import math
from dataclasses import replace

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.plan.aggregates.means.mean_bins import bin_grid
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.pricing.tuned_constants import HISTOGRAM_SHARE, SECTIONS, WIDE

Ends = tuple[tuple[float, float], ...]
"""For each cell, row-major: where its values are clipped."""


def clipped_sum(recipe: Recipe, ends: Ends | None) -> a.Clipped:
    """Returns the sum of (x - centre) / half, clipped to ±1, in each cell.

    Args:
        recipe: Whose x and cells.
        ends: None for the declared interval, the same in all cells.
    """
    cells, bins = _total_query(recipe), _bin_key(recipe, 1).expr
    assert isinstance(bins, a.Bin)
    ends = ends or ((cells.lower, cells.upper),) * cell_count(recipe)
    lower, upper = cells.lower, cells.upper
    return a.Clipped(cells.source, bins, lower, upper, ends, cells.strata, cells.keys)


def clipped_sum_of_all(recipe: Recipe, ends: tuple[float, float] | None) -> a.Clipped:
    """Returns the same sum of all strata together, as one cell.

    Args:
        recipe: Whose x and strata; it has no other keys.
        ends: None for the declared interval.
    """
    cells = clipped_sum(recipe, None)
    return replace(cells, strata=(), ends=(ends or (cells.lower, cells.upper),))


Bounds = tuple[tuple[float, ...], tuple[float, ...]]
"""For each cell, row-major: the centre of its interval, and half of its width."""


def scaled_sum(recipe: Recipe, bounds: Bounds | None) -> a.Sum:
    """Returns the sum of (x - centre) / half, clamped to ±1, in each cell.

    Args:
        recipe: Whose x and cells.
        bounds: None for the declared interval, the same in all cells.
    """
    cells = _total_query(recipe)
    return a.Sum(cells.source, _unit_interval(recipe, bounds), -1.0, 1.0, cells.strata, cells.keys)


def squared_sum(recipe: Recipe, bounds: Bounds | None) -> a.Sum:
    """Returns the sum of the squares of the same, from the middle of [0, 1]."""
    cells, unit = _total_query(recipe), _unit_interval(recipe, bounds)
    square = a.Call("*", (unit, unit))
    return a.Sum(cells.source, square, 0.0, 1.0, cells.strata, cells.keys)


def histogram(recipe: Recipe, share: float = HISTOGRAM_SHARE) -> a.Count:
    """Returns the counts of x in the bins of `bin_grid`, of all cells together, at such a part of
    the mean's price."""
    return a.Count(_total_query(recipe).source, (), (_bin_key(recipe, 1, share),))


def cell_view(recipe: Recipe, share: float = HISTOGRAM_SHARE) -> a.Count | a.Sum:
    """Returns what is asked of each cell's x before it is summed; `share` is the histogram's.

    On an interval of more units than the grid has orders of magnitude for, the counts in wide bins;
    on a narrower one the sum of bin numbers from the middle one. A few orders of magnitude are in
    two or three wide bins, and such counts tell less of a small cell than its mean bin does.
    """
    cells, inner = _total_query(recipe), bin_grid(recipe).edges
    if recipe.width > 2**SECTIONS:
        return a.Count(cells.source, cells.strata, (*cells.keys, _bin_key(recipe, WIDE, share)))
    return a.Sum(cells.source, _bin_key(recipe, 1).expr, 0, len(inner), cells.strata, cells.keys)


def cell_count(recipe: Recipe) -> int:
    """Returns how many cells there are."""
    cells = _total_query(recipe)
    return math.prod(len(key.values) for key in (*cells.strata, *cells.keys))


def _bin_key(recipe: Recipe, together: int, share: float = HISTOGRAM_SHARE) -> a.Key:
    """Returns the number of x's bin, so many being one; NULL is in none."""
    inner, x = bin_grid(recipe, together, share).edges, _total_query(recipe).of
    if recipe.lower < 0:
        return a.Key(a.Bin(x, inner), tuple(range(len(inner) + 1)))
    roots = a.Roots(x, inner, float(recipe.lower), float(recipe.upper))
    return a.Key(roots, tuple(range(len(inner) + 1)))


def _unit_interval(recipe: Recipe, bounds: Bounds | None) -> a.Expr:
    cells = _total_query(recipe)
    keys, count = (*cells.strata, *cells.keys), cell_count(recipe)
    if bounds is None:
        bounds = ((recipe.middle,) * count, (recipe.width / 2,) * count)
    centres, halves = bounds
    inverse = a.Pick(keys, tuple(1 / half for half in halves))
    return a.Call("*", (a.Call("-", (cells.of, a.Pick(keys, centres))), inverse))


def count_query(recipe: Recipe) -> a.Count:
    """Returns N's query, which is measured with the statement's others."""
    assert recipe.count is not None  # a mean has one
    return recipe.count


def _total_query(recipe: Recipe) -> a.Sum:
    assert recipe.total is not None  # a constant x is never asked for in rounds
    return recipe.total
