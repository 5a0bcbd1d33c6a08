"""Tables over groups of levels and over slices: what a synthesizer of mixed columns asks.

A *slice* is a histogram of a linear form of numbers, sum of w_c x_c over some columns, in bins:
one table answers every threshold of that direction, for the price of one. In the kernel's algebra
it is `Key(Bin(expression, edges), numbers of the bins)`, so its proof is that of any count: a row
is in one cell. The form is computed row by row in doubles and in the order written, so its value
does not depend on the order of rows, on threads, or on where a row lies in a vector.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.contract import Interval, Type
from sqlpriv.synth.api.cell_queries import level_number
from sqlpriv.synth.domain.domain import Attribute, Domain


@dataclass(frozen=True)
class LevelGroups:
    """A column as one axis of a table.

    Args:
        column: Its number; those of STRATIFY BY do not count.
        starts: The first level of each group of neighbours, ascending from 0.
    """

    column: int
    starts: tuple[int, ...]


@dataclass(frozen=True)
class Slice:
    """A linear form of the values of numeric columns, in bins, as one axis of a table.

    Args:
        columns: Their numbers.
        weights: One for each, finite; NULL counts as the lower end of the column's domain.
        edges: Ascending: bin i is [edges[i - 1], edges[i]).
    """

    columns: tuple[int, ...]
    weights: tuple[float, ...]
    edges: tuple[float, ...]


Axis = LevelGroups | Slice


@dataclass(frozen=True)
class AxesTable:
    """A table over axes, to be measured in every stratum or in those of `within` (ascending)."""

    axes: tuple[Axis, ...]
    price: Price
    within: tuple[int, ...] | None = None


def axis_size(axis: Axis) -> int:
    """Returns how many cells an axis has.

    >>> axis_size(LevelGroups(0, (0, 4))), axis_size(Slice((0, 1), (1.0, -1.0), (0.0, 0.5)))
    (2, 3)
    """
    return len(axis.starts) if isinstance(axis, LevelGroups) else len(axis.edges) + 1


def grid_query(domain: Domain, axes: tuple[Axis, ...], within: tuple[int, ...] | None) -> a.Count:
    """Returns the count of the table over these axes in each stratum."""
    keys = tuple(_key(domain, axis) for axis in axes)
    return a.Count(domain.source, tuple(s.key for s in domain.strata), keys, within=within)


def _key(domain: Domain, axis: Axis) -> a.Key:
    if isinstance(axis, Slice):
        terms = [
            _term(domain.attributes[c], w) for c, w in zip(axis.columns, axis.weights, strict=True)
        ]
        form = terms[0]
        for term in terms[1:]:
            form = a.Call("+", (form, term))
        return a.Key(a.Bin(form, axis.edges), tuple(range(len(axis.edges) + 1)))
    attribute = domain.attributes[axis.column]
    if len(axis.starts) == attribute.size:
        return attribute.key
    numbers = a.Bin(level_number(attribute), axis.starts[1:])
    return a.Key(numbers, tuple(range(len(axis.starts))))


def _term(attribute: Attribute, weight: float) -> a.Expr:
    """Returns the weighted value of a row in this column, a number; no row is NULL."""
    column, domain = a.Col(attribute.column.name), attribute.column.domain
    assert isinstance(domain, Interval)
    lower = a.Lit(domain.lower, attribute.column.type or Type.REAL)
    value = a.Call("coalesce", (column, lower)) if domain.nullable else column
    return a.Call("*", (a.Lit(float(weight), Type.REAL), value))
