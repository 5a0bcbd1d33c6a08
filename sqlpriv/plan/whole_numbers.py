"""Which outputs are whole numbers, and which have digits behind the point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlpriv.kernel.terms.contract import Type
from sqlpriv.plan.aggregates.calls import KINDS, is_aggregate, read_aggregate
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.group_keys import Dimension
from sqlpriv.statements import tree as t
from sqlpriv.statements.keywords import SAME_QUOTIENT


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
