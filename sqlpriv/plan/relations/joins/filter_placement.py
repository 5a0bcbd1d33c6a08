"""Filters placed as low as they may stand: before joins, not after them.

The kernel bounds a unit's rows at every input of a join. Where a unit has more rows than its bound,
a filter on one table should choose among its rows first: five orders of 1995 are all kept if the
other years are gone before the join. Row expressions cannot fail, so their order changes no answer.
"""

from __future__ import annotations

from dataclasses import replace

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.operations import columns_read, conjuncts
from sqlpriv.plan.relations.joins.named_rows import YES, conjunction
from sqlpriv.plan.relations.joins.relation_columns import (
    Contracts,
    column_names,
    holds_join,
    join_tests,
    joined_parts,
)

_SPANS = {
    f"trunc {part}" for part in ("century", "decade", "year", "quarter", "month", "week", "day")
}
"""Beginnings of spans that are whole days."""


def place_filter(relation: a.Relation, predicate: a.Expr, contracts: Contracts) -> a.Relation:
    """Returns the rows for which a predicate is true.

    Args:
        relation: What is filtered.
        predicate: Over the relation's columns.
        contracts: Of all tables that the relation reads, by lower-case name.
    """
    for test in (
        *_shared_conjuncts(predicate),
        *_filters_of_parts(relation, predicate, contracts),
        predicate,
    ):
        relation = place_one(relation, test, contracts)
    return relation


def place_one(relation: a.Relation, predicate: a.Expr, contracts: Contracts) -> a.Relation:
    """Returns the rows of a relation for which one conjunct of a predicate is true."""
    used = columns_read(predicate)
    match relation:
        case a.Join(left, right, on, kind) if used:
            if used <= column_names(left, contracts):
                return replace(relation, left=place_one(left, predicate, contracts))
            if kind == "inner" and used <= column_names(right, contracts):
                return replace(relation, right=place_one(right, predicate, contracts))
            if kind == "inner":
                left, predicate = _with_day(left, right, predicate, contracts)
                return replace(relation, left=left, on=conjunction((*join_tests(on), predicate)))
        case a.Derive(source, new, _) if new.lower() not in used and holds_join(source):
            return replace(relation, source=place_one(source, predicate, contracts))
        case a.Where(source) | a.Bounded(source) if holds_join(source):
            return replace(relation, source=place_one(source, predicate, contracts))
    return a.Where(relation, predicate)


def join_rows(
    left: a.Relation, right: a.Relation, tests: tuple[a.Expr, ...], kind: str, contracts: Contracts
) -> a.Relation:
    """Returns a join whose conditions on one side alone filter that side, where they may.

    A condition on the right side chooses partners, in every kind of join. One on the left side
    drops left rows from a semi join; an inner join is the product, filtered.

    Args:
        left, right: The sides.
        tests: What a pair has to satisfy, all of it.
        kind: As in `algebra.Join`.
        contracts: Of all tables that the sides read, by lower-case name.
    """
    if kind == "inner":
        joined: a.Relation = _join_one_by_one(left, right)
        for test in tests:
            joined = place_filter(joined, test, contracts)
        return joined
    names = [column_names(side, contracts) for side in (left, right)]
    kept = []
    for test in tests:
        used = columns_read(test)
        if used and used <= names[1] and not used & names[0]:
            right = place_filter(right, test, contracts)
        elif used and used <= names[0] and not used & names[1] and kind == "semi":
            left = place_filter(left, test, contracts)
        else:
            left, test = _with_day(left, right, test, contracts)
            kept.append(test)
    return a.Join(left, right, conjunction(tuple(kept)), kind)


def _join_one_by_one(left: a.Relation, right: a.Relation) -> a.Join:
    """Returns the product of two sides: tables listed on the right by commas join one by one.

    Conditions then tie each table to the rows before it. A product of two public tables, which
    nothing ties to each other, is never made.
    """
    if isinstance(right, a.Join) and right.kind == "inner" and right.on == YES:
        return _join_one_by_one(_join_one_by_one(left, right.left), right.right)
    return a.Join(left, right, YES)


def _shared_conjuncts(predicate: a.Expr) -> list[a.Expr]:
    """Returns what all branches of an OR ask: `(a AND b) OR (a AND c)` is true only where a is."""
    if not (isinstance(predicate, a.Call) and predicate.op == "or"):
        return []
    first, *others = map(conjuncts, predicate.args)
    return [test for test in dict.fromkeys(first) if all(test in other for other in others)]


def _filters_of_parts(
    relation: a.Relation, predicate: a.Expr, contracts: Contracts
) -> list[a.Expr]:
    """Returns what an OR over several parts of a join says of one part alone.

    `(x = 1 AND y = 2) OR (x = 3 AND y = 4)` is true only where `x = 1 OR x = 3` is.
    """
    if not (isinstance(predicate, a.Call) and predicate.op == "or"):
        return []
    shared = _shared_conjuncts(predicate)
    branches = [[x for x in conjuncts(y) if x not in shared] for y in predicate.args]
    names_of_parts = [column_names(part, contracts) for part in joined_parts(relation)[0]]
    filters: list[a.Expr] = []
    for names in names_of_parts if len(names_of_parts) > 1 else ():
        own = [[x for x in branch if set() < columns_read(x) <= names] for branch in branches]
        if all(own):
            filters.append(a.Call("or", tuple(conjunction(tuple(tests)) for tests in own)))
    return filters


def _with_day(
    left: a.Relation, right: a.Relation, test: a.Expr, contracts: Contracts
) -> tuple[a.Relation, a.Expr]:
    """Returns the left side of a join with the day of a moment, where a condition equates that with
    a column of the right side, as a column of its own, and the condition over it.

    Partners are counted in public rows that share a column's value.
    """
    pair = _day_and_column(test)
    names = column_names(left, contracts)
    if pair is None or pair[1].name.lower() not in column_names(right, contracts):
        return left, test
    day, column = pair
    read = columns_read(day)
    if not read <= names:
        return left, test
    new = f"day of {' '.join(sorted(read))}"
    while new in names:
        new += "'"
    return a.Derive(left, new, day), a.Call("=", (a.Col(new), column))


def _day_and_column(test: a.Expr) -> tuple[a.Expr, a.Col] | None:
    """Returns the day of a moment, and the column of days that a condition equates it with.

    The beginning of a day, or of a longer span, is midnight: it equals that of a day where the days
    are one.
    """
    match test:
        case a.Call("=", (a.Call("date") as day, a.Col() as other)):
            return day, other
        case a.Call("=", (a.Col() as other, a.Call("date") as day)):
            return day, other
        case a.Call("=", (a.Call(op) as start, a.Call("midnight", (a.Col() as other,)))):
            return (a.Call("date", (start,)), other) if op in _SPANS else None
        case a.Call("=", (a.Call("midnight", (a.Col() as other,)), a.Call(op) as start)):
            return (a.Call("date", (start,)), other) if op in _SPANS else None
    return None
