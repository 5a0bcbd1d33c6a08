"""Calls with words among their arguments, `TRIM(BOTH 'a' FROM x)`, as calls with commas."""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.dialect.marks import duckdb_call, function_name

_TRIMS = {"LEADING": "ltrim", "TRAILING": "rtrim"}


def write_with_commas(tree: exp.Expr) -> None:
    """Writes such calls, which sqlglot knows by their words, as calls of functions; in place."""
    for node in list(tree.find_all(*_KINDS)):
        if (call := _plain_call(node)) is not None:
            node.replace(call)
    for node in list(tree.find_all(exp.Anonymous)):  # ROW (a, b) is (a, b), where it is compared
        if function_name(node) == "row" and isinstance(node.parent, exp.EQ | exp.NEQ | exp.In):
            node.replace(exp.Tuple(expressions=node.expressions))


_KINDS: tuple[type[exp.Expr], ...] = (
    *(exp.Trim, exp.StrPosition, exp.Overlay, exp.Stuff, exp.GroupConcat),
    *(exp.Bracket, exp.ToMap, exp.Anonymous),
)


def _plain_call(node: exp.Expr) -> exp.Expr | None:
    match node:
        case exp.Trim() if not node.args.get("collation"):
            name = _TRIMS.get(str(node.args.get("position") or ""), "trim")
            characters = node.args.get("expression")
            return duckdb_call(name, node.this, *([characters] if characters else []))
        case exp.StrPosition() if {k for k, v in node.args.items() if v} <= {"this", "substr"}:
            return duckdb_call("strpos", node.this, node.args["substr"])
        case exp.Overlay():
            text = node.args["expression"]
            return _replaced_part(node.this, node.args["from_"], node.args.get("for_"), text)
        case exp.Stuff():
            start, length = node.args["start"], node.args["length"]
            return _replaced_part(node.this, start, length, node.args["expression"])
        case exp.GroupConcat():
            separator = node.args.get("separator") or exp.Literal.string(",")
            return string_agg(node.this, separator)
        case exp.Bracket(this=exp.Map() as written, expressions=[key]):
            return _item_of_map(written, key)
        case exp.Anonymous(expressions=[exp.Map() as written, key]):  # of DuckDB it is a list
            return _item_of_map(written, key) if function_name(node) == "element_at" else None
        case exp.ToMap(this=exp.Bracket(this=exp.Struct() as written, expressions=[key])):
            return _item_of_map(written, key)  # MAP {'a': 1}[x], as sqlglot groups it
    return None


def _item_of_map(written: exp.Expr, key: exp.Expr) -> exp.Expr | None:
    """Returns an item of a map that is written here as CASE; None where a key is no constant."""
    if isinstance(written, exp.Map):
        listed = [written.args["keys"], written.args["values"]]
        if not all(isinstance(one, exp.Array) for one in listed):
            return None
        pairs = list(zip(*(one.expressions for one in listed), strict=False))
    else:
        pairs = [(pair.this, pair.expression) for pair in written.expressions]
    if not pairs or not all(isinstance(name, exp.Literal) for name, _ in pairs):
        return None
    return exp.Case(this=key, ifs=[exp.If(this=name, true=value) for name, value in pairs])


def _replaced_part(
    text: exp.Expr, start: exp.Expr, length: exp.Expr | None, by: exp.Expr
) -> exp.Expr | None:
    """Returns a text with a part of it, from a written place on, replaced by another."""
    numbers = [start, *([length] if length is not None else [])]
    if not all(isinstance(number, exp.Literal) and number.is_int for number in numbers):
        return None
    first = int(start.name)
    last = first + (int(length.name) if length is not None else len(by.name))
    if first < 1 or (length is None and not isinstance(by, exp.Literal)):
        return None
    head = duckdb_call("left", text, exp.Literal.number(first - 1))
    tail = duckdb_call("substring", text.copy(), exp.Literal.number(last))
    joined = exp.DPipe(this=exp.DPipe(this=head, expression=by), expression=tail)
    return exp.Paren(this=joined)


def string_agg(first: exp.Expr, separator: exp.Expr) -> exp.Expr:
    """Returns `string_agg(DISTINCT x, ', ' ORDER BY y)` as sqlglot has it: DISTINCT holds both, and
    ORDER BY stands around the last argument.

    Args:
        first: What is joined, maybe behind DISTINCT, within an ORDER BY of MySQL's.
        separator: What stands between.
    """
    order = first if isinstance(first, exp.Order) else None
    listed = first.this if order is not None else first
    if isinstance(listed, exp.Distinct):
        listed.append("expressions", separator)
        return duckdb_call("string_agg", first)
    if order is None:
        return duckdb_call("string_agg", first, separator)
    order.set("this", separator)
    return duckdb_call("string_agg", listed, order)
