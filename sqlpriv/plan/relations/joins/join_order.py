"""The order of inner joins, in which the engine has little work."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlpriv.kernel.proof.unit_rows import equated_columns
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.operations import columns_read
from sqlpriv.plan.relations.joins.filter_placement import place_one
from sqlpriv.plan.relations.joins.named_rows import YES
from sqlpriv.plan.relations.joins.relation_columns import (
    Contracts,
    column_names,
    holds_filter,
    join_tests,
    joined_parts,
    unique_columns,
)


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
            parts, conditions = joined_parts(relation)
            parts = [with_connected_joins(part, private, contracts) for part in parts]
            tests = [test for on in conditions for test in join_tests(on)]
            joined = _LookUps(parts, tests, private, contracts).in_order()
            for test in tests:
                joined = place_one(joined, test, contracts)
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
        unique = [unique_columns(part, contracts) for part in parts]
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
        """Returns the product of all parts.

        The first is the private part from which most others are looked up. The next is a part that
        a condition ties to parts before it; only where no condition does, the first that is left.
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
        """Returns the product of a part and of the parts that are looked up from it and are not in
        the order yet; and the names of the product's columns."""
        self.waiting.remove(part)
        joined, names = self.parts[part], self.names[part]
        for other in sorted(self.looked_up[part], key=self._is_late):
            if other in self.waiting:
                more, more_names = self._with_look_ups(other)
                joined, names = a.Join(joined, more, YES), names | more_names
        return joined, names

    def _is_late(self, part: int) -> tuple[bool, bool]:
        """Returns what a part is sorted by: parts that a filter makes smaller come first; of the
        others, public ones, since private tables are large."""
        filtered = any(holds_filter(self.parts[other]) for other in self._parts_below(part))
        return not filtered, self.private[part]

    def _parts_below(self, part: int) -> set[int]:
        reached, new = {part}, {part}
        while new := {x for by in new for x in self.looked_up[by]} - reached:
            reached |= new
        return reached
