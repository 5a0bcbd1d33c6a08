"""The price of a statement: what its OPTIONS or the session say."""

from __future__ import annotations

import math
from functools import lru_cache

from sqlpriv.errors import DataError, Refused
from sqlpriv.kernel.terms.budget import Budget, Epsilon, Price, Rho, rho_of
from sqlpriv.kernel.terms.contract import PrivacyUnit, TableContract
from sqlpriv.statements import alter_text
from sqlpriv.statements.tree import Options, Pos

KNOWN_OPTIONS = ("epsilon", "rho")
GAUSSIAN_95 = 1.959964
LAPLACE_95 = math.log(20) / math.sqrt(2)


def half_width(price: Price) -> float:
    """Returns the 95 % half-width, in standard deviations, of the noise that such a price buys.

    1.960 for Gaussian noise; 2.118 for one Laplace, sums of several need less.
    """
    return GAUSSIAN_95 if isinstance(price, Rho) else LAPLACE_95


def statement_price(
    options: Options,
    budget: Budget,
    session_epsilon: float | None,
    pos: Pos,
    spelling: str = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1) …",
) -> Price:
    """Returns what a statement may spend: its own OPTIONS, else the session's privacy_epsilon.

    Args:
        options: The statement's, of which `KNOWN_OPTIONS` are prices.
        budget: The unit's, which says whether epsilon is converted to rho.
        session_epsilon: `SET privacy_epsilon`, or None.
        pos: Where a refusal points.
        spelling: How the statement is written with a price.

    Raises:
        Refused: Both ways at once, no price, or one that buys nothing.
    """
    paid = [option for option in options if option[0] in KNOWN_OPTIONS]
    if len(paid) > 1:
        raise Refused.at(pos, "a statement has one price", "write epsilon or rho, once")
    name, value = paid[0] if paid else ("epsilon", session_epsilon)
    if value is None:
        raise Refused.at(
            pos,
            "this statement has no price",
            f"write {spelling}, or SET privacy_epsilon = 0.1 for the session",
        )
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Refused.at(pos, f"the option {name} is a number", f"write {name} = 0.1")
    try:
        return _rho(value, budget, pos) if name == "rho" else price_of(budget, value)
    except DataError as error:
        raise Refused.at(pos, str(error), f"write {name} = 0.1") from None


def require_unit(contract: TableContract, pos: Pos) -> PrivacyUnit:
    """Returns whom a table protects.

    Raises:
        Refused: It protects nobody so far.
    """
    if contract.unit is None:
        hint = f"the owner runs {alter_text(contract.table)} ADD PRIVACY_KEY (column), "
        hint += f"then {alter_text(contract.table)} SET PU"
        raise Refused.at(pos, f'the table "{contract.table}" has no privacy unit', hint)
    return contract.unit


def price_of(budget: Budget, epsilon: float) -> Price:
    """Returns what `OPTIONS (epsilon = …)` may spend; DataError where that is under a nano."""
    zcdp = isinstance(budget.total, Rho)
    price = _rho_of(epsilon, budget.delta) if zcdp else Epsilon.at_most(epsilon)
    if price.nano == 0:
        raise DataError(f"epsilon = {epsilon} is too small to buy anything")
    return price


def _rho(value: float, budget: Budget, pos: Pos) -> Price:
    if not isinstance(budget.total, Rho):
        raise Refused.at(pos, "this budget is of pure epsilon", "write epsilon = 0.1")
    price = Rho.at_most(value)
    if price.nano == 0:
        raise DataError(f"rho = {value} is too small to buy anything")
    return price


_rho_of = lru_cache(256)(rho_of)  # two bisections in one another, asked for in each part of a query
