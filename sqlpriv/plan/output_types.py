"""The types of outputs: DuckDB's own, and whether they are whole numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from sqlpriv.kernel.terms.contract import Number, Type, Value
from sqlpriv.plan.aggregates.aggregate_names import KINDS
from sqlpriv.plan.aggregates.calls import Aggregate, is_aggregate, read_aggregate
from sqlpriv.plan.cells.computed_columns import AGGREGATE, GROUP, STRATUM
from sqlpriv.plan.cells.dimensions import Dimension
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.facts.engine_types import engine_types, type_of_column
from sqlpriv.plan.expressions.facts.interval_arithmetic import arithmetic_shape
from sqlpriv.plan.expressions.facts.value_facts import Shape
from sqlpriv.statements import tree as t
from sqlpriv.statements.keywords import SAME_QUOTIENT
from sqlpriv.statements.traverse import walk
from sqlpriv.system import arrow


@dataclass(frozen=True)
class NumberKinds:
    """Tells whole numbers from those with digits behind the point, as DuckDB types outputs.

    Args:
        binder: Of the rows that are aggregated.
        keys: Strata and keys of GROUP BY.
        inside: Resolves the outputs' names in an aggregate.
    """

    binder: Binder
    keys: Sequence[Dimension]
    inside: Callable[[t.FunctionCall], t.FunctionCall]

    def is_whole(self, node: t.Node) -> bool:
        """Returns whether an expression over answers surely is of whole numbers."""
        match node:
            case t.Literal(value):
                return type(value) is int
            case t.Unary("-", arg):
                return self.is_whole(arg)
            case t.Binary("+" | "-" | "*" | "//" | "%", left, right):
                return self.is_whole(left) and self.is_whole(right)
            case t.FunctionCall(name) if KINDS.get(name) in ("count", "sum"):
                aggregate = read_aggregate(self.inside(node), self.binder)
                return aggregate.kind != "sum" or aggregate.type is Type.INTEGER
        return self._is_key(node, Type.INTEGER)

    def is_real(self, node: t.Node) -> bool:
        """Returns whether an expression over answers surely has digits behind the point."""
        match node:
            case t.Literal(value):
                return isinstance(value, float)
            case t.Unary("-", arg):
                return self.is_real(arg)
            case t.Binary("+" | "-" | "*" | "/", left, right):
                return self.is_real(left) or self.is_real(right)
            case t.Cast(_, sql_type):
                return sql_type.upper().startswith(("DOUBLE", "DECIMAL", "FLOAT"))
            case t.FunctionCall(name) if is_aggregate(node):
                if KINDS.get(name) in ("sum", "level"):
                    return read_aggregate(self.inside(node), self.binder).type is Type.REAL
                return KINDS.get(name) == "mean"
            case t.FunctionCall("coalesce" | "ifnull" | "nullif" | "abs", args):
                return any(map(self.is_real, args))
            case t.FunctionCall(name):
                return name == SAME_QUOTIENT
        return self._is_key(node, Type.REAL)

    def _is_key(self, node: t.Node, type_: Type) -> bool:
        normal = self.binder.normal_form(node)
        return any(key.node == normal and key.type is type_ for key in self.keys)


def output_types(
    items: Sequence[t.Node],
    strata: Sequence[Dimension],
    groups: Sequence[Dimension],
    aggregates: Mapping[Aggregate, int],
    calls: Mapping[int, t.FunctionCall],
    binder: Binder,
) -> tuple[str, ...]:
    """Returns DuckDB's type of each output, '' where the type of its numbers is to stay.

    A key or an aggregate has DuckDB's type where all its public values fit that type: `x * 2` of a
    TINYINT may not. An expression over them has it where it is a DECIMAL or a DOUBLE, or surely
    fits: DuckDB raises an error where a narrow whole number overflows, and what was paid for is not
    to be lost.

    Args:
        items: Over the columns that `computed_columns` names.
        strata, groups: The keys.
        aggregates: Each with its number.
        calls: How each was written, by its number.
        binder: Knows the columns in them.
    """
    keys = [(f"{STRATUM}{i}", key) for i, key in enumerate(strata)]
    keys += [(f"{GROUP}{i}", key) for i, key in enumerate(groups)]
    of_column = partial(type_of_column, binder.scope)
    of_keys = engine_types([key.node for _, key in keys], of_column)
    plain = [binder.normal_form(replace(calls[i], using="")) for i in aggregates.values()]
    of_aggregates = engine_types(plain, of_column)
    values_of: dict[str, Sequence[Value]] = {name: key.values for name, key in keys}
    for aggregate, number in aggregates.items():
        ends = aggregate.values or (aggregate.lower, aggregate.upper)
        values_of[f"{AGGREGATE}{number}"] = ends
    own = {
        name: type_ if _all_fit(type_, values_of[name]) else ""
        for name, type_ in zip(values_of, (*of_keys, *of_aggregates), strict=True)
    }
    computed = [item for item in items if not isinstance(item, t.Name)]
    names = {part.name for item in computed for part in walk(item) if isinstance(part, t.Name)}
    if computed:
        own_or_wide = {name: own.get(name) or "BIGINT" for name in names}
        of_computed = engine_types(computed, lambda name: own_or_wide[name.name])
        own_of = dict(zip(computed, of_computed, strict=True))
    return tuple(
        own.get(item.name, "")
        if isinstance(item, t.Name)
        else _if_wide(own_of[item]) or _if_it_fits(own_of[item], item, values_of)
        for item in items
    )


def _if_wide(type_: str) -> str:
    """Returns the type of a computed output where no whole number overflows in it: lists hold
    quantiles, which fit."""
    return type_ if re.match(r"DECIMAL|DOUBLE|HUGEINT|\w+\[\]$", type_) else ""


def _if_it_fits(type_: str, node: t.Node, values_of: Mapping[str, Sequence[Value]]) -> str:
    """Returns the type of arithmetic over whole numbers of keys, quantiles, MIN and MAX, if all
    that it computes surely fits."""
    ends = [_ends_of(part, values_of) for part in walk(node)]
    fit = all(e is not None and _all_fit(type_, e) for e in ends)
    return type_ if fit and pa.types.is_integer(arrow.NUMBERS.get(type_, pa.null())) else ""


def _ends_of(
    node: t.Node, values_of: Mapping[str, Sequence[Value]]
) -> tuple[Number, Number] | None:
    """Returns the least and the largest value of such arithmetic; None of anything else."""
    match node:
        case t.Literal(value) if type(value) is int:
            return value, value
        case t.Name(name):
            values = [value for value in values_of.get(name, ()) if value is not None]
            numbers = [value for value in values if type(value) is int]
            return (min(numbers), max(numbers)) if numbers and numbers == values else None
        case t.Binary("+" | "-" | "*" | "//" | "%" as op, left, right):
            sides = [_ends_of(side, values_of) for side in (left, right)]
            one, other = (Shape(Type.INTEGER, *ends) if ends else None for ends in sides)
            shape = arithmetic_shape(op, one, other) if one and other else None
            return None if shape is None or shape.lower is None else (shape.lower, shape.upper)
    return None


def _all_fit(type_: str, values: Sequence[Value]) -> bool:
    """Returns whether whole numbers are among those of a narrow type, and of an UBIGINT among those
    of a BIGINT, too; of other types all are."""
    kind = arrow.NUMBERS.get(type_)
    if kind is None or type_ == "BIGINT" or not pa.types.is_integer(kind):
        return True
    low, high = arrow.integer_ends(kind)
    high = min(high, 2**63 - 1)
    return all(not isinstance(v, int | float) or low <= v <= high for v in values)
