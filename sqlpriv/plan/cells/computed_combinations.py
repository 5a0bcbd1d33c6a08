"""Combinations of keys that the values of one column give, and that conditions leave."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type, Value
from sqlpriv.kernel.terms.operations import columns_read
from sqlpriv.plan.cells.computed_columns import GROUP
from sqlpriv.plan.cells.dimensions import Dimension
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.facts.listed_rows import (
    is_of_hours,
    keys_that_pass,
    rows_that_pass,
    values_told_apart,
    with_part,
)
from sqlpriv.plan.expressions.facts.value_facts import Shape


class Existing(NamedTuple):
    """Keys whose values depend on each other, and which combinations of their values can occur.

    Attributes:
        places: The positions of these keys among the statement's groups.
        rows: The combinations, a value for each of these keys.
    """

    places: tuple[int, ...]
    rows: Collection[tuple[Value, ...]]


def combinations_of_columns(groups: Sequence[Dimension], binder: Binder) -> Iterator[Existing]:
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


def combinations_compared(groups: Sequence[Dimension], binder: Binder) -> Iterator[Existing]:
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


def combinations_computed(groups: Sequence[Dimension]) -> Iterator[Existing]:
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
