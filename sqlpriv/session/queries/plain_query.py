"""Statements that only DuckDB runs: for an owner on the vault, else on what is released."""

from __future__ import annotations

import re

import pyarrow as pa

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.contract import UNDECLARED, key_columns
from sqlpriv.session.access.closed_rows import declared_window
from sqlpriv.session.access.context import Access
from sqlpriv.session.access.result import Result
from sqlpriv.session.commands import information_schema
from sqlpriv.session.commands.file_tables import drop_file_table
from sqlpriv.statements import alter_text
from sqlpriv.statements import commands as cmd
from sqlpriv.statements import tree as t
from sqlpriv.system.count_text import count_text

_NAME = r"""(?:main\s*\.\s*)?("(?:[^"]|"")+"|\w+)"""
_MADE = re.compile(
    rf"\s*create\s+(?:or\s+replace\s+)?table\s+(?:if\s+not\s+exists\s+)?{_NAME}",
    re.IGNORECASE,
)
"""A statement that makes a table, and the table's name."""
_WRITTEN = re.compile(
    r"\s*(?:insert\s+(?:or\s+\w+\s+)?into|update|delete\s+from|merge\s+into|copy|truncate"
    rf"(?:\s+table)?|create\s+or\s+replace\s+table)\s+{_NAME}",
    re.IGNORECASE,
)
"""A statement that writes a table, and the table's name."""
_RESHAPED = re.compile(
    rf"\s*(?:create\s+or\s+replace\s+table|alter\s+table(?:\s+if\s+exists)?)\s+{_NAME}",
    re.IGNORECASE,
)
"""A statement after which a table may have other columns, and the table's name."""
_COLUMNS = "SELECT lower(column_name) AS c FROM duckdb_columns() WHERE lower(table_name) = ?"
_WRITES_NO_ROW = re.compile(r"\s*(?:alter|drop|comment|create\s+(?!or\s+replace))\b", re.IGNORECASE)
"""A statement that reads rows which were there, or after which they are gone."""


def answer_plainly(query: cmd.Unanswerable, access: Access) -> Result:
    """Runs a statement as DuckDB's own, on what the person may see exactly.

    Raises:
        Refused: It reads what is not public, or an analyst would change something.
        ProgrammingError: DuckDB's own message.
    """
    plain = query.statement
    if not isinstance(plain, cmd.Plain):
        raise query.refusal
    is_analyst = access.owner is None
    if information_schema.lists_tables(plain):
        return Result(information_schema.table_names(access, plain))
    if information_schema.asks_only_this(plain, of_views=is_analyst):
        return Result(information_schema.query(access, plain))
    if access.owner is not None:
        if plain.reads_only:
            return access.sql.run_exactly(plain.text, plain.parameters, plain.tables)
        if (message := drop_file_table(plain.text, access.owner)) is not None:
            return Result(message=message)
        changed = _changed_rows(access.owner.run(plain.text, plain.parameters))
        if access.owner.has_renamed:  # before anything else can happen to this process
            access.tables.settle()
        message = "done" if changed < 0 else f"done: {count_text(changed, 'row')}"
        notes = (
            _public_name_note(plain.text, access),
            _closed_rows_note(plain, access),
            _lost_key_note(plain.text, access),
        )
        return Result(message="".join((message, *notes)), changed=changed)
    if not plain.reads_only:
        raise query.refusal
    contracts, released = access.tables.contracts(), access.sql.released_names()
    for table in plain.tables:
        contract = contracts.get(table.lower())
        if table.endswith("()") or table.startswith("'"):
            message = (
                f"{table} is no table of the vault: files and table functions are out of reach"
            )
            raise Refused.at(t.Pos(), message, access.sql.tables_hint())
        if contract is None and table.lower() not in released:
            message = f'there is no released or public table "{table}"'
            raise Refused.at(t.Pos(), message, access.sql.tables_hint(table))
        if contract is not None and not contract.public:
            raise query.refusal
    return access.sql.run_released(plain.text, plain.tables, contracts, plain.parameters)


def _public_name_note(text: str, access: Access) -> str:
    """Returns what an owner is told who made a table anew whose name was declared public; else ''.

    A table that takes another's place has what was declared of its name.
    """
    if (creation := _MADE.match(text)) is None:
        return ""
    table = _bare_name(creation[1])
    declared = access.kernel.ledger.declarations()[1].get(table.lower(), UNDECLARED)
    return (
        f"; {table} is public: anyone may read its rows; if these are private, run"
        f" {alter_text(table)} UNSET PUBLIC at once"
        if declared["public"]
        else ""
    )


def _bare_name(written: str) -> str:
    return written[1:-1].replace('""', '"') if written.startswith('"') else written


def _closed_rows_note(plain: cmd.Plain, access: Access) -> str:
    """Returns what an owner is told who wrote to a table with closed rows; else ''.

    Whether one of these changed is not looked at: that reads all of them.
    """
    if _WRITES_NO_ROW.match(plain.text):
        return ""
    written = _WRITTEN.match(plain.text)
    tables = [_bare_name(written[1])] if written else plain.tables
    bodies = access.kernel.ledger.declarations()[1]
    windows = {t: declared_window(bodies.get(t.lower(), UNDECLARED)) for t in tables}
    notes = (
        f"; rows of {table} before {window.closed_before} are closed: answers about them stay as"
        " they are, and SHOW PRIVACY WINDOWS says whether these rows do"
        for table, window in windows.items()
        if window is not None
    )
    return "".join(notes)


def _lost_key_note(text: str, access: Access) -> str:
    """Returns what an owner is told who took away the column that names units; else ""."""
    if (changed := _RESHAPED.match(text)) is None:
        return ""
    table = _bare_name(changed[1])
    body = access.kernel.ledger.declarations()[1].get(table.lower(), UNDECLARED)
    if not body["unit"]:
        return ""
    assert access.owner is not None
    columns = access.owner.read_rows(_COLUMNS, [table.lower()])  # also in an open transaction
    lost = [key for key in key_columns(body) if (key.lower(),) not in columns]
    if not lost or not columns:
        return ""
    return (
        f"; {table} has no column {', '.join(lost)} any more, which named its units: analysts are"
        f" refused it until {alter_text(table)} ADD PRIVACY_KEY names another"
    )


def _changed_rows(counts: pa.Table | None) -> int:
    """Returns how many rows a statement changed, as DuckDB says; -1 if it does not."""
    if counts is None or counts.column_names != ["Count"] or not counts.num_rows:
        return -1
    return int(counts.column(0)[0].as_py())
