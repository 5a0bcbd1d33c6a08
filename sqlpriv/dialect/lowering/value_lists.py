"""What IN, ANY and ALL compare with, and parts of texts and lists by their place: x[2]."""

from __future__ import annotations

from itertools import islice
from types import NoneType

from sqlglot import exp

from sqlpriv.dialect.lowering.googlesql import QUANTILE_LISTS, one_of_quantiles
from sqlpriv.dialect.lowering.node_lowering import Glot, NodeLowering
from sqlpriv.dialect.marks import function_name, marked_name
from sqlpriv.dialect.tokens import Kind
from sqlpriv.errors import Refused
from sqlpriv.statements import tree as t
from sqlpriv.statements.keywords import words
from sqlpriv.statements.traverse import join_terms, walk

_MOST_WRITTEN_TWICE = 1_000
"""Parts of a side of IS DISTINCT FROM, which stands twice in what is read: ten in one another would
be 2^10."""
_ENDS = "compare with its largest or smallest value: x > (SELECT MAX(y) FROM t)"


def quantified_values(lowering: NodeLowering, right: Glot) -> tuple[t.Node, ...] | None:
    """Returns the values that ANY or ALL compare with: `[1, 2]`, `(VALUES (1), (2))`, or `$1` bound
    to a list; None of a query, which `= ANY` and `<> ALL` alone may have, and of anything else."""
    is_all = isinstance(right, exp.Anonymous) and right.name.upper() == "ALL"
    if not is_all and not isinstance(right, exp.Any | exp.All):
        return None
    inside = right.expressions[0] if is_all else right.this.unnest()
    if (bound := _bound_list(lowering, inside)) is not None:
        return bound
    if isinstance(inside, exp.Array | exp.Values):
        items = inside.expressions if isinstance(inside, exp.Array) else [inside]
        return lowering.expressions(listed_values(lowering, items))
    if not isinstance(right.parent, exp.NEQ if isinstance(right, exp.All) else exp.EQ):
        place = lowering.token(inside)
        raise Refused.at(place, "a query behind ANY or ALL is compared by = ANY or <> ALL", _ENDS)
    return None


def _bound_list(lowering: NodeLowering, inside: Glot) -> tuple[t.Node, ...] | None:
    """Returns the values of a parameter that is bound to a list, `$1` or `$1::INTEGER[]`."""
    source = inside.this if isinstance(inside, exp.Cast) else inside
    if not isinstance(source, exp.Column) or not marked_name(source):
        return None
    token = lowering.token(source)
    values = lowering.binding.values(token) if token.kind is Kind.PARAMETER else None
    if values is None:
        return None
    of = inside.args["to"].expressions[0].this if isinstance(inside, exp.Cast) else None
    if of in exp.DataType.INTEGER_TYPES and any(type(x) not in (int, NoneType) for x in values):
        raise Refused.at(token, "the list of whole numbers has others", "give whole numbers")
    return tuple(t.Literal(value, token.pos) for value in values)


def listed_values(lowering: NodeLowering, items: list[Glot]) -> list[Glot]:
    """Returns what IN lists: `(1, 2)`, or `(VALUES (1), (2))`: rows of one value are values."""
    if len(items) != 1 or not isinstance(items[0], exp.Values):
        return items
    lowering.check_arguments(items[0], ("expressions",))
    rows: list[Glot] = items[0].expressions
    return [row.expressions[0] if len(row.expressions) == 1 else row for row in rows]


def drop_distinct(query: Glot) -> None:
    """Takes DISTINCT out of a query behind IN or EXISTS, which do not depend on how often a row
    occurs. A query with LIMIT does, so it keeps its DISTINCT."""
    distinct, ends = query.args.get("distinct"), ("limit", "offset")
    plain = isinstance(distinct, exp.Distinct) and distinct.args.get("on") is None
    if isinstance(query, exp.Select) and plain and not any(map(query.args.get, ends)):
        query.set("distinct", None)


def is_among(lowering: NodeLowering, node: Glot, query: Glot, *, negated: bool) -> t.Node:
    """Reads `x = ANY (SELECT …)`, which is IN, and `x <> ALL (SELECT …)`, which is NOT IN."""
    left = lowering.expression(node.this)
    inner = lowering.query(query.this if isinstance(query, exp.Subquery) else query)
    text, bound = lowering.enclosed_text(query, inner.pos)
    return t.InQuery(left, inner, negated, text, bound, left.pos)


def lower_bracket(lowering: NodeLowering, node: Glot) -> t.Node:
    """Reads `x[2]` and `x[2:4]` of a text as SUBSTRING, `string_split(x, '-')[1]` as an element,
    and one of the quantiles of APPROX_QUANTILES."""
    source, index = node.this, next(iter(node.expressions), None)
    name = function_name(source) if isinstance(source, exp.Anonymous) else ""
    if name.removeprefix("anon_") in QUANTILE_LISTS:
        return one_of_quantiles(lowering, node)
    numbers = [None if index is None else _place(index)]
    if isinstance(index, exp.Slice):
        numbers = [_place(index.this, 1), _place(index.args.get("expression"), _TO_THE_END)]
    if len(node.expressions) != 1 or None in numbers or not isinstance(source, _SLICED):
        raise lowering.cannot(node)
    whole = lowering.expression(source)
    places: list[int] = [number for number in numbers if number is not None]
    if len(places) == 1:  # sqlglot counts from 0
        place = t.Literal(places[0] + 1, whole.pos)
        if name in _SPLIT:
            return t.FunctionCall("list_extract", (whole, place), pos=whole.pos)
        return t.FunctionCall("substring", (whole, place, t.Literal(1)), pos=whole.pos)
    first, last = max(1, places[0]), places[1]
    if name in _SPLIT or places[0] < 0 or last < 0:
        raise lowering.cannot(node)
    start = t.Literal(first, whole.pos)
    if last == _TO_THE_END:
        return t.FunctionCall("substring", (whole, start), pos=whole.pos)
    length = t.Literal(max(0, last - first + 1), whole.pos)
    return t.FunctionCall("substring", (whole, start, length), pos=whole.pos)


_SLICED = exp.Column | exp.Paren | exp.Anonymous | exp.Cast
_SPLIT = words("string_split str_split split string_to_array regexp_split_to_array")
_TO_THE_END = 2**31


def _place(node: Glot | None, left_out: int | None = None) -> int | None:
    """Returns the whole number of an index, or what stands for an end that is left out."""
    if node is None:
        return left_out
    if isinstance(node, exp.Neg):
        below = _place(node.this)
        return None if below is None else -below
    is_number = isinstance(node, exp.Literal) and not node.is_string
    return int(node.name) if is_number and node.name.isdecimal() else None


_Pairs = list[tuple[t.Node, t.Node]]


def compared_rows(lowering: NodeLowering, op: str, left: Glot, right: Glot) -> t.Node:
    """Returns `(a, b) op (c, d)`: the first fields that differ decide, NULL as the largest value.

    Raises:
        Refused: The right side is no row of as many fields.
    """
    pairs = _pairs(lowering, left, right)
    if op in ("=", "<>"):
        same = join_terms("and", [same_value(one, other) for one, other in pairs])
        return same if op == "=" else t.Unary("not", same, same.pos)
    turned = [(other, one) for one, other in pairs] if "<" in op else pairs
    return _is_above(turned, or_same="=" in op)


def _is_above(pairs: _Pairs, *, or_same: bool) -> t.Node:
    (one, other), *rest = pairs
    null_above = _both(t.IsNull(one, pos=one.pos), t.IsNull(other, True, one.pos))
    greater = t.Binary(">", one, other, one.pos)
    above: t.Node = t.FunctionCall("coalesce", (greater, null_above), pos=one.pos)
    if rest:
        later = _both(same_value(one, other), _is_above(rest, or_same=or_same))
        return t.Binary("or", above, later, one.pos)
    return t.Binary("or", above, same_value(one, other), one.pos) if or_same else above


def row_among(lowering: NodeLowering, node: Glot, rows: list[Glot]) -> t.Node:
    """Returns `(a, b) IN ((1, 2), (3, 4))`, where NULL is a value, or `IN (VALUES …)`, where it is
    none: DuckDB reads the second as a query."""
    is_query = isinstance(node.expressions[0], exp.Values)
    tests = []
    for row in rows:
        pairs = _pairs(lowering, node.this, row)
        equal = [
            t.Binary("=", one, other, one.pos) if is_query else same_value(one, other)
            for one, other in pairs
        ]
        tests.append(join_terms("and", equal))
    return join_terms("or", tests)


def same_value(left: t.Node, right: t.Node) -> t.Node:
    """Returns IS NOT DISTINCT FROM: as =, but NULL is a value that equals itself alone.

    Raises:
        Refused: A side has more than `_MOST_WRITTEN_TWICE` parts.
    """
    for side in (left, right):
        if any(islice(walk(side), _MOST_WRITTEN_TWICE, None)):  # a node is always true
            message = f"a side of IS DISTINCT FROM has more than {_MOST_WRITTEN_TWICE:,} parts"
            raise Refused.at(side.pos, message, "write fewer of them in one another")
    both = _both(t.IsNull(left, pos=left.pos), t.IsNull(right, pos=left.pos))
    equal = t.Binary("=", left, right, left.pos)
    return t.FunctionCall("coalesce", (equal, both), pos=left.pos)


def _both(one: t.Node, other: t.Node) -> t.Node:
    return t.Binary("and", one, other, one.pos)


def _pairs(lowering: NodeLowering, left: Glot, right: Glot) -> _Pairs:
    if not isinstance(right, exp.Tuple) or len(left.expressions) != len(right.expressions):
        raise lowering.cannot(right)
    sides = (lowering.expressions(row.expressions) for row in (left, right))
    return list(zip(*sides, strict=True))
