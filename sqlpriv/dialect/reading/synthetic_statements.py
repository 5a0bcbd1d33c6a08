"""Statements about synthetic tables: made of a query, of whole tables, or of a kept model."""

from __future__ import annotations

from sqlpriv.dialect.reading.parsed_query import parse_query
from sqlpriv.dialect.syntax import check_nesting
from sqlpriv.dialect.token_cursor import TokenCursor
from sqlpriv.dialect.tokens import Kind, Token
from sqlpriv.errors import Refused
from sqlpriv.statements import commands as cmd
from sqlpriv.statements.tree import Options, Select


def is_create_synthetic(c: TokenCursor) -> bool:
    """Returns whether `CREATE [OR REPLACE] SYNTHETIC` stands here."""
    return c.at("CREATE") and c.peek(3 if c.peek(1).upper == "OR" else 1).upper == "SYNTHETIC"


def create_synthetic(
    c: TokenCursor,
) -> cmd.CreateSynthetic | cmd.CreateSyntheticSchema | cmd.DrawFromModel:
    """Returns `CREATE [OR REPLACE] SYNTHETIC TABLE …` or `… SCHEMA …`."""
    is_schema = c.peek(4 if c.peek(1).upper == "OR" else 2).upper == "SCHEMA"
    return _create_schema(c) if is_schema else _create_table(c)


def _create_table(c: TokenCursor) -> cmd.CreateSynthetic | cmd.DrawFromModel:
    """Returns `CREATE [OR REPLACE] SYNTHETIC TABLE name AS SELECT … USING method [OPTIONS (…)]`.

    Raises:
        Refused: Another shape; a clause that rows do not have.
    """
    first = c.next()
    or_replace = c.accept("OR", "REPLACE")
    c.expect("SYNTHETIC", "TABLE")
    if c.at("IF"):
        raise c.refuse("IF NOT EXISTS is not understood here", "write CREATE OR REPLACE SYNTHETIC")
    name = c.name("the name of the new table")
    if c.at("FROM"):
        return _from_model(c, name, or_replace, first)
    if not c.accept("AS"):
        hint = "write CREATE SYNTHETIC TABLE s AS SELECT a FROM t USING mst OPTIONS (epsilon = 1)"
        raise c.refuse(f"expected AS SELECT …, found {c.peek().shown}", hint)
    head = c.peek()
    if head.upper != "SELECT":
        raise c.refuse_unexpected("SELECT")
    check_nesting(c.tokens)
    query, why = parse_query(c, of_synthetic_table=True)
    if why is not None:
        raise why
    select, c.index = query.lower(of_rows=True), query.end
    _check_synthetic(c, head, select)
    method, options = _method(c, "write USING mst or USING independent after the SELECT")
    return cmd.CreateSynthetic(name, select, method, options, or_replace, c.since(first), first.pos)


def _from_model(c: TokenCursor, name: str, or_replace: bool, first: Token) -> cmd.DrawFromModel:
    """Returns `… FROM MODEL model ROWS rows [WHERE predicate] [OPTIONS (…)]`."""
    c.expect("FROM", "MODEL")
    model = c.name("the name of a synthetic table")
    c.expect("ROWS")
    rows = c.constant()
    if isinstance(rows, bool) or not isinstance(rows, int):
        raise c.refuse("ROWS is a whole number", "FROM MODEL s ROWS 100000")
    where = None
    if c.accept("WHERE"):
        begin, depth = c.index, 0
        while c.peek().kind is not Kind.END and not (depth == 0 and c.at("OPTIONS", "(")):
            sign = c.next().text
            depth += (sign == "(") - (sign == ")")
        where = c.runnable(c.tokens[begin : c.index]) if c.index > begin else ""
    options = _options(c)
    c.end()
    return cmd.DrawFromModel(
        name, model, rows, where, options, or_replace, c.since(first), first.pos
    )


def _check_synthetic(c: TokenCursor, head: Token, select: Select) -> None:
    grouped = select.group_by or select.group_all or select.sets
    if grouped or select.having or select.order_by or select.limit or select.offset:
        raise c.refuse(
            "a synthetic table is of rows: it has no GROUP BY, HAVING, ORDER BY, LIMIT",
            "WHERE and STRATIFY BY can; OPTIONS (rows = …) sets its size",
        )
    if select.options or (select.private and select.stratify is None):
        method = c.peek(1).text if c.at("USING") else "mst"
        hint = f"write USING {method} OPTIONS (epsilon = 1)"
        raise Refused.at(head, "the price of a synthetic table stands at its end", hint)


def _create_schema(c: TokenCursor) -> cmd.CreateSyntheticSchema:
    """Returns `CREATE [OR REPLACE] SYNTHETIC SCHEMA s AS TABLES t [(a, b)], u USING method …`."""
    first = c.next()
    or_replace = c.accept("OR", "REPLACE")
    c.expect("SYNTHETIC", "SCHEMA")
    name = c.name("the name of the new schema")
    c.expect("AS", "TABLES")
    tables = c.read_list(lambda: _table_columns(c))
    method, options = _method(c, "write USING aim OPTIONS (epsilon = 1) after the tables")
    return cmd.CreateSyntheticSchema(
        name, tables, method, options, or_replace, c.since(first), first.pos
    )


def _method(c: TokenCursor, hint: str) -> tuple[str, Options]:
    """Reads `USING method [OPTIONS (…)]` to the end: the method in lower case; `rap++` needs no
    quotes."""
    if not c.accept("USING"):
        raise c.refuse(f"expected USING and a method, found {c.peek().shown}", hint)
    name = c.name("the name of a method").lower()
    name += "++" * (c.accept("++") or c.accept("+", "+"))
    options = _options(c)
    c.end()
    return name, options


def _options(c: TokenCursor) -> Options:
    """Reads `OPTIONS (…)`, which may be left out.

    Raises:
        Refused: `WITH (…)`, as in CREATE TABLE of PostgreSQL.
    """
    if c.at("WITH"):
        hint = "write OPTIONS (epsilon = 1)"
        raise c.refuse("the options of a synthetic table stand behind OPTIONS, not WITH", hint)
    return c.options() if c.accept("OPTIONS") else ()


def _table_columns(c: TokenCursor) -> cmd.TableColumns:
    table = c.table()
    listed = c.in_parentheses(lambda: c.name("the name of a column")) if c.at("(") else ()
    return cmd.TableColumns(table, listed)


def drop_synthetic(c: TokenCursor) -> cmd.DropSynthetic:
    """Returns `DROP SYNTHETIC TABLE [IF EXISTS] name`."""
    first = c.peek()
    c.expect("DROP", "SYNTHETIC", "TABLE")
    if_exists = c.accept("IF", "EXISTS")
    name = c.name("the name of a synthetic table")
    c.end()
    return cmd.DropSynthetic(name, if_exists, first.pos)
