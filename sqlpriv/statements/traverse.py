"""Walks over surface expressions: their parts, their rebuilding, their comparison."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, get_args

from sqlpriv.statements.tree import (
    Binary,
    Cast,
    Exists,
    FunctionCall,
    InQuery,
    Literal,
    Name,
    Node,
    Subquery,
    Unary,
)

_EXACT = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_OF_TEXTS: dict[str, Callable[[str], str]] = {
    "concat": str,
    "same_text": str,
    "lower": str.lower,
    "upper": str.upper,
}
"""Functions of texts that a literal may be made of, and what they do to what is joined."""
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "INT": 32, "BIGINT": 64}
_HELD_BY = {"BOOLEAN": bool, "DOUBLE": float, "DATE": dt.date, "TIMESTAMP": dt.datetime}
"""Type → the values that a cast to it leaves as they are."""
Change = Callable[[Node], Node | None]
_NODES = frozenset(get_args(Node))
"""None has subclasses; `isinstance` compares a value with each of these classes in turn."""
_PARTS = _NODES | {tuple}
"""What may hold a node."""


ROW = "row"
"""The call that a row of values before IN (SELECT …) is."""
_LONG_CHAIN = 16
"""Terms of AND or OR that are joined one after the other; more become a balanced tree."""


def join_terms(op: str, terms: Sequence[Node]) -> Node:
    """Returns conditions joined by AND or OR: both are associative, NULLs included."""
    if len(terms) > _LONG_CHAIN:
        half = len(terms) // 2
        halves = join_terms(op, terms[:half]), join_terms(op, terms[half:])
        return Binary(op, *halves, terms[0].pos)
    node = terms[0]
    for term in terms[1:]:
        node = Binary(op, node, term, terms[0].pos)
    return node


def row_fields(node: Node) -> tuple[Node, ...]:
    """Returns the fields of a row of values; of one value, that alone."""
    return node.args if isinstance(node, FunctionCall) and node.name == ROW else (node,)


def walk(node: Node) -> Iterator[Node]:
    """Yields the expression itself and all below it, parents first.

    >>> node = Binary("and", Binary("or", Name("a"), Name("b")), Name("c"))
    >>> [part.op if isinstance(part, Binary) else part.name for part in walk(node)]
    ['and', 'or', 'a', 'b', 'c']
    """
    waiting: list[Any] = [node]  # generators inside generators take three times as long
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting.extend(part[::-1])
        elif type(part) in _NODES:
            yield part
            waiting.extend(reversed(vars(part).values()))


def rebuild(node: Node, change: Change) -> Node:
    """Returns the expression with every topmost part that `change` answers for replaced.

    What `change` returns is put in as it is and not looked into; where it returns None, the walk
    goes on below. An expression of which nothing is replaced is returned itself.
    """
    changed = change(node)
    if changed is not None:
        return changed
    new = {}
    for name, value in vars(node).items():  # most are a place or a text: they are as they were
        if type(value) in _PARTS and (after := _rebuild_value(value, change)) is not value:
            new[name] = after
    return dataclasses.replace(node, **new) if new else node


def with_aliases(node: Node, aliases: Mapping[str, Node]) -> Node:
    """Returns the expression with unqualified names found in `aliases` (lower case) replaced."""

    def replace(part: Node) -> Node | None:
        is_alias = isinstance(part, Name) and not part.table and part.name.lower() in aliases
        return aliases[part.name.lower()] if is_alias and isinstance(part, Name) else None

    return rebuild(node, replace)


def conjuncts(node: Node | None) -> Iterator[Node]:
    """Yields the sides of nested ANDs, in the order written; nothing of None."""
    yield from () if node is None else operands("and", node)


def operands(op: str, node: Node) -> Iterator[Node]:
    """Yields the sides of nested operations of that name, in the order written.

    >>> node = Binary("and", Binary("or", Name("a"), Name("b")), Name("c"))
    >>> [side.op if isinstance(side, Binary) else side.name for side in operands("and", node)]
    ['or', 'c']
    """
    if isinstance(node, Binary) and node.op == op:
        yield from operands(op, node.left)
        yield from operands(op, node.right)
    else:
        yield node


def as_literal(node: Node) -> Literal | None:
    """Returns the literal that the expression is, a minus sign taken in; else None."""
    if isinstance(node, Literal):
        return node
    if isinstance(node, Unary) and node.op == "-":
        inner = as_literal(node.arg)
        if inner and isinstance(inner.value, int | float) and not isinstance(inner.value, bool):
            return dataclasses.replace(inner, value=-inner.value, pos=node.pos)
    return None


def fold_constant(node: Node) -> Literal | None:
    """Returns the literal that an expression of numbers alone is: 0.06 + 0.01 is 0.07, as written.

    Decimals, as in DuckDB; doubles would make 0.06999999999999999 of it.

    >>> fold_constant(Binary("+", Literal(0.06), Literal(0.01))).value
    0.07
    """
    number = as_literal(node)
    if number is not None or not isinstance(node, Binary) or node.op not in _EXACT:
        return number
    sides = [fold_constant(side) for side in (node.left, node.right)]
    if any(side and side.exponent for side in sides):  # doubles, as they are added up by the engine
        return None
    values = [s.value for s in sides if s and isinstance(s.value, int | float)]
    values = [value for value in values if not isinstance(value, bool)]
    if len(values) < 2 or not all(math.isfinite(v) for v in values):
        return None
    exact = _EXACT[node.op](*(Decimal(str(v)) for v in values))
    whole = all(type(v) is int for v in values)
    return Literal(int(exact) if whole else float(exact), node.pos)


def fold_cast(node: Node) -> Node:
    """Returns the literal that a cast of one leaves as it is; another expression as it is.

    Drivers write values so: SQLAlchemy's psycopg has `IN ($1::VARCHAR, $2::VARCHAR)`.

    >>> [fold_cast(Cast(Literal(1), type)).value for type in ("INTEGER", "BIGINT")]
    [1, 1]
    >>> fold_cast(Cast(Literal(300), "TINYINT"))
    Cast(arg=Literal(value=300, exponent=False, stored=''), type='TINYINT', try_=False)
    """
    match fold_text(node):
        case Cast(Literal(int(value)) as literal, type_) if type_ in _BITS and type(value) is int:
            return literal if abs(value) < 2 ** (_BITS[type_] - 1) else node
        case Cast(Literal(value) as literal, type_) if type(value) is _HELD_BY.get(type_):
            return literal
        case folded:
            return folded


def fold_text(node: Node) -> Node:
    """Returns the literal that an expression of texts alone is; another expression as it is.

    >>> fold_text(Binary("||", Literal("%"), FunctionCall("lower", (Literal("A"),)))).value
    '%a'
    """
    parts: tuple[Node, ...]
    match node:
        case Cast(arg, "VARCHAR" | "TEXT"):
            name, parts = "concat", (arg,)
        case Binary("||", left, right):
            name, parts = "concat", (left, right)
        case FunctionCall(name, parts) if name in _OF_TEXTS:
            pass
        case _:
            return node
    texts = [part.value for part in map(fold_text, parts) if isinstance(part, Literal)]
    strings = [text for text in texts if isinstance(text, str)]
    joined = _OF_TEXTS[name]("".join(strings))
    # Beyond ASCII, Python and DuckDB may change letters otherwise.
    is_alike = joined.isascii() or name not in ("lower", "upper")
    return Literal(joined, node.pos) if len(strings) == len(parts) and is_alike else node


def _rebuild_value(value: Any, change: Change) -> Any:
    if type(value) in _NODES:
        return rebuild(value, change)
    if not isinstance(value, tuple):
        return value
    new = tuple([_rebuild_value(entry, change) for entry in value])
    return value if all(map(operator.is_, value, new)) else new


def has_subqueries(where: Node | None) -> bool:
    """Returns whether a condition holds subqueries."""
    return where is not None and any(
        isinstance(part, Exists | InQuery | Subquery) for part in walk(where)
    )
