"""Which part of FROM a column is of, as far as names tell."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from sqlpriv.dialect.common_tables import bare_name, common_table
from sqlpriv.dialect.division.named_terms import output_name
from sqlpriv.dialect.division.outer_keys import ColumnsOf
from sqlpriv.dialect.marks import MARK, clauses_mark, marked_name


def alias_of(source: exp.Expr) -> str:
    """Returns the lower-case alias of a part of FROM, or its name; '' where it has none."""
    return source.alias_or_name.partition(MARK)[0].lower()


def column_names(source: exp.Expr, columns_of: ColumnsOf) -> Collection[str] | None:
    """Returns the lower-case names of the columns of a part of FROM; None where it cannot be told.

    Args:
        source: A table, a query of WITH, a subquery, VALUES or a table function.
        columns_of: The columns of a stored table, by its lower-case name; None of another.
    """
    alias = source.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.columns:
        return identifier_names(alias.columns)
    if isinstance(source, exp.Table):
        if not isinstance(source.this, exp.Identifier):
            return None
        cte = common_table(source)
        if cte is None:
            return columns_of(bare_name(source))
        return identifier_names(cte.args["alias"].columns) or _output_names(cte.this, columns_of)
    if isinstance(source, exp.Subquery | exp.Lateral):
        return _output_names(source.this, columns_of)
    return None


def _output_names(query: exp.Expr, columns_of: ColumnsOf) -> list[str] | None:
    query = query.unnest() if isinstance(query, exp.Subquery) else query
    while isinstance(query, exp.SetOperation):
        query = query.left.unnest() if isinstance(query.left, exp.Subquery) else query.left
    if not isinstance(query, exp.Select):
        return None
    items = [item for item in query.expressions if not clauses_mark(item)]
    if len(items) == 1 and isinstance(items[0], exp.Star):
        source = query.args.get("from_")
        if source is None or query.args.get("joins") or items[0].args.get("except_"):
            return None
        of_source = column_names(source.this, columns_of)
        return None if of_source is None else list(of_source)
    if any(item.is_star for item in items):
        return None
    return [output_name(item).partition(MARK)[0].lower() for item in items]


def identifier_names(identifiers: Collection[exp.Expr]) -> list[str]:
    """Returns the lower-case names of columns behind an alias, without marks."""
    return [str(name.name).partition(MARK)[0].lower() for name in identifiers]


def columns_in(node: exp.Expr) -> list[exp.Column]:
    """Returns the columns in an expression, constants and parameters left out."""
    return [column for column in node.find_all(exp.Column) if not marked_name(column)]


def conjuncts_of(condition: exp.Expr | None) -> list[exp.Expr]:
    """Returns the conditions that are all true where one is."""
    if condition is None or is_true(condition):
        return []
    return list(condition.flatten()) if isinstance(condition, exp.And) else [condition]


def is_true(condition: exp.Expr) -> bool:
    """Returns whether a condition is TRUE as written."""
    if isinstance(condition, exp.Boolean):
        return bool(condition.this)
    return marked_name(condition).upper() == f"{MARK}TRUE"
