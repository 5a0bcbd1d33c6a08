"""A mean asked for in several rounds: their queries, and what each costs, before anything is read.

Every cell has an interval of its own, yet one query serves all: x is brought to [-1, 1] with the
cell's centre and half width, which are picked from public tables (`algebra.Pick`), and the sum is
clamped there. A unit of that sum is worth the cell's half width, and so is its noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sqlpriv.errors import DataError, Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.plan.aggregates.estimators import CELL_SHARE, COINPRESS_SHARE, HISTOGRAM_SHARE
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.pricing.split import split

SECTIONS, PARTS, WIDE = 12, 4, 8
"""The histogram's grid reaches down to 2**-SECTIONS of the interval, PARTS bins for each halving:
within a bin values differ by 19 %. WIDE of them are one of a cell's own histogram."""


@dataclass(frozen=True)
class Rounds:
    """A mean that is asked for in rounds, later ones as the earlier answered.

    Args:
        recipe: Its count is measured with the statement's other queries; its total is the sum
            that the rounds take the place of.
        price: Of all rounds together.
        steps, sigma: See `Given`.
        known: Whether the histogram that `quantile` begins with is asked for by rounds before.
    """

    recipe: Recipe
    price: Price
    steps: int
    sigma: float | None
    known: bool = False


CLIPPED = "sum, clipped cell by cell"


class Round(NamedTuple):
    """One round: what each of its queries is, for people, and what it costs."""

    names: tuple[str, ...]
    measurements: tuple[Measurement, ...]


def rounds(asked: Rounds) -> tuple[Round, ...]:
    """Returns the rounds in order; their prices add up to the price exactly.

    What is known beforehand of a later round's query is all but its numbers: the bounds are those
    of the declared interval here.
    """
    recipe = asked.recipe
    if recipe.using == "quantile":
        return _clipped(asked)
    early, squares = asked.steps - 1, asked.sigma is None
    parts = [COINPRESS_SHARE / early] * early + [1 - COINPRESS_SHARE] if early else [1.0]
    found = []
    for number, price in enumerate(_split(asked.price, parts), 1):
        queries: tuple[a.Query, ...] = (scaled(recipe, None),)
        if squares and number <= early:
            queries += (squared(recipe, None),)
        amounts = _split(price, [1.0] * len(queries))
        now = tuple(Measurement(q, p) for q, p in zip(queries, amounts, strict=True))
        found.append(Round((f"coinpress step {number} of {asked.steps}",) * len(now), now))
    return tuple(found)


def _clipped(asked: Rounds) -> tuple[Round, ...]:
    """Returns the rounds of `quantile`; a single cell has no histogram of its own."""
    recipe = asked.recipe
    several = cell_count(recipe) > 1
    wanted: list[tuple[str, a.Query, float]] = []
    if not asked.known:
        wanted.append(("histogram of the range", histogram(recipe), HISTOGRAM_SHARE))
    if several:
        view = cell_view(recipe)
        name = "coarse histogram" if isinstance(view, a.Count) else "place in its range"
        wanted.append((f"each cell's {name}", view, CELL_SHARE))
    parts = [share for _, _, share in wanted]
    *first, last = _split(asked.price, [*parts, 1 - sum(parts)])
    early = tuple(Measurement(q, p) for (_, q, _), p in zip(wanted, first, strict=True))
    names = tuple(name for name, _, _ in wanted)
    return Round(names, early), Round((CLIPPED,), (Measurement(scaled(recipe, None), last),))


def in_order(asked: Iterable[Rounds]) -> tuple[Rounds, ...]:
    """Returns rounds as they are asked: fewest cells first, and each histogram once."""
    found: list[Rounds] = []
    for one in sorted(asked, key=lambda x: cell_count(x.recipe)):
        known = one.recipe.using == "quantile" and any(
            histogram(one.recipe) == histogram(x.recipe) for x in found
        )
        found.append(replace(one, known=known))
    return tuple(found)


def templates(asked: Sequence[Rounds]) -> list[tuple[str, Measurement]]:
    """Returns every measurement of the rounds as far as it is known beforehand, with its name."""
    return [pair for one in asked for step in rounds(one)
            for pair in zip(step.names, step.measurements, strict=True)]  # fmt: skip


Bounds = tuple[tuple[float, ...], tuple[float, ...]]
"""For each cell, row-major: the centre of its interval, and half of its width."""


def scaled(recipe: Recipe, bounds: Bounds | None) -> a.Sum:
    """Returns the sum of (x - centre) / half, clamped to ±1, in each cell.

    Args:
        recipe: Whose x and cells.
        bounds: None for the declared interval, the same in all cells.
    """
    cells = _total(recipe)
    return a.Sum(cells.source, _unit(recipe, bounds), -1.0, 1.0, cells.strata, cells.keys)


def squared(recipe: Recipe, bounds: Bounds | None) -> a.Sum:
    """Returns the sum of the squares of the same, from the middle of [0, 1]."""
    cells, unit = _total(recipe), _unit(recipe, bounds)
    square = a.Call("*", (unit, unit))
    return a.Sum(cells.source, square, 0.0, 1.0, cells.strata, cells.keys)


def histogram(recipe: Recipe) -> a.Count:
    """Returns the counts of x in the bins of `edges`, of all cells together."""
    return a.Count(_total(recipe).source, (), (_bins(recipe, 1),))


def cell_view(recipe: Recipe) -> a.Count | a.Sum:
    """Returns what is asked of each cell's x before it is summed.

    On an interval of more units than the grid has orders of magnitude for, the counts in wide bins;
    on a narrower one the sum of bin numbers from the middle one. A few orders of magnitude are in
    two or three wide bins, and such counts tell less of a small cell than its mean bin does.
    """
    cells, inner = _total(recipe), edges(float(recipe.lower), float(recipe.upper))
    if recipe.width > 2**SECTIONS:
        return a.Count(cells.source, cells.strata, (*cells.keys, _bins(recipe, WIDE)))
    return a.Sum(cells.source, _bins(recipe, 1).expr, 0, len(inner), cells.strata, cells.keys)


def cell_count(recipe: Recipe) -> int:
    """Returns how many cells there are."""
    cells = _total(recipe)
    return math.prod(len(key.values) for key in (*cells.strata, *cells.keys))


def _bins(recipe: Recipe, together: int) -> a.Key:
    """Returns the number of x's bin, so many being one; NULL is in none."""
    inner = edges(float(recipe.lower), float(recipe.upper), together)
    return a.Key(a.Bin(_total(recipe).of, inner), tuple(range(len(inner) + 1)))


def edges(lower: float, upper: float, together: int = 1) -> tuple[float, ...]:
    """Returns the inner edges of the histogram's bins, ascending.

    A geometric grid, of ratio 2^(together / PARTS), on both sides of 0, or of the end nearest to
    it: those of more bins together are some of the others.
    """
    anchor = min(max(0.0, lower), upper)
    reach = max(upper - anchor, anchor - lower)
    numbers = range(together, PARTS * SECTIONS + 1, together)
    steps = [reach * 2 ** (-i / PARTS) for i in numbers]
    found = {anchor, *(anchor + step for step in steps), *(anchor - step for step in steps)}
    return tuple(sorted(edge for edge in found if lower < edge < upper))


def _unit(recipe: Recipe, bounds: Bounds | None) -> a.Expr:
    cells = _total(recipe)
    keys, count = (*cells.strata, *cells.keys), cell_count(recipe)
    if bounds is None:
        bounds = ((recipe.middle,) * count, (recipe.width / 2,) * count)
    centres, halves = bounds
    inverse = a.Pick(keys, tuple(1 / half for half in halves))
    return a.Call("*", (a.Call("-", (cells.of, a.Pick(keys, centres))), inverse))


def denominator(recipe: Recipe) -> a.Count:
    """Returns N's query, which is measured with the statement's others."""
    assert recipe.count is not None  # a mean has one
    return recipe.count


def _total(recipe: Recipe) -> a.Sum:
    assert recipe.total is not None  # a constant x is never asked for in rounds
    return recipe.total


def _split(price: Price, weights: Sequence[float]) -> tuple[Price, ...]:
    try:
        return split(price, weights)  # type: ignore[type-var]  # one kind goes in and comes out
    except DataError as error:
        raise Refused(str(error), hint="give the statement a larger epsilon") from None
