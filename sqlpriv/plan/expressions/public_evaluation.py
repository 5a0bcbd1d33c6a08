"""Any scalar function of values that are publicly listed: evaluated over the list.

`upper(region)`, `name LIKE x`, `strftime(day, '%Y-%m')`: the kernel has no such function, and needs
none. Where every column in an expression has a declared list of values, or is in a part that has
one, as `year(ts) || '-' || month(ts)`, DuckDB computes the expression for each of them, in an
engine without private tables, and the row expression is a CASE over the list. A row whose value is
not listed has NULL. Nothing here looks at a private row.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import MAX_INTEGER, Type, Value
from sqlpriv.plan.expressions.columns import bind_column, plain_text_casts
from sqlpriv.plan.expressions.facts.engine_types import listed_sql_type, text_in_engine
from sqlpriv.plan.expressions.facts.inference import infer_shape
from sqlpriv.plan.expressions.facts.public_engine import (
    public_engine,
    public_value,
    scalar_functions,
)
from sqlpriv.plan.expressions.facts.value_facts import Shape
from sqlpriv.plan.expressions.listed_cases import ListedPart, as_case
from sqlpriv.plan.expressions.literal_types import natural_type
from sqlpriv.statements import sql
from sqlpriv.statements import tree as t
from sqlpriv.statements.keywords import TITLES
from sqlpriv.statements.printer import INFIX
from sqlpriv.statements.text_growth import LONGEST, text_growth
from sqlpriv.statements.traverse import rebuild, walk

if TYPE_CHECKING:
    from sqlpriv.plan.expressions.binder import Binder

MOST_ROWS = 5_000
"""Combinations of values that an expression is computed for: their CASE is part of the SQL text."""
MOST_TESTS = 5_000
"""Tests inside the parts of a CASE: each of its own tests is of parts, which may be CASEs, too."""
_WRITTEN = ("coalesce", "ifnull", "nullif", "if", "split_part")
"""Functions that DuckDB's parser writes as others, and its list of functions has not, and macros of
scalar functions."""
_ORDERED = ("least", "greatest", "<", "<=", ">", ">=")


def evaluate_over_lists(binder: Binder, node: t.Node) -> tuple[a.Expr, bool] | None:
    """Returns an expression over columns with listed values as a CASE over the lists.

    Returns:
        The row expression, and whether a declared row has NULL. None where a column has no
        list, a function is not a deterministic scalar one, the lists have too many combinations,
        or a value has no literal.
    """
    node = plain_text_casts(binder, node)
    if node in binder.tried:
        return binder.tried[node]
    outcome = _evaluate(binder, node)
    binder.tried[node] = outcome
    return outcome


def _evaluate(binder: Binder, node: t.Node) -> tuple[a.Expr, bool] | None:
    if not all(map(_is_scalar, walk(node))) or text_growth(node) > LONGEST:
        return None
    if not any(isinstance(part, t.Name) for part in walk(node)):
        return _constant(node)
    parts = _listed_parts(binder, node)
    if parts is not None and _count_of(parts) > MOST_ROWS:
        parts = _listed_parts(binder, node, largest=True)  # 6 years, not 2,000 days
    if parts is None or _count_of(parts) > MOST_ROWS:
        return None
    each = list(dict.fromkeys(parts.values()))
    lists = [part.values for part in each]
    if any(p.shape.sql_type for p in each) and any(map(_is_ordered, walk(node))):
        return None  # labels of an ENUM have an order that is not public
    may_be_null = [
        part.shape.nullable
        and part.expr not in binder.evaluated
        and not binder.is_present(part.expr)
        and None in binder.listed.get(part.expr, (None,))
        for part in each
    ]
    rows = [
        row
        for row in itertools.product(*lists)
        if all(value is not None or may for value, may in zip(row, may_be_null, strict=True))
    ]
    if len(rows) * sum(_tests_in(part.expr) for part in each) > MOST_TESTS:
        return None
    places = {of: f"c{each.index(part)}" for of, part in parts.items()}
    results = _compute(node, places, [part.shape for part in each], rows)
    if results is None:
        return None
    nullable = any(result.value is None for result in results)
    return as_case(each, rows, results), nullable


def _count_of(parts: Mapping[t.Node, ListedPart]) -> int:
    """Returns how many combinations of values parts have."""
    return math.prod(len(part.values) for part in dict.fromkeys(parts.values()))


def _listed_parts(
    binder: Binder, node: t.Node, largest: bool = False
) -> dict[t.Node, ListedPart] | None:
    """Returns the columns in an expression that have lists and, of the others, the largest parts
    inside it that have; None where a column is in none.

    Args:
        binder, node: Reads the expression.
        largest: Of columns with lists, too, the largest parts stand for them.
    """
    names = [part for part in walk(node) if isinstance(part, t.Name)]
    columns: dict[t.Node, ListedPart | None] = {n: _listed_part(binder, n) for n in names}
    parts: dict[t.Node, ListedPart] = {}
    without_list: list[t.Node] = []

    def note(part: t.Node) -> t.Node | None:
        if isinstance(part, t.Name):
            listed = columns[part]
            if listed is None:
                without_list.append(part)
        elif part is node or (
            not largest and all(columns.get(below, part) for below in walk(part))
        ):
            return None  # as written, or with lists
        else:
            listed = _listed_part(binder, part)
        if listed is not None:
            parts[part] = listed
        return part if listed is not None else None

    rebuild(node, note)
    return None if without_list else parts


def _tests_in(expr: a.Expr) -> int:
    """Returns how many tests an expression holds as it is written out."""
    match expr:
        case a.Case(whens, otherwise):
            held = (1 + _tests_in(test) + _tests_in(then) for test, then in whens)
            return sum(held) + _tests_in(otherwise)
        case a.Call(_, args):
            return sum(map(_tests_in, args))
        case a.In(arg) | a.Bin(arg) | a.Like(arg) | a.Substring(arg) | a.Shift(arg):
            return _tests_in(arg)
    return 0


def _listed_part(binder: Binder, node: t.Node) -> ListedPart | None:
    try:
        expr = bind_column(binder, node) if isinstance(node, t.Name) else binder.bind(node)
        shape = infer_shape(expr, binder.scope)
    except Refused:  # no such column here, whatever another table's of that name is
        return None
    is_column = isinstance(node, t.Name)
    values = _values_of(shape, binder.listed.get(expr), days=is_column)
    if values is None or (shape.type is Type.REAL and not is_column):
        return None
    return ListedPart(expr, shape, values)


def results_of(expr: a.Expr) -> tuple[Value, ...]:
    """Returns the values of an expression that `evaluate_over_lists` gave, each once, no NULL."""
    case = expr.args[0] if isinstance(expr, a.Call) else expr
    thens = [then for _, then in case.whens] if isinstance(case, a.Case) else [expr]
    return tuple(dict.fromkeys(then.value for then in thens if isinstance(then, a.Lit)))


def _constant(node: t.Node) -> tuple[a.Expr, bool] | None:
    """Returns the value of functions of literals, and whether it is NULL; None where it has none.

    A TIMESTAMPTZ is read in UTC.
    """
    text = sql(node)
    if str(public_value(f"typeof({text})")).endswith("WITH TIME ZONE"):
        text = f"({text}) AT TIME ZONE 'UTC'"
    results = as_literals([public_value(text)])
    return None if results is None else (results[0], False)


def constant_moment(binder: Binder, node: t.Node) -> t.Literal | None:
    """Returns the day or moment that functions of literals are, `date_trunc('month', DATE
    '2023-09-05' + INTERVAL 1 MONTH)`: a comparison with it then narrows a column's ends."""
    if not isinstance(node, t.FunctionCall | t.Binary | t.Cast):
        return None
    if any(isinstance(part, t.Name) for part in walk(node)):
        return None
    constant, _ = evaluate_over_lists(binder, node) or (None, False)
    value = constant.value if isinstance(constant, a.Lit) else None
    return t.Literal(value, node.pos) if isinstance(value, dt.date) else None


def _values_of(
    shape: Shape, demanded: tuple[Value, ...] | None, *, days: bool
) -> tuple[Value, ...] | None:
    """Returns the values of a part, NULL with them: a row may have it whatever is declared.

    Args:
        shape: Of the part.
        demanded: Those that WHERE leaves, if it lists them.
        days: Whether the days between two ends are a list.
    """
    values = shape.values if demanded is None else demanded
    if values is None and shape.type is Type.BOOLEAN:
        values = (False, True)
    if values is None and days and shape.type is Type.DATE and shape.lower is not None:
        number = (shape.upper - shape.lower).days + 1
        if number <= MOST_ROWS:
            values = tuple(shape.lower + dt.timedelta(days=n) for n in range(number))
    if values is None:
        return None
    return (*(value for value in values if value is not None), None)


def _is_scalar(node: t.Node) -> bool:
    match node:
        case t.FunctionCall(name, star=star, distinct=distinct, filter=kept, using=using):
            plain = not (star or distinct or kept or using)
            if name == "age" and len(node.args) < 2:  # until today
                return False
            names = (*INFIX, *_WRITTEN, *TITLES)
            return plain and (name in scalar_functions() or name in names)
        case t.Exists() | t.InQuery() | t.Subquery() | t.Lookup():
            return False
    return True


def _is_ordered(node: t.Node) -> bool:
    name = node.op if isinstance(node, t.Binary) else getattr(node, "name", "")
    return name in _ORDERED or isinstance(node, t.Between)


def _compute(
    node: t.Node,
    places: Mapping[t.Node, str],
    shapes: Sequence[Shape],
    rows: Sequence[tuple[Value, ...]],
) -> list[a.Lit] | None:
    """Returns the value of every row of the lists, by the columns that parts are; None where one
    cannot be a literal."""

    casts = ", ".join(
        f"CAST(column{i} AS {listed_sql_type(shape)}) AS c{i}" for i, shape in enumerate(shapes)
    )
    marks = ", ".join(f"({', '.join('?' * len(shapes))})" for _ in rows)
    listed = f"(SELECT {casts} FROM (VALUES {marks}) AS v ({_names(shapes)}))"
    try:
        text = f"SELECT ({text_in_engine(node, places)}) FROM {listed}"
        engine = public_engine().cursor()
        results = engine.execute(text, list(itertools.chain.from_iterable(rows)))
        values = [value for (value,) in results.fetchall()]
    except (duckdb.Error, Refused):
        return None
    return as_literals(values)


def _names(shapes: Sequence[Shape]) -> str:
    return ", ".join(f"column{i}" for i in range(len(shapes)))


def as_literals(values: Sequence[Any]) -> list[a.Lit] | None:
    """Returns computed values as literals of one type; None where one has none."""
    plain = [float(value) if isinstance(value, Decimal) else value for value in values]
    types = {natural_type(value) for value in plain if value is not None}
    if len(types) != 1 or None in types:
        return None
    (type_,) = types
    assert type_ is not None
    for value in plain:
        large = isinstance(value, int) and abs(value) >= MAX_INTEGER
        endless = isinstance(value, float) and not math.isfinite(value)
        long = isinstance(value, str) and (len(value) > LONGEST or "\0" in value)
        zoned = isinstance(value, dt.datetime) and value.tzinfo is not None
        if large or endless or long or zoned:
            return None
    return [a.Lit(value, type_) for value in plain]
