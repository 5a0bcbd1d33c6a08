"""Aggregates inside one unit: `SELECT customer, COUNT(*) FROM orders GROUP BY customer` in FROM."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlpriv.kernel.proof.sensitivity import fold_ends
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.kernel.terms.operations import MAX_SCALE
from sqlpriv.plan.aggregates.calls import aggregate_calls, is_aggregate
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.facts.conditions import truths_as_numbers
from sqlpriv.plan.expressions.facts.engine_types import number_type
from sqlpriv.plan.expressions.facts.value_facts import Shape, column_scale, with_values_listed
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.statements import default_name
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import as_literal, rebuild, with_aliases

KINDS = {"count": "count", "sum": "sum", "min": "min", "max": "max", "avg": "avg", "mean": "avg"}
_OF_TRUTHS = {"bool_or": "max", "bool_and": "min"}
"""Aggregates of conditions, as those of 1 and 0."""


def key_aliases(query: t.Select) -> dict[str, t.Node]:
    """Returns the expression of each alias, lower case."""
    return {item.alias.lower(): item.expr for item in query.items if item.alias}


def group_keys_of(
    query: t.Select, binder: Binder, aliases: Mapping[str, t.Node]
) -> list[tuple[t.Node, a.Expr]]:
    """Returns the keys of GROUP BY, each as written and bound; ordinals and ALL are resolved."""
    nodes = query.group_by
    if query.group_all:
        nodes = tuple(i.expr for i in query.items if not any(aggregate_calls(i.expr)))
    keys = []
    for node in nodes:
        number = as_literal(node)
        if number is not None and type(number.value) is int:
            if not 1 <= number.value <= len(query.items):
                raise refuse(node, "GROUP BY has no such output", "count from 1")
            node = query.items[number.value - 1].expr
        visible_aliases = {k: v for k, v in aliases.items() if k not in binder.names}
        resolved = with_aliases(node, visible_aliases)
        keys.append((binder.normal_form(resolved), binder.bind(resolved)))
    return keys


@dataclass
class Folding:
    """Turns outputs over keys and aggregates into expressions over the columns of a PerUnit.

    Args:
        binder: Of the rows that are aggregated.
        aliases: Of the subquery's outputs.
        keys: Of GROUP BY: normal form and row expression.
        unit: Which key is the unit itself, or None.
        reach: How many rows of a unit are meant at most.
        free: Makes a column's name that is in no use.
    """

    binder: Binder
    aliases: Mapping[str, t.Node]
    keys: Sequence[tuple[t.Node, a.Expr]]
    unit: int | None
    reach: int
    free: Callable[[str], str]
    names: list[str] = field(default_factory=list)
    folds: dict[tuple[object, ...], a.Fold] = field(default_factory=dict)
    scope: dict[str, Shape] = field(default_factory=dict)
    required: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for number, (node, expr) in enumerate(self.keys):
            self.names.append(self.free(f"key{number}"))
            self.scope[self.names[-1]] = self.binder.shape(node, expr)

    def relation(self, source: a.Relation) -> a.PerUnit:
        """Returns the relation, once all outputs are written."""
        pairs = [
            (n, e)
            for i, (n, (_, e)) in enumerate(zip(self.names, self.keys, strict=True))
            if i != self.unit
        ]
        unit = "" if self.unit is None else self.names[self.unit]
        return a.PerUnit(source, tuple(pairs), tuple(self.folds.values()), unit)

    def write_output(self, node: t.Node) -> t.Node:
        """Returns an output over the columns of the relation."""
        return rebuild(with_aliases(node, self._hidden_aliases()), self._column)

    def _hidden_aliases(self) -> dict[str, t.Node]:
        return {k: v for k, v in self.aliases.items() if k not in self.binder.names}

    def _column(self, node: t.Node) -> t.Node | None:
        for name, (key, _) in zip(self.names, self.keys, strict=True):
            if self.binder.normal_form(node) == key:
                return t.Name(name, "", node.pos)
        if isinstance(node, t.FunctionCall) and is_aggregate(node):
            return self._aggregate(node)
        if isinstance(node, t.Name):
            raise refuse(
                node,
                f'the column "{node.name}" is neither a key nor in an aggregate',
                "put it in GROUP BY or inside an aggregate",
            )
        return None

    def _aggregate(self, call: t.FunctionCall) -> t.Node:
        call = _as_count(call)
        if call.name in _OF_TRUTHS and len(call.args) == 1 and not call.distinct:
            (truth,) = call.args
            one, nought = t.Literal(1, call.pos), t.Literal(0, call.pos)
            inverse = t.Unary("not", truth, call.pos)
            number = t.CaseWhen(((truth, one), (inverse, nought)), None, None, call.pos)
            end = self._aggregate(replace(call, name=_OF_TRUTHS[call.name], args=(number,)))
            shape = self.binder.shape(truth, self.binder.bind(truth))
            if isinstance(end, t.Name) and call.filter is None and not shape.nullable:
                self.scope[end.name] = with_values_listed(Shape(Type.INTEGER, 0, 1, False))
            return t.Binary("=", end, one, call.pos)
        kind = KINDS.get(call.name, "")
        if not kind or call.using or len(call.args) > 1 or (call.distinct and kind != "count"):
            raise refuse(
                call,
                f"{call.name.upper()} is not computed inside a unit",
                "COUNT, COUNT(DISTINCT x), SUM, AVG, MIN and MAX are",
            )
        if kind == "avg":
            total = self._aggregate(replace(call, name="sum"))
            count = self._aggregate(replace(call, name="count"))
            if isinstance(total, t.Cast) and 0 < (digits := self._digits(call)) <= MAX_SCALE:
                # of the whole number of hundredths, as DuckDB has it: 37.02 / 3 is not 12.34
                units = t.Literal(10**digits, call.pos)
                of_units = t.Binary("/", t.Binary("*", total, units, call.pos), count, call.pos)
                return t.Binary("/", of_units, units, call.pos)
            return t.Binary("/", total, count, call.pos)
        of = self.binder.bind(call.args[0]) if call.args else None
        if kind == "sum" and of and self.binder.shape(call, of).type is Type.BOOLEAN:
            of = truths_as_numbers(of)
        if call.filter is not None:
            test = self.binder.bind_predicate(call.filter, "FILTER")
            value: a.Expr = a.Lit(1, Type.INTEGER) if of is None else of
            null = a.Lit(None, self.binder.shape(call, value).type)
            of = a.Case(((test, value),), null)
        kind = "distinct" if call.distinct else kind
        if kind == "count" and of is not None and self.binder.is_present(of):
            of = None
        if kind in ("min", "max") and of is not None:
            (arg,) = call.args
            shape = self.binder.shape(arg, self.binder.bind(arg))
            if shape.type is Type.TEXT and shape.values is not None:
                return self._end_of_texts(call, kind, of, shape)
        column = t.Name(self._fold(call, kind, of), "", call.pos)
        scale = None if of is None or kind in ("count", "distinct") else self._scale(call, of)
        if scale is None:
            return column
        stored = self._stored_type(call, of) if kind in ("min", "max") else ""
        if column_scale(stored) != scale:  # zeros behind the point, which would be more levels
            stored = f"DECIMAL(38,{scale})"
        return t.Cast(column, stored, pos=call.pos)

    def _stored_type(self, call: t.FunctionCall, of: a.Expr | None) -> str:
        """Returns DuckDB's type of the numbers that an aggregate is of."""
        assert of is not None
        arg = self.binder.normal_form(call.args[0])
        return number_type(arg, self.binder.shape(call, of), self.binder.scope)

    def _digits(self, call: t.FunctionCall) -> int:
        """Returns the digits behind the point of what an aggregate is of; 0 of no DECIMAL."""
        return self._scale(call, self.binder.bind(call.args[0])) or 0 if call.args else 0

    def _scale(self, call: t.FunctionCall, of: a.Expr) -> int | None:
        """Returns the digits behind the point of a DECIMAL, which its sums have, too."""
        shape = self.binder.shape(call, of)
        return shape.scale if shape.type is Type.REAL else None

    def _end_of_texts(self, call: t.FunctionCall, kind: str, of: a.Expr, shape: Shape) -> t.Node:
        """Returns the least or largest of listed texts: that of their places in the list, in the
        order of their bytes, or of an ENUM's declared one."""
        texts = [str(value) for value in shape.values or () if value is not None]
        texts = texts if shape.sql_type else sorted(texts, key=str.encode)
        places = tuple(
            (a.In(of, (text,)), a.Lit(place, Type.INTEGER)) for place, text in enumerate(texts)
        )
        place = self._fold(call, kind, a.Case(places, a.Lit(None, Type.INTEGER)))
        whens = tuple(
            (t.Literal(i, call.pos), t.Literal(text, call.pos)) for i, text in enumerate(texts)
        )
        return t.CaseWhen(whens, None, t.Name(place, "", call.pos), call.pos)

    def _fold(self, call: t.FunctionCall, kind: str, of: a.Expr | None) -> str:
        if (kind, of) in self.folds:
            return self.folds[kind, of].name
        if of is None and kind != "count":
            raise refuse(call, f"{call.name.upper()} takes one argument", "write SUM(x)")
        name, shape = self.free(kind), self.binder.shape(call, of) if of is not None else None
        if kind in ("count", "distinct"):
            fold = a.Fold(name, kind, of, reach=self.reach)
            is_of_rows = of is None or (kind == "distinct" and self.binder.is_present(of))
            least = 1 if is_of_rows else 0  # a group has a row
            self.scope[name] = with_values_listed(Shape(Type.INTEGER, least, self.reach, False))
            self.required |= {name}
        else:
            assert shape is not None
            if kind in ("min", "max") and shape.type in (Type.DATE, Type.TIMESTAMP):
                self.scope[name] = shape
                self.folds[kind, of] = a.Fold(name, kind, of, reach=self.reach)
                self._note_present(name, of)
                return name
            if shape.lower is None or shape.type not in (Type.INTEGER, Type.REAL):
                raise refuse(
                    call,
                    f"{call.name.upper()} needs public bounds of its argument",
                    "clamp it: LEAST(GREATEST(x, low), high)",
                )
            fold = a.Fold(name, kind, of, shape.lower, shape.upper, self.reach)
            ends = fold_ends(fold)
            self.scope[name] = with_values_listed(Shape(shape.type, *ends, shape.nullable))
            if shape.type is Type.INTEGER:  # a SUM has DuckDB's widest type, a MAX its column's
                stored = "HUGEINT"
                if kind != "sum":
                    stored = self._stored_type(call, of)
                self.scope[name] = replace(self.scope[name], stored=stored)
            self._note_present(name, of)
            if shape.type is Type.REAL:
                fold = _fold_on_binary_lattice(fold)
        self.folds[kind, of] = fold
        return name

    def _note_present(self, name: str, of: a.Expr | None) -> None:
        """Notes that a fold of what each row has is there: a group has a row."""
        if of is not None and self.binder.is_present(of):
            self.required |= {name}


def _as_count(call: t.FunctionCall) -> t.FunctionCall:
    """Returns `count_if(test)` as `count(*) FILTER (WHERE test)`, and any other call as it is."""
    if call.name not in ("count_if", "countif") or len(call.args) != 1:
        return call
    (test,) = call.args
    kept = test if call.filter is None else t.Binary("and", call.filter, test, call.pos)
    return replace(call, name="count", args=(), star=True, filter=kept)


def _fold_on_binary_lattice(fold: a.Fold) -> a.Fold:
    """Returns a fold of reals on a lattice whose steps are a power of two.

    The kernel adds steps of the interval's 2^41-th part. Between -2^k and 2^k that is a power of
    two, of which whole numbers, halves, eighths and so on are multiples: their sums are exact, so
    that `SUM(x) = 3` holds where it does in DuckDB. The argument is clamped to its own ends by
    being computed.
    """
    size = max(abs(float(fold.lower)), abs(float(fold.upper)))
    power = 2.0 ** math.ceil(math.log2(size)) if size > 0 else 1.0
    assert fold.of is not None
    return replace(fold, of=a.Call("real", (fold.of,)), lower=-power, upper=power)


def default(item: t.Item) -> str:
    """Returns the name of an output, lower case."""
    return (item.alias or default_name(item)).lower()
