"""What is in force of a vault's tables, written as the statements that declare the same again.

`SHOW PRIVACY DECLARATIONS` gives the lines of a script: run on a vault with the same tables, it
leaves the same contracts and budgets. What was spent is no declaration, and is not in it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from sqlpriv.errors import DataError, DeclarationError
from sqlpriv.kernel.terms.budget import YOCTO, Budget, Epsilon, Price, rho_of
from sqlpriv.kernel.terms.contract import (
    UNDECLARED,
    Declared,
    TableContract,
    key_columns,
    link_of,
)
from sqlpriv.kernel.vault import Kernel
from sqlpriv.plan.pricing.display import epsilon_shown
from sqlpriv.session.access.closed_rows import declared_window
from sqlpriv.session.access.table_grants import grant_lines
from sqlpriv.session.declarations.budgets import budget_at
from sqlpriv.statements import literal, written_name


def declaration_script(
    kernel: Kernel, contracts: Mapping[str, TableContract], with_grants: bool = True
) -> list[str]:
    """Returns the lines of a script that declares what is in force of all tables.

    Tables that others link to come first, so that a link always finds its table declared.

    Args:
        kernel: Of the vault.
        contracts: Of its tables, by lower-case name.
        with_grants: Whether who may use a table is told, too.
    """
    bodies = kernel.ledger.declarations()[1]
    lines: list[str] = []
    for table in _parents_first(contracts, bodies):
        budgets = {
            holder: account.budget
            for holder in kernel.ledger.holders(contracts[table].own_account)
            if (account := kernel.ledger.account(contracts[table].own_account, holder))
        }
        lines += declaration_lines(contracts[table], bodies.get(table, UNDECLARED), budgets)
        if with_grants:
            contract = contracts[table]
            lines += grant_lines(written_name(contract.table), dict(contract.grants))
    return lines


def declaration_lines(
    contract: TableContract, body: Declared, budgets: Mapping[str, Budget]
) -> list[str]:
    """Returns the lines of one `ALTER TABLE … SET PRIVACY (…)`; none where nothing is declared.

    Args:
        contract: The table.
        body: What is declared of it, as the ledger holds it.
        budgets: Holder → budget or ceiling; '' is the table's own budget.
    """
    table, items = written_name(contract.table), _items(contract, body)
    if body["key"]:  # else the name has a budget from before, which cannot be declared anew
        items += [_budget_item(contract.table, h, budgets[h]) for h in sorted(budgets)]
    lines = []
    if body["key"] and not body["unit"]:  # a KEY in the list would be protected with it
        lines.append(f"ALTER TABLE {table} ADD PRIVACY_KEY ({_written_key(body)});")
    if items:
        inside = [f"    {item}," for item in items]
        inside[-1] = inside[-1].removesuffix(",")
        lines += [f"ALTER TABLE {table} SET PRIVACY (", *inside, ");"]
    return lines


def _parents_first(
    contracts: Mapping[str, TableContract], bodies: Mapping[str, Declared]
) -> Sequence[str]:
    ordered: dict[str, None] = {}

    def visit(table: str, below: frozenset[str]) -> None:
        if table in contracts and table not in below:
            for link in map(link_of, bodies.get(table, UNDECLARED)["links"]):
                visit(link.table.lower(), below | {table})
            ordered[table] = None

    for table in contracts:
        visit(table, frozenset())
    return [*ordered]


def _written_key(body: Declared) -> str:
    return ", ".join(map(written_name, key_columns(body)))


def _items(contract: TableContract, body: Declared) -> list[str]:
    items = []
    if body["unit"] and body["key"]:
        items.append(f"KEY ({_written_key(body)})")
    for link in map(link_of, body["links"]):
        columns, parents = (
            ", ".join(map(written_name, names)) for names in zip(*link.pairs, strict=True)
        )
        items.append(f"LINK ({columns}) REFERENCES {written_name(link.table)}({parents})")
    if body["public"]:
        items.append("PUBLIC")
    if body["bound"] or body["links"]:  # a link in a list asks for its bound
        rows, groups = body["bound"] or (1, 1)
        items.append(f"BOUND (rows_per_unit = {rows}, groups_per_unit = {groups})")
    for column in contract.columns:
        if domain := body["domains"].get(column.name.lower()):
            items.append(f"COLUMN {written_name(column.name)} {_domain_text(domain)}")
    if window := declared_window(body):
        day = literal(window.closed_before)
        items.append(f"WINDOW ({written_name(window.column)}, closed_before = {day})")
    return items


def _domain_text(domain: Mapping[str, Any]) -> str:
    promise = " NOT NULL" if domain["required"] else ""
    if "labels" in domain:
        return f"IN ({', '.join(map(_value_text, domain['labels']))}){promise}"
    nullable = " OR NULL" if domain["nullable"] else ""
    ends = f"{_value_text(domain['lower'])}, {_value_text(domain['upper'])}"
    return f"BETWEEN ({ends}){nullable}{promise}"


def _value_text(stored: Any) -> str:
    match stored:
        case {"timestamp": str(text)}:
            return literal(dt.datetime.fromisoformat(text))
        case {"date": str(text)}:
            return literal(dt.date.fromisoformat(text))
        case {"time": str(text)}:
            return literal(dt.time.fromisoformat(text))
        case float():
            return repr(stored)
    return literal(stored)


def _budget_item(table: str, holder: str, budget: Budget) -> str:
    """Returns a budget as it is declared: by its epsilon where that gives the same amount."""
    epsilon = f"{epsilon_shown(budget.total, budget.delta):.6g}"
    if isinstance(budget.total, Epsilon):
        options = {"epsilon": repr(budget.total.value)}
    elif _is_budget_of(table, epsilon, budget):
        options = {"epsilon": epsilon}
    else:
        options = {"rho": repr(budget.total.value)}
    if budget.delta:
        options["delta"] = repr(budget.delta)
    if budget.per:
        options["per"] = literal(budget.per)
    if budget.until:
        options["until"] = f"DATE '{budget.until}'"
    if budget.whole:
        whole = type(budget.total)(budget.whole)
        exact = repr(whole.value)
        options["total"] = _total_text(whole, budget) if "epsilon" in options else exact
    if budget.keys:
        options["keys_delta"] = repr(float(Fraction(budget.keys, YOCTO)))
    text = ", ".join(f"{name} = {value}" for name, value in options.items())
    return f"BUDGET ({text})" + (f" FOR {literal(holder)}" if holder else "")


def _total_text(whole: Price, budget: Budget) -> str:
    """Returns the total over all periods as an epsilon that gives the same amount."""
    if isinstance(whole, Epsilon):
        return repr(whole.value)
    for digits in range(6, 18):
        text = f"{epsilon_shown(whole, budget.delta):.{digits}g}"
        if rho_of(float(text), budget.delta) == whole:
            break
    return text


def _is_budget_of(table: str, epsilon: str, budget: Budget) -> bool:
    try:
        return budget_at(table, float(epsilon), budget.delta, budget.keys).total == budget.total
    except (DataError, DeclarationError):
        return False
