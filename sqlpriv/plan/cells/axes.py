"""The axes of a table of cells: one for each key, or for keys of which few combinations can occur.

`GROUP BY id, name` over a public list of 2,000 products has 2,000 groups, and not 4,000,000. Where
the lists of all keys make too many cells, the kernel is asked by one key for all columns of such a
list: by one column that tells the others, or else by the number of the combination.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type, Value
from sqlpriv.plan.cells.computed_combinations import Existing
from sqlpriv.plan.cells.dimensions import Dimension
from sqlpriv.plan.pricing.cell_count import check_cell_count
from sqlpriv.plan.pricing.tuned_constants import MAX_CELLS
from sqlpriv.statements import tree as t


class Axis(NamedTuple):
    """One axis of a table of cells.

    Attributes:
        places: The positions of its keys among the statement's groups, ascending.
        rows: What stands at each place along the axis: a value of each of these keys.
        key: What the kernel is asked by, with one value for each row.
    """

    places: tuple[int, ...]
    rows: tuple[tuple[Value, ...], ...]
    key: a.Key


def axes_of_sets(
    groups: Sequence[Dimension],
    sets: Sequence[Sequence[int]],
    existing: Sequence[Existing],
    strata: Sequence[Dimension],
    select: t.Select,
) -> list[tuple[Axis, ...]]:
    """Returns the axes of the cells of each grouping set, as `axes_of` does.

    Raises:
        TooManyCells: Even so the answer has more than `MAX_CELLS` cells.
    """
    strata_count = math.prod(len(d.values) for d in strata)
    axes = [axes_of(groups, keys, existing, strata_count) for keys in sets]
    check_cell_count(
        [[*(d.values for d in strata), *(x.rows for x in one)] for one in axes], select
    )
    return axes


def axes_of(
    groups: Sequence[Dimension],
    keys: Sequence[int],
    existing: Sequence[Existing],
    strata: int,
) -> tuple[Axis, ...]:
    """Returns the axes of the cells of some keys.

    Keys have an axis each, of all of their values, where that gives at most `MAX_CELLS` cells.

    Args:
        groups: The keys of the statement.
        keys: The positions, ascending, of those that the cells are of; the rest is summed over.
        existing: Which combinations can occur; no row has another.
        strata: How many strata there are.
    """
    sizes = {i: len(groups[i].values) for i in keys}
    axes = {i: Axis((i,), tuple((v,) for v in groups[i].values), groups[i].key) for i in keys}
    if strata * math.prod(sizes.values()) <= MAX_CELLS:
        return tuple(axes.values())
    thinner = []
    for one in existing:
        if not sizes.keys().isdisjoint(one.places):
            axis = _axis_of_existing(one, groups, keys)
            thinning = len(axis.rows) / math.prod(sizes[i] for i in axis.places)
            thinner.append((thinning, axis))
    free = set(keys)
    for thinning, axis in sorted(thinner, key=itemgetter(0)):
        if thinning < 1 and free.issuperset(axis.places):
            free.difference_update(axis.places)
            for i in axis.places:
                del axes[i]
            axes[axis.places[0]] = axis
    return tuple(axes[i] for i in sorted(axes))


def _axis_of_existing(existing: Existing, groups: Sequence[Dimension], keys: Sequence[int]) -> Axis:
    """Returns the combinations of those of `keys` that some existing ones are about, in the order
    of the keys' lists. One combination stands for none: it shows no row either."""
    at = sorted((i, n) for n, i in enumerate(existing.places) if i in keys)
    places = tuple(i for i, _ in at)
    numbers = [{value: number for number, value in enumerate(groups[i].values)} for i in places]
    existing_rows = {tuple(row[n] for _, n in at) for row in existing.rows}
    rows = [
        row
        for row in existing_rows
        if all(value in of for value, of in zip(row, numbers, strict=True))
    ] or [tuple(groups[i].values[0] for i in places)]
    rows.sort(key=lambda row: [of[value] for value, of in zip(row, numbers, strict=True)])
    return Axis(places, tuple(rows), _key_of(rows, [groups[i].key.expr for i in places]))


def _key_of(rows: Sequence[tuple[Value, ...]], exprs: Sequence[a.Expr]) -> a.Key:
    """Returns the key that tells these combinations apart: a column, if one does, or the number of
    the combination of some columns, row-major in the lists of their values."""
    columns = list(zip(*rows, strict=True))
    first, *others = _telling_columns(columns, len(rows))
    if not others:
        return a.Key(exprs[first], columns[first])
    code, numbers = _number_of_value(exprs[first], columns[first])
    for column in others:
        number, places = _number_of_value(exprs[column], columns[column])
        size = max(places) + 1
        code = a.Call("+", (a.Call("*", (code, a.Lit(size, Type.INTEGER))), number))
        numbers = [n * size + place for n, place in zip(numbers, places, strict=True)]
    return a.Key(code, tuple(numbers))


def _telling_columns(columns: Sequence[tuple[Value, ...]], combinations: int) -> list[int]:
    """Returns the positions of columns that tell all combinations apart: in each step the one that
    tells most of them."""
    telling: list[int] = []
    while not telling or _count_told([columns[i] for i in telling]) < combinations:
        rest = [i for i in range(len(columns)) if i not in telling]
        telling.append(max(rest, key=lambda i: _count_told([columns[j] for j in (*telling, i)])))
    return telling


def _count_told(columns: Sequence[tuple[Value, ...]]) -> int:
    return len(set(zip(*columns, strict=True)))


def _number_of_value(expr: a.Expr, values: Sequence[Value]) -> tuple[a.Expr, list[int]]:
    """Returns the number of a row's value in the list of these values, as an expression, and the
    number of each of them."""
    listed = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return place_in_list(a.Key(expr, tuple(listed))), [listed[value] for value in values]


def place_in_list(key: a.Key) -> a.Expr:
    """Returns the position of a row's value in a key's list, an integer; NULL where it is in none.
    It is looked up: lists may have thousands of values."""
    return a.Call("integer", (a.Pick((key,), tuple(map(float, range(len(key.values))))),))
