"""What an owner declares of a table, checked against the catalog and written into the ledger.

A declaration is one JSON body for the whole table (`contract.UNDECLARED` lists its fields): each
statement changes some fields of the body in force. Only what the kernel enforces protects anybody:
a mistake here makes a table refused or its answers poor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlpriv.errors import DeclarationError
from sqlpriv.kernel.terms.contract import (
    UNDECLARED,
    Column,
    Declared,
    PrivacyUnit,
    TableContract,
    Type,
    link_of,
)
from sqlpriv.kernel.vault import Kernel
from sqlpriv.session.declarations.budgets import amount_text, budget_of, claim_over_time, set_budget
from sqlpriv.session.declarations.declared_domains import domain_body, end_at_midnight, read_domain
from sqlpriv.session.declarations.linking_columns import linking_columns
from sqlpriv.session.declarations.windows import Change, with_window, without_window
from sqlpriv.statements import alter_text
from sqlpriv.statements import declarations as decl
from sqlpriv.system.count_text import count_text


def declare(kernel: Kernel, action: decl.Action, contract: TableContract, principal: str) -> str:
    """Checks one declaration against the catalog and appends it to the ledger.

    Returns:
        What was declared, in words for the owner.

    Raises:
        DeclarationError: It does not fit the table, or what was declared before.
    """
    if isinstance(action, decl.SetBudget):
        return _set_budget(kernel, action, contract, principal)
    body = kernel.ledger.declarations()[1].get(contract.table.lower(), UNDECLARED)
    changes, message = _contract_change(kernel, action, contract, body)
    kernel.ledger.declare(contract.table, principal, **changes)
    return message


def _contract_change(
    kernel: Kernel, action: decl.Action, contract: TableContract, body: Declared
) -> Change:
    table = contract.table
    match action:
        case decl.AddPrivacyKey(columns):
            named = ", ".join(columns)
            message = (
                f"the privacy key of {table} is {named}; {alter_text(table)} SET PU protects it"
            )
            key = [_unit_column(contract, column) for column in columns]
            return {"key": key if len(key) > 1 else key[0]}, message
        case decl.DropPrivacyKey():
            return {"key": None}, f"{table} has no privacy key"
        case decl.SetUnit(on):
            return {"unit": on}, _unit_said(contract, body, on)
        case decl.SetPublic(on):
            if on and (contract.unit or contract.links or contract.key):
                raise DeclarationError(f"{table} holds private rows; it cannot be public")
            message = f"{table} is {'public: anyone may read its rows' if on else 'not public'}"
            return {"public": on}, message
        case decl.AddPrivacyLink():
            return _link_change(kernel, contract, body, action)
        case decl.DropPrivacyLink(columns):
            left = _links_but(body, [_column(contract, column).name for column in columns])
            return {"links": left}, f"{table}.{', '.join(columns)} links to no unit"
        case decl.SetBound():
            return _bound_change(contract, body, action)
        case decl.SetWindow():
            return with_window(action, contract, body)
        case decl.DropWindow():
            return without_window(contract, body)
        case decl.DropDomain(column):
            column_name = _column(contract, column).name.lower()
            kept = {c: domain for c, domain in body["domains"].items() if c != column_name}
            return {"domains": kept}, f"{column} has no domain"
        case decl.SetDomainIn() | decl.SetDomainBetween() | decl.SetDomainReferences():
            of = _column(contract, action.column)
            required = not isinstance(action, decl.SetDomainReferences) and action.required
            domain = domain_body(read_domain(kernel, of, action), required)
            message = f"the domain of {table}.{of.name} is declared{end_at_midnight(of, action)}"
            return {"domains": {**body["domains"], of.name.lower(): domain}}, message
    raise DeclarationError("this is no declaration of a table")


def _set_budget(
    kernel: Kernel, action: decl.SetBudget, contract: TableContract, principal: str
) -> str:
    table, budget = contract.table, budget_of(contract.own_account, action.options)
    if not contract.key:
        raise DeclarationError(f"a budget is for a unit's table: give {table} a PRIVACY_KEY")
    set_budget(kernel.ledger, budget, principal, action.holder)
    holder = "everybody without a ceiling of their own" if action.holder == "*" else action.holder
    what = f"what {holder} may spend of {table}" if holder else f"the budget of {table}"
    return f"{what} is {amount_text(budget)}{claim_over_time(budget)}"


def _column(contract: TableContract, column: str) -> Column:
    declared = contract.column(column)
    if declared is None:
        names = ", ".join(c.name for c in contract.columns)
        raise DeclarationError(f"{contract.table} has no column {column}; it has {names}")
    return declared


def _unit_said(contract: TableContract, body: Declared, on: bool) -> str:
    table, key = contract.table, contract.key
    if not on:
        return f"{table} is no privacy unit any more: analysts are refused"
    named = ", ".join(key)
    if not key:
        raise DeclarationError(f"name the unit first: {alter_text(table)} ADD PRIVACY_KEY (column)")
    if contract.public:
        raise DeclarationError(f"{table} is public; ALTER TABLE … UNSET PUBLIC first")
    if not contract.unique.intersection(map(str.lower, key)) and body["bound"] is None:
        raise DeclarationError(
            f"{named} is neither PRIMARY KEY nor UNIQUE: say how many rows of one unit count with"
            f" {alter_text(table)} SET PRIVACY BOUND (rows_per_unit = …)"
        )
    return f"each {named} of {table} is protected"


def _links_but(body: Declared, columns: Sequence[str]) -> list[list[Any]]:
    """Returns all links but the one of these columns."""
    named = frozenset(map(str.lower, columns))
    return [link for link in body["links"] if linking_columns(link_of(link)) != named]


def _unit_column(contract: TableContract, column: str) -> str:
    unit_column = _column(contract, column)
    if unit_column.sql_type != "UUID" and unit_column.type in (None, Type.REAL):
        raise DeclarationError(
            f"{unit_column.name} is a {unit_column.sql_type}: it cannot name a privacy unit; if its"
            f" values do, give it a type that can: {alter_text(contract.table, unit_column.name)}"
            " TYPE BIGINT, or VARCHAR"
        )
    return unit_column.name


def _link_change(
    kernel: Kernel, contract: TableContract, body: Declared, action: decl.AddPrivacyLink
) -> Change:
    target = kernel.contracts().get(action.table.lower())
    if target is None:
        raise DeclarationError(f"there is no table {action.table}")
    if contract.public:
        raise DeclarationError(f"{contract.table} is public; ALTER TABLE … UNSET PUBLIC first")
    columns = {}  # by that of the parent, in lower case
    for mine, theirs in action.pairs:
        columns[theirs.lower()] = _linked_column(contract, mine, target, theirs)
    if action.further:
        key = [column.lower() for column in target.key]
        if {*key} != columns.keys():
            named = f"is ({', '.join(target.key)})" if key else "is not declared"
            raise DeclarationError(
                f"a link of several columns is to the privacy key of {target.table}, which {named}"
            )
        columns = {column: columns[column] for column in key}  # in the order of the key
    (first, parent), *further = (
        (mine, _column(target, theirs).name) for theirs, mine in columns.items()
    )
    link = [first, target.table.lower(), parent, *([mine, theirs] for mine, theirs in further)]
    named = ", ".join(columns.values())
    message = f"rows of {contract.table} belong to {target.table} by {named}"
    return {"links": [*_links_but(body, [*columns.values()]), link]}, message


def _linked_column(contract: TableContract, column: str, target: TableContract, key: str) -> str:
    """Returns the name of a column that a link equates with one of its parent's.

    Raises:
        DeclarationError: There is no such column, or values of the two are never one.
    """
    name = _unit_column(contract, column)
    mine, theirs = _column(contract, column), _column(target, key)
    if mine.type is not theirs.type or (
        mine.type is Type.TIMESTAMP and mine.sql_type != theirs.sql_type
    ):
        raise DeclarationError(
            f"{name} is a {mine.sql_type} and {target.table}.{theirs.name} a"
            f" {theirs.sql_type}: values of two types name no one row; "
            f"{alter_text(contract.table, name)} TYPE {theirs.sql_type}"
        )
    return name


def _bound_change(contract: TableContract, body: Declared, action: decl.SetBound) -> Change:
    rows, groups = body["bound"] or (1, 1)
    rows = rows if action.rows_per_unit is None else action.rows_per_unit
    groups = groups if action.groups_per_unit is None else action.groups_per_unit
    PrivacyUnit(contract.table, "", rows, groups)  # raises DeclarationError if out of range
    where = ", all of them in one stratum" if groups == 1 else f" in each of {groups:,} strata"
    message = f"a unit keeps {count_text(rows, 'row')} of {contract.table} at most{where}"
    return {"bound": [rows, groups]}, message
