"""What a join says of its sides: the equalities of USING, and whether rows are of one unit."""

from __future__ import annotations

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.relations.joins.named_rows import Rows
from sqlpriv.statements import tree as t


def using_conditions(
    left: Rows, right: Rows, names: tuple[str, ...], place: t.Node
) -> tuple[a.Expr, ...]:
    """Returns the equalities that `USING (names)` stands for, one for each name.

    Raises:
        Refused: A side has no such column, or several.
    """
    pairs = []
    for n in names:
        for rows in (left, right):
            if n.lower() not in rows.binder.names or n.lower() in rows.binder.twice:
                raise refuse(place, f'USING needs one column "{n}" on each side', "write ON")
        sides = (left.binder.names[n.lower()], right.binder.names[n.lower()])
        pairs.append(a.Call("=", tuple(map(a.Col, sides))))
    return tuple(pairs)


def check_connected(rows: Rows, source: t.Source | t.Joined) -> None:
    """Refuses private parts that nothing says are of one unit."""
    apart = {leaf: leaf for leaf in rows.leaves.values()}
    for one, other in rows.joined:
        old, new = apart[one], apart[other]
        apart = {leaf: new if root == old else root for leaf, root in apart.items()}
    if len(set(apart.values())) > 1:
        raise refuse(
            t.Literal(None, source.pos),
            "rows of different units would meet in this join",
            "join private tables along their links: ON o.customer = c.id",
        )
