"""What is asked beyond marginals: chosen cells of a large one, and sums of scores, as queries.

Both rest on a column's *level number* as a row expression: the position of the row's value among
the column's levels, which has a value for every row that takes part (see `Domain.source`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.contract import Interval, Type
from sqlpriv.plan.cells.axes import place_in_list
from sqlpriv.synth.domain.domain import Attribute, Domain

MAX_CODE = 2**53
"""Row expressions compute in doubles, which are exact up to here."""
LISTED = 4
"""Values in one IN at most. DuckDB makes a join of a longer list, and of a score's 32 lists so many
that one sum over 20,000 rows of 263 levels took 4 seconds in place of .1."""


@dataclass(frozen=True)
class Cells:
    """Chosen cells of a marginal, each crossed with all levels of some more columns.

    Args:
        clique: The columns of the chosen cells.
        numbers: Their row-major numbers, ascending: the first axis of the answer.
        then: Columns that follow: the further axes.
        price: Of the measurement.
    """

    clique: tuple[int, ...]
    numbers: tuple[int, ...]
    then: tuple[int, ...]
    price: Price


@dataclass(frozen=True, eq=False)
class ListedCells:
    """Chosen combinations of levels of all columns, each a cell of the answer, in one stratum.

    Args:
        levels: Ascending by the first column, then by the next, shape (combinations, columns).
        within: The number of the stratum, alone.
        price: Of the measurement.
    """

    levels: NDArray[np.int64]
    within: tuple[int, ...]
    price: Price


@dataclass(frozen=True)
class Moment:
    """The sum, over the rows of each stratum, of a product of scores of levels.

    Args:
        clique: The columns whose scores are multiplied; one or more.
        scores: By column, a finite score for each group of its levels.
        groups: By column, the number of the group that each level is in, ascending.
        price: Of the measurement.
    """

    clique: tuple[int, ...]
    scores: tuple[tuple[float, ...], ...]
    groups: tuple[tuple[int, ...], ...]
    price: Price


def cells_query(domain: Domain, cells: Cells) -> a.Count:
    """Returns the count of the chosen cells. Raises Refused if there are more than 2^53 of them."""
    sizes = [domain.attributes[c].size for c in cells.clique]
    if math.prod(sizes) > MAX_CODE:
        raise Refused(
            "the selected columns span more than 2^53 cells", hint="select fewer, or USING mst"
        )
    code = level_number(domain.attributes[cells.clique[0]])
    for column, size in zip(cells.clique[1:], sizes[1:], strict=True):
        shifted = a.Call("*", (code, a.Lit(size, Type.INTEGER)))
        code = a.Call("+", (shifted, level_number(domain.attributes[column])))
    chosen = a.Key(a.Call("integer", (code,)), cells.numbers)
    keys = (chosen, *(domain.attributes[c].key for c in cells.then))
    return a.Count(domain.source, tuple(s.key for s in domain.strata), keys)


def listed_query(domain: Domain, cells: ListedCells) -> a.Count:
    """Returns the count of the listed combinations. A row's number is that of its first columns
    among those that are listed, times the levels of the next column, and so on: it stays exact
    however many columns there are."""
    code: a.Expr = a.Lit(0, Type.INTEGER)
    numbers = np.zeros(len(cells.levels), dtype=np.int64)
    span = 1
    for column, attribute in enumerate(domain.attributes):
        if span * attribute.size > MAX_CODE:
            distinct, numbers = np.unique(numbers, return_inverse=True)
            span = len(distinct)
            listed = a.Key(a.Call("integer", (code,)), tuple(distinct.tolist()))
            code = a.Pick((listed,), tuple(map(float, range(span))))
        here = position_of(attribute)
        shifted = a.Call("*", (code, a.Lit(attribute.size, Type.INTEGER)))
        code = a.Call("+", (shifted, here)) if column else here
        numbers = numbers * attribute.size + cells.levels[:, column]
        span *= attribute.size
    chosen = a.Key(a.Call("integer", (code,)), tuple(numbers.tolist()))
    strata = tuple(s.key for s in domain.strata)
    return a.Count(domain.source, strata, (chosen,), within=cells.within)


def moment_query(domain: Domain, moment: Moment) -> a.Sum:
    """Returns the sum; its bounds are the largest product of scores, so that nothing is clamped."""
    factors = [
        _score(domain.attributes[column], scores, groups)
        for column, scores, groups in zip(moment.clique, moment.scores, moment.groups, strict=True)
    ]
    most = math.prod(max(abs(x) for x in scores) for scores in moment.scores)
    product = reduce(lambda left, right: a.Call("*", (left, right)), factors)
    return a.Sum(domain.source, product, -most, most, tuple(s.key for s in domain.strata))


def position_of(attribute: Attribute) -> a.Expr:
    """Returns the number of a row's level as `level_number` does, of a list by looking it up: lists
    may have thousands of values. A row of no level has none."""
    expr = attribute.key.expr
    if isinstance(expr, a.Bin) or isinstance(attribute.column.domain, Interval):
        return level_number(attribute)
    return place_in_list(attribute.key)


def level_number(attribute: Attribute) -> a.Expr:
    """Returns the number of a row's level in this column, an integer; no row is NULL."""
    expr, values = attribute.key.expr, attribute.key.values
    null = values.index(None) if None in values else None
    number: a.Expr
    if isinstance(expr, a.Bin):
        number = expr
    elif isinstance(attribute.column.domain, Interval):
        number = a.Call("-", (expr, a.Lit(values[0], Type.INTEGER)))
    else:
        listed = [(i, v) for i, v in enumerate(values) if v is not None]
        whens = tuple((a.In(expr, (v,)), a.Lit(i, Type.INTEGER)) for i, v in listed[1:])
        first = a.Lit(listed[0][0] if listed else 0, Type.INTEGER)
        number = a.Case(whens, first) if whens else first
        if null is not None and listed:
            missing = a.Call("is null", (expr,))
            number = a.Case(((missing, a.Lit(null, Type.INTEGER)), *whens), first)
        return number
    return number if null is None else a.Call("coalesce", (number, a.Lit(null, Type.INTEGER)))


def _score(attribute: Attribute, scores: Sequence[float], groups: Sequence[int]) -> a.Expr:
    """Returns the score of a row's level, as a CASE over the groups of levels, in order."""
    whens = [
        (_inside(attribute, groups, group), a.Lit(float(score), Type.REAL))
        for group, score in enumerate(scores[:-1])
    ]
    last = a.Lit(float(scores[-1]), Type.REAL)
    return a.Case(tuple(whens), last) if whens else last


def _inside(attribute: Attribute, groups: Sequence[int], group: int) -> a.Expr:
    """Returns whether a row's level is in this group, given that it is in none before."""
    expr, values = attribute.key.expr, attribute.key.values
    if isinstance(attribute.column.domain, Interval):
        last = sum(g <= group for g in groups)
        return a.Call("<", (level_number(attribute), a.Lit(last, Type.INTEGER)))
    members = [v for v, g in zip(values, groups, strict=True) if g == group]
    present = tuple(v for v in members if v is not None)
    tests: tuple[a.Expr, ...] = tuple(
        a.In(expr, present[i : i + LISTED]) for i in range(0, len(present), LISTED)
    )
    tests += (a.Call("is null", (expr,)),) if len(present) < len(members) else ()
    return tests[0] if len(tests) == 1 else a.Call("or", tests)
