"""How many rows of a unit count in one statement.

OPTIONS (max_rows_contributed = 5): fewer rows of each unit are less noise, and a bias where a unit
has more. The owner's bound is for all statements; who asks about one month, or one kind of rows,
may know that a smaller one will do.

`CROSS JOIN public_table`: a private row that meets several rows of a public table counts as often.
So the owner's bound is multiplied by the most rows that one can meet, which is a public fact.
"""

from __future__ import annotations

from dataclasses import replace

from sqlpriv.kernel.proof.sensitivity import bound_of
from sqlpriv.kernel.proof.unit_rows import Partners, reach_of
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.plan.aggregates.estimators import StatementOptions
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.statements.tree import Literal, Pos


def with_public_partners(
    rows: a.Relation, contract: TableContract, partners: Partners
) -> a.Relation:
    """Returns the rows, of which as many of a unit count as its bound and public tables make.

    Args:
        rows: What FROM and WHERE give.
        contract: Of any of the private tables, with those of the others in it.
        partners: Counts rows of public tables.
    """
    times = _times_in_public_tables(rows, contract, partners)
    bound = bound_of(rows, contract)
    if times <= 1 or not bound.rows_per_unit:
        return rows
    return a.Bounded(rows, min(10**6, times * bound.rows_per_unit), bound.groups_per_unit)


def _times_in_public_tables(
    relation: a.Relation, contract: TableContract, partners: Partners
) -> int:
    """Returns how many rows at most a relation has for one of its private tables' rows."""
    match relation:
        case a.Scan() | a.Bounded() | a.PerUnit(_, ()):
            return 1  # what is bounded is bounded with its public partners
        case a.Join(left, right, _, "inner" | "left"):
            sides = [_times_in_public_tables(x, contract, partners) for x in (left, right)]
            mine, theirs = (reach_of(x, contract, partners).rows for x in (left, right))
            if theirs or not mine:
                return max(sides)
            pairs = reach_of(replace(relation, kind="inner"), contract, partners).rows
            return sides[0] * max(1, pairs // mine)
        case a.Join(left):
            return _times_in_public_tables(left, contract, partners)
        case a.Union(_, parts):
            return max(_times_in_public_tables(part, contract, partners) for part, _ in parts)
    return _times_in_public_tables(relation.source, contract, partners)


def bound_contributions(
    rows: a.Relation, contract: TableContract, options: StatementOptions, pos: Pos
) -> a.Relation:
    """Returns the rows, of which so many of a unit count as the options say.

    Raises:
        Refused: The owner's bound is smaller.
    """
    declared = bound_of(rows, contract)
    limits = (
        ("rows", options.rows, declared.rows_per_unit),
        ("groups", options.groups, declared.groups_per_unit),
    )
    for noun, limit, most in limits:
        if limit is not None and limit > most:
            raise refuse(
                Literal(None, pos),
                f"max_{noun}_contributed is above the owner's bound, which is {most}",
                f"write max_{noun}_contributed = {most} or less",
            )
    if options.rows is None and options.groups is None:
        return rows
    return a.Bounded(rows, *(most if limit is None else limit for _, limit, most in limits))
