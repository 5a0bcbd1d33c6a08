"""What a statement of a client of PostgreSQL's protocol gives: rows, a tag, notices.

Five kinds of statements are answered here, and free: SET and SHOW of the client's own settings,
transactions (there are none), cursors over what was answered, looks at the catalog, and previews of
private tables, which have no rows, or those of a synthetic table where the owner says so. All else
goes to the session, which prices, charges and answers it as it does for everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from sqlpriv.errors import DataError, ProgrammingError
from sqlpriv.interfaces.server.audit_log import run_audited
from sqlpriv.interfaces.server.postgresql.reading.parameter_types import parameter_types
from sqlpriv.interfaces.server.postgresql.reading.sql_scan import StatementScan, without_schema
from sqlpriv.interfaces.server.postgresql.statements.catalog_looks import (
    CatalogLooks,
    is_of_catalog,
)
from sqlpriv.interfaces.server.postgresql.statements.client_settings import ClientSettings
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
from sqlpriv.interfaces.server.postgresql.statements.output_names import (
    output_names,
    shown_columns,
)
from sqlpriv.interfaces.server.postgresql.statements.portals import SAMPLE_TEXT
from sqlpriv.interfaces.server.postgresql.statements.setting_statements import (
    SettingStatements,
    shows_setting,
)
from sqlpriv.interfaces.server.postgresql.statements.statement_answer import (
    StatementAnswer,
    command_tag,
)
from sqlpriv.interfaces.server.protocol.unread_answers import HeldAnswer
from sqlpriv.interfaces.server.spending_rules import SpendingRules, run_within_rules
from sqlpriv.session.session import Result, Session

LONGEST = 1_000_000
"""Characters of a statement."""
_TRANSACTION = {
    "BEGIN": "BEGIN",
    "START": "START TRANSACTION",
    "COMMIT": "COMMIT",
    "END": "COMMIT",
    "ROLLBACK": "ROLLBACK",
    "ABORT": "ROLLBACK",
    "SAVEPOINT": "SAVEPOINT",
    "RELEASE": "RELEASE",
}
_NOTHING = {
    "DISCARD": "DISCARD ALL",
    "DEALLOCATE": "DEALLOCATE",
    "UNLISTEN": "UNLISTEN",
    "LISTEN": "LISTEN",
}
_ENDS = ("COMMIT", "END", "ROLLBACK", "ABORT")
_NO_TRANSACTION = (
    "there are no transactions here: every statement stands by itself, and a charge is never undone"
)


@dataclass
class Answerer:
    """Answers the statements of one connection; every method but `settings` runs in its thread.

    Args:
        session: The session that answers them.
        audit: Is told of each statement that the session runs: text, values, outcome.
        rules: How its user may spend.
        previews: Private table in lower case → the synthetic table that previews of it show.
        hold: Counts rows among those that the user has not read, until what it returns is gone.
    """

    session: Session
    audit: Callable[[str, int, Result | BaseException], None]
    rules: SpendingRules = field(default_factory=SpendingRules)
    previews: Mapping[str, str] = field(default_factory=dict)
    hold: Callable[[pa.Table], HeldAnswer] | None = None
    cursors: CursorSet = field(default_factory=CursorSet)
    settings: ClientSettings = field(default_factory=ClientSettings)
    _has_told_of_transactions: bool = False

    def __post_init__(self) -> None:
        self._looks = CatalogLooks(self.session, self.previews)
        self.setting_statements = SettingStatements(self.session, self.settings)

    def close(self) -> None:
        """Closes the catalog and the cursors."""
        self.cursors.close("all")
        self._looks.close()

    def constants(self, written: str, values: Sequence[Any]) -> Sequence[Any]:
        """Returns the values of expressions without tables, as they are written: `30, 'a'`."""
        row = self._looks.query(f"SELECT {written}", values)
        return [column[0].as_py() for column in row.columns]

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
        answer = self._answer_rows(sql, scan, values, report)
        if answer.table is None or self.hold is None:
            return answer
        return replace(answer, held=self.hold(answer.table))

    def _answer_rows(
        self, sql: str, scan: StatementScan, values: Sequence[Any], report: Callable[[Any], None]
    ) -> StatementAnswer:
        """Returns the answer of the catalog, of a preview, or of the session."""
        text = self._session_text(sql)
        if is_of_catalog(scan):
            with _left_to_session(scan):
                return StatementAnswer(self._looks.query(text, values))
        if self._looks.is_preview(StatementScan(text)):
            with suppress(ProgrammingError):  # the session says better what is wrong with it
                notice = self._looks.prepare_preview(StatementScan(text))
                rows = self._looks.query(text, values, of_tables=True)
                return StatementAnswer(rows, notices=(notice,))
        result = self._run(text, values, report)
        if not scan.starts("SELECT"):
            self._looks.forget()
        return self._answer_of(result, scan)

    def describe(self, sql: str, values: Sequence[Any]) -> pa.Schema | None:
        """Returns the columns of a statement; None where it has no rows. Nothing is charged.

        Raises:
            sqlpriv.Error: As running it would, before anything is read or charged.
        """
        scan = _scan(sql)
        if shows_setting(scan):
            return self.setting_statements.show(scan).schema
        if move := parse_move(scan):
            return self.cursors.find(move.name).table.schema if move.takes_rows else None
        if self._is_own(scan):
            return None
        text = self._session_text(sql)
        if is_of_catalog(scan):
            with suppress(ProgrammingError):
                return self._looks.query(text, values).schema
            # where no column tells a parameter's type, its sample may be for a number
            untyped = [None if value == SAMPLE_TEXT else value for value in values]
            with _left_to_session(scan):
                return self._looks.query(text, untyped).schema
        if self._looks.is_preview(StatementScan(text)):
            with suppress(ProgrammingError):  # as in `answer`
                return self._looks.query(text, values, of_tables=True).schema
        columns = self.session.describe(text, values or None)
        if not len(columns):
            return None
        if self._has_errors(scan):
            columns = with_error_fields(columns)
        columns = pa.schema([columns.field(at) for at in shown_columns(columns.names, scan)])
        names = output_names(columns.names, scan)
        return pa.schema([x.with_name(name) for x, name in zip(columns, names, strict=True)])

    def parameter_types(self, sql: str, count: int) -> list[int]:
        """Returns a type for each parameter: of the column that it is compared to, or text.

        Args:
            sql: The statement.
            count: How many parameters the client has named types for, or more in the text.
        """
        scan = _scan(sql)
        if not count and not any(token.kind == "parameter" for token in scan.tokens):
            return []
        columns = self._looks.facts().columns
        by_name = {row["column_name"].lower(): row["data_type"] for row in columns}
        return parameter_types(scan, count, by_name)

    # --- the kinds of statements ---

    def _own_answer(self, scan: StatementScan) -> StatementAnswer | None:
        """Returns the answer to a statement that is about the connection alone; None for others."""
        first = scan.words[0] if scan.words else ""
        if first in _TRANSACTION:
            if first in ("BEGIN", "START"):
                self.cursors.begin_transaction()
                self.setting_statements.begin_transaction()
            if first in _ENDS and "TO" not in scan.words:
                self.cursors.end_transaction(is_undone=_TRANSACTION[first] == "ROLLBACK")
                self.setting_statements.end_transaction()
            notices = () if self._has_told_of_transactions else (_NO_TRANSACTION,)
            self._has_told_of_transactions = True
            return StatementAnswer(tag=_TRANSACTION[first], notices=notices)
        if scan.starts("DISCARD", "ALL"):
            self.cursors.cursors.clear()
            self.setting_statements.reset_all()
        if first in _NOTHING:
            return StatementAnswer(tag=_NOTHING[first])
        if shows_setting(scan):
            return StatementAnswer(self.setting_statements.show(scan), tag="SHOW")
        if first in ("SET", "RESET"):
            return self.setting_statements.set(scan)
        return None

    def _is_own(self, scan: StatementScan) -> bool:
        first = scan.words[0] if scan.words else ""
        own = ("SET", "RESET", "DECLARE", "CLOSE")
        return first in _TRANSACTION or first in _NOTHING or first in own

    def _cursor_answer(
        self, scan: StatementScan, values: Sequence[Any], report: Callable[[Any], None]
    ) -> StatementAnswer | None:
        """Returns the answer to a statement about a cursor; None for another one."""
        if declaration := parse_declaration(scan):
            self.cursors.check_new(declaration.name)
            answer = self.answer(declaration.query, values, report)
            if answer.table is None:
                raise DataError("a cursor takes a query that has rows")
            cursor = OpenCursor(answer.table, declaration.is_held, counted=answer.held)
            self.cursors.cursors[declaration.name] = cursor
            return StatementAnswer(tag="DECLARE CURSOR", notices=answer.notices)
        if move := parse_move(scan):
            rows = self.cursors.move(move)
            if not move.takes_rows:
                return StatementAnswer(tag=f"MOVE {rows.num_rows}")
            counted = self.cursors.find(move.name).counted
            return StatementAnswer(rows, f"FETCH {rows.num_rows}", held=counted)
        if scan.starts("CLOSE"):
            self.cursors.close(scan.tokens[1].name if len(scan.tokens) > 1 else "")
            return StatementAnswer(tag="CLOSE CURSOR")
        return None

    # --- statements of the session ---

    def _session_text(self, sql: str) -> str:
        return without_schema(sql, frozenset({"public", "main"}), self.session.vault.stem)

    def _run(self, text: str, values: Sequence[Any], report: Callable[[Any], None]) -> Result:
        return run_audited(
            lambda: run_within_rules(self.session, self.rules, text, list(values) or None, report),
            lambda outcome: self.audit(text, len(values), outcome),
        )

    def _answer_of(self, result: Result, scan: StatementScan) -> StatementAnswer:
        if result.table is None:
            tag = command_tag(scan, result.changed)
            return StatementAnswer(tag=tag, notices=(result.message,) if result.message else ())
        table = result.table
        if self._has_errors(scan):
            table = with_error_columns(table, result)
        is_private = result.price is not None or result.half_widths
        notices = [line for line in result.message.split("\n") if line]
        table = table.select(shown_columns(table.column_names, scan))
        named = table.rename_columns(output_names(table.column_names, scan))
        if is_private:
            names = dict(zip(table.column_names, named.column_names, strict=True))
            notices.append(summarise_errors(result, names))
        return StatementAnswer(named, notices=notices)

    def _has_errors(self, scan: StatementScan) -> bool:
        """Tells whether columns of errors stand in an answer: of private tables, where SET."""
        if not self.settings.error_columns:
            return False
        names = {name[-1].lower() for name in scan.sources}
        return bool(names & self._looks.private_tables())


def _left_to_session(scan: StatementScan) -> AbstractContextManager[None]:
    """Returns what drops the catalog's error where a statement names no table and nothing of
    schema pg_catalog: it may have a function that the session knows."""
    names_catalog = any(token.name == "pg_catalog" for token in scan.tokens)
    return nullcontext() if scan.sources or names_catalog else suppress(ProgrammingError)


def _scan(sql: str) -> StatementScan:
    if len(sql) > LONGEST:
        raise DataError(f"a statement has at most {LONGEST} characters")
    return StatementScan(sql)
