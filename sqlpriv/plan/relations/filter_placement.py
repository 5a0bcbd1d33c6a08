"""Filters placed as low as they may stand: before joins, not after them.

The kernel bounds a unit's rows at every input of a join. Where a unit has more rows than its bound,
a filter on one table should choose among its rows first: five orders of 1995 are all kept if the
other years are gone before the join. Row expressions cannot fail, so their order changes no answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from sqlpriv.kernel.proof.unit_rows import equated_columns
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.kernel.terms.operations import columns_read, conjuncts
from sqlpriv.plan.relations.named_rows import YES, conjunction

_SPANS = {
    f"trunc {part}" for part in ("century", "decade", "year", "quarter", "month", "week", "day")
}
"""Beginnings of spans that are whole days."""

Contracts = Mapping[str, TableContract]


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
                left, predicate = _with_day(left, right, predicate, contracts)
                return replace(relation, left=left, on=conjunction((*_tests(on), predicate)))
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


def with_connected_joins(
    relation: a.Relation, private: Collection[str], contracts: Contracts
) -> a.Relation:
    """Returns a relation whose inner joins are in an order that takes little work.

    The engine makes a hash table of a join's right side and reads the left side row by row. So what
    is looked up by a column of which no two rows share a value stands on the right of what looks it
    up: customers on the right of orders, orders (joined with their customers before) on the right
    of order lines. What is filtered comes first, and a table that nothing ties to the rows before
    comes last: in `FROM dates, suppliers, orders`, where conditions tie dates and suppliers to
    orders alone, the written order would have every date meet every supplier.

    Args:
        relation: What FROM and WHERE give.
        private: Its columns of private tables, lower case.
        contracts: Of all tables that the relation reads, by lower-case name.
    """
    match relation:
        case a.Join(kind="inner"):
            parts, conditions = _joined_parts(relation)
            parts = [with_connected_joins(part, private, contracts) for part in parts]
            tests = [test for on in conditions for test in _tests(on)]
            joined = _LookUps(parts, tests, private, contracts).in_order()
            for test in tests:
                joined = _place_one(joined, test, contracts)
            return joined
        case a.Join(left):
            return replace(relation, left=with_connected_joins(left, private, contracts))
        case a.Where(source) | a.Derive(source) | a.Bounded(source):
            return replace(relation, source=with_connected_joins(source, private, contracts))
    return relation


class _LookUps:
    """Which parts of an inner join look up which others by a column that is unique there."""

    def __init__(
        self,
        parts: Sequence[a.Relation],
        tests: Sequence[a.Expr],
        private: Collection[str],
        contracts: Contracts,
    ) -> None:
        self.parts = parts
        self.names = [column_names(part, contracts) for part in parts]
        self.private = [not names.isdisjoint(private) for names in self.names]
        self.reads = [columns_read(test) for test in tests]
        self.waiting = [*range(len(parts))]
        unique = [_unique_columns(part, contracts) for part in parts]
        part_of = {name: part for part, names in enumerate(self.names) for name in names}
        equated = [pair for test in tests for pair in equated_columns(test)]
        self.looked_up: list[list[int]] = [
            [
                part
                for part in range(len(parts))
                if any(part_of.get(x) == by and y in unique[part] for x, y in equated)
                and part != by
                and self.private[by] >= self.private[part]
            ]
            for by in range(len(parts))
        ]

    def in_order(self) -> a.Relation:
        """Returns the product of all parts, each tied to those before it where one that waits is.

        It begins with the private part from which most others are looked up.
        """
        first = min(
            self.waiting, key=lambda part: (not self.private[part], -len(self._parts_below(part)))
        )
        joined, here = self._with_look_ups(first)
        while self.waiting:
            tied = (
                part
                for part in self.waiting
                if any(
                    x <= here | self.names[part] and x & here and x & self.names[part]
                    for x in self.reads
                )
            )
            more, names = self._with_look_ups(next(tied, self.waiting[0]))
            joined, here = a.Join(joined, more, YES), here | names
        return joined

    def _with_look_ups(self, part: int) -> tuple[a.Relation, frozenset[str]]:
        """Returns the product of a part with what waits and is looked up from it, and its names."""
        self.waiting.remove(part)
        joined, names = self.parts[part], self.names[part]
        for other in sorted(self.looked_up[part], key=self._is_late):
            if other in self.waiting:
                more, more_names = self._with_look_ups(other)
                joined, names = a.Join(joined, more, YES), names | more_names
        return joined, names

    def _is_late(self, part: int) -> tuple[bool, bool]:
        """Returns what comes late: what leaves all rows, then what is private, and so large."""
        filtered = any(_holds_filter(self.parts[other]) for other in self._parts_below(part))
        return not filtered, self.private[part]

    def _parts_below(self, part: int) -> set[int]:
        reached, new = {part}, {part}
        while new := {x for by in new for x in self.looked_up[by]} - reached:
            reached |= new
        return reached


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
    names_of_parts = [column_names(part, contracts) for part in _joined_parts(relation)[0]]
    filters: list[a.Expr] = []
    for names in names_of_parts if len(names_of_parts) > 1 else ():
        own = [[x for x in branch if set() < columns_read(x) <= names] for branch in branches]
        if all(own):
            filters.append(a.Call("or", tuple(conjunction(tuple(tests)) for tests in own)))
    return filters


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


def _unique_columns(relation: a.Relation, contracts: Contracts) -> frozenset[str]:
    """Returns the lower-case names of stored columns of which no two rows share a value."""
    match relation:
        case a.Scan(table, prefix):
            return frozenset((prefix + c).lower() for c in contracts[table.lower()].unique)
        case a.Where(source) | a.Derive(source) | a.Bounded(source):
            return _unique_columns(source, contracts)
        case a.Join(left, _, _, "semi" | "anti"):
            return _unique_columns(left, contracts)
    return frozenset()


def _holds_filter(relation: a.Relation) -> bool:
    match relation:
        case a.Where() | a.Join():
            return True
        case a.Derive(source) | a.Bounded(source):
            return _holds_filter(source)
    return False


def _holds_join(relation: a.Relation) -> bool:
    match relation:
        case a.Join():
            return True
        case a.Where(source) | a.Derive(source) | a.Bounded(source):
            return _holds_join(source)
    return False


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
