"""What only an owner can do: write the vault with plain SQL, and declare what protects it.

The owner may see everything; this file is above the trust line and grants nothing to an analyst. It
checks declarations against the catalog and says, to the owner alone, how many rows fall outside a
declared domain.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from sqlpriv.dialect import tree as t
from sqlpriv.errors import (
    DataError,
    DeclarationError,
    OperationalError,
    ProgrammingError,
    VaultBusy,
)
from sqlpriv.kernel.budget import Budget, Rho, epsilon_shown
from sqlpriv.kernel.contract import (
    Categories,
    Column,
    ColumnDomain,
    Interval,
    PrivacyUnit,
    TableContract,
    Type,
    Value,
)
from sqlpriv.kernel.declare import domain_body
from sqlpriv.kernel.gate import Kernel
from sqlpriv.kernel.render import name

_TRANSACTION = re.compile(r"\s*(begin|start|commit|end|rollback|abort)\b", re.IGNORECASE)
Parameters = Sequence[Any] | Mapping[str, Any] | None


class OwnerEngine:
    """The vault, opened for writing while the owner runs plain SQL, and let go before a query.

    Args:
        vault: The DuckDB file; made if there is none.
    """

    def __init__(self, vault: Path) -> None:
        self.vault = vault
        self._duckdb: duckdb.DuckDBPyConnection | None = None
        self._in_transaction = False
        if not vault.exists():
            self._open()

    def run(self, text: str, parameters: Parameters = None) -> pa.Table | None:
        """Runs one statement of plain DuckDB SQL; returns its rows, or None if it has none.

        Raises:
            ProgrammingError: DuckDB's own message: the owner may see it.
            VaultBusy: Another process reads or writes the vault.
        """
        engine = self._open()
        try:
            rows = engine.sql(text, params=parameters or None)
            found: pa.Table | None = None if rows is None else rows.to_arrow_table()
        except duckdb.Error as error:
            raise ProgrammingError(str(error)) from error
        if match := _TRANSACTION.match(text):
            self._in_transaction = match[1].lower() in ("begin", "start")
        return found

    def release(self) -> bool:
        """Closes the vault so that it can be read; returns whether it was open.

        Raises:
            OperationalError: A transaction is open.
        """
        if self._duckdb is None:
            return False
        if self._in_transaction:
            raise OperationalError("a transaction is open on the vault; COMMIT or ROLLBACK first")
        self._duckdb.close()
        self._duckdb = None
        return True

    def rollback(self) -> None:
        """Undoes an open transaction, if there is one."""
        if self._in_transaction:
            self.run("ROLLBACK")

    def commit(self) -> None:
        """Makes an open transaction last, if there is one."""
        if self._in_transaction:
            self.run("COMMIT")

    def _open(self) -> duckdb.DuckDBPyConnection:
        if self._duckdb is None:
            try:
                self._duckdb = duckdb.connect(str(self.vault))
            except duckdb.Error as error:
                if "lock" in str(error).lower() or "configuration" in str(error).lower():
                    raise VaultBusy(
                        f"the vault {self.vault.name} is in use; close the other sessions first"
                    ) from error
                raise OperationalError(str(error)) from error
        return self._duckdb


def declare(kernel: Kernel, action: t.Action, contract: TableContract, principal: str) -> str:
    """Checks one declaration against the catalog and appends it to the ledger.

    Returns:
        What was declared, in words for the owner.

    Raises:
        DeclarationError: It does not fit the table, or what was declared before.
    """
    table, ledger = contract.table, kernel.ledger
    body: dict[str, Any]
    match action:
        case t.AddPrivacyKey(column):
            kind, body = "key", {"column": _column(contract, column).name}
            said = f"the privacy key of {table} is {column}; ALTER TABLE {table} SET PU protects it"
        case t.DropPrivacyKey():
            kind, body, said = "key", {"column": None}, f"{table} has no privacy key"
        case t.SetUnit(on):
            kind, body, said = "unit", {"on": on}, _unit_said(contract, on)
        case t.SetPublic(on):
            if on and (contract.unit or contract.links or contract.key):
                raise DeclarationError(f"{table} holds private rows; it cannot be public")
            kind, body = "public", {"on": on}
            said = f"{table} is {'public: anyone may read its rows' if on else 'not public'}"
        case t.AddPrivacyLink(column, parent, key):
            kind, body, said = "link", *_linked(kernel, contract, column, parent, key)
        case t.DropPrivacyLink(column):
            kind, body = "unlink", {"column": _column(contract, column).name}
            said = f"{table}.{column} links to no unit"
        case t.SetBound():
            kind, body, said = "bound", *_bounded(contract, action)
        case t.SetBudget(options):
            budget = budget_of(contract.table, options)
            if contract.key is None:
                raise DeclarationError(
                    f"a budget is for a unit's table: give {table} a PRIVACY_KEY"
                )
            ledger.set_budget(budget, principal)
            epsilon = epsilon_shown(budget.total, budget.delta)
            kind = f"rho = {budget.total.value:g}, " if budget.delta else "pure "
            return (
                f"the budget of {table} is {kind}epsilon = {epsilon:.6g}, delta = {budget.delta:g}"
            )
        case t.DropDomain(column):
            found = _column(contract, column)
            kind, body, said = "domain", domain_body(found.name, None), f"{column} has no domain"
        case _:
            found = _column(contract, action.column)
            domain = _domain(kernel, found, action)
            kind, body = "domain", domain_body(found.name, domain)
            said = f"the domain of {table}.{found.name} is declared"
    ledger.append(table, kind, body, principal)
    return said


def outside(engine: OwnerEngine, contract: TableContract, column: Column) -> str:
    """Returns, in words for the owner, what a declared domain leaves out of the table's rows."""
    c, domain = name(column.name), column.domain
    match domain:
        case Categories(labels):
            known = [v for v in labels if v is not None]
            marks = ", ".join("?" for _ in known) or "NULL"
            test, values, nullable = f"{c} NOT IN ({marks})", known, None in labels
            said = "are not listed: they fall in no group of this column"
        case Interval(lower, upper, nullable):
            test, values = f"{c} < ? OR {c} > ?", [lower, upper]
            said = "are beyond its ends: they are clamped"
        case _:
            return ""
    counts = f"count(*) FILTER ({test}), count(*) FILTER ({c} IS NULL)"
    found = engine.run(f"SELECT {counts} FROM {name(contract.table)}", values)
    beyond, null = (column[0].as_py() for column in found.columns) if found is not None else (0, 0)
    words = f"; {beyond} row(s) {said}" if beyond else ""
    if null and not nullable:
        how = "list NULL, too" if isinstance(domain, Categories) else "add OR NULL"
        words += (
            f"; {null} row(s) are NULL: they fall in no group of this column ({how}, to count them)"
        )
    return words


def budget_of(table: str, options: t.Options) -> Budget:
    """Returns the budget that `SET PRIVACY BUDGET (…)` says.

    Raises:
        DeclarationError: Unknown or missing options.
    """
    given = dict(options)
    if unknown := sorted(set(given) - {"epsilon", "delta", "rho"}):
        raise DeclarationError(f"a budget has epsilon, delta or rho, not {', '.join(unknown)}")
    numbers = {k: float(v) for k, v in given.items() if type(v) in (int, float)}  # type: ignore[arg-type]
    if len(numbers) != len(given):
        raise DeclarationError("epsilon, delta and rho are numbers")
    if "rho" in numbers and "epsilon" not in numbers:
        try:
            return Budget(table, Rho.at_most(numbers["rho"]), numbers.get("delta", 1e-9))
        except DataError as error:
            raise DeclarationError(str(error)) from None
    if "epsilon" in numbers and "rho" not in numbers:
        return Budget.of(table, numbers["epsilon"], numbers.get("delta", 0.0))
    raise DeclarationError("a budget is (epsilon = e, delta = d), (epsilon = e) or (rho = r)")


def _column(contract: TableContract, column: str) -> Column:
    found = contract.column(column)
    if found is None:
        known = ", ".join(c.name for c in contract.columns)
        raise DeclarationError(f"{contract.table} has no column {column}; it has {known}")
    return found


def _unit_said(contract: TableContract, on: bool) -> str:
    if not on:
        return f"{contract.table} is no privacy unit any more: analysts are refused"
    if contract.key is None:
        raise DeclarationError(
            f"name the unit first: ALTER TABLE {contract.table} ADD PRIVACY_KEY (column)"
        )
    if contract.public:
        raise DeclarationError(f"{contract.table} is public; ALTER TABLE … UNSET PUBLIC first")
    return f"each {contract.key} of {contract.table} is protected"


def _linked(
    kernel: Kernel, contract: TableContract, column: str, parent: str, key: str
) -> tuple[dict[str, Any], str]:
    found = _column(contract, column)
    target = kernel.contracts().get(parent.lower())
    if target is None:
        raise DeclarationError(f"there is no table {parent}")
    if contract.public:
        raise DeclarationError(f"{contract.table} is public; ALTER TABLE … UNSET PUBLIC first")
    body = {"column": found.name, "table": target.table, "parent": _column(target, key).name}
    return body, f"rows of {contract.table} belong to {target.table} by {found.name}"


def _bounded(contract: TableContract, action: t.SetBound) -> tuple[dict[str, Any], str]:
    before = contract.unit or PrivacyUnit(contract.table, "")
    rows = action.rows_per_unit if action.rows_per_unit is not None else before.rows_per_unit
    groups = (
        action.groups_per_unit if action.groups_per_unit is not None else before.groups_per_unit
    )
    PrivacyUnit(contract.table, "", rows, groups)  # raises DeclarationError if out of range
    said = f"a unit keeps {rows} row(s) of {contract.table} in each of {groups} stratum/strata"
    return {"rows_per_unit": rows, "groups_per_unit": groups}, said


def _domain(
    kernel: Kernel,
    column: Column,
    action: t.SetDomainIn | t.SetDomainBetween | t.SetDomainReferences,
) -> ColumnDomain:
    if column.type is None:
        raise DeclarationError(f"{column.name} is a {column.sql_type}: it can have no domain")
    match action:
        case t.SetDomainIn(values=values):
            return Categories(tuple(_coerced(v, column) for v in values))
        case t.SetDomainReferences(table=table, source=source):
            found = kernel.public(table)
            named = next((n for n in found.column_names if n.lower() == source.lower()), None)
            if named is None:
                raise DeclarationError(f"{table} has no column {source}")
            labels = dict.fromkeys(found.column(named).to_pylist())
            return Categories(tuple(_coerced(v, column) for v in labels))
    if column.type in (Type.TEXT, Type.BOOLEAN):
        raise DeclarationError(f"{column.name} is {column.type}: list its values with IN (…)")
    lower, upper = _coerced(action.lower, column), _coerced(action.upper, column)
    if lower is None or upper is None or isinstance(lower, str) or isinstance(upper, str):
        raise DeclarationError("a domain BETWEEN needs two ends; add OR NULL to count NULL as one")
    return Interval(lower, upper, action.nullable)


def _coerced(value: Value, column: Column) -> Value:
    """Returns a declared value in the column's type: 1 for 1.0, a date for '2020-01-01'."""
    if value is None:
        return None
    try:
        match column.type:
            case Type.INTEGER if type(value) in (int, float) and value == int(value):  # type: ignore[arg-type]
                return int(value)  # type: ignore[arg-type]
            case Type.REAL if type(value) in (int, float):
                return float(value)  # type: ignore[arg-type]
            case Type.TEXT if isinstance(value, str):
                return value
            case Type.BOOLEAN if isinstance(value, bool):
                return value
            case Type.DATE if isinstance(value, str | dt.date) and not isinstance(
                value, dt.datetime
            ):
                return dt.date.fromisoformat(value) if isinstance(value, str) else value
            case Type.TIMESTAMP if isinstance(value, str):
                return dt.datetime.fromisoformat(value)
            case Type.TIMESTAMP if isinstance(value, dt.datetime):
                return value
            case Type.TIMESTAMP if isinstance(value, dt.date):
                return dt.datetime(value.year, value.month, value.day)
    except (ValueError, OverflowError):
        pass
    raise DeclarationError(f"{value!r} is no {column.sql_type}, the type of {column.name}")
