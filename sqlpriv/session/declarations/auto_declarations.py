"""Domains and bounds of which the owner knows nothing: by a charged, noised histogram.

**Domains.** A row of x is in one of the cells between powers of two, on either side of 0; the
outermost cells that stand out of the noise are the ends (Wilson et al. 2020, "Differentially
private SQL with bounded user contribution", approximate bounds). What lies beyond is clamped, as
with any declared domain.

**Rows of a unit.** A unit is in one cell, by how many rows it has, so the counts move by one a
unit, whatever it has. The bound is the least power of two beyond which `LEFT_OUT` of the rows lie
at most, by the cells that stand out of the noise.

Both are queries of the closed algebra at a price that the owner names, charged, noised and sealed
as any other; what is declared is post-processing, and may be declared again.
"""

from __future__ import annotations

from sqlpriv.answer.rounds.tail_model import noise_level
from sqlpriv.errors import DeclarationError
from sqlpriv.kernel.gate import Allowance
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract, Type
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.plan.pricing.statement import statement_price
from sqlpriv.session.access.context import Access
from sqlpriv.session.access.quote import Charge, Quote
from sqlpriv.statements import commands as cmd
from sqlpriv.statements import tree as t

FALSE_CELL = 0.001
"""Chance that noise makes any empty cell stand out: an end would be too far out."""
LEFT_OUT = 0.02
"""The most of all rows that a bound on rows of a unit may leave out."""
SMALLEST, LARGEST = -20, 62
"""Powers of two: of REAL values from 2**SMALLEST on, of whole numbers from 1 on."""
MOST_ROWS = 2**19
_ROWS = "sqlpriv_rows"
Auto = cmd.SetDomainAuto | cmd.SetBoundAuto


def measure_declaration(
    action: Auto, contract: TableContract, access: Access, text: str
) -> cmd.SetDomainBetween | cmd.SetBound:
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
    with Allowance(access.kernel, contract, measurement.price, access.principal, text) as allowance:
        (release,) = allowance.release([measurement])
    if isinstance(action, cmd.SetBoundAuto):
        return cmd.SetBound(rows_per_unit=bound_of_counts(release))
    lower, upper = ends_of_counts(release, _type_of(action, contract) is Type.INTEGER)
    return cmd.SetDomainBetween(action.column, lower, upper)


def quote_declaration(action: Auto, contract: TableContract, access: Access) -> Quote:
    """Returns what a declaration would cost; nothing is read or charged."""
    measurement = _measurement(action, contract, access)
    account = access.tables.budget(contract, t.Pos())
    left = access.tables.amount_left(contract, [measurement.query.source])
    return Quote((Charge(account.unit_table, measurement.price, left, account.delta),))


def _measurement(action: Auto, contract: TableContract, access: Access) -> Measurement:
    if contract.unit is None:
        raise DeclarationError(
            f"noised counts need a unit whose budget pays: ALTER TABLE {contract.table} SET PRIVACY"
            " BOUND (rows_per_unit = 1), SET PU and SET PRIVACY BUDGET first"
        )
    budget = access.tables.budget(contract, t.Pos())
    price = statement_price(action.price, budget, None, t.Pos())
    if isinstance(action, cmd.SetBoundAuto):
        return Measurement(units_by_rows(contract.table), price)
    column, whole = action.column.lower(), _type_of(action, contract) is Type.INTEGER
    return Measurement(rows_by_magnitude(contract.table, column, whole), price)


def _type_of(action: cmd.SetDomainAuto, contract: TableContract) -> Type:
    column = contract.column(action.column)
    if column is None or column.type not in (Type.INTEGER, Type.REAL):
        kind = "no column" if column is None else f"a {column.sql_type} column"
        raise DeclarationError(
            f"AUTO finds the ends of numbers; {contract.table}.{action.column} is {kind}"
        )
    if column.domain is not None:
        raise DeclarationError(
            f"{column.name} has a domain, and noised counts would be of values clamped to it:"
            f" ALTER TABLE {contract.table} ALTER COLUMN {column.name} DROP PRIVACY DOMAIN first"
        )
    return column.type


def rows_by_magnitude(table: str, column: str, whole: bool) -> a.Count:
    """Returns the counts of rows between powers of two, on either side of 0."""
    powers = [2.0**k for k in range(0 if whole else SMALLEST, LARGEST + 1)]
    edges = [*(-p for p in reversed(powers)), 0.0, *powers]
    numbers = tuple(int(edge) for edge in edges) if whole else tuple(edges)
    key = a.Key(a.Bin(a.Col(column), numbers), tuple(range(len(numbers) + 1)))
    return a.Count(a.Scan(table), keys=(key,))


def units_by_rows(table: str) -> a.Count:
    """Returns the counts of units by how many rows they have: 1, 2, 3 to 4, 5 to 8, …"""
    edges = [2, *(2**k + 1 for k in range(1, 20))]
    fold = a.Fold(_ROWS, "count", reach=MOST_ROWS + 1)
    counted = a.PerUnit(a.Scan(table), (), (fold,))
    key = a.Key(a.Bin(a.Col(_ROWS), tuple(edges)), tuple(range(len(edges) + 1)))
    return a.Count(counted, keys=(key,))


def _cells_that_stand_out(release: Release) -> tuple[list[float], list[int]]:
    """Returns the noised counts, and which of them are no noise."""
    counts = release.values.ravel().tolist()
    level = noise_level(release, FALSE_CELL / len(counts))
    clear = [i for i, count in enumerate(counts) if count > level]
    if not clear:
        raise DeclarationError(
            f"no cell has the {level:,.0f} rows or units that stand out of the noise; nothing was"
            " declared, and the price is paid: name a higher epsilon, or what you know"
        )
    return counts, clear


def ends_of_counts(release: Release, whole: bool) -> tuple[float, float]:
    """Returns the ends of the outermost cells that stand out of the noise.

    >>> import numpy as np
    >>> from sqlpriv.kernel.terms.budget import Rho
    >>> query = rows_by_magnitude("t", "x", True)
    >>> counts = np.zeros(len(query.keys[0].values))
    >>> counts[[64, 68, 69, 70]] = 900.0, 300.0, 800.0, 20.0  # 0; 8 to 31; 32 to 63
    >>> ends_of_counts(Release(1, query, counts, 10.0, Rho(1)), True)
    (0, 31)
    """
    _, clear = _cells_that_stand_out(release)
    (key,) = release.query.keys
    assert isinstance(key.expr, a.Bin)
    edges = [float(edge) for edge in key.expr.edges if isinstance(edge, int | float)]
    edges = [2 * edges[0], *edges, 2 * edges[-1]]
    lower, upper = edges[clear[0]], edges[clear[-1] + 1]
    return (int(lower), int(upper) - 1) if whole else (lower, upper)


def bound_of_counts(release: Release) -> int:
    """Returns the least power of two beyond which few enough rows lie.

    >>> import numpy as np
    >>> from sqlpriv.kernel.terms.budget import Rho
    >>> query = units_by_rows("t")
    >>> counts = np.zeros(len(query.keys[0].values))
    >>> counts[:5] = 500.0, 300.0, 200.0, 90.0, 20.0  # 1, 2, 3 to 4, 5 to 8, 9 to 16 rows
    >>> bound_of_counts(Release(1, query, counts, 5.0, Rho(1)))
    16
    """
    counts, clear = _cells_that_stand_out(release)
    of_cell = [1.0, 2.0, *(1.5 * 2 ** (i - 1) + 0.5 for i in range(2, len(counts)))]
    rows = {i: counts[i] * of_cell[i] for i in clear}

    def left_out(bound: int) -> float:
        beyond: float = sum(counts[i] * max(of_cell[i] - bound, 0.0) for i in clear)
        return beyond

    allowed, bound = LEFT_OUT * sum(rows.values()), 1
    while left_out(bound) > allowed:
        bound *= 2
    return bound
