"""Operators, connectives and comparisons of sqlglot's tree in ours.

sqlglot groups operators by its own precedence. `check_grouping` compares the shape of the tree with
DuckDB's precedence and refuses where the two differ, so that no statement is read otherwise than
DuckDB reads it.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from sqlglot import exp

from sqlpriv.dialect.constants import interval, moved_by_interval
from sqlpriv.dialect.lowering.node_lowering import Glot, NodeLowering
from sqlpriv.dialect.lowering.value_lists import (
    compared_rows,
    drop_distinct,
    is_among,
    listed_values,
    quantified_values,
    row_among,
    same_value,
)
from sqlpriv.dialect.tokens import Kind
from sqlpriv.errors import Refused
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import ROW, fold_cast, fold_constant, fold_text, join_terms

OR, AND, NOT, IS, COMPARE, RANGE, OTHER, ADD, MULTIPLY, POWER, SIGN = range(1, 12)
_SIGNS = {
    COMPARE: "EQ = NEQ <> LT < LTE <= GT > GTE >=",
    OTHER: "DPipe || BitwiseAnd & BitwiseOr | BitwiseLeftShift << BitwiseRightShift >>",
    ADD: "Add + Sub -",
    MULTIPLY: "Mul * Div / IntDiv // Mod %",
    POWER: "Pow ^",
}
"""Level → sqlglot's nodes of two operands, each with its sign."""
BINARY: dict[type[Glot], tuple[str, int]] = {
    getattr(exp, name): (sign, level)
    for level, text in _SIGNS.items()
    for name, sign in zip(text.split()[::2], text.split()[1::2], strict=True)
}
_OTHERS = {
    OR: "Or",
    AND: "And",
    NOT: "Not",
    IS: "Is NullSafeEQ NullSafeNEQ",
    RANGE: "Between In Like ILike Escape SimilarTo Glob",
    OTHER: "RegexpLike",
    SIGN: "Neg",
}
_LEVELS: dict[type[Glot], int] = {
    **{getattr(exp, name): level for level, text in _OTHERS.items() for name in text.split()},
    **{type_: level for type_, (_, level) in BINARY.items()},
}
"""How tightly each operator binds."""


def _check_grouping(lowering: NodeLowering, node: Glot, level: int) -> None:
    """Refuses operands that DuckDB would group otherwise, as sqlglot's tree has no parentheses."""
    is_prefix = type(node) in (exp.Not, exp.Neg)
    for name in ("this", "expression", "low", "high"):
        part = node.args.get(name)
        inner = _level(lowering, part)
        if (
            part is None
            or inner is None
            or inner > level
            or (inner == level and name == "this" and (is_prefix or level != COMPARE))
        ):
            continue
        at = lowering.index(part)
        if inner == level == COMPARE:
            right = node.args["expression"] if name == "this" else part.args["expression"]
            sign = lowering.before(lowering.expression(right).pos, *_COMPARISONS)
            hint = "use AND, as in a < b AND b < c"
            raise Refused.at(
                lowering.tokens[lowering.index_of(sign)], "comparisons cannot be chained", hint
            )
        if type(part) is exp.Not:
            raise lowering.refuse_unexpected(at - 1, "an expression")
        hint = "write parentheses around what belongs together"
        raise Refused.at(
            lowering.tokens[at], "these operators are grouped in more than one way", hint
        )


def _level(lowering: NodeLowering, part: Glot | None) -> int | None:
    """Returns how tightly the outermost operator of a part binds; None where it has none."""
    if part is None:
        return None
    level = _LEVELS.get(type(part))
    if type(part) is not exp.Not or type(part.this) not in _NEGATED:
        return level
    infix = lowering.tokens[lowering.index(part) - 1].upper != "NOT"  # as in `a NOT IN (1)`
    return _LEVELS[type(part.this)] if infix else level


_NEGATED = (exp.In, exp.Like, exp.ILike, exp.Between, exp.Is)
_COMPARISONS = ("=", "==", "<>", "!=", "<", "<=", ">", ">=")


def lower_paren(lowering: NodeLowering, node: Glot) -> t.Node:
    return lowering.expression(node.this)


def _is_empty_array(lowering: NodeLowering, left: t.Node) -> bool:
    """Returns whether `[]` stands behind the first IN of nothing: sqlglot reads it as `()`."""
    words = [token.upper for token in lowering.tokens[lowering.index_of(left.pos) :]]
    threes = zip(words, words[1:], words[2:], strict=False)
    return next((two == "[" for one, two, end in threes if one == "IN" and end in ")]"), False)


def lower_unary(lowering: NodeLowering, node: Glot) -> t.Node:
    is_minus = isinstance(node, exp.Neg)
    _check_grouping(lowering, node, SIGN if is_minus else NOT)
    arg = lowering.expression(node.this)
    if is_minus:
        pos = lowering.before(arg.pos, "-")
        if isinstance(arg, t.Literal) and type(arg.value) in (int, float):
            is_zero = not (arg.value or arg.exponent)  # of which a DECIMAL has no negative one
            minus = arg.value if is_zero else -arg.value  # type: ignore[operator]  # just seen
            return replace(arg, value=minus, pos=pos)
        return t.Unary("-", arg, pos)
    if isinstance(arg, t.IsNull | t.InList | t.InQuery | t.Between) and not arg.negated:
        before = lowering.tokens[lowering.index_of(arg.pos) - 1].upper
        if isinstance(node.this, exp.Paren) or before == "NOT":
            return t.Unary("not", arg, lowering.before(arg.pos, "NOT"))
        return replace(arg, negated=True)
    return t.Unary("not", arg, lowering.before(arg.pos, "NOT"))


def lower_binary(lowering: NodeLowering, node: Glot) -> t.Node:
    op, level = BINARY[type(node)]
    right = node.args["expression"]
    every = isinstance(right, exp.All) and op == "<>"
    some = isinstance(right, exp.Any) and op == "="
    listed = quantified_values(lowering, right) if op in _COMPARISONS else None
    is_query = isinstance(right.this, exp.Subquery | exp.Select)
    if (every or some) and is_query and listed is None:
        return is_among(lowering, node, right.this, negated=every)
    _check_grouping(lowering, node, level)
    if isinstance(node.this, exp.Tuple) and op in _COMPARISONS:
        return compared_rows(lowering, op, node.this, right)
    left = lowering.expression(node.this)
    if listed is not None and (every or some or not listed):
        is_all = not isinstance(right, exp.Any)  # of nothing, ALL is true and ANY is not
        return t.InList(left, listed, every, left.pos) if listed else t.Literal(is_all, left.pos)
    if listed is not None:
        connective = "or" if isinstance(right, exp.Any) else "and"
        return join_terms(connective, tuple(t.Binary(op, left, x, left.pos) for x in listed))
    second = lowering.expression(right)
    if op == "+" and isinstance(left, t.Span):
        left, second = second, left
    moment = left.value if isinstance(left, t.Literal) else None
    if isinstance(moment, dt.date) and op in "+-" and isinstance(second, t.Span):
        token = lowering.tokens[lowering.index_of(second.pos)]
        span = (second.months, second.days, second.micros)
        moved = moved_by_interval(moment, span, -1 if op == "-" else 1, token)
        return t.Literal(moved, left.pos)
    if op == "^":
        return t.FunctionCall("pow", (left, second), pos=left.pos)
    return t.Binary(op, left, second, left.pos)


def lower_interval(lowering: NodeLowering, node: Glot) -> t.Node:
    """Reads INTERVAL 3 DAY; a refusal points at its size, or behind the first INTERVAL."""
    at, size, unit = lowering.index(node), node.this, node.args.get("unit")
    if lowering.tokens[at].kind is Kind.END or lowering.tokens[at].upper == "INTERVAL":
        at = min(lowering.ahead(0, "INTERVAL") + 1, len(lowering.tokens) - 1)
    text, token = _size_text(lowering, size), lowering.tokens[at]
    return t.Span(*interval(text, unit.name if unit else "", token), pos=token.pos)


def _size_text(lowering: NodeLowering, size: Glot | None) -> str:
    """Returns the number behind INTERVAL, or the text of numbers and units; '' of anything else."""
    if size is None or isinstance(size, exp.Literal):
        return str(size.this) if size else ""
    number = fold_constant(lowering.expression(size))
    return str(number.value) if number else ""


PATTERNS: dict[type[Glot], str] = {
    exp.RegexpLike: "~",
    exp.SimilarTo: "similar to",
    exp.Glob: "glob",
}
"""sqlglot's nodes of what DuckDB matches a text with."""


def lower_pattern(lowering: NodeLowering, node: Glot) -> t.Node:
    _check_grouping(lowering, node, _LEVELS[type(node)])
    args = lowering.expressions((node.this, node.args["expression"]))
    return t.FunctionCall(PATTERNS[type(node)], args, pos=args[0].pos)


def lower_connective(lowering: NodeLowering, node: Glot) -> t.Node:
    """Reads all operands of one run of AND or OR; long runs become balanced trees."""
    level = _LEVELS[type(node)]
    terms, rest = [], node
    while type(rest) is type(node):
        lowering.check_arguments(rest, ("this", "expression"))
        right = rest.args["expression"]
        if _LEVELS.get(type(right), SIGN) <= level:
            raise lowering.cannot(right)
        terms.append(right)
        rest = rest.this
    if _LEVELS.get(type(rest), SIGN) < level:
        raise lowering.cannot(rest)
    return join_terms(
        "or" if level == OR else "and", lowering.expressions([rest, *reversed(terms)])
    )


def lower_is(lowering: NodeLowering, node: Glot) -> t.Node:
    _check_grouping(lowering, node, IS)
    left, right = lowering.expression(node.this), node.args["expression"]
    if isinstance(right, exp.Null):
        return t.IsNull(left, pos=left.pos)
    if not isinstance(right, exp.Boolean):
        raise lowering.cannot(right)
    truth: t.Node = t.Cast(left, "BOOLEAN", pos=left.pos)
    truth = truth if right.this else t.Unary("not", truth, left.pos)
    return t.FunctionCall("coalesce", (truth, t.Literal(False, left.pos)), pos=left.pos)


def lower_distinct_from(lowering: NodeLowering, node: Glot) -> t.Node:
    _check_grouping(lowering, node, IS)
    left, right = lowering.expression(node.this), lowering.expression(node.args["expression"])
    same = same_value(left, right)
    return same if isinstance(node, exp.NullSafeEQ) else t.Unary("not", same, left.pos)


def lower_in(lowering: NodeLowering, node: Glot) -> t.Node:
    _check_grouping(lowering, node, RANGE)
    values, query = listed_values(lowering, node.expressions), node.args.get("query")
    if isinstance(node.this, exp.Tuple) and query is None:
        return row_among(lowering, node, values)
    if isinstance(node.this, exp.Tuple):
        fields = lowering.expressions(node.this.expressions)
        left: t.Node = t.FunctionCall(ROW, fields, pos=fields[0].pos)
    else:
        left = lowering.expression(node.this)
    if query is None:
        items = tuple(map(fold_cast, lowering.expressions(values)))
        if not items and _is_empty_array(lowering, left):
            return t.Literal(False, left.pos)  # of NULL, too
        return t.InList(left, items, pos=left.pos)
    lowering.check_arguments(query, ("this",))
    drop_distinct(query.this)
    inner = lowering.query(query.this)
    text, bound = lowering.enclosed_text(query.this, inner.pos)
    return t.InQuery(left, inner, False, text, bound, left.pos)


def lower_between(lowering: NodeLowering, node: Glot) -> t.Node:
    _check_grouping(lowering, node, RANGE)
    left = lowering.expression(node.this)
    low, high = lowering.expression(node.args["low"]), lowering.expression(node.args["high"])
    return t.Between(left, low, high, pos=left.pos)


def lower_like(lowering: NodeLowering, node: Glot) -> t.Node:
    escape: tuple[t.Node, ...] = ()
    if isinstance(node, exp.Escape):
        escape, node = (lowering.expression(node.args["expression"]),), node.this
        if not isinstance(node, exp.Like | exp.ILike):
            raise lowering.cannot(node)
        lowering.check_arguments(node, ("this", "expression", "negate"))
    _check_grouping(lowering, node, RANGE)
    left = lowering.expression(node.this)
    right = fold_text(lowering.expression(node.args["expression"]))
    word = "LIKE" if isinstance(node, exp.Like) else "ILIKE"
    pos = lowering.tokens[lowering.ahead(lowering.index_of(left.pos), word)].pos
    call = t.FunctionCall(word.lower(), (left, right, *escape), pos=pos)
    return t.Unary("not", call, left.pos) if node.args.get("negate") else call
