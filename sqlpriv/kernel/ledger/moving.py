"""A ledger moved from its file to PostgreSQL, and the pointer that stays where the file was.

**Claim.** At every moment at most one of the two sells. The file is locked while it is copied; the
copy is whole and committed before the file is closed for good by a trigger, which every process
that has it open obeys at its next charge; only then the pointer takes the file's name. Who opens
the vault finds the pointer, a file that sells nothing, or the file as it was before the move.
"""

import os
from contextlib import closing
from pathlib import Path

from sqlpriv import errors
from sqlpriv.kernel.ledger.database import LedgerDatabase
from sqlpriv.kernel.ledger.file import LedgerFile, closed_count
from sqlpriv.kernel.ledger.pointer import mark_beside, pointer_of, write_pointer
from sqlpriv.kernel.ledger.store import COUNTED, Transaction

TABLES = ("declaration", "budget", "snapshot", "fact", "statement", "charge", "seal", "replay")
CLOSING = "CREATE TRIGGER moved_{0} BEFORE INSERT ON {0} BEGIN SELECT RAISE(ABORT, 'moved'); END"
COPY = "INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE VALUES ({})"
NUMBER_ON = "SELECT setval(pg_get_serial_sequence(?, 'id'), (SELECT max(id) FROM {0}))"


def move_ledger(path: Path, url: str) -> int:
    """Copies a ledger's records into PostgreSQL and leaves a pointer to them in its place.

    The file stays beside it under a new name (`….moved`), closed for good. A move that was cut off
    behind the copy is finished by the same call.

    Args:
        path: The file; an empty ledger is made where there is none.
        url: See `LedgerDatabase`; the database holds no ledger, or one without records.

    Returns:
        How many charges, budgets and declarations there are.

    Raises:
        OperationalError: The ledger was moved before, PostgreSQL's holds other records already, or
            the URL holds a password.
        LedgerError: One of the two is damaged or not ours.
    """
    if pointer_of(path):
        raise errors.OperationalError(f"{path.name} was moved before, to {pointer_of(path)}")
    draft = path.with_name(path.name + ".pointer")
    draft.unlink(missing_ok=True)
    write_pointer(draft, url)
    there = closed_count(path)
    with closing(LedgerDatabase(url, mark_beside(path))) as database, database.begin():
        if database.execute(COUNTED).fetchone()[0] != (there or 0):
            raise errors.OperationalError("the database holds another ledger; name another one")
    if there is None:
        there = _copy_and_close(path, url)
    path.with_name(path.name + ".moved").unlink(missing_ok=True)
    os.link(path, path.with_name(path.name + ".moved"))
    os.replace(draft, path)
    return there


def _copy_and_close(path: Path, url: str) -> int:
    file, database = LedgerFile(path), LedgerDatabase(url, mark_beside(path))
    with closing(file), closing(database), file.begin("IMMEDIATE") as old:
        with database.begin("IMMEDIATE"):
            for table in TABLES:
                _copy_table(old, database, table)
        for table in TABLES:
            old.execute(CLOSING.format(table))
        return int(old.execute(COUNTED).fetchone()[0])


def _copy_table(old: Transaction, database: LedgerDatabase, table: str) -> None:
    rows = old.execute(f"SELECT * FROM {table} ORDER BY id")
    columns = [column[0] for column in rows.description]
    copy = COPY.format(table, ", ".join(columns), ", ".join("?" * len(columns)))
    number = 0
    for number, row in enumerate(rows, 1):  # noqa: B007  # whether there was any
        database.execute(copy, row)
    if number:
        database.execute(NUMBER_ON.format(table), [table])
