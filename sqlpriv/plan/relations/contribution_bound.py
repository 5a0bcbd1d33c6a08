"""How many rows of a unit count in one statement.

OPTIONS (max_rows_contributed = 5): fewer rows of each unit are less noise, and a bias where a unit
has more. The owner's bound is for all statements; who asks about one month, or one kind of rows,
may know that a smaller one will do.

A row that meets several rows in a join counts as often. So the rows of a unit that count are as
many as its joins make of the rows that the owner's bounds allow: of a public table, as many as one
row can meet there, which is counted; of a private one, as many as its own bound says, unless the
join is on columns that tell the rows of one side apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlpriv.kernel.proof.sensitivity import bound_of
from sqlpriv.kernel.proof.unit_rows import Partners, equated_columns, reach_of
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.plan.aggregates.estimators import StatementOptions
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.statements.tree import Literal, Pos

_MOST_ROWS = 10**6


def with_all_partners(rows: a.Relation, contract: TableContract, partners: Partners) -> a.Relation:
    """Returns the rows, of which as many of a unit count as its tables' bounds and its joins make.

    Args:
        rows: What FROM and WHERE give.
        contract: Of any of the private tables, with those of the others in it.
        partners: Counts rows of public tables.
    """
    bound = bound_of(rows, contract)
    most = min(_MOST_ROWS, _Fanout(_with_one_stratum(contract), partners).most_rows(rows))
    if not bound.rows_per_unit or most <= bound.rows_per_unit:
        return rows
    return a.Bounded(rows, most, bound.groups_per_unit)


def _with_one_stratum(contract: TableContract) -> TableContract:
    """Returns the contracts as if a unit had its rows in one stratum: those of each one count."""

    def narrow(one: TableContract) -> TableContract:
        return replace(one, unit=replace(one.unit, groups_per_unit=1)) if one.unit else one

    others = {name: narrow(other) for name, other in contract.others.items()}
    return replace(narrow(contract), others=others)


@dataclass(frozen=True)
class _Fanout:
    """How many rows of one unit a relation has at most, by declared bounds and public tables."""

    contract: TableContract
    partners: Partners

    def most_rows(self, relation: a.Relation) -> int:
        """Returns the most rows of a unit; 0 for a public relation."""
        match relation:
            case a.Scan():
                return self._reach(relation)
            case a.Bounded(_, rows, _):
                return rows  # what is bounded is bounded with its partners
            case a.PerUnit(_, ()):
                return 1
            case a.PerUnit(source):
                return min(self.most_rows(source), self._reach(relation))
            case a.Join(left, right, _, "inner" | "left"):
                return self._pairs(relation, self.most_rows(left), self.most_rows(right))
            case a.Join(left):
                return self.most_rows(left)
            case a.Union(_, parts):
                return sum(self.most_rows(part) for part, _ in parts)
        return self.most_rows(relation.source)

    def _reach(self, relation: a.Relation) -> int:
        return reach_of(relation, self.contract, self.partners).rows

    def _pairs(self, join: a.Join, left: int, right: int) -> int:
        """Returns how many pairs a unit has of so many rows of both sides."""
        if not left:
            return right
        mine, theirs = self._reach(join.left), self._reach(join.right)
        pairs = self._reach(replace(join, kind="inner"))
        if not right:
            return left * max(1, pairs // mine)
        equated = {column for pair in equated_columns(join.on) for column in pair}
        if pairs == mine or _keys_within(join.right, equated):
            return left
        if pairs == theirs or _keys_within(join.left, equated):
            return right + (left - 1 if join.kind == "left" else 0)  # one or more have a partner
        return left * right


def _keys_within(relation: a.Relation, columns: set[str]) -> bool:
    """Returns whether no two rows of a unit agree in these columns: it was grouped by some."""
    match relation:
        case a.PerUnit(_, keys):
            return {name.lower() for name, _ in keys} <= columns
        case a.Where(source) | a.Derive(source) | a.Bounded(source):
            return _keys_within(source, columns)
    return False


def bound_contributions(
    rows: a.Relation,
    contract: TableContract,
    options: StatementOptions,
    pos: Pos,
    has_strata: bool = True,
) -> a.Relation:
    """Returns the rows, of which so many of a unit count as the options say.

    Without strata, `max_groups_contributed` is GoogleSQL's: of the groups of GROUP BY. A unit is in
    no more of them than it has rows that count, so that up to this number there is nothing to cut.

    Raises:
        Refused: The owner's bound is smaller.
    """
    declared = bound_of(rows, contract)
    most_groups = declared.groups_per_unit if has_strata else declared.rows_per_unit
    limits = (
        ("rows", options.rows, declared.rows_per_unit),
        ("groups", options.groups, most_groups),
    )
    for noun, limit, most in limits:
        if limit is not None and limit > most:
            raise refuse(
                Literal(None, pos),
                f"max_{noun}_contributed is above the owner's bound, which is {most}",
                f"write max_{noun}_contributed = {most} or less",
            )
    groups = options.groups if has_strata else None
    if options.rows is None and groups is None:
        return rows
    return a.Bounded(
        rows, options.rows or declared.rows_per_unit, groups or declared.groups_per_unit
    )
