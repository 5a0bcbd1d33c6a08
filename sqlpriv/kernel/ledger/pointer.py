"""A file in a ledger's place that names a ledger in PostgreSQL: whoever opens the vault opens that.

So no session goes on with a file that others no longer look at, or begins with an empty budget.
"""

from pathlib import Path

from sqlpriv import errors

POINTS = b"postgresql://"
"""What a pointer begins with: a SQLite file does not."""
MOST_BYTES = 2048
"""A pointer is no longer; a ledger in SQLite's file is."""


def mark_beside(path: Path) -> Path:
    """Returns where a machine keeps the mark of the ledger that a pointer at `path` names."""
    return path.with_name(path.name + ".postgresql.mark")


def pointer_of(path: Path, points: bytes = POINTS) -> str:
    """Returns the URL that the file at a ledger's place names; '' for a ledger or no file.

    Claim: a ledger is never opened here. To close any descriptor of a file gives up all POSIX locks
    that the process has on it, SQLite's among them. Another process that closes the ledger would
    then take itself for the last one, and remove the log that this process still writes charges to.

    Raises:
        OperationalError: The file cannot be read.
    """
    try:
        if not path.exists() or path.stat().st_size > MOST_BYTES:
            return ""
        start = path.read_bytes()
    except OSError as error:
        raise errors.OperationalError(f"the ledger cannot be read: {error.strerror}") from error
    return start.decode().strip() if start.startswith(points) else ""
