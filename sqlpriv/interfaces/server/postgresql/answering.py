"""What a statement of a client of PostgreSQL's protocol gives: rows, a tag, notices.

Four kinds of statements are answered here, and free: SET and SHOW of the client's own settings,
transactions (there are none), looks at the catalog, and previews of private tables, which have no
rows. All else goes to the session, which prices, charges and answers it as it does for everybody.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from sqlpriv.errors import DataError, ProgrammingError
from sqlpriv.interfaces.display.footnote import cost
from sqlpriv.interfaces.server.postgresql import wire_values as v
from sqlpriv.interfaces.server.postgresql.client_settings import (
    ERROR_COLUMNS,
    ClientSettings,
    assignment,
)
from sqlpriv.interfaces.server.postgresql.pg_catalog import CatalogDatabase
from sqlpriv.interfaces.server.postgresql.sql_scan import StatementScan, without_schema
from sqlpriv.session.session import Result, Session

LONGEST = 1_000_000
"""Characters of a statement."""
_CATALOG_SECONDS = 10.0
"""How long a catalog is kept: another connection may have declared something meanwhile."""
_TRANSACTION = {
    "BEGIN": "BEGIN", "START": "START TRANSACTION", "COMMIT": "COMMIT", "END": "COMMIT",
    "ROLLBACK": "ROLLBACK", "ABORT": "ROLLBACK", "SAVEPOINT": "SAVEPOINT", "RELEASE": "RELEASE",
}  # fmt: skip
_NOTHING = {"DISCARD": "DISCARD ALL", "DEALLOCATE": "DEALLOCATE", "CLOSE": "CLOSE CURSOR",
            "UNLISTEN": "UNLISTEN", "LISTEN": "LISTEN"}  # fmt: skip
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
    """

    session: Session
    audit: Callable[[str, int, Result | BaseException], None]
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
        text = self._session_text(sql)
        if self._is_of_catalog(scan):
            return StatementAnswer(self._query_catalog(text, values))
        if self._is_preview(StatementScan(text)):
            with suppress(ProgrammingError):  # the session says better what is wrong with it
                rows = self._query_catalog(text, values, of_tables=True)
                return StatementAnswer(rows, notices=(self._preview_notice(scan),))
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
        if self._is_own(scan):
            return None
        if self._is_of_catalog(scan):
            return self._query_catalog(text, values).schema
        if self._is_preview(StatementScan(text)):
            with suppress(ProgrammingError):
                return self._query_catalog(text, values, of_tables=True).schema
        columns = self.session.describe(text, values or None)
        if not len(columns):
            return None
        return self._with_error_fields(columns) if self._has_errors(scan) else columns

    def parameter_types(self, sql: str, count: int) -> list[int]:
        """Returns a type for each parameter: of the column that it is compared to, or text.

        Args:
            sql: The statement.
            count: How many parameters the client has named types for, or more in the text.
        """
        scan = _scan(sql)
        numbers = [int(t.text[1:]) for t in scan.tokens if t.kind == "parameter"]
        if not numbers and not count:
            return []
        if max(numbers, default=0) > 1_000:
            raise DataError("a statement takes at most 1000 parameters")
        kinds = [v.TEXT] * max([count, *numbers])
        by_name = {
            row["column_name"].lower(): row["data_type"] for row in self._open_catalog().columns
        }
        for at, token in enumerate(scan.tokens):
            if token.kind == "parameter":
                kinds[int(token.text[1:]) - 1] = _parameter_type(scan, at, by_name)
        return kinds

    # --- the kinds of statements ---

    def _own_answer(self, scan: StatementScan) -> StatementAnswer | None:
        """Returns the answer to a statement that is about the connection alone; None for others."""
        first = scan.words[0] if scan.words else ""
        if first in _TRANSACTION:
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
        return first in _TRANSACTION or first in _NOTHING or first in ("SET", "RESET")

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

    def _preview_notice(self, scan: StatementScan) -> str:
        table = scan.sources[0][-1]
        return (
            f"the rows of {table} are private: none is shown, nothing was charged; ask for figures,"
            f" as in SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1) COUNT(*) FROM {table}"
        )

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
                for setting in self.session.settings:
                    self.session.execute(f"RESET {setting}")
            return StatementAnswer(tag=tag)
        return StatementAnswer(tag=tag, changed=self.settings.set(name, value))

    def set_privacy(self, name: str, value: str | None) -> None:
        """Sets or resets a setting of the session.

        Raises:
            Refused: There is none of that name, or the value is none.
        """
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
            outcome = self.session.execute(text, list(values) or None, report)
            return outcome
        except Exception as error:
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
            table = self._with_error_columns(table, result)
        is_private = result.price is not None or result.half_widths
        notices = [line for line in result.message.split("\n") if line]
        if is_private:
            notices.append(_summary(result))
        return StatementAnswer(table, notices=notices)

    def _has_errors(self, scan: StatementScan) -> bool:
        """Tells whether columns of errors stand in an answer: of private tables, where SET."""
        if not self.settings.error_columns:
            return False
        names = {name[-1].lower() for name in scan.sources}
        return bool(names & self._open_catalog().private)

    def _with_error_fields(self, columns: pa.Schema) -> pa.Schema:
        fields = []
        for column in columns:
            fields.append(column)
            if v.type_oid(column.type) in v.NUMBERS:
                fields.append(pa.field(f"{column.name}_error", pa.float64()))
        return pa.schema(fields)

    def _with_error_columns(self, table: pa.Table, result: Result) -> pa.Table:
        """Puts the half-widths behind their columns, and NULL behind numbers that are exact."""
        columns = []
        for at, column in enumerate(table.schema):
            columns.append(table.column(at))
            if v.type_oid(column.type) in v.NUMBERS:
                widths = result.half_widths.get(column.name) or [None] * table.num_rows
                columns.append(pa.chunked_array([pa.array(widths, pa.float64())]))
        return pa.Table.from_arrays(columns, schema=self._with_error_fields(table.schema))


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


def _summary(result: Result) -> str:
    """Says in one line what an answer cost and how sure it is."""
    parts = [cost(result)]
    for name, widths in result.half_widths.items():
        finite = sorted(width for width in widths if width is not None)
        if finite:
            low, high = finite[0], finite[-1]
            span = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
            parts.append(f"{name} ± {span} (95 %)")
    return "; ".join(parts)


_CASTS = {"INT": v.INT4, "INTEGER": v.INT4, "INT4": v.INT4, "BIGINT": v.INT8, "INT8": v.INT8,
          "SMALLINT": v.INT2, "INT2": v.INT2, "FLOAT8": v.FLOAT8, "DOUBLE": v.FLOAT8,
          "FLOAT": v.FLOAT8, "REAL": v.FLOAT4, "NUMERIC": v.NUMERIC, "DECIMAL": v.NUMERIC,
          "BOOLEAN": v.BOOL, "BOOL": v.BOOL, "DATE": v.DATE, "TIMESTAMP": v.TIMESTAMP,
          "TIMESTAMPTZ": v.TIMESTAMPTZ, "UUID": v.UUID, "OID": v.OID, "TIME": v.TIME,
          "VARCHAR": v.TEXT, "TEXT": v.TEXT}  # fmt: skip
"""Words of a type → its number."""
_BETWEEN = {
    "AND",
    "BETWEEN",
    "IN",
    "NOT",
    "(",
    ",",
    "=",
    "<",
    ">",
    "<=",
    ">=",
    "<>",
    "!=",
    "+",
    "-",
}


def _parameter_type(scan: StatementScan, at: int, column_types: dict[str, str]) -> int:
    """Returns the type of the parameter at a place: its cast's, a count's, or a column's.

    The column is the next one to the left that only comparisons and other parameters stand
    between, or the one that the parameter is compared to on its right.
    """
    words, tokens = scan.words, scan.tokens
    if at + 2 < len(words) and words[at + 1] == "::":
        return _CASTS.get(words[at + 2], v.TEXT)
    if at and words[at - 1] in ("LIMIT", "OFFSET"):
        return v.INT8
    for back in range(at - 1, max(-1, at - 200), -1):
        if tokens[back].name and words[back] not in _BETWEEN:
            kind = column_types.get(tokens[back].name.lower(), "")
            return _CASTS.get(kind.split("(")[0].split(" ")[0].upper(), v.TEXT)
        if words[back] not in _BETWEEN and tokens[back].kind not in ("parameter", "number"):
            break
    if at + 2 < len(words) and words[at + 1] in _BETWEEN:
        kind = column_types.get(tokens[at + 2].name.lower(), "")
        return _CASTS.get(kind.split("(")[0].split(" ")[0].upper(), v.TEXT)
    return v.TEXT
