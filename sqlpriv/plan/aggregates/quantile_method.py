"""Quantiles and modes: which of two methods finds the level, by their predicted errors.

Let k be the number of levels, q the rank, D = max(q, 1 - q) (1 for a mode), and all errors rows of
rank, at 95 %, for ρ = 1 or ε = 1; bounds on rows and groups multiply them alike.

    chosen (exponential mechanism, Smith 2011)   s ln(20 k),  s = D / √2 or 2 D
    read off a noised histogram                  1.96 σ √(q (1 - q) k),  σ = 1 / √2 or √2
                                                 (a mode: 2 σ √(2 ln(20 k)))

A count of all rows beside a histogram of k levels tells near the ends of the grid, and of few rows,
what the sum of k noised counts does not. It takes 1 / (1 + √k) (zCDP) or 1 / (1 + k^(1/3)) of their
price (`price_shares`), and is asked for where that makes the levels at most MOST_FOR_SIZE times as
noisy, or where the statement asks for it anyway.

Choices are paid one by one: r of them over one grid, and the population's beside the strata's, make
each √(r t) (zCDP) or r t (pure) times as noisy. A histogram is paid once, and its strata add up to
the population. The lower error wins; both are exact about which rows they count.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import replace

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import NANO, Epsilon, Price, Rho
from sqlpriv.kernel.terms.contract import PrivacyUnit
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.pricing.tuned_constants import MOST_FOR_SIZE


def choose_quantile_methods(
    recipes: Sequence[Recipe], price: Price, weighted: bool, measured: Container[int] = ()
) -> tuple[Recipe, ...]:
    """Returns the recipes, the quantiles of one grid by the method whose largest error is lower.

    Args:
        recipes: Of all aggregates.
        price: The statement's.
        weighted: The population is made of histograms, to which WEIGHTS FROM can be given.
        measured: Numbers of the recipes whose error is asked for: a histogram alone tells it. Where
            strata are drawn together it is always needed.
    """
    grids: dict[a.Key, list[Recipe]] = defaultdict(list)
    for recipe in recipes:
        if recipe.level is not None:
            grids[recipe.level.levels].append(recipe)
    counted = {key for key, same in grids.items() if weighted or _histogram_is_better(same, price)}
    with_errors = [r for i, r in enumerate(recipes) if r.rank and (i in measured or r.pooled)]
    counted |= {recipe.level.levels for recipe in with_errors if recipe.level is not None}
    sizes = {recipe.count for recipe in recipes if recipe.kind == "count"}
    return tuple(
        _as_histogram(r, price, sizes) if r.level and r.level.levels in counted else r
        for r in recipes
    )


def _histogram_is_better(recipes: Sequence[Recipe], price: Price) -> bool:
    """Returns whether a histogram is better than choices over the same grid."""
    levels = [recipe.level for recipe in recipes if recipe.level is not None]
    times = sum(1 + (recipe.whole is not None) for recipe in recipes)
    return max(histogram_error(x.levels, x.rank, price) for x in levels) < max(
        choice_error(x, price, times) for x in levels
    )


def _as_histogram(recipe: Recipe, price: Price, sizes: Container[a.Query | None]) -> Recipe:
    assert recipe.level is not None
    k = len(recipe.level.levels.values)
    noisier = (1 + k**-0.5) ** 0.5 if isinstance(price, Rho) else 1 + k ** (-1 / 3)
    has_size = recipe.rank is not None and (noisier <= MOST_FOR_SIZE or recipe.size in sizes)
    size = recipe.size if has_size else None
    return replace(recipe, count=recipe.level.histogram, level=None, whole=None, size=size)


def reach_of_unit(bound: PrivacyUnit, strata: int, price: Price) -> float:
    """Returns how far one unit moves counts of all strata together, in rows.

    A unit has m rows in each of g strata: the counts move by m √g in L2, which noise of zCDP goes
    by, and by m g in L1, which noise of pure epsilon goes by. Of choices each stratum has the price
    over g, which comes to the same.

    Args:
        bound: m and g, as declared.
        strata: How many there are, 1 without any: no unit is in more.
        price: Of what is measured.

    >>> unit = PrivacyUnit("people", "id", 3, 4)
    >>> reach_of_unit(unit, 18, Rho(NANO)), reach_of_unit(unit, 18, Epsilon(NANO))
    (6.0, 12)
    """
    m, g = bound.rows_per_unit, min(bound.groups_per_unit, strata)
    return m * math.sqrt(g) if isinstance(price, Rho) else m * g


def level_error(recipe: Recipe, reach: float, price: Price) -> float:
    """Returns how many rows of rank a quantile is off, or how many fewer rows a mode has than the
    most frequent value: what 95 % of groups keep.

    Args:
        recipe: Of a quantile or mode, chosen or read off a histogram.
        reach: How far one unit moves the counts, in rows.
        price: Of the choice or the histogram.
    """
    if recipe.level is not None:
        return rank_error(recipe.level, rank_weight(recipe.rank) * reach, price)
    assert recipe.count is not None  # as `_as_histogram` sees to
    scale = math.sqrt(price.value) if isinstance(price, Rho) else price.value
    return reach * histogram_error(recipe.count.keys[-1], recipe.rank, price) / scale


def choice_error(level: a.Level, price: Price, times: int = 1) -> float:
    """Returns the 95 % error of rank, for ρ = 1 or ε = 1, of a choice of `times` that are paid."""
    zcdp = isinstance(price, Rho)
    unit = Rho(NANO) if zcdp else Epsilon(NANO)
    return rank_error(level, rank_weight(level.rank), unit) * (math.sqrt(times) if zcdp else times)


def rank_error(level: a.Level, distance: float, price: Price) -> float:
    """Returns s ln(20 k): the rank error of a choice among k levels that 95 % of choices keep.

    Args:
        level: The quantile or mode and its k levels.
        distance: How far one unit can move a score, in rows.
        price: What the choice costs.

    Returns:
        The error in rows of rank (Smith 2011, Theorem 3.11 of Dwork and Roth 2014).
    """
    scale = 1 / math.sqrt(2 * price.value) if isinstance(price, Rho) else 2 / price.value
    return distance * scale * math.log(20 * len(level.levels.values))


def histogram_error(levels: a.Key, rank: tuple[int, int] | None, price: Price) -> float:
    """Returns the same, for ρ = 1 or ε = 1 by the kind of a price, of what is read off a histogram
    of noised counts."""
    sigma, k = math.sqrt(0.5 if isinstance(price, Rho) else 2), len(levels.values)
    if rank is None:
        return 2 * sigma * math.sqrt(2 * math.log(20 * k))
    q = rank[0] / rank[1]
    return 1.96 * sigma * math.sqrt(max(q * (1 - q), 1 / k) * k)


def rank_weight(rank: tuple[int, int] | None) -> float:
    """Returns D: how far a row moves a score, in rows.

    >>> rank_weight((1, 2)), rank_weight((10, 1000)), rank_weight(None)
    (0.5, 0.99, 1.0)
    """
    return 1.0 if rank is None else max(rank[0], rank[1] - rank[0]) / rank[1]
