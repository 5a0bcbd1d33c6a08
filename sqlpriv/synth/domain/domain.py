"""Which finite cells a synthetic table is made of: from public declarations alone.

Every column becomes a list of *levels*: each declared category, each integer of a short interval,
or a bin of a wide one; NULL is a level if it was declared. All measurements of one synthetic table
count the same rows: those that have a level in every column. `discretise` adds that condition to
the relation, so a row that fits no level of one column is missing from the other marginals, too,
and their totals agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Categories, Column, Interval, TableContract, Type
from sqlpriv.statements import alter_text
from sqlpriv.synth.domain.lattice import ValueLattice, number_of, value_at
from sqlpriv.synth.models.composed_columns import Composed
from sqlpriv.synth.models.made_up import MadeUp, column_of_values

MAX_LEVELS = 100_000


@dataclass(frozen=True, eq=False)
class Within:
    """How values lie inside the bins of a column, where that was measured.

    Args:
        lattice: The grid that values lie on.
        ends: Of the parts of all bins, ascending numbers of the lattice, shape (parts + 1,).
        first: The number of each bin's first part, shape (bins,).
        share: Of the parts of each bin, shape (bins, most parts of one); 0 behind its last.
    """

    lattice: ValueLattice
    ends: NDArray[np.int64]
    first: NDArray[np.int64]
    share: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GroupedLevels:
    """The values of a column whose levels are groups of values.

    Args:
        values: All of them.
        share: Of the values in each group, shape (groups, values).
    """

    values: tuple[Any, ...]
    share: NDArray[np.float64]


@dataclass(frozen=True)
class Attribute:
    """One column and its levels.

    Args:
        column: As declared.
        key: The levels, as a dimension of the kernel's counts; level i is `key.values[i]`.
        bounds: For bins their k + 1 ends: bin i is [bounds[i], bounds[i + 1]), the last one closed
            for reals. Integers, days since 1970 or microseconds since 1970; floats for reals.
            None where a level is a value.
        within: How values lie inside bins; None for evenly.
        grid: What the values of a binned column are multiples of; None where noise is to tell.
        grouped: The values of levels that are groups; None where a level is a value or a bin.
    """

    column: Column
    key: a.Key
    bounds: tuple[int, ...] | tuple[float, ...] | None = None
    within: Within | None = None
    grid: float | None = None
    grouped: GroupedLevels | None = None

    @property
    def size(self) -> int:
        """How many levels there are, NULL included."""
        return len(self.key.values)


@dataclass(frozen=True)
class Domain:
    """The cells of one synthetic table.

    Args:
        source: The relation that every measurement counts.
        strata: The columns of STRATIFY BY; the product of their levels are the strata.
        attributes: The other columns: what is modelled inside each stratum.
        output: Names of the published columns, in order.
        made_up: Columns whose values are made up, of no row's.
        undeclared: Columns without a public domain, whose values are yet to be selected.
        composed: Columns that are differences here, and are published as sums.
    """

    source: a.Relation
    strata: tuple[Attribute, ...]
    attributes: tuple[Attribute, ...]
    output: tuple[str, ...]
    made_up: tuple[MadeUp, ...] = ()
    undeclared: tuple[Column, ...] = ()
    composed: tuple[Composed, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many levels each modelled column has."""
        return tuple(attribute.size for attribute in self.attributes)

    @property
    def strata_shape(self) -> tuple[int, ...]:
        """How many levels each strata column has."""
        return tuple(attribute.size for attribute in self.strata)

    @property
    def strata_count(self) -> int:
        """How many strata there are; 1 without STRATIFY BY."""
        return math.prod(self.strata_shape)

    def query(
        self, clique: Sequence[int], within: tuple[int, ...] | None = None, pooled: bool = False
    ) -> a.Count:
        """Returns the count of the marginal over these attributes in each stratum.

        `pooled` counts the whole population; strata columns are then numbered after the attributes.
        """
        keys = tuple((*self.attributes, *self.strata)[i].key for i in clique)
        if pooled:
            return a.Count(self.source, (), keys)
        return a.Count(self.source, tuple(s.key for s in self.strata), keys, within=within)


def discretise(
    contract: TableContract,
    columns: Sequence[str],
    strata: Sequence[str],
    where: a.Expr | a.Relation | None = None,
    bins: int = 32,
    short: int | None = None,
    made_up: Mapping[str, str] | None = None,
    undeclared: tuple[Column, ...] = (),
) -> Domain:
    """Returns the domain of `SELECT columns FROM contract.table WHERE where STRATIFY BY strata`.

    Strata columns that are not selected are put before the selected ones. Whole numbers of at most
    `short` values (without it, of at most `bins`) are their own levels. `where` may be the rows
    themselves, of a relation that has the contract's columns. Values of `undeclared` columns are
    selected later.

    Raises:
        Refused: A column is unknown, named twice, has no declared domain or too many levels; a
            strata column is not made of listed values or integers.
    """
    fixed = [attribute_of(contract, name, None) for name in strata]
    selected = [_supported_column(contract, name).name for name in columns]
    patterns = made_up or {}
    new = [column_of_values(c, patterns) for n in selected if (c := contract.column(n))]
    invented = tuple(c for c in new if c is not None)
    named = [s.column.name for s in fixed]
    for names in (selected, named):
        if len(set(names)) != len(names):
            raise Refused("a column is named twice in this synthetic table")
    others = {*named, *(c.name for c in invented), *(c.name for c in undeclared)}
    free = [attribute_of(contract, n, bins, short) for n in selected if n not in others]
    output = (*(n for n in named if n not in selected), *selected)
    if not output:
        raise Refused("a synthetic table needs at least one column")
    source = source_of(rows_of(contract, where), [*fixed, *free])
    return Domain(source, tuple(fixed), tuple(free), output, invented, undeclared)


def attribute_of(
    contract: TableContract, name: str, bins: int | None, short: int | None = None
) -> Attribute:
    """Returns the levels of a column; `bins` None asks for values only (a strata column).

    Raises:
        Refused: There is no such column or domain, or it cannot be used so.
    """
    column = _supported_column(contract, name)
    if column.domain is None:
        raise Refused(
            f'the column "{column.name}" has no declared domain; nothing was read',
            hint=f"{alter_text(contract.table, column.name)} SET PRIVACY DOMAIN"
            " BETWEEN (low, high), or IN (…)",
        )
    if isinstance(column.domain, Categories):
        return Attribute(column, a.Key(a.Col(column.name), column.domain.labels))
    if column.type is Type.INTEGER:
        low, high = (
            math.ceil(_number(column.domain.lower)),
            math.floor(_number(column.domain.upper)),
        )
        if high - low < (MAX_LEVELS if bins is None else short or bins):
            levels = (*range(low, high + 1), *_null(column.domain))
            return Attribute(column, a.Key(a.Col(column.name), levels))
    if bins is None:
        raise Refused(
            f'strata are made of listed values or whole numbers, which "{column.name}" is not',
            hint=f"{alter_text(contract.table, column.name)} SET PRIVACY DOMAIN IN (…)",
        )
    return _equal_width_bins(column, column.domain, bins)


def _equal_width_bins(column: Column, domain: Interval, bins: int) -> Attribute:
    """Returns bins of equal width over the declared interval (of width differing by one unit)."""
    bounds = _bounds(column, domain, bins)
    key_edges: tuple[Any, ...] = tuple(value_at(column, bound) for bound in bounds[1:-1])
    levels = (*range(len(bounds) - 1), *_null(domain))
    return Attribute(column, a.Key(a.Bin(a.Col(column.name), key_edges), levels), bounds)


def _bounds(column: Column, domain: Interval, bins: int) -> tuple[int, ...] | tuple[float, ...]:
    if column.type is Type.REAL:
        return _real_bounds(float(_number(domain.lower)), float(_number(domain.upper)), bins)
    low, high = (number_of(column, end) for end in (domain.lower, domain.upper))
    bins = min(bins, high - low + 1)
    return tuple(low + (high - low + 1) * i // bins for i in range(bins + 1))


def _real_bounds(low: float, high: float, bins: int) -> tuple[float, ...]:
    inner = (low + (high / bins - low / bins) * i for i in range(1, bins))
    return (low, *sorted({edge for edge in inner if low < edge < high}), high)


def rows_of(contract: TableContract, where: a.Expr | a.Relation | None) -> a.Relation:
    """Returns the rows that a statement is about."""
    if isinstance(where, a.Relation):
        return where
    scan = a.Scan(contract.table)
    return scan if where is None else a.Where(scan, where)


def source_of(base: a.Relation, attributes: Sequence[Attribute]) -> a.Relation:
    """Returns those of the rows that have a level in every column."""
    has_level = tuple(p for x in attributes if (p := has_a_level(x)) is not None)
    return a.Where(base, a.Call("and", has_level)) if has_level else base


def has_a_level(attribute: Attribute) -> a.Expr | None:
    """Returns the condition under which a row has a level in this column; None if every row has.

    A category must be listed. Values outside an interval are clamped into it, so there only NULL
    (and NaN, which bins read as NULL) can be without a level.
    """
    expr, values = attribute.key.expr, attribute.key.values
    if isinstance(expr, a.Case):
        return None  # values that are not listed have a level (outside.py)
    listed_values = tuple(value for value in values if value is not None)
    nullable = len(listed_values) < len(values)
    if isinstance(attribute.column.domain, Interval):
        return None if nullable else a.Call("not", (a.Call("is null", (expr,)),))
    listed: tuple[a.Expr, ...] = (a.In(expr, listed_values),) if listed_values else ()
    listed += (a.Call("is null", (expr,)),) if nullable else ()
    return listed[0] if len(listed) == 1 else a.Call("or", listed)


def _supported_column(contract: TableContract, name: str) -> Column:
    column = contract.column(name)
    if column is None:
        raise Refused(f'the table "{contract.table}" has no column "{name}"')
    if column.type is None:
        raise Refused(
            f'the column "{column.name}" is of type {column.sql_type}: not supported here'
        )
    return column


def _null(domain: Interval) -> tuple[None, ...]:
    return (None,) if domain.nullable else ()


def _number(end: Any) -> int | float:
    if isinstance(end, int | float):
        return end
    raise Refused("the ends of this privacy domain do not fit the column's type")
