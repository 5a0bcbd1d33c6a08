"""`SET PRIVACY WINDOW`: the day before which an owner says that rows are closed.

What follows for questions, and why it tells nothing of the rows, stands in `access.closed_rows`.
The owner alone is told whether closed rows changed: a declaration holds how many there were and a
sum over their texts, which is looked at when the day moves on and by `SHOW PRIVACY WINDOWS`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa

from sqlpriv.errors import DeclarationError, ProgrammingError
from sqlpriv.kernel.sql.quoting import name
from sqlpriv.kernel.terms.contract import UNDECLARED, Column, Declared, TableContract, Type
from sqlpriv.kernel.terms.operations import STORED_MOMENTS
from sqlpriv.session.access.closed_rows import Window, declared_window
from sqlpriv.session.access.context import Access
from sqlpriv.statements import alter_text, literal
from sqlpriv.statements import declarations as decl
from sqlpriv.system import arrow
from sqlpriv.system.count_text import count_text

Change = tuple[dict[str, Any], str]
"""Fields of a declaration with their new values, and what that is in words for the owner."""
_NOT_KNOWN = "not known"


def with_window(action: decl.SetWindow, contract: TableContract, body: Declared) -> Change:
    """Returns a declaration with another window.

    Raises:
        DeclarationError: The table has no such time column, or the day moves back.
    """
    table, before = contract.table, declared_window(body)
    window = _window_of(action, contract, body)
    if contract.public:
        raise DeclarationError(f"{table} is public: questions about its rows are free")
    same_column = before is not None and before.column.lower() == window.column.lower()
    if before is not None and same_column and window.closed_before < before.closed_before:
        raise DeclarationError(
            f"closed rows stay closed: the day moves on from {before.closed_before} alone; to"
            f" write such rows again, {alter_text(table)} DROP PRIVACY WINDOW, from which on"
            " all questions are new after every write"
        )
    day, rows = window.closed_before, ""
    if action.rows is not None:
        rows = f" ({count_text(action.rows[0], 'row')} now)"
    message = (
        f"rows of {table} with {window.column} before {day}{rows} are closed: what is answered of"
        " them alone from now on stays, for nothing, whatever is written"
    )
    if day > dt.datetime.now(dt.UTC).date():
        message += "; the day is still to come: rows written until then are missing from answers"
    return {"window": [window.column, day.isoformat(), action.rows]}, message


def without_window(contract: TableContract, body: Declared) -> Change:
    """Returns a declaration without a window."""
    if not body["window"]:
        raise DeclarationError(f"{contract.table} has no PRIVACY WINDOW")
    words = f"{contract.table} has no closed rows: all questions are new after every write"
    return {"window": None}, words


def with_rows_seen(
    action: decl.SetWindow, contract: TableContract, access: Access
) -> tuple[decl.SetWindow, str]:
    """Returns a declaration with what the owner's session sees of the rows that it closes, and what
    became of those that were closed before, in words for the owner.

    Raises:
        DeclarationError: The table has no such time column.
    """
    body = access.kernel.ledger.declarations()[1].get(contract.table.lower(), UNDECLARED)
    window = _window_of(action, contract, body)
    change = _changed_rows(contract, body, access)
    words = f"; of the rows that were closed already: {change}" if change else ""
    return replace(action, rows=_rows_before(window, contract, access)), words


def window_table(access: Access, contracts: Mapping[str, TableContract]) -> pa.Table:
    """SHOW PRIVACY WINDOWS: which rows are closed; for owners also whether they are as they were.

    Args:
        access: Of who asks.
        contracts: What is declared of every table that they may use, by lower-case name.
    """
    bodies = access.kernel.ledger.declarations()[1]
    windows = {t: w for t in contracts if (w := declared_window(bodies.get(t, UNDECLARED)))}
    rows = [
        {
            "table": contracts[table].table,
            "column": window.column,
            "closed_before": window.closed_before,
            "closed_rows": access.owner and _changed_rows(contracts[table], bodies[table], access),
        }
        for table, window in windows.items()
    ]
    access.tables.settle()
    texts = [("table", pa.string()), ("column", pa.string()), ("closed_before", pa.date32())]
    for_owners = [("closed_rows", pa.string())] if access.owner else []
    fields = [*texts, *for_owners]
    return arrow.table([{n: row[n] for n, _ in fields} for row in rows], pa.schema(fields))


def _window_of(action: decl.SetWindow, contract: TableContract, body: Declared) -> Window:
    """Returns the window that is declared; the column of the one in force where none is named."""
    before = declared_window(body)
    named = action.column or (before.column if before else "")
    if not named:
        day = literal(action.closed_before)
        raise DeclarationError(
            f"name the time column: SET PRIVACY WINDOW (day, closed_before = {day})"
        )
    column = contract.column(named)
    if column is None or column.type not in (Type.DATE, Type.TIMESTAMP):
        times = [c.name for c in contract.columns if c.type in (Type.DATE, Type.TIMESTAMP)]
        has = f"has {', '.join(times)}" if times else "has none"
        raise DeclarationError(
            f"a window is over a DATE or TIMESTAMP column; {named} is none, {contract.table} {has}"
        )
    return Window(column.name, action.closed_before)


def _changed_rows(contract: TableContract, body: Declared, access: Access) -> str:
    """Returns, in words for the owner, what became of the rows that were declared closed."""
    window = declared_window(body)
    if window is None:
        return ""
    then, now = body["window"][2], _rows_before(window, contract, access)
    if then is None or now is None:
        return _NOT_KNOWN
    if then == list(now):
        return "unchanged"
    return f"CHANGED: {count_text(then[0], 'row')} before {window.closed_before} then, {now[0]} now"


def _rows_before(window: Window, contract: TableContract, access: Access) -> tuple[int, str] | None:
    """Returns how many rows are closed, and a sum over their texts that no order of rows moves;
    None where the owner's engine cannot read them."""
    column = contract.column(window.column)
    if column is None or access.owner is None:
        return None
    day = f"TIMESTAMP '{window.closed_before} 00:00:00'"
    if _is_zoned(column):
        day = f"TIMESTAMPTZ '{window.closed_before} 00:00:00+00'"
    values = (  # the text of a moment of a zone depends on where its reader is
        f"epoch_us({name(c.name)})" if _is_zoned(c) else name(c.name) for c in contract.columns
    )
    fingerprint = f"md5_number_lower(CAST(row({', '.join(values)}) AS VARCHAR))::HUGEINT"
    select = (
        f"SELECT count(*), CAST(coalesce(sum({fingerprint}), 0) AS VARCHAR)"
        f" FROM {name(contract.table)} WHERE {name(column.name)} < {day}"
    )
    with suppress(ProgrammingError):
        ((rows, total),) = access.owner.read_rows(select)
        return int(rows), str(total)
    return None


def _is_zoned(column: Column) -> bool:
    return STORED_MOMENTS.get(column.sql_type.upper()) == "zoned"
