"""Names in a subquery that are columns of the row around it, and the public values of these.

DuckDB answers a subquery over public tables for each value that the row's column is declared to
have. The answers are public numbers (`t.Lookup`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from sqlpriv.kernel.terms.contract import TableContract, Value
from sqlpriv.plan.expressions.facts.conditions import identities, whole_identities
from sqlpriv.plan.expressions.facts.value_facts import scope_of
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.statements import tables
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import conjuncts, rebuild, walk

Contracts = Mapping[str, TableContract]
Pair = tuple[t.Node, t.Node]
"""An expression over the inner tables, and the one around them that it equals."""
StoredValues = Callable[[str, str], tuple[Value, ...] | None]
"""What a column of a public table holds, by the names of the table and of the column."""
MOST = 10_000
"""Values for which a subquery over public tables is answered."""


class LookedUpColumn(NamedTuple):
    """The column of the row around that a subquery looks at, its table's alias and its values."""

    column: t.Name
    alias: str
    values: tuple[Value, ...]


def looks_outside(query: t.Query, contracts: Contracts) -> bool:
    """Returns whether a subquery names columns of what is around it."""
    return isinstance(query, t.Select) and any(outer_names(query, contracts))


def tables_of(source: t.Source, contracts: Contracts) -> Iterator[tuple[str, TableContract]]:
    """Yields the tables of FROM, each with its alias."""
    match source:
        case t.Table(name, alias) if name.lower() in contracts:
            yield alias or name, contracts[name.lower()]
        case t.Joined(left, right):
            yield from tables_of(left, contracts)
            yield from tables_of(right, contracts)


def inner_and_outer(node: t.Node, query: t.Select, contracts: Contracts) -> Pair | None:
    """Returns the sides of an equality of the inner rows with the row around; None of others."""
    if not (isinstance(node, t.Binary) and node.op == "="):
        return None
    sides = [
        {is_outer_name(n, query, contracts) for n in walk(side) if isinstance(n, t.Name)}
        for side in (node.left, node.right)
    ]
    if sides == [{False}, {True}]:
        return node.left, node.right
    return (node.right, node.left) if sides == [{True}, {False}] else None


def _names_unit(inner: t.Node, query: t.Select, contracts: Contracts) -> bool:
    return isinstance(inner, t.Name) and any(
        whole_identities(identities(contracts[table]).get(inner.name.lower(), ()))
        for table in tables(from_source(query))
        if table in contracts
    )


def outer_names(query: t.Select, contracts: Contracts) -> Iterator[t.Name]:
    nodes = [*(item.expr for item in query.items), *conjuncts(query.where)]
    for part in (part for node in nodes for part in walk(node)):
        if is_outer_name(part, query, contracts):
            assert isinstance(part, t.Name)
            yield part


def is_outer_name(node: t.Node, query: t.Select, contracts: Contracts) -> bool:
    """Returns whether a name is none of the query's own FROM."""
    if not isinstance(node, t.Name) or node.name == "*":
        return False
    visible = list(_visible_columns(from_source(query), contracts))
    return not any(
        column in (node.name.lower(), "*") and node.table.lower() in ("", alias)
        for alias, column in visible
    )


def _visible_columns(source: t.Source, contracts: Contracts) -> Iterator[tuple[str, str]]:
    """Yields the columns of a source, each behind its alias; * where they are not known."""
    match source:
        case t.Table(name, alias):
            contract = contracts.get(name.lower())
            columns = [c.name.lower() for c in contract.columns] if contract else ["*"]
            yield from (((alias or name).lower(), column) for column in columns)
        case t.Joined(left, right):
            yield from _visible_columns(left, contracts)
            yield from _visible_columns(right, contracts)
        case t.Derived(query, alias):
            first = query.parts[0] if isinstance(query, t.UnionAll) else query
            yield from ((alias.lower(), output_name(item).lower()) for item in first.items)


def from_source(select: t.Select) -> t.Source:
    """Returns FROM: of one table it stands in two fields of its own."""
    return select.source or t.Table(select.table, select.alias, select.pos)


def output_name(item: t.Item) -> str:
    """Returns the name that an output has, as DuckDB gives it."""
    return item.alias or (item.expr.name if isinstance(item.expr, t.Name) else item.text)


def rename_alias(query: t.Select, alias: str) -> t.Select:
    """Returns a query of one table under another alias; one of several tables as it is."""
    if query.source is not None:
        return query
    name = (query.alias or query.table).lower()

    def rename(node: t.Node) -> t.Node | None:
        if not isinstance(node, t.Name) or node.table.lower() != name:
            return None
        return replace(node, table=alias)

    items = tuple(replace(item, expr=rebuild(item.expr, rename)) for item in query.items)
    where = None if query.where is None else rebuild(query.where, rename)
    return replace(query, alias=alias, items=items, where=where)


def lookup_of(
    part: t.Subquery, select: t.Select, contracts: Contracts, stored_values: StoredValues
) -> LookedUpColumn | None:
    """Returns what a subquery over public tables asks of the row around it; None if nothing.

    Args:
        part: The subquery.
        select: The statement around it.
        contracts: By lower-case name.
        stored_values: What a column of a public table holds, by the table and the column.

    Raises:
        Refused: It looks at several columns, or at one without a public list of values.
    """
    if not isinstance(part.query, t.Select):
        return None
    names = list(dict.fromkeys(outer_names(part.query, contracts)))
    if not names:
        return None
    for alias, contract in tables_of(from_source(select), contracts):
        shape = scope_of(contract).get(names[0].name.lower())
        if names[0].table.lower() in ("", alias.lower()) and shape and len(names) == 1:
            listed = shape.values
            if listed is None and contract.public:
                listed = stored_values(contract.table, names[0].name)
            if listed is None or len(listed) > MOST:
                break
            values = tuple(value for value in listed if value is not None)
            return LookedUpColumn(names[0], alias, values)
    message = f"this subquery is answered for each value of {' and '.join(n.name for n in names)}"
    raise refuse(
        part,
        f"{message}: there is no public list of so many",
        "let it look at one column with a declared domain, or join the table",
    )
