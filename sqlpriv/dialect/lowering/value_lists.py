"""What IN, ANY and ALL compare with: values that a statement lists, or a query."""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.dialect.lowering.node_lowering import Glot, NodeLowering
from sqlpriv.errors import Refused
from sqlpriv.statements import tree as t

_ENDS = "compare with its largest or smallest value: x > (SELECT MAX(y) FROM t)"


def quantified_values(lowering: NodeLowering, right: Glot) -> tuple[t.Node, ...] | None:
    """Returns the values that ANY or ALL compare with, `[1, 2]` or `(VALUES (1), (2))`; None of a
    query, which `= ANY` and `<> ALL` alone may have, and of anything else."""
    is_all = isinstance(right, exp.Anonymous) and right.name.upper() == "ALL"
    if not is_all and not isinstance(right, exp.Any | exp.All):
        return None
    inside = right.expressions[0] if is_all else right.this.unnest()
    if isinstance(inside, exp.Array | exp.Values):
        items = inside.expressions if isinstance(inside, exp.Array) else [inside]
        return lowering.expressions(listed_values(lowering, items))
    if not isinstance(right.parent, exp.NEQ if isinstance(right, exp.All) else exp.EQ):
        place = lowering.token(inside)
        raise Refused.at(place, "a query behind ANY or ALL is compared by = ANY or <> ALL", _ENDS)
    return None


def listed_values(lowering: NodeLowering, items: list[Glot]) -> list[Glot]:
    """Returns what IN lists: `(1, 2)`, or `(VALUES (1), (2))`: rows of one value are values."""
    if len(items) != 1 or not isinstance(items[0], exp.Values):
        return items
    lowering.check_arguments(items[0], ("expressions",))
    rows: list[Glot] = items[0].expressions
    return [row.expressions[0] if len(row.expressions) == 1 else row for row in rows]


def is_among(lowering: NodeLowering, node: Glot, query: Glot, *, negated: bool) -> t.Node:
    """Reads `x = ANY (SELECT …)`, which is IN, and `x <> ALL (SELECT …)`, which is NOT IN."""
    left = lowering.expression(node.this)
    inner = lowering.query(query.this if isinstance(query, exp.Subquery) else query)
    text, bound = lowering.enclosed_text(query, inner.pos)
    return t.InQuery(left, inner, negated, text, bound, left.pos)
