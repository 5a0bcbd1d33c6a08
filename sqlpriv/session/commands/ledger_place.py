"""Where a vault's ledger is kept: beside it, or in PostgreSQL for servers on many machines.

An owner moves a ledger from its file into PostgreSQL, and a pointer stays where the file was. The
way back is `session/ledger_moves`.

**Claim.** At every moment at most one of the two sells. The file is locked while it is copied; the
copy is whole and committed before the file is closed for good by a trigger, which every process
that has it open obeys at its next charge; only then the pointer takes the file's name. Who opens
the vault finds the pointer, a file that sells nothing, or the file as it was before the move.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from sqlpriv.errors import OperationalError
from sqlpriv.kernel.ledger.file import BUSY_SECONDS, LedgerFile
from sqlpriv.kernel.ledger.pointer import MOST_BYTES, POINTS, mark_beside, pointer_of
from sqlpriv.kernel.ledger.store import COUNTED, Store

if TYPE_CHECKING:
    import psycopg

    from sqlpriv.kernel.ledger.database import LedgerDatabase

TABLES = ("declaration", "budget", "snapshot", "fact", "statement", "charge", "seal", "replay")
NEEDS_PSYCOPG = "a ledger in PostgreSQL needs pip install 'sqlpriv[postgresql-ledger]'"
CLOSING = (
    "CREATE TRIGGER IF NOT EXISTS moved_{0} BEFORE INSERT ON {0}"
    " BEGIN SELECT RAISE(ABORT, 'moved'); END"
)
COPY = "INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE VALUES ({})"
NUMBER_ON = "SELECT setval(pg_get_serial_sequence(?, 'id'), (SELECT max(id) FROM {0}))"


def keep_ledger_at(vault: Path, url: str) -> None:
    """Makes a vault without a ledger use the one in PostgreSQL; a new one is made if there is none.

    Raises:
        OperationalError: The vault has another ledger, or the URL is none of PostgreSQL's.
    """
    path = vault.with_suffix(".ledger")
    if not path.exists():
        write_pointer(path, url)
    elif pointer_of(path) != url:
        there = pointer_of(path) or f"the file {path.name}"
        raise OperationalError(
            f"the ledger of {vault.name} is {there}; to move a file into PostgreSQL run"
            f" sqlpriv ledger move {vault} --to {url}"
        )


def refuse_lone_primary(vault: Path) -> None:
    """Refuses to start where the ledger's URL names several servers of PostgreSQL, of which one
    takes over when the primary is lost, and the primary acknowledges what it alone has on its disk.

    Raises:
        OperationalError: The primary waits for no standby, none of the servers is reached, or
            psycopg is missing.
    """
    if not (url := pointer_of(vault.with_suffix(".ledger"))):
        return
    hosts, standbys = _hosts_and_standbys(url)
    if "," in hosts and not standbys:
        raise OperationalError(
            "the ledger's URL names several servers, and their primary waits for no standby: what"
            " it sold last would be lost with it; on the primary run ALTER SYSTEM SET"
            " synchronous_standby_names = '*', then SELECT pg_reload_conf(); or name one server"
        )


@contextmanager
def connect_primary(url: str) -> Iterator[psycopg.Connection[Any]]:
    """Connects to the primary that PostgreSQL's URL names, for the block.

    Raises:
        OperationalError: It is not reached, or refuses a statement; it says why, as an owner may
            know. Or psycopg is missing, or libpq, without which psycopg is none.
    """
    try:
        import psycopg  # of an extra
        from psycopg.conninfo import make_conninfo
    except ImportError:
        raise OperationalError(NEEDS_PSYCOPG) from None
    try:
        primary = make_conninfo(url, connect_timeout=10, target_session_attrs="read-write")
        with psycopg.connect(primary) as database:
            yield database
    except psycopg.Error as error:
        reason = " ".join(str(error).split()) or "no connection"
        raise OperationalError(f"the ledger at {url} cannot be reached: {reason}") from None


def _hosts_and_standbys(url: str) -> tuple[str, str]:
    """Returns what PostgreSQL's URL names as hosts, and the standbys that its primary waits for.

    Raises:
        OperationalError: See `connect_primary`.
    """
    with connect_primary(url) as database:
        from psycopg.conninfo import conninfo_to_dict  # the connection was made by it

        (standbys,) = database.execute("SHOW synchronous_standby_names").fetchone() or ("",)
        return str(conninfo_to_dict(url).get("host", "")), str(standbys)


def refuse_pointer(vault: Path, doing: str) -> None:
    """Raises OperationalError where a vault's ledger is in PostgreSQL, beyond what files can do."""
    if url := pointer_of(vault.with_suffix(".ledger")):
        raise OperationalError(
            f"the ledger of {vault.name} is {url}: {doing} with PostgreSQL's own tools"
            " (pg_dump --schema=sqlpriv_ledger), and copy the vault while nobody writes it"
        )


def move_ledger_to(vault: Path, url: str) -> int:
    """Moves a vault's ledger from its file into PostgreSQL: see `move_ledger`.

    Raises:
        OperationalError: There is no vault, or psycopg is not installed; and as `move_ledger`.
    """
    if not vault.exists():
        raise OperationalError(f"there is no vault at {vault}")
    return move_ledger(vault.with_suffix(".ledger"), url)


def write_pointer(path: Path, url: str) -> None:
    """Makes a file that names a ledger in PostgreSQL; whoever opens the vault opens that one.

    Raises:
        OperationalError: There is a file by that name, or the URL is none of PostgreSQL's, or holds
            a password, which many may read here.
    """
    written = f"{url}\n".encode()
    if not written.startswith(POINTS) or "\n" in url or len(written) > MOST_BYTES:
        raise OperationalError("a ledger's URL is postgresql://user@host/database")
    if urlsplit(url).password or "password=" in url:
        hint = "put it into the environment (PGPASSWORD) or into ~/.pgpass"
        raise OperationalError(f"the ledger's URL holds a password: {hint}")
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(written)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        raise OperationalError(f"{path.name} is there already") from None
    except OSError as error:
        raise OperationalError(f"{path.name} cannot be made: {error.strerror}") from error


def move_ledger(path: Path, url: str) -> int:
    """Copies a ledger's records into PostgreSQL and leaves a pointer to them in its place.

    The file stays beside it under a new name (`….moved`), closed for good. A move that was cut off
    before PostgreSQL committed the copy, or after the file was closed, is finished by the same
    call. Between the two the file goes on selling, alone, and the copy is one that nobody names:
    the same call refuses it as another ledger. Drop it (DROP SCHEMA sqlpriv_ledger CASCADE), or
    name another database.

    Args:
        path: The file; an empty ledger is made where there is none.
        url: See `LedgerDatabase`; the database holds no ledger, or one without records.

    Returns:
        How many charges, budgets and declarations there are.

    Raises:
        OperationalError: The ledger was moved before, PostgreSQL is not reached or holds other
            records already, or the URL holds a password. All files are as they were.
        LedgerError: One of the two is damaged or not ours.
    """
    if there := pointer_of(path):
        raise OperationalError(
            f"{path.name} was moved before, to {there}; from there sqlpriv ledger move VAULT --to"
            " file takes it back, and it can be moved on"
        )
    draft, mark = (path.with_name(f"{path.name}.{new}") for new in ("pointer", "moving.mark"))
    for left in (draft, mark):  # by a move that was cut off
        left.unlink(missing_ok=True)
    try:
        write_pointer(draft, url)
        _hosts_and_standbys(url)
        records = _copy_unless_there(path, url, mark)
        # only now: a mark of a ledger that was refused would refuse every later one, too
        os.replace(mark, mark_beside(path))
        path.with_name(path.name + ".moved").unlink(missing_ok=True)
        os.link(path, path.with_name(path.name + ".moved"))
        os.replace(draft, path)
    finally:
        for left in (draft, mark):
            left.unlink(missing_ok=True)
    return records


def _copy_unless_there(path: Path, url: str, mark: Path) -> int:
    """Copies a file's records into PostgreSQL, unless a move that was cut off did; returns how many
    there are.

    Raises:
        OperationalError: PostgreSQL holds other records.
    """
    from sqlpriv.kernel.ledger.database import LedgerDatabase

    there = closed_count(path)
    with closing(LedgerDatabase(url, mark)) as database:
        with database.begin():
            if database.execute(COUNTED).fetchone()[0] != (there or 0):
                raise OperationalError("the database holds another ledger; name another one")
        return _copy_and_close(path, database) if there is None else there


def closed_count(path: Path) -> int | None:
    """Returns how many records a file holds that a move closed; None for any other file."""
    if not path.exists():
        return None
    # who may only read leaves the log, and what goes with it, that it had to make
    with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=rw", uri=True)) as db:
        sql = "SELECT count(*) FROM sqlite_master WHERE name = 'moved_charge'"
        with suppress(sqlite3.DatabaseError):  # no SQLite file: who opens it says so
            if db.execute(sql).fetchone()[0]:
                return int(db.execute(COUNTED).fetchone()[0])
    return None


def close_for_good(path: Path, check: Callable[[int], None]) -> None:
    """Has a ledger's file sell nothing any more, to whoever has it open. Its records stay.

    Args:
        path: The file; it is closed without the log that SQLite keeps beside it, too.
        check: Is told how many records there are, and none can be added; what it raises leaves the
            file open.

    Raises:
        sqlite3.Error: It is no ledger, or somebody writes it for long.
    """
    uri = f"file:{quote(str(path.resolve()))}?mode=rw"
    with closing(sqlite3.connect(uri, BUSY_SECONDS, isolation_level=None, uri=True)) as db:
        db.execute("BEGIN IMMEDIATE")
        check(int(db.execute(COUNTED).fetchone()[0]))
        for table in TABLES:
            db.execute(CLOSING.format(table))
        db.execute("COMMIT")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _copy_and_close(path: Path, database: LedgerDatabase) -> int:
    with closing(LedgerFile(path)) as file, file.begin("IMMEDIATE") as old:
        with database.begin("IMMEDIATE"):
            for table in TABLES:
                _copy_table(old, database, table)
            # else the server plans for empty tables until autovacuum comes by: a tenth of the speed
            database.execute(f"ANALYZE {', '.join(TABLES)}")
        for table in TABLES:
            old.execute(CLOSING.format(table))
        records = int(old.execute(COUNTED).fetchone()[0])
    # into the file itself: its log keeps the name that the file loses
    with closing(sqlite3.connect(path)) as closed:
        closed.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return records


def _copy_table(old: Store, database: LedgerDatabase, table: str) -> None:
    rows = old.execute(f"SELECT * FROM {table} ORDER BY id")
    columns = [column[0] for column in rows.description]
    copy = COPY.format(table, ", ".join(columns), ", ".join("?" * len(columns)))
    for record in rows:
        database.execute(copy, record)
    database.execute(NUMBER_ON.format(table), [table])  # of an empty table this changes nothing
