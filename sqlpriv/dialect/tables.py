"""Which tables a query names that only DuckDB can run: sqlglot takes it apart.

This is the one use of sqlglot. Nothing of its parser or tokenizer is subclassed or patched, so the
pure-Python and the compiled build (`sqlglot[c]`) do equally well. Where it fails, every name of the
text is given: too many tables refuse a statement, too few would let one through.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqlpriv.dialect.names import names, ordered
from sqlpriv.dialect.tokens import Token

_MOST = 500
"""Of any one keyword or bracket: sqlglot recurses, in its compiled build on the C stack."""

_WRITES = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop, exp.Copy,
           exp.Alter, exp.Command, exp.Set, exp.Pragma, exp.Attach, exp.Detach,
           exp.TruncateTable)  # fmt: skip


def of_query(text: str, tokens: Sequence[Token]) -> tuple[tuple[str, ...], bool]:
    """Returns the tables that a query names, and whether it is known to read only.

    Args:
        text: One statement beginning with SELECT, WITH, FROM, VALUES, TABLE, PIVOT or `(`.
        tokens: Its tokens.
    """
    if not _within_reach(tokens):
        return names(tokens), False
    try:
        trees = sqlglot.parse(text, read="duckdb")
        (tree,) = trees
        if tree is None:
            return names(tokens), False
        reads_only = isinstance(tree, exp.Query | exp.Pivot | exp.Values | exp.Subquery) and (
            tree.find(*_WRITES) is None
        )
        return ordered(_tables(tree, text)), reads_only
    except (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, LookupError):
        return names(tokens), False  # sqlglot meets odd text with more than its own errors.


def _within_reach(tokens: Sequence[Token]) -> bool:
    counts: dict[str, int] = {}
    for token in tokens:
        word = token.upper
        if word not in (",", ".", "=", "-", "+", "AND", "OR", ""):
            counts[word] = counts.get(word, 0) + 1
    signs = max((counts.get(sign, 0) for sign in ("[", "{", "FROM", "JOIN", "(", "NOT")), default=0)
    return signs <= _MOST


def _tables(tree: exp.Expr, text: str) -> Iterable[str]:
    for table in tree.find_all(exp.Table):
        source = table.this
        if not isinstance(source, exp.Identifier):
            yield f"{_written(source, text)}()"
        elif text[source.meta.get("start", 0)] == "'":
            yield f"'{source.name}'"
        elif table.args.get("db") or not _is_common(table, source.name.lower()):
            yield source.name.lower()


def _written(function: exp.Expr, text: str) -> str:
    """Returns a table function's name as the user wrote it: sqlglot has its own for some."""
    if "start" in function.meta:
        return text[function.meta["start"] : function.meta["end"] + 1].lower()
    return function.sql_name().lower() if isinstance(function, exp.Func) else "?"


def _is_common(table: exp.Table, name: str) -> bool:
    """Whether the name means a common table expression that is in scope where it stands.

    Inside the WITH itself those written before are in scope; a recursive one also in the second
    half of its own UNION. Elsewhere, DuckDB reads the stored table of that name.
    """
    inside: exp.Expr = table
    while (outer := inside.parent) is not None:
        if any(cte.alias.lower() == name for cte in _in_scope(outer, inside)):
            return True
        if isinstance(outer, exp.SetOperation) and inside is outer.expression:
            cte = outer.parent
            if isinstance(cte, exp.CTE) and cte.alias.lower() == name and _recursive(cte):
                return True
        inside = outer
    return False


def _in_scope(outer: exp.Expr, inside: exp.Expr) -> Iterable[exp.Expr]:
    """Returns the common table expressions that `outer` brings to its part `inside`."""
    if isinstance(outer, exp.With):
        return takewhile(lambda cte: cte is not inside, outer.expressions)
    with_ = outer.args.get("with_")
    return with_.expressions if with_ is not None and with_ is not inside else ()


def _recursive(cte: exp.CTE) -> bool:
    return isinstance(cte.parent, exp.With) and bool(cte.parent.args.get("recursive"))
