"""Combinations of values that many units have, found at a threshold: of columns without lists.

Korolova, Kenthapadi, Mishra and Ntoulas 2009; Bun, Nissim and Stemmer 2016 (arXiv:1511.08552): the
units of every combination that occurs are counted and noised, and the combinations whose noised
count passes a threshold are told. What nobody has is never looked at, so no list is needed, however
many values are possible.

Price: `Allowance.select_keys`, whose claim is that of `noise.threshold`: approximate rho-zCDP, with
a hundredth of the budget's delta for keys. All columns together, strata among them, are one
selection. What passes is public from then on: levels, and the numbers of cells, are made of it.

The kernel selects whole numbers and text. A date is selected as its number of days since 1970, a
DECIMAL as how many of its last digit it is: a row expression of the column, whose values stand for
the column's own one to one.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.kernel.terms.contract import Categories, Column, TableContract, Type, Value
from sqlpriv.plan.expressions.facts.value_facts import column_scale
from sqlpriv.plan.synthetic.undeclared_columns import is_selectable
from sqlpriv.synth.api.ask import Gate
from sqlpriv.synth.api.cell_queries import position_of
from sqlpriv.synth.domain.domain import Attribute, Domain, source_of

EPOCH = dt.date(1970, 1, 1).toordinal()
MOST_EXISTING = 100_000
"""Combinations, over all strata, that are counted at most: the gate's exact sampler takes 30 to 50
microseconds for each. The first by value are kept."""


def check_undeclared(contract: TableContract, columns: Sequence[Column]) -> None:
    """Refuses what no threshold is made for: values of other types, text that a collation folds."""
    for column in columns:
        if not is_selectable(column.type, column.sql_type):
            raise Refused(
                f'the column "{column.name}" has no declared domain; nothing was read',
                hint="a threshold finds whole numbers, DECIMALs, dates and text alone: declare a"
                " PRIVACY DOMAIN",
            )
    collated = any(t.collated for t in (contract, *contract.others.values()))
    if collated and any(column.type is Type.TEXT for column in columns):
        raise Refused(
            "text with a collation has no values that a threshold could find",
            hint="declare its list: SET PRIVACY DOMAIN IN ('a', 'b')",
        )


def select_cells(
    gate: Gate, domain: Domain, base: a.Relation, price: Price, yocto: int
) -> tuple[Domain, tuple[NDArray[np.int64], ...]]:
    """Returns the domain with the found values for levels, and the combinations of each stratum.

    Args:
        gate: The allowance.
        domain: With undeclared columns, or without.
        base: All rows that the statement is about.
        price: Of the selection.
        yocto: Its delta, in 1e-24.

    Returns:
        The domain, and of each stratum levels of shape (combinations, columns), in ascending order.
    """
    declared = (*domain.strata, *domain.attributes)
    columns = map(_selected_expression, domain.undeclared)
    exprs = (*map(position_of, declared), *columns)
    assert isinstance(price, Rho)  # a budget that keeps a delta for keys is of rho
    numbered_rows = gate.select_keys(domain.source, exprs, price, yocto)[:MOST_EXISTING]
    own = dict(enumerate(domain.undeclared, len(declared)))
    combinations = [
        tuple(_value_of(own[at], v) if at in own else v for at, v in enumerate(row))
        for row in numbered_rows
        if all(_is_within(column, row[at]) for at, column in own.items())
    ]
    attributes = list(domain.attributes)
    for at, column in own.items():
        distinct = {row[at] for row in combinations}
        values = sorted(distinct, key=lambda v: (v is None, v))
        listed = replace(column, domain=Categories(tuple(values)))
        attributes.append(Attribute(listed, a.Key(a.Col(column.name), tuple(values))))
    numbered = [{v: i for i, v in enumerate(x.key.values)} for x in attributes]
    numbered[: len(domain.attributes)] = [{i: i for i in range(x.size)} for x in domain.attributes]
    strata = len(domain.strata)
    codes = np.array(
        [
            [number[v] for number, v in zip(numbered, row[strata:], strict=True)]
            for row in combinations
        ],
        dtype=np.int64,
    ).reshape(len(combinations), len(attributes))
    levels = np.array([row[:strata] for row in combinations], dtype=np.int64).reshape(
        len(combinations), strata
    )
    strides = [math.prod(domain.strata_shape[i + 1 :]) for i in range(strata)]
    where = levels @ np.array(strides, dtype=np.int64)
    source = source_of(base, (*domain.strata, *attributes)) if combinations else _nobody(base)
    whole = replace(domain, attributes=tuple(attributes), source=source, undeclared=())
    return whole, tuple(_sorted_rows(codes[where == s]) for s in range(domain.strata_count))


def _selected_expression(column: Column) -> a.Expr:
    """Returns what is selected of a column: itself, or a whole number that stands for its value."""
    if column.type is Type.DATE:
        return a.Call("days", (a.Col(column.name),))
    if column.type is Type.REAL:
        times = a.Lit(float(10 ** (column_scale(column.sql_type) or 0)), Type.REAL)
        return a.Call("integer", (a.Call("*", (a.Col(column.name), times)),))
    return a.Col(column.name)


def _is_within(column: Column, number: Value) -> bool:
    """Returns whether the number stands for a value: Python's dates end in the year 9999, and
    doubles of more steps are not exact."""
    if not isinstance(number, int):
        return True
    if column.type is Type.DATE:
        return dt.date.min.toordinal() <= number + EPOCH <= dt.date.max.toordinal()
    return column.type is not Type.REAL or abs(number) <= 2**53


def _value_of(column: Column, selected: Value) -> Value:
    """Returns the column's value that a selected one stands for."""
    if isinstance(selected, int) and column.type is Type.DATE:
        return dt.date.fromordinal(selected + EPOCH)
    if isinstance(selected, int) and column.type is Type.REAL:
        return selected / float(10 ** (column_scale(column.sql_type) or 0))
    return selected


def _nobody(base: a.Relation) -> a.Relation:
    """Returns the rows that have one of no combinations."""
    return a.Where(base, a.Lit(value=False, type=Type.BOOLEAN))


def _sorted_rows(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    return codes[np.lexsort(codes.T[::-1])] if codes.shape[1] else codes[:1]
