"""Domains and bounds of which the owner knows nothing: by a charged, noised histogram.

**Domains.** A row of x is in one of the cells between powers of two, on either side of 0; the
outermost cells that stand out of the noise, alone or together, are the ends (Wilson et al. 2020,
"Differentially private SQL with bounded user contribution", approximate bounds). What lies beyond
is clamped, as with any declared domain.

**Rows of a unit.** A unit is in one cell, by how many rows it has, so the counts move by one a
unit, whatever it has. The bound is the least of 1, 2, 3, 4, 6, 8, 12, … beyond which `LEFT_OUT` of
the rows lie at most, by the cells that stand out of the noise. It is an upper bound for all
statements: one that wants less noise lowers it by `OPTIONS (max_rows_contributed = auto)`.

Both are queries of the closed algebra at a price that the owner names, charged, noised and sealed
as any other; what is declared is post-processing, and may be declared again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlpriv.answer.bounds.rows_per_unit import (
    bound_that_leaves_out,
    standing_cells,
    standing_units,
)
from sqlpriv.answer.bounds.share_left_out import left_out_words
from sqlpriv.errors import DeclarationError, Refused
from sqlpriv.kernel.gate import Allowance
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract, Type
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.plan.aggregates.rows_left_out import cell_ends, count_units
from sqlpriv.plan.explanation.explain import SCHEMA, measurement_row, total_rows
from sqlpriv.plan.pricing.predictions import predict_measurements
from sqlpriv.plan.pricing.statement import half_width, statement_price
from sqlpriv.session.access.context import Access
from sqlpriv.session.access.quote import Charge, Quote
from sqlpriv.session.access.result import Result
from sqlpriv.statements import alter_text
from sqlpriv.statements import declarations as decl
from sqlpriv.statements import tree as t
from sqlpriv.system import arrow

LEFT_OUT = 0.02
"""The most of all rows that a bound on rows of a unit may leave out."""
SMALLEST, LARGEST = -20, 62
"""Powers of two: of REAL values from 2**SMALLEST on, of whole numbers from 1 on."""
MOST_ROWS = 2**19
"""The largest bound that may be found."""
Auto = decl.SetDomainAuto | decl.SetBoundAuto


class MeasuredDeclaration(NamedTuple):
    """A declaration that noised counts say, and in words what it is estimated to leave out."""

    action: decl.SetDomainBetween | decl.SetBound
    left_out: str


def measure_declaration(
    action: Auto, contract: TableContract, access: Access, text: str
) -> MeasuredDeclaration:
    """Returns the declaration that noised counts say; they are charged.

    Args:
        action: What is to be declared.
        contract: Of its table, which has a unit and a budget.
        access: Of an owner.
        text: Of the statement, for the ledger.

    Raises:
        Refused, DeclarationError: Before the charge where the table or the column has no such
            declaration; behind it where no cell stands out of the noise.
    """
    measurement = _measurement(action, contract, access)
    with (
        access.intents.hold(contract.snapshot, [a.query_hash(measurement.query)]),
        Allowance(access.kernel, contract, measurement.price, access.principal, text) as allowance,
    ):
        (release,) = allowance.release([measurement])
    if isinstance(action, decl.SetBoundAuto):
        bound = bound_of_counts(release)
        return MeasuredDeclaration(
            decl.SetBound(rows_per_unit=bound), left_out_words(release, bound)
        )
    lower, upper, clamped = ends_of_counts(release, _type_of(action, contract) is Type.INTEGER)
    return MeasuredDeclaration(decl.SetDomainBetween(action.column, lower, upper), clamped)


def quote_declaration(action: Auto, contract: TableContract, access: Access) -> Quote:
    """Returns what a declaration would cost; nothing is read or charged."""
    measurement = _measurement(action, contract, access)
    account = access.tables.budget(contract, t.Pos())
    (prediction,) = predict_measurements(access.kernel, [measurement], contract)
    price = type(measurement.price)(0) if prediction.replayed else measurement.price
    left = access.tables.amount_left(contract, [measurement.query.source])
    return Quote((Charge(account.unit_table, price, left, account.delta),))


def explain_declaration(action: decl.Action, contract: TableContract, access: Access) -> Result:
    """Returns the rows of EXPLAIN PRIVACY of a declaration; nothing is read or charged.

    Raises:
        Refused, DeclarationError: As declaring it would; what is written out costs nothing.
    """
    if not isinstance(action, decl.SetDomainAuto | decl.SetBoundAuto):
        hint = "EXPLAIN PRIVACY tells the price of … AUTO (epsilon = 0.1) and rows_per_unit = auto"
        raise Refused("a declaration that is written out costs nothing", hint=hint)
    measurement = _measurement(action, contract, access)
    (prediction,) = predict_measurements(access.kernel, [measurement], contract)
    (charge,) = quote_declaration(action, contract, access).charges
    subject = "units by how many rows they have"
    if isinstance(action, decl.SetDomainAuto):
        subject = f"rows by the magnitude of {action.column}"
    error = half_width(prediction.price) * prediction.sigma
    row = measurement_row(subject, charge.delta, prediction, error)
    totals = total_rows(charge.price, charge.left, charge.delta)
    return Result(arrow.table([row, *totals], SCHEMA))


def _measurement(action: Auto, contract: TableContract, access: Access) -> Measurement:
    if contract.unit is None:
        raise DeclarationError(
            f"noised counts need a unit whose budget pays: {alter_text(contract.table)} SET PRIVACY"
            " BOUND (rows_per_unit = 1), SET PU and SET PRIVACY BUDGET first"
        )
    budget = access.tables.budget(contract, t.Pos())
    price = statement_price(action.price, budget, None, t.Pos())
    if isinstance(action, decl.SetBoundAuto):
        return Measurement(all_units_by_rows(contract.table), price)
    column, whole = action.column.lower(), _type_of(action, contract) is Type.INTEGER
    return Measurement(rows_by_magnitude(contract.table, column, whole), price)


def _type_of(action: decl.SetDomainAuto, contract: TableContract) -> Type:
    column = contract.column(action.column)
    if column is None or column.type not in (Type.INTEGER, Type.REAL):
        kind = "no column" if column is None else f"a {column.sql_type} column"
        raise DeclarationError(
            f"AUTO finds the ends of numbers; {contract.table}.{action.column} is {kind}"
        )
    if column.domain is not None:
        raise DeclarationError(
            f"{column.name} has a domain, and noised counts would be of values clamped to it:"
            f" {alter_text(contract.table, column.name)} DROP PRIVACY DOMAIN first"
        )
    return column.type


def rows_by_magnitude(table: str, column: str, whole: bool) -> a.Count:
    """Returns the counts of rows between powers of two, on either side of 0."""
    powers = [2.0**k for k in range(0 if whole else SMALLEST, LARGEST + 1)]
    edges = [*(-p for p in reversed(powers)), 0.0, *powers]
    numbers = tuple(int(edge) for edge in edges) if whole else tuple(edges)
    key = a.Key(a.Bin(a.Col(column), numbers), tuple(range(len(numbers) + 1)))
    return a.Count(a.Scan(table), keys=(key,))


def all_units_by_rows(table: str) -> a.Count:
    """Returns the counts of units by how many rows they have: 1, 2, 3, 4, 5 to 6, 7 to 8, …"""
    edges = [end + 1 for end in cell_ends(MOST_ROWS)]
    return count_units(a.Scan(table), edges, reach=MOST_ROWS + 1)


def _refuse_noise(release: Release) -> DeclarationError:
    return DeclarationError(
        f"no cell stands out of the noise, which is {release.sigma:,.0f} rows or units; nothing was"
        " declared, and the price is paid: name a higher epsilon, or what you know"
    )


def ends_of_counts(release: Release, whole: bool) -> tuple[float, float, str]:
    """Returns the ends of the outermost cells that stand out of the noise, and in words about how
    many rows lie beyond.

    >>> from sqlpriv.kernel.terms.budget import Rho
    >>> query = rows_by_magnitude("t", "x", True)
    >>> counts = np.zeros(len(query.keys[0].values))
    >>> counts[[64, 68, 69, 70]] = 900.0, 300.0, 800.0, 20.0  # 0; 8 to 31; 32 to 63
    >>> ends_of_counts(Release(1, query, counts, 10.0, Rho(1)), True)
    (0, 31, 'about 20 rows lie beyond its ends, give or take 216: they are clamped')
    """
    counts = release.values.ravel()
    clear = np.flatnonzero(standing_cells(counts, release))
    if not clear.size:
        raise _refuse_noise(release)
    (key,) = release.query.keys
    assert isinstance(key.expr, a.Bin)
    edges = [float(edge) for edge in key.expr.edges if isinstance(edge, int | float)]
    edges = [2 * edges[0], *edges, 2 * edges[-1]]
    lower, upper = edges[clear[0]], edges[clear[-1] + 1]
    outside = np.delete(counts, np.s_[clear[0] : clear[-1] + 1])
    off = half_width(release.price) * release.sigma * len(outside) ** 0.5
    words = (
        f"about {max(0.0, outside.sum()):,.0f} rows lie beyond its ends, give or take {off:,.0f}:"
        " they are clamped"
    )
    return (int(lower), int(upper) - 1, words) if whole else (lower, upper, words)


def bound_of_counts(release: Release) -> int:
    """Returns the least bound beyond which few enough rows lie."""
    cells = standing_units(release)
    if not cells.rows:
        raise _refuse_noise(release)
    return bound_that_leaves_out(cells, LEFT_OUT)
