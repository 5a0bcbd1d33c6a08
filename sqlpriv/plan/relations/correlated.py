"""Subqueries that look at the row around them → joins, or looked-up public numbers.

`(SELECT COUNT(*) FROM orders o WHERE o.customer = c.id)` is a number for each customer. Where the
inner table is private, it is aggregated inside each unit first and joined: every row finds its own
unit's number, so nothing meets that a join would keep apart (`relations` checks that it is one).

    … c.x > (SELECT AVG(y) FROM orders WHERE customer = c.id AND p)
    … FROM c LEFT JOIN (SELECT customer AS k, AVG(y) AS v FROM orders WHERE p GROUP BY customer) s
      ON s.k = c.id … c.x > s.v

EXISTS and IN below OR are such counts above 0. Over public tables DuckDB answers the subquery for
each value that the row's column is declared to have; the answers are public numbers (`t.Lookup`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from sqlpriv.dialect import tree as t
from sqlpriv.dialect.sources import tables
from sqlpriv.kernel.terms.contract import TableContract, Value
from sqlpriv.plan.aggregates.calls import calls
from sqlpriv.plan.expressions.conditions import identities
from sqlpriv.plan.expressions.literals import refuse
from sqlpriv.plan.expressions.traverse import conjuncts, everything, rebuild
from sqlpriv.plan.expressions.value_facts import scope_of
from sqlpriv.plan.relations.subqueries import scalars

Contracts = Mapping[str, TableContract]
MOST = 10_000
"""Values for which a subquery over public tables is answered."""
Pair = tuple[t.Node, t.Node]
"""An expression over the inner tables, and the one around them that it equals."""


class Asked(NamedTuple):
    """The column of the row around that a subquery looks at, its table's alias and its values."""

    column: t.Name
    alias: str
    values: tuple[Value, ...]


def joined(select: t.Select, contracts: Contracts) -> t.Select:
    """Returns the statement with private subqueries about the row's own unit as joins."""
    source = _derived(_source(select), contracts)
    made = _Joins(contracts, source)
    items = tuple(_written(item, made) for item in select.items)
    where = None if select.where is None else _conjoined(
        [_condition(node, made) for node in conjuncts(select.where)])  # fmt: skip
    stages = tuple((name, _inside(query, contracts)) for name, query in select.stages)
    if (made.source, stages) == (_source(select), select.stages):
        return select
    return replace(select, items=items, where=where, source=made.source, stages=stages)


def looks_outside(query: t.Query, contracts: Contracts) -> bool:
    """Returns whether a subquery names columns of what is around it."""
    return isinstance(query, t.Select) and any(_outer(query, contracts))


def asked_of(part: t.Subquery, select: t.Select, contracts: Contracts) -> Asked | None:
    """Returns what a subquery over public tables asks of the row around it; None if nothing.

    Raises:
        Refused: It looks at several columns, or at one without a public list of values.
    """
    found = [] if not isinstance(part.query, t.Select) else _outer(part.query, contracts)
    names = list(dict.fromkeys(found))
    if not names:
        return None
    for alias, contract in _around(_source(select), contracts):
        shape = scope_of(contract).get(names[0].name.lower())
        if names[0].table.lower() in ("", alias.lower()) and shape and len(names) == 1:
            if shape.values is None or len(shape.values) > MOST:
                break
            values = tuple(value for value in shape.values if value is not None)
            return Asked(names[0], alias, values)
    said = f"this subquery is answered for each value of {' and '.join(n.name for n in names)}"
    raise refuse(part, f"{said}: there is no public list of so many",
                 "let it look at one column with a declared domain, or join the table")  # fmt: skip


def _around(source: t.Source, contracts: Contracts) -> Iterator[tuple[str, TableContract]]:
    """Yields the tables of FROM, each with its alias."""
    match source:
        case t.Table(name, alias) if name.lower() in contracts:
            yield alias or name, contracts[name.lower()]
        case t.Joined(left, right):
            yield from _around(left, contracts)
            yield from _around(right, contracts)


@dataclass
class _Joins:
    """FROM with what was joined to it; names are `sqlpriv_sub1`, …"""

    contracts: Contracts
    source: t.Source
    known: dict[t.Select, str] = field(default_factory=dict)

    def change(self, node: t.Node) -> t.Node | None:
        """Returns what stands for EXISTS or a scalar subquery; None for all else."""
        return self.exists(node) if isinstance(node, t.Exists) else self.scalar(node)

    def scalar(self, node: t.Node) -> t.Node | None:
        """Returns what stands for a subquery that could be joined; None for all else."""
        if not isinstance(node, t.Subquery) or not isinstance(node.query, t.Select):
            return None
        query = node.query
        pairs, rest = _parts(query, self.contracts)
        if pairs is None or len(query.items) != 1 or _refused(query):
            return None
        return self._joined(query, pairs, rest, node.pos)

    def exists(self, node: t.Exists) -> t.Node | None:
        """Returns the count of partners above 0."""
        return self._any(node.query, None, node.pos)

    def member(self, node: t.InQuery) -> t.Node | None:
        """Returns the same of `x IN (SELECT y …)`, which may be NULL where this is false."""
        return self._any(node.query, node.arg, node.pos)

    def _any(self, query: t.Query, arg: t.Node | None, pos: t.Pos) -> t.Node | None:
        if not isinstance(query, t.Select) or any(any(calls(i.expr)) for i in query.items):
            return None
        if arg is not None:
            if len(query.items) != 1:
                return None
            equal = t.Binary("=", query.items[0].expr, arg, pos)
            query = replace(query, where=_conjoined([*conjuncts(query.where), equal]))
        counted = replace(query, items=(t.Item(t.Call("count", star=True, pos=pos)),))
        found = self.scalar(t.Subquery(counted, pos=pos))
        return None if found is None else t.Binary(">", found, t.Literal(0, pos), pos)

    def _joined(self, query: t.Select, pairs: list[Pair], rest: list[t.Node], pos: t.Pos) -> t.Node:
        """Joins the subquery, aggregated by the inner sides of its equalities."""
        if query not in self.known:
            self.known[query] = alias = f"sqlpriv_sub{len(self.known) + 1}"
            keys = [t.Item(inner, f"k{i}") for i, (inner, _) in enumerate(pairs)]
            values = [t.Item(call, f"v{i}") for i, call in enumerate(_aggregates(query))]
            made = replace(query, items=(*keys, *values), where=_conjoined(rest),
                           group_by=tuple(inner for inner, _ in pairs), pos=pos)  # fmt: skip
            on = [t.Binary("=", t.Name(f"k{i}", alias, pos), outer, pos)
                  for i, (_, outer) in enumerate(pairs)]  # fmt: skip
            sub = t.Derived(made, alias, pos)
            self.source = t.Joined(self.source, sub, "left", _conjoined(on), (), pos)
        alias, found = self.known[query], _aggregates(query)

        def value(part: t.Node) -> t.Node | None:
            if not (isinstance(part, t.Call) and part in found):
                return None
            name = t.Name(f"v{found.index(part)}", alias, part.pos)
            none = t.Literal(0, part.pos)  # no row: COUNT is 0, all else NULL
            return t.Call("coalesce", (name, none), pos=part.pos) if _counts(part) else name

        return rebuild(query.items[0].expr, value)


def _source(select: t.Select) -> t.Source:
    return select.source or t.Table(select.table, select.alias, select.pos)


def _derived(source: t.Source, contracts: Contracts) -> t.Source:
    """Returns a source whose own queries are rewritten."""
    match source:
        case t.Joined(left, right):
            sides = (_derived(left, contracts), _derived(right, contracts))
            return replace(source, left=sides[0], right=sides[1])
        case t.Derived(query):
            return replace(source, query=_inside(query, contracts))
    return source


def _inside(query: t.Query, contracts: Contracts) -> t.Query:
    if isinstance(query, t.Select):
        return joined(query, contracts)
    return replace(query, parts=tuple(joined(part, contracts) for part in query.parts))


def _written(item: t.Item, made: _Joins) -> t.Item:
    expr = rebuild(item.expr, made.change)
    return item if expr == item.expr else replace(item, expr=expr, alias=item.alias or item.text)


def _condition(node: t.Node, made: _Joins) -> t.Node:
    """Returns a condition of WHERE; EXISTS and IN that stand alone in it are joins already."""
    bare = node.arg if isinstance(node, t.Unary) and node.op == "not" else node
    if isinstance(bare, t.Exists | t.InQuery):
        return node
    return rebuild(_tests(node, made), made.change)


def _tests(node: t.Node, made: _Joins) -> t.Node:
    """Returns a condition with IN below AND and OR as counts."""
    match node:
        case t.Binary("and" | "or" as op, left, right):
            return t.Binary(op, _tests(left, made), _tests(right, made), node.pos)
        case t.InQuery(negated=False):
            return made.member(node) or node
    return node


def _parts(query: t.Select, contracts: Contracts) -> tuple[list[Pair] | None, list[t.Node]]:
    """Returns the equalities with what is around, None where it is looked at otherwise or no inner
    side names a unit, and the other conditions.
    """
    pairs: list[Pair] = []
    rest: list[t.Node] = []
    for node in conjuncts(query.where):
        pair = _pair(node, query, contracts)
        pairs, rest = ([*pairs, pair], rest) if pair else (pairs, [*rest, node])
    looking = [*rest, *(item.expr for item in query.items)]
    if any(_foreign(part, query, contracts) for node in looking for part in everything(node)):
        return None, rest
    return (
        pairs if any(_names_unit(inner, query, contracts) for inner, _ in pairs) else None
    ), rest


def _pair(node: t.Node, query: t.Select, contracts: Contracts) -> Pair | None:
    if not (isinstance(node, t.Binary) and node.op == "="):
        return None
    sides = [
        {_foreign(n, query, contracts) for n in everything(side) if isinstance(n, t.Name)}
        for side in (node.left, node.right)
    ]
    if sides == [{False}, {True}]:
        return node.left, node.right
    return (node.right, node.left) if sides == [{True}, {False}] else None


def _names_unit(inner: t.Node, query: t.Select, contracts: Contracts) -> bool:
    return isinstance(inner, t.Name) and any(
        inner.name.lower() in identities(contracts[table])
        for table in tables(_source(query)) if table in contracts
    )  # fmt: skip


def _outer(query: t.Select, contracts: Contracts) -> Iterator[t.Name]:
    nodes = [*(item.expr for item in query.items), *conjuncts(query.where)]
    for part in (part for node in nodes for part in everything(node)):
        if _foreign(part, query, contracts):
            assert isinstance(part, t.Name)
            yield part


def _foreign(node: t.Node, query: t.Select, contracts: Contracts) -> bool:
    """Returns whether a name is none of the query's own FROM."""
    if not isinstance(node, t.Name) or node.name == "*":
        return False
    known = list(_visible(_source(query), contracts))
    return not any(
        column in (node.name.lower(), "*") and node.table.lower() in ("", alias)
        for alias, column in known
    )


def _visible(source: t.Source, contracts: Contracts) -> Iterator[tuple[str, str]]:
    """Yields the columns of a source, each behind its alias; * where they are not known."""
    match source:
        case t.Table(name, alias):
            contract = contracts.get(name.lower())
            columns = [c.name.lower() for c in contract.columns] if contract else ["*"]
            yield from (((alias or name).lower(), column) for column in columns)
        case t.Joined(left, right):
            yield from _visible(left, contracts)
            yield from _visible(right, contracts)
        case t.Derived(query, alias):
            first = query.parts[0] if isinstance(query, t.Union) else query
            yield from ((alias.lower(), _name(item).lower()) for item in first.items)


def _name(item: t.Item) -> str:
    return item.alias or (item.expr.name if isinstance(item.expr, t.Name) else item.text)


def _refused(query: t.Select) -> bool:
    """Returns whether a subquery is more than one aggregate over its rows."""
    clauses = (query.group_by, query.group_all, query.sets, query.having, query.limit, query.offset)
    return any(clauses) or not _aggregates(query) or any(scalars(query.where))


def _aggregates(query: t.Select) -> list[t.Call]:
    return list(dict.fromkeys(calls(query.items[0].expr)))


def _counts(call: t.Call) -> bool:
    return call.name.startswith("count")


def _conjoined(nodes: Sequence[t.Node]) -> t.Node | None:
    if not nodes:
        return None
    found = nodes[0]
    for node in nodes[1:]:
        found = t.Binary("and", found, node, node.pos)
    return found
