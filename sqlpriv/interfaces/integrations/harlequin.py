"""The adapter for Harlequin, the SQL editor in the terminal: `harlequin -a sqlpriv people.duckdb`.

What it opens is a vault's file, a server's address (the token comes from $SQLPRIV_TOKEN or
`--token-file`), or the name of a connection in sqlpriv.toml.

A noised column is shown with its half-width beside it. Harlequin runs statements in threads of its
own, one after the other; a lock keeps the vault's one session to one of them.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
from harlequin import HarlequinAdapter, HarlequinConnection, HarlequinCursor
from harlequin.autocomplete.completion import HarlequinCompletion
from harlequin.catalog import Catalog, CatalogItem
from harlequin.exception import (
    HarlequinConfigError,
    HarlequinConnectionError,
    HarlequinQueryError,
)
from harlequin.options import PathOption, SelectOption, TextOption

import sqlpriv
from sqlpriv.interfaces.configuration.token_sources import read_token
from sqlpriv.interfaces.display.values import type_name
from sqlpriv.interfaces.display.vocabulary import KEYWORDS, functions
from sqlpriv.session.session import Result
from sqlpriv.session.session_like import reading_duckdb

_COLUMNS = """SELECT database_name, table_name, column_name, data_type FROM duckdb_columns()
WHERE NOT internal ORDER BY database_name DESC, table_name, column_index"""
_SHORT = {
    "BOOLEAN": "t/f",
    "TINYINT": "#",
    "SMALLINT": "#",
    "INTEGER": "#",
    "BIGINT": "##",
    "HUGEINT": "###",
    "FLOAT": "#.#",
    "DOUBLE": "#.#",
    "DECIMAL": "#.#",
    "VARCHAR": "s",
    "BLOB": "0b",
    "DATE": "d",
    "TIME": "t",
    "TIMESTAMP": "ts",
    "TIMESTAMP WITH TIME ZONE": "ttz",
    "INTERVAL": "|-|",
}


def with_half_widths(result: Result, table: pa.Table) -> pa.Table:
    """Returns the table with a column `n ±` to the right of each noised column `n`."""
    for name, widths in result.half_widths.items():
        at = table.column_names.index(name) + 1
        table = table.add_column(at, f"{name} ±", pa.array(widths, pa.float64()))
    return table


class HarlequinResult(HarlequinCursor):
    """Rows of one statement."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def columns(self) -> list[tuple[str, str]]:
        schema = self._table.schema
        return [(field.name, _short(type_name(field.type))) for field in schema]

    def set_limit(self, limit: int) -> HarlequinResult:
        self._table = self._table.slice(0, limit)
        return self

    def fetchall(self) -> pa.Table:
        return self._table


class HarlequinSession(HarlequinConnection):
    """A session on one vault."""

    def __init__(self, connection: sqlpriv.Connection, init_message: str = "") -> None:
        self.init_message = init_message
        self._connection, self._lock = connection, threading.Lock()

    def execute(self, query: str) -> HarlequinResult | None:
        """Runs one statement; see `sqlpriv.errors` for what a HarlequinQueryError may say."""
        with self._lock:
            try:
                result = self._connection.session.execute(query)
            except sqlpriv.Error as error:
                raise HarlequinQueryError(msg=str(error), title="sqlpriv refused:") from error
        return (
            HarlequinResult(with_half_widths(result, result.table))
            if result.table is not None
            else None
        )

    def get_catalog(self) -> Catalog:
        """Returns the vault's tables and the released ones; asking charges nothing."""
        with self._lock, reading_duckdb(self._connection.session):
            rows = self._connection.execute(_COLUMNS).fetchall()
        return Catalog([_database(name, list(part)) for name, part in groupby(rows, _first)])

    def get_completions(self) -> list[HarlequinCompletion]:
        """Returns our keywords and functions, with the rank of keywords."""
        offers = [(word, "kw") for word in KEYWORDS] + [(word, "fn") for word in functions()]
        return [HarlequinCompletion(word, kind, word, 100) for word, kind in offers]

    def close(self) -> None:
        with self._lock:
            self._connection.close()


class Adapter(HarlequinAdapter):
    """What Harlequin finds by our entry point."""

    ADAPTER_OPTIONS = [  # noqa: RUF012 (Harlequin reads a list)
        SelectOption(
            "role",
            "Who asks: an analyst under the budget, or the owner.",
            choices=["analyst", "owner"],
        ),
        TextOption("principal", "Whose name charges are recorded under."),
        PathOption("token-file", "Holds the token for a server.", dir_okay=False),
        PathOption("ca", "Certificates to trust, in PEM.", dir_okay=False),
        TextOption("epsilon", "What each private statement costs unless it says so itself."),
    ]
    ADAPTER_DETAILS = "Differentially private SQL over DuckDB."

    def __init__(
        self,
        conn_str: Sequence[str],
        role: str | None = None,
        principal: str | None = None,
        epsilon: str | None = None,
        token_file: str | None = None,
        ca: str | None = None,
        **_options: Any,
    ) -> None:
        if len(conn_str) != 1:
            raise HarlequinConfigError(
                "give one vault or server: harlequin -a sqlpriv people.duckdb"
            )
        self._token_file, self._ca = token_file, ca
        self._vault, self._role = conn_str[0], role
        self._principal, self._epsilon = principal, epsilon

    @property
    def connection_id(self) -> str:
        return f"sqlpriv {self._vault}"

    def connect(self) -> HarlequinSession:
        """Opens the vault. Raises HarlequinConnectionError with the reason if that fails."""
        try:
            opened = sqlpriv.connect(
                self._vault,
                role=self._role or None,
                principal=self._principal or None,
                token=read_token(Path(self._token_file)) if self._token_file else None,
                ca=self._ca or None,
            )
            if self._epsilon is not None:
                opened.execute(f"SET privacy_epsilon = {self._epsilon}")
        except sqlpriv.Error as error:
            raise HarlequinConnectionError(str(error), title="The vault did not open") from error
        budgets = (f"{t} ε {left:.2f}/{total:.2f}" for t, left, total in opened.session.budgets())
        return HarlequinSession(
            opened, f"{self._vault} as {opened.session.role} · {' · '.join(budgets)}"
        )


def _first(row: Sequence[str]) -> str:
    return row[0]


def _database(name: str, rows: list[tuple[str, ...]]) -> CatalogItem:
    tables = [_table(table, list(part)) for table, part in groupby(rows, lambda row: row[1])]
    return CatalogItem(name, name, name, "db", tables)


def _table(name: str, rows: list[tuple[str, ...]]) -> CatalogItem:
    columns = [
        CatalogItem(
            f"{_quote_name(name)}.{_quote_name(column)}", _quote_name(column), column, _short(kind)
        )
        for _, _, column, kind in rows
    ]
    return CatalogItem(_quote_name(name), _quote_name(name), name, "t", columns)


def _short(kind: str) -> str:
    return _SHORT.get(kind.partition("(")[0], "s" if kind.startswith("ENUM") else "?")


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
