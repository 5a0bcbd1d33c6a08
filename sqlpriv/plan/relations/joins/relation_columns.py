"""The columns of a relation, which of them are unique, and how long they are; what joins join."""

from __future__ import annotations

from collections.abc import Mapping

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.kernel.terms.operations import conjuncts
from sqlpriv.plan.expressions.facts.conditions import parts_within
from sqlpriv.plan.relations.joins.named_rows import YES

Contracts = Mapping[str, TableContract]


def joined_parts(relation: a.Relation) -> tuple[list[a.Relation], list[a.Expr]]:
    """Returns what inner joins join, from left to right, and the condition of each join."""
    if not (isinstance(relation, a.Join) and relation.kind == "inner"):
        return [relation], []
    (left, first), (right, second) = map(joined_parts, (relation.left, relation.right))
    return left + right, [*first, *second, relation.on]


def join_tests(on: a.Expr) -> list[a.Expr]:
    return [] if on == YES else conjuncts(on)


def column_names(relation: a.Relation, contracts: Contracts) -> frozenset[str]:
    """Returns the lower-case names of a relation's columns."""
    match relation:
        case a.Scan(table, prefix):
            return frozenset((prefix + c.name).lower() for c in contracts[table.lower()].columns)
        case a.Derive(source, new, _):
            return column_names(source, contracts) | {new.lower()}
        case a.Join(left, _, _, "semi" | "anti"):
            return column_names(left, contracts)
        case a.Join(left, right):
            return column_names(left, contracts) | column_names(right, contracts)
        case a.Union(names):
            return frozenset(map(str.lower, names))
        case a.PerUnit(_, keys, folds, unit):
            columns = (*(key for key, _ in keys), *(fold.name for fold in folds), unit)
            return frozenset(map(str.lower, filter(None, columns)))
    return column_names(relation.source, contracts)


def unique_columns(relation: a.Relation, contracts: Contracts) -> frozenset[str]:
    """Returns the lower-case names of stored columns of which no two rows share a value."""
    match relation:
        case a.Scan(table, prefix):
            return frozenset((prefix + c).lower() for c in contracts[table.lower()].unique)
        case a.Where(source) | a.Derive(source) | a.Bounded(source):
            return unique_columns(source, contracts)
        case a.Join(left, _, _, "semi" | "anti"):
            return unique_columns(left, contracts)
    return frozenset()


def holds_filter(relation: a.Relation) -> bool:
    match relation:
        case a.Where() | a.Join():
            return True
        case a.Derive(source) | a.Bounded(source):
            return holds_filter(source)
    return False


def holds_join(relation: a.Relation) -> bool:
    match relation:
        case a.Join():
            return True
        case a.Where(source) | a.Derive(source) | a.Bounded(source):
            return holds_join(source)
    return False


def columns_written(relation: a.Relation) -> dict[str, int]:
    """Returns, by lower-case name of each computed column, how many columns it reads in the text
    that the engine runs: there a computed column that is read stands as its whole expression.

    >>> doubled = a.Call("+", (a.Col("q"), a.Col("q")))
    >>> columns_written(a.Derive(a.Derive(a.Scan("t"), "q", a.Col("x")), "r", doubled))
    {'q': 1, 'r': 2}
    """
    match relation:
        case a.Derive(source, new, expr):
            written = columns_written(source)
            return {**written, new.lower(): count_written(expr, written)}
        case a.Where(source) | a.Bounded(source) | a.Join(source, _, _, "semi" | "anti"):
            return columns_written(source)
        case a.Join(left, right):
            return {**columns_written(left), **columns_written(right)}
    return {}


def count_written(expr: object, written: Mapping[str, int]) -> int:
    """Returns how many columns an expression reads, by `columns_written`'s count."""
    if isinstance(expr, a.Col):
        return written.get(expr.name.lower(), 1)
    return sum(count_written(part, written) for part in parts_within(expr))
