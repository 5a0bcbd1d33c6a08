"""Combinations of keys that can occur: the rows of a public table, and the values of one column.

GROUP BY over columns of one public table has no other rows than that table's. Keys that are made of
one column, `year(day), month(day)`, have those that its publicly listed values give: the keys are
computed for each of them, in an engine without private tables.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import duckdb

from sqlpriv.kernel.proof.unit_rows import equated_columns
from sqlpriv.kernel.sql.expressions import ROW, SQL_TYPES
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Column, TableContract, Type, Value
from sqlpriv.kernel.terms.operations import columns_read
from sqlpriv.plan.computed_columns import GROUP
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.facts.value_facts import MAX_LEVELS, Shape
from sqlpriv.plan.expressions.public_engine import public_engine
from sqlpriv.plan.group_keys import Combinations, Dimension
from sqlpriv.statements import tree as t

_OF_HOURS = frozenset(
    f"{kind}{part}"
    for kind in ("", "trunc ")
    for part in ("century", "decade", "year", "quarter", "month", "week", "day", "hour")
) | {"dow", "isodow", "doy", "date", "midnight", "days"}
"""Operations that have one result for all moments of the same hour."""


class Existing(NamedTuple):
    """Keys whose values depend on each other, and which combinations of their values can occur.

    Attributes:
        places: The positions of these keys among the statement's groups.
        rows: The combinations, a value for each of these keys.
    """

    places: tuple[int, ...]
    rows: Collection[tuple[Value, ...]]


def existing_combinations(
    groups: Sequence[Dimension],
    binder: Binder,
    contract: TableContract,
    combinations: Combinations | None,
    relation: a.Relation,
) -> tuple[Existing, ...]:
    """Returns which combinations there are of keys that are made of one column, and of keys that
    are columns of one public table.

    Args:
        groups: The keys of GROUP BY.
        binder: Tells which table a column is of.
        contract: Of the statement's table, with those of the others in it.
        combinations: Reads public tables; None where none can be read.
        relation: The statement's rows: columns that its inner joins equate have one value.
    """
    homes = _public_homes(groups, binder, contract, relation)
    several = {home: keys for home, keys in homes.items() if len(keys) > 1}
    of_columns = tuple(_combinations_of_columns(groups, binder))
    if combinations is None:
        return of_columns
    return of_columns + tuple(
        Existing(
            tuple(place for place, _ in keys),
            combinations(table, tuple(column for _, column in keys)),
        )
        for (_, table), keys in several.items()
    )


MOST_LOOKED_UP = 1_000
"""Values of a key for each of which an output names another column's value."""


@dataclass(frozen=True)
class ColumnsOfKeys:
    """Columns of public tables that have one value for each value of a key.

    Args:
        groups, binder, contract, combinations, relation: As those of `existing_combinations`.
    """

    groups: Sequence[Dimension]
    binder: Binder
    contract: TableContract
    combinations: Combinations | None
    relation: a.Relation

    def value_of(self, node: t.Name) -> tuple[t.Node, Column] | None:
        """Returns a column's value as an expression over the cells' keys, and the column; None
        where no key of its table tells it."""
        name = self.binder.column_of(node).lower()
        table, column = self.binder.homes.get(name, ("", ""))
        home = self.contract.others.get(table.lower())
        if self.combinations is None or home is None or not home.public:
            return None
        prefix = name[: len(name) - len(column)]
        keys = _public_homes(self.groups, self.binder, self.contract, self.relation)
        public_column = home.column(column)
        for place, key in keys.get((prefix, home.table), ()):
            if key.lower() == column.lower() or public_column is None:
                continue
            rows = self.combinations(home.table, (key, public_column.name))
            values = {value: other for value, other in rows if value is not None}
            is_told = len(values) == sum(value is not None for value, _ in rows)
            if is_told and 0 < len(values) <= MOST_LOOKED_UP:
                whens = tuple((t.Literal(k), t.Literal(v)) for k, v in values.items())
                return t.CaseWhen(whens, operand=t.Name(f"{GROUP}{place}")), public_column
        return None


def _public_homes(
    groups: Sequence[Dimension], binder: Binder, contract: TableContract, relation: a.Relation
) -> dict[tuple[str, str], list[tuple[int, str]]]:
    """Returns, by the prefix and the name of a public table, the keys that are columns of it, or
    equal to one: their positions and the columns' names there."""
    homes: dict[tuple[str, str], list[tuple[int, str]]] = {}
    equal = list(_equated_columns(relation))
    for place, dimension in enumerate(groups):
        expr = dimension.key.expr
        own = expr.name.lower() if isinstance(expr, a.Col) else ""
        for name in dict.fromkeys((own, *(other for one, other in equal if one == own))):
            table, column = binder.homes.get(name, ("", ""))
            home = contract.others.get(table.lower())
            if home is not None and home.public:  # twice in FROM it has two prefixes
                prefix = name[: len(name) - len(column)]
                homes.setdefault((prefix, home.table), []).append((place, column))
    return homes


def _combinations_of_columns(groups: Sequence[Dimension], binder: Binder) -> Iterator[Existing]:
    """Yields, for each column with listed values that keys are made of, what it makes of them."""
    by_column: dict[str, list[int]] = {}
    for place, dimension in enumerate(groups):
        columns = columns_read(dimension.key.expr)
        if len(columns) == 1 and dimension.type is not Type.REAL and not dimension.selected:
            by_column.setdefault(next(iter(columns)), []).append(place)
    for column, places in by_column.items():
        keys = tuple(groups[place].key.expr for place in places)
        if all(isinstance(key, a.Col) for key in keys):
            continue
        may_be_null = not binder.is_present(a.Col(column))
        rows = _combinations_of(column, keys, binder.scope[column], may_be_null)
        lists = [frozenset(groups[place].values) for place in places]
        listed = [row for row in rows if all(map(frozenset.__contains__, lists, row))]
        if listed:
            yield Existing(tuple(places), listed)


@lru_cache(maxsize=256)
def _combinations_of(
    column: str, keys: tuple[a.Expr, ...], shape: Shape, may_be_null: bool
) -> tuple[tuple[Value, ...], ...]:
    """Returns the combinations that the values of a column give; none where they are not listed."""
    values = _values_of(shape, keys)
    if values is None:
        return ()
    declared = Column(column, shape.type, SQL_TYPES[shape.type])
    scope = Scope(a.Scan("values"), TableContract("values", (declared,), public=True), part=True)
    texts = ", ".join(scope.export("key", key)[1] for key in keys)
    more: list[Value] = [None] if may_be_null else []
    if shape.type is Type.TEXT:
        more.append("\x01")  # an undeclared text: what becomes of it is counted, too
    name = scope.dialect.identifier(column)
    listed = f"SELECT unnest(?::{SQL_TYPES[shape.type]}[]) AS {name}"
    sql = f"SELECT DISTINCT {texts} FROM ({listed}) AS {ROW}"
    try:
        return tuple(public_engine().cursor().execute(sql, [[*values, *more]]).fetchall())
    except duckdb.Error:
        return ()


def _values_of(shape: Shape, keys: Sequence[a.Expr]) -> Sequence[Value] | None:
    """Returns a value of each kind that keys tell apart; None where there is no list of them."""
    if shape.values is not None:
        return [value for value in shape.values if value is not None]
    if shape.type is Type.BOOLEAN:
        return (False, True)
    if shape.lower is None or shape.type not in (Type.DATE, Type.TIMESTAMP):
        return None
    if shape.type is Type.TIMESTAMP and not all(map(_is_of_hours, keys)):
        return None
    step = dt.timedelta(days=1) if shape.type is Type.DATE else dt.timedelta(hours=1)
    first, last = shape.lower, shape.upper
    if shape.type is Type.TIMESTAMP:
        first = first.replace(minute=0, second=0, microsecond=0)
    count = (last - first) // step + 1
    return None if count > MAX_LEVELS else [first + n * step for n in range(count)]


def _is_of_hours(expr: object) -> bool:
    """Returns whether an expression is the same of all moments of one hour."""
    match expr:
        case a.Col():
            return False
        case a.Call(op, (a.Col(),)):
            return op in _OF_HOURS
    named = vars(expr) if hasattr(expr, "__dataclass_fields__") else {}
    parts = expr if isinstance(expr, tuple) else named.values()
    return all(map(_is_of_hours, parts))


def _equated_columns(relation: a.Relation) -> Iterator[tuple[str, str]]:
    """Yields pairs of columns, lower case, that inner joins equate."""
    match relation:
        case a.Join(left, right, on, kind):
            if kind == "inner":
                yield from equated_columns(on)
                yield from _equated_columns(right)
            yield from _equated_columns(left)
        case a.Where(source) | a.Derive(source) | a.Bounded(source):
            yield from _equated_columns(source)
