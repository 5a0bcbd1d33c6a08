"""SELECT in the form that can be answered, and CREATE SYNTHETIC TABLE … AS SELECT.

    [WITH name AS (query), …]
    SELECT [WITH DIFFERENTIAL_PRIVACY [OPTIONS (…)]] items FROM source [WHERE …]
    [GROUP BY …] [STRATIFY BY … [WEIGHTS FROM table]] [HAVING …] [ORDER BY …] [LIMIT …] [OFFSET …]

STRATIFY is a clause only where BY follows it; anywhere else it is a name like any other.
"""

from __future__ import annotations

from dataclasses import replace

from sqlpriv.dialect.commands import CreateSynthetic
from sqlpriv.dialect.cursor import Cursor, refusal
from sqlpriv.dialect.expression import expression
from sqlpriv.dialect.grouping import Grouping, group_by
from sqlpriv.dialect.keywords import CONSTRUCTS, MISPLACED, STAR
from sqlpriv.dialect.literals import options
from sqlpriv.dialect.sources import enclosed, names, renamed, source, tables
from sqlpriv.dialect.tokens import Kind, Token
from sqlpriv.dialect.tree import (
    Item,
    Name,
    Node,
    Options,
    Order,
    Query,
    Select,
    Source,
    Stratify,
    Table,
    Union,
)
from sqlpriv.errors import Refused

CLAUSES = "WHERE, GROUP BY, STRATIFY BY, HAVING, ORDER BY, LIMIT or the end of the statement"
_AFTER_STRATA = (("WHERE",), ("GROUP", "BY"))
_PRICE = ("WITH DIFFERENTIAL_PRIVACY stands in the wrong place",
          "write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) …")  # fmt: skip


def select(c: Cursor) -> Select:
    """Returns the SELECT that is the rest of the statement.

    Raises:
        Refused: It is not of the form that can be answered, at the first place where it is not.
    """
    first = c.peek()
    stages = _with(c)
    body = c.peek()
    found = _tail(c, _core(c))
    if c.at("UNION"):
        raise c.refuse(*CONSTRUCTS["UNION"])
    if c.peek().kind is not Kind.END:
        raise _no_clause(c)
    return replace(found, text=c.since(first), stages=stages, body=c.since(body) if stages else "")


def staged(c: Cursor, why: Refused) -> Select | None:
    """Returns a statement that is wrong behind WITH, or None where WITH asks nothing private."""
    first = c.peek()
    try:
        stages = _with(c)
    except Refused:
        return None
    if not any(isinstance(made, Select) and made.private for _, made in stages):
        return None
    body, c.index = c.peek(), len(c.tokens) - 1
    text = c.since(body)
    return Select((), stages[0][0], stages=stages, body=text, unread=why, pos=first.pos)


def query(c: Cursor) -> Query:
    """Returns a query inside parentheses: WITH, SELECT, UNION ALL; it ends where they close.

    Raises:
        Refused: As `select`; UNION without ALL.
    """
    first, outside = c.peek(), dict(c.queries)
    _with(c)
    parts = [_tail(c, _core(c, inside=True))]
    while c.accept("UNION"):
        if not c.accept("ALL"):
            raise c.refuse("UNION takes equal rows together, over all units", "write UNION ALL")
        parts.append(_tail(c, _core(c, inside=True)))
    c.queries = outside
    return parts[0] if len(parts) == 1 else Union(tuple(parts), first.pos)


def _with(c: Cursor) -> tuple[tuple[str, Query], ...]:
    """Reads WITH name [(columns)] AS (query), …; each is known to what comes after it."""
    if c.at("WITH", "DIFFERENTIAL_PRIVACY") or not c.accept("WITH"):
        return ()
    if c.at("RECURSIVE"):
        raise c.refuse("recursive queries are not answered privately", "write WITH name AS (…)")
    found: list[tuple[str, Query]] = []
    while not found or c.accept(","):
        name = c.name("a name")
        columns = names(c, "the name of a column") if c.at("(") else ()
        c.expect("AS")
        if not c.accept("MATERIALIZED"):
            c.accept("NOT", "MATERIALIZED")
        c.expect("(")
        before = c.copies
        made = enclosed(c)
        c.weights[name.lower()] = 1 + c.copies - before
        made = renamed(made, columns, c) if columns else made
        c.queries[name.lower()] = made
        found.append((name, made))
    return tuple(found)


def _tail(c: Cursor, core: Select) -> Select:
    having = expression(c) if c.accept("HAVING") else None
    order_by = _order_by(c)
    limit, offset = _limits(c)
    return replace(core, having=having, order_by=order_by, limit=limit, offset=offset)


def synthetic(c: Cursor) -> CreateSynthetic:
    """Returns `[OR REPLACE] SYNTHETIC TABLE name AS SELECT … USING method [OPTIONS (…)]`, read
    from behind CREATE.

    Raises:
        Refused: Another shape; outputs that are not bare columns; a clause that rows do not have.
    """
    first = c.next()
    or_replace = c.accept("OR", "REPLACE")
    c.expect("SYNTHETIC", "TABLE")
    if c.at("IF"):
        raise c.refuse("IF NOT EXISTS is not understood here", "write CREATE OR REPLACE SYNTHETIC")
    name = c.name("the name of the new table")
    c.expect("AS")
    head, core = c.peek(), _core(c)
    core = replace(core, text=c.since(head))
    _check_synthetic(c, head, core)
    if not c.accept("USING"):
        raise c.refuse(f"expected USING and a method, found {c.peek().shown}",
                       "write USING mst or USING independent after the SELECT")  # fmt: skip
    method = c.name("the name of a method").lower()
    given = options(c) if c.accept("OPTIONS") else ()
    c.end()
    return CreateSynthetic(name, core, method, given, or_replace, c.since(first), first.pos)


def _check_synthetic(c: Cursor, head: Token, core: Select) -> None:
    for item in core.items:
        if not isinstance(item.expr, Name) or item.alias:
            raise refusal(head, f"a synthetic table has the columns of its table, not {item.text}",
                          "list bare columns: SELECT sex, race, income FROM …")  # fmt: skip
    if (
        core.group_by
        or core.group_all
        or core.sets
        or c.peek().upper in ("HAVING", "ORDER", "LIMIT", "OFFSET")
    ):
        raise c.refuse("a synthetic table is of rows: it has no GROUP BY, HAVING, ORDER BY, LIMIT",
                       "WHERE and STRATIFY BY can; OPTIONS (rows = …) sets its size")  # fmt: skip
    if core.options or (core.private and core.stratify is None):
        raise refusal(head, "the price of a synthetic table stands at its end",
                      "write USING mst OPTIONS (epsilon = 1)")  # fmt: skip


def _core(c: Cursor, *, inside: bool = False) -> Select:
    """Reads from SELECT to the end of STRATIFY BY; * is an output of queries inside alone."""
    first = c.peek()
    if not c.accept("SELECT"):
        raise _no_select(c)
    private, given = _privacy(c)
    items = _items(c, inside)
    if c.at("STRATIFY", "BY"):
        raise c.refuse(*MISPLACED)
    if not c.accept("FROM"):
        raise c.unexpected("FROM and the name of a table")
    found = source(c)
    table, alias = (found.name, found.alias) if isinstance(found, Table) else (_first(found), "")
    where = expression(c) if c.accept("WHERE") else None
    grouping = group_by(c) if c.accept("GROUP", "BY") else Grouping()
    strata = _stratify(c)
    return Select(
        items, table, alias, where, *grouping, strata,
        private=private or strata is not None, options=given, pos=first.pos,
        source=None if isinstance(found, Table) else found,
    )  # fmt: skip


def _no_select(c: Cursor) -> Exception:
    if c.at("WITH", "DIFFERENTIAL_PRIVACY"):
        return c.refuse(*_PRICE)
    if c.peek().upper in ("FROM", "VALUES", "TABLE", "("):
        return c.refuse(f"a query that begins with {c.peek().text} is not answered privately",
                        "begin with SELECT and the aggregates you want")  # fmt: skip
    return c.unexpected("SELECT")


def _privacy(c: Cursor) -> tuple[bool, Options]:
    c.accept("ALL")
    if c.at("DISTINCT"):
        raise c.refuse(*CONSTRUCTS["DISTINCT"])
    if not c.accept("WITH", "DIFFERENTIAL_PRIVACY"):
        return False, ()
    if not c.accept("OPTIONS", "("):
        return True, ()
    c.index -= 1  # `options` reads its own parenthesis.
    return True, options(c)


def _first(found: Source) -> str:
    """Returns the first table that is named: what messages are about."""
    return next(iter(tables(found)), "")


def _items(c: Cursor, inside: bool) -> tuple[Item, ...]:
    if inside and c.accept("*"):
        return (Item(Name("*")),)
    items = [_item(c)]
    while c.accept(","):
        if c.at("FROM"):  # DuckDB allows a comma after the last item.
            break
        items.append(_item(c))
    return tuple(items)


def _item(c: Cursor) -> Item:
    first = c.peek()
    if c.at("*"):
        raise c.refuse(*STAR)
    expr = expression(c)
    text = c.since(first)
    if c.accept("AS"):
        token = c.next()  # After AS any word is a name.
        if token.kind not in (Kind.WORD, Kind.QUOTED, Kind.STRING) or not token.value:
            raise refusal(token, f"expected a name, found {token.shown}")
        return Item(expr, token.value, text)
    return Item(expr, c.next().value if c.at_alias() else "", text)


def _stratify(c: Cursor) -> Stratify | None:
    token = c.peek()
    if not c.accept("STRATIFY", "BY"):
        return None
    by = _expressions(c)
    weights = c.table() if c.accept("WEIGHTS", "FROM") else ""
    if any(c.at(*words) for words in _AFTER_STRATA):
        name = " ".join(next(words for words in _AFTER_STRATA if c.at(*words)))
        raise c.refuse(f"{name} comes before STRATIFY BY", MISPLACED[1])
    if c.at("STRATIFY", "BY"):
        raise c.refuse("STRATIFY BY is written twice", "list all strata columns in one")
    return Stratify(by, weights, token.pos)


def _expressions(c: Cursor) -> tuple[Node, ...]:
    found = [expression(c)]
    while c.accept(","):
        found.append(expression(c))
    return tuple(found)


def _order_by(c: Cursor) -> tuple[Order, ...]:
    if not c.accept("ORDER", "BY"):
        return ()
    if c.at("ALL"):
        raise c.refuse("ORDER BY ALL is not read", "list the outputs to order by")
    terms = [_order(c)]
    while c.accept(","):
        terms.append(_order(c))
    return tuple(terms)


def _order(c: Cursor) -> Order:
    expr = expression(c)
    descending = c.accept("DESC")
    if not descending:
        c.accept("ASC")
    if not c.accept("NULLS"):
        return Order(expr, descending)
    if not (c.at("FIRST") or c.at("LAST")):
        raise c.unexpected("FIRST or LAST")
    return Order(expr, descending, c.next().upper == "FIRST")


def _limits(c: Cursor) -> tuple[Node | None, Node | None]:
    """Reads LIMIT and OFFSET, in either order, once each."""
    found: dict[str, Node] = {}
    while c.peek().upper in ("LIMIT", "OFFSET") and c.peek().upper not in found:
        word = c.next().upper
        found[word] = expression(c)
        if c.at("PERCENT") or c.at("%"):
            raise c.refuse("LIMIT by percentage is not read", "write LIMIT n")
    return found.get("LIMIT"), found.get("OFFSET")


def _no_clause(c: Cursor) -> Exception:
    """Returns the refusal of what stands where a clause should."""
    if c.at("STRATIFY", "BY"):
        return c.refuse("STRATIFY BY comes before HAVING, ORDER BY and LIMIT", MISPLACED[1])
    if c.at("WITH", "DIFFERENTIAL_PRIVACY"):
        return c.refuse(*_PRICE)
    return c.unexpected(CLAUSES)
