"""How the columns of a part, and its expressions, are named."""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.dialect.marks import MARK, duckdb_text, function_name


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


def output_name(item: exp.Expr) -> str:
    """Returns the name of an output's column; without an alias what DuckDB would make of it."""
    if isinstance(item, exp.Alias | exp.Column):
        return item.alias_or_name
    return duckdb_name(item)


def duckdb_name(node: exp.Expr) -> str:
    return duckdb_text(node).lower().replace("count(*)", "count_star()")
