"""Names, tables, joins and groups of other dialects: where they mean the same in DuckDB."""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.transforms import eliminate_join_marks

from sqlpriv.dialect.foreign.tree_rewriter import TreeRewriter
from sqlpriv.dialect.marks import MARK, duckdb_call, marked_name
from sqlpriv.statements.keywords import NO_ALIAS

_DEFAULT_SCHEMA = {"postgres": "public", "tsql": "dbo", "snowflake": "public"}
_LOCKS = ("NOLOCK", "READUNCOMMITTED", "READCOMMITTED", "READPAST")
"""Hints of SQL Server that say how rows are locked, not which."""


def write_identifier(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """Names in quotes stay so; a word that DuckDB keeps for itself gets quotes."""
    rewriter.check_arguments(node, "this quoted")
    name = str(node.this)
    if not name.startswith(MARK):
        plain = re.fullmatch(r"[^\W\d]\w*", name) and name.upper() not in NO_ALIAS
        node.set("quoted", bool(node.args.get("quoted")) or not plain)
    return node


def write_column(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    _drop_schema(rewriter, node)
    rewriter.check_arguments(node, "this table")
    name = node.this
    if not isinstance(name, exp.Identifier) or not str(name.this).startswith(MARK):
        return node
    constants = {"NULL": exp.Null(), "TRUE": exp.true(), "FALSE": exp.false()}
    constant = constants.get(marked_name(node).removeprefix(MARK), node)
    constant.meta.update(name.meta)
    return constant


def write_table(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    _drop_schema(rewriter, node)
    rewriter.check_arguments(node, "this db alias joins pivots hints")
    node.set("hints", None)
    if not isinstance(node.this, exp.Identifier):
        raise rewriter.refuse_unknown(node, "a function in FROM")
    return node


def _drop_schema(rewriter: TreeRewriter, node: exp.Expr) -> None:
    """Takes `public` of `public.people` and `public.people.town` away; in all dialects but
    PostgreSQL's also `project.dataset`, for which the vault stands, where a statement has one."""
    parts = [node.args[name].name.lower() for name in ("catalog", "db") if node.args.get(name)]
    written = ".".join(parts)
    if not parts or parts[-1] in ("information_schema", "pg_catalog"):
        return
    if written != _DEFAULT_SCHEMA.get(rewriter.dialect):
        if rewriter.dialect == "postgres":
            return
        rewriter.schema = rewriter.schema or written
        if not f".{rewriter.schema}".endswith(f".{written}"):
            hint = "name the tables alone: they are those of one vault"
            raise rewriter.refuse(node, f"{written} and {rewriter.schema} are two schemas", hint)
    node.set("db", None)
    node.set("catalog", None)


def write_table_hint(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """WITH (NOLOCK) behind a table of SQL Server's, which `write_table` leaves out."""
    rewriter.check_arguments(node, "expressions")
    if not all(hint.name.upper() in _LOCKS for hint in node.expressions):
        raise rewriter.refuse_unknown(node, "this hint")
    return node


def write_group(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """GROUP BY a, b WITH ROLLUP is GROUP BY ROLLUP (a, b)."""
    rewriter.check_arguments(node, "expressions all rollup cube")
    word = "rollup" if node.args.get("rollup") else "cube"
    levels = node.args.get(word) or []
    if not levels:
        return node
    if len(levels) > 1 or levels[0].expressions or not node.expressions:
        raise rewriter.refuse_unknown(node, f"this {word.upper()}")
    return exp.Group(expressions=[duckdb_call(word.upper(), *node.expressions)])


def write_join(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """Joins; Spark's LEFT SEMI JOIN is DuckDB's SEMI JOIN."""
    rewriter.check_arguments(node, "this side kind on using method")
    if str(node.args.get("kind")).upper() in ("SEMI", "ANTI"):
        node.set("side", None)
    return node


def write_order_by_all(tree: exp.Expr) -> None:
    """Writes ORDER BY ALL as such where sqlglot reads a column, as of Snowflake's; in place. No
    column has the name without quotes: the word is reserved."""
    for key in tree.find_all(exp.Ordered):
        if isinstance(key.this, exp.Column) and key.this.sql().upper() == "ALL":
            key.set("this", exp.Var(this="ALL"))


def write_sorted_rows(tree: exp.Expr) -> None:
    """Writes Spark's SORT BY, which orders the rows of each partition, as ORDER BY; in place."""
    for select in tree.find_all(exp.Select):
        sort = select.args.get("sort")
        if sort is not None and not select.args.get("order"):
            select.set("order", exp.Order(expressions=sort.expressions))
            select.set("sort", None)


def write_oracle_rows(tree: exp.Expr) -> None:
    """Writes Oracle's `a.x = b.x (+)` as LEFT JOIN, and `FROM (…) WHERE ROWNUM <= 3` as LIMIT 3.

    Both in place. A marked column without its table, and rows numbered elsewhere, are left as they
    are, and refused later.
    """
    for select in list(tree.find_all(exp.Select)):
        marked = [x for x in select.find_all(exp.Column) if x.args.get("join_mark")]
        if marked and all(column.table for column in marked):
            eliminate_join_marks(select)
        where, source = select.args.get("where"), select.args.get("from_")
        plain = all(isinstance(x.unalias(), exp.Column | exp.Star) for x in select.expressions)
        if where is None or source is None or not isinstance(source.this, exp.Subquery):
            continue
        if not plain or any(select.args.get(name) for name in _BEFORE_LIMIT):
            continue
        kept = []
        for test in where.this.flatten() if isinstance(where.this, exp.And) else [where.this]:
            is_row = isinstance(test.this, exp.Column) and test.this.name.upper() == "ROWNUM"
            end = test.args.get("expression")
            number = isinstance(end, exp.Literal) and end.is_int
            if is_row and isinstance(test, exp.LT | exp.LTE) and number and end is not None:
                most = int(end.name) - isinstance(test, exp.LT)
                select.limit(most, copy=False)
            else:
                kept.append(test)
        select.set("where", exp.Where(this=exp.and_(*kept)) if kept else None)


_BEFORE_LIMIT = ("joins", "group", "having", "distinct", "order", "limit", "offset", "qualify")
"""Clauses that Oracle runs after it has numbered rows, and DuckDB before LIMIT; and joins."""
