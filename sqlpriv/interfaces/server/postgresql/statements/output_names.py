"""What PostgreSQL calls outputs that a query does not name."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CALL = re.compile(r'"?([a-z_][a-z0-9_]*)"?\(')
_EXPRESSION = re.compile(r"\(.*\)|'.*'|[-+.0-9].*", re.DOTALL)


def output_name(name: str) -> str:
    """Returns PostgreSQL's name for a column that DuckDB named by its text: a call by its function,
    another expression as `?column?`.

    >>> [output_name(x) for x in ("avg(income)", "count_star()", "(7 // 2)", "1", "income")]
    ['avg', 'count', '?column?', '?column?', 'income']
    """
    if call := _CALL.match(name):
        return "count" if call[1] == "count_star" else call[1]
    return "?column?" if _EXPRESSION.fullmatch(name) else name


def output_names(names: Iterable[str]) -> list[str]:
    """Returns PostgreSQL's names for the columns of an answer; `…_error` stays behind its column's.

    >>> output_names(["sum(x)", "sum(x)_error"])
    ['sum', 'sum_error']
    """
    suffix = "_error"
    return [
        output_name(name.removesuffix(suffix)) + suffix
        if name.endswith(suffix)
        else output_name(name)
        for name in names
    ]
