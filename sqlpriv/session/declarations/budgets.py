"""Budgets as an owner writes them: amounts, periods, and what they promise in words."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from sqlpriv.errors import DataError, DeclarationError
from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.kernel.terms.budget import PERIODS, YOCTO, Budget, Epsilon, Rho, rho_of
from sqlpriv.kernel.terms.contract import Value
from sqlpriv.plan.pricing.display import epsilon_shown
from sqlpriv.statements import tree as t

KIND_NAMES = {"zcdp": "zCDP (a budget with a delta, or rho)", "pure": "pure epsilon"}
KIND_FORMS = {"zcdp": "(epsilon = 1, delta = 1e-9)", "pure": "(epsilon = 1)"}
"""How a budget of each kind is written."""


def amount_text(budget: Budget) -> str:
    """Returns a budget's amount as it is told to the owner."""
    epsilon = epsilon_shown(budget.total, budget.delta)
    kind = f"rho = {budget.total.value:g}, " if budget.delta else "pure "
    keys = f" + {budget.keys / YOCTO:g} for keys" if budget.keys else ""
    return f"{kind}epsilon = {epsilon:.6g}, delta = {budget.delta:g}{keys}"


def claim_over_time(budget: Budget) -> str:
    """Returns what a budget of periods promises, in words for the owner."""
    words = ""
    if budget.per:
        words = f" in each {budget.per} (UTC): a unit loses at most this in every {budget.per}"
    if budget.per and not budget.whole:
        year = {"day": 366, "week": 53, "month": 12, "quarter": 4, "year": 1}[budget.per]
        in_a_year = epsilon_shown(type(budget.total)(budget.total.nano * year), budget.delta)
        words += f", and their sum: at most epsilon = {in_a_year:.6g} in {year} of them"
    if budget.whole:
        whole = epsilon_shown(type(budget.total)(budget.whole), budget.delta)
        words += f", and at most epsilon = {whole:.6g} in all, with what was spent before"
    if not budget.until:
        return words
    is_past = budget.until < dt.datetime.now(dt.UTC).date().isoformat()
    past = ", which is past: nothing more is answered" if is_past else ""
    return f"{words}; nothing after {budget.until}{past}"


def budget_of(table: str, options: t.Options) -> Budget:
    """Returns the budget that `SET PRIVACY BUDGET (…)` says.

    Raises:
        DeclarationError: Unknown or missing options.
    """
    values = dict(options)
    names = {"epsilon", "delta", "rho", "keys_delta", "per", "until", "total"}
    if unknown := sorted(set(values) - names):
        raise DeclarationError(f"a budget has no {', '.join(unknown)}, but {', '.join(names)}")
    per, until = str(values.pop("per", "")).lower(), values.pop("until", None)
    if per not in ("", *PERIODS):
        *others, last = PERIODS
        raise DeclarationError(
            f"a budget is per {', '.join(others)} or {last}, not per {per}: write per = 'month'"
        )
    numbers = {
        k: float(v)
        for k, v in values.items()
        if isinstance(v, int | float) and not isinstance(v, bool)
    }
    if len(numbers) != len(values):
        raise DeclarationError("epsilon, delta, rho and total are numbers")
    keys = int(Fraction(str(min(1.0, numbers.get("keys_delta", 0.0)))) * YOCTO)
    try:
        budget = _budget_for_all_time(table, numbers, keys)
        whole = numbers.get("total", 0.0)
        if whole and isinstance(budget.total, Rho) and "epsilon" in numbers:
            most: Rho | Epsilon = rho_of(whole, budget.delta)
        else:
            most = type(budget.total).at_most(whole)
    except DataError as error:
        raise DeclarationError(str(error)) from None
    if whole and most.nano < budget.total.nano:
        raise DeclarationError(
            "the total over all periods is less than the budget of one: write a total of at least"
            f" {epsilon_shown(budget.total, budget.delta):.6g}, or a lower epsilon for each"
        )
    return replace(budget, per=per, until=_last_day(until), whole=most.nano)


def _budget_for_all_time(table: str, numbers: Mapping[str, float], keys: int) -> Budget:
    if "rho" in numbers and "epsilon" not in numbers:
        return Budget(table, Rho.at_most(numbers["rho"]), numbers.get("delta", 1e-9), keys)
    if "epsilon" in numbers and "rho" not in numbers:
        return budget_at(table, numbers["epsilon"], numbers.get("delta", 0.0), keys)
    raise DeclarationError("a budget is (epsilon = e, delta = d), (epsilon = e) or (rho = r)")


def _last_day(until: Value) -> str:
    """Returns the day that `until` names, as the ledger holds it; '' without one."""
    if until is None:
        return ""
    try:
        if isinstance(until, str):
            return dt.date.fromisoformat(until).isoformat()
    except ValueError:
        pass
    if not isinstance(until, dt.date) or isinstance(until, dt.datetime):
        raise DeclarationError("until is a day: until = DATE '2026-12-31'")
    return until.isoformat()


def budget_at(table: str, epsilon: float, delta: float = 0.0, keys: int = 0) -> Budget:
    """Returns the budget that is (epsilon, delta)-DP as a whole: pure where delta = 0."""
    total = rho_of(epsilon, delta) if delta != 0 else Epsilon.at_most(epsilon)
    return Budget(table, total, float(delta), keys)


def set_budget(ledger: Ledger, budget: Budget, principal: str, holder: str = "") -> None:
    """Replaces the budget of a unit's table, or somebody's ceiling under it.

    What was spent stays spent, and of one kind, which is that of the ceilings, too. A holder whose
    name was written in another case before keeps that name.

    Args:
        ledger: Where it is recorded.
        budget: Of the table's account.
        principal: The owner who says so.
        holder: Whose ceiling it is; '' for the table's own budget.

    Raises:
        DeclarationError: It is of another kind than what was charged, or than the ceilings; or it
            is a ceiling of a table that has no budget yet.
    """
    unit, kind = budget.unit_table.lower(), budget.total.kind
    with ledger.begin("IMMEDIATE"):
        own, holders = ledger.account(unit), {*ledger.holders(unit)}
        holder = next((h for h in holders if h.lower() == holder.lower()), holder)
        if holder and own is None:
            raise DeclarationError(f"{unit} has no PRIVACY BUDGET yet")
        if own and (own.charges or holders - {holder}) and own.spent.kind != kind:
            raise DeclarationError(
                f"what was charged to {unit}, or its ceilings, is counted in"
                f" {KIND_NAMES[own.spent.kind]} and cannot be turned into {KIND_NAMES[kind]}:"
                f" write SET PRIVACY BUDGET {KIND_FORMS[own.spent.kind]}"
                f"{f' FOR {holder!r}' if holder else ''} with your amount"
            )
        ledger.set_budget(budget, principal, holder)
