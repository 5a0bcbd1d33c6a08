"""FROM: tables, joins, derived tables; and the queries inside parentheses and WITH.

    source  ::= joined {, joined}
    joined  ::= primary {[INNER | LEFT | RIGHT | CROSS | SEMI | ANTI] JOIN primary [ON … | USING …]}
    primary ::= table [[AS] alias] | ( query ) [[AS] alias [(names)]] | ( joined )

A name that WITH introduced stands for its query: each use is a copy.
"""

from __future__ import annotations

from dataclasses import replace

from sqlpriv.dialect.cursor import Cursor, refusal
from sqlpriv.dialect.expression import expression
from sqlpriv.dialect.keywords import CONSTRUCTS, QUERY_HEADS
from sqlpriv.dialect.tokens import Kind
from sqlpriv.dialect.tree import Derived, Item, Joined, Node, Query, Select, Source, Table, Union

MAX_COPIES = 100
"""Uses of the queries of WITH, those inside others counted each time."""
_KINDS = {
    ("JOIN",): "inner", ("INNER", "JOIN"): "inner", ("CROSS", "JOIN"): "cross",
    ("LEFT", "JOIN"): "left", ("LEFT", "OUTER", "JOIN"): "left",
    ("RIGHT", "JOIN"): "right", ("RIGHT", "OUTER", "JOIN"): "right",
    ("SEMI", "JOIN"): "semi", ("ANTI", "JOIN"): "anti",
}  # fmt: skip


def source(c: Cursor) -> Source:
    """Returns what stands after FROM.

    Raises:
        Refused: A form of FROM that cannot be answered, at its place.
    """
    left = _joined(c)
    while c.accept(","):
        left = Joined(left, _joined(c), "cross", None, (), left.pos)
    may_follow = c.at("USING") or c.at("UNION") or c.at("WITH", "DIFFERENTIAL_PRIVACY")
    if c.peek().upper in CONSTRUCTS and not may_follow:
        raise c.refuse(*CONSTRUCTS[c.peek().upper])
    return left


def tables(query: Query | Source) -> tuple[str, ...]:
    """Returns every table that is read, lower case, in the order written, subqueries included."""
    found: dict[str, None] = {}
    for table in _tables(query):
        found.setdefault(table.lower())
    return tuple(found)


def _tables(part: object) -> list[str]:
    match part:
        case Table(name):
            return [name]
        case Select():
            below = part.source or Table(part.table)
            rest = (value for name, value in vars(part).items() if name != "source")
            return _tables(below) + [x for value in rest for x in _inside(value)]
        case Derived() | Joined() | Union():
            return [x for f in vars(part).values() for x in _inside(f)]
    return []


def _inside(value: object) -> list[str]:
    if isinstance(value, tuple):
        return [x for entry in value for x in _inside(entry)]
    if isinstance(value, Table | Select | Derived | Joined | Union):
        return _tables(value)
    if isinstance(value, Item | Node) or hasattr(value, "descending"):
        return [x for f in vars(value).values() for x in _inside(f)]
    return []


def _joined(c: Cursor) -> Source:
    left = _primary(c)
    while (words := next((w for w in _KINDS if c.at(*w)), None)) is not None:
        token = c.peek()
        c.expect(*words)
        kind, right = _KINDS[words], _primary(c)
        on: Node | None = None
        using: tuple[str, ...] = ()
        if kind != "cross":
            if c.accept("ON"):
                on = expression(c)
            elif c.accept("USING"):
                using = names(c, "the name of a column")
            else:
                raise c.unexpected("ON or USING")
        left = Joined(left, right, kind, on, using, token.pos)
    return left


def _primary(c: Cursor) -> Source:
    token = c.peek()
    if c.at("(") and (c.peek(1).upper in QUERY_HEADS or c.peek(1).upper == "("):
        at = c.index
        c.next()
        if c.peek().upper in QUERY_HEADS:
            found = enclosed(c)
            return Derived(_aliased(c, found), _alias(c), token.pos)
        c.index = at
    if c.accept("("):
        joined = _joined(c)
        c.expect(")")
        return joined
    if token.kind is Kind.STRING:
        raise c.refuse("a file is not a table of the vault", "an owner loads it first")
    if c.peek(1).upper == "(" and c.at_name():
        raise c.refuse(f"{token.shown}() is a table function, not a table of the vault",
                       "query a table by its name")  # fmt: skip
    qualified = c.peek(1).upper == "."
    name = c.table()
    known = None if qualified else c.queries.get(name.lower())
    if known is not None:
        c.copies += c.weights[name.lower()]
        if c.copies > MAX_COPIES:
            raise refusal(token, f"the queries of WITH are used more than {MAX_COPIES} times",
                          "ask for less at once")  # fmt: skip
        return Derived(known, _alias(c) or name, token.pos)
    return Table(name, _alias(c), token.pos)


def _aliased(c: Cursor, query: Query) -> Query:
    """Returns the query with the names of `[AS] alias (names)`, which stay to be read."""
    ahead = 1 if c.at("AS") else 0
    if c.peek(ahead + 1).upper != "(" or c.peek(ahead).kind not in (Kind.WORD, Kind.QUOTED):
        return query
    at, c.index = c.index, c.index + ahead + 1
    named = renamed(query, names(c, "the name of a column"), c)
    after, c.index = c.index, at
    c.skip = after
    return named


def _alias(c: Cursor) -> str:
    alias = c.name("an alias") if c.accept("AS") else ""
    if not alias and c.at_alias():
        alias = c.next().value
    if alias and c.skip:
        c.index, c.skip = c.skip, 0
    elif alias and c.at("("):
        raise c.refuse("aliases of columns are for subqueries", "write FROM table AS alias")
    return alias


def names(c: Cursor, what: str) -> tuple[str, ...]:
    """Returns the names of `(name, …)`."""
    c.expect("(")
    found = [c.name(what)]
    while c.accept(","):
        found.append(c.name(what))
    c.expect(")")
    return tuple(found)


def renamed(query: Query, given: tuple[str, ...], c: Cursor) -> Query:
    """Returns the query with other names for its outputs, from the first on."""
    if isinstance(query, Union):
        return replace(query, parts=(_named(query.parts[0], given, c), *query.parts[1:]))
    return _named(query, given, c)


def _named(query: Select, given: tuple[str, ...], c: Cursor) -> Select:
    if len(given) > len(query.items):
        raise c.refuse("there are more names than columns", "name each column once")
    items = [replace(item, alias=name) for item, name in zip(query.items, given, strict=False)]
    return replace(query, items=(*items, *query.items[len(given) :]))


def enclosed(c: Cursor) -> Query:
    """Returns the query that stands here, up to and past its closing parenthesis.

    Raises:
        Refused: It asks for strata: these are for the outermost SELECT.
    """
    from sqlpriv.dialect.select import query  # one recursive grammar in two modules

    first = c.peek()
    found = query(c)
    c.expect(")")
    parts = found.parts if isinstance(found, Union) else (found,)
    if any(part.stratify is not None for part in parts):
        raise refusal(first, "STRATIFY BY … stands inside parentheses",
                      "write it in the outermost SELECT")  # fmt: skip
    return found
