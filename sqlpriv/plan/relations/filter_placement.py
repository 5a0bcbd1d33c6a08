"""Filters placed as low as they may stand: before joins, not after them.

The kernel bounds a unit's rows at every input of a join. Where a unit has more rows than its bound,
a filter on one table should choose among its rows first: five orders of 1995 are all kept if the
other years are gone before the join. Row expressions cannot fail, so their order changes no answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.kernel.terms.operations import columns_read, conjuncts
from sqlpriv.plan.relations.named_rows import YES, conjunction

Contracts = Mapping[str, TableContract]


def place_filter(relation: a.Relation, predicate: a.Expr, contracts: Contracts) -> a.Relation:
    """Returns the rows for which a predicate is true.

    Args:
        relation: What is filtered.
        predicate: Over the relation's columns.
        contracts: Of all tables that the relation reads, by lower-case name.
    """
    for test in (*_shared_conjuncts(predicate), predicate):
        relation = _place_one(relation, test, contracts)
    return relation


def _place_one(relation: a.Relation, predicate: a.Expr, contracts: Contracts) -> a.Relation:
    used = columns_read(predicate)
    match relation:
        case a.Join(left, right, on, kind) if used:
            if used <= column_names(left, contracts):
                return replace(relation, left=_place_one(left, predicate, contracts))
            if kind == "inner" and used <= column_names(right, contracts):
                return replace(relation, right=_place_one(right, predicate, contracts))
            if kind == "inner":
                return replace(relation, on=conjunction((*_tests(on), predicate)))
        case a.Derive(source, new, _) if new.lower() not in used and _holds_join(source):
            return replace(relation, source=_place_one(source, predicate, contracts))
        case a.Where(source) | a.Bounded(source) if _holds_join(source):
            return replace(relation, source=_place_one(source, predicate, contracts))
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


def with_connected_joins(
    relation: a.Relation, private: Collection[str], contracts: Contracts
) -> a.Relation:
    """Returns a relation whose inner joins each have a condition, where an order of them has.

    `FROM dates, suppliers, orders` lists tables in any order, and the conditions tie dates and
    suppliers to orders alone: in the written order every date would meet every supplier first.
    Private tables come first here, then each time a table that a condition ties to those before.

    Args:
        relation: What FROM and WHERE give.
        private: Its columns of private tables, lower case.
        contracts: Of all tables that the relation reads, by lower-case name.
    """
    match relation:
        case a.Join(kind="inner"):
            parts, conditions = _joined_parts(relation)
            if YES not in conditions:
                return relation
            joined = _in_tied_order(parts, conditions, private, contracts)
            for test in (test for on in conditions for test in _tests(on)):
                joined = place_filter(joined, test, contracts)
            return joined
        case a.Join(left):
            return replace(relation, left=with_connected_joins(left, private, contracts))
        case a.Where(source) | a.Derive(source) | a.Bounded(source):
            return replace(relation, source=with_connected_joins(source, private, contracts))
    return relation


def _in_tied_order(
    parts: Sequence[a.Relation],
    conditions: Sequence[a.Expr],
    private: Collection[str],
    contracts: Contracts,
) -> a.Relation:
    """Returns the product of some parts, each tied to those before it where one that waits is."""
    names = [column_names(part, contracts) for part in parts]
    used = [columns_read(test) for on in conditions for test in _tests(on)]
    waiting = sorted(range(len(parts)), key=lambda part: names[part].isdisjoint(private))
    joined, here = parts[waiting[0]], names[waiting[0]]
    del waiting[0]
    while waiting:
        tied = (
            part
            for part in waiting
            if any(x <= here | names[part] and x & here and x & names[part] for x in used)
        )
        part = next(tied, waiting[0])
        waiting.remove(part)
        joined, here = a.Join(joined, parts[part], YES), here | names[part]
    return joined


def _joined_parts(relation: a.Relation) -> tuple[list[a.Relation], list[a.Expr]]:
    """Returns what inner joins join, from left to right, and the condition of each join."""
    if not (isinstance(relation, a.Join) and relation.kind == "inner"):
        return [relation], []
    (left, first), (right, second) = map(_joined_parts, (relation.left, relation.right))
    return left + right, [*first, *second, relation.on]


def _shared_conjuncts(predicate: a.Expr) -> list[a.Expr]:
    """Returns what all branches of an OR ask: `(a AND b) OR (a AND c)` is true only where a is."""
    if not (isinstance(predicate, a.Call) and predicate.op == "or"):
        return []
    first, *others = map(conjuncts, predicate.args)
    return [test for test in dict.fromkeys(first) if all(test in other for other in others)]


def _tests(on: a.Expr) -> list[a.Expr]:
    return [] if on == YES else conjuncts(on)


def column_names(relation: a.Relation, contracts: Contracts) -> frozenset[str]:
    """Returns the lower-case names of a relation's columns."""
    match relation:
        case a.Scan(table, prefix):
            return frozenset((prefix + c.name).lower() for c in contracts[table.lower()].columns)
        case a.Derive(source, new, _):
            return column_names(source, contracts) | {new.lower()}
        case a.Join(left, _, _, "semi" | "anti"):
            return column_names(left, contracts)
        case a.Join(left, right):
            return column_names(left, contracts) | column_names(right, contracts)
        case a.Union(names):
            return frozenset(map(str.lower, names))
        case a.PerUnit(_, keys, folds, unit):
            columns = (*(key for key, _ in keys), *(fold.name for fold in folds), unit)
            return frozenset(map(str.lower, filter(None, columns)))
    return column_names(relation.source, contracts)


def _holds_join(relation: a.Relation) -> bool:
    match relation:
        case a.Join():
            return True
        case a.Where(source) | a.Derive(source) | a.Bounded(source):
            return _holds_join(source)
    return False
