"""Columns, constants, calls, casts and subqueries of sqlglot's tree in ours."""

from __future__ import annotations

import uuid
from dataclasses import replace

from sqlglot import exp

from sqlpriv.dialect.constants import MOMENT_TYPES, date_or_time, interval, number
from sqlpriv.dialect.constructs import CONSTRUCTS, LIST, STAR
from sqlpriv.dialect.lowering.current_day import cut_now, day_of_now, lower_current_date
from sqlpriv.dialect.lowering.googlesql import (
    ANONYMIZED,
    ENDS_OF_INTERVAL,
    QUANTILE_LISTS,
    contribution_bounds,
    list_of_quantiles,
)
from sqlpriv.dialect.lowering.node_lowering import Glot, NodeLowering
from sqlpriv.dialect.lowering.value_lists import drop_distinct
from sqlpriv.dialect.marks import MARK
from sqlpriv.dialect.tokens import Kind, Token
from sqlpriv.errors import Refused
from sqlpriv.statements import tree as t
from sqlpriv.statements.keywords import RESERVED, words

_TYPES = {
    "INT": "INTEGER",
    "TEXT": "VARCHAR",
    "CHAR": "VARCHAR",
    "REAL": "FLOAT",
    "INT128": "HUGEINT",
    "LOGICAL": "BOOLEAN",
    "DEC": "DECIMAL",
    "NUMERIC": "DECIMAL",
}
"""sqlglot's name of a type → DuckDB's."""


def lower_column(lowering: NodeLowering, node: Glot) -> t.Node:
    identifier = node.this
    if isinstance(identifier, exp.Star):
        raise lowering.cannot(identifier)
    if node.args.get("db") is not None or not isinstance(identifier, exp.Identifier):
        hint = "write column or table.column, and function(x)"
        raise Refused.at(
            lowering.token(node), "names of schemas and method calls are not read", hint
        )
    text = identifier.this
    if text.startswith(MARK):
        token = lowering.token(identifier)
        if token.kind is Kind.PARAMETER:
            return t.Literal(lowering.binding.value(token), token.pos)
        return t.Literal({"NULL": None, "TRUE": True, "FALSE": False}[token.upper], token.pos)
    table = node.args.get("table")
    return t.Name(
        lowering.name(identifier), lowering.name(table), lowering.token(table or identifier).pos
    )


def lower_literal(lowering: NodeLowering, node: Glot) -> t.Node:
    token = lowering.token(node)
    if node.args["is_string"]:
        return t.Literal(node.this, token.pos)
    return t.Literal(number(node.this, token), token.pos, "e" in node.this.lower())


def lower_constant(lowering: NodeLowering, node: Glot) -> t.Node:
    return t.Literal(None if isinstance(node, exp.Null) else node.this, lowering.token(node).pos)


def lower_case(lowering: NodeLowering, node: Glot) -> t.Node:
    operand = lowering.expression(node.this) if node.this is not None else None
    whens = []
    for branch in node.args["ifs"]:
        lowering.check_arguments(branch, ("this", "true"))
        whens.append((lowering.expression(branch.this), lowering.expression(branch.args["true"])))
    default = node.args.get("default")
    otherwise = lowering.expression(default) if default is not None else None
    first = operand or whens[0][0]
    return t.CaseWhen(tuple(whens), otherwise, operand, lowering.before(first.pos, "CASE"))


def _type_name(lowering: NodeLowering, type_: Glot, near: Glot) -> str:
    """Returns DuckDB's own name of a type, as in DECIMAL(10, 2)."""
    if not isinstance(type_, exp.DataType):
        raise lowering.cannot(type_)
    if type_.args.get("nested") or type_.this in (exp.DType.ARRAY, exp.DType.LIST):
        at = lowering.ahead(lowering.index(near), "[", "STRUCT", "MAP")
        raise Refused.at(lowering.tokens[at], *LIST)
    lowering.check_arguments(type_, ("this", "expressions", "nested", "kind"))
    sizes = []
    for part in type_.expressions:
        size = part.this if isinstance(part, exp.DataTypeParam) else part
        if not isinstance(size, exp.Literal) or size.args["is_string"]:
            raise Refused.at(
                lowering.token(part), f"expected a number, found {lowering.token(part).shown}"
            )
        sizes.append(str(size.this))
    bare = type_.copy()
    bare.set("expressions", None)
    name = bare.sql("duckdb").upper()
    name = _TYPES.get(name, name)
    return f"{name}({', '.join(sizes)})" if sizes and name != "VARCHAR" else name


def lower_cast(lowering: NodeLowering, node: Glot) -> t.Node:
    type_ = _type_name(lowering, node.args["to"], node.this)
    day = day_of_now(node.this) if type_ == "DATE" else None
    if isinstance(day, exp.CurrentDate):
        return lower_current_date(lowering, day)
    arg = lowering.expression(day or node.this)
    i = lowering.index_of(arg.pos)
    before = lowering.tokens[i - 1]
    is_string = isinstance(node.this, exp.Literal) and lowering.tokens[i].kind is Kind.STRING
    if is_string and type_ == "UUID":
        return t.Literal(_canonical_uuid(node.this.this, lowering.tokens[i]), arg.pos)
    if is_string and before.kind is Kind.WORD and before.upper not in _BEFORE_STRINGS:
        if type_ not in MOMENT_TYPES:
            hint = "DATE '2020-12-31' and TIMESTAMP '2020-12-31 23:59:00' are"
            raise Refused.at(before, f"literals of type {before.shown} are not read", hint)
        return t.Literal(date_or_time(node.this.this, type_, lowering.tokens[i]), before.pos)
    pos = lowering.before(arg.pos, "CAST", "TRY_CAST") if before.upper != "::" else arg.pos
    if type_ in MOMENT_TYPES and isinstance(arg, t.Literal) and isinstance(arg.value, str):
        return t.Literal(date_or_time(arg.value, type_, lowering.tokens[i]), pos)
    return t.Cast(arg, type_, isinstance(node, exp.TryCast), pos)


def _canonical_uuid(text: str, token: Token) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        hint = "write '123e4567-e89b-12d3-a456-426614174000'"
        raise Refused.at(token, "this is not a UUID", hint) from None


_BEFORE_STRINGS = RESERVED | words("AND OR NOT BETWEEN LIKE ILIKE BY IS ESCAPE")
"""Words that may stand before a string and are not the name of its type."""


def lower_extract(lowering: NodeLowering, node: Glot) -> t.Node:
    """EXTRACT(part FROM x) is date_part('part', x)."""
    arg = lowering.expression(node.args["expression"])
    part = node.this
    if not isinstance(part, exp.Var | exp.Literal | exp.Column):
        raise lowering.cannot(part)
    i = lowering.behind(lowering.index_of(arg.pos), "EXTRACT")
    pos = lowering.tokens[i].pos
    return t.FunctionCall(
        "date_part", (t.Literal(part.name.lower(), lowering.tokens[i + 2].pos), arg), pos=pos
    )


def lower_substring(lowering: NodeLowering, node: Glot) -> t.Node:
    parts = [node.args.get(name) for name in ("this", "start", "length")]
    args = lowering.expressions(part for part in parts if part is not None)
    return t.FunctionCall("substring", args, pos=lowering.before(args[0].pos, "SUBSTRING"))


def lower_call(lowering: NodeLowering, node: Glot) -> t.Node:
    written = node.this.this if isinstance(node.this, exp.Identifier) else node.this
    name, _, using = written.partition(MARK)
    name, token = name.lower(), lowering.token(node)
    before = lowering.tokens[lowering.index(node) - 1] if "start" in node.meta else None
    is_dotted = token.kind is not Kind.NUMBER and "." in token.text
    if before is not None and (is_dotted or before.upper == "."):
        hint = "write column or table.column, and function(x)"
        raise Refused.at(token, "names of schemas and method calls are not read", hint)
    if name == "columns" and len(node.expressions) == 1:
        return t.FunctionCall(name, _columns_pattern(lowering, node.expressions[0]), pos=token.pos)
    named = [arg for arg in node.expressions if isinstance(arg, exp.Kwarg)]
    bounds = contribution_bounds(lowering, named)
    args = [arg for arg in node.expressions if not isinstance(arg, exp.Kwarg)]
    distinct, star = False, False
    if len(args) == 1 and isinstance(args[0], exp.Star):
        lowering.check_arguments(args[0], ())
        args, star = [], True
    elif args and isinstance(args[0], exp.Distinct):
        lowering.check_arguments(args[0], ("expressions",))
        args, distinct = [*args[0].expressions, *args[1:]], True
        if len(args) == 1 and isinstance(args[0], exp.Tuple):  # COUNT(DISTINCT (a, b))
            lowering.check_arguments(args[0], ("expressions",))
            args = args[0].expressions
    for arg in args:
        if isinstance(arg, exp.Select | exp.SetOperation):
            raise lowering.cannot(arg)
    if name in ("count", "count_star") and not args and not distinct:
        name, star = "count", True
    if name in _QUANTILES and len(args) == 2 and isinstance(args[1], exp.Array):
        lowering.check_arguments(args[1], ("expressions", "bracket_notation"))
        shares = t.FunctionCall(
            "list_value", lowering.expressions(args[1].expressions), pos=token.pos
        )
        return t.FunctionCall(name, (lowering.expression(args[0]), shares), pos=token.pos)
    if name.removeprefix("anon_") in QUANTILE_LISTS and not (distinct or star):
        quantiles = list_of_quantiles(lowering, args, bounds)
        if quantiles is not None:
            return quantiles
    name = name.removeprefix("anon_") if name in ANONYMIZED else name
    if name in ENDS_OF_INTERVAL and len(args) == 1:
        (arg,) = lowering.expressions(args)
        width = t.FunctionCall("error", (arg,), pos=token.pos)
        return t.Binary(ENDS_OF_INTERVAL[name], arg, width, token.pos)
    if name in _LIST_TESTS and len(args) == 2 and isinstance(args[0], exp.Array):
        items = lowering.expressions(args[0].expressions)
        present = tuple(x for x in items if not (isinstance(x, t.Literal) and x.value is None))
        return t.InList(lowering.expression(args[1]), present or items, pos=token.pos)
    if name == "today" and not args:
        return lower_current_date(lowering, node)
    if name == "age" and len(args) == 1:
        args = [exp.CurrentDate(), *args]  # up to the beginning of today
    is_number = isinstance(args[0], exp.Literal) and not args[0].is_string if args else False
    if name in _SPANS and len(args) == 1 and is_number:
        return t.Span(*interval(args[0].name, name[3:], token), pos=token.pos)
    args = cut_now(args) if name in ("date_trunc", "datetrunc") else args
    lowered = lowering.expressions(args)
    return t.FunctionCall(name, lowered, star, distinct, None, using, token.pos, bounds)


def _columns_pattern(lowering: NodeLowering, arg: Glot) -> tuple[t.Node, ...]:
    """Returns what COLUMNS(…) means columns by: nothing of *, a text, or a list of names."""
    if isinstance(arg, exp.Star):
        lowering.check_arguments(arg, ())
        return ()
    if isinstance(arg, exp.Array):
        lowering.check_arguments(arg, ("expressions", "bracket_notation"))
        names = lowering.expressions(arg.expressions)
        return (t.FunctionCall("list_value", names, pos=names[0].pos),)
    if not isinstance(arg, exp.Literal):
        raise Refused.at(lowering.token(arg), *STAR)
    return (lowering.expression(arg),)


_SPANS = words("to_years to_quarters to_months to_weeks to_days to_hours to_minutes to_seconds")
_LIST_TESTS = words("list_contains list_has array_contains array_has")
_QUANTILES = words(
    "percentile_cont percentile_disc quantile_cont quantile_disc mode quantile approx_quantile"
)


def lower_within_group(lowering: NodeLowering, node: Glot) -> t.Node:
    """Reads `WITHIN GROUP (ORDER BY x)` behind PERCENTILE_CONT(0.5): x is its first argument."""
    call, order = lowering.expression(node.this), node.args["expression"]
    one = isinstance(order, exp.Order) and len(order.expressions) == 1
    if not isinstance(call, t.FunctionCall) or call.name not in _QUANTILES or not one:
        at = lowering.ahead(lowering.index(node), "WITHIN")
        raise Refused.at(lowering.tokens[at], *CONSTRUCTS["WITHIN"])
    lowering.check_arguments(order, ("expressions",))
    ordered = order.expressions[0]
    lowering.check_arguments(ordered, ("this", "nulls_first", "desc"))
    shares = call.args
    if ordered.args.get("desc"):  # as far from the other end
        shares = tuple(t.Binary("-", t.Literal(1, s.pos), s, s.pos) for s in shares)
    name = call.name.replace("percentile_", "quantile_")  # as DuckDB calls it, which types it
    return replace(call, name=name, args=(lowering.expression(ordered.this), *shares))


def lower_filter(lowering: NodeLowering, node: Glot) -> t.Node:
    call, where = lowering.expression(node.this), node.args["expression"]
    if not isinstance(call, t.FunctionCall) or not isinstance(where, exp.Where):
        raise lowering.cannot(node)
    lowering.check_arguments(where, ("this",))
    return replace(call, filter=lowering.expression(where.this))


def lower_exists(lowering: NodeLowering, node: Glot) -> t.Node:
    drop_distinct(node.this)
    inner = lowering.query(node.this)
    at = lowering.behind(lowering.index_of(inner.pos), "EXISTS")
    return t.Exists(inner, lowering.tokens[at].pos)


def lower_subquery(lowering: NodeLowering, node: Glot) -> t.Node:
    inner = lowering.query(node.this)
    text, bound = lowering.enclosed_text(node.this, inner.pos)
    at = lowering.start_in_parenthesis(lowering.index_of(inner.pos))
    return t.Subquery(inner, text, bound, lowering.tokens[at].pos)


def lower_time_zone(lowering: NodeLowering, node: Glot) -> t.Node:
    """Reads `x AT TIME ZONE 'Europe/Berlin'` as DuckDB's timezone('Europe/Berlin', x)."""
    zone = node.args["zone"]
    if not isinstance(zone, exp.Literal):
        hint = "write AT TIME ZONE 'UTC', or 'Europe/Berlin'"
        raise Refused.at(lowering.token(node), "a time zone is written as a text", hint)
    moment = lowering.expression(node.this)
    return t.FunctionCall("timezone", (lowering.expression(zone), moment), pos=moment.pos)


def lower_xor(lowering: NodeLowering, node: Glot) -> t.Node:
    """Reads xor(x, y), which sqlglot takes for an operator."""
    args = lowering.expressions((node.this, node.args["expression"]))
    return t.FunctionCall("xor", args, pos=args[0].pos)
