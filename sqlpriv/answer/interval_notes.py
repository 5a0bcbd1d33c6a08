"""What stands under an answer about its intervals: what they rest on, and what is not known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sqlpriv.answer import means
from sqlpriv.answer.means import Moments
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.outputs import aggregates_in
from sqlpriv.plan.plan import Output


def interval_notes(output: Output, moments_by_recipe: Mapping[Recipe, Moments]) -> tuple[str, ...]:
    """Returns what a reader has to know of the intervals; it follows from released numbers alone.

    A mean that is clipped rests on its histogram: values too few to stand out of the histogram's
    noise are clipped off, and no half-width tells. And the half-width of a mean is cut at the
    length of the domain: where it is that long, the answer says nothing.

    Args:
        output: Of the plan, whose aggregates are numbered as its outputs name them.
        moments_by_recipe: The noised moments of its aggregates.
    """
    notes = []
    for number in range(len(output.marginals[0].recipes) if output.marginals else 0):
        names = [name for name, item in zip(output.names, output.items, strict=True)
                 if number in aggregates_in(item)]  # fmt: skip
        recipes = [marginal.recipes[number] for marginal in output.marginals]
        moments = [moments_by_recipe.get(r) for r in recipes if r.kind == "mean"]
        pairs = [(r, m) for r, m in zip(recipes, moments, strict=False) if m is not None]
        if not names or not pairs:
            continue
        if any(r.using == "coinpress" for r, _ in pairs):
            notes.append(f"the interval of {names[0]} does not hold for values with long tails: "
                         "coinpress clips them, and cannot tell what that loses")  # fmt: skip
        unseen = max(m.unseen for _, m in pairs)
        unknown = sum(_unknown_groups(recipe, m) for recipe, m in pairs)
        if any(r.pooled for r, _ in pairs):
            notes.append(f"the intervals of {names[0]} hold 95 % on average over groups, "
                         "not of each group: small groups are drawn towards everybody")  # fmt: skip
        if unseen:
            notes.append(
                f"the interval of {names[0]} does not hold if up to {unseen:,.0f} rows lie far "
                "beyond all others: its histogram cannot show so few"
            )
        if unknown:
            groups = "1 group" if unknown == 1 else f"{unknown} groups"
            notes.append(f"nothing is known of {names[0]} in {groups}: "
                         "the interval is as long as the domain; OPTIONS (smooth = true) and "
                         "STRATIFY BY draw such groups towards everybody")  # fmt: skip
    return tuple(notes)


def _unknown_groups(recipe: Recipe, m: Moments) -> int:
    """Returns in how many cells the interval of a mean, not cut, is as long as the domain."""
    if recipe.pooled:
        return 0
    estimate = means.cells(recipe, m)
    return int(np.count_nonzero(~(estimate.half_widths < recipe.width)))
