"""A ledger moved from PostgreSQL into the file beside its vault: the way back of `ledger_place.py`.

**Claim.** At every moment at most one of the two sells. Whoever writes waits at the guard's lock
while the records are copied. The transaction that holds the lock also makes triggers that refuse
every further record: who has the ledger open meets them at the next charge, and who opens it finds
guards that are not as made. Until that transaction is durable the copy has a name that nobody
opens. Only then the copy takes the pointer's place. The triggers name one copy by 64 random bits:
a second machine with a pointer, or with a copy of its own that a lost connection left, gets none.
"""

from __future__ import annotations

import secrets
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from sqlpriv.errors import OperationalError
from sqlpriv.kernel.ledger.file import LedgerFile
from sqlpriv.kernel.ledger.pointer import mark_beside, pointer_of
from sqlpriv.kernel.ledger.store import COUNTED, Store
from sqlpriv.session.commands.ledger_place import TABLES, connect_primary
from sqlpriv.system.whole_files import into_place

if TYPE_CHECKING:
    from sqlpriv.kernel.ledger.database import LedgerDatabase

COPIES = ".from-postgresql-"
"""What follows a ledger's name in the name of a copy that is not yet in its place."""
CLOSING = (
    "CREATE FUNCTION moved() RETURNS TRIGGER LANGUAGE plpgsql AS"
    " $$ BEGIN RAISE EXCEPTION 'moved' USING ERRCODE = '55MOV'; END $$;"
    " COMMENT ON FUNCTION moved() IS '{copy}'"
)
CLOSING_TABLE = "CREATE TRIGGER moved BEFORE INSERT ON {} EXECUTE FUNCTION moved()"
CLOSED_FOR = "SELECT obj_description(to_regprocedure('sqlpriv_ledger.moved()'), 'pg_proc')"


def move_ledger_to_file(vault: Path) -> int:
    """Copies a ledger's records from PostgreSQL into a file that takes the place of the pointer.

    What is in PostgreSQL stays there, closed for good, and every machine that has a pointer to it
    is refused. A move that was cut off is finished by the same call on the same machine.

    Returns:
        How many charges, budgets and declarations there are.

    Raises:
        OperationalError: The ledger is in no database, or was moved out of it by another machine;
            PostgreSQL is not reached, or psycopg is not installed.
        LedgerError: The ledger is damaged, or this login does not own it.
    """
    path = vault.with_suffix(".ledger")
    if not (url := pointer_of(path)):
        raise OperationalError(f"the ledger of {vault.name} is in no database: {path.name} is it")
    copy = _copy_named_in(url)
    if not copy:
        _remove_copies(path)  # PostgreSQL names none of them: they never sold
        copy = secrets.token_hex(8)
        _copy_and_close(path, url, copy)
    draft = path.with_name(f"{path.name}{COPIES}{copy}")
    if not draft.exists():
        raise OperationalError(
            f"the ledger at {url} was moved into a file before, on another machine: it sells there"
        )
    # a log of the file that was moved away would be read as this file's own
    for log in ("-wal", "-shm"):
        Path(f"{path}{log}").unlink(missing_ok=True)
    into_place(draft.with_name(f"{draft.name}.mark"), path.with_name(f"{path.name}.mark"))
    into_place(draft, path)
    with closing(LedgerFile(path)) as file:
        return int(file.execute(COUNTED).fetchone()[0])


def _copy_named_in(url: str) -> str:
    """Returns which copy the ledger in PostgreSQL was closed for; '' where it is open."""
    with connect_primary(url) as database:
        (copy,) = database.execute(CLOSED_FOR).fetchone() or (None,)
    return copy or ""


def _copy_and_close(path: Path, url: str, copy: str) -> None:
    from sqlpriv.kernel.ledger.database import LedgerDatabase

    draft = path.with_name(f"{path.name}{COPIES}{copy}")
    mark = mark_beside(path)
    with closing(LedgerDatabase(url, mark)) as database, database.begin("IMMEDIATE"):
        try:
            _write_copy(database, draft)
            database.execute(CLOSING.format(copy=copy))
            for table in TABLES:
                database.execute(CLOSING_TABLE.format(table))
        except BaseException:  # Ctrl-C, too; where COMMIT is cut off the copy may be needed
            _remove_copies(path)
            raise


def _remove_copies(path: Path) -> None:
    for left in list(path.parent.iterdir()):
        if left.name.startswith(f"{path.name}{COPIES}"):
            left.unlink()


def _write_copy(database: LedgerDatabase, draft: Path) -> None:
    with closing(LedgerFile(draft)) as file:
        with file.begin("IMMEDIATE"):
            for table in TABLES:
                _copy_table(database, file, table)
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _copy_table(database: Store, file: Store, table: str) -> None:
    rows = database.execute(f"SELECT * FROM {table} ORDER BY id")
    columns = [column[0] for column in rows.description]
    marks = ", ".join("?" * len(columns))
    for record in rows:
        file.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", record)
