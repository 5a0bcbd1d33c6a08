"""The price of a statement, asked before it is paid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlpriv import errors
from sqlpriv.dialect import read
from sqlpriv.dialect.commands import Plain
from sqlpriv.dialect.tree import Select
from sqlpriv.session.session import Session


@dataclass(frozen=True)
class Due:
    """What a statement would spend.

    Args:
        epsilon: Of the statement, as it would be asked now.
        left: The most epsilon that could be spent now on whom it is about.
    """

    epsilon: float
    left: float

    @property
    def question(self) -> str:
        """The question to ask; what is left is rounded down."""
        left = int(self.left * 100 + 1e-3) / 100
        spent = f"{self.epsilon:.2f}" if self.epsilon >= 0.01 else f"{self.epsilon:.2g}"
        return f"This spends ε {spent} of {left:.2f} left. Run? [y/N] "


def price_due(session: Session, statement: str) -> Due | None:
    """Returns what a statement would spend; None where that is nothing, or it would be refused.

    Told by EXPLAIN PRIVACY, which reads no row and charges nothing.
    """
    try:
        if _is_exact(session, statement):
            return None
        rows = {r["measurement"]: r for r in _rows(session, f"EXPLAIN PRIVACY {statement}")}
        budgets = _rows(session, "SHOW PRIVACY BUDGET")
    except errors.Error:
        return None  # the statement itself tells its error, in its own words and place
    after = rows.get("budget left after")
    if after is None or not rows["total"]["epsilon"]:
        return None  # free, or more than is left: the statement says so
    return Due(rows["total"]["epsilon"], _price_left(rows["total"], after, budgets))


def _rows(session: Session, sql: str) -> list[dict[str, Any]]:
    table = session.execute(sql).table
    return [] if table is None else table.to_pylist()


def _is_exact(session: Session, statement: str) -> bool:
    """Tells whether it is an owner's plain SQL, which is run on the rows as they are."""
    (parsed,) = read(statement)
    plain = isinstance(parsed, Plain) or (isinstance(parsed, Select) and not parsed.private)
    return session.role == "owner" and plain


def _price_left(
    total: dict[str, Any], after: dict[str, Any], budgets: list[dict[str, Any]]
) -> float:
    """Returns the epsilon left before the statement, of the budget that it would be charged to.

    That is the one that has just as much left as the price and what is left after it come to:
    amounts add up, epsilons of zCDP do not.
    """
    kind = "epsilon" if total["rho"] is None else "rho"
    amount = total[kind] + after[kind]

    def distance(row: dict[str, Any]) -> float:
        if row["rho"] is None:
            return abs(row["epsilon_left"] - amount) if kind == "epsilon" else float("inf")
        return abs(row["rho"] - row["rho_spent"] - amount) if kind == "rho" else float("inf")

    return float(min(budgets, key=distance)["epsilon_left"])
