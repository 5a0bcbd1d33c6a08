"""Combinations of keys that can occur: the rows of a public table, and the values of one column.

GROUP BY over columns of one public table has no other rows than that table's. Keys that are made of
one column, `year(day), month(day)`, have those that its publicly listed values give: the keys are
computed for each of them, in an engine without private tables.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Column, TableContract, Type, Value
from sqlpriv.kernel.terms.operations import columns_read
from sqlpriv.plan.computed_columns import GROUP
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.facts.joined_tables import (
    columns_equated_by_joins,
    scanned_tables,
)
from sqlpriv.plan.expressions.facts.listed_rows import (
    is_of_hours,
    keys_that_pass,
    rows_that_pass,
    values_told_apart,
    with_any_of,
    with_part,
)
from sqlpriv.plan.expressions.facts.value_facts import MAX_LEVELS, Shape
from sqlpriv.plan.group_keys import Combinations, Dimension
from sqlpriv.statements import tree as t


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
    """Returns which combinations of keys can occur, where not all of them can.

    Keys depend on each other that are computed from one column, that are columns of one public
    table, or of which one is computed from another. A condition of WHERE on such columns alone
    rules out further combinations in public.

    Args:
        groups: The keys of GROUP BY.
        binder: Tells which table a column is of, and which conditions all rows meet.
        contract: Of the statement's table, with those of the others in it.
        combinations: Reads public tables; None where none can be read.
        relation: The statement's rows: columns that its inner joins equate have one value.
    """
    of_tables = {
        (name.removesuffix(column.lower()), table): list[tuple[int, str]]()
        for name, (table, column) in binder.homes.items()
        if (home := contract.others.get(table.lower())) is not None and home.public
    }
    homes = of_tables | _public_homes(groups, binder, contract, relation, ("inner", "left"))
    of_keys = (
        *_combinations_of_columns(groups, binder),
        *_combinations_compared(groups, binder),
        *_combinations_computed(groups),
    )
    if combinations is None:
        return of_keys
    met = {scan for scan, is_kept in scanned_tables(relation) if not is_kept}
    has_lefts = any(is_kept for _, is_kept in scanned_tables(relation))
    rows = (
        _rows_of_home(
            home,
            keys,
            groups,
            binder,
            combinations,
            lacks=has_lefts and (home[0], home[1].lower()) not in met,
        )
        for home, keys in homes.items()
    )
    return of_keys + tuple(existing for existing in rows if existing is not None)


MOST_LOOKED_UP = 1_000
"""How many values a key may have at most for an output to list another column's value for each."""


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
    groups: Sequence[Dimension],
    binder: Binder,
    contract: TableContract,
    relation: a.Relation,
    kinds: Collection[str] = ("inner",),
) -> dict[tuple[str, str], list[tuple[int, str]]]:
    """Returns, for each public table, the keys that are columns of it or equal to one by a join of
    these kinds: (prefix, table) → the keys' positions and the columns' names there. A table that
    stands twice in FROM has two prefixes."""
    homes: dict[tuple[str, str], list[tuple[int, str]]] = {}
    equal = list(columns_equated_by_joins(relation, kinds))
    for place, dimension in enumerate(groups):
        expr = dimension.key.expr
        own = expr.name.lower() if isinstance(expr, a.Col) else ""
        for name in dict.fromkeys((own, *(other for one, other in equal if one == own))):
            table, column = binder.homes.get(name, ("", ""))
            home = contract.others.get(table.lower())
            if home is not None and home.public:
                prefix = name[: len(name) - len(column)]
                homes.setdefault((prefix, home.table), []).append((place, column))
    return homes


def _rows_of_home(
    home: tuple[str, str],
    keys: Sequence[tuple[int, str]],
    groups: Sequence[Dimension],
    binder: Binder,
    combinations: Combinations,
    lacks: bool,
) -> Existing | None:
    """Returns the combinations of keys that rows of a public table (`home`: prefix, name) have.

    Only rows count that meet the conditions on that table alone, and all of its columns as NULL
    where a row may have no partner there (`lacks`). None where one key has no condition on it.
    """
    prefix, table = home
    columns = {
        name: column
        for name, (of, column) in binder.homes.items()
        if of == table and name == prefix + column.lower()
    }

    def is_of_home(expr: a.Expr) -> bool:
        return frozenset() < columns_read(expr) <= columns.keys() and _are_listed(expr, binder)

    conditions = tuple(filter(is_of_home, binder.conditions))
    whole = {place: a.Col(prefix + column.lower()) for place, column in keys}
    of_columns = {
        place: d.key.expr
        for place, d in enumerate(groups)
        if place not in whole and not d.selected and d.type is not Type.REAL
        if is_of_home(d.key.expr)
    }
    exprs = tuple({**whole, **of_columns}.values())
    if len(exprs) < 2 and not (conditions and exprs):
        return None
    rows_of_keys = combinations(table, tuple(column for _, column in keys))
    if not (conditions or of_columns or lacks):
        return Existing(tuple(whole), rows_of_keys)
    places = (*whole, *of_columns)
    types = {col.name: groups[place].type for place, col in whole.items()}
    read = columns_read((exprs, conditions)) - types.keys()
    types |= {name: binder.scope[name].type for name in read}
    kinds, none = tuple(types.items()), ((None,) * len(types),)
    rows = combinations(table, tuple(columns[name] for name in types))
    passing = without = None
    if len(rows) <= MAX_LEVELS:
        passing = rows_that_pass(kinds, tuple(rows), exprs, conditions)
        without = rows_that_pass(kinds, none, exprs, conditions) if lacks else ()
    if passing is None or without is None:
        return None if lacks or len(keys) < 2 else Existing(tuple(whole), rows_of_keys)
    equal = {  # to a column of the partner, where there is one
        place: groups[place].values
        for place, column in whole.items()
        if not _is_column(groups[place].key.expr, column.name)
    }
    return Existing(places, {*passing, *with_any_of(equal, places, without)})


def _is_column(expr: a.Expr, name: str) -> bool:
    return isinstance(expr, a.Col) and expr.name.lower() == name


def _are_listed(condition: a.Expr, binder: Binder) -> bool:
    """Returns whether values of a condition's columns can be handed to an engine as they are."""
    shapes = [binder.scope[name] for name in columns_read(condition)]
    return not any(shape.zoned or shape.type is Type.TIME for shape in shapes)


def _combinations_of_columns(groups: Sequence[Dimension], binder: Binder) -> Iterator[Existing]:
    """Yields, for each column with listed values that keys are made of, what it makes of them."""
    by_column: dict[str, list[int]] = {}
    for place, dimension in enumerate(groups):
        columns = columns_read(dimension.key.expr)
        if len(columns) == 1 and dimension.type is not Type.REAL and not dimension.selected:
            by_column.setdefault(next(iter(columns)), []).append(place)
    for column, places in by_column.items():
        keys = tuple(groups[place].key.expr for place in places)
        shape = binder.scope[column]
        conditions = tuple(c for c in binder.conditions if columns_read(c) == {column})
        if shape.type is Type.TIMESTAMP and shape.values is None:
            conditions = tuple(filter(is_of_hours, conditions))
        if not conditions and all(isinstance(key, a.Col) for key in keys):
            continue
        may_be_null = not binder.is_present(a.Col(column))
        every = _combinations_of(column, keys, shape, may_be_null, ())
        passing = _combinations_of(column, keys, shape, may_be_null, conditions)
        lists = [frozenset(groups[place].values) for place in places]

        def is_listed(row: tuple[Value, ...], lists: list[frozenset[Value]] = lists) -> bool:
            return all(value in values for value, values in zip(row, lists, strict=True))

        if every and any(map(is_listed, every)):
            yield Existing(
                tuple(places), list(filter(is_listed, every if passing is None else passing))
            )


@lru_cache(maxsize=256)
def _combinations_of(
    column: str,
    keys: tuple[a.Expr, ...],
    shape: Shape,
    may_be_null: bool,
    conditions: tuple[a.Expr, ...],
) -> tuple[tuple[Value, ...], ...] | None:
    """Returns the combinations that the values of a column give where conditions on it are true;
    None where they are not listed."""
    values = values_told_apart(shape, keys)
    if values is None:
        return None
    rows = [(value,) for value in (*values, *((None,) if may_be_null else ()))]
    passing = rows_that_pass(((column, shape.type),), tuple(rows), keys, conditions)
    if passing is not None and shape.type is Type.TEXT:  # an undeclared text is counted, too
        undeclared = rows_that_pass(((column, shape.type),), (("\x01",),), keys, ())
        return (*passing, *(undeclared or ()))
    return passing


def _combinations_compared(groups: Sequence[Dimension], binder: Binder) -> Iterator[Existing]:
    """Yields the values of keys whose columns conditions compare with each other, `a.x < b.x`."""
    for condition in dict.fromkeys(binder.conditions):
        read = columns_read(condition)
        places = [
            i
            for i, d in enumerate(groups)
            if not d.selected and d.type is not Type.REAL
            if frozenset() < columns_read(d.key.expr) <= read
        ]
        if len(read) < 2 or not places:
            continue
        keys = tuple(groups[place].key.expr for place in places)
        conditions = tuple(c for c in binder.conditions if columns_read(c) <= read)
        nullable = frozenset(name for name in read if not binder.is_present(a.Col(name)))
        passing = keys_that_pass(sorted(read), binder.scope, nullable, keys, conditions)
        if passing:
            yield Existing(tuple(places), passing)


def _combinations_computed(groups: Sequence[Dimension]) -> Iterator[Existing]:
    """Yields the values of a key beside those of another that is made of it and nothing else."""
    for (i, inner), (j, outer) in itertools.permutations(enumerate(groups), 2):
        part = a.Col(f"{GROUP}{i}")
        made_of = with_part(outer.key.expr, inner.key.expr, part)
        if made_of == part or columns_read(made_of) != {part.name}:
            continue
        rows = tuple((value,) for value in inner.values)
        computed = rows_that_pass(((part.name, inner.type),), rows, (part, made_of), ())
        if computed and {value for _, value in computed} <= {*outer.values}:
            yield Existing((i, j), computed)
