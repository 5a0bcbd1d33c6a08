"""Subqueries that look at rows of other units by keys with public lists: answered key by key.

    … l_quantity < (SELECT 0.2 * avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)

asks for one number for each part. Where the parts are listed in public, the statement
`SELECT l_partkey, 0.2 * avg(l_quantity) FROM lineitem GROUP BY l_partkey` is one private query with
a price of its own; its noised answers are numbers like any others, and each row around looks its
own up (`t.Lookup`). A key that is not listed has no rows: NULL, or a count of 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlpriv.kernel.terms.contract import TableContract, Value
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.relations.outer_names import inner_and_outer, is_outer_name
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import conjuncts, walk

Contracts = Mapping[str, TableContract]
MOST = 200
"""Values of a column that a CASE has a branch for."""


@dataclass(frozen=True)
class KeyedSubquery:
    """A subquery as a statement of its own.

    Args:
        select: Its keys first, and then its value.
        columns: Of the row around, which the keys equal.
    """

    select: t.Select
    columns: tuple[t.Name, ...]


def keyed_subquery(part: t.Subquery, contracts: Contracts) -> KeyedSubquery | None:
    """Returns a subquery that looks at columns of the row around it, by equalities alone.

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
    columns = [outer for inner, outer in pairs if isinstance(outer, t.Name)]
    keys = tuple(inner for inner, _ in pairs)
    if not columns or len(columns) < len(pairs) or not all(isinstance(k, t.Name) for k in keys):
        return None
    where = None
    for node in inside:
        where = node if where is None else t.Binary("and", where, node, node.pos)
    named = (t.Item(key, f"k{i}") for i, key in enumerate(keys))
    items = (*named, replace(query.items[0], alias="v"))
    select = replace(query, items=items, where=where, group_by=keys, text=part.text)
    return KeyedSubquery(select, tuple(columns))


Key = tuple[Value, ...]


def number_by_key(
    part: t.Subquery, columns: Sequence[t.Name], numbers: Mapping[Key, float]
) -> t.Node:
    """Returns the numbers of a subquery, by the values of the columns that it looks at.

    NULL equals no key, so a row with NULL there looks at no rows: their COUNT is 0, all else NULL.

    Raises:
        Refused: There are more than `MOST` values of a column beside others.
    """
    equal = {key: number for key, number in numbers.items() if None not in key}
    if not equal:
        numbers_of_keys: t.Node = t.Cast(t.Literal(None, part.pos), "DOUBLE", pos=part.pos)
    else:
        numbers_of_keys = _number_of(columns, equal, part.pos)
    value = part.query.items[0].expr if isinstance(part.query, t.Select) else None
    if not (isinstance(value, t.FunctionCall) and value.name == "count"):
        return numbers_of_keys
    return t.FunctionCall("coalesce", (numbers_of_keys, t.Literal(0, part.pos)), pos=part.pos)


def _number_of(columns: Sequence[t.Name], numbers: Mapping[Key, float], pos: t.Pos) -> t.Node:
    """Returns the number of a row's key: CASE by the columns of fewer values, then one look-up."""
    if len(columns) == 1:
        keys = tuple(value for (value,) in numbers)
        return t.Lookup(columns[0], keys, tuple(numbers.values()), pos)
    counts = [len({key[i] for key in numbers}) for i in range(len(columns))]
    place = counts.index(min(counts))
    if counts[place] > MOST:
        raise refuse(
            t.Literal(None, pos),
            f"a subquery that looks at several columns takes at most {MOST} values of one of them",
            "look at one column, or at bins of it",
        )
    by_value: dict[Value, dict[Key, float]] = {}
    for key, number in numbers.items():
        by_value.setdefault(key[place], {})[key[:place] + key[place + 1 :]] = number
    others = [*columns[:place], *columns[place + 1 :]]
    whens = tuple(
        (
            t.Binary("=", columns[place], t.Literal(value, pos), pos),
            _number_of(others, rest, pos),
        )
        for value, rest in by_value.items()
    )
    return t.CaseWhen(whens, pos=pos)
