"""Spark's `GROUP BY window(x, '15 minutes')`, whose key is a pair: where it begins and ends."""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.dialect.foreign.writers.function_writers import Arguments
from sqlpriv.dialect.marks import duckdb_call, function_name

BEGINNING = "start_of_window"
"""The function that stands for `window(…).start` until the tree is rewritten."""
_ENDS = ("start", "end")


def write_time_windows(tree: exp.Expr) -> None:
    """Writes the window that a SELECT groups by as the bucket where it begins, and its `start` and
    `end` as that moment and one width later; in place.

    Windows that overlap, and a pair that is shown as a whole, stay as they are and are refused.
    """
    for select in list(tree.find_all(exp.Select)):
        group = select.args.get("group")
        named = {item.alias.lower(): item.unalias() for item in select.expressions if item.alias}
        for key in list(group.expressions) if group is not None else []:
            name = key.name.lower() if isinstance(key, exp.Column) else ""
            window = named.get(name, key) if name else key
            arguments = window.expressions if function_name(window) == "window" else []
            if len(arguments) == 2 and isinstance(arguments[1], exp.Literal):
                _write_window(select, window.copy(), {"window", name} - {""})
                key.replace(_beginning(window))


def _write_window(select: exp.Expr, window: exp.Expr, names: set[str]) -> None:
    """Writes the ends of a window wherever a SELECT names them; `names` are those of the pair."""
    for node in list(select.find_all(exp.Column, exp.Dot)):
        end = node.name.lower()
        is_named = isinstance(node, exp.Column) and node.table.lower() in names
        if end in _ENDS and (is_named or node.this == window):
            moment = _beginning(window)
            if end == "end":
                width = exp.Interval(this=window.expressions[1].copy())
                moment = exp.Paren(this=exp.Add(this=moment, expression=width))
            in_output = isinstance(node.parent, exp.Select)
            node.replace(exp.alias_(moment, end, quoted=True) if in_output else moment)


def _beginning(window: exp.Expr) -> exp.Expr:
    return duckdb_call(BEGINNING, *(argument.copy() for argument in window.expressions))


def beginning_of_window(args: Arguments) -> exp.Expr | None:
    """Writes the call that stands for a window's `start`: windows are counted from 1970 on."""
    moment, width = args
    origin = exp.cast(exp.Literal.string("1970-01-01"), "TIMESTAMP")
    return duckdb_call("time_bucket", exp.Interval(this=width), moment, origin)
