"""How far aggregates move together where a release that they share errs: columns of `SHIFTS`.

With z the 95 % half-width in deviations, m = S / N from the middle μ and q = Q / N (`means`), a
move of N, S or Q by z of its deviation moves

    count      z σ_N
    sum        (μ + c) z σ_N,            z σ_S             c: what S is centred at, from the middle
    mean       -(S / N) z σ_N / N,       z σ_S / N
    variance   -(q - 2 m²) z σ_N / N,    -2 m z σ_S / N,   z σ_Q / N
    stddev     a variance's by 2 √v

The rest of an aggregate's own half-width is what none of these explains: few rows, and what
clipping may have lost. Where they would explain more than there is (a half-width is cut at the
domain's length) they are made smaller alike. Nothing is told apart, and all is rest, where figures
were drawn together, made to agree, weighted by public shares or measured apart: they are no longer
made of one count and one sum.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sqlpriv.answer.aggregate_columns import CellFigures
from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.moments import Moments
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.cells.computed_columns import SHIFTS, needs_shifts
from sqlpriv.plan.plan import GroupingSet, Output
from sqlpriv.system import arrow

KINDS = ("count", "sum", "mean", "variance", "stddev")


def tells_shifts(output: Output) -> bool:
    """Whether any output, condition or order is made of several aggregates."""
    conditions = [] if output.having is None else [output.having]
    return any(map(needs_shifts, (*output.items, *conditions, *(o.expr for o in output.order_by))))


def shift_columns(
    number: int,
    output: Output,
    marginal: GroupingSet,
    inputs: CellFigures,
    half_widths: pa.Array,
    weighted: bool,
) -> dict[str, pa.Array]:
    """Returns the columns of an aggregate's shifts, by their names.

    Args:
        number: Of the aggregate.
        output, marginal, inputs: As of `aggregate_column`.
        half_widths: Its own, of shape (rows,); NULL where there are none.
        weighted: Whether strata have public weights.
    """
    recipe = marginal.recipes[number]
    halves = np.array(half_widths.to_pylist(), float)
    shifts = dict.fromkeys(SHIFTS, np.zeros(len(halves)))
    moments = inputs.moments.get(recipe)
    if moments is not None and _is_plain(recipe, output, marginal, weighted, number):
        levels = [moments, *([_together(moments)] if output.strata else [])]
        of_levels = [_cell_shifts(recipe, level) for level in levels]
        for part in of_levels[0]:
            by_level = zip(of_levels, levels, strict=True)
            moved = [np.broadcast_to(of[part], level.n.shape).ravel() for of, level in by_level]
            shifts[part] = np.nan_to_num(np.concatenate(moved))
    explained = np.sqrt(np.sum([shift**2 for shift in shifts.values()], axis=0))
    half_widths = np.nan_to_num(halves)
    smaller = np.where(
        explained > half_widths, half_widths / np.where(explained > 0, explained, 1.0), 1.0
    )
    shifts = {part: shift * smaller for part, shift in shifts.items()}
    left = np.maximum(halves**2 - (explained * smaller) ** 2, 0.0)
    # a count's own half-width is rounded up because its noise is whole; a ratio's is not
    is_count = recipe.kind == "count" and explained.any()
    shifts["rest"] = 0.0 * halves if is_count else np.sqrt(left)
    return {
        f"{SHIFTS[part]}{number}": arrow.numbers(shift, np.isnan(shift))
        for part, shift in shifts.items()
    }


def _is_plain(
    recipe: Recipe, output: Output, marginal: GroupingSet, weighted: bool, number: int
) -> bool:
    """Returns whether the figures are those of one count and one sum each."""
    has_own = bool(marginal.own) and marginal.own[number] is not None
    agree = len(output.marginals) > 1 or has_own or weighted
    return recipe.kind in KINDS and not (agree or recipe.pooled or recipe.whole is not None)


def _together(m: Moments) -> Moments:
    """Returns the moments of all strata as one; without noise where that would not tell how their
    means move, because their sums have centres of their own or everybody's was measured."""
    n, s, q = (part.sum(axis=0) for part in (m.n, m.s, m.q))
    k, centre = len(m.n), m.centre
    if m.everybody is not None or np.ndim(m.centre) or np.ndim(m.var_s):
        k, centre = 0, 0.0
    var_s = k * np.max(m.var_s)
    return Moments(n, s, q, k * m.var_n, var_s, k * m.var_q, m.z, centre)


def _cell_shifts(recipe: Recipe, m: Moments) -> dict[str, Array]:
    """Returns how far an aggregate moves by N, S and Q, of the cells' shape."""
    of_n, of_s, of_q = (m.z * np.sqrt(variance) for variance in (m.var_n, m.var_s, m.var_q))
    sums = "r" if recipe.using else "s"
    n = np.where(m.n > 0, m.n, 1.0)
    mean, square = m.s / n, m.q / n
    match recipe.kind:
        case "count":
            return {"n": np.full_like(n, of_n)}
        case "sum":
            return {"n": (recipe.middle + m.centre) * np.full_like(n, of_n), sums: of_s}
        case "mean":
            return {"n": -mean * of_n / n, sums: of_s / n}
    moved = {"n": -(square - 2 * mean**2) * of_n / n, "s": -2 * mean * of_s / n, "q": of_q / n}
    if recipe.kind == "variance":
        return moved
    root = np.sqrt(np.maximum(recipe.width**2 / 8 + square - mean**2, 0.0))
    twice = np.where(root > 0, 2 * root, np.inf)
    return {part: move / twice for part, move in moved.items()}
