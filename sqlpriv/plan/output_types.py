"""The types of outputs: DuckDB's own, and whether they are whole numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from sqlpriv.kernel.terms.contract import Type, Value
from sqlpriv.plan.aggregates.aggregate_names import KINDS
from sqlpriv.plan.aggregates.calls import Aggregate, is_aggregate, read_aggregate
from sqlpriv.plan.cells.computed_columns import AGGREGATE, GROUP, STRATUM
from sqlpriv.plan.cells.dimensions import Dimension
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.facts.engine_types import engine_types, type_of_column
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
    TINYINT may not. An expression over them has it where it is a DECIMAL or a DOUBLE: DuckDB raises
    an error where a narrow whole number overflows, and what was paid for is not to be lost.

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
    own = {
        name: type_ if _all_fit(type_, key.values) else ""
        for (name, key), type_ in zip(keys, of_keys, strict=True)
    }
    for (aggregate, number), type_ in zip(aggregates.items(), of_aggregates, strict=True):
        fits = _all_fit(type_, aggregate.values or (aggregate.lower, aggregate.upper))
        own[f"{AGGREGATE}{number}"] = type_ if fits else ""
    computed = [item for item in items if not isinstance(item, t.Name)]
    names = {part.name for item in computed for part in walk(item) if isinstance(part, t.Name)}
    if computed:
        own_or_wide = {name: own.get(name) or "BIGINT" for name in names}
        of_computed = engine_types(computed, lambda name: own_or_wide[name.name])
        own_of = dict(zip(computed, of_computed, strict=True))
    return tuple(
        own.get(item.name, "") if isinstance(item, t.Name) else _if_wide(own_of[item])
        for item in items
    )


def _if_wide(type_: str) -> str:
    """Returns the type of a computed output where no whole number overflows in it: lists hold
    quantiles, which fit."""
    return type_ if re.match(r"DECIMAL|DOUBLE|HUGEINT|\w+\[\]$", type_) else ""


def _all_fit(type_: str, values: Sequence[Value]) -> bool:
    """Returns whether whole numbers are among those of a narrow type, and of an UBIGINT among those
    of a BIGINT, too; of other types all are."""
    kind = arrow.NUMBERS.get(type_)
    if kind is None or type_ == "BIGINT" or not pa.types.is_integer(kind):
        return True
    low, high = arrow.integer_ends(kind)
    high = min(high, 2**63 - 1)
    return all(not isinstance(v, int | float) or low <= v <= high for v in values)
