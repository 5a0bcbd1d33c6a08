"""How many rows of a unit count in one statement: OPTIONS (max_rows_contributed = 5).

Fewer rows of each unit are less noise, and a bias where a unit has more. The owner's bound is for
all statements; who asks about one month, or one kind of rows, may know that a smaller one will do.
"""

from __future__ import annotations

from sqlpriv.kernel.proof.sensitivity import bound_of
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.plan.aggregates.estimators import StatementOptions
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.statements.tree import Literal, Pos


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
