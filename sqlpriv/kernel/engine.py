"""DuckDB, kept from statement to statement: a vault is attached while it is read, and no longer.

Claim: what is read is of one file, that of the fingerprint, and no process writes it meanwhile. To
close any descriptor of a file gives up all POSIX locks that the process has on it, DuckDB's among
them: an owner's session in this process that tries to write, and may not, does. So a process has
one engine for each vault, attached once for all who read at a time, and while there are readers it
has a second lock on the file, of its open file description (OFD, Linux alone), which no closing
gives up. It is there before the file is compared with its fingerprint.
Claim: what does not fit into memory, rows among it, goes into a folder of this process that nobody
else may enter (DuckDB makes files that all may read); what is left in it goes when nobody reads.
The spill folder's name holds a random token, because two containers that share a disk can run under
the same process id, and somebody else could create a predictable name in advance.
Where others may write beside the vault, a folder or link of theirs by that name is not taken for
ours: the vault is not opened.
"""

import fcntl
import hashlib
import os
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from weakref import WeakSet

import duckdb

from sqlpriv.errors import OperationalError, VaultBusy
from sqlpriv.kernel.rows_in_files import Files, contents_of, descriptor_of, files_of, states_of
from sqlpriv.kernel.spark.spark_session import spark_of
from sqlpriv.kernel.sql.quoting import literal

OPTIMIZERS_OFF = (
    "top_n_window_elimination",  # makes lists of units' rows
    # These change the work on one side of a join by what is in the other: see `sql.joins`.
    "join_order",
    "build_side_probe_side",
    "join_filter_pushdown",
    "outer_join_simplification",
    "empty_result_pullup",
    "statistics_propagation",
)
CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "memory_limit": "50%",
    "disabled_optimizers": ",".join(OPTIMIZERS_OFF),
}
SEAL = "SET enable_external_access = false; SET lock_configuration = true; DETACH vault"
"""No files but the vault that was attached before and those of its tables (`rows_in_files`), no
network, no extensions, half of the memory, no way to change that; and no vault until it is read."""
FORGET = "DROP SCHEMA IF EXISTS memory.sqlpriv CASCADE; CREATE SCHEMA memory.sqlpriv"
"""Ends what was listed of another state of the vault: see `sql.bounded_rows.BoundedRows.halves`."""
KEPT = 4
"""Engines, at most, of vaults that nobody reads."""
_USING, _TOKEN = threading.RLock(), os.urandom(4).hex()
_LISTED: dict[str, Files] = {}  # by `contents_of`


@dataclass(eq=False)
class Engine:
    """One vault's. The fingerprint is that of the file that is attached while there are readers:
    a reader that was interrupted, and is gone, is none. While it is attached, `file` is the
    descriptor that is locked, and `spills` is there. `idle` are connections of readers that have
    ended, with the macros that were made in them; to close `main` closes them."""

    main: duckdb.DuckDBPyConnection
    spills: Path
    files: Files
    fingerprint: str = ""
    file: int = -1
    readers: WeakSet[duckdb.DuckDBPyConnection] = field(default_factory=WeakSet)
    idle: list[tuple[str, duckdb.DuckDBPyConnection]] = field(default_factory=list)


_ENGINES: dict[Path, Engine] = {}  # by `spills`, of this process: threads do not outlive a fork


def attach(vault: Path, macros: str = "") -> tuple[Engine, duckdb.DuckDBPyConnection]:
    """Returns a connection to the vault, read-only, and its engine; `detach` takes them back.
    `macros` are made in it, for it alone; a connection that `detach` kept has them already.

    Raises VaultBusy where somebody writes or swaps the file, OperationalError where it is no vault.
    """
    with _USING:
        try:
            engine = _engine(vault)
            if not engine.readers:
                contents = contents_of(vault)
                engine.main.execute(f"DETACH DATABASE IF EXISTS vault; {_attaching(vault)}")
                if contents not in _LISTED:
                    for old in [*_LISTED][:-63]:
                        del _LISTED[old]
                    _LISTED[contents] = files_of(engine.main)
                if _LISTED[contents] != engine.files:
                    engine = _engine(vault, _LISTED[contents])
                    engine.main.execute(_attaching(vault))
                engine.file = _lock(descriptor_of(vault), fcntl.F_RDLCK)
                if (now := _with_files(contents, vault)) != engine.fingerprint:
                    engine.main.execute(FORGET)
                    engine.fingerprint = now
                rmtree(engine.spills, ignore_errors=True)  # of who was interrupted
                # where we may make no folder, DuckDB may not either
                if os.path.lexists(engine.spills) or os.access(engine.spills.parent, os.W_OK):
                    engine.spills.mkdir(0o700)
            if engine.idle and engine.idle[-1][0] == macros:
                connection = engine.idle.pop()[1].execute("USE vault")
            else:
                connection = engine.main.cursor().execute(f"USE vault; {macros}")
            engine.readers.add(connection)
            if fingerprint(vault) == engine.fingerprint:  # else another file has its name now
                return engine, connection
            detach(engine, connection)
            _LISTED.clear()  # the files may be those of the other vault
            failure = VaultBusy.SIGNS[0]
        except (duckdb.Error, OSError) as error:
            failure = str(error).lower()
    # raised out here, DuckDB's text is not its context
    if any(word in failure for word in VaultBusy.SIGNS):
        raise VaultBusy(f"the vault {vault.name} is being written; nothing was read or charged")
    raise OperationalError(f"the vault {vault.name} cannot be opened; nothing was read or charged")


def detach(engine: Engine, connection: duckdb.DuckDBPyConnection, macros: str = "") -> None:
    """Ends a connection; the last of a vault lets go of the file. No error of DuckDB's leaves: an
    engine that broke says to all why it did. It is closed then, as where it keeps a file to spill.

    With its `macros` a connection is kept for the next reader: to make them takes longer than most
    reads. Claim: it keeps nothing else of its reader. Whatever runs next on a connection drops the
    result before; no reader prepares a statement or sets anything, and the engine's settings are
    locked. What readers make are lists of a state of the vault alone, under names that say of what.
    """
    with _USING:
        engine.readers.discard(connection)
        with suppress(duckdb.Error):
            if macros and len(engine.idle) < KEPT:
                engine.idle.append((macros, connection.execute("USE memory")))
            else:
                connection.close()
        if not engine.readers:
            with suppress(OSError):  # where the vault was one of too many, it is closed
                _lock(engine.file, fcntl.F_UNLCK)
            with suppress(duckdb.Error, OSError):
                engine.main.execute("DETACH DATABASE IF EXISTS vault")
                engine.spills.rmdir()
            if engine.spills.exists():
                _ENGINES.pop(engine.spills, engine).main.close()
                rmtree(engine.spills, ignore_errors=True)


def _lock(file: int, kind: int) -> int:
    """Locks a descriptor of a vault against who writes it (F_RDLCK), or unlocks it; returns it.
    Raises OSError where somebody writes."""
    if command := getattr(fcntl, "F_OFD_SETLK", None):
        fcntl.fcntl(file, command, struct.pack("hhqqi4x", kind, 0, 0, 0, 0))  # all of the file
    return file


def _attaching(vault: Path) -> str:
    return f"ATTACH {literal(str(vault.resolve()))} AS vault (TYPE duckdb, READ_ONLY)"


def _engine(vault: Path, files: Files | None = None) -> Engine:
    """Returns the vault's engine, which can open no other file; a new one where `files` differ."""
    at = Path(f"{vault.resolve()}.spill{os.getpid()}-{_TOKEN}.tmp")
    if files is not None and at in _ENGINES:
        _ENGINES.pop(at).main.close()
    if at not in _ENGINES:
        for old in [key for key, engine in _ENGINES.items() if not engine.readers][: 1 - KEPT]:
            _ENGINES.pop(old).main.close()
        connection = duckdb.connect(config=CONFIG)
        paths = ", ".join(literal(p) for listed in (files or {}).values() for p in listed.opened)
        connection.execute(
            f"SET allowed_paths = [{paths}]; SET temp_directory = {literal(str(at))};"
            f"{_attaching(vault)}; {SEAL}"
        )
        _ENGINES[at] = Engine(connection, at, files or {})
    return _ENGINES[at]


def fingerprint(vault: Path) -> str:
    """Returns a name of the vault's contents and of its tables' files: equal only while nothing was
    written to either, and one engine reads the files. Files that no reader has seen yet are not in
    it, and no answer is of them."""
    return _with_files(contents_of(vault), vault)


def _with_files(contents: str, vault: Path) -> str:
    states = states_of(_LISTED.get(contents, {})) + ("spark" if spark_of(vault) else "")
    return hashlib.sha256(f"{contents} {states}".encode()).hexdigest() if states else contents
