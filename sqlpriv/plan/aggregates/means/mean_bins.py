"""The bins of the histogram that a mean's rounds begin with: a geometric grid, known beforehand.

Where they begin depends on the declared interval alone, so that EXPLAIN PRIVACY can tell them.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.pricing.tuned_constants import (
    FINE_SECTIONS,
    HISTOGRAM_SHARE,
    MOST_FOR_FINE,
    PARTS,
    SECTIONS,
)


class BinGrid(NamedTuple):
    """The histogram's bins: bin i holds the values from lowest[i] to highest[i], ascending.

    A bin of which both are equal holds one value, an atom.

    Args:
        edges: Where the next bin begins, as `algebra.Bin` has them; one less than bins.
        lowest, highest: In units of x, one of each for each bin.
    """

    edges: tuple[float, ...]
    lowest: tuple[float, ...]
    highest: tuple[float, ...]


def bin_grid(recipe: Recipe, together: int = 1, share: float = HISTOGRAM_SHARE) -> BinGrid:
    """Returns the bins of a mean's x; see `bin_edges`, which takes the same `together`.

    Args:
        recipe: Of the mean.
        together: How many bins of the finest grid are one bin.
        share: The part of the mean's price that its first histogram takes.
    """
    lower, upper = float(recipe.lower), float(recipe.upper)
    is_fine = upper - lower > 2**SECTIONS and share <= MOST_FOR_FINE
    sections = FINE_SECTIONS if is_fine else SECTIONS
    return _grid_between(lower, upper, together, sections, whole=recipe.whole_numbers)


@lru_cache(maxsize=256)
def _grid_between(
    lower: float, upper: float, together: int, sections: int, *, whole: bool
) -> BinGrid:
    edges = bin_edges(lower, upper, together, sections, whole=whole)
    if whole:
        return BinGrid(edges, (lower, *edges), (*(edge - 1 for edge in edges), upper))
    ends = (*edges, upper)
    atom = _atom_width(lower, upper)
    highest = (e if e - at > 2 * atom else at for at, e in zip((lower, *edges), ends, strict=True))
    return BinGrid(edges, (lower, *edges), tuple(highest))


def bin_edges(
    lower: float, upper: float, together: int = 1, sections: int = SECTIONS, *, whole: bool = False
) -> tuple[float, ...]:
    """Returns the inner edges of the histogram's bins, ascending.

    The edges form a geometric grid of ratio 2^(together / PARTS) on both sides of 0, or of the end
    nearest to 0. The edges for a larger `together` are some of those for a smaller one. Both ends
    and that middle are bins of their own, because values pile up there: a value beyond an end is
    clamped to it, and many columns have a tenth or more of zeros. One more bin costs nothing,
    because a row lies in one bin.

    Args:
        lower, upper: The declared interval, in units of x.
        together: How many bins of the finest grid are one bin.
        sections: The grid reaches down to 2**-sections of the interval.
        whole: Whether x is a whole number: edges are rounded up, which moves no value.

    >>> bin_edges(0.0, 5.0, whole=True)
    (1.0, 2.0, 3.0, 4.0, 5.0)
    >>> [round(edge, 6) for edge in bin_edges(0.0, 1024.0, 16)]
    [0.0, 0.25, 4.0, 64.0, 1024.0]
    """
    anchor = min(max(0.0, lower), upper)
    reach = max(upper - anchor, anchor - lower)
    numbers = range(together, PARTS * sections + 1, together)
    steps = [reach * 2 ** (-i / PARTS) for i in numbers]
    edges = {anchor, *(anchor + step for step in steps), *(anchor - step for step in steps)}
    atom = 1.0 if whole else _atom_width(lower, upper)
    edges |= {lower + atom, anchor + atom, upper}
    if whole:
        edges = {float(math.ceil(edge)) for edge in edges}
    if lower >= 0:
        edges = {_rise_near(edge, lower, upper, whole) for edge in edges if lower < edge <= upper}
    return tuple(sorted(edge for edge in edges if lower < edge <= upper))


def _rise_near(edge: float, lower: float, upper: float, whole: bool) -> float:
    """Returns the value nearest to an edge at which `algebra.Roots` rises. In the histogram's
    grid such values are 1.6 to 27 % of x - lower apart, so an edge moves by half of that at
    most."""
    roots = a.Roots(a.Lit(None, Type.REAL), (), lower, upper)
    if whole and roots.number(edge - 1) < roots.number(edge):
        return edge
    number = max(1, round(((edge - lower) / (upper - lower)) ** 0.25 * a.ROOTS))
    at: float = lower + (upper - lower) * (number / a.ROOTS) ** 4
    at = float(math.ceil(at)) if whole else at

    def next_to(x: float, towards: float) -> float:
        nearest = float(math.nextafter(x, towards))  # beyond 2^53 doubles are further apart than 1
        return x + math.copysign(1.0, towards) if whole and abs(x - nearest) < 1 else nearest

    while roots.number(at) >= number:
        at = next_to(at, -math.inf)
    while roots.number(at) < number:
        at = next_to(at, math.inf)
    return at


def _atom_width(lower: float, upper: float) -> float:
    """Returns the width of the bin that stands for one value: the least that `Roots` tells apart,
    or, of an interval that reaches below 0, a step of a sum's own lattice."""
    least = a.ROOTS**-4 if lower >= 0 else 2.0**-40
    return max((upper - lower) * least, math.ulp(lower), math.ulp(upper))
