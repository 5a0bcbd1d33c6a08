"""Columns of public tables without a declared domain: what they hold is the table's own affair.

A key has the values of its column, and several keys the combinations that stand in one row. What is
summed lies between the least and the largest value of its column.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from sqlpriv.kernel.terms.contract import (
    MAX_INTEGER,
    Categories,
    Column,
    Interval,
    Number,
    TableContract,
    Type,
    Value,
)
from sqlpriv.plan.aggregates.aggregate_names import KINDS
from sqlpriv.plan.aggregates.calls import aggregate_calls
from sqlpriv.plan.expressions.facts.value_facts import MAX_LEVELS
from sqlpriv.session.access.context import Access
from sqlpriv.statements import quote_name, tables
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import walk

_ORDERED = (Type.INTEGER, Type.REAL, Type.DATE, Type.TIMESTAMP)
_LISTED = (*_ORDERED, Type.TEXT, Type.BOOLEAN)


@dataclass(frozen=True)
class PublicKeys:
    """Reads public tables for the keys of one statement.

    Args:
        access: What the session holds.
        contracts: Of every table, by lower-case name.
    """

    access: Access
    contracts: Mapping[str, TableContract]

    def with_lists(self, select: t.Select, contract: TableContract) -> TableContract:
        """Returns a contract in which columns of public tables without a domain have one: the keys
        their values, and what is aggregated its ends.

        It is for planning alone: the kernel asks for no domain of a public table.
        """
        ranked = _aggregated_names(select, ranked=True)  # a quantile is one of the values
        names = {name.lower() for name in (*_key_names(select), *ranked)}
        measured = {name.lower() for name in _aggregated_names(select)}
        if not names and not measured:
            return contract
        others = dict(contract.others)
        for table in tables(select):
            public = self.contracts.get(table)
            if public is None or not public.public:
                continue
            columns = []
            for column in public.columns:
                if column.name.lower() in names:
                    column = self._with_values(public.table, column)
                if column.name.lower() in measured:
                    column = self._with_ends(public.table, column)
                columns.append(column)
            others[table] = replace(public, columns=tuple(columns))
        return replace(contract, others=others)

    def combinations(self, table: str, columns: tuple[str, ...]) -> frozenset[tuple[Value, ...]]:
        """Returns which values of some columns stand in one row of a public table."""
        # by DuckDB: a group_by of Arrow's imports pandas, which takes half a second
        text = f"SELECT DISTINCT {', '.join(map(quote_name, columns))} FROM {quote_name(table)}"
        rows = self.access.sql.public_rows([table], self.contracts, text)
        pairs = self.access.sql.run_alone(rows, text, None)
        values = (map(_as_key, pairs.column(name).to_pylist()) for name in columns)
        return frozenset(zip(*values, strict=True))

    def values(self, table: str, column: str) -> tuple[Value, ...] | None:
        """Returns the values of a column of a public table; None of one that has no literals."""
        columns = self.contracts[table.lower()].columns
        declared = next(one for one in columns if one.name.lower() == column.lower())
        listed = self._with_values(table, declared).domain
        return listed.labels if isinstance(listed, Categories) else None

    def _rows(self, table: str, columns: Iterable[str]) -> pa.Table:
        text = f"SELECT {', '.join(map(quote_name, columns))}"
        return self.access.sql.public_rows([table], self.contracts, text)[table]

    def _with_ends(self, table: str, column: Column) -> Column:
        """Returns a column of numbers or moments with its least and largest value as its ends."""
        if column.domain is not None or column.type not in _ORDERED:
            return column
        import pyarrow.compute as pc  # a tenth of a second, which most sessions need not wait

        rows = self._rows(table, (column.name,))
        ends = pc.min_max(rows.column(column.name)).as_py()
        low, high = (_as_end(ends[side]) for side in ("min", "max"))
        if low is None or high is None:
            return column
        nullable = bool(rows.column(column.name).null_count)
        return replace(column, domain=Interval(low, high, nullable), required=not nullable)

    def _with_values(self, table: str, column: Column) -> Column:
        if column.domain is not None or column.type not in _LISTED:
            return column
        values = [value for (value,) in self.combinations(table, (column.name,))]
        if not values or len(values) > MAX_LEVELS or values == [None]:
            return column
        if any(isinstance(value, float) and not math.isfinite(value) for value in values):
            return column  # the kernel reads NaN as NULL
        if any(getattr(value, "tzinfo", None) is not None for value in values):
            return column  # its text depends on a time zone
        ordered = sorted(values, key=lambda value: (value is None, value))
        return replace(column, domain=Categories(tuple(ordered)))


def _as_key(value: Any) -> Any:
    """Returns a value of a column as the kernel has it: a DECIMAL is the double next to it."""
    return float(value) if isinstance(value, Decimal) else value


def _as_end(value: Any) -> Number | dt.date | None:
    """Returns an end of an interval as a declaration has it; None of what can be none."""
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if abs(value) < MAX_INTEGER else None
    moment = isinstance(value, dt.date) and getattr(value, "tzinfo", None) is None
    return value if moment else None


def _aggregated_names(select: t.Select, ranked: bool = False) -> Iterator[str]:
    """Yields the names of columns in aggregates, or in quantiles alone, and in the outputs of
    queries in FROM."""
    ordered = (term.expr for term in select.order_by)
    for node in (*(item.expr for item in select.items), select.having, *ordered):
        for call in aggregate_calls(node) if node is not None else ():
            if ranked and KINDS.get(call.name) != "level":
                continue
            yield from (part.name for part in walk(call) if isinstance(part, t.Name))
    for query in () if ranked else _queries_in(select.source):
        for item in query.items:
            yield from (part.name for part in walk(item.expr) if isinstance(part, t.Name))
        yield from _aggregated_names(query)


def _queries_in(source: t.Source | None) -> Iterator[t.Select]:
    """Yields the queries that stand in FROM."""
    match source:
        case t.Joined(left, right):
            yield from _queries_in(left)
            yield from _queries_in(right)
        case t.Derived(t.UnionAll(parts)):
            yield from parts
        case t.Derived(t.Select() as query):
            yield query


def _key_names(select: t.Select) -> Iterator[str]:
    """Yields the names of columns that GROUP BY may mean, aliases and ordinals among them, and of
    those that are called so by a query in FROM."""
    if not (select.group_by or select.group_all):
        return
    keys = (*select.group_by, *(item.expr for item in select.items))
    names = [part.name for node in keys for part in walk(node) if isinstance(part, t.Name)]
    yield from names
    yield from _names_inside(select.source, {name.lower() for name in names})


def _names_inside(source: t.Source | None, outputs: Set[str]) -> Iterator[str]:
    """Yields the names of columns that outputs of queries in FROM are made of."""
    for query in _queries_in(source):
        exprs = [item.expr for item in query.items if item.alias.lower() in outputs]
        names = [part.name for node in exprs for part in walk(node) if isinstance(part, t.Name)]
        yield from names
        yield from _names_inside(query.source, {*outputs, *map(str.lower, names)})
