"""The users of a vault whose ledger is in PostgreSQL: all its servers know the same ones.

It answers the statements that `users.py` and `spending_rules.py` write for the SQLite file beside a
vault. Whoever is removed on one machine is let in by none.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlpriv.interfaces.server.shared.server_database import NAME, ServerDatabase

_LOGIN = (
    "id, at, principal, name, role, salt, hash, expires, timeout, concurrency, scram, epsilon,"
    " daily_epsilon, only_asked_before, error_columns"
)
_DAY_PRICE = "day, name, unit_table, kind, nano"
_LOCK = f"SELECT pg_advisory_xact_lock(hashtext('{NAME}.users'))"


class UsersDatabase:
    """An open connection to the users; threads may share it as long as they begin no transaction.

    Args:
        url: The ledger's.

    Raises:
        OperationalError: See `ServerDatabase`.
    """

    def __init__(self, url: str) -> None:
        self._database = ServerDatabase(url)

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Runs one statement as SQLite would. No name holds U+0000, nor does PostgreSQL's text."""
        clean = [v.replace("\0", "\ufffd") if isinstance(v, str) else v for v in values]
        if sql == "BEGIN IMMEDIATE":
            self._database.execute("BEGIN")
            return self._database.execute(_LOCK)
        return self._database.execute(sql, clean)

    def close(self) -> None:
        """Closes the connection."""
        self._database.close()

    def take_over(self, path: Path) -> None:
        """Copies the logins of a file, ids included, where there is none yet; the file is renamed.

        A file whose logins are not taken over, because others are there, stays as it is and counts
        no more.

        Args:
            path: The file of users of this machine, of the latest version.
        """
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as file:
            logins = file.execute(f"SELECT {_LOGIN} FROM login ORDER BY id").fetchall()
            prices = file.execute(f"SELECT {_DAY_PRICE} FROM day_price").fetchall()
        file.close()
        self.execute("BEGIN IMMEDIATE")
        try:
            if is_first := self.execute("SELECT FROM login LIMIT 1").rowcount == 0:
                for *row, only_asked, error_columns in logins:
                    self._insert("login", _LOGIN, [*row, bool(only_asked), bool(error_columns)])
                for price in prices:
                    self._insert("day_price", _DAY_PRICE, price)
                number_on = "SELECT setval(pg_get_serial_sequence('login', 'id'), ?)"
                if logins:
                    self.execute(number_on, [logins[-1][0]])
            self.execute("COMMIT")
        except BaseException:  # Ctrl-C, too, leaves no transaction open
            self.execute("ROLLBACK")
            raise
        if is_first:
            with suppress(FileNotFoundError):  # another process was faster
                path.rename(path.with_name(f"{path.name}.moved"))

    def give_back(self, file: sqlite3.Connection) -> None:
        """Copies all logins, ids included, and what was spent into an empty file of users.

        Args:
            file: Of the latest version.
        """
        for table, columns in (("login", _LOGIN), ("day_price", _DAY_PRICE)):
            sql = (
                f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(columns.split()))})"
            )
            file.executemany(sql, self.execute(f"SELECT {columns} FROM {table}").fetchall())

    def _insert(self, table: str, columns: str, row: Sequence[Any]) -> None:
        marks = ", ".join("?" * len(row))
        kept_number = "OVERRIDING SYSTEM VALUE " if table == "login" else ""
        self.execute(f"INSERT INTO {table} ({columns}) {kept_number}VALUES ({marks})", row)
