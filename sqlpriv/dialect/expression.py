"""Expressions: operators by DuckDB's own precedence, from loosest to tightest

    OR · AND · NOT · IS · = <> < <= > >= · BETWEEN IN LIKE · || · + - · * / // % · ^ · sign · ::

All are grouped to the left, `^` too; the sign binds tighter than `^`; comparisons do not chain.
What stands between operators is read by `operands`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from sqlpriv.dialect import operands
from sqlpriv.dialect.cursor import MAX_DEPTH, Cursor, refusal
from sqlpriv.dialect.intervals import interval
from sqlpriv.dialect.keywords import CONSTRUCTS, QUERY_HEADS
from sqlpriv.dialect.tree import (
    Between,
    Binary,
    Call,
    Cast,
    InList,
    InQuery,
    IsNull,
    Literal,
    Node,
    Unary,
)

OR, AND, NOT, IS, COMPARE, RANGE, OTHER, ADD, MULTIPLY, POWER, SIGN = range(1, 12)
COMPARISONS = {"=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">",
               ">=": ">="}  # fmt: skip
ARITHMETIC = {"||": OTHER, "+": ADD, "-": ADD, "*": MULTIPLY, "/": MULTIPLY, "//": MULTIPLY,
              "%": MULTIPLY, "^": POWER, "**": POWER}  # fmt: skip
_LONG_CHAIN = 16


def expression(c: Cursor) -> Node:
    """Returns the expression that stands here.

    Raises:
        Refused: It is none, holds something that cannot be answered, or nests too deeply.
    """
    first = c.peek()
    node = operation(c, OR)
    if _depth(node) > MAX_DEPTH:
        raise refusal(first, f"the expression nests deeper than {MAX_DEPTH} levels",
                      "write long lists of alternatives as x IN (…)")  # fmt: skip
    return node


def operation(c: Cursor, power: int) -> Node:
    """Returns the longest expression here whose operators all bind at least as tightly."""
    c.depth += 1
    if c.depth > MAX_DEPTH:
        raise c.refuse(f"the expression nests deeper than {MAX_DEPTH} levels", "simplify it")
    node = _first(c, power)
    while (longer := _longer(c, node, power)) is not None:
        node = longer
    c.depth -= 1
    return node


def _first(c: Cursor, power: int) -> Node:
    token = c.peek()
    if power <= NOT and c.accept("NOT"):
        return Unary("not", operation(c, NOT), token.pos)
    if c.accept("+"):
        arg = operation(c, SIGN)
        untyped = isinstance(arg, Literal) and arg.value is None  # a sign makes a number of it
        return Cast(arg, "INTEGER", pos=token.pos) if untyped else arg
    if c.accept("-"):
        arg = operation(c, SIGN)
        if isinstance(arg, Literal) and type(arg.value) in (int, float):
            return Literal(-arg.value, token.pos)  # type: ignore[operator]  # a number, just seen
        return Unary("-", arg, token.pos)
    return operands.operand(c, operation)


def _longer(c: Cursor, left: Node, power: int) -> Node | None:
    """Returns `left` with the operator behind it applied; None where none binds so tightly."""
    op = c.peek().upper
    if op in ARITHMETIC and ARITHMETIC[op] >= power:
        c.next()
        if c.at("INTERVAL") and op in "+-":
            return interval(c, left, -1 if op == "-" else 1)
        return _arithmetic(op, left, operation(c, ARITHMETIC[op] + 1))
    if op in COMPARISONS and power <= COMPARE:
        return _comparison(c, left)
    if op in ("AND", "OR"):
        own = AND if op == "AND" else OR
        return _chain(c, op, left, own) if own >= power else None
    if op in ("IS", "ISNULL", "NOTNULL"):
        return _is(c, left) if power <= IS else None
    if op == "::":
        c.next()
        return operands.cast(left, operands.type_name(c), False, left.pos)
    if op in ("[", "->", "->>", "COLLATE", "GLOB", "SIMILAR") or c.at("AT", "TIME"):
        raise c.refuse(*CONSTRUCTS["->" if op == "->>" else op])
    return _range(c, left, power)


def _arithmetic(op: str, left: Node, right: Node) -> Node:
    if op in ("^", "**"):
        return Call("pow", (left, right), pos=left.pos)
    return Binary(op, left, right, left.pos)


def _comparison(c: Cursor, left: Node) -> Node:
    op = COMPARISONS[c.next().upper]
    node = Binary(op, left, operation(c, COMPARE + 1), left.pos)
    if c.peek().upper in COMPARISONS:
        raise c.refuse("comparisons cannot be chained", "use AND, as in a < b AND b < c")
    return node


def _chain(c: Cursor, op: str, left: Node, power: int) -> Node:
    """Reads all operands of one run of AND or OR; long runs become balanced trees."""
    terms = [left]
    while c.accept(op):
        terms.append(operation(c, power + 1))
    return _joined(op.lower(), terms)


def _joined(op: str, terms: list[Node]) -> Node:
    if len(terms) > _LONG_CHAIN:  # Both connectives are associative, NULLs included.
        half = len(terms) // 2
        return Binary(op, _joined(op, terms[:half]), _joined(op, terms[half:]), terms[0].pos)
    node = terms[0]
    for term in terms[1:]:
        node = Binary(op, node, term, terms[0].pos)
    return node


def _is(c: Cursor, left: Node) -> Node:
    """Reads IS [NOT] NULL | UNKNOWN | TRUE | FALSE and the short ISNULL, NOTNULL."""
    word = c.next().upper
    negated = word == "NOTNULL" or (word == "IS" and c.accept("NOT"))
    if word != "IS" or c.accept("NULL") or c.accept("UNKNOWN"):
        return IsNull(left, negated, left.pos)
    if c.at("DISTINCT"):
        raise c.refuse("IS DISTINCT FROM is not answered privately",
                       "write = or <> and IS NULL")  # fmt: skip
    token = c.peek()
    if not (c.accept("TRUE") or c.accept("FALSE")):
        raise c.unexpected("NULL, TRUE or FALSE")
    truth: Node = Cast(left, "BOOLEAN", pos=left.pos)
    truth = truth if token.upper == "TRUE" else Unary("not", truth, left.pos)
    node = Call("coalesce", (truth, Literal(False, token.pos)), pos=left.pos)
    return Unary("not", node, left.pos) if negated else node


def _range(c: Cursor, left: Node, power: int) -> Node | None:
    """Reads [NOT] IN, BETWEEN, LIKE, ILIKE, and `x NOT NULL`."""
    if c.at("NOT", "NULL") and power <= IS:
        c.expect("NOT", "NULL")
        return IsNull(left, True, left.pos)
    word = c.peek(1 if c.at("NOT") else 0).upper
    if word not in ("IN", "BETWEEN", "LIKE", "ILIKE") or power > RANGE:
        return None
    negated = c.accept("NOT")
    token = c.next()
    if word == "IN" and c.peek(1).upper in QUERY_HEADS:
        found, text, bound = operands.enclosed_text(c)
        return InQuery(left, found, negated, text, bound, left.pos)
    if word == "IN":
        return InList(left, _in_items(c), negated, left.pos)
    low = operation(c, RANGE + 1)
    if word == "BETWEEN":
        c.expect("AND")
        return Between(left, low, operation(c, RANGE + 1), negated, left.pos)
    args = (left, low, operation(c, RANGE + 1)) if c.accept("ESCAPE") else (left, low)
    node = Call(word.lower(), args, pos=token.pos)
    return Unary("not", node, left.pos) if negated else node


def _in_items(c: Cursor) -> tuple[Node, ...]:
    c.expect("(")
    items = [operation(c, OR)]
    while c.accept(","):
        items.append(operation(c, OR))
    c.expect(")")
    return tuple(items)


def _depth(node: Node) -> int:
    """Returns how many levels the tree has; it does not recurse, as the tree may be too deep."""
    level, depth = [node], 0
    while level:
        depth += 1
        level = [child for parent in level for child in _children(parent)]
    return depth


def _children(node: Node) -> Iterator[Node]:
    waiting = [getattr(node, field.name) for field in dataclasses.fields(node)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, tuple):
            waiting.extend(value)
        elif isinstance(value, Node):
            yield value
