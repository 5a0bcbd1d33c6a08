"""Which calls take a group of rows together."""

from __future__ import annotations

from functools import cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from sqlpriv.dialect.division.value_frequencies import NAMES
from sqlpriv.dialect.marks import function_name

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
