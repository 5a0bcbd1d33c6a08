"""Surface expression → row expression of the kernel's closed algebra.

Names are looked up as DuckDB does (case does not matter, a table or alias may qualify), sugar is
taken away (BETWEEN, CASE with an operand, IF, NULLIF …), literals get the type of what they stand
beside. Whatever has no counterpart in the algebra is refused here, before anything is charged.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract, Type, Value
from sqlpriv.kernel.terms.operations import MAX_SCALE
from sqlpriv.plan.expressions import columns, functions, operators
from sqlpriv.plan.expressions.casts import FLOATS, bind_cast
from sqlpriv.plan.expressions.facts.conditions import (
    demanded_values,
    excluded_values,
    facts_after_where,
    flatten,
    identities,
)
from sqlpriv.plan.expressions.facts.expression_size import (
    MOST_TERMS,
    WRITTEN_OFTEN,
    count_terms,
)
from sqlpriv.plan.expressions.facts.inference import infer_shape
from sqlpriv.plan.expressions.facts.presence import is_present
from sqlpriv.plan.expressions.facts.value_facts import (
    Shape,
    present_columns,
    scope_of,
    unread_columns,
)
from sqlpriv.plan.expressions.literal_types import (
    are_floats,
    cast_beside_floats,
    coerce_double,
    coerce_literal,
    coerce_uuid,
    natural_type,
    number_in_quotes,
    refusals_at,
    refuse,
)
from sqlpriv.plan.expressions.moment_functions import moved_to_beginning
from sqlpriv.plan.expressions.public_evaluation import constant_moment, evaluate_over_lists
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import fold_constant, rebuild

ORDERING = ("<", "<=", ">", ">=", "least", "greatest")
"""Operations that go by the order of their arguments' values."""


@dataclass(frozen=True)
class Binder:
    """What names mean inside one SELECT.

    Args:
        table: The table of FROM, as in the contract.
        alias: Its alias, which then is the only qualifier; or ''.
        names: Lower-case name → the column's name in the catalog.
        scope: Lower-case name → what is publicly known of the column's values.
        required: Lower-case names of columns without NULL and NaN (`present_columns`).
        qualified: With several tables in FROM: (alias, name), lower case → the column; else None.
        twice: Lower-case names that several tables have.
        homes: The column → its table and its own name there, where these are not the binder's.
        listed: Expressions that WHERE demands one of these values of.
        named: Column, lower case → what its values identify: the unit (""), or a row of a parent,
            `table.column`, which is of one unit, too.
        evaluated: Expressions that were evaluated over lists, and are not NULL in a declared row;
            filled while expressions are bound.
        excluded: Expressions of text that have none of these values, by WHERE.
        conditions: What WHERE and the conditions of inner joins demand of every row, all of it.
        unread: Columns of types that row expressions do not have, lower case → DuckDB's type.
        infinite: Columns of queries in FROM, lower case → what they are, with quotients by zero.
        tried: What became of expressions that were to be evaluated over lists.
        bound: What expressions are bound as, by the ids of their nodes: CASE x WHEN compares one
            node with each of its values, and nine in one another were bound 3^9 times.
    """

    table: str
    alias: str
    names: Mapping[str, str]
    scope: Mapping[str, Shape]
    required: frozenset[str] = frozenset()
    qualified: Mapping[tuple[str, str], str] | None = None
    twice: frozenset[str] = frozenset()
    homes: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    listed: Mapping[a.Expr, tuple[Value, ...]] = field(default_factory=dict)
    named: Mapping[str, frozenset[str]] = field(default_factory=dict)
    evaluated: set[a.Expr] = field(default_factory=set, compare=False)
    excluded: Mapping[a.Expr, tuple[Value, ...]] = field(default_factory=dict)
    conditions: tuple[a.Expr, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    infinite: Mapping[str, a.Expr] = field(default_factory=dict)
    tried: dict[t.Node, tuple[a.Expr, bool] | None] = field(
        default_factory=dict, init=False, compare=False
    )
    bound: dict[int, tuple[t.Node, a.Expr]] = field(default_factory=dict, init=False, compare=False)

    @classmethod
    def of(cls, contract: TableContract, alias: str = "") -> Binder:
        """Returns the binder of a SELECT over that table."""
        names = {column.name.lower(): column.name for column in contract.columns}
        return cls(
            contract.table,
            alias,
            names,
            scope_of(contract),
            present_columns(contract),
            named=identities(contract),
            unread=unread_columns(contract),
        )

    def names_column(self, node: t.Node) -> bool:
        """Whether the expression is the name of a column of the table."""
        return isinstance(node, t.Name) and bool(self.column_of(node))

    def column_of(self, node: t.Name) -> str:
        """Returns the column that a name means; '' where it means none."""
        if self.qualified is not None and node.table:
            return self.qualified.get((node.table.lower(), node.name.lower()), "")
        return self.names.get(node.name.lower(), "")

    def home_of(self, name: str) -> tuple[str, str]:
        """Returns the table and the column there, for `ALTER TABLE … ALTER COLUMN …`."""
        return self.homes.get(name.lower(), (self.table, name))

    def normal_form(self, node: t.Node) -> t.Node:
        """Returns the expression with the names of columns as the relation has them, lower case."""

        def lower_name(part: t.Node) -> t.Node | None:
            if not isinstance(part, t.Name):
                return None
            qualified_name = self.qualified and self.qualified.get(
                (part.table.lower(), part.name.lower())
            )
            column = qualified_name or self.names.get(part.name.lower(), part.name)
            return t.Name(column.lower(), "", part.pos)

        return rebuild(node, lower_name)

    def binder_after_where(self, predicate: a.Expr) -> Binder:
        """Returns the binder behind a WHERE: with what it demands of a column (`conditions`)."""
        scope, present = facts_after_where(predicate, self.scope)
        return replace(
            self,
            scope=scope,
            required=self.required | present,
            listed={**self.listed, **demanded_values(predicate)},
            excluded={**self.excluded, **excluded_values(predicate)},
            conditions=(*self.conditions, *flatten("and", predicate)),
        )

    def is_present(self, expr: a.Expr) -> bool:
        """Returns whether an expression is surely neither NULL nor NaN, whatever the row holds."""
        return is_present(expr, self.scope, self.required)

    def shape(self, node: t.Node, expr: a.Expr) -> Shape:
        """Returns what is known of the bound expression; a refusal points at `node`. A cast of an
        ENUM, which is bound as its column, is text."""
        with refusals_at(node, expr):
            shape = infer_shape(expr, self.scope)
        if not isinstance(node, t.Cast):
            return shape
        if node.type in FLOATS:
            return replace(shape, sql_type="", stored="FLOAT", scale=None)
        is_text, is_float = shape.sql_type.startswith("ENUM"), shape.stored == "FLOAT"
        return replace(shape, sql_type="", stored="") if is_text or is_float else shape

    def bind(self, node: t.Node) -> a.Expr:
        """Returns the row expression, checked: it is total and of one type.

        Raises:
            Refused: An unknown name, an unknown function, mixed types, a possible overflow, or more
                than `MOST_TERMS` written out.
        """
        if id(node) not in self.bound:
            self.bound[id(node)] = node, self._bind_and_check(node)
        return self.bound[id(node)][1]

    def _bind_and_check(self, node: t.Node) -> a.Expr:
        try:
            expr = self._bind_node(node)
            shape = self.shape(node, expr)
        except Refused as refusal:
            may_be_listed = isinstance(node, t.FunctionCall | t.Binary | t.Cast)
            if not may_be_listed or refusal.hint == WRITTEN_OFTEN:  # as often over lists
                raise
            listed = evaluate_over_lists(self, node)
            if listed is None:
                raise
            expr, nullable = listed
            if not nullable:
                self.evaluated.add(expr)
            return expr
        self._check_order(node, expr)
        if isinstance(expr, a.Case) and count_terms(expr) > MOST_TERMS:
            message = f"this CASE, or what stands for one, is more than {MOST_TERMS:,} terms"
            raise refuse(node, message, WRITTEN_OFTEN)
        return _exact_decimal(expr, shape)

    def _check_order(self, node: t.Node, expr: a.Expr) -> None:
        """Refuses to order ENUMs: DuckDB goes by their labels' positions, the kernel by text."""
        if isinstance(expr, a.Call) and expr.op == "and" and isinstance(node, t.Between):
            expr = a.Call("<", tuple(dict.fromkeys(_arguments(expr))))
        if not (isinstance(expr, a.Call) and expr.op in ORDERING):
            return
        types = [infer_shape(arg, self.scope).sql_type for arg in expr.args]
        if all(sql_type.upper().startswith("ENUM") for sql_type in types):
            raise refuse(
                node, "values of an ENUM are not ordered on private rows", "list them: x IN ('a')"
            )

    def bind_predicate(self, node: t.Node, clause: str) -> a.Expr:
        """Returns a bound boolean, for the clause of that name."""
        expr = self.bind_truth(node)
        if self.shape(node, expr).type is not Type.BOOLEAN:
            raise refuse(node, f"{clause} needs a condition", "compare it, as in age >= 18")
        return expr

    def bind_truth(self, node: t.Node) -> a.Expr:
        """Returns a bound expression whose NULL literal is a boolean one."""
        return (
            coerce_literal(node, Type.BOOLEAN) if isinstance(node, t.Literal) else self.bind(node)
        )

    def bind_together(self, nodes: tuple[t.Node, ...], compared: str = "") -> tuple[a.Expr, ...]:
        """Returns expressions that are of one type, literals read as the others' type.

        Args:
            nodes: The expressions.
            compared: How they are compared, if they are: then numbers beside FLOATs are FLOATs.
        """
        constants = [fold_constant(node) or constant_moment(self, node) for node in nodes]
        open_ = [node for node, lit in zip(nodes, constants, strict=True) if lit is None]
        bound = [self.bind(node) for node in open_]
        shapes = [self.shape(node, expr) for node, expr in zip(open_, bound, strict=True)]
        own = [natural_type(lit.value) for lit in constants if lit]
        types = {s.type for s in shapes} or {type_ for type_ in own if type_}
        if _are_moments(types) or (types == {Type.DATE} and any(map(_has_clock, constants))):
            return self._bind_moments(bound, shapes, constants)
        mixed = types == {Type.INTEGER, Type.REAL}
        if len(types) > 1 and not mixed:
            names = " and ".join(sorted(str(type_) for type_ in types))
            raise refuse(nodes[0], f"the types {names} are mixed", "bring both sides to one type")
        target = Type.REAL if mixed else next(iter(types), Type.INTEGER)
        if target is Type.TIME and not bound:
            raise refuse(
                nodes[0], "a time of day is compared with a column", "WHERE x < TIME '12:00'"
            )
        rest = iter(bound)
        digits = min((s.scale for s in shapes if s.scale is not None), default=MAX_SCALE)
        if compared in ("=", "<>") and are_floats(shapes) and any(shape.scale for shape in shapes):
            hint = "cast one: x::DOUBLE, or x::DECIMAL(18, 3)"
            raise refuse(nodes[0], "a FLOAT stands beside a DECIMAL, which would be rounded", hint)
        constants = [lit and number_in_quotes(lit, target, digits) for lit in constants]
        if compared and not any(lit and lit.exponent for lit in constants):
            constants = [lit and cast_beside_floats(lit, shapes) for lit in constants]
        uuids = any(shape.sql_type == "UUID" for shape in shapes)
        read: Callable[[t.Literal, Type], a.Expr] = coerce_uuid if uuids else coerce_literal
        if target is Type.REAL and compared and all(shape.scale is None for shape in shapes):
            read = coerce_double
        return tuple(read(lit, target) if lit else next(rest) for lit in constants)

    def _bind_moments(
        self,
        bound: Sequence[a.Expr],
        shapes: Sequence[Shape],
        constants: Sequence[t.Literal | None],
    ) -> tuple[a.Expr, ...]:
        """Returns dates and timestamps as timestamps: a date is its midnight."""
        pairs = zip(bound, shapes, strict=True)
        rest = iter(a.Call("midnight", (x,)) if s.type is Type.DATE else x for x, s in pairs)
        return tuple(coerce_literal(c, Type.TIMESTAMP) if c else next(rest) for c in constants)

    def _bind_node(self, node: t.Node) -> a.Expr:
        match node:
            case t.Name():
                return columns.bind_column(self, node)
            case t.Literal(value, _, exponent):
                literal = coerce_literal(node, natural_type(value) or Type.INTEGER)
                return a.Call("real", (literal,)) if exponent else literal
            case t.Binary() | t.Cast() if (begun := moved_to_beginning(self, node)) is not None:
                return self._bind_node(begun)
            case t.Unary() | t.Binary():
                return operators.bind_operator(self, node)
            case t.IsNull(arg, negated):
                tested = operators.with_infinity(self, self.bind(arg))
                return operators.negate_if(a.Call("is null", (tested,)), negated)
            case t.InList():
                return operators.bind_in_list(self, node)
            case t.Between(arg, low, high, negated):
                together = self.bind_together((arg, low, high), "between")
                whole, least, most = (operators.with_infinity(self, x) for x in together)
                ends = (a.Call(">=", (whole, least)), a.Call("<=", (whole, most)))
                both = a.Call("and", ends)
                return operators.negate_if(both, negated)
            case t.CaseWhen():
                return operators.bind_case(self, node)
            case t.Cast():
                return bind_cast(self, node)
            case t.FunctionCall():
                return functions.bind_call(self, node)
            case t.Lookup(arg, values, numbers):
                return a.Pick((a.Key(self.bind(arg), values),), numbers)
            case t.Span():
                hint = "compare with a date, as in d >= DATE '2020-01-01'"
                raise refuse(node, "intervals are not answered privately", hint)
            case t.Exists() | t.InQuery() | t.Subquery():
                hint = "join it in FROM; EXISTS and IN find rows of the same unit by an equality"
                raise refuse(node, "a subquery cannot stand here", hint)


def _are_moments(types: Set[Type]) -> bool:
    return types == {Type.DATE, Type.TIMESTAMP}


def _has_clock(literal: t.Literal | None) -> bool:
    """Returns whether a literal is a moment with a time of day."""
    return (
        literal is not None
        and isinstance(literal.value, dt.datetime)
        and (literal.value.time() != dt.time())
    )


def _arguments(expr: a.Call) -> Iterator[a.Expr]:
    """Yields the arguments of the calls that a call has as its own."""
    for part in expr.args:
        yield from part.args if isinstance(part, a.Call) else (part,)


def _exact_decimal(expr: a.Expr, shape: Shape) -> a.Expr:
    """Returns an operation on decimals with its result rounded to the digits that it has.

    The kernel computes in doubles, where 3 * 0.1 is 0.30000000000000004; DuckDB computes decimals
    as scaled integers. The double next to a decimal is the same however it was found.
    """
    arithmetic = isinstance(expr, a.Call) and expr.op in ("+", "-", "*", "%")
    if not arithmetic or shape.type is not Type.REAL or shape.scale is None:
        return expr
    return a.Call(f"scale {shape.scale}", (expr,))
