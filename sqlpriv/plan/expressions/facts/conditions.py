"""What is publicly known of rows behind a condition, and which columns tell units apart.

A condition of WHERE is public, as the statement is. `age < 30` says of each row behind it that its
age lies below 30, whatever the rows are.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract, Type, Value
from sqlpriv.plan.expressions.facts.value_facts import Shape
from sqlpriv.statements.keywords import TURNED

_PART = "part "
_MIDDLE_DAY, _MICROSECOND = dt.date(2000, 1, 1), dt.timedelta(microseconds=1)
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
"""A comparison of NULL passes no row, and neither does its negation."""


def facts_after_where(
    predicate: a.Expr, scope: Mapping[str, Shape]
) -> tuple[dict[str, Shape], frozenset[str]]:
    """Returns the columns' shapes behind a WHERE, and the columns that surely hold a value.

    `IS NOT NULL` leaves no NULL, and neither does a comparison, IN or LIKE. A comparison with a
    literal narrows a column's interval; that of a number stays within the declared one.

    Args:
        predicate: The condition of WHERE.
        scope: Column, lower case → what is known of it before the WHERE.
    """
    facts, present = dict(scope), set[str]()
    for column, (low, high) in _comparison_ends(predicate, scope).items():
        facts[column] = facts[column].within(low, high)
    for part in flatten("and", predicate):
        for name in _columns_with_values(part):
            shape = facts[name]
            values = shape.values and tuple(v for v in shape.values if v is not None)
            facts[name] = replace(shape, nullable=False, values=values)
            if shape.type is not Type.REAL:  # a NaN is not NULL, and no value either
                present.add(name)
    return facts, frozenset(present)


def _columns_with_values(condition: a.Expr) -> set[str]:
    """Returns the columns, lower case, that are not NULL in any row that passes a condition.

    >>> dear = a.Call(">", (a.Col("Cost"), a.Lit(9, Type.INTEGER)))
    >>> _columns_with_values(dear), _columns_with_values(a.Call("is null", (a.Col("Cost"),)))
    ({'cost'}, set())
    """
    match condition:
        case a.Call("not", (a.Call("is null", (a.Col(name),)),)):
            return {name.lower()}
        case a.Call("not", (a.Call(op) as inside,)) if op in _COMPARISONS:
            return _columns_with_values(inside)
        case a.Call("not", (a.In() | a.Like() as inside,)):
            return _columns_with_values(inside)
        case a.Call(op, args) if op in _COMPARISONS:
            sides = [x.args[0] if isinstance(x, a.Call) and x.op == "abs" else x for x in args]
            return {side.name.lower() for side in sides if isinstance(side, a.Col)}
        case a.In(a.Col(name), values) if None not in values:
            return {name.lower()}
        case a.Like(a.Col(name)):
            return {name.lower()}
    return set()


def identities(contract: TableContract) -> dict[str, frozenset[str]]:
    """Returns what a value of each column of a private table identifies, as `Binder.named` has it.

    | name | what one value of the column identifies |
    |---|---|
    | '' | a unit: the column is the privacy key |
    | 'part 1 of 2' | a unit, together with the key's other columns |
    | 'orders.id' | a row of a table, by a UNIQUE column of it or by a link to one |
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
    """Returns what columns identify together: all parts of a key together identify the unit ('').

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
    """Returns by which columns the rows of a table, and their units, can be named.

    Returns:
        A UNIQUE column that is never NULL, '' where there is none; and the columns of which each
        alone identifies a unit or a row, lower case.
    """
    if contract is None:
        return "", frozenset()
    required = {c.name.lower() for c in contract.columns if c.required}
    identified = identities(contract).items()
    units = frozenset(name.lower() for name, what in identified if whole_identities(what))
    return next(iter(sorted(contract.unique & required)), ""), units


def demanded_values(predicate: a.Expr) -> dict[a.Expr, tuple[Value, ...]]:
    """Returns, for each expression that a condition ties to a list, the values that it can have in
    a row that passes: `x = 1 OR x = 2` gives x → (1, 2)."""
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
    """Returns, for each expression of text, values that no passing row has: `x <> 'a'`."""
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
"""Comparison with a literal → whether it sets a column's lower end, and whether its upper end."""


def _comparison_ends(predicate: a.Expr, scope: Mapping[str, Shape]) -> dict[str, tuple[Any, Any]]:
    """Returns column, lower case → (lower end, upper end) that comparisons joined by AND set. An
    end that they do not set is None."""
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
    """Returns a condition as comparisons of a column with a literal, the column on the left.

    `3 < x` becomes `x > 3`, and `abs(x) < 3` both `x < 3` and `x > -3`. A comparison of a moment's
    day becomes one of the moment: `date(at) = '2026-01-01'` is `at >= '2026-01-01' AND at <
    '2026-01-02'`. Any other condition stays as it is.
    """
    match part:
        case a.Call(op, (a.Lit() as value, expr)) if op in _TURNED and not isinstance(expr, a.Lit):
            return _comparisons_of_columns(a.Call(_TURNED[op], (expr, value)))
        case a.Call(op, (a.Case(whens, a.Col() as column), a.Lit() as end)) if op in _SIDES:
            is_null = a.Call("is null", (column,))
            holds = all(flatten("and", test)[0] == is_null for test, _ in whens)
            return (a.Call(op, (column, end)) if holds else part,)  # NULL passes, or what is within
        case a.Call("<" | "<=" as op, (a.Call("abs", (a.Col() as column,)), a.Lit(value) as end)):
            if not isinstance(value, int | float):
                return (part,)
            least = replace(end, value=-value)
            return a.Call(op, (column, end)), a.Call(TURNED[op], (column, least))
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
    """Returns the next value of a column's type: above `value` for sign 1, below it for sign -1.

    A DOUBLE is returned as it is, and so is a number that has more digits behind the point than the
    DECIMAL column has: the column never equals it.
    """
    if shape.type is Type.INTEGER and type(value) is int:
        return value + sign
    if shape.type is Type.REAL and shape.scale is not None and isinstance(value, int | float):
        is_one = round(value, shape.scale) == value
        return round(value + sign * 10**-shape.scale, shape.scale) if is_one else value
    if isinstance(value, dt.time):
        moment = dt.datetime.combine(_MIDDLE_DAY, value) + sign * _MICROSECOND
        return moment.time() if moment.date() == _MIDDLE_DAY else value
    if not isinstance(value, dt.date):
        return value
    step = _MICROSECOND if isinstance(value, dt.datetime) else dt.timedelta(days=1)
    return value if value in (type(value).min, type(value).max) else value + sign * step


def scope_within_open_ends(
    scope: Mapping[str, Shape], conditions: Iterable[a.Expr]
) -> Mapping[str, Shape]:
    """Returns the scope with each DOUBLE that is surely below or above an end of its own, as of
    `x < 25`, ending at the next double: so `floor(x)` is 24 at most.

    Sums keep the end as it is written: the lattice of its interval is coarser than a double.
    """
    narrowed = dict(scope)
    for part in conditions:
        for comparison in _comparisons_of_columns(part):
            match comparison:
                case a.Call("<" | ">" as op, (a.Col(name), a.Lit(int() | float() as end))):
                    shape = narrowed.get(name.lower())
                    if shape is None or shape.type is not Type.REAL or shape.scale is not None:
                        continue
                    if op == "<" and shape.upper == end != shape.lower:
                        shape = replace(shape, upper=math.nextafter(end, -math.inf))
                    elif op == ">" and shape.lower == end != shape.upper:
                        shape = replace(shape, lower=math.nextafter(end, math.inf))
                    narrowed[name.lower()] = shape
    return narrowed


def flatten(op: str, expr: a.Expr) -> tuple[a.Expr, ...]:
    """Returns the sides of nested ANDs, or ORs, as one list."""
    return expr.args if isinstance(expr, a.Call) and expr.op == op else (expr,)


def parts_within(expr: object) -> Iterable[object]:
    """Returns what stands directly inside an expression, or in a tuple of its; nothing in others.

    >>> list(parts_within(a.Col("age"))), list(parts_within("age"))
    (['age'], [])
    """
    if isinstance(expr, tuple):
        return expr
    return vars(expr).values() if hasattr(expr, "__dataclass_fields__") else ()


def truths_as_numbers(test: a.Expr) -> a.Expr:
    """Returns a condition as 1, 0 or NULL, which SUM adds up."""
    one, nought, null = (a.Lit(value, Type.INTEGER) for value in (1, 0, None))
    return a.Case(((test, one), (a.Call("not", (test,)), nought)), null)
