"""What is known of the rows that a condition leaves, and what a table's columns identify."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract, Type, Value
from sqlpriv.plan.expressions.facts.value_facts import Shape
from sqlpriv.statements.keywords import TURNED

_PART = "part "


def facts_after_where(
    predicate: a.Expr, scope: Mapping[str, Shape]
) -> tuple[dict[str, Shape], frozenset[str]]:
    """Returns the columns' shapes behind a WHERE, and the columns that surely hold a value.

    `IS NOT NULL` leaves no NULL; a comparison of a date with a literal narrows its interval (of
    numbers, too, within the declared one).
    """
    facts, present = dict(scope), set[str]()
    for column, (low, high) in _comparison_ends(predicate, scope).items():
        facts[column] = facts[column].within(low, high)
    for part in flatten("and", predicate):
        match part:
            case a.Call("not", (a.Call("is null", (a.Col(name),)),)):
                shape = facts[name.lower()]
                values = shape.values and tuple(v for v in shape.values if v is not None)
                facts[name.lower()] = replace(shape, nullable=False, values=values)
                if shape.type is not Type.REAL:  # a NaN is not NULL, and no value either
                    present.add(name.lower())
    return facts, frozenset(present)


def identities(contract: TableContract) -> dict[str, frozenset[str]]:
    """Returns what the values of a private table's columns identify; see `Binder.named`.

    A column of a key of several identifies a part of the unit: `part 1 of 2`.
    """
    identified: dict[str, set[str]] = {}
    unit, via = contract.unit, contract.via
    if unit is None:
        return {}
    for column in contract.unique:
        identified.setdefault(column, set()).add(f"{contract.table.lower()}.{column}")
    if via is None:
        count = len(unit.columns)
        for number, column in enumerate(unit.columns, 1):
            part = f"{_PART}{number} of {count}" if count > 1 else ""
            identified.setdefault(column.lower(), set()).add(part)
    else:
        identified.setdefault(via.column.lower(), set()).add(f"{via.table}.{via.parent}".lower())
    return {column: frozenset(ids) for column, ids in identified.items()}


def whole_identities(identified: Iterable[str]) -> frozenset[str]:
    """Returns what columns identify together: a unit of whose key all parts are there is one.

    >>> sorted(whole_identities({"part 1 of 2", "orders.id"}))
    ['orders.id']
    >>> whole_identities({"part 1 of 2", "part 2 of 2"})
    frozenset({''})
    """
    parts = {one for one in identified if one.startswith(_PART)}
    counts = [int(part.rpartition(" ")[2]) for part in parts]
    whole = {""} if counts and len(parts) == counts[0] else set()
    return frozenset({*identified} - parts | whole)


def row_names(contract: TableContract | None) -> tuple[str, frozenset[str]]:
    """Returns a column that tells the rows of a table apart and is never NULL, '' for none, and the
    columns that name a row's unit, in lower case."""
    if contract is None:
        return "", frozenset()
    required = {c.name.lower() for c in contract.columns if c.required}
    identified = identities(contract).items()
    units = frozenset(name.lower() for name, what in identified if whole_identities(what))
    return next(iter(sorted(contract.unique & required)), ""), units


def demanded_values(predicate: a.Expr) -> dict[a.Expr, tuple[Value, ...]]:
    """Returns expressions with the values of which each row that passes has one."""
    match predicate:
        case a.Call("and", args):
            demanded: dict[a.Expr, tuple[Value, ...]] = {}
            for arg in args:
                for expr, values in demanded_values(arg).items():
                    demanded[expr] = tuple(v for v in demanded.get(expr, values) if v in values)
            return demanded
        case a.Call("or", args):
            sides = [demanded_values(arg) for arg in args]
            shared = set.intersection(*map(set, sides))
            return {e: tuple(dict.fromkeys(v for s in sides for v in s[e])) for e in shared}
        case a.Call("=", (expr, a.Lit(value)) | (a.Lit(value), expr)) if value is not None:
            return {expr: (value,)}
        case a.In(expr, values):
            return {expr: values}
    return {}


def excluded_values(predicate: a.Expr) -> dict[a.Expr, tuple[Value, ...]]:
    """Returns expressions of text with values that no row has which passes."""
    excluded: dict[a.Expr, tuple[Value, ...]] = {}
    for part in flatten("and", predicate):
        match part:
            case a.Call("<>", (expr, a.Lit(str(value)))):
                excluded[expr] = (*excluded.get(expr, ()), value)
            case a.Call("not", (a.In(expr, values),)):
                texts = tuple(value for value in values if isinstance(value, str))
                excluded[expr] = (*excluded.get(expr, ()), *texts)
    return excluded


_TURNED = TURNED | {"=": "="}
_SIDES = {"<": (False, True), "<=": (False, True), ">": (True, False), ">=": (True, False)}


def _comparison_ends(predicate: a.Expr, scope: Mapping[str, Shape]) -> dict[str, tuple[Any, Any]]:
    """Returns columns of the scope with the ends (None: open) that a conjunction of comparisons
    sets."""
    ends: dict[str, tuple[Any, Any]] = {}
    parts = (pair for part in flatten("and", predicate) for pair in _comparisons_of_columns(part))
    for part in parts:
        match part:
            case a.Call(op, (a.Col(name), a.Lit(value))) if op in _SIDES and value is not None:
                if (shape := scope.get(name.lower())) is None:
                    continue
                low, high = ends.get(name.lower(), (None, None))
                lower, upper = _SIDES[op]
                if op in ("<", ">"):
                    value = _next_value(value, 1 if lower else -1, shape)
                low = value if lower and (low is None or value > low) else low
                high = value if upper and (high is None or value < high) else high
                ends[name.lower()] = (low, high)
    return ends


def _comparisons_of_columns(part: a.Expr) -> tuple[a.Expr, ...]:
    """Returns a comparison with a literal with the column first, and a moment's day as the moment;
    any other condition as it is."""
    match part:
        case a.Call(op, (a.Lit() as value, expr)) if op in _TURNED and not isinstance(expr, a.Lit):
            return _comparisons_of_columns(a.Call(_TURNED[op], (expr, value)))
        case a.Call(op, (a.Call("date", (a.Col() as moment,)), a.Lit(dt.date() as day))):
            first = dt.datetime(day.year, day.month, day.day)
            if day >= dt.date.max:
                return (part,)
            begins, ends = (
                a.Lit(at, Type.TIMESTAMP) for at in (first, first + dt.timedelta(days=1))
            )
            same = {"<": ("<", begins), "<=": ("<", ends), ">": (">=", ends), ">=": (">=", begins)}
            tests = [same[op]] if op in same else [same[">="], same["<="]] if op == "=" else []
            return tuple(a.Call(test, (moment, at)) for test, at in tests) or (part,)
    return (part,)


def _next_value(value: Any, sign: int, shape: Shape) -> Any:
    """Returns the value of a type next to one, above (1) or below (-1); itself of a DOUBLE, and of
    a number with more digits than the DECIMAL that it is compared with."""
    if shape.type is Type.INTEGER and type(value) is int:
        return value + sign
    if shape.type is Type.REAL and shape.scale is not None and isinstance(value, int | float):
        is_one = round(value, shape.scale) == value
        return round(value + sign * 10**-shape.scale, shape.scale) if is_one else value
    if not isinstance(value, dt.date):
        return value
    step = dt.timedelta(microseconds=1) if isinstance(value, dt.datetime) else dt.timedelta(days=1)
    return value if value in (type(value).min, type(value).max) else value + sign * step


def flatten(op: str, expr: a.Expr) -> tuple[a.Expr, ...]:
    """Returns the sides of nested ANDs, or ORs, as one list."""
    return expr.args if isinstance(expr, a.Call) and expr.op == op else (expr,)


def truths_as_numbers(test: a.Expr) -> a.Expr:
    """Returns a condition as 1, 0 or NULL, which SUM adds up."""
    one, nought, null = (a.Lit(value, Type.INTEGER) for value in (1, 0, None))
    return a.Case(((test, one), (a.Call("not", (test,)), nought)), null)
