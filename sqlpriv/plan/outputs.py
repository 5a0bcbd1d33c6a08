"""A SELECT's outputs as expressions over the columns that its answer is computed from.

Keys and aggregates are replaced by the names of such columns (`computed_columns`). A raw column is
refused here: outside an aggregate only keys are public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from sqlpriv.errors import Refused, meant_among
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.plan.aggregates.aggregate_names import KINDS
from sqlpriv.plan.aggregates.calls import Aggregate, aggregate_calls, is_aggregate, read_aggregate
from sqlpriv.plan.aggregates.moment_formulas import formula_of
from sqlpriv.plan.aggregates.quantile_levels import RANKED
from sqlpriv.plan.aggregates.rewrites import MOST_OF_WHOLE_SUM
from sqlpriv.plan.cells.columns_of_keys import ColumnsOfKeys
from sqlpriv.plan.cells.computed_columns import AGGREGATE, GROUP, HALF, LIST, STRATUM
from sqlpriv.plan.cells.dimensions import Dimension
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.columns import missing_column
from sqlpriv.plan.expressions.facts.public_engine import is_function
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.key_outputs import grouping_bits, in_type_of, is_of_one_value, key_in_aggregate
from sqlpriv.plan.output_half_widths import half_width, shared_releases
from sqlpriv.plan.output_types import NumberKinds
from sqlpriv.plan.relations.kept_public_rows import refuse_public_aggregate
from sqlpriv.statements import tree as t
from sqlpriv.statements.aliases import aliases_in
from sqlpriv.statements.keywords import REAL_QUOTIENT, SAME_QUOTIENT, WHOLE_QUOTIENT
from sqlpriv.statements.traverse import as_literal, rebuild, walk, with_aliases

_OF_OUTPUTS = ("grouping", "grouping_id", "error", SAME_QUOTIENT)
"""Functions of outputs alone, which neither DuckDB lists nor row expressions have."""


def bind_where(where: t.Node, binder: Binder, aliases: Mapping[str, t.Node]) -> a.Expr:
    """Returns the bound WHERE clause; aliases may be used, as in DuckDB; aggregates may not."""
    resolved = with_aliases(where, _aliases_behind_columns(aliases, binder))
    for call in aggregate_calls(resolved):
        raise refuse(call, "WHERE cannot hold an aggregate", "filter groups with HAVING")
    return binder.bind_predicate(resolved, "WHERE")


def whole_number(node: t.Node | None) -> t.Node | None:
    """Returns a LIMIT or OFFSET, which is a whole number."""
    if node is None:
        return None
    number = as_literal(node)
    if number is None or type(number.value) is not int or not 0 <= number.value < 2**63:
        raise refuse(node, "LIMIT and OFFSET take a whole number", "as in LIMIT 10")
    return number


def _aliases_behind_columns(aliases: Mapping[str, t.Node], binder: Binder) -> dict[str, t.Node]:
    """Returns the aliases that do not hide behind a column of the same name.

    `AVG(hours) AS hours` hides behind a column `hours`. Where there is no such column, the name
    inside it is not the alias either, but a column that is missing.
    """
    return {
        name: node
        for name, node in aliases.items()
        if name not in binder.names and name not in aliases_in(node, aliases)
    }


def _several_quantiles(call: t.FunctionCall) -> t.Node | None:
    """Returns `quantile(x, [0.25, 0.5])` as a list of quantiles; None for one of another form."""
    match call:
        case t.FunctionCall(name, (arg, t.FunctionCall(name="list_value", args=shares))) if (
            name in RANKED
        ):
            each = tuple(replace(call, args=(arg, share)) for share in shares)
            return t.FunctionCall(LIST, each, pos=call.pos)
    return None


@dataclass
class OutputWriter:
    """Rewrites the outputs of one SELECT, collecting each distinct aggregate once.

    Args:
        select, binder, aliases: The statement and what names mean in it.
        strata, groups: Its keys.
        estimator: The plain estimator of means under the budget's kind.
        columns_of_keys: Tells public columns' values from keys; None where no table can be read.
        kept_columns: Columns of public rows that stand where there is no private one, lower case.
        aggregates: Filled on the way: each with the number of its column.
        calls: How each aggregate was written first, by its number.
    """

    select: t.Select
    binder: Binder
    aliases: Mapping[str, t.Node]
    strata: Sequence[Dimension]
    groups: Sequence[Dimension]
    estimator: str = "gaussian"
    columns_of_keys: ColumnsOfKeys | None = None
    kept_columns: frozenset[str] = frozenset()
    aggregates: dict[Aggregate, int] = field(default_factory=dict)
    calls: dict[int, t.FunctionCall] = field(default_factory=dict)

    def write_item(self, index: int) -> t.Node:
        """Returns output number `index`; names of earlier outputs may be used in it."""
        expr = self.select.items[index].expr
        earlier = {
            name: node
            for name, node in aliases_in(expr, self.aliases).items()
            if self._alias_positions[name] < index
        }
        return self.write(with_aliases(expr, _aliases_behind_columns(earlier, self.binder)))

    @cached_property
    def _alias_positions(self) -> dict[str, int]:
        """The first output of each alias, lower case."""
        positions: dict[str, int] = {}
        for number, item in enumerate(self.select.items):
            positions.setdefault(item.alias.lower(), number)
        return positions

    def write_having(self) -> t.Node | None:
        """Returns the HAVING clause; outputs' names may be used in it."""
        node = self.select.having
        if node is None:
            return None
        return self.write(with_aliases(node, _aliases_behind_columns(self.aliases, self.binder)))

    def write_order(self, term: t.Order) -> t.Order:
        """Returns an ORDER BY term; a number means an output, and outputs' names come first."""
        node, ordinal = term.expr, as_literal(term.expr)
        if ordinal is not None:
            if type(ordinal.value) is not int or not 1 <= ordinal.value <= len(self.select.items):
                raise refuse(
                    node,
                    "ORDER BY has no such output",
                    f"outputs are 1 to {len(self.select.items)}",
                )
            return t.Order(self.write_item(ordinal.value - 1), term.descending, term.nulls_first)
        return t.Order(
            self.write(with_aliases(node, self.aliases)), term.descending, term.nulls_first
        )

    def write(self, node: t.Node) -> t.Node:
        """Returns an expression over the computed columns.

        Raises:
            Refused: A raw column, or an aggregate without a private counterpart.
        """
        try:
            return rebuild(node, self._column)
        except Refused as refusal:
            raise self._unknown_function(node) or refusal from None

    def _column(self, node: t.Node) -> t.Node | None:
        for prefix, dimensions in ((STRATUM, self.strata), (GROUP, self.groups)):
            for i, dimension in enumerate(dimensions):
                if self.binder.normal_form(node) == dimension.node:
                    self.binder.bind(node)  # checks the qualifier
                    return t.Name(f"{prefix}{i}", pos=node.pos)
        if isinstance(node, t.FunctionCall) and node.name in ("grouping", "grouping_id"):
            has_sets = bool(self.select.sets)
            return grouping_bits(node, self.binder, self.strata, self.groups, has_sets)
        if isinstance(node, t.FunctionCall) and node.name == "error":
            return self._error(node)
        if isinstance(node, t.FunctionCall) and (value := self._value_of_key(node)) is not None:
            return value
        if isinstance(node, t.FunctionCall) and is_aggregate(node):
            of = next(iter(node.args), None)
            if isinstance(of, t.Name) and self.binder.column_of(of).lower() in self.kept_columns:
                raise refuse_public_aggregate(node)
            formula = _several_quantiles(node)
            if formula is None:
                formula = formula_of(self._inside(node), self.binder, self.estimator)
            if formula is not None:
                return self.write(formula)
            inside = self._inside(node)
            aggregate = read_aggregate(inside, self.binder)
            number = self.aggregates.setdefault(aggregate, len(self.aggregates))
            self.calls.setdefault(number, inside)
            return t.Name(f"{AGGREGATE}{number}", pos=node.pos)
        if isinstance(node, t.Binary) and node.op == "//":
            return self._whole_quotient(node)
        if isinstance(node, t.FunctionCall) and node.name == SAME_QUOTIENT:
            return self._quotient(node)
        if isinstance(node, t.Name):
            raise self._raw(node)
        return None

    def _whole_quotient(self, node: t.Binary) -> t.Node | None:
        """Returns x // y of whole numbers, cut towards 0, and NULL where y is 0; None for numbers
        that may have digits behind the point.

        The sum of a wide column is computed as a DOUBLE, of which DuckDB's `//` cuts nothing: such
        a quotient is divided and cut by TRUNC.
        """
        calls = list(aggregate_calls(node))
        if not (calls and self._kinds.is_whole(node.left) and self._kinds.is_whole(node.right)):
            return None
        divisor = t.FunctionCall("nullif", (self.write(node.right), t.Literal(0)), pos=node.pos)
        is_wide = any(self._is_wide_sum(call) for call in calls)
        quotient = t.Binary("/" if is_wide else "//", self.write(node.left), divisor, node.pos)
        return t.FunctionCall("trunc", (quotient,), pos=node.pos) if is_wide else quotient

    def _quotient(self, node: t.FunctionCall) -> t.Node:
        """Returns x / y, NULL where y is 0.

        Raises:
            Refused: Neither side surely has digits behind the point: other dialects may divide to
                a whole number.
        """
        if not any(map(self._kinds.is_real, node.args)):
            raise refuse(node, WHOLE_QUOTIENT, REAL_QUOTIENT)
        left, right = (self.write(side) for side in node.args)
        divisor = t.FunctionCall("nullif", (right, t.Literal(0)), pos=node.pos)
        return t.Binary("/", left, divisor, node.pos)

    def _is_wide_sum(self, call: t.FunctionCall) -> bool:
        if KINDS.get(call.name) != "sum":
            return False
        aggregate = read_aggregate(self._inside(call), self.binder)
        return max(abs(aggregate.lower), abs(aggregate.upper)) > MOST_OF_WHOLE_SUM

    def _value_of_key(self, call: t.FunctionCall) -> t.Node | None:
        if self.strata or self.select.sets or not is_of_one_value(call) or not self.has_rows:
            return None
        column = call.args[0] if call.args else None
        if isinstance(column, t.Name) and self.columns_of_keys is not None:
            value_and_column = self.columns_of_keys.value_of(column)
            if value_and_column is not None:
                return in_type_of(call, *value_and_column)
        argument = self.binder.normal_form(self._inside(call).args[0]) if call.args else None
        return key_in_aggregate(call, argument, self.groups)

    @cached_property
    def has_rows(self) -> bool:
        """Whether an aggregate beside those of keys keeps the groups apart: COUNT(*), say."""
        written = [item.expr for item in self.select.items]
        calls = [call for node in written for call in aggregate_calls(node)]
        return any(call.star or KINDS.get(call.name) in ("count", "sum") for call in calls)

    @cached_property
    def _kinds(self) -> NumberKinds:
        return NumberKinds(self.binder, (*self.strata, *self.groups), self._inside)

    def _error(self, call: t.FunctionCall) -> t.Node:
        """ERROR(f): the half-width of the 95 % interval of f, an expression over aggregates."""
        item = self.write(call.args[0]) if len(call.args) == 1 else None
        if isinstance(item, t.Name) and (own := self._own_half_width(item)) is not None:
            return own
        shared = shared_releases(self.aggregates)
        width = half_width(item, shared) if item is not None else None
        if width is None:
            raise refuse(call, "ERROR takes one aggregate", "write ERROR(AVG(income))")
        return width

    def _own_half_width(self, item: t.Name) -> t.Node | None:
        """Returns the half-width of a variance: its own, which `half_width` writes seven times as
        long. It stands behind each divisor of CORR and others, and again in each end of theirs."""
        for aggregate, number in self.aggregates.items():
            if item.name == f"{AGGREGATE}{number}" and aggregate.kind == "variance":
                return t.CaseWhen(((t.IsNull(item, True), t.Name(f"{HALF}{number}")),))
        return None

    def _inside(self, call: t.FunctionCall) -> t.FunctionCall:
        """Returns the aggregate with outputs' names in its argument resolved."""
        named_in_call = aliases_in(call, self.aliases)
        visible_aliases = _aliases_behind_columns(named_in_call, self.binder)
        args = tuple(with_aliases(arg, visible_aliases) for arg in call.args)
        test = with_aliases(call.filter, visible_aliases) if call.filter else None
        return t.FunctionCall(call.name, args, call.star, call.distinct, test, call.using, call.pos)

    def _unknown_function(self, node: t.Node) -> Refused | None:
        """Returns the refusal of a function that there is not: what is wrong with its argument, a
        column that is in no aggregate, say, is beside the point."""
        for part in walk(node):
            if not isinstance(part, t.FunctionCall) or is_aggregate(part):
                continue
            if part.name in _OF_OUTPUTS or is_function(part.name):
                continue
            if meant := meant_among(part.name, KINDS):
                return refuse(part, f"there is no function {part.name}", meant.strip())
            try:
                self.binder.bind(part)
            except Refused as refusal:
                if (refusal.line, refusal.column) == (part.pos.line, part.pos.column):
                    return refusal
        return None

    def _raw(self, node: t.Name) -> Exception:
        if self.binder.names_column(node):
            self.binder.bind(node)
            return refuse(
                node,
                f'the column "{node.name}" is neither a key nor in an aggregate',
                "put it in GROUP BY or inside an aggregate; raw rows never leave",
            )
        return missing_column(self.binder, node)
