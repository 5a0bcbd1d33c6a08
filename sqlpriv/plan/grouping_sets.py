"""What each set of keys of a statement asks for: the recipes of its aggregates, cell by cell."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice

from sqlpriv.errors import DataError
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.plan.aggregates.calls import Aggregate
from sqlpriv.plan.aggregates.estimators import StatementOptions, choose_estimator
from sqlpriv.plan.aggregates.quantile_method import choose_quantile_methods
from sqlpriv.plan.aggregates.rewrites import GroupedRows, Recipe, expand_aggregate
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.plan import GroupingSet
from sqlpriv.statements import tree as t

LEVELLED = ("count", "sum", "mean")
"""Kinds that have a population figure of their own under OPTIONS (population_share = …)."""


def grouping_set(
    select: t.Select,
    keys: tuple[int, ...],
    cells: GroupedRows,
    aggregates: tuple[Aggregate, ...],
    price: type[Price],
    options: StatementOptions,
) -> GroupingSet:
    """Returns what one set of keys asks for."""
    recipes = _expand_recipes(aggregates, cells, select, price, options)
    own: tuple[Recipe | None, ...] = ()
    if options.population_share and cells.strata:
        whole = _expand_recipes(aggregates, replace(cells, strata=()), select, price, options)
        pairs = zip(recipes, whole, strict=True)
        own = tuple(w if w.kind in LEVELLED and r.whole is None else None for r, w in pairs)
    return GroupingSet(keys, math.prod(len(key.values) for key in cells.keys), recipes, own)


def with_quantile_methods(
    marginals: list[GroupingSet], price: Price, weighted: bool, measured: frozenset[int]
) -> tuple[GroupingSet, ...]:
    """Returns the marginals, their quantiles each by the method that is predicted to err less;
    by a histogram those of the aggregates in `measured`, whose error is asked for."""
    every = [(number, r) for m in marginals for number, r in enumerate(m.recipes)]
    with_errors = {place for place, (number, _) in enumerate(every) if number in measured}
    recipes = iter(choose_quantile_methods([r for _, r in every], price, weighted, with_errors))
    return tuple(replace(m, recipes=tuple(islice(recipes, len(m.recipes)))) for m in marginals)


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
