"""Terms of a query: which take a group of rows together, its keys, and how columns are named."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from sqlpriv.dialect.common_tables import bare_name, common_table
from sqlpriv.dialect.division.terms.parts import NotDivisible, own_nodes
from sqlpriv.dialect.division.terms.stored_tables import StoredTables
from sqlpriv.dialect.division.terms.value_frequencies import NAMES
from sqlpriv.dialect.marks import (
    MARK,
    SHOWN_NAME,
    duckdb_name,
    function_name,
    marked_name,
    outputs_of,
)

_QUANTILES = ("approx_quantiles", "quantiles")
_KNOWN = frozenset(("error", *_QUANTILES)) | NAMES
"""ERROR, which stands around an aggregate and belongs to the private query, and aggregates that
sqlglot does not know."""


def is_aggregate(node: exp.Expr) -> bool:
    """Returns whether a node is an aggregate, with what may stand behind one."""
    if isinstance(node, exp.Bracket):  # one of a list of quantiles
        return function_name(node.this) in _QUANTILES
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
    if isinstance(item, exp.Alias | exp.Column) and not marked_name(item):
        return item.alias_or_name
    return item.meta.get(SHOWN_NAME) or duckdb_name(item)


def name_outputs(tail: exp.Expr) -> None:
    """Gives outputs that were rewritten the names that they had."""
    for select in tail.find_all(exp.Select):
        for item in select.expressions:
            if SHOWN_NAME in item.meta and not isinstance(item, exp.Alias):
                item.replace(with_alias(item, item.meta[SHOWN_NAME]))


def column_names(source: exp.Expr, tables: StoredTables | None = None) -> list[str] | None:
    """Returns the names of the columns of a part of FROM; None where they cannot be told.

    Args:
        source: A table, a query of WITH, a subquery, VALUES or a table function.
        tables: Tells the columns of stored tables, in lower case.
    """
    alias = source.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.columns:
        return [name.name for name in alias.columns]
    if isinstance(source, exp.Subquery | exp.Lateral):
        return output_names(source.this, tables)
    if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
        return None
    if (cte := common_table(source)) is not None:
        return [x.name for x in cte.args["alias"].columns] or output_names(cte.this, tables)
    names = None if tables is None else tables.columns_of(bare_name(source))
    return None if names is None else list(names)


def output_names(query: exp.Expr, tables: StoredTables | None = None) -> list[str] | None:
    """Returns the names of a query's columns; None where they cannot be told. See `column_names`.

    Of a set operation the first query names the columns."""
    query = query.unnest()
    while isinstance(query, exp.SetOperation):
        query = query.left.unnest()
    items = outputs_of(query) if isinstance(query, exp.Select) else []
    if len(items) == 1 and isinstance(items[0], exp.Star):
        source = query.args.get("from_")
        if source is None or query.args.get("joins") or items[0].args.get("except_"):
            return None
        return column_names(source.this, tables)
    return None if not items or any(x.is_star for x in items) else list(map(output_name, items))


def distinct_output_names(query: exp.Expr) -> list[str] | None:
    """Returns the names of a query's columns, told without stored tables; None of equal ones."""
    names = output_names(query)
    return names if names and len({*map(str.lower, names)}) == len(names) else None


def group_terms(select: exp.Select) -> list[exp.Expr]:
    """Returns the keys of GROUP BY: numbers are the outputs of these places, and ALL are those that
    are no aggregates.

    Raises:
        NotDivisible: There is no GROUP BY, or it has sets of keys.
    """
    group, outputs = select.args.get("group"), outputs_of(select)
    if group is None or {name for name, x in group.args.items() if x} - {"expressions", "all"}:
        raise NotDivisible("no keys, or sets of them")
    if group.args.get("all"):
        plain = [item for item in outputs if not any(map(is_aggregate, own_nodes(item)))]
        return [item.unalias() for item in plain]
    return [term_of_number(term, outputs) for term in group.expressions]
