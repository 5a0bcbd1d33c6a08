"""Marks: names in sqlglot's trees that stand for what sqlglot does not know.

A mark holds a NUL character, which no text of a user does. It begins with it where it stands for a
parameter, a constant or our clauses; a function's name ends with it, and with its estimator.
"""

from __future__ import annotations

from functools import lru_cache

import duckdb
from sqlglot import exp

from sqlpriv.statements.keywords import (
    REAL_AVERAGE,
    REAL_QUOTIENT,
    SAME_QUOTIENT,
    SAME_REAL,
    SAME_TEXT,
    SAME_WHOLE,
    TITLES,
    WHOLE_AVERAGE,
    WHOLE_QUOTIENT,
)

MARK = "\0"
SHOWN_NAME = "shown_name"
"""What an output that was rewritten is called, in the `meta` of its node."""
_ALIKE = r'"NULL"|VARCHAR|ENUM.*|UUID|DATE|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?'
_TEXTS = {
    **TITLES,
    SAME_REAL: "(CASE WHEN typeof({x}) SIMILAR TO '.*INT.*'"
    f" THEN error('{WHOLE_AVERAGE}: {REAL_AVERAGE}') ELSE {{x}} END)",
    SAME_WHOLE: "({x})",
    SAME_QUOTIENT: "(CASE WHEN typeof({x}) SIMILAR TO '.*INT.*' AND typeof({y}) SIMILAR TO"
    f" '.*INT.*' THEN error('{WHOLE_QUOTIENT}: {REAL_QUOTIENT}')"
    " ELSE ({x}) / nullif({y}, 0) END)",
    SAME_TEXT: f"(CASE WHEN regexp_full_match(typeof({{x}}), '{_ALIKE}')"
    " THEN CAST({x} AS VARCHAR) ELSE error('dialects write numbers with a point, moments and truth"
    " in different ways: leave the cast to text out') END)",
}
"""What no function of DuckDB's is → its text there; an error where dialects differ."""


def marked_name(node: object) -> str:
    """Returns the mark that a column is; '' of anything else."""
    name = node.this.this if isinstance(node, exp.Column) else ""
    return name if isinstance(name, str) and name.startswith(MARK) else ""


def clauses_mark(node: object) -> str:
    """Returns the mark of our clauses that a SELECT, or its first output, has; else ''."""
    first = next(iter(node.expressions), None) if isinstance(node, exp.Select) else node
    name = marked_name(first)
    return name if name.startswith(f"{MARK}clauses") else ""


def function_name(node: object) -> str:
    """Returns the lower-case name of a function as the user wrote it; '' of anything else."""
    if not isinstance(node, exp.Anonymous):
        return ""
    written = node.this.this if isinstance(node.this, exp.Identifier) else node.this
    return str(written).partition(MARK)[0].lower()


def outputs_of(select: exp.Expr) -> list[exp.Expr]:
    """Returns the outputs of a SELECT, without the mark of our clauses."""
    return [item for item in select.expressions if not clauses_mark(item)]


def copied_clauses(select: exp.Expr) -> list[exp.Expr]:
    """Returns a copy of the mark of our clauses that a SELECT has; [] where it has none."""
    return [item.copy() for item in select.expressions if clauses_mark(item)]


def call_of(aggregate: exp.Expr) -> exp.Expr:
    """Returns the call of an aggregate, without the FILTER behind it."""
    call: exp.Expr = aggregate.this if isinstance(aggregate, exp.Filter) else aggregate
    return call


def duckdb_call(name: str, *args: exp.Expr) -> exp.Expr:
    """Returns a call of a function of DuckDB's."""
    return exp.Anonymous(this=name, expressions=list(args))


def row_count() -> exp.Expr:
    """Returns COUNT(*)."""
    return duckdb_call("count", exp.Star())


def duckdb_text(tree: exp.Expr) -> str:
    """Returns a tree as DuckDB's SQL, without marks and without clauses of ours."""
    own = tree.transform(_without_marks)  # a copy, which the generator may change
    return own.sql("duckdb", copy=False, comments=False)


def _without_marks(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Select) and clauses_mark(node):
        node.set("expressions", node.expressions[1:])
    elif isinstance(node, exp.WithinGroup):  # sqlglot writes it so for functions that it knows
        order = duckdb_text(node.args["expression"]).strip()
        return exp.Var(this=f"{duckdb_text(node.this)} WITHIN GROUP ({order})")
    elif isinstance(node, exp.IgnoreNulls | exp.RespectNulls):  # … and leaves these words out
        word = "IGNORE NULLS" if isinstance(node, exp.IgnoreNulls) else "RESPECT NULLS"
        text = duckdb_text(node.this)
        inside = f"{text[:-1]} {word})" if function_name(node.this) else f"{text} {word}"
        return exp.Var(this=inside)
    elif isinstance(node, exp.Distinct) and len(node.expressions) > 1 and not node.args.get("on"):
        return exp.Var(this=f"DISTINCT {', '.join(map(duckdb_text, node.expressions))}")
    elif function_name(node) in _TEXTS:
        text = _TEXTS[function_name(node)]
        arguments = map(duckdb_text, node.expressions)
        return exp.Var(this=text.format(**dict(zip("xy", arguments, strict=False))))
    elif mark := marked_name(node):
        return exp.Var(this=mark.removeprefix(MARK))
    elif isinstance(node, exp.Anonymous | exp.Identifier) and isinstance(node.this, str):
        node.set("this", node.this.partition(MARK)[0])
    return node


def duckdb_name(node: exp.Expr) -> str:
    """Returns what DuckDB would call the column of an output."""
    text = duckdb_text(node)
    return name_of_text(text) or text


@lru_cache(1_024)
def name_of_text(text: str) -> str:
    """Returns what DuckDB calls the column of an output of that text; '' where it reads none.

    >>> name_of_text("COUNT(*) + 1")
    '(count_star() + 1)'
    """
    try:
        return duckdb.SQLExpression(text).get_name()
    except duckdb.Error:
        return ""
