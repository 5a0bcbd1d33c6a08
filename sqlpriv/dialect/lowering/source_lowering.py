"""FROM: tables, queries in parentheses, and their joins."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from sqlpriv.dialect.constructs import CONSTRUCTS, QUERY_HEADS
from sqlpriv.dialect.lowering.node_lowering import Glot
from sqlpriv.dialect.tokens import Kind, Token
from sqlpriv.errors import Refused
from sqlpriv.statements import tree as t
from sqlpriv.statements.keywords import words

if TYPE_CHECKING:
    from sqlpriv.dialect.lowering.query_lowering import QueryLowering

_KINDS = {
    "": "inner",
    "INNER": "inner",
    "CROSS": "cross",
    "LEFT": "left",
    "LEFT OUTER": "left",
    "RIGHT": "right",
    "RIGHT OUTER": "right",
    "SEMI": "semi",
    "ANTI": "anti",
}
_JOIN_WORDS = words("LEFT RIGHT FULL INNER OUTER CROSS SEMI ANTI NATURAL ASOF POSITIONAL")


def lower_source(queries: QueryLowering, node: Glot) -> t.Source:
    joins = list(node.args.get("joins") or ())
    chains = [_primary(queries, node.args["from_"].this)]
    for join in joins:
        queries.nodes.check_arguments(
            join, ("this", "side", "kind", "method", "on", "using", "pivots")
        )
        at = _join_at(queries, join)
        if queries.cursor.tokens[at].upper == "," and not join.args.get("on"):
            chains.append(_primary(queries, join.this))
        else:
            chains[-1] = _join(queries, chains[-1], join, at)
    left = chains[0]
    for right in chains[1:]:
        left = t.Joined(left, right, "cross", None, (), left.pos)
    return left


def _join_at(queries: QueryLowering, join: Glot) -> int:
    """Returns the index of the comma or of the first word of JOIN before a join's table."""
    tokens = queries.cursor.tokens
    at = queries.nodes.behind(queries.nodes.index(join.this), ",", "JOIN")
    while tokens[at - 1].upper in _JOIN_WORDS:
        at -= 1
    return at


def _join(queries: QueryLowering, left: t.Source, join: Glot, at: int) -> t.Source:
    side, other = (str(join.args.get(name) or "").upper() for name in ("side", "kind"))
    token = queries.cursor.tokens[at]
    kind = _KINDS.get(f"{side} {other}".strip())
    natural = str(join.args.get("method") or "").upper() == "NATURAL"
    if kind is None or (join.args.get("method") and not natural):
        raise Refused.at(token, *CONSTRUCTS.get(token.upper, CONSTRUCTS["JOIN"]))
    right = _primary(queries, join.this)
    on, using = join.args.get("on"), join.args.get("using")
    if natural and kind in ("inner", "left", "right") and on is None and not using:
        return t.Joined(left, right, kind, None, (t.NATURAL,), token.pos)
    if kind != "cross" and on is None and not using:
        last = queries.nodes.index(join.this, last=True)
        raise queries.nodes.refuse_unexpected(last + 1, "ON or USING")
    if kind == "cross" and (on is not None or using):
        raise queries.nodes.cannot(join)
    lowered = queries.nodes.expression(on) if on is not None else None
    columns = tuple(
        queries.nodes.name(x.this if isinstance(x, exp.Column) and not x.table else x)
        for x in using or ()
    )
    return t.Joined(left, right, kind, lowered, columns, token.pos)


def _primary(queries: QueryLowering, node: Glot) -> t.Source:
    if isinstance(node, exp.Paren):
        return _primary(queries, node.this)
    if isinstance(node, exp.Subquery):
        return _derived_table(queries, node)
    if not isinstance(node, exp.Table):
        raise _refuse_source(queries, node)
    token = queries.nodes.token(node)
    if isinstance(node.this, exp.Anonymous):
        raise Refused.at(
            token,
            f"{token.shown}() is a table function, not a table of the vault",
            "query a table by its name",
        )
    if not isinstance(node.this, exp.Identifier):
        raise _refuse_source(queries, node)
    if token.kind is Kind.STRING:
        raise Refused.at(token, "a file is not a table of the vault", "an owner loads it first")
    for name in ("sample", "pivots", "laterals"):
        if node.args.get(name):
            raise queries.refuse_clause(name, token)
    queries.nodes.check_arguments(node, ("this", "db", "alias", "joins"))
    name = queries.nodes.name(node.this)
    schema = queries.nodes.name(node.args.get("db"))
    if schema and schema.lower() != "main":
        hint = "name the table alone"
        raise Refused.at(token, f"{schema} is a schema or database of its own", hint)
    alias, columns = queries.alias(node)
    common_query = None if schema else queries.common_query(name, token)
    source: t.Source = t.Table(name, alias, token.pos)
    if common_query is not None:
        source = t.Derived(common_query, alias or name, token.pos)
    if columns:
        raise _refuse_columns(queries, node.args["alias"])
    return _with_joins(queries, source, node)


def _with_joins(queries: QueryLowering, source: t.Source, node: Glot) -> t.Source:
    for join in node.args.get("joins") or ():
        queries.nodes.check_arguments(join, ("this", "side", "kind", "method", "on", "using"))
        source = _join(queries, source, join, _join_at(queries, join))
    return source


def _refuse_columns(queries: QueryLowering, alias: Glot) -> Refused:
    at = queries.nodes.index(alias.args["columns"][0]) - 1
    hint = "write FROM table AS alias"
    return Refused.at(queries.cursor.tokens[at], "aliases of columns are for subqueries", hint)


def _refuse_source(queries: QueryLowering, node: Glot) -> Exception:
    at = queries.nodes.index(node)
    for i in range(at, max(at - 4, -1), -1):
        if queries.cursor.tokens[i].upper in CONSTRUCTS:
            return Refused.at(queries.cursor.tokens[i], *CONSTRUCTS[queries.cursor.tokens[i].upper])
    return queries.nodes.refuse_unexpected(at, "the name of a table")


def _derived_table(queries: QueryLowering, node: Glot) -> t.Source:
    for name in ("sample", "pivots"):
        if node.args.get(name):
            raise queries.refuse_clause(name, queries.nodes.token(node))
    inner = node.this
    if isinstance(inner, exp.Table | exp.Subquery) and node.args.get("alias") is None:
        queries.nodes.check_arguments(node, ("this", "joins"))
        return _with_joins(queries, _primary(queries, inner), node)
    if not isinstance(inner, exp.Select | exp.SetOperation):
        raise _refuse_source(queries, node)
    queries.nodes.check_arguments(node, ("this", "alias", "joins", "with_"))
    if node.args.get("with_") is not None:
        raise queries.nodes.cannot(node)
    query = queries.enclosed_query(inner)
    at = queries.nodes.index_of(query.pos)
    while at and not (
        queries.cursor.tokens[at].upper == "("
        and queries.cursor.tokens[at + 1].upper in QUERY_HEADS
    ):
        at -= 1
    token = queries.cursor.tokens[at]
    alias, columns = queries.alias(node)
    source = t.Derived(rename_outputs(query, columns, token), alias, token.pos)
    return _with_joins(queries, source, node)


def first_table(source: t.Source) -> str:
    """Returns the first table that is named: what messages are about."""
    while isinstance(source, t.Joined):
        source = source.left
    if isinstance(source, t.Table):
        return source.name
    return (
        source.query.parts[0].table if isinstance(source.query, t.UnionAll) else source.query.table
    )


def rename_outputs(query: t.Query, names: tuple[str, ...], token: Token) -> t.Query:
    """Returns the query with other names for its outputs, from the first on."""
    if isinstance(query, t.UnionAll):
        first = rename_outputs(query.parts[0], names, token)
        assert isinstance(first, t.Select)
        return replace(query, parts=(first, *query.parts[1:]))
    if len(names) > len(query.items):
        raise Refused.at(token, "there are more names than columns", "name each column once")
    items = [replace(item, alias=name) for item, name in zip(query.items, names, strict=False)]
    return replace(query, items=(*items, *query.items[len(names) :]))
