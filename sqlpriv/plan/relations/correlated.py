"""Private subqueries that look at the row around them → joins.

`(SELECT COUNT(*) FROM orders o WHERE o.customer = c.id)` is a number for each customer. Where the
inner table is private, it is aggregated by the inner side of the equality and joined. The key of
that join names a unit, so that a row meets the number of its own unit and of no other; `relations`
checks that it does.

    … c.x > (SELECT AVG(y) FROM orders WHERE customer = c.id AND p)
    … FROM c LEFT JOIN (SELECT customer AS k, AVG(y) AS v FROM orders WHERE p GROUP BY customer) s
      ON s.k = c.id … c.x > s.v

EXISTS and IN below OR are such counts above 0. Of a subquery over public tables `outer_names` says
which column of the row it looks at: DuckDB answers it for each value of that column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlpriv.plan.aggregates.calls import aggregate_calls
from sqlpriv.plan.relations.outer_names import (
    Contracts,
    Pair,
    _names_unit,
    from_source,
    inner_and_outer,
    is_outer_name,
    rename_alias,
    tables_of,
)
from sqlpriv.plan.relations.subqueries import scalar_subqueries
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import conjuncts, rebuild, row_fields, walk

_KEY, _VALUE, _OWN = "sqlpriv_key", "sqlpriv_value", "sqlpriv_own"
"""Columns of a joined subquery and its own table, under names that no statement has."""


def join_correlated(select: t.Select, contracts: Contracts) -> t.Select:
    """Returns the statement with private subqueries about the row's own unit as joins."""
    source = _join_inside(from_source(select), contracts)
    joins = _Joins(contracts, source)
    items = tuple(_join_in_item(item, joins) for item in select.items)
    where = (
        None
        if select.where is None
        else _conjunction([_condition(node, joins) for node in conjuncts(select.where)])
    )
    stages = tuple((name, _join_in_query(query, contracts)) for name, query in select.stages)
    if (joins.source, stages) == (from_source(select), select.stages):
        return select
    return replace(select, items=items, where=where, source=joins.source, stages=stages)


@dataclass
class _Joins:
    """FROM, to which aggregated subqueries are joined one by one as they are met.

    Args:
        contracts: By lower-case name.
        source: FROM with what was joined to it so far.
        aliases: Subquery → the alias of its join, `sqlpriv_sub1` and so on; equal ones share one.
    """

    contracts: Contracts
    source: t.Source
    aliases: dict[t.Select, str] = field(default_factory=dict)

    def change(self, node: t.Node) -> t.Node | None:
        """Returns what stands for EXISTS or a scalar subquery; None for all else."""
        return (
            self.replace_exists(node) if isinstance(node, t.Exists) else self.replace_scalar(node)
        )

    def replace_scalar(self, node: t.Node) -> t.Node | None:
        """Returns what stands for a subquery that could be joined; None for all else."""
        if not isinstance(node, t.Subquery) or not isinstance(node.query, t.Select):
            return None
        query = node.query
        pairs, rest = _parts(query, self.contracts)
        if pairs is None or len(query.items) != 1 or _is_not_one_aggregate(query):
            return None
        return self._join_subquery(query, pairs, rest, node.pos)

    def replace_exists(self, node: t.Exists) -> t.Node | None:
        """Returns the count of partners above 0."""
        return self._partner_count(node.query, None, node.pos)

    def replace_membership(self, node: t.InQuery) -> t.Node | None:
        """Returns `x IN (SELECT y …)` as the count of rows with y = x above 0; None where that is
        not joined. IN may be NULL where the count says false: callers have to take both for no."""
        query = node.query
        aliases = {alias.lower() for alias, _ in tables_of(self.source, self.contracts)}
        if isinstance(query, t.Select) and (query.alias or query.table).lower() in aliases:
            query = rename_alias(query, _OWN)
        return self._partner_count(query, self._with_tables_named(node.arg), node.pos)

    def _with_tables_named(self, arg: t.Node) -> t.Node:
        """Returns what stands before IN with its columns behind their tables: inside the subquery
        a bare name would be a column of its own table first."""
        columns = [
            (column.name.lower(), alias)
            for alias, contract in tables_of(self.source, self.contracts)
            for column in contract.columns
        ]

        def qualify(node: t.Node) -> t.Node | None:
            if not isinstance(node, t.Name) or node.table:
                return None
            aliases = [alias for name, alias in columns if name == node.name.lower()]
            return replace(node, table=aliases[0]) if len(aliases) == 1 else None

        return rebuild(arg, qualify)

    def _partner_count(self, query: t.Query, arg: t.Node | None, pos: t.Pos) -> t.Node | None:
        """Returns whether the subquery has rows, which equal `arg` if given, as a count above 0."""
        if not isinstance(query, t.Select) or any(
            any(aggregate_calls(i.expr)) for i in query.items
        ):
            return None
        if arg is not None:
            fields = row_fields(arg)
            if len(query.items) != len(fields):
                return None
            pairs = zip(query.items, fields, strict=True)
            equal = [t.Binary("=", item.expr, field, pos) for item, field in pairs]
            query = replace(query, where=_conjunction([*conjuncts(query.where), *equal]))
        counted = replace(query, items=(t.Item(t.FunctionCall("count", star=True, pos=pos)),))
        count = self.replace_scalar(t.Subquery(counted, pos=pos))
        return None if count is None else t.Binary(">", count, t.Literal(0, pos), pos)

    def _join_subquery(
        self, query: t.Select, pairs: list[Pair], rest: list[t.Node], pos: t.Pos
    ) -> t.Node:
        """Joins the subquery, aggregated by the inner sides of its equalities."""
        if query not in self.aliases:
            self.aliases[query] = alias = f"sqlpriv_sub{len(self.aliases) + 1}"
            keys = [t.Item(inner, f"{_KEY}{i}") for i, (inner, _) in enumerate(pairs)]
            values = [t.Item(call, f"{_VALUE}{i}") for i, call in enumerate(_aggregates(query))]
            grouped_query = replace(
                query,
                items=(*keys, *values),
                where=_conjunction(rest),
                group_by=tuple(inner for inner, _ in pairs),
                pos=pos,
            )
            on = [
                t.Binary("=", t.Name(f"{_KEY}{i}", alias, pos), outer, pos)
                for i, (_, outer) in enumerate(pairs)
            ]
            sub = t.Derived(grouped_query, alias, pos)
            self.source = t.Joined(self.source, sub, "left", _conjunction(on), (), pos)
        alias, aggregates = self.aliases[query], _aggregates(query)

        def value(part: t.Node) -> t.Node | None:
            if not (isinstance(part, t.FunctionCall) and part in aggregates):
                return None
            name = t.Name(f"{_VALUE}{aggregates.index(part)}", alias, part.pos)
            none = t.Literal(0, part.pos)  # no row: COUNT is 0, all else NULL
            if not _is_count(part):
                return name
            return t.FunctionCall("coalesce", (name, none), pos=part.pos)

        return rebuild(query.items[0].expr, value)


def _join_inside(source: t.Source, contracts: Contracts) -> t.Source:
    """Returns a source whose own queries are rewritten."""
    match source:
        case t.Joined(left, right):
            sides = (_join_inside(left, contracts), _join_inside(right, contracts))
            return replace(source, left=sides[0], right=sides[1])
        case t.Derived(query):
            return replace(source, query=_join_in_query(query, contracts))
    return source


def _join_in_query(query: t.Query, contracts: Contracts) -> t.Query:
    if isinstance(query, t.Select):
        return join_correlated(query, contracts)
    return replace(query, parts=tuple(join_correlated(part, contracts) for part in query.parts))


def _join_in_item(item: t.Item, joins: _Joins) -> t.Item:
    expr = rebuild(_with_tests(item.expr, joins), joins.change)
    return item if expr == item.expr else replace(item, expr=expr, alias=item.alias or item.text)


def _with_tests(node: t.Node, joins: _Joins) -> t.Node:
    """Returns an output with IN as counts where NULL is as good as false: in FILTER, and in the
    tests of CASE and COUNT_IF."""

    def change(part: t.Node) -> t.Node | None:
        match part:
            case t.FunctionCall("count_if" | "countif", (test,)):
                kept = None if part.filter is None else _tests(part.filter, joins)
                return replace(part, args=(_tests(test, joins),), filter=kept)
            case t.FunctionCall(filter=test) if test is not None:
                args = tuple(_with_tests(arg, joins) for arg in part.args)
                return replace(part, args=args, filter=_tests(test, joins))
            case t.CaseWhen(whens, otherwise, None):
                pairs = tuple((_tests(w, joins), _with_tests(x, joins)) for w, x in whens)
                last = None if otherwise is None else _with_tests(otherwise, joins)
                return replace(part, whens=pairs, otherwise=last)
        return None

    return rebuild(node, change)


def _condition(node: t.Node, joins: _Joins) -> t.Node:
    """Returns a condition of WHERE; EXISTS and IN that stand alone in it are joins already."""
    bare = node.arg if isinstance(node, t.Unary) and node.op == "not" else node
    if isinstance(bare, t.Exists | t.InQuery):
        return node
    return rebuild(_tests(node, joins), joins.change)


def _tests(node: t.Node, joins: _Joins) -> t.Node:
    """Returns a condition with IN below AND and OR as counts."""
    match node:
        case t.Binary("and" | "or" as op, left, right):
            return t.Binary(op, _tests(left, joins), _tests(right, joins), node.pos)
        case t.InQuery(negated=False):
            return joins.replace_membership(node) or node
    return node


def _parts(query: t.Select, contracts: Contracts) -> tuple[list[Pair] | None, list[t.Node]]:
    """Returns the WHERE of a subquery, parted.

    Returns:
        The equalities of an inner with an outer expression: None where no inner side names a unit,
        or where the subquery looks at the row around it elsewhere, too. And all other conditions.
    """
    pairs: list[Pair] = []
    rest: list[t.Node] = []
    for node in conjuncts(query.where):
        pair = inner_and_outer(node, query, contracts)
        pairs, rest = ([*pairs, pair], rest) if pair else (pairs, [*rest, node])
    looking = [*rest, *(item.expr for item in query.items)]
    if any(is_outer_name(part, query, contracts) for node in looking for part in walk(node)):
        return None, rest
    return (
        pairs if any(_names_unit(inner, query, contracts) for inner, _ in pairs) else None
    ), rest


def _is_not_one_aggregate(query: t.Select) -> bool:
    """Returns whether a subquery is more than one aggregate over its rows."""
    clauses = (query.group_by, query.group_all, query.sets, query.having, query.limit, query.offset)
    return any(clauses) or not _aggregates(query) or any(scalar_subqueries(query.where))


def _aggregates(query: t.Select) -> list[t.FunctionCall]:
    return list(dict.fromkeys(aggregate_calls(query.items[0].expr)))


def _is_count(call: t.FunctionCall) -> bool:
    return call.name.startswith("count")


def _conjunction(nodes: Sequence[t.Node]) -> t.Node | None:
    if not nodes:
        return None
    condition = nodes[0]
    for node in nodes[1:]:
        condition = t.Binary("and", condition, node, node.pos)
    return condition
