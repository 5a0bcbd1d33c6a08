"""How many rows of a unit count in one statement: OPTIONS (max_rows_contributed = 5).

Fewer rows of each unit are less noise, and a bias where a unit has more. The owner's bound is for
all statements; who asks about one month, or one kind of rows, may know that a smaller one will do.
"""

from __future__ import annotations

from sqlpriv.dialect.tree import Literal, Pos
from sqlpriv.kernel.proof.sensitivity import bound_of
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.plan.aggregates.estimators import Given
from sqlpriv.plan.expressions.literals import refuse


def bounded(rows: a.Relation, contract: TableContract, given: Given, pos: Pos) -> a.Relation:
    """Returns the rows, of which so many of a unit count as the options say.

    Raises:
        Refused: The owner's bound is smaller.
    """
    declared = bound_of(rows, contract)
    asked = (
        ("rows", given.rows, declared.rows_per_unit),
        ("groups", given.groups, declared.groups_per_unit),
    )
    for what, wanted, most in asked:
        if wanted is not None and wanted > most:
            raise refuse(
                Literal(None, pos),
                f"max_{what}_contributed is above the owner's bound, which is {most}",
                f"write max_{what}_contributed = {most} or less",
            )
    if given.rows is None and given.groups is None:
        return rows
    return a.Bounded(rows, *(most if wanted is None else wanted for _, wanted, most in asked))
