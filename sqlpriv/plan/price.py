"""The price of a statement, and its split over the measurements.

**The split** minimises the sum, over the statement's aggregates, of their squared relative errors.
Let D_j be how far one row can move measurement j: 1 for a count, (upper - lower) / 2 for a centred
sum, (upper - lower)² / 8 for a centred sum of squares; bounds on rows per unit multiply all alike.
Its noise has the variance σ_j² = D_j² / (2 ρ_j) under zCDP (discrete Gaussian) and 2 D_j² / ε_j²
under pure DP (discrete Laplace). To first order an aggregate's squared relative error is
Σ_j c_j σ_j² / N², with the coefficients below; 1 / N² is common to all and falls out. So with
A_j = D_j² · Σ c_j over the aggregates, minimise

    Σ_j A_j / ρ_j   subject to Σ_j ρ_j = ρ    ⇒  ρ_j ∝ A_j^(1/2)
    Σ_j A_j / ε_j²  subject to Σ_j ε_j = ε    ⇒  ε_j ∝ A_j^(1/3)

(Lagrange: A_j / ρ_j² resp. 2 A_j / ε_j³ is the same for all j.)

**Coefficients** from public facts alone: x is taken as uniform on [lower, upper], of width w and
middle μ. Its mean square is then M² = μ² + w²/12, and w²/12 also stands for the square of a cell's
unknown mean of x - μ.

    COUNT     N            c_N = 1
    SUM       S + μ N      c_S = 1 / M²,  c_N = μ² / M²
    AVG       μ + S / N    c_S = 1 / M²,  c_N = (w²/12) / M²      (∂/∂N = -S/N²)
    VARIANCE  w²/8 + Q/N - (S/N)², relative to w²/12:
                                   c_Q = (12/w²)²,  c_S = 4 (w²/12) (12/w²)²,
                                   c_N = 1/4  (∂/∂N = -Q/N², where Q/N is w²/12 - w²/8)
    MEDIAN …  a choice: 9, a histogram: 1, of a squared error of rank relative to N²
    STDDEV    half the relative error of the variance: a quarter of each

**Sets of keys** (ROLLUP, CUBE, GROUPING SETS). The cells of one set are disjoint; the sets pay one
after another. Rows spread over the k cells of a set make N = n / k, so its c_j count k² times.
Hence ρ_j ∝ k under zCDP: a total of its own is as good as the sum of its cells.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from sqlpriv.dialect.tree import Options, Pos
from sqlpriv.errors import DataError, Refused
from sqlpriv.kernel.algebra import Asked, Sum
from sqlpriv.kernel.budget import Budget, Epsilon, Price, Rho, rho_of
from sqlpriv.plan.rules import Recipe
from sqlpriv.plan.split import split

LEVEL = 9.0
"""A choice among some thousand levels errs, in rows of rank, about 3 times as far as a count."""
KNOWN_OPTIONS = ("epsilon", "rho")
Paid = Asked | Recipe
"""What is paid for: a query, or the rounds of a mean that is asked for in rounds."""


GAUSSIAN_95 = 1.959964
LAPLACE_95 = math.log(20) / math.sqrt(2)


def half_width(price: Price) -> float:
    """Returns the 95 % half-width, in standard deviations, of the noise that such a price buys.

    1.960 for Gaussian noise; 2.118 for one Laplace, sums of several need less.
    """
    return GAUSSIAN_95 if isinstance(price, Rho) else LAPLACE_95


def moves(query: Paid) -> float:
    """Returns D: how far one kept row can move a cell, in the units of the release."""
    if isinstance(query, Recipe):
        return query.width / 2
    return float(query.upper - query.lower) / 2 if isinstance(query, Sum) else 1.0


def coefficients(recipe: Recipe) -> dict[Paid, float]:
    """Returns c_j of each query of a recipe; see the module's text.

    Rounds take the place of S. They centre it near the cell's own mean, so N hardly matters for it:
    a tenth of its plain coefficient.
    """
    w2, middle = recipe.width**2 / 12, recipe.middle
    mean_square = middle * middle + w2
    n, s, q = 1.0, 0.0, 0.0
    match recipe.kind:
        case "level":
            return dict.fromkeys(recipe.queries, 1.0 if recipe.count else LEVEL)
        case "sum" if mean_square > 0:
            n, s = middle * middle / mean_square, 1 / mean_square
        case "mean" if mean_square > 0:
            n, s = w2 / mean_square, 1 / mean_square
        case "variance" | "stddev" if w2 > 0:
            part = 1.0 if recipe.kind == "variance" else 0.25
            n, s, q = part / 4, 4 * part / w2, part / w2**2
    if recipe.using:
        return {part: c for part, c in ((recipe.count, n / 10), (recipe, s)) if part is not None}
    pairs = ((recipe.count, n), (recipe.total, s), (recipe.square, q))
    return {query: c for query, c in pairs if query is not None}


def importance(
    recipes: Iterable[Recipe], cells: Mapping[Recipe, int] | None = None
) -> dict[Paid, float]:
    """Returns A_j = D_j² · Σ c_j of each query: what its variance costs the statement.

    `cells` says how many cells share the rows of a recipe; 1 of those that it does not name.
    """
    total: dict[Paid, float] = defaultdict(float)
    for recipe in recipes:
        k = max(1, (cells or {}).get(recipe, 1))
        for query, c in coefficients(recipe).items():
            total[query] += c * (k * moves(query)) ** 2
    return dict(total)


def shares(
    price: Price, recipes: Sequence[Recipe], cells: Mapping[Recipe, int] | None = None
) -> dict[Paid, Price]:
    """Returns what each distinct query, or rounds, may cost; it adds up to exactly `price`.

    `cells` as in `importance`.

    Raises:
        Refused: The price is less than a nano for each of them.
    """
    weights = importance(recipes, cells)
    power = 1 / 2 if isinstance(price, Rho) else 1 / 3
    floor = 1e-6 * max(weights.values()) or 1.0  # whatever is measured gets some share
    parts = [max(weight, floor) ** power for weight in weights.values()]
    try:
        amounts = split(price, parts)  # type: ignore[type-var]  # one kind goes in and comes out
    except DataError as error:
        raise Refused(str(error), hint="give the statement a larger epsilon") from None
    return dict(zip(weights, amounts, strict=True))


def statement_price(
    options: Options,
    budget: Budget,
    session_epsilon: float | None,
    pos: Pos,
) -> Price:
    """Returns what a statement may spend: its own OPTIONS, else the session's privacy_epsilon.

    Args:
        options: Those of the statement that are `KNOWN_OPTIONS`.
        budget: The unit's, which says whether epsilon is converted to rho.
        session_epsilon: `SET privacy_epsilon`, or None.
        pos: Where a refusal points.

    Raises:
        Refused: Both ways at once, no price, or one that buys nothing.
    """
    if len(options) > 1:
        raise _refuse(pos, "a statement has one price", "write epsilon or rho, once")
    name, value = options[0] if options else ("epsilon", session_epsilon)
    if value is None:
        raise _refuse(
            pos,
            "this statement has no price",
            "write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1) …, "
            "or SET privacy_epsilon = 0.1 for the session",
        )
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _refuse(pos, f"the option {name} is a number", f"write {name} = 0.1")
    try:
        return _rho(value, budget, pos) if name == "rho" else price_of(budget, value)
    except DataError as error:
        raise _refuse(pos, str(error), f"write {name} = 0.1") from None


def price_of(budget: Budget, epsilon: float) -> Price:
    """Returns what `OPTIONS (epsilon = …)` may spend; DataError where that is under a nano."""
    zcdp = isinstance(budget.total, Rho)
    price = rho_of(epsilon, budget.delta) if zcdp else Epsilon.at_most(epsilon)
    if price.nano == 0:
        raise DataError(f"epsilon = {epsilon} is too small to buy anything")
    return price


def _rho(value: float, budget: Budget, pos: Pos) -> Price:
    if not isinstance(budget.total, Rho):
        raise _refuse(pos, "this budget is of pure epsilon", "write epsilon = 0.1")
    price = Rho.at_most(value)
    if price.nano == 0:
        raise DataError(f"rho = {value} is too small to buy anything")
    return price


def _refuse(pos: Pos, message: str, hint: str) -> Refused:
    return Refused(message, hint=hint, line=pos.line, column=pos.column)
