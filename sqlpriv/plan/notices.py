"""Sentences that stand under an answer, and in EXPLAIN PRIVACY: what its numbers are, and what the
± beside them does not cover. They follow from the statement and public facts alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from sqlpriv.kernel.proof.sensitivity import MAX_RANK, bound_of
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.plan.aggregates.quantile_method import level_error, reach_of_unit
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.cells.computed_columns import GROUP, STRATUM, aggregates_in
from sqlpriv.plan.plan import Output, Plan
from sqlpriv.plan.pricing.predictions import predict_threshold
from sqlpriv.plan.pricing.statement import half_width
from sqlpriv.plan.pricing.tuned_constants import EXTREME
from sqlpriv.statements import tree as t
from sqlpriv.statements.keywords import HIDDEN, LABEL

NULL_RULES = {
    "sum": "SUM is NULL where the noised count of its values is not above 0",
    "mean": "AVG and variances are NULL where noise may be all of their rows, or where ± would "
    "be as long as their domain",
    "level": "quantiles, MIN, MAX and MODE are NULL where noise may leave none of their rows: the "
    "count of values is within its own half-width, or within the error of rank",
}
"""By kind of aggregate: where it is NULL."""
BY_ZERO = "a quotient by 0 is NULL in a key, and left out of aggregates; in DuckDB it is infinite"


def plan_notices(plan: Plan, contract: TableContract) -> tuple[str, ...]:
    """Returns what a reader of an answer has to know of it beforehand.

    Args:
        plan: Of the statement.
        contract: Of the table whose unit is protected, with those of the others in it.
    """
    if own := [d.title for d in plan.output.groups if d.one_unit]:
        return (
            f"no group is shown, and nothing is charged: each value of {listing(own)} belongs to "
            "one unit, and a threshold lets no group of one unit pass",
        )
    notices = (*_quantile_notices(plan, contract), *_uncovered_parts(plan, contract))
    return (*notices, *_left_out(plan), *((BY_ZERO,) if plan.output.by_zero else ()))


def selection_notices(plan: Plan, contract: TableContract) -> tuple[str, ...]:
    """Returns which groups are shown, where values of keys are selected first.

    Args:
        plan: As it was before the selection.
        contract: Of the table whose unit is protected.
    """
    if plan.selection is None or any(d.one_unit for d in plan.output.groups):
        return ()
    chosen = plan.selection
    sigma, least = predict_threshold(chosen.source, contract, chosen.price, chosen.yocto)
    keys = listing([d.title for d in plan.output.groups if d.selected])
    return (
        f"groups by {keys} are shown where the noised number of their units is {least:,} or more "
        f"(± {half_width(chosen.price) * sigma:.2g}); smaller groups are left out",
    )


def null_rule(output: Output) -> tuple[str, ...]:
    """Returns when an aggregate is NULL, where the statement has one that may be."""
    kinds = {recipe.kind for recipe in output.recipes}
    if kinds & {"variance", "stddev"}:
        kinds.add("mean")
    return tuple(rule for kind, rule in NULL_RULES.items() if kind in kinds)


def _named_recipes(output: Output) -> Iterator[tuple[str, Recipe]]:
    """Yields each aggregate's recipe, of the first marginal, with the first output that has it."""
    recipes = output.marginals[0].recipes if output.marginals else ()
    names: dict[int, str] = {}
    for name, item in zip(output.names, output.items, strict=True):
        for number in aggregates_in(item):
            names.setdefault(number, name)
    for number, recipe in enumerate(recipes):
        if number in names:
            yield names[number], recipe


def _quantile_notices(plan: Plan, contract: TableContract) -> Iterator[str]:
    """Yields which quantile MIN and MAX are, how far a chosen quantile's rank may be off, and how
    many rows a mode may have less than the most frequent value."""
    prices = {m.query: m.price for m in plan.measurements}
    offsets: dict[str, list[int]] = {}
    behind: dict[str, list[int]] = {}  # modes
    for name, recipe in _named_recipes(plan.output):
        if recipe.kind != "level":
            continue
        query = recipe.level or recipe.count
        if query in prices and (recipe.rank is None or recipe.level is not None):
            bound, price = bound_of(query.source, contract), prices[query]
            reach = reach_of_unit(bound, a.strata_count(query), price)
            error = math.ceil(level_error(recipe, reach, price))
            (behind if recipe.rank is None else offsets).setdefault(name, []).append(error)
        if recipe.rank in ((EXTREME, MAX_RANK), (MAX_RANK - EXTREME, MAX_RANK)):
            low = recipe.rank[0] == EXTREME
            end, where = (recipe.lower, "begins") if low else (recipe.upper, "ends")
            yield (
                f"{name} is the {100 * recipe.rank[0] / MAX_RANK:g} % quantile, as the last value "
                f"is one unit's own; the public domain {where} at {_end_text(recipe, end)}"
            )
    if offsets:
        parts = [f"{name} by at most {_span_text(rows)}" for name, rows in offsets.items()]
        yield (
            f"quantiles are off by rows of rank, in 95 % of groups {listing(parts)}; ERROR(…) or "
            "OPTIONS (report = true) tells that in a quantile's own units, from a noised histogram"
        )
    if behind:
        parts = [f"{name} by at most {_span_text(rows)}" for name, rows in behind.items()]
        yield (
            "a mode may have fewer rows than the most frequent value, in 95 % of groups "
            f"{listing(parts)}"
        )


def _span_text(numbers: Sequence[int]) -> str:
    """Returns the least and the largest of some numbers, once where they are the same.

    >>> _span_text([2462, 1641, 2462]), _span_text([7])
    ('1,641 to 2,462', '7')
    """
    return " to ".join(f"{x:,}" for x in sorted({min(numbers), max(numbers)}))


def _end_text(recipe: Recipe, end: object) -> str:
    """Returns an end of a domain; that of dates is a number of days, which the levels stand for."""
    if recipe.values and not isinstance(recipe.values[0], int | float):
        return str(recipe.values[0] if end == recipe.lower else recipe.values[-1])
    return f"{end:g}" if isinstance(end, float) else str(end)


def _uncovered_parts(plan: Plan, contract: TableContract) -> Iterator[str]:
    """Yields what ± is not about: rows beyond a bound, values beyond an interval."""
    parts: list[str] = []
    sources = dict.fromkeys(m.query.source for m in plan.measurements)
    for source in sources:
        if _has_one_row(source, contract):
            continue
        bound = bound_of(source, contract)
        tables = list(_multiplying_tables(source))
        where = f"the join of {listing(tables)}" if len(tables) > 1 else tables[0]
        strata = any(m.query.strata for m in plan.measurements if m.query.source == source)
        several = strata and bound.groups_per_unit > 1
        groups = f" in each of {bound.groups_per_unit:,} strata" if several else ""
        parts.append(f"rows of a unit beyond {bound.rows_per_unit:,}{groups} in {where}")
        break
    if reaches := {fold.reach for s in sources for fold in _cut_folds(s, contract)}:
        most = _span_text([*reaches])
        parts.append(f"what a unit has beyond {most} rows in COUNT and SUM inside it")
    parts += _intervals_of_values(plan.output)
    if parts:
        yield f"± does not cover {listing(parts)}"


def _intervals_of_values(output: Output) -> Iterator[str]:
    """Yields the intervals beyond which values are clamped, with the outputs that they are of. The
    means that a correlation is made of have intervals that nobody declared: none is told."""
    of_output: dict[str, set[str]] = {}
    for name, recipe in _named_recipes(output):
        if recipe.kind in ("sum", "mean", "variance", "stddev") and recipe.width:
            interval = f"[{recipe.lower:g}, {recipe.upper:g}]"
            of_output.setdefault(name, set()).add(interval)
    of_interval: dict[str, list[str]] = {}
    for name, intervals in of_output.items():
        what = intervals.pop() if len(intervals) == 1 else "their columns' domains"
        of_interval.setdefault(what, []).append(name)
    for what, names in of_interval.items():
        yield f"values outside {what} in {listing(names)}"


def _has_one_row(relation: a.Relation, contract: TableContract) -> bool:
    """Returns whether declarations alone say that no unit has more than one row."""
    match relation:
        case a.Scan(table):
            declared = contract.others.get(table.lower(), contract)
            return (
                declared.unit is not None
                and declared.via is None
                and (declared.unit.column.lower() in declared.unique)
            )
        case a.PerUnit(_, keys):
            return not keys
        case a.Join(left, _, _, "semi" | "anti"):
            return _has_one_row(left, contract)
        case a.Join() | a.Union():
            return False
    return _has_one_row(relation.source, contract)


def _cut_folds(relation: a.Relation, contract: TableContract) -> Iterator[a.Fold]:
    """Yields the counts and sums inside a unit that its rows beyond the bound do not enter."""
    match relation:
        case a.PerUnit(source, _, folds):
            if not _has_one_row(source, contract):
                written = (fold for fold in folds if not fold.name.startswith("sqlpriv_"))
                yield from (fold for fold in written if fold.kind in ("count", "distinct", "sum"))
            yield from _cut_folds(source, contract)
        case a.Join(left, right):
            yield from _cut_folds(left, contract)
            yield from _cut_folds(right, contract)
        case a.Union(_, parts):
            for part, _ in parts:
                yield from _cut_folds(part, contract)
        case a.Where() | a.Derive() | a.Bounded():
            yield from _cut_folds(relation.source, contract)


def _multiplying_tables(relation: a.Relation) -> Iterator[str]:
    """Yields the tables whose rows stand in a relation, as the user named them: those of a join can
    meet several of the other side each. What was aggregated inside a unit is met once."""
    match relation:
        case a.Scan(table):
            yield table
        case a.Join(left, right, _, kind):
            yield from _multiplying_tables(left)
            if kind not in ("semi", "anti") and not isinstance(right, a.PerUnit):
                yield from _multiplying_tables(right)
        case a.Union(_, parts):
            yield from dict.fromkeys(x for part, _ in parts for x in _multiplying_tables(part))
        case _:
            yield from _multiplying_tables(relation.source)


def _left_out(plan: Plan) -> Iterator[str]:
    """Yields which rows are in no group, and in which totals they are."""
    output = plan.output
    keys = {f"{STRATUM}{i}": d for i, d in enumerate(output.strata)}
    keys |= {f"{GROUP}{i}": d for i, d in enumerate(output.groups)}
    items = zip(output.items, output.names, strict=True)
    output_names = {
        item.name: _name_in_notices(name) for item, name in items if isinstance(item, t.Name)
    }
    open_keys = {output_names.get(key) or d.title: d for key, d in keys.items() if not d.complete}
    if not open_keys:
        return
    nulls = "" if all(None in d.values for d in open_keys.values()) else "NULL or "
    listed = "selected" if any(d.selected for d in open_keys.values()) else "declared"
    line = f"rows whose {listing([*open_keys], 'or')} is {nulls}not {listed} are in no group"
    if len(output.marginals) > 1:
        line += "; totals over that key count them"
    yield line


def _name_in_notices(name: str) -> str:
    """Returns an output's name as notices show it: '' for a hidden one that has no label.

    >>> _name_in_notices("sex"), _name_in_notices("__group0:decade"), _name_in_notices("__value")
    ('sex', 'decade', '')
    """
    return name.partition(LABEL)[2] if name.startswith(HIDDEN) else name


def listing(names: list[str], last: str = "and") -> str:
    """Returns names as English lists them.

    >>> listing(["a"]), listing(["a", "b", "c"]), listing(["a", "b"], "or")
    ('a', 'a, b and c', 'a or b')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"
