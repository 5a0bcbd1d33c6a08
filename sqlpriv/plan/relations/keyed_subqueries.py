"""Subqueries that look at rows of other units by a key with a public list: answered key by key.

    … l_quantity < (SELECT 0.2 * avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)

asks for one number for each part. Where the parts are listed in public, the statement
`SELECT l_partkey, 0.2 * avg(l_quantity) FROM lineitem GROUP BY l_partkey` is one private query with
a price of its own; its noised answers are numbers like any others, and each row around looks its
own up (`t.Lookup`). A key that is not listed has no rows: NULL, or a count of 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlpriv.kernel.terms.contract import TableContract, Value
from sqlpriv.plan.relations.outer_names import inner_and_outer, is_outer_name
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import conjuncts, walk

Contracts = Mapping[str, TableContract]


@dataclass(frozen=True)
class KeyedSubquery:
    """A subquery as a statement of its own.

    Args:
        select: Its keys first, and then its value.
        column: Of the row around, which the key equals.
    """

    select: t.Select
    column: t.Name


def keyed_subquery(part: t.Subquery, contracts: Contracts) -> KeyedSubquery | None:
    """Returns a subquery that looks at one column of the row around it, by one equality.

    Args:
        part: A scalar subquery over private tables.
        contracts: By lower-case name.

    Returns:
        None where it looks outside otherwise, or is no single aggregate.
    """
    query = part.query
    if not isinstance(query, t.Select) or len(query.items) != 1:
        return None
    if query.group_by or query.group_all or query.sets or query.having or query.limit:
        return None
    inside: list[t.Node] = []
    pairs: list[tuple[t.Node, t.Node]] = []
    for node in conjuncts(query.where):
        pair = inner_and_outer(node, query, contracts)
        if pair is None:
            inside.append(node)
        else:
            pairs.append(pair)
    looking = [*inside, *(item.expr for item in query.items)]
    if any(is_outer_name(name, query, contracts) for node in looking for name in walk(node)):
        return None
    if len(pairs) != 1 or not all(isinstance(side, t.Name) for side in pairs[0]):
        return None
    inner, outer = pairs[0]
    assert isinstance(outer, t.Name)
    where = None
    for node in inside:
        where = node if where is None else t.Binary("and", where, node, node.pos)
    items = (t.Item(inner, "k"), replace(query.items[0], alias="v"))
    select = replace(query, items=items, where=where, group_by=(inner,), text=part.text)
    return KeyedSubquery(select, outer)


def number_by_key(part: t.Subquery, column: t.Name, numbers: Mapping[Value, float]) -> t.Node:
    """Returns the numbers of a subquery, by the value of the column that it looks at.

    NULL equals no key, so a row with NULL there looks at no rows: their COUNT is 0, all else NULL.
    """
    keys = tuple(key for key in numbers if key is not None)
    if not keys:
        numbers_of_keys: t.Node = t.Cast(t.Literal(None, part.pos), "DOUBLE", pos=part.pos)
    else:
        numbers_of_keys = t.Lookup(column, keys, tuple(numbers[key] for key in keys), part.pos)
    value = part.query.items[0].expr if isinstance(part.query, t.Select) else None
    if not (isinstance(value, t.FunctionCall) and value.name == "count"):
        return numbers_of_keys
    return t.FunctionCall("coalesce", (numbers_of_keys, t.Literal(0, part.pos)), pos=part.pos)
