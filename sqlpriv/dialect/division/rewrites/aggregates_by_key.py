"""Aggregates over the rows of several keys, out of what each key has in the subquery `__kept`.

    COUNT(x)  ──► CAST(coalesce(SUM(value0), 0) AS BIGINT), value0 being COUNT(x) of each key
    SUM(x)    ──► SUM(value0)
    AVG(x)    ──► CASE WHEN SUM(value0n) > 0 THEN SUM(value0s) / SUM(value0n) END

Where a group has one key, `any_value(value0)` stands for SUM(value0): any aggregate may be
written so.
"""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.dialect.division.rewrites.rows_without_partner import adds_zero
from sqlpriv.dialect.marks import call_of, duckdb_call, function_name

BY_KEY = "__kept"
"""The alias of the subquery that has a row for each key."""
_MEANS = ("avg", "mean")


def adds_up(aggregate: exp.Expr) -> bool:
    """Returns whether what two keys have together follows from what each has."""
    call = call_of(aggregate)
    plain = len(call.expressions) == 1 and not isinstance(call.expressions[0], exp.Distinct)
    return plain and function_name(call) in ("count", "sum", *_MEANS)


def addends(aggregate: exp.Expr) -> dict[str, exp.Expr]:
    """Returns what is asked for of each key, by the end of its column's name.

    `AVG(x)` → `{"s": SUM(x), "n": COUNT(x)}`; another aggregate → itself, with no end.
    """
    if function_name(call_of(aggregate)) not in _MEANS:
        return {"": aggregate.copy()}
    return {end: _call_named(aggregate, name) for end, name in (("s", "sum"), ("n", "count"))}


def _call_named(aggregate: exp.Expr, name: str) -> exp.Expr:
    written = aggregate.copy()
    call_of(written).set("this", name)
    return written


def aggregate_of_all_keys(aggregate: exp.Expr, name: str) -> exp.Expr:
    """Returns an aggregate over all keys of a group.

    Args:
        aggregate: One that `adds_up`.
        name: The column of its addends, without their ends.
    """

    def total(column: str) -> exp.Expr:
        return duckdb_call("sum", exp.column(column, table=BY_KEY))

    if function_name(call_of(aggregate)) not in _MEANS:
        return _without_null(aggregate, total(name))
    count = total(f"{name}n")
    mean = exp.Div(this=total(f"{name}s"), expression=count.copy())
    is_positive = exp.GT(this=count, expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=is_positive, true=mean)])


def aggregate_of_one_key(aggregate: exp.Expr, name: str) -> exp.Expr:
    """Returns an aggregate of the one key that a group has, which is in the column `name`."""
    value = duckdb_call("any_value", exp.column(name, table=BY_KEY))
    return _without_null(aggregate, value)


def _without_null(aggregate: exp.Expr, value: exp.Expr) -> exp.Expr:
    """Returns the value of an aggregate: 0 where a count, or a sum with ELSE 0, has no rows."""
    is_count = function_name(call_of(aggregate)) == "count"
    if not is_count and not adds_zero(aggregate):
        return value
    number = duckdb_call("coalesce", value, exp.Literal.number(0))
    return exp.cast(number, exp.DType.BIGINT) if is_count else number
