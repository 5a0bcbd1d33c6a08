"""A subquery in FROM that only names columns of one table, as that table: tools write it so.

    SELECT kind, SUM(qty) FROM (SELECT kind, qty FROM sales WHERE ok) AS t WHERE qty > 1 GROUP BY 1
    ──► SELECT kind, SUM(qty) FROM sales AS t WHERE ok AND qty > 1 GROUP BY 1

Both are one question then, which is paid once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import rebuild, walk


def without_bare_subquery(select: t.Select, contracts: Mapping[str, TableContract]) -> t.Select:
    """Returns a query over the table that the only subquery of its FROM names columns of; the
    query itself where FROM is something else, or a name might mean something else then.

    Args:
        select: The query.
        contracts: Of all tables, by lower-case name.

    Raises:
        Refused: The subquery has a price.
    """
    source = select.source
    inner = source.query if isinstance(source, t.Derived) else None
    if not isinstance(source, t.Derived) or not isinstance(inner, t.Select):
        return select
    if inner.options:
        hint = "give the price of the whole statement, or aggregate in the subquery"
        raise Refused.at(source.pos, "rows of a subquery have no price of their own", hint)
    inner = without_bare_subquery(inner, contracts)
    contract = contracts.get(inner.table.lower())
    if contract is None or contract.unit is None or not _names_columns(inner):
        return select
    columns = {column.name.lower() for column in contract.columns}
    names = {item.expr.name.lower() for item in inner.items if isinstance(item.expr, t.Name)}
    stars = {"*"} if names == {"*"} else set()
    names = columns if stars else names
    hidden = {item.alias.lower() for item in select.items if item.alias} - names
    if not names <= columns or hidden & columns:  # an output's name would be the column's
        return select
    own_tables = {(inner.alias or inner.table).lower()}
    if not all(_is_of(node, {*columns, "*"}, own_tables) for node in _expressions(inner)):
        return select
    around = {source.alias.lower()}
    if not all(_is_of(node, names | hidden | stars, around) for node in _expressions(select)):
        return select

    def without_table(node: t.Node) -> t.Node | None:
        return replace(node, table="") if isinstance(node, t.Name) and node.table else None

    where = select.where
    if inner.where is not None:
        test = rebuild(inner.where, without_table)
        where = test if where is None else t.Binary("and", test, where, test.pos)
    return replace(select, table=inner.table, alias=source.alias, source=None, where=where)


def _names_columns(query: t.Select) -> bool:
    """Returns whether a query is names of columns, each as it is, FROM one table, and WHERE."""
    plain = replace(query, items=(), where=None, table="", alias="")
    names = [item.expr for item in query.items if isinstance(item.expr, t.Name)]
    stars = sum(name.name == "*" for name in names)
    return (
        plain == t.Select((), "")
        and len(names) == len(query.items)
        and (not stars or len(names) == 1)
        and all(
            replace(item, text="", alias="") == t.Item(name)
            and item.alias.lower() in ("", name.name.lower())
            for item, name in zip(query.items, names, strict=True)
        )
    )


def _is_of(node: t.Node, names: Collection[str], tables: Collection[str]) -> bool:
    """Returns whether an expression names these columns alone, by these tables or none, in lower
    case, and holds no query."""
    for part in walk(node):
        if isinstance(part, t.Exists | t.InQuery | t.Subquery | t.Lookup):
            return False
        if isinstance(part, t.FunctionCall) and part.name == "columns":
            return False
        if isinstance(part, t.Name) and part.table.lower() not in ("", *tables):
            return False
        if isinstance(part, t.Name) and part.name.lower() not in names:
            return False
    return True


def _expressions(select: t.Select) -> Iterator[t.Node]:
    """Yields the expressions of a query."""
    yield from (item.expr for item in select.items)
    yield from select.group_by
    yield from (order.expr for order in select.order_by)
    yield from (node for node in (select.where, select.having) if node is not None)
    yield from () if select.stratify is None else select.stratify.by
