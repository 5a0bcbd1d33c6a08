"""What a statement of a client of PostgreSQL's protocol gives: rows, a tag, notices.

Five kinds of statements are answered here, and free: SET and SHOW of the client's own settings,
transactions (there are none), cursors over what was answered, looks at the catalog, and previews of
private tables, which have no rows, or those of a synthetic table where the owner says so. All else
goes to the session, which prices, charges and answers it as it does for everybody.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from sqlpriv.errors import DataError, ProgrammingError
from sqlpriv.interfaces.server.postgresql.catalog.pg_catalog import CatalogDatabase
from sqlpriv.interfaces.server.postgresql.reading.parameter_types import parameter_types
from sqlpriv.interfaces.server.postgresql.reading.sql_scan import StatementScan, without_schema
from sqlpriv.interfaces.server.postgresql.statements.client_settings import (
    ERROR_COLUMNS,
    ClientSettings,
    assignment,
    default_dialect,
)
from sqlpriv.interfaces.server.postgresql.statements.cursors import (
    CursorSet,
    OpenCursor,
    parse_declaration,
    parse_move,
)
from sqlpriv.interfaces.server.postgresql.statements.error_columns import (
    summarise_errors,
    with_error_columns,
    with_error_fields,
)
from sqlpriv.interfaces.server.spending_rules import SpendingRules, run_within_rules
from sqlpriv.session.commands.settings import DIALECT
from sqlpriv.session.session import Result, Session
from sqlpriv.session.session_like import reading_duckdb
from sqlpriv.statements import quote_name

LONGEST = 1_000_000
"""Characters of a statement."""
_CATALOG_SECONDS = 10.0
"""How long a catalog is kept: another connection may have declared something meanwhile."""
_TRANSACTION = {
    "BEGIN": "BEGIN", "START": "START TRANSACTION", "COMMIT": "COMMIT", "END": "COMMIT",
    "ROLLBACK": "ROLLBACK", "ABORT": "ROLLBACK", "SAVEPOINT": "SAVEPOINT", "RELEASE": "RELEASE",
}  # fmt: skip
_NOTHING = {"DISCARD": "DISCARD ALL", "DEALLOCATE": "DEALLOCATE", "UNLISTEN": "UNLISTEN",
            "LISTEN": "LISTEN"}  # fmt: skip
_ENDS = ("COMMIT", "END", "ROLLBACK", "ABORT")
_PREVIEW_ROWS = 1_000
"""Rows of a synthetic table that previews of a private one may show."""
_NO_TRANSACTION = (
    "there are no transactions here: every statement stands by itself, and a charge is never undone"
)


@dataclass(frozen=True)
class StatementAnswer:
    """What a statement gave.

    Args:
        table: Its rows; None for a statement without rows.
        tag: What CommandComplete says; a count of rows is put behind SELECT.
        notices: What the client is told beside the rows.
        changed: A setting whose new value the client has to be told.
    """

    table: pa.Table | None = None
    tag: str = "SELECT"
    notices: Sequence[str] = ()
    changed: tuple[str, str] | None = None


@dataclass
class Answerer:
    """Answers the statements of one connection; every method but `settings` runs in its thread.

    Args:
        session: The session that answers them.
        audit: Is told of each statement that the session runs: text, values, outcome.
        rules: How its user may spend.
        previews: Private table in lower case → the synthetic table that previews of it show.
    """

    session: Session
    audit: Callable[[str, int, Result | BaseException], None]
    rules: SpendingRules = field(default_factory=SpendingRules)
    previews: Mapping[str, str] = field(default_factory=dict)
    cursors: CursorSet = field(default_factory=CursorSet)
    settings: ClientSettings = field(default_factory=ClientSettings)
    _catalog: CatalogDatabase | None = None
    _catalog_time: float = 0.0
    _has_told_of_transactions: bool = False

    def close(self) -> None:
        """Closes the catalog."""
        if self._catalog is not None:
            self._catalog.close()
            self._catalog = None

    def answer(
        self, sql: str, values: Sequence[Any], report: Callable[[Any], None]
    ) -> StatementAnswer:
        """Runs one statement.

        Args:
            sql: The statement.
            values: Of its parameters, in order.
            report: Is told of long work.

        Raises:
            sqlpriv.Error: As the statement deserves.
        """
        scan = _scan(sql)
        if (answer := self._own_answer(scan)) is not None:
            return answer
        if (answer := self._cursor_answer(scan, values, report)) is not None:
            return answer
        text = self._session_text(sql)
        if self._is_of_catalog(scan):
            return StatementAnswer(self._query_catalog(text, values))
        if self._is_preview(StatementScan(text)):
            with suppress(ProgrammingError):  # the session says better what is wrong with it
                notice = self._prepare_preview(StatementScan(text))
                rows = self._query_catalog(text, values, of_tables=True)
                return StatementAnswer(rows, notices=(notice,))
        result = self._run(text, values, report)
        if not scan.starts("SELECT"):
            self._catalog_time = 0.0
        return self._answer_of(result, scan)

    def describe(self, sql: str, values: Sequence[Any]) -> pa.Schema | None:
        """Returns the columns of a statement; None where it has no rows. Nothing is charged.

        Raises:
            sqlpriv.Error: As running it would, before anything is read or charged.
        """
        scan = _scan(sql)
        text = self._session_text(sql)
        if scan.starts("SHOW") and not scan.starts("SHOW", "PRIVACY"):
            return self._show(scan).schema
        if move := parse_move(scan):
            return self.cursors.find(move.name).table.schema if move.takes_rows else None
        if self._is_own(scan):
            return None
        if self._is_of_catalog(scan):
            return self._query_catalog(text, values).schema
        if self._is_preview(StatementScan(text)):
            with suppress(ProgrammingError):  # as in `answer`
                return self._query_catalog(text, values, of_tables=True).schema
        columns = self.session.describe(text, values or None)
        if not len(columns):
            return None
        return with_error_fields(columns) if self._has_errors(scan) else columns

    def parameter_types(self, sql: str, count: int) -> list[int]:
        """Returns a type for each parameter: of the column that it is compared to, or text.

        Args:
            sql: The statement.
            count: How many parameters the client has named types for, or more in the text.
        """
        scan = _scan(sql)
        if not count and not any(token.kind == "parameter" for token in scan.tokens):
            return []
        columns = self._open_catalog().columns
        by_name = {row["column_name"].lower(): row["data_type"] for row in columns}
        return parameter_types(scan, count, by_name)

    # --- the kinds of statements ---

    def _own_answer(self, scan: StatementScan) -> StatementAnswer | None:
        """Returns the answer to a statement that is about the connection alone; None for others."""
        first = scan.words[0] if scan.words else ""
        if first in _TRANSACTION:
            if first in _ENDS and "TO" not in scan.words:
                self.cursors.end_transaction()
            notices = () if self._has_told_of_transactions else (_NO_TRANSACTION,)
            self._has_told_of_transactions = True
            return StatementAnswer(tag=_TRANSACTION[first], notices=notices)
        if first in _NOTHING:
            return StatementAnswer(tag=_NOTHING[first])
        if first == "SHOW" and not scan.starts("SHOW", "PRIVACY") \
                and not scan.starts("SHOW", "SYNTHESIZERS"):  # fmt: skip
            return StatementAnswer(self._show(scan), tag="SHOW")
        if first in ("SET", "RESET"):
            return self._set(scan)
        return None

    def _is_own(self, scan: StatementScan) -> bool:
        first = scan.words[0] if scan.words else ""
        own = ("SET", "RESET", "DECLARE", "CLOSE")
        return first in _TRANSACTION or first in _NOTHING or first in own

    def _is_of_catalog(self, scan: StatementScan) -> bool:
        """Tells whether a query is of the catalog: of its tables, or of none at all."""
        if not scan.words or scan.words[0] not in ("SELECT", "WITH", "VALUES", "("):
            return False
        if "DIFFERENTIAL_PRIVACY" in scan.words:
            return False
        there = {name for name in scan.sources if _is_catalog_name(name)}
        return bool(there) or not scan.sources

    def _is_preview(self, scan: StatementScan) -> bool:
        """Tells whether an analyst asks for the rows of a private table as they are."""
        if self.session.role == "owner" or not scan.is_listing:
            return False
        return scan.sources[0][-1].lower() in self._open_catalog().private

    def _prepare_preview(self, scan: StatementScan) -> str:
        """Fills what is previewed with synthetic rows where the owner says so; returns the notice.

        The catalog's table is empty otherwise: no row of the vault is ever in it.
        """
        table = scan.sources[0][-1]
        synthetic = self.previews.get(table.lower(), "")
        released = {name.lower() for name in self.session.catalog().released}
        if synthetic.lower() not in released:
            return (
                f"the rows of {table} are private: none is shown, nothing was charged; ask for"
                " figures, as in SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1) COUNT(*)"
                f" FROM {table}"
            )
        catalog = self._open_catalog()
        if not catalog.has_preview(table):
            sql = f"SELECT * FROM {quote_name(synthetic)} LIMIT {_PREVIEW_ROWS}"
            with reading_duckdb(self.session):
                rows = self.session.execute(sql).table
            assert rows is not None
            catalog.fill_preview(table, rows)
        return (
            f"the rows of {table} are private: these are of the synthetic table {synthetic}"
            f" ({_PREVIEW_ROWS} at most); nothing was charged"
        )

    def _cursor_answer(
        self, scan: StatementScan, values: Sequence[Any], report: Callable[[Any], None]
    ) -> StatementAnswer | None:
        """Returns the answer to a statement about a cursor; None for another one."""
        if declaration := parse_declaration(scan):
            self.cursors.check_new(declaration.name)
            answer = self.answer(declaration.query, values, report)
            if answer.table is None:
                raise DataError("a cursor takes a query that has rows")
            cursor = OpenCursor(answer.table, declaration.is_held)
            self.cursors.cursors[declaration.name] = cursor
            return StatementAnswer(tag="DECLARE CURSOR", notices=answer.notices)
        if move := parse_move(scan):
            rows = self.cursors.move(move)
            word = "FETCH" if move.takes_rows else "MOVE"
            return StatementAnswer(rows if move.takes_rows else None, f"{word} {rows.num_rows}")
        if scan.starts("CLOSE"):
            self.cursors.close(scan.tokens[1].name if len(scan.tokens) > 1 else "")
            return StatementAnswer(tag="CLOSE CURSOR")
        return None

    def _query_catalog(self, text: str, values: Sequence[Any], of_tables: bool = False) -> pa.Table:
        table = self._open_catalog().query(text, values, of_tables=of_tables)
        return table.rename_columns([_column_name(name) for name in table.column_names])

    def _open_catalog(self) -> CatalogDatabase:
        now = time.monotonic()
        if self._catalog is None or now - self._catalog_time > _CATALOG_SECONDS:
            fresh = CatalogDatabase(self.session)
            self.close()
            self._catalog, self._catalog_time = fresh, now
        return self._catalog

    # --- settings ---

    def _set(self, scan: StatementScan) -> StatementAnswer:
        name, value = assignment(scan)
        tag = "RESET" if scan.starts("RESET") else "SET"
        if name.lower().startswith("privacy_") and name.lower() != ERROR_COLUMNS:
            self.set_privacy(name, value)
            return StatementAnswer(tag=tag)
        if value is None:
            self.settings.reset("" if name == "all" else name)
            if name == "all":
                for setting in (*self.session.settings, DIALECT):
                    self.set_privacy(setting, None)
            return StatementAnswer(tag=tag)
        return StatementAnswer(tag=tag, changed=self.settings.set(name, value))

    def set_privacy(self, name: str, value: str | None) -> None:
        """Sets or resets a setting of the session.

        Raises:
            Refused: There is none of that name, or the value is none.
        """
        if value is None and name.lower() == DIALECT:
            value = default_dialect(self.session.role)
        if value is None:
            self.session.execute(f"RESET {name}")
            return
        is_number = re.fullmatch(r"[0-9.]+(?:[eE][+-]?[0-9]+)?", value) is not None
        written = value if is_number else "'" + value.replace("'", "''") + "'"
        self.session.execute(f"SET {name} = {written}")

    def _show(self, scan: StatementScan) -> pa.Table:
        name = "".join(token.name or token.text for token in scan.tokens[1:])
        name = {"transactionisolationlevel": "transaction_isolation", "timezone": "TimeZone"}.get(
            name, name
        )
        if name in self.session.settings:
            value = str(self.session.settings[name])
        elif name == DIALECT:
            value = self.session.dialect
        elif name.startswith("privacy_") and name != ERROR_COLUMNS:
            value = ""
        else:
            value = self.settings.show(name)
        return pa.table({name: [value]})

    # --- statements of the session ---

    def _session_text(self, sql: str) -> str:
        return without_schema(sql, frozenset({"public", "main"}))

    def _run(self, text: str, values: Sequence[Any], report: Callable[[Any], None]) -> Result:
        outcome: Result | BaseException = Result()
        try:
            outcome = run_within_rules(self.session, self.rules, text, list(values) or None, report)
            return outcome
        except Exception as error:  # the audit log says which it was
            outcome = error
            raise
        finally:
            self.audit(text, len(values), outcome)

    def _answer_of(self, result: Result, scan: StatementScan) -> StatementAnswer:
        if result.table is None:
            tag = _tag(scan, result.changed)
            return StatementAnswer(tag=tag, notices=(result.message,) if result.message else ())
        table = result.table
        if self._has_errors(scan):
            table = with_error_columns(table, result)
        is_private = result.price is not None or result.half_widths
        notices = [line for line in result.message.split("\n") if line]
        if is_private:
            notices.append(summarise_errors(result))
        return StatementAnswer(table, notices=notices)

    def _has_errors(self, scan: StatementScan) -> bool:
        """Tells whether columns of errors stand in an answer: of private tables, where SET."""
        if not self.settings.error_columns:
            return False
        names = {name[-1].lower() for name in scan.sources}
        return bool(names & self._open_catalog().private)


def _scan(sql: str) -> StatementScan:
    if len(sql) > LONGEST:
        raise DataError(f"a statement has at most {LONGEST} characters")
    return StatementScan(sql)


def _is_catalog_name(name: Sequence[str]) -> bool:
    schema, table = ("", *name)[-2:]
    return schema in ("pg_catalog", "information_schema") or (
        schema in ("", "public") and table.startswith("pg_")
    )


def _column_name(name: str) -> str:
    """Returns what PostgreSQL would call a column: a call by its function."""
    if call := re.match(r'"?([a-z_][a-z0-9_]*)"?\(', name):
        return call[1]
    return name


def _tag(scan: StatementScan, changed: int) -> str:
    first = scan.words[0] if scan.words else ""
    count = max(changed, 0)
    if first == "INSERT":
        return f"INSERT 0 {count}"
    return f"{first} {count}" if first in ("UPDATE", "DELETE") else " ".join(scan.words[:2])
