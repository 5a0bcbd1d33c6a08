"""A mean asked for in several rounds: their queries, and what each costs, before anything is read.

Every cell has an interval of its own, yet one query serves all: x is brought to [-1, 1] with the
cell's centre and half width, which are picked from public tables (`algebra.Pick`), and the sum is
clamped there. A unit of that sum is worth the cell's half width, and so is its noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlpriv.errors import DataError, Refused
from sqlpriv.kernel import algebra as a
from sqlpriv.kernel.budget import Price
from sqlpriv.kernel.contract import Type
from sqlpriv.kernel.release import Measurement
from sqlpriv.plan.estimators import COINPRESS_SHARE, RANGE_SHARE
from sqlpriv.plan.rules import Recipe
from sqlpriv.plan.split import split

SECTIONS = 12
"""The histogram's grid reaches down to 2**-SECTIONS of the interval, two bins for each halving."""


@dataclass(frozen=True)
class Rounds:
    """A mean that is asked for in rounds, later ones as the earlier answered.

    Args:
        recipe: Its count is measured with the statement's other queries; its total is the sum
            that the rounds take the place of.
        price: Of all rounds together.
        steps, sigma: See `Given`.
    """

    recipe: Recipe
    price: Price
    steps: int
    sigma: float | None


class Round(NamedTuple):
    """One round: what its queries are, for people, and what each costs."""

    name: str
    measurements: tuple[Measurement, ...]


def rounds(asked: Rounds) -> tuple[Round, ...]:
    """Returns the rounds in order; their prices add up to the price exactly.

    What is known beforehand of a later round's query is all but its numbers: the bounds are those
    of the declared interval here.
    """
    recipe = asked.recipe
    if recipe.using == "quantile":
        first, last = _split(asked.price, (RANGE_SHARE, 1 - RANGE_SHARE))
        total = scaled(recipe, None)
        return (
            Round("histogram of the range", (Measurement(histogram(recipe), first),)),
            Round("sum, clipped cell by cell", (Measurement(total, last),)),
        )
    early, squares = asked.steps - 1, asked.sigma is None
    parts = [COINPRESS_SHARE / early] * early + [1 - COINPRESS_SHARE] if early else [1.0]
    found = []
    for number, price in enumerate(_split(asked.price, parts), 1):
        queries: tuple[a.Query, ...] = (scaled(recipe, None),)
        if squares and number <= early:
            queries += (squared(recipe, None),)
        amounts = _split(price, [1.0] * len(queries))
        asked_now = (Measurement(q, p) for q, p in zip(queries, amounts, strict=True))
        found.append(Round(f"coinpress step {number} of {asked.steps}", tuple(asked_now)))
    return tuple(found)


def templates(asked: Sequence[Rounds]) -> list[tuple[str, Measurement]]:
    """Returns every measurement of the rounds as far as it is known beforehand, with its name."""
    return [(step.name, m) for one in asked for step in rounds(one) for m in step.measurements]


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
    """Returns the counts of x in the bins of `edges`, in each cell."""
    cells, inner = _total(recipe), edges(float(recipe.lower), float(recipe.upper))
    value = a.Call("real", (cells.of,))
    number = _position(value, inner, 0, len(inner) + 1)
    of_bins = a.Case(
        ((a.Call("is null", (value,)), a.Lit(None, Type.INTEGER)),),
        number,
    )
    bins = a.Key(of_bins, tuple(range(len(inner) + 1)))
    return a.Count(cells.source, cells.strata, (*cells.keys, bins))


def edges(lower: float, upper: float) -> tuple[float, ...]:
    """Returns the inner edges of the histogram's bins, ascending.

    A geometric grid of ratio √2 on both sides of 0, or of the end nearest to it.
    """
    anchor = min(max(0.0, lower), upper)
    reach = max(upper - anchor, anchor - lower)
    steps = [reach * 2 ** (-i / 2) for i in range(1, 2 * SECTIONS + 1)]
    found = {anchor, *(anchor + step for step in steps), *(anchor - step for step in steps)}
    return tuple(sorted(edge for edge in found if lower < edge < upper))


def _position(value: a.Expr, inner: tuple[float, ...], low: int, high: int) -> a.Expr:
    """Returns the bin of a value between numbers `low` and `high`, by halving."""
    if high - low == 1:
        return a.Lit(low, Type.INTEGER)
    middle = (low + high) // 2
    test = a.Call("<", (value, a.Lit(inner[middle - 1], Type.REAL)))
    below, above = (_position(value, inner, *part) for part in ((low, middle), (middle, high)))
    return a.Case(((test, below),), above)


def _unit(recipe: Recipe, bounds: Bounds | None) -> a.Expr:
    cells = _total(recipe)
    keys = (*cells.strata, *cells.keys)
    if bounds is None:
        count = math.prod(len(key.values) for key in keys)
        bounds = ((recipe.middle,) * count, (recipe.width / 2,) * count)
    centres, halves = bounds
    inverse = a.Pick(keys, tuple(1 / half for half in halves))
    return a.Call("*", (a.Call("-", (cells.of, a.Pick(keys, centres))), inverse))


def _total(recipe: Recipe) -> a.Sum:
    assert recipe.total is not None  # a constant x is never asked for in rounds
    return recipe.total


def _split(price: Price, weights: Sequence[float]) -> tuple[Price, ...]:
    try:
        return split(price, weights)  # type: ignore[type-var]  # one kind goes in and comes out
    except DataError as error:
        raise Refused(str(error), hint="give the statement a larger epsilon") from None
