"""What each set of keys of a statement asks for: the recipes of its aggregates, cell by cell."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

from sqlpriv.errors import DataError, Refused
from sqlpriv.kernel.terms.algebra import Distinct
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.plan.aggregates.calls import Aggregate
from sqlpriv.plan.aggregates.estimators import StatementOptions, choose_estimator
from sqlpriv.plan.aggregates.quantile_method import choose_quantile_methods
from sqlpriv.plan.aggregates.rewrites import GroupedRows, Recipe, expand_aggregate
from sqlpriv.plan.cells.axes import Axis
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.plan import GroupingSet, Output
from sqlpriv.statements import tree as t
from sqlpriv.statements.tree import Pos

LEVELLED = ("count", "sum", "mean")
"""Kinds that have a population figure of their own under OPTIONS (population_share = …)."""


def grouping_set(
    select: t.Select,
    axes: tuple[Axis, ...],
    cells: GroupedRows,
    aggregates: tuple[Aggregate, ...],
    price: type[Price],
    options: StatementOptions,
) -> GroupingSet:
    """Returns what one set of keys asks for; the cells' keys are those of the axes."""
    recipes = _expand_recipes(aggregates, cells, select, price, options)
    own: tuple[Recipe | None, ...] = ()
    if options.population_share and cells.strata:
        whole = _expand_recipes(aggregates, replace(cells, strata=()), select, price, options)
        pairs = zip(recipes, whole, strict=True)
        own = tuple(w if w.kind in LEVELLED and r.whole is None else None for r, w in pairs)
    return GroupingSet(axes, recipes, own)


def with_quantile_methods(
    marginals: list[GroupingSet], price: Price, weighted: bool, measured: frozenset[int]
) -> tuple[GroupingSet, ...]:
    """Returns the marginals, their quantiles each by the method that is predicted to err less;
    by a histogram those of the aggregates in `measured`, whose error is asked for."""
    every = [(number, r) for m in marginals for number, r in enumerate(m.recipes)]
    with_errors = {place for place, (number, _) in enumerate(every) if number in measured}
    recipes = iter(choose_quantile_methods([r for _, r in every], price, weighted, with_errors))
    return tuple(
        replace(m, recipes=tuple(itertools.islice(recipes, len(m.recipes)))) for m in marginals
    )


def _expand_recipes(
    aggregates: tuple[Aggregate, ...],
    cells: GroupedRows,
    select: t.Select,
    price: type[Price],
    options: StatementOptions,
) -> tuple[Recipe, ...]:
    if not aggregates:
        raise refuse(
            t.Literal(None, select.pos),
            "this statement asks for no aggregate",
            "add COUNT(*): declared levels themselves are public (DESCRIBE t)",
        )
    number = math.prod(len(key.values) for key in (*cells.strata, *cells.keys))
    try:
        if any(x.using == "pooled" for x in aggregates) and not select.stratify:
            raise DataError("pooled draws strata together: write STRATIFY BY")
        strata = 0 if cells.keys or (select.stratify and select.stratify.weights) else number
        using = [choose_estimator(x, number, price, options, strata) for x in aggregates]
    except DataError as error:
        hint = "AVG(x) takes the best that the budget has, SUM(x) the plain sum"
        raise refuse(t.Literal(None, select.pos), str(error), hint) from None
    return tuple(
        replace(
            expand_aggregate(aggregate, cells),
            using=name,
            pooled=is_pooled(aggregate, bool(cells.strata), options),
        )
        for aggregate, name in zip(aggregates, using, strict=True)
    )


def is_pooled(aggregate: Aggregate, stratified: bool, options: StatementOptions) -> bool:
    """Returns whether an aggregate's strata are drawn together: it or the statement says so."""
    smoothed = options.smooth and stratified and aggregate.kind == "mean" and not aggregate.using
    return smoothed or aggregate.using == "pooled"


def check_whole_numbers(output: Output, pos: Pos) -> None:
    """Refuses what has no counts that add up over its levels.

    Raises:
        Refused: Strata, sets of keys that are not one inside the other, keys whose lists do not
            hold every row, or nothing to count.
    """
    sets = sorted((set(marginal.keys) for marginal in output.marginals), key=len)
    recipes = output.marginals[0].recipes if output.marginals else ()
    if output.strata:
        hint = "write the strata as the first keys of ROLLUP"
        raise Refused.at(pos, "integers = true takes GROUP BY, not STRATIFY BY", hint)
    if any(not one <= other for one, other in itertools.pairwise(sets)):
        raise Refused.at(
            pos,
            "integers = true makes counts add up over keys one under the other",
            "GROUP BY ROLLUP (region, town): CUBE has keys side by side",
        )
    if not all(d.complete and d.values for d in output.groups):
        title = next(d.title for d in output.groups if not (d.complete and d.values))
        raise Refused.at(
            pos,
            f"integers = true needs every row to have a listed value, and {title} may have others",
            f"WHERE {title} IN (…), or the owner adds NOT NULL to its PRIVACY DOMAIN",
        )
    if not any(recipe.kind == "count" for recipe in recipes) or any(
        isinstance(recipe.count, Distinct) and recipe.kind == "count" for recipe in recipes
    ):
        hint = "ask for COUNT(*); COUNT(DISTINCT x) does not add up over groups"
        raise Refused.at(pos, "integers = true is about counts of rows", hint)
