"""What stands between operators: literals, names, calls, CASE, casts, parentheses.

`read` is `expression.operation`, handed down: the two modules are one recursive grammar.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlpriv.dialect.cursor import MAX_DEPTH, Cursor, refusal
from sqlpriv.dialect.keywords import CONSTRUCTS, QUERY_HEADS, STAR, SUBQUERY
from sqlpriv.dialect.literals import MOMENTS, WORDS, moment, number
from sqlpriv.dialect.tokens import Kind, Token
from sqlpriv.dialect.tree import (
    Bound,
    Call,
    CaseWhen,
    Cast,
    Exists,
    Literal,
    Name,
    Node,
    Pos,
    Query,
    Subquery,
)

Read = Callable[[Cursor, int], Node]
LOOSEST = 1
_TYPES = {
    **dict.fromkeys(("INT", "INT4", "INT32", "SIGNED"), "INTEGER"),
    **dict.fromkeys(("INT8", "INT64", "LONG"), "BIGINT"),
    **dict.fromkeys(("INT2", "INT16", "SHORT"), "SMALLINT"), "INT1": "TINYINT", "INT128": "HUGEINT",
    **dict.fromkeys(("TEXT", "STRING", "CHAR", "BPCHAR", "CHARACTER VARYING", "CHARACTER"),
                    "VARCHAR"),
    **dict.fromkeys(("FLOAT8", "DOUBLE PRECISION"), "DOUBLE"),
    **dict.fromkeys(("FLOAT4", "REAL"), "FLOAT"),
    **dict.fromkeys(("BOOL", "LOGICAL"), "BOOLEAN"), "NUMERIC": "DECIMAL", "DEC": "DECIMAL",
    **dict.fromkeys(("DATETIME", "TIMESTAMP WITHOUT TIME ZONE"), "TIMESTAMP"),
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMPTZ",
}  # fmt: skip
_LONG_TYPES = (
    ("DOUBLE", "PRECISION"), ("CHARACTER", "VARYING"), ("TIMESTAMP", "WITH", "TIME", "ZONE"),
    ("TIMESTAMP", "WITHOUT", "TIME", "ZONE"),
)  # fmt: skip


def at_query(c: Cursor) -> bool:
    """Whether a query begins here, where an expression should."""
    return c.peek().upper in QUERY_HEADS


def operand(c: Cursor, read: Read) -> Node:
    """Returns the operand that stands here.

    Raises:
        Refused: There is none, or it is something that cannot be answered.
    """
    token = c.peek()
    match token.kind:
        case Kind.NUMBER:
            return Literal(number(c), token.pos)
        case Kind.STRING:
            return Literal(c.next().value, token.pos)
        case Kind.PARAMETER:
            return Literal(c.binding.value(c.next()), token.pos)
        case Kind.ESCAPE:
            raise c.refuse("E'…' strings are not read", "write the text as it is, in '…'")
    if token.upper in WORDS:
        return Literal(WORDS[c.next().upper], token.pos)
    if c.accept("("):
        return _parenthesised(c, read)
    if c.at("CASE"):
        return _case(c, read)
    if c.accept("CAST", "(") or c.accept("TRY_CAST", "("):
        return _cast_call(c, read, token)
    if c.accept("EXTRACT", "("):
        return _extract(c, read, token)
    if c.peek(1).kind is Kind.STRING and token.kind is Kind.WORD and c.at_name():
        return _typed_literal(c)
    if c.at("INTERVAL") and c.peek(1).kind in (Kind.NUMBER, Kind.PARAMETER):
        raise c.refuse(*CONSTRUCTS["INTERVAL"])
    if c.accept("EXISTS"):
        return Exists(in_parentheses(c), token.pos)
    if c.at("COLUMNS", "("):
        raise c.refuse(*CONSTRUCTS[token.upper])
    if c.at("SUBSTRING", "("):
        return _substring(c, read)
    if not c.at_name():
        raise c.unexpected("an expression")
    return _named(c, read)


def _parenthesised(c: Cursor, read: Read) -> Node:
    if at_query(c):
        c.index -= 1
        first = c.peek(1)
        return Subquery(*enclosed_text(c), first.pos)
    node = read(c, LOOSEST)
    if c.at(","):
        raise c.refuse("a row of values (a, b) is not answered privately",
                       "compare the columns one by one")  # fmt: skip
    c.expect(")")
    return node


def in_parentheses(c: Cursor) -> Query:
    """Returns the query of `(query)`."""
    from sqlpriv.dialect.sources import enclosed  # one recursive grammar in several modules

    c.expect("(")
    c.depth += 1
    if c.depth > MAX_DEPTH:
        raise c.refuse(f"the query nests deeper than {MAX_DEPTH} levels", "simplify it")
    found = enclosed(c)
    c.depth -= 1
    return found


def enclosed_text(c: Cursor) -> tuple[Query, str, Bound]:
    """Returns the query of `(query)`, its own text, and its share of the parameters."""
    at, first = c.index, c.peek(1)
    query = in_parentheses(c)
    return query, c.since(first).removesuffix(")"), c.binding.share(c.tokens[at : c.index])


def _substring(c: Cursor, read: Read) -> Node:
    """Reads SUBSTRING(x, start, length) and SUBSTRING(x FROM start FOR length)."""
    token = c.next()
    c.expect("(")
    args = [read(c, LOOSEST)]
    for words in (("FROM", ","), ("FOR", ",")):
        if any(c.accept(word) for word in words):
            args.append(read(c, LOOSEST))
    c.expect(")")
    return Call("substring", tuple(args), pos=token.pos)


def _case(c: Cursor, read: Read) -> Node:
    token = c.next()
    tested = None if c.at("WHEN") else read(c, LOOSEST)
    whens: list[tuple[Node, Node]] = []
    while c.accept("WHEN"):
        test = read(c, LOOSEST)
        c.expect("THEN")
        whens.append((test, read(c, LOOSEST)))
    if not whens:
        raise c.unexpected("WHEN")
    otherwise = read(c, LOOSEST) if c.accept("ELSE") else None
    c.expect("END")
    return CaseWhen(tuple(whens), otherwise, tested, token.pos)


def _cast_call(c: Cursor, read: Read, token: Token) -> Node:
    arg = read(c, LOOSEST)
    c.expect("AS")
    type_ = type_name(c)
    c.expect(")")
    return cast(arg, type_, token.upper == "TRY_CAST", token.pos)


def cast(arg: Node, type_: str, try_: bool, pos: Pos) -> Node:
    """Returns the cast; of a string to a DATE or TIMESTAMP, the literal that it says."""
    if type_ in ("DATE", "TIMESTAMP") and isinstance(arg, Literal) and isinstance(arg.value, str):
        place = Token(Kind.STRING, "", "", 0, arg.pos)
        return Literal(moment(arg.value, type_, place), pos)
    return Cast(arg, type_, try_, pos)


def type_name(c: Cursor) -> str:
    """Returns the type that stands here by DuckDB's own name, as in DECIMAL(10, 2)."""
    token = c.peek()
    if token.kind is not Kind.WORD or (not c.at_name()):
        raise c.unexpected("a type")
    words = next((words for words in _LONG_TYPES if c.at(*words)), (token.upper,))
    c.index += len(words)
    name = _TYPES.get(" ".join(words), words[0])
    if c.accept("("):
        sizes = [str(number(c))]
        while c.accept(","):
            sizes.append(str(number(c)))
        c.expect(")")
        name += f"({', '.join(sizes)})" if name != "VARCHAR" else ""
    if c.at("["):
        raise c.refuse(*CONSTRUCTS["["])
    return name


def _extract(c: Cursor, read: Read, token: Token) -> Node:
    """EXTRACT(part FROM x) is date_part('part', x)."""
    part = c.next()
    if part.kind not in (Kind.WORD, Kind.STRING, Kind.QUOTED):
        raise refusal(part, "expected a date part", "write EXTRACT(year FROM d)")
    c.expect("FROM")
    arg = read(c, LOOSEST)
    c.expect(")")
    return Call("date_part", (Literal(part.value.lower(), part.pos), arg), pos=token.pos)


def _typed_literal(c: Cursor) -> Node:
    type_ = c.next()
    if type_.upper == "INTERVAL":
        raise refusal(type_, *CONSTRUCTS["INTERVAL"])
    if type_.upper not in MOMENTS:
        raise refusal(type_, f"literals of type {type_.shown} are not read",
                      "DATE '2020-12-31' and TIMESTAMP '2020-12-31 23:59:00' are")  # fmt: skip
    token = c.next()
    return Literal(moment(token.value, MOMENTS[type_.upper], token), type_.pos)


def _named(c: Cursor, read: Read) -> Node:
    """Reads `column`, `table.column` or `function(…)`."""
    token = c.peek()
    name = c.name("a name")
    if c.at("("):
        return _call(c, read, token, name)
    if not c.accept("."):
        return Name(name, "", token.pos)
    if c.at("*"):
        raise c.refuse(*STAR)
    column = c.next()
    if column.kind not in (Kind.WORD, Kind.QUOTED) or not column.value:
        raise refusal(column, f"expected the name of a column, found {column.shown}")
    if c.at("(") or c.at("."):
        raise refusal(token, "names of schemas and method calls are not read",
                      "write column or table.column, and function(x)")  # fmt: skip
    return Name(column.value, name, token.pos)


def _call(c: Cursor, read: Read, token: Token, name: str) -> Node:
    c.expect("(")
    star = c.accept("*")
    distinct = not star and c.accept("DISTINCT")
    args = () if star or c.at(")") else _arguments(c, read)
    using = c.name("the name of an estimator").lower() if c.accept("USING") else ""
    if not c.at(")"):
        raise _odd_argument(c)
    c.next()
    name = name.lower()
    if name in ("count", "count_star") and not args and not distinct:
        name, star = "count", True
    if c.at("WITHIN", "GROUP"):
        args = (_within_group(c, read, name), *args)
    kept = _filter(c, read)
    if c.at("OVER") and (c.peek(1).upper == "(" or c.peek(1).kind in (Kind.WORD, Kind.QUOTED)):
        raise c.refuse(*CONSTRUCTS["OVER"])
    return Call(name, args, star, distinct, kept, using, token.pos)


def _within_group(c: Cursor, read: Read, name: str) -> Node:
    """Reads `WITHIN GROUP (ORDER BY x)` behind PERCENTILE_CONT(0.5): x is its first argument."""
    if name not in ("percentile_cont", "percentile_disc", "quantile_cont", "quantile_disc", "mode"):
        raise c.refuse(*CONSTRUCTS["WITHIN"])
    c.expect("WITHIN", "GROUP", "(", "ORDER", "BY")
    node = read(c, LOOSEST)
    c.expect(")")
    return node


def _arguments(c: Cursor, read: Read) -> tuple[Node, ...]:
    args: list[Node] = []
    while not args or c.accept(","):
        if at_query(c):
            raise c.refuse(*SUBQUERY)
        args.append(read(c, LOOSEST))
    return tuple(args)


def _odd_argument(c: Cursor) -> Exception:
    if c.at("ORDER") or c.at("IGNORE") or c.at("RESPECT"):
        return c.refuse("ORDER BY and NULL treatment inside a call are not answered privately",
                        "write the arguments alone")  # fmt: skip
    if c.at(":=") or c.at("=>"):
        return c.refuse("arguments by name are not read", "write the arguments in order")
    return c.unexpected(") or ,")


def _filter(c: Cursor, read: Read) -> Node | None:
    if not c.accept("FILTER", "("):
        return None
    c.accept("WHERE")
    node = read(c, LOOSEST)
    c.expect(")")
    return node
