"""Surface expression → row expression of the kernel's closed algebra.

Names are looked up as DuckDB does (case does not matter, a table or alias may qualify), sugar is
taken away (BETWEEN, CASE with an operand, IF, NULLIF …), literals get the type of what they stand
beside. Whatever has no counterpart in the algebra is refused here, before anything is charged.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from sqlpriv.dialect import tree as t
from sqlpriv.errors import Refused
from sqlpriv.kernel import algebra as a
from sqlpriv.kernel.contract import TableContract, Type, Value
from sqlpriv.plan import functions
from sqlpriv.plan.literals import coerce, natural, refuse
from sqlpriv.plan.shapes import DATE_PARTS, Shape, check, scope_of
from sqlpriv.plan.traverse import constant, rebuild


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
        names = {column.name.lower(): column.name for column in contract.columns}
        required = frozenset(c.name.lower() for c in contract.columns if c.required)
        return cls(
            contract.table, alias, names, scope_of(contract), required, named=identities(contract)
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
        """Returns the binder behind a WHERE: what it demands of a column holds.

        `IS NOT NULL` leaves no NULL; equality and IN leave the values listed; a comparison of a
        date with a literal narrows its interval (of numbers, too, within the declared one).
        """
        scope, required = dict(self.scope), set(self.required)
        listed = {**self.listed, **_listed(predicate)}
        for column, (low, high) in _compared(predicate).items():
            if column in scope:
                scope[column] = scope[column].within(low, high)
        for part in _flat("and", predicate):
            match part:
                case a.Call("not", (a.Call("is null", (a.Col(name),)),)):
                    shape = scope[name.lower()]
                    values = shape.values and tuple(v for v in shape.values if v is not None)
                    scope[name.lower()] = replace(shape, nullable=False, values=values)
                    if shape.type is not Type.REAL:  # a NaN is not NULL, and no value either
                        required.add(name.lower())
        return replace(self, scope=scope, required=frozenset(required), listed=listed)

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
                return self._column(node)
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
            case t.Exists() | t.InQuery() | t.Subquery():
                hint = "join it in FROM, or put EXISTS and IN at the top of WHERE, joined by AND"
                raise refuse(node, "a subquery cannot stand here", hint)

    def _qualified(self, node: t.Name) -> str:
        """Returns the column that a name means where FROM holds several tables."""
        assert self.qualified is not None
        found: str | None
        if node.table:
            found = self.qualified.get((node.table.lower(), node.name.lower()))
        elif node.name.lower() in self.twice:
            raise refuse(node, f'"{node.name}" is a column of several tables',
                         "write it behind its table, as in t.x")  # fmt: skip
        else:
            found = self.names.get(node.name.lower())
        if found is None:
            shown = f"{node.table}.{node.name}" if node.table else node.name
            known = ", ".join(f"{q}.{n}" for q, n in list(self.qualified)[:40])
            raise refuse(node, f'there is no column "{shown}" in FROM', f"its columns are: {known}")
        return found

    def _column(self, node: t.Name) -> a.Col:
        if self.qualified is not None:
            name = self._qualified(node)
            if name.lower() not in self.scope:
                raise refuse(node, f'the column "{node.name}" has a type that cannot be used here',
                             "numbers, text, booleans, dates and timestamps can")  # fmt: skip
            return a.Col(name)
        return self._alone(node)

    def _alone(self, node: t.Name) -> a.Col:
        """Returns the column that a name means where FROM is one table."""
        qualifiers = {"", (self.alias or self.table).lower()}
        if node.table.lower() not in qualifiers:
            raise refuse(
                node,
                f'"{node.table}" is not the table of FROM',
                f"write {self.alias or self.table}.{node.name}",
            )
        name = self.names.get(node.name.lower())
        if name is None:
            raise refuse(
                node,
                f'there is no column "{node.name}" in "{self.table}"',
                f"its columns are: {', '.join(self.names.values())}",
            )
        if name.lower() not in self.scope:
            raise refuse(
                node,
                f'the column "{name}" has a type that cannot be used here',
                "numbers, text, booleans, dates and timestamps can",
            )
        return a.Col(name)

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
                return a.Call(op, tuple(x for side in sides for x in _flat(op, side)))
            case t.Binary("=" | "<>" | "<" | "<=" | ">" | ">=" as op, left, right):
                return a.Call(op, self.together((left, right)))
            case t.Binary("+" | "-" | "*" | "/" | "//" | "%" as op, left, right):
                return a.Call(op, (self.bind(left), self.bind(right)))
        raise refuse(
            node, f"the operator {node.op} is not for private rows", functions.hint_of(node.op)
        )

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


def identities(contract: TableContract) -> dict[str, frozenset[str]]:
    """Returns what the values of a private table's columns identify; see `Binder.named`."""
    found: dict[str, set[str]] = {}
    unit, via = contract.unit, contract.via
    if unit is None:
        return {}
    for column in contract.unique:
        found.setdefault(column, set()).add(f"{contract.table.lower()}.{column}")
    if via is None:
        found.setdefault(unit.column.lower(), set()).add("")
    else:
        found.setdefault(via.column.lower(), set()).add(f"{via.table}.{via.parent}".lower())
    return {column: frozenset(ids) for column, ids in found.items()}


def _listed(predicate: a.Expr) -> dict[a.Expr, tuple[Value, ...]]:
    """Returns expressions with the values of which each row that passes has one."""
    match predicate:
        case a.Call("and", args):
            found: dict[a.Expr, tuple[Value, ...]] = {}
            for arg in args:
                for expr, values in _listed(arg).items():
                    found[expr] = tuple(v for v in found.get(expr, values) if v in values)
            return found
        case a.Call("or", args):
            sides = [_listed(arg) for arg in args]
            shared = set.intersection(*map(set, sides))
            return {e: tuple(dict.fromkeys(v for s in sides for v in s[e])) for e in shared}
        case a.Call("=", (expr, a.Lit(value)) | (a.Lit(value), expr)) if value is not None:
            return {expr: (value,)}
        case a.In(expr, values):
            return {expr: values}
    return {}


_SIDES = {"<": (False, True), "<=": (False, True), ">": (True, False), ">=": (True, False)}


def _compared(predicate: a.Expr) -> dict[str, tuple[Any, Any]]:
    """Returns columns with the ends (None: open) that a conjunction of comparisons sets."""
    found: dict[str, tuple[Any, Any]] = {}
    for part in _flat("and", predicate):
        match part:
            case a.Call(op, (a.Col(name), a.Lit(value))) if op in _SIDES and value is not None:
                low, high = found.get(name.lower(), (None, None))
                lower, upper = _SIDES[op]
                low = value if lower and (low is None or value > low) else low
                high = value if upper and (high is None or value < high) else high
                if op == "<" and type(value) is dt.date and high is value:
                    high = value - dt.timedelta(days=1) if value > dt.date.min else value
                found[name.lower()] = (low, high)
    return found


def _negated(expr: a.Expr, negated: bool) -> a.Expr:
    return a.Call("not", (expr,)) if negated else expr


def _flat(op: str, expr: a.Expr) -> tuple[a.Expr, ...]:
    """Returns the sides of nested ANDs, or ORs, as one list."""
    return expr.args if isinstance(expr, a.Call) and expr.op == op else (expr,)


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
