"""Terms of a query: which take a group of rows together, and how columns and terms are named."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from sqlpriv.dialect.division.parts import NotDivisible
from sqlpriv.dialect.division.value_frequencies import NAMES
from sqlpriv.dialect.marks import MARK, SHOWN_NAME, duckdb_name, function_name, marked_name

_OURS = ("error",)
"""Functions of our own that stand around an aggregate and belong to the private query."""
_KNOWN = frozenset(_OURS) | NAMES


def is_aggregate(node: exp.Expr) -> bool:
    """Returns whether a node is an aggregate, with what may stand behind one."""
    return isinstance(node, exp.Filter | exp.WithinGroup) or _aggregates(function_name(node))


@cache
def _aggregates(name: str) -> bool:
    """Returns whether a function of that name takes a group together, as sqlglot knows it."""
    if name in _KNOWN or not name.isidentifier():
        return name in _KNOWN
    try:
        text = f"{name}(x, x)"
        call = sqlglot.parse_one(text, read="duckdb", error_level=ErrorLevel.IGNORE)
    except (SqlglotError, LookupError):  # a function that takes other arguments
        return False
    return call.find(exp.AggFunc, exp.Grouping) is not None


def with_alias(node: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(node.copy(), name, quoted=True)


def is_same_name(one: str, other: str) -> bool:
    return one.lower() == other.lower()


def common_text(node: exp.Expr) -> str:
    """Returns what two spellings of an expression have in common."""
    return node.transform(_in_lower_case).sql("duckdb", comments=False)


def _in_lower_case(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Identifier) and not node.args.get("quoted"):
        node.set("this", str(node.this).lower())
    elif name := function_name(node):
        node.set("this", name + str(node.this).partition(MARK)[2])
    return node


def term_of_number(term: exp.Expr, items: Sequence[exp.Expr]) -> exp.Expr:
    """Returns a term of GROUP BY; for a number, the output of that place.

    Raises:
        NotDivisible: There is no such output.
    """
    if not isinstance(term, exp.Literal) or term.is_string or not term.name.isdecimal():
        return term
    if not 1 <= int(term.name) <= len(items):
        raise NotDivisible("no such output")
    output: exp.Expr = items[int(term.name) - 1].unalias()
    return output


def conjuncts_of(condition: exp.Expr | None) -> list[exp.Expr]:
    """Returns the conditions that are all true where one is."""
    if condition is None or _is_true(condition):
        return []
    return list(condition.flatten()) if isinstance(condition, exp.And) else [condition]


def _is_true(condition: exp.Expr) -> bool:
    """Returns whether a condition is TRUE as written."""
    if isinstance(condition, exp.Boolean):
        return bool(condition.this)
    return marked_name(condition).upper() == f"{MARK}TRUE"


def output_name(item: exp.Expr) -> str:
    """Returns the name of an output's column; without an alias what DuckDB would make of it."""
    if isinstance(item, exp.Alias | exp.Column):
        return item.alias_or_name
    return item.meta.get(SHOWN_NAME) or duckdb_name(item)
