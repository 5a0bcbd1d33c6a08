"""A file in a ledger's place that names a ledger in PostgreSQL: whoever opens the vault opens that.

So no session goes on with a file that others no longer look at, or begins with an empty budget.
"""

from pathlib import Path

from sqlpriv import errors

POINTS = b"postgresql://"
"""What a pointer begins with: a SQLite file does not."""


def mark_beside(path: Path) -> Path:
    """Returns where a machine keeps the mark of the ledger that a pointer at `path` names."""
    return path.with_name(path.name + ".postgresql.mark")


def pointer_of(path: Path, points: bytes = POINTS) -> str:
    """Returns the URL that the file at a ledger's place names; '' for a ledger or no file.

    Raises:
        OperationalError: The file cannot be read.
    """
    try:
        with open(path, "rb") as file:
            start = file.read(4096)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise errors.OperationalError(f"the ledger cannot be read: {error.strerror}") from error
    return start.decode().strip() if start.startswith(points) else ""
