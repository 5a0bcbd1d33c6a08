"""What an owner sets for one user's spending.

Some tools send queries that their user has not written, and dashboards send theirs again and again.

The rules are an owner's convenience and no part of the privacy claim, which is the budget's: they
refuse a statement before it is run, by the price that it is quoted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlpriv import dialect
from sqlpriv.errors import BudgetExhausted, InterfaceError, Refused
from sqlpriv.interfaces.server.users_file import users_file
from sqlpriv.plan.pricing.display import epsilon_shown
from sqlpriv.session.session import Progress, Quote, Result, Session

Values = Sequence[Any] | Mapping[str, Any] | None


@dataclass(frozen=True)
class SpendingRules:
    """How one user may spend.

    Args:
        epsilon: What each private statement costs, unless it says so itself; None for nothing.
        daily_epsilon: The most that they may spend of one budget in a day (UTC); None for no such
            ceiling. Amounts add up as the budget's do, and are compared as an epsilon.
        only_asked_before: Only statements that cost nothing are answered: those that somebody has
            asked before, and those of released and public tables.
        error_columns: Over PostgreSQL's protocol each number of a private answer has a column
            `<name>_error` behind it, unless the client sets otherwise.
    """

    epsilon: float | None = None
    daily_epsilon: float | None = None
    only_asked_before: bool = False
    error_columns: bool = False

    def __post_init__(self) -> None:
        for amount in (self.epsilon, self.daily_epsilon):
            if amount is not None and not (math.isfinite(amount) and amount > 0):
                raise InterfaceError("a price and a ceiling are positive numbers, as in 0.1")

    @property
    def concerns_prices(self) -> bool:
        """Whether a statement's price has to be known before it is run."""
        return self.only_asked_before or self.daily_epsilon is not None


def run_within_rules(
    session: Session,
    rules: SpendingRules,
    sql: str,
    values: Values,
    report: Callable[[Progress], None],
) -> Result:
    """Runs a text of statements as `Session.execute` does, each only as far as the rules allow.

    Raises:
        Refused: Only what was asked before may be asked, and this was not.
        BudgetExhausted: The ceiling of the day leaves less than the statement costs.
        sqlpriv.Error: What the session raises.
    """
    if session.role == "owner" or not rules.concerns_prices:
        return session.execute(sql, values, report)
    result = Result(message="nothing to do")
    for statement, its_values in dialect.split_with_parameters(sql, values, session.dialect):
        _check(session, rules, statement, its_values)
        result = session.execute(statement, its_values, report)
    return result


def _check(session: Session, rules: SpendingRules, sql: str, values: Values) -> None:
    # what has no price now is not run: it may have one a moment later, when the owner has written
    quote = session.quote(sql, values)
    if not quote.epsilon:
        return
    if rules.only_asked_before:
        raise Refused(
            f"{session.principal} is answered what was asked before, and this was not;"
            " nothing was read or charged",
            hint="once somebody else has asked it, the same question is free",
        )
    if rules.daily_epsilon is not None:
        quote.check_covered()  # else a part of it could be paid that nobody booked
        reserve_for_today(Path(session.vault), session.principal, quote, rules.daily_epsilon)


def reserve_for_today(vault: Path, name: str, quote: Quote, ceiling: float) -> None:
    """Books a statement's price under the user's day, before the statement is run.

    What was booked stays so when the statement fails: a failed one may have been charged.

    Raises:
        BudgetExhausted: With it, some budget's amounts of the day would exceed the ceiling.
    """
    now = datetime.now(UTC)
    with users_file(vault) as db:
        db.execute("BEGIN IMMEDIATE")
        try:
            for charge in quote.charges:
                kind = type(charge.price)
                ((total,),) = db.execute(
                    "SELECT coalesce(sum(nano), 0) FROM day_price"
                    " WHERE name = ? AND unit_table = ? AND kind = ? AND day = ?",
                    (name, charge.unit_table, kind.kind, now.date().isoformat()),
                ).fetchall()
                booked = int(total)  # PostgreSQL adds up as numeric
                spent = epsilon_shown(kind(booked), charge.delta)
                if epsilon_shown(kind(booked + charge.price.nano), charge.delta) > ceiling:
                    raise BudgetExhausted(
                        f"{name} may spend epsilon {ceiling:g} of {charge.unit_table} a day:"
                        f" {spent:.3g} is spent since midnight (UTC), and this costs"
                        f" {charge.epsilon:.3g} more; nothing was read or charged"
                    )
                db.execute(
                    "INSERT INTO day_price (day, name, unit_table, kind, nano)"
                    " VALUES (?, ?, ?, ?, ?)",
                    (
                        now.date().isoformat(),
                        name,
                        charge.unit_table,
                        kind.kind,
                        charge.price.nano,
                    ),
                )
            db.execute("COMMIT")
        except BaseException:  # Ctrl-C, too, leaves no transaction open
            db.execute("ROLLBACK")
            raise
