"""Surface expression → row expression of the kernel's closed algebra.

Names are looked up as DuckDB does (case does not matter, a table or alias may qualify), sugar is
taken away (BETWEEN, CASE with an operand, IF, NULLIF …), literals get the type of what they stand
beside. Whatever has no counterpart in the algebra is refused here, before anything is charged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from sqlpriv.dialect import tree as t
from sqlpriv.errors import Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract, Type, Value
from sqlpriv.plan.expressions import columns, functions
from sqlpriv.plan.expressions.conditions import demanded, flat, identities, listed
from sqlpriv.plan.expressions.dates import DATE_PARTS
from sqlpriv.plan.expressions.inference import check
from sqlpriv.plan.expressions.literals import coerce, natural, refuse
from sqlpriv.plan.expressions.traverse import constant, rebuild
from sqlpriv.plan.expressions.value_facts import Shape, scope_of


@dataclass(frozen=True)
class Binder:
    """What names mean inside one SELECT.

    Args:
        table: The table of FROM, as in the contract.
        alias: Its alias, which then is the only qualifier; or ''.
        names: Lower-case name → the column's name in the catalog.
        scope: Lower-case name → what is publicly known of the column's values.
        required: Lower-case names of columns without NULL and NaN, by the owner's promise.
        qualified: With several tables in FROM: (alias, name), lower case → the column; else None.
        twice: Lower-case names that several tables have.
        homes: The column → its table and its own name there, where these are not the binder's.
        listed: Expressions that WHERE demands one of these values of.
        named: Column, lower case → what its values identify: the unit (""), or a row of a parent,
            `table.column`, which is of one unit, too.
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

    @classmethod
    def of(cls, contract: TableContract, alias: str = "") -> Binder:
        """Returns the binder of a SELECT over that table."""
        there = {column.name.lower(): column.name for column in contract.columns}
        required = frozenset(c.name.lower() for c in contract.columns if c.required)
        return cls(
            contract.table, alias, there, scope_of(contract), required, named=identities(contract)
        )

    def knows(self, node: t.Node) -> bool:
        """Whether the expression is the name of a column of the table."""
        return isinstance(node, t.Name) and bool(self.column(node))

    def column(self, node: t.Name) -> str:
        """Returns the column that a name means; '' where it means none."""
        if self.qualified is not None and node.table:
            return self.qualified.get((node.table.lower(), node.name.lower()), "")
        return self.names.get(node.name.lower(), "")

    def home(self, name: str) -> tuple[str, str]:
        """Returns the table and the column there, for `ALTER TABLE … ALTER COLUMN …`."""
        return self.homes.get(name.lower(), (self.table, name))

    def normal(self, node: t.Node) -> t.Node:
        """Returns the expression with the names of columns as the relation has them, lower case."""

        def named(part: t.Node) -> t.Node | None:
            if not isinstance(part, t.Name):
                return None
            known = self.qualified and self.qualified.get((part.table.lower(), part.name.lower()))
            found = known or self.names.get(part.name.lower(), part.name)
            return t.Name(found.lower(), "", part.pos)

        return rebuild(node, named)

    def without_nulls(self, predicate: a.Expr) -> Binder:
        """Returns the binder behind a WHERE: with what it demands of a column (`conditions`)."""
        scope, present = demanded(predicate, self.scope)
        known = {**self.listed, **listed(predicate)}
        return replace(self, scope=scope, required=self.required | present, listed=known)

    def present(self, expr: a.Expr) -> bool:
        """Returns whether an expression is surely neither NULL nor NaN, whatever the row holds."""
        match expr:
            case a.Col(name):
                return name.lower() in self.required
            case a.Lit(value):
                return value is not None
            case a.Call("is null"):
                return True
            case a.Call("coalesce" | "least" | "greatest", args):
                return any(map(self.present, args))
            case a.Call(op, (arg,)) if op == "days" or op.startswith("trunc "):  # not of all time
                return self.present(arg) and check(expr, self.scope).lower is not None
            case a.Call("/" | "//" | "%", args):
                return all(map(self.present, args)) and not check(expr, self.scope).nullable
            case a.Call(_, args):
                return all(map(self.present, args))
            case a.In(arg) | a.Bin(arg) | a.Like(arg) | a.Substring(arg):
                return self.present(arg)
            case a.Case(whens, otherwise):
                return all(map(self.present, [otherwise, *(then for _, then in whens)]))
            case a.Pick():
                return False

    def shape(self, node: t.Node, expr: a.Expr) -> Shape:
        """Returns what is known of the bound expression; a refusal points at `node`."""
        with _at(node, expr):
            return check(expr, self.scope)

    def bind(self, node: t.Node) -> a.Expr:
        """Returns the row expression, checked: it is total and of one type.

        Raises:
            Refused: An unknown name, an unknown function, mixed types, or a possible overflow.
        """
        expr = self._bind(node)
        self.shape(node, expr)
        return expr

    def predicate(self, node: t.Node, clause: str) -> a.Expr:
        """Returns a bound boolean, for the clause of that name."""
        expr = self.truth(node)
        if self.shape(node, expr).type is not Type.BOOLEAN:
            raise refuse(node, f"{clause} needs a condition", "compare it, as in age >= 18")
        return expr

    def truth(self, node: t.Node) -> a.Expr:
        """Returns a bound expression whose NULL literal is a boolean one."""
        return coerce(node, Type.BOOLEAN) if isinstance(node, t.Literal) else self.bind(node)

    def together(self, nodes: tuple[t.Node, ...]) -> tuple[a.Expr, ...]:
        """Returns expressions that are of one type, literals read as the others' type."""
        found = [constant(node) for node in nodes]
        open_ = [node for node, lit in zip(nodes, found, strict=True) if lit is None]
        bound = [self.bind(node) for node in open_]
        shapes = [self.shape(node, expr) for node, expr in zip(open_, bound, strict=True)]
        own = [natural(lit.value) for lit in found if lit]
        types = {s.type for s in shapes} or {type_ for type_ in own if type_}
        mixed = types == {Type.INTEGER, Type.REAL}
        if len(types) > 1 and not mixed:
            names = " and ".join(sorted(str(type_) for type_ in types))
            raise refuse(nodes[0], f"the types {names} are mixed", "bring both sides to one type")
        target = Type.REAL if mixed else next(iter(types), Type.INTEGER)
        rest = iter(bound)
        return tuple(coerce(lit, target) if lit else next(rest) for lit in found)

    def _bind(self, node: t.Node) -> a.Expr:
        match node:
            case t.Name():
                return columns.column(self, node)
            case t.Literal(value):
                return coerce(node, natural(value) or Type.INTEGER)
            case t.Unary() | t.Binary():
                return self._operator(node)
            case t.IsNull(arg, negated):
                return _negated(a.Call("is null", (self.bind(arg),)), negated)
            case t.InList():
                return self._in_list(node)
            case t.Between(arg, low, high, negated):
                whole, least, most = self.together((arg, low, high))
                ends = (a.Call(">=", (whole, least)), a.Call("<=", (whole, most)))
                both = a.Call("and", ends)
                return _negated(both, negated)
            case t.CaseWhen():
                return self._case(node)
            case t.Cast():
                return functions.cast(self, node)
            case t.Call():
                return functions.call(self, node)
            case t.Lookup(arg, values, numbers):
                return a.Pick((a.Key(self.bind(arg), values),), numbers)
            case t.Exists() | t.InQuery() | t.Subquery():
                hint = "join it in FROM; EXISTS and IN find rows of the same unit by an equality"
                raise refuse(node, "a subquery cannot stand here", hint)

    def _operator(self, node: t.Unary | t.Binary) -> a.Expr:
        number = constant(node)
        if number is not None:
            return coerce(number, natural(number.value) or Type.INTEGER)
        match node:
            case t.Unary("not", arg):
                return a.Call("not", (self.predicate(arg, "NOT"),))
            case t.Unary("-", arg):
                return a.Call("neg", (self.bind(arg),))
            case t.Binary("and" | "or" as op, left, right):
                sides = [self.predicate(side, op.upper()) for side in (left, right)]
                return a.Call(op, tuple(x for side in sides for x in flat(op, side)))
            case t.Binary("=" | "<>" | "<" | "<=" | ">" | ">=" as op, left, right):
                return a.Call(op, self.together((left, right)))
            case t.Binary("+" | "-" | "*" | "/" | "//" | "%" as op, left, right):
                return self._arithmetic(op, (left, right))
        raise refuse(
            node, f"the operator {node.op} is not for private rows", functions.hint_of(node.op)
        )

    def _arithmetic(self, op: str, nodes: tuple[t.Node, t.Node]) -> a.Expr:
        """Returns an operation on numbers; the difference of two dates is in days."""
        sides = (self.bind(nodes[0]), self.bind(nodes[1]))
        shapes = [self.shape(side, expr) for side, expr in zip(nodes, sides, strict=True)]
        if op == "-" and all(shape.type is Type.DATE for shape in shapes):
            return functions.days_between(sides[1], sides[0])
        return a.Call(op, sides)

    def _in_list(self, node: t.InList) -> a.Expr:
        items = [constant(item) for item in node.items]
        arg = self.bind(node.arg)
        type_ = self.shape(node.arg, arg).type
        for item, source in zip(items, node.items, strict=True):
            if item is None:
                raise refuse(source, "an IN list holds literals", "write x = y OR x = z")
            if item.value is None:
                hint = "write (x IN (…) OR x IS NULL)"
                raise refuse(source, "NULL in an IN list equals nothing", hint)
        values = dict.fromkeys(coerce(item, type_).value for item in items if item)
        return _negated(a.In(arg, tuple(values)), node.negated)

    def _case(self, node: t.CaseWhen) -> a.Expr:
        tests = [
            t.Binary("=", node.operand, when, when.pos) if node.operand else when
            for when, _ in node.whens
        ]
        last = node.otherwise or t.Literal(None, node.pos)
        *thens, otherwise = self.together((*(then for _, then in node.whens), last))
        predicates = [self.predicate(test, "CASE WHEN") for test in tests]
        return a.Case(tuple(zip(predicates, thens, strict=True)), otherwise)


def _negated(expr: a.Expr, negated: bool) -> a.Expr:
    return a.Call("not", (expr,)) if negated else expr


@contextmanager
def _at(node: t.Node, expr: a.Expr) -> Iterator[None]:
    """Gives refusals of types the place that they are about, and advice."""
    try:
        yield
    except Refused as error:
        if error.line:
            raise
        raise refuse(node, error.message, error.hint or _advice(expr)) from None


def _advice(expr: a.Expr) -> str:
    """Returns what to write instead of an expression whose types do not fit."""
    match expr:
        case a.Call("//"):
            return "write floor(x / y)"
        case a.Call("+" | "-" | "*" | "/" | "%"):
            return "arithmetic is for numbers; dates have parts: year(d), month(d)"
        case a.Call(part) if part in DATE_PARTS:
            return "dates and timestamps have parts; hours and minutes are a TIMESTAMP's"
        case a.Call("abs" | "floor" | "ceil" | "round" | "neg"):
            return "the function takes a number"
    return "bring all of it to one type"
