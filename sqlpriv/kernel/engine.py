"""DuckDB, kept from statement to statement: a vault is attached while it is read, and no longer.

Claim: a read is of one file, the one that the fingerprint names, and no process writes that file
during the read. DuckDB locks the file, but its lock alone is not enough: a process that closes any
descriptor of a file gives up all of its POSIX locks on that file, and an owner's session in this
process closes one when it tries to write and is refused. So a process has one engine for each
vault, attached once for all readers of the moment. While there are readers, the process also holds
a lock of the open file description (OFD, on Linux alone), which closing another descriptor does not
give up. That lock is taken before the file is compared with its fingerprint.

Claim: nobody else reads what DuckDB spills to disk, which may hold rows. DuckDB makes files that
everybody may read, so it spills into a folder that only this user may enter; the folder is emptied
when nobody reads. The spill folder's name holds a random token, because two containers that share a
disk can run under the same process id, and somebody else could create a predictable name in
advance. If there is a folder or link of that name which is not ours, the vault is not opened.
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
from sqlpriv.kernel.sql.queries import MACROS
from sqlpriv.kernel.sql.quoting import literal
from sqlpriv.system.idle_engines import never_free

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
"""After this the engine opens no file but the vault and the files of its tables (`rows_in_files`),
reaches no network, loads no extension, uses half of the memory, and none of it can be changed. The
vault is attached only while somebody reads it."""
FORGET = "DROP SCHEMA IF EXISTS memory.sqlpriv CASCADE; CREATE SCHEMA memory.sqlpriv"
"""Drops the lists of units that were made of another state of the vault: see
`sql.bounded_rows.BoundedRows.halves`."""
KEPT = 4
"""The most engines that are kept for vaults that nobody reads."""
_USING, _TOKEN = threading.RLock(), os.urandom(4).hex()
_LISTED: dict[str, Files] = {}  # by `contents_of`


@dataclass(eq=False)
class Engine:
    """The engine of one vault.

    Attributes:
        main: The connection that attaches and detaches the vault; closing it closes all others.
        spills: The folder to spill into; it exists while the vault is attached.
        files: The files of the vault's tables that lie outside of it.
        fingerprint: Of the file that is, or was last, attached.
        file: The descriptor that is locked while the vault is attached.
        readers: Connections that are reading. A reader that was interrupted drops out of the set
            when Python frees it.
        listing: Of two threads that make the same list of units, one would fail.
    """

    main: duckdb.DuckDBPyConnection
    spills: Path
    files: Files
    fingerprint: str = ""
    file: int = -1
    readers: WeakSet[duckdb.DuckDBPyConnection] = field(default_factory=WeakSet)
    listing: threading.Lock = field(default_factory=threading.Lock)


_ENGINES: dict[Path, Engine] = {}  # by `spills`


def _leave_to_parent() -> None:
    """Forgets the engines of the process that was forked, and has them never end here.

    Claim: a forked process lives on, and its parent's reads with it. An engine's threads do not
    outlive a fork, and to end an engine waits for them, or crashes. Who was reading when the
    process was forked lets go of no file here: the lock and the spill folder are the parent's.
    """
    for engine in _ENGINES.values():
        engine.readers.add(engine.main)
    never_free(_ENGINES.copy())
    _ENGINES.clear()
    _USING.release()


# Nobody attaches or detaches while the process is forked.
os.register_at_fork(
    before=_USING.acquire, after_in_parent=_USING.release, after_in_child=_leave_to_parent
)


def attach(vault: Path) -> tuple[Engine, duckdb.DuckDBPyConnection]:
    """Returns a vault's engine and a read-only connection to it; `detach` takes both back. Names
    are looked up in the vault first, and then among the macros of `udfs/`.

    Raises:
        VaultBusy: Somebody writes the file, or another file took its name.
        OperationalError: The file is no vault.
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
            connection = engine.main.cursor().execute("SET search_path = 'vault.main,memory.main'")
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


def detach(engine: Engine, connection: duckdb.DuckDBPyConnection) -> None:
    """Ends a connection; the last one of a vault lets go of the file.

    No error of DuckDB leaves: a broken engine repeats to everybody why it broke, and the text may
    quote rows. An engine that broke, or that still has a file in its spill folder, is closed.

    Claim: nothing of a reader is kept but tables of one kind: lists of units of one state of the
    vault, whose names say which list it is.
    """
    with _USING:
        engine.readers.discard(connection)
        with suppress(duckdb.Error):
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
    """Returns the vault's engine, which can open no other file. Where the vault has other `files`
    than the engine was made for, a new engine is made."""
    at = Path(f"{vault.resolve()}.spill{os.getpid()}-{_TOKEN}.tmp")
    if files is not None and at in _ENGINES:
        _ENGINES.pop(at).main.close()
    if at not in _ENGINES:
        for old in [key for key, engine in _ENGINES.items() if not engine.readers][: 1 - KEPT]:
            _ENGINES.pop(old).main.close()
        connection = duckdb.connect(config=CONFIG)
        paths = ", ".join(literal(p) for listed in (files or {}).values() for p in listed.opened)
        connection.execute(
            f"{MACROS} SET allowed_paths = [{paths}]; SET temp_directory = {literal(str(at))};"
            f"{_attaching(vault)}; {SEAL}"
        )
        _ENGINES[at] = Engine(connection, at, files or {})
    return _ENGINES[at]


def fingerprint(vault: Path) -> str:
    """Returns a name of the contents of the vault and of its tables' files. It stays the same only
    while none of them is written, and while the same engine reads the files. Files that no reader
    has seen yet do not count, and no answer was made of them."""
    return _with_files(contents_of(vault), vault)


def _with_files(contents: str, vault: Path) -> str:
    states = states_of(_LISTED.get(contents, {})) + ("spark" if spark_of(vault) else "")
    return hashlib.sha256(f"{contents} {states}".encode()).hexdigest() if states else contents
