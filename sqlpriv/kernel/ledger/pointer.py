"""A file in a ledger's place that names a ledger in PostgreSQL: whoever opens the vault opens that.

So no session goes on with a file that others no longer look at, or begins with an empty budget.
"""

import os
from pathlib import Path
from urllib.parse import urlsplit

from sqlpriv import errors

POINTS = b"postgresql://"
"""What a pointer begins with: a SQLite file does not."""


def mark_beside(path: Path) -> Path:
    """Returns where a machine keeps the mark of the ledger that a pointer at `path` names."""
    return path.with_name(path.name + ".postgresql.mark")


def pointer_of(path: Path) -> str:
    """Returns the URL that the file at a ledger's place names; '' for a ledger or no file.

    Raises:
        OperationalError: The file cannot be read.
    """
    try:
        if not path.exists():
            return ""
        with open(path, "rb") as file:
            start = file.read(len(POINTS))
            return (start + file.read()).decode().strip() if start == POINTS else ""
    except OSError as error:
        raise errors.OperationalError(f"the ledger cannot be read: {error.strerror}") from error


def write_pointer(path: Path, url: str) -> None:
    """Makes a file that names a ledger in PostgreSQL; whoever opens the vault opens that one.

    Raises:
        OperationalError: There is a file by that name, or the URL is none of PostgreSQL's, or holds
            a password, which many may read here.
    """
    if not url.encode().startswith(POINTS) or "\n" in url:
        raise errors.OperationalError("a ledger's URL is postgresql://user@host/database")
    if urlsplit(url).password or "password=" in url:
        hint = "put it into the environment (PGPASSWORD) or into ~/.pgpass"
        raise errors.OperationalError(f"the ledger's URL holds a password: {hint}")
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(url + "\n")
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        raise errors.OperationalError(f"{path.name} is there already") from None
    except OSError as error:
        raise errors.OperationalError(f"{path.name} cannot be made: {error.strerror}") from error
