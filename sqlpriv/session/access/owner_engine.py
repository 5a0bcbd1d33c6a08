"""What only an owner can do: write the vault with plain SQL.

The owner may see everything; this file is above the trust line and grants nothing to an analyst.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from glob import escape
from pathlib import Path
from random import SystemRandom
from shutil import rmtree
from typing import Any

import duckdb
import pyarrow as pa

from sqlpriv.errors import OperationalError, ProgrammingError, VaultBusy
from sqlpriv.kernel.sql.quoting import literal, name
from sqlpriv.session.access.renames import MAY_RENAME, FollowedTables, stored_tables
from sqlpriv.statements.printer import written_name
from sqlpriv.system.file_modes import as_private_as
from sqlpriv.system.interruptible_call import call_interruptibly
from sqlpriv.system.quiet_engine import keep_idle_engine, open_engine, take_idle_engine

_TRANSACTION = re.compile(r"\s*(begin|start|commit|end|rollback|abort)\b", re.IGNORECASE)
_RENAMES = re.compile(r"\s*(alter|import|explain)\b", re.IGNORECASE)
"""How statements begin that may rename by themselves."""
_ON_TABLES = re.compile(
    r"\s*(create\s+(or\s+replace\s+)?(table|view|type|sequence|schema|(unique\s+)?index)|alter|drop"
    r"|insert|update|delete|merge|copy|comment|select|from|values|with|show|describe)\b(?!.*\bmemory\b)",
    re.IGNORECASE | re.DOTALL,
)
"""Statements after which an engine is as it was, but for what the vault holds: a setting, a
secret, an attached database or a table of the engine's own database `memory` would stay. What
functions in a SELECT may set, a log, a profile and a seed, `_END_WHAT_FUNCTIONS_SET` ends."""
_END_WHAT_FUNCTIONS_SET = """CALL disable_logging(); CALL truncate_duckdb_logs();
RESET GLOBAL enabled_log_types; RESET GLOBAL logging_mode; RESET GLOBAL logging_level;
CALL disable_profiling(); RESET profiling_output; SELECT setseed(?)"""
_DEPENDENTS = """SELECT table_name, referenced_table, NULL FROM duckdb_constraints()
WHERE database_name = $1 AND constraint_type = 'FOREIGN KEY'
UNION ALL SELECT table_name, table_name, index_name FROM duckdb_indexes() WHERE database_name = $1
ORDER BY ALL"""
_DEPENDENCY_SIGNS = ("depend on it", "depends on it", "main key table of", "foreign key constraint")
"""What DuckDB's errors say where a foreign key or an index keeps a table as it is."""
_VIEW_SIGNS = (
    "modify view",
    "is not an table",
    "base table",
    "on `View`",
)
"""What DuckDB's errors say where a statement would change a view."""
_VIEW_REMEDY = (
    "\nHint: a view, and a table that is read in place, can be renamed and dropped alone. Write its"
    " files anew, or hold its rows here: CREATE TABLE people_here AS FROM people, and declare that"
)
_ATTACHED = "SELECT database_name FROM duckdb_databases() WHERE path IS NOT NULL"
Parameters = Sequence[Any] | Mapping[str, Any] | None


class OwnerEngine:
    """The vault, opened for writing while the owner runs plain SQL, and let go before a query.

    An engine that ran statements on tables alone is used again, so that a vault is opened in 1 ms
    of processor time, not in 15. Whatever else an owner says to it (SET, ATTACH, CREATE SECRET)
    lasts until the vault is let go, and so does the engine.

    What does not fit into memory goes beside it, into a folder that nobody else may enter. What a
    crash left in such folders, whoever read or wrote, is removed. Files that statements make, the
    log of what is written among them, are for the same eyes as the vault.

    Args:
        vault: The DuckDB file; made, for its owner's eyes alone (0600), if there is none.
        files: Statements may read and write other files, load extensions and use the network.

    Attributes:
        before_renames_last: Told of the tables before a rename lasts; if it raises, none does.
    """

    def __init__(self, vault: Path, files: bool = True) -> None:
        self.vault, self._files = vault, files
        self.before_renames_last: Callable[[FollowedTables], None] = lambda _: None
        self._duckdb: duckdb.DuckDBPyConnection | None = None
        self._in_transaction = False
        self._reusable = False  # the engine, once the vault is detached
        self._database = ""
        self._followed: FollowedTables | None = None
        self._before_transaction: FollowedTables | None = None
        if not vault.exists():
            self._open()

    def view_names(self) -> frozenset[str]:
        """Returns the names of the vault's views, in lower case."""
        names = "SELECT view_name FROM duckdb_views() WHERE NOT internal AND database_name = ?"
        return frozenset(name.lower() for (name,) in self.read_rows(names, [self._database]))

    def run(self, text: str, parameters: Parameters = None) -> pa.Table | None:
        """Runs one statement of plain DuckDB SQL; returns its rows, or None if it has none.

        Raises:
            ProgrammingError: DuckDB's own message: the owner may see it.
            VaultBusy: Another process reads or writes the vault.
        """
        engine = self._open()
        if self._followed is None:
            self._followed = FollowedTables.begin(stored_tables(engine, self._database))
            self._before_transaction = self._followed
        self._reusable &= _ON_TABLES.match(text) is not None
        match = _TRANSACTION.match(text)
        word = match[1].lower() if match else ""
        if word in ("commit", "end"):
            self._tell_of_renames()
        is_rename = not self._in_transaction and _RENAMES.match(text) and MAY_RENAME.search(text)
        run = self._rename_in_transaction if is_rename else self._query
        try:
            table = run(engine, text, parameters)
        except ProgrammingError as error:
            if any(sign in str(error) for sign in _VIEW_SIGNS):
                raise ProgrammingError(f"{error}{_VIEW_REMEDY}") from error
            if not any(sign in str(error) for sign in _DEPENDENCY_SIGNS):
                raise
            raise ProgrammingError(f"{error}{self._dependency_remedy(engine, text)}") from error
        if MAY_RENAME.search(text):
            self._followed = self._followed.note(stored_tables(engine, self._database))
        if word:
            self._in_transaction = word in ("begin", "start")
            if word in ("rollback", "abort"):
                self._followed = self._before_transaction
            self._before_transaction = self._followed
        return table

    def _rename_in_transaction(
        self, engine: duckdb.DuckDBPyConnection, text: str, parameters: Parameters
    ) -> pa.Table | None:
        """Runs a statement that may rename, told of before it lasts: a process that is killed
        behind it, or a ledger that cannot be written then, leaves no name with another's rights."""
        engine.execute("BEGIN")
        followed = self._followed
        try:
            table = self._query(engine, text, parameters)
            assert followed is not None
            self._followed = followed.note(stored_tables(engine, self._database))
            self._tell_of_renames()
            engine.execute("COMMIT")
        except BaseException:  # whatever it was, also Ctrl-C: it is undone
            self._followed = followed
            with suppress(duckdb.Error):  # an error may have ended the transaction
                engine.execute("ROLLBACK")
            raise
        return table

    def _tell_of_renames(self) -> None:
        followed = self._followed
        if followed is not None and followed.now != followed.first:
            self.before_renames_last(followed)

    def read_rows(self, select: str, values: Parameters = None) -> list[tuple[Any, ...]]:
        """Returns the rows of a query of ours: it changes no table, so none has to be followed.

        Raises:
            ProgrammingError, VaultBusy: As `run`.
        """
        table = self._query(self._open(), select, values)
        return [] if table is None else [tuple(row.values()) for row in table.to_pylist()]

    def _query(
        self, engine: duckdb.DuckDBPyConnection, text: str, parameters: Parameters
    ) -> pa.Table | None:
        def fetch_rows() -> pa.Table | None:
            rows = engine.sql(text, params=parameters or None)
            return None if rows is None else rows.to_arrow_table()

        try:
            with as_private_as(self.vault):
                return call_interruptibly(fetch_rows, engine.interrupt)
        except duckdb.Error as error:
            raise ProgrammingError(str(error)) from error

    def _dependency_remedy(self, engine: duckdb.DuckDBPyConnection, text: str) -> str:
        """Returns what to do about the foreign keys and indexes of the tables that a text names.

        They are read by a connection of their own, as an open transaction may have been aborted.
        Where DuckDB cannot list them there is no remedy: a rename that failed in an owner's
        transaction stays visible in DuckDB's list of constraints until ROLLBACK.
        """
        lines: list[str] = []
        dependents: list[tuple[Any, ...]] = []
        with engine.cursor() as reader, suppress(duckdb.Error):
            dependents = reader.execute(_DEPENDENTS, [self._database]).fetchall()
        for table, parent, index in dependents:
            if not any(re.search(rf"\b{re.escape(n)}\b", text, re.I) for n in (table, parent)):
                continue
            if index:
                lines.append(f"DROP INDEX {written_name(index)}, and make it again afterwards")
            else:
                child = written_name(table)
                lines.append(
                    f"{child} has a FOREIGN KEY to {written_name(parent)}. DuckDB cannot drop one:"
                    f" CREATE OR REPLACE TABLE {child} AS FROM {child} leaves out its constraints"
                    " and keeps what is declared of it"
                )
        return "\n".join(("\nFirst:", *lines)) if lines else ""

    @property
    def has_renamed(self) -> bool:
        """Whether a table or a column is called otherwise, for good, than when it was opened."""
        followed = self._followed
        return not self._in_transaction and followed is not None and followed.now != followed.first

    def release(self) -> FollowedTables | None:
        """Closes the vault so that it can be read; returns its tables, None where no statement ran.

        Raises:
            OperationalError: A transaction is open.
        """
        if self._duckdb is None:
            return None
        if self._in_transaction:
            raise OperationalError("a transaction is open on the vault; COMMIT or ROLLBACK first")
        followed = self._followed
        if followed is not None:
            followed = followed.note(stored_tables(self._duckdb, self._database))
        with as_private_as(self.vault):
            self._close(self._duckdb)
        self._duckdb = self._followed = None
        with suppress(OSError):
            self._spills.rmdir()
        return followed

    def interrupt(self) -> None:
        """Stops the statement that another thread runs, if there is one."""
        if self._duckdb is not None:
            self._duckdb.interrupt()

    def rollback(self) -> None:
        """Undoes an open transaction, if there is one."""
        if self._in_transaction:
            self.run("ROLLBACK")

    def commit(self) -> None:
        """Makes an open transaction last, if there is one."""
        if self._in_transaction:
            self.run("COMMIT")

    @property
    def _spills(self) -> Path:
        return self.vault.with_name(f"{self.vault.name}.tmp")

    def _make_spills(self) -> None:
        """Makes the folder that rows may spill into, which nobody else may enter; where no folder
        can be made, nothing spills.

        Raises:
            OperationalError: Somebody else has made one by that name.
        """
        of_readers = self.vault.parent.glob(f"{escape(self.vault.name)}.spill*.tmp")
        for left in (self._spills, *of_readers):  # by a crash: nobody reads while we write
            rmtree(left, ignore_errors=True)
        try:
            self._spills.mkdir(0o700)
        except FileExistsError as error:
            self.release()
            raise OperationalError(
                f"{self._spills} is not ours to use; remove it, or move the vault to a folder that"
                " nobody else may write"
            ) from error
        except OSError:
            pass

    def _open(self) -> duckdb.DuckDBPyConnection:
        if self._duckdb is None:
            try:
                with as_private_as(self.vault):
                    self._duckdb = self._attach() or open_engine(str(self.vault))
            except duckdb.Error as error:
                message = str(error).lower()
                if any(word in message for word in VaultBusy.SIGNS):
                    raise VaultBusy(
                        f"the vault {self.vault.name} is in use; close the other sessions first"
                    ) from error
                raise OperationalError(str(error)) from error
            self._make_spills()
            (self._database,) = self._duckdb.execute("SELECT current_database()").fetchall()[0]
            self._duckdb.execute(f"SET temp_directory = {literal(str(self._spills))}")
            if not self._files:
                self._duckdb.execute("SET enable_external_access = false")
                self._duckdb.execute("SET lock_configuration = true")
        return self._duckdb

    def _attach(self) -> duckdb.DuckDBPyConnection | None:
        """Opens the vault in an engine that may be used again; None where that cannot be."""
        self._reusable = self._files  # else the engine's settings are to be locked
        if self._reusable:
            engine = take_idle_engine()
            with suppress(duckdb.Error):  # "memory.duckdb"; or this process has the vault open
                engine.execute(f"ATTACH {literal(str(self.vault))}")
                ((database,),) = engine.execute(_ATTACHED).fetchall()
                return engine.execute(f"USE {name(database)}")
            engine.close()
            self._reusable = False
        return None

    def _close(self, engine: duckdb.DuckDBPyConnection) -> None:
        if self._reusable:
            with suppress(duckdb.Error):  # an engine that has spilled keeps its folder
                engine.execute(f"USE memory; DETACH {name(self._database)}; RESET temp_directory")
                engine.execute(_END_WHAT_FUNCTIONS_SET, [SystemRandom().uniform(-1, 1)])
                keep_idle_engine(engine)
                return
        engine.close()
