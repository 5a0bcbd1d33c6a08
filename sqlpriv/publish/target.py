"""Where to publish, as it is written: a path or a URI."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from sqlpriv.errors import Refused

FORMS = "release.duckdb, 'folder/*.parquet' (in quotes) or postgresql://user@host/database"
_DUCKDB = (".duckdb", ".ddb", ".db")
_POSTGRESQL = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class DuckDBFile:
    """A DuckDB file; made if there is none."""

    path: Path

    @property
    def label(self) -> str:
        """How a message names it."""
        return str(self.path)


@dataclass(frozen=True)
class ParquetFolder:
    """A folder of Parquet files, one a table; made if there is none."""

    path: Path

    @property
    def label(self) -> str:
        """How a message names it."""
        return str(self.path / "*.parquet")


@dataclass(frozen=True)
class PostgreSQL:
    """A PostgreSQL database."""

    uri: str

    @property
    def label(self) -> str:
        """How a message names it: without the password."""
        parts = urlsplit(self.uri)
        user, at, host = parts.netloc.rpartition("@")
        return f"{parts.scheme}://{user.partition(':')[0]}{at}{host}{parts.path}"


Target = DuckDBFile | ParquetFolder | PostgreSQL


def target_of(text: str) -> Target:
    """Returns the target that a text names.

    Raises:
        Refused: It is none of the three.
    """
    if text.startswith(_POSTGRESQL):
        return PostgreSQL(text)
    if "://" in text:
        raise Refused(
            f'"{text}" is no place that tables are published to',
            hint=f"write {FORMS}; then copy the files to where they are to be",
        )
    path = Path(text)
    if path.name == "*.parquet":
        return ParquetFolder(path.parent)
    if path.suffix == ".parquet":
        raise Refused(
            f'"{text}" is one Parquet file; tables are published as one file each',
            hint=f"--to '{path.parent}/*.parquet', in quotes so that the shell leaves the star",
        )
    if path.suffix in _DUCKDB:
        return DuckDBFile(path)
    raise Refused(f'"{text}" names no place to publish to', hint=f"write {FORMS}")
