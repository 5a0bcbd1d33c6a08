"""How a statement's price is shared by its measurements.

**Errors.** Let D_j be how far a row can move measurement j: 1 for a count, (upper - lower) / 2 for
a centred sum, (upper - lower)² / 8 for a centred sum of squares; bounds on rows per unit multiply
all alike. Its noise has variance D_j² / (2 ρ_j) under zCDP (discrete Gaussian) and 2 D_j² / ε_j²
under pure DP (discrete Laplace). To first order the squared relative error of aggregate a is

    v_a = Σ_j c_aj σ_j² / N²

with the coefficients below; 1 / N² is common to all cells and falls out.

**The split** minimises the length √(Σ_a v_a²) of the statement's errors: between their sum, which
serves what is well known already, and their maximum, which sees only the worst. v_a is convex in
the shares, so there is one minimum. There, with w_a = v_a / √(Σ v²) and A_j = D_j² Σ_a w_a c_aj,

    Σ_j A_j / ρ_j   is least for Σ_j ρ_j = ρ:    ρ_j ∝ A_j^(1/2)
    Σ_j A_j / ε_j²  is least for Σ_j ε_j = ε:    ε_j ∝ A_j^(1/3)

(Lagrange: A_j / ρ_j² resp. 2 A_j / ε_j³ is the same for all j.) It is found by turns, from w = 1.

**Sets of keys** (ROLLUP, CUBE, GROUPING SETS). The cells of one set are disjoint; the sets pay one
after another. Rows spread over the k cells of a set make N = n / k, so v_a counts k² times. Lengths
of sets with different k add up; so, set by set, ρ ∝ k under zCDP: a total of its own is as good as
the sum of its cells.

**Coefficients** from public facts alone: x is taken as uniform on [lower, upper], of width w and
middle μ. Its mean square is then M² = μ² + w²/12, and w²/12 also stands for the square of a cell's
unknown mean of x - μ.

    COUNT     N            c_N = 1
    SUM       S + μ N      c_S = 1 / M²,  c_N = μ² / M², EMPTY at least
    AVG       μ + S / N    c_S = 1 / M²,  c_N = (w²/12) / M²      (∂/∂N = -S/N²)
    VARIANCE  w²/8 + Q/N - (S/N)², relative to w²/12:
                                   c_Q = (12/w²)²,  c_S = 4 (w²/12) (12/w²)²,
                                   c_N = 1/4  (∂/∂N = -Q/N², where Q/N is w²/12 - w²/8)
    MEDIAN …  a choice: 9, a histogram of k levels: 1, of a squared error of rank relative to N²;
              the count of its rows 1 / k: rank errs by q² of its noise, and by q (1 - q) k of a
              level's
    STDDEV    half the relative error of the variance: a quarter of each
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms.algebra import Asked, Sum
from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.pricing.split import split_statement_price
from sqlpriv.plan.pricing.tuned_constants import EMPTY, FLOOR, LEVEL, SIZE, TURNS

Paid = Asked | Recipe
"""What is paid for: a query, or the rounds of a mean that is asked for in rounds."""
Array = NDArray[np.float64]


def row_effect(query: Paid) -> float:
    """Returns D: how far one kept row can move a cell, in the units of the release."""
    if isinstance(query, Recipe):
        return query.width / 2
    return float(query.upper - query.lower) / 2 if isinstance(query, Sum) else 1.0


def coefficients(recipe: Recipe) -> dict[Paid, float]:
    """Returns c_j of each query of a recipe; see the module's text.

    Rounds take the place of S. Where they centre it near the cell's own mean N hardly matters;
    where they clip on one side, or nothing, it matters as for the plain sum: half its coefficient.
    """
    w2, middle = recipe.width**2 / 12, recipe.middle
    mean_square = middle * middle + w2
    n, s, q = 1.0, 0.0, 0.0
    match recipe.kind:
        case "level":
            choices = dict.fromkeys(recipe.queries, 1.0 if recipe.count else LEVEL)
            of_size = 1 / len(recipe.count.keys[-1].values) if recipe.count else SIZE
            return {q: of_size if q == recipe.size else c for q, c in choices.items()}
        case "sum" if mean_square > 0:
            n, s = max(EMPTY, middle * middle / mean_square), 1 / mean_square
        case "mean" if mean_square > 0:
            n, s = w2 / mean_square, 1 / mean_square
        case "variance" | "stddev" if w2 > 0:
            part = 1.0 if recipe.kind == "variance" else 0.25
            n, s, q = part / 4, 4 * part / w2, part * (recipe.square_unit / w2) ** 2
    if recipe.using:
        return {part: c for part, c in ((recipe.count, n / 2), (recipe, s)) if part is not None}
    pairs = ((recipe.count, n), (recipe.whole, n), (recipe.total, s), (recipe.square, q))
    return {query: c for query, c in pairs if query is not None}


def error_terms(
    recipes: Sequence[Recipe], cells: Mapping[Recipe, int] | None = None
) -> tuple[list[Paid], Array]:
    """Returns everything paid for, and c_aj (k D_j)² of each recipe a and each of that.

    `cells` says how many cells share the rows of a recipe, k; 1 of those that it does not name.
    """
    per_recipe = [coefficients(recipe) for recipe in recipes]
    paid = list(dict.fromkeys(query for of in per_recipe for query in of))
    position = {query: number for number, query in enumerate(paid)}
    terms = np.zeros((len(recipes), len(paid)))
    for i, (recipe, of) in enumerate(zip(recipes, per_recipe, strict=True)):
        k = max(1, (cells or {}).get(recipe, 1))
        for query, c in of.items():
            terms[i, position[query]] += c * (k * row_effect(query)) ** 2
    return paid, terms


def least_error_shares(terms: Array, groups: Sequence[int], power: int) -> Array:
    """Returns the shares, adding up to 1, that minimise the errors; see the module's text.

    Args:
        terms: c_aj (k D_j)², of shape (aggregates, measurements).
        groups: Of each aggregate: those of one group have one length, lengths add up.
        power: Of a share that its noise's variance falls with: 1 for ρ, 2 for ε.
    """
    table = np.asarray(terms, float)
    return np.array(_least_error_shares(table.tobytes(), len(table), tuple(groups), power))


@lru_cache(256)
def _least_error_shares(
    entries_of_terms: bytes, aggregates: int, groups: tuple[int, ...], power: int
) -> Array:
    """Returns `least_error_shares` of the bytes of doubles: they are the same at every price."""
    terms = np.frombuffer(entries_of_terms).reshape(aggregates, -1)
    group = np.unique(np.asarray(groups), return_inverse=True)[1]
    row, column = np.nonzero(terms)  # an aggregate has few measurements, a statement a thousand
    entries, weights = terms[row, column], np.ones(len(terms))
    for _ in range(TURNS):
        needs = np.bincount(column, weights[row] * entries, terms.shape[1])
        share = np.maximum(needs, FLOOR * needs.max() or 1.0) ** (1 / (power + 1))
        share /= share.sum()
        squared_errors = np.bincount(row, entries / share[column] ** power, len(terms))
        length = np.sqrt(np.bincount(group, squared_errors**2)[group])
        ratio = squared_errors / np.where(length > 0, length, 1)
        weights = np.sqrt(weights * np.where(length > 0, ratio, 1))
    return np.asarray(share)


def share_price(
    price: Price, recipes: Sequence[Recipe], cells: Mapping[Recipe, int] | None = None
) -> dict[Paid, Price]:
    """Returns what each distinct query, or rounds, may cost; it adds up to exactly `price`.

    `cells` as in `errors`; recipes of as many cells are one group of `parts`.

    Raises:
        Refused: The price is less than a nano for each of them.
    """
    paid, terms = error_terms(recipes, cells)
    groups = [(cells or {}).get(recipe, 1) for recipe in recipes]
    weights = least_error_shares(terms, groups, 1 if isinstance(price, Rho) else 2)
    amounts = split_statement_price(price, weights.tolist())
    return dict(zip(paid, amounts, strict=True))
