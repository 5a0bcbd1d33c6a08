"""A row expression over lists of values as a CASE: each row of the lists with its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type, Value
from sqlpriv.plan.expressions.facts.value_facts import Shape


@dataclass(frozen=True)
class ListedPart:
    """A part of an expression, whose values are listed: a column, or year(x) of a moment.

    Attributes:
        expr: What the kernel computes of a row.
        shape: Its type and, of a number, its interval, to which a row's value is clamped.
        values: All that it can be; None stands for NULL.
    """

    expr: a.Expr
    shape: Shape
    values: tuple[Value, ...]


def as_case(
    parts: Sequence[ListedPart],
    rows: Sequence[tuple[Value, ...]],
    results: Sequence[a.Lit],
) -> a.Expr:
    """Returns the CASE that gives each row of the lists its result, and NULL to all others.

    Args:
        parts: At least one.
        rows: Combinations of values, each with one value for each part, in their order.
        results: The result for each of `rows`, at least one, all of one type.
    """
    type_ = results[0].type
    cells: dict[Value, list[tuple[Value, ...]]] = {}
    for row, result in zip(rows, results, strict=True):
        if result.value is not None:
            cells.setdefault(result.value, []).append(row)
    whens = tuple((is_one_of(parts, alike), a.Lit(value, type_)) for value, alike in cells.items())
    case = a.Case(whens, a.Lit(None, type_))
    return a.Call("real", (case,)) if type_ is Type.REAL else case


def is_one_of(parts: Sequence[ListedPart], rows: Sequence[tuple[Value, ...]]) -> a.Expr:
    """Returns the test whether a row's parts have the values of one of some combinations.

    Combinations that differ in the last value alone are one IN.

    Args:
        parts, rows: As those of `as_case`; at least one row.
    """
    by_first: dict[tuple[Value, ...], list[Value]] = {}
    for row in rows:
        by_first.setdefault(row[:-1], []).append(row[-1])
    tests = [
        _all_of(
            [
                *(_has_value(part, [v]) for part, v in zip(parts, first, strict=False)),
                _has_value(parts[-1], last),
            ]
        )
        for first, last in by_first.items()
    ]
    return tests[0] if len(tests) == 1 else a.Call("or", tuple(tests))


def _all_of(tests: Sequence[a.Expr]) -> a.Expr:
    return tests[0] if len(tests) == 1 else a.Call("and", tuple(tests))


def _has_value(part: ListedPart, values: Sequence[Value]) -> a.Expr:
    """Returns whether a part has one of the values: a column clamped to its interval, if any."""
    arg = part.expr
    if isinstance(arg, a.Col) and part.shape.lower is not None:
        arg = a.Call("coalesce", (arg,))
    present = tuple(value for value in values if value is not None)
    tests: list[a.Expr] = [a.In(arg, present)] if present else []
    if None in values:
        tests.append(a.Call("is null", (arg,)))
    return tests[0] if len(tests) == 1 else a.Call("or", tuple(tests))
