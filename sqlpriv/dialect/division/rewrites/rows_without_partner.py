"""What an expression is on a row of LEFT JOIN without a private partner, whose columns are NULL.

    score + 1, CASE WHEN score > 3 THEN 1 END               ──► NULL
    score > 3, score > 3 AND day IS NULL                    ──► not true
    COUNT(score), COUNT(*) FILTER (WHERE score > 3)         ──► such a row adds nothing
    SUM(CASE WHEN score > 3 THEN 1 ELSE 0 END)              ──► such a row adds 0
    COUNT(*), SUM(coalesce(score, 7))                       ──► such a row would count

A claim here that is False says only that nothing is known: the query is then left as it is.
"""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.dialect.division.joins.column_owners import SidesOfJoin, columns_in
from sqlpriv.dialect.division.terms.named_terms import is_aggregate
from sqlpriv.dialect.marks import call_of, function_name, marked_name

_NULL_OF_NULL = (exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Cast, exp.Literal)


def adds_nothing_without_partner(aggregate: exp.Expr, sides: SidesOfJoin) -> bool:
    """Returns whether a row without a partner adds nothing to an aggregate, or 0 to a sum."""
    if not all(map(sides.is_private, _parts_with_columns(aggregate))):
        return False
    if isinstance(aggregate, exp.Filter):
        test = aggregate.expression.this
        if sides.is_private(test) and is_not_true_of_null(test):
            return True
    argument = _first_argument(aggregate)
    if argument is None or not columns_in(argument):
        return False
    if function_name(call_of(aggregate)) == "error":
        return is_aggregate(argument) and adds_nothing_without_partner(argument, sides)
    return is_null_of_null(argument) or adds_zero(aggregate)


def adds_zero(aggregate: exp.Expr) -> bool:
    """Returns whether an aggregate is SUM(CASE WHEN … THEN … ELSE 0 END), ELSE being of NULLs."""
    case = _first_argument(aggregate)
    if function_name(call_of(aggregate)) != "sum" or not isinstance(case, exp.Case):
        return False
    default = case.args.get("default")
    return _falls_to_default(case) and default is not None and default.name == "0"


def is_null_of_null(node: exp.Expr) -> bool:
    """Returns whether an expression is NULL where all its columns are."""
    if isinstance(node, exp.Column):
        return True
    if isinstance(node, exp.Case):
        return _falls_to_default(node) and node.args.get("default") is None
    return isinstance(node, _NULL_OF_NULL) and all(
        is_null_of_null(child)
        for child in node.iter_expressions()
        if not isinstance(child, exp.DataType)
    )


def is_not_true_of_null(test: exp.Expr) -> bool:
    """Returns whether a condition is not true where all its columns are NULL."""
    match test:
        case exp.Paren():
            return is_not_true_of_null(test.this)
        case exp.And():
            return any(map(is_not_true_of_null, (test.left, test.right)))
        case exp.Or():
            return all(map(is_not_true_of_null, (test.left, test.right)))
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE() | exp.Like():
            return any(is_null_of_null(x) and columns_in(x) for x in (test.left, test.right))
        case exp.Between() | exp.In():
            return is_null_of_null(test.this) and bool(columns_in(test.this))
    return isinstance(test, exp.Column) and not marked_name(test)


def _falls_to_default(case: exp.Case) -> bool:
    """Returns whether no branch of CASE is taken where all its columns are NULL."""
    tests = [branch.this for branch in case.args["ifs"]]
    return case.this is None and all(map(is_not_true_of_null, tests))


def _parts_with_columns(aggregate: exp.Expr) -> list[exp.Expr]:
    """Returns the parts of an aggregate that have columns: its call, and its filter."""
    is_filtered = isinstance(aggregate, exp.Filter)
    parts = [aggregate.this, aggregate.expression] if is_filtered else [aggregate]
    return [part for part in parts if columns_in(part)]


def _first_argument(aggregate: exp.Expr) -> exp.Expr | None:
    """Returns the first argument of an aggregate, without DISTINCT; None where it has none."""
    call = call_of(aggregate)
    first = next(iter(call.expressions), None) if function_name(call) else None
    if isinstance(first, exp.Distinct) and first.expressions:
        counted: exp.Expr = first.expressions[0]
        return counted
    return first
