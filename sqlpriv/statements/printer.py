"""Expression trees back to DuckDB SQL, and the names that DuckDB gives to outputs."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.contract import Value
from sqlpriv.statements import tree as t
from sqlpriv.statements.keywords import KEYWORDS, RESERVED, words

Rename = Callable[[t.Node], str | None]
_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_SIGNS = {"<>": "!=", "and": "AND", "or": "OR"}


def sql(node: t.Node, rename: Rename | None = None) -> str:
    """Returns the expression as DuckDB SQL that means the same: every operator in parentheses,
    names quoted, literals escaped, reals written as DOUBLE.

    Args:
        node: The expression.
        rename: Asked for every node before it is written; the text that it returns, if any, stands
            in the node's place as it is.
    """

    def write(part: t.Node) -> str:
        replacement = rename(part) if rename else None
        return replacement if replacement is not None else _node_text(part, write)

    return write(node)


def quote_name(name: str) -> str:
    """Returns the identifier in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def written_name(name: str) -> str:
    """Returns an identifier as it is written in SQL, quoted only where it must be.

    >>> written_name("income"), written_name("Zip code"), written_name("order")
    ('income', '"Zip code"', '"order"')
    """
    plain = _PLAIN_NAME.fullmatch(name) and name.upper() not in RESERVED
    return name if plain else quote_name(name)


def alter_text(table: str, column: str = "") -> str:
    """Returns how a statement begins that changes a table, or a column of it; for hints.

    >>> alter_text("people", "net pay")
    'ALTER TABLE people ALTER COLUMN "net pay"'
    """
    of_column = f" ALTER COLUMN {written_name(column)}" if column else ""
    return f"ALTER TABLE {written_name(table)}{of_column}"


def literal(value: Value) -> str:
    """Returns the value as a DuckDB literal of its own type."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case int():
            return str(value)
        case float():
            return _real(value)
        case str():
            return "'" + value.replace("'", "''") + "'"
        case dt.datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case dt.time():
            return f"TIME '{value.isoformat()}'"
    return f"DATE '{value.isoformat()}'"


def default_name(item: t.Item) -> str:
    """Returns the name of an output's column: its alias, a bare column's own name, else the text
    that DuckDB would make of the expression, such as `count_star()` or `avg(p.income)`."""
    if isinstance(item.expr, t.Name):
        return item.alias or item.expr.name
    return item.alias or _title(item.expr)


def _title(node: t.Node) -> str:
    match node:
        case t.Name(name, table):
            return ".".join(_shown_name(part) for part in (table, name) if part)
        case t.FunctionCall(name="count", star=True, filter=None):
            return "count_star()"
        case t.FunctionCall(name="count", star=True, filter=kept) if kept is not None:
            return f"count_star() FILTER (WHERE {_title(kept)})"
        case t.CaseWhen(whens, otherwise, operand):
            tests = [t.Binary("=", operand, x) if operand else x for x, _ in whens]
            values = [value for _, value in whens]
            arms = (
                f" WHEN ({_title(x)}) THEN ({_title(y)})"
                for x, y in zip(tests, values, strict=True)
            )
            last = "NULL" if otherwise is None else _title(otherwise)
            return f"CASE {''.join(arms)} ELSE {last} END"
        case t.FunctionCall(name) if name.upper() in _CALLED_LIKE_A_WORD:
            return _call(node, _title, quote_name(name))
        case t.Literal(value=float(value)) if math.isfinite(value):
            return repr(value)
        case t.Literal(value=dt.date() as value):
            kind = "TIMESTAMP" if isinstance(value, dt.datetime) else "DATE"
            return f"CAST('{value}' AS {kind})"
        case t.Literal(value=bool(value)):
            return str(value).lower()
    return _node_text(node, _title)


def _shown_name(name: str) -> str:
    plain = _PLAIN_NAME.fullmatch(name.lower()) and name.upper() not in KEYWORDS
    return name if plain else quote_name(name)


_OF_SYNTAX = RESERVED | words(
    """BETWEEN BIT BY CHAR CHARACTER COALESCE CUBE DEC DECIMAL ESCAPE EXCLUDE EXISTS FILTER FLOAT
    GLOB GROUPING GROUPING_ID ILIKE INTERVAL IS LIKE NCHAR NUMERIC OVER ROLLUP SETS SIMILAR TIME
    TIMESTAMP TRY_CAST VALUES VARCHAR"""
)
_CALLED_LIKE_A_WORD = KEYWORDS - _OF_SYNTAX
INFIX = ("like", "ilike", "~", "similar to", "glob")
"""Functions of two arguments that are written between them."""


def _real(value: float) -> str:
    if not math.isfinite(value):
        return f"CAST('{value}' AS DOUBLE)"
    text = repr(value)
    return text if "e" in text else f"{text}e0"  # Without an exponent it would be a DECIMAL.


def _node_text(node: t.Node, write: Callable[[t.Node], str]) -> str:
    def comma_list(nodes: tuple[t.Node, ...]) -> str:
        return ", ".join(map(write, nodes))

    match node:
        case t.Name(name, table):
            return f"{quote_name(table)}.{quote_name(name)}" if table else quote_name(name)
        case t.Literal(value, stored=stored):
            return f"CAST({literal(value)} AS {stored})" if stored else literal(value)
        case t.Unary(op, arg):
            return f"(NOT {write(arg)})" if op == "not" else f"(-({write(arg)}))"
        case t.Binary(op, left, right):
            return f"({write(left)} {_SIGNS.get(op, op)} {write(right)})"
        case t.IsNull(arg, negated):
            return f"({write(arg)} IS {'NOT ' if negated else ''}NULL)"
        case t.InList(arg, items, negated):
            return _negate(negated, f"{write(arg)} IN ({comma_list(items)})")
        case t.Between(arg, low, high, negated):
            return _negate(negated, f"{write(arg)} BETWEEN {write(low)} AND {write(high)}")
        case t.Cast(arg, type_, try_):
            return f"{'TRY_' if try_ else ''}CAST({write(arg)} AS {type_})"
        case t.CaseWhen():
            return _case(node, write)
        case t.FunctionCall(name, (left, right)) if name in INFIX:
            return f"({write(left)} {name.upper()} {write(right)})"
        case t.FunctionCall(name, (left, right, sign)) if name in ("like", "ilike"):
            return f"({write(left)} {name.upper()} {write(right)} ESCAPE {write(sign)})"
        case t.Span(months, days, micros):
            return f"(to_months({months}) + to_days({days}) + to_microseconds({micros}))"
        case t.Lookup(arg, values, numbers):
            keys, positions = (", ".join(map(literal, x)) for x in (values, numbers))
            return f"list_extract([{positions}], list_position([{keys}], {write(arg)}))"
        case t.Exists() | t.InQuery() | t.Subquery():
            raise Refused(
                "a subquery cannot stand here",
                line=node.pos.line,
                column=node.pos.column,
                hint="a value of another statement can be written as a literal",
            )
    return _call(node, write)


def _negate(negated: bool, text: str) -> str:
    return f"(NOT ({text}))" if negated else f"({text})"


def _case(node: t.CaseWhen, write: Callable[[t.Node], str]) -> str:
    operand = f" {write(node.operand)}" if node.operand is not None else ""
    whens = "".join(f" WHEN {write(test)} THEN {write(then)}" for test, then in node.whens)
    otherwise = f" ELSE {write(node.otherwise)}" if node.otherwise is not None else ""
    return f"CASE{operand}{whens}{otherwise} END"


def _call(node: t.FunctionCall, write: Callable[[t.Node], str], name: str = "") -> str:
    name = name or written_name(node.name)
    inner = "*" if node.star else ", ".join(map(write, node.args))
    distinct = "DISTINCT " if node.distinct else ""
    using = f" USING {node.using}" if node.using else ""
    kept = f" FILTER (WHERE {write(node.filter)})" if node.filter is not None else ""
    return f"{name}({distinct}{inner}{using}){kept}"
