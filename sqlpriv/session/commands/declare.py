"""What an owner declares of a table, checked against the catalog and written into the ledger.

A declaration is one JSON body for the whole table (`contract.UNDECLARED` lists its fields): each
statement changes some fields of the body in force. Only what the kernel enforces protects anybody:
a mistake here makes a table refused or its answers poor.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

from sqlpriv.errors import DeclarationError
from sqlpriv.kernel.terms.contract import (
    MAX_INTEGER,
    UNDECLARED,
    Categories,
    Column,
    ColumnDomain,
    Declared,
    Interval,
    PrivacyUnit,
    TableContract,
    Type,
    Value,
    link_of,
)
from sqlpriv.kernel.vault import Kernel
from sqlpriv.session.declarations.budgets import (
    amount_text,
    budget_of,
    claim_over_time,
    set_budget,
)
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
            domain = domain_body(_domain(kernel, of, action), required)
            message = f"the domain of {table}.{of.name} is declared{_end_at_midnight(of, action)}"
            return {"domains": {**body["domains"], of.name.lower(): domain}}, message
    raise DeclarationError("this is no declaration of a table")


def check_domain(kernel: Kernel, column: Column, action: decl.Action) -> None:
    """Raises DeclarationError of a domain that does not fit its column."""
    assert isinstance(action, decl.SetDomainIn | decl.SetDomainBetween | decl.SetDomainReferences)
    _domain(kernel, column, action)


def domain_body(domain: ColumnDomain, required: bool = False) -> dict[str, Any]:
    """Returns a domain as a declaration's body holds it; `contracts_in_force` reads it back."""
    match domain:
        case Categories(labels):
            return {"labels": [_json_value(v) for v in labels], "required": required}
        case Interval(lower, upper, nullable):
            ends = {"lower": _json_value(lower), "upper": _json_value(upper), "nullable": nullable}
            return {**ends, "required": required}


def _json_value(value: Value) -> Any:
    """Returns a value as JSON, type and all."""
    if isinstance(value, dt.datetime):
        return {"timestamp": value.isoformat()}
    if isinstance(value, dt.time):
        return {"time": value.isoformat()}
    return {"date": value.isoformat()} if isinstance(value, dt.date) else value


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


def _domain(
    kernel: Kernel,
    column: Column,
    action: decl.SetDomainIn | decl.SetDomainBetween | decl.SetDomainReferences,
) -> ColumnDomain:
    if column.type is None:
        raise DeclarationError(f"{column.name} is a {column.sql_type}: it can have no domain")
    match action:
        case decl.SetDomainIn(values=values):
            return _categories(_coerce(v, column) for v in values)
        case decl.SetDomainReferences(table=table, source=source):
            public = kernel.public(table)
            named = next((n for n in public.column_names if n.lower() == source.lower()), None)
            if named is None:
                raise DeclarationError(f"{table} has no column {source}")
            labels = dict.fromkeys(public.column(named).to_pylist())
            return _categories(_coerce(v, column) for v in labels)
    if column.type in (Type.TEXT, Type.BOOLEAN):
        raise DeclarationError(f"{column.name} is {column.type}: list its values with IN (…)")
    lower, upper = _coerce(action.lower, column), _coerce(action.upper, column)
    if lower is None or upper is None or isinstance(lower, str) or isinstance(upper, str):
        raise DeclarationError("a domain BETWEEN needs two ends; add OR NULL to count NULL as one")
    for end in (lower, upper):
        if isinstance(end, float) and not math.isfinite(end):
            raise DeclarationError("the ends of a privacy domain are finite")
        if isinstance(end, int) and abs(end) >= MAX_INTEGER:
            raise DeclarationError("the ends of an integer privacy domain lie within ±2^62")
    if lower > upper:  # type: ignore[operator]  # both are of the column's type
        raise DeclarationError("a privacy domain BETWEEN (low, high) needs low <= high")
    return Interval(lower, upper, action.nullable)


def _end_at_midnight(column: Column, action: decl.Action) -> str:
    """Returns what is said of an interval of moments that ends in a bare day; else ''."""
    upper = action.upper if isinstance(action, decl.SetDomainBetween) else None
    is_day = isinstance(upper, dt.date) and not isinstance(upper, dt.datetime)
    if isinstance(upper, str):
        is_day = len(upper.strip()) == len("2024-12-31")
    if column.type is not Type.TIMESTAMP or not is_day:
        return ""
    return (
        f": it ends at {upper} 00:00:00, which later moments are read as; for all of that day"
        f" write '{upper} 23:59:59.999999'"
    )


def _categories(values: Iterable[Value]) -> Categories:
    labels = tuple(values)
    if not labels or len(set(labels)) != len(labels):
        raise DeclarationError("a privacy domain lists at least one value, and each once")
    return Categories(labels)


def _is_number(value: object) -> TypeGuard[int | float]:
    """Tells numbers from all else, TRUE and FALSE included."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _coerce(value: Value, column: Column) -> Value:
    """Returns a declared value in the column's type: 1 for 1.0, a date for '2020-01-01'."""
    if value is None:
        return None
    try:
        match column.type:
            case Type.INTEGER if _is_number(value) and value == int(value):
                return int(value)
            case Type.REAL if _is_number(value):
                return float(value)
            case Type.TEXT if isinstance(value, str):
                return value
            case Type.BOOLEAN if isinstance(value, bool):
                return value
            case Type.DATE if isinstance(value, str | dt.date) and not isinstance(
                value, dt.datetime
            ):
                return dt.date.fromisoformat(value) if isinstance(value, str) else value
            case Type.TIMESTAMP if isinstance(value, str):
                moment = dt.datetime.fromisoformat(value)  # with a zone or without, as in DuckDB
                return moment.astimezone(dt.UTC).replace(tzinfo=None) if moment.tzinfo else moment
            case Type.TIMESTAMP if isinstance(value, dt.datetime):
                return value
            case Type.TIMESTAMP if isinstance(value, dt.date):
                return dt.datetime(value.year, value.month, value.day)
            case Type.TIME if isinstance(value, str | dt.time):
                clock = dt.time.fromisoformat(value) if isinstance(value, str) else value
                if clock.tzinfo is None:
                    return clock
    except (ValueError, OverflowError):
        pass
    raise DeclarationError(f"{value!r} is no {column.sql_type}, the type of {column.name}")
