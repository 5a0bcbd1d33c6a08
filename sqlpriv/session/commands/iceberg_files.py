"""Which files a snapshot of an Iceberg table is made of, if DuckDB reads its rows from them."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from sqlpriv.errors import DeclarationError
from sqlpriv.statements import commands as cmd

_NUMBER = b"PARQUET:field_id"


def iceberg_files(create: cmd.CreateFileTable) -> list[str]:
    """Returns the data files of one snapshot of an Iceberg table, which are never written again.

    The snapshot is the one that the statement names, else the newest one of its metadata file.

    Raises:
        DeclarationError: `pyiceberg` is not installed; the snapshot has delete files; a file is not
            on this machine, or has other columns; there is no such snapshot.
    """
    try:
        from pyiceberg.table import StaticTable
    except ImportError:
        raise DeclarationError("Iceberg tables need pip install 'sqlpriv[iceberg]'") from None
    if len(create.paths) != 1:
        raise DeclarationError("an Iceberg table is named by one metadata file: 'x.metadata.json'")
    try:
        table = StaticTable.from_metadata(create.paths[0])
        if create.snapshot is not None and table.snapshot_by_id(create.snapshot) is None:
            raise ValueError(f"it has no snapshot {create.snapshot}")
        scan = table.scan(snapshot_id=create.snapshot)
        tasks, schema = [*scan.plan_files()], scan.projection()
    except Exception as error:  # of many kinds: by file system, by version of the format
        raise DeclarationError(f"{create.paths[0]} cannot be read as Iceberg: {error}") from error
    if any(task.delete_files for task in tasks):
        raise DeclarationError(
            "the snapshot has delete files, which DuckDB would not apply; rewrite the table's data"
            " files (copy on write), then name the new snapshot"
        )
    places = [urlsplit(task.file.file_path) for task in tasks]
    if far := next((place.geturl() for place in places if place.scheme not in ("", "file")), ""):
        raise DeclarationError(f"{far} is not on this machine; copy the files here")
    if not places:
        raise DeclarationError("the snapshot has no rows")
    paths = sorted(str(Path(unquote(place.path)).resolve()) for place in places)
    wanted = {field.name: str(field.field_id).encode() for field in schema.fields}
    for path in paths:
        numbers = _numbered_columns(path)
        unnumbered = not any(numbers.values()) and numbers.keys() == wanted.keys()
        if numbers != wanted and not unnumbered:  # files of others that were added have no numbers
            raise DeclarationError(
                f"{path} was written before a column of the table was added, dropped or renamed:"
                " DuckDB goes by the names in the files; rewrite the table's data files, then name"
                " the new snapshot"
            )
    return paths


def _numbered_columns(path: str) -> dict[str, bytes]:
    """Returns the names in a Parquet file, and Iceberg's numbers of the columns: those stay."""
    try:
        return {c.name: (c.metadata or {}).get(_NUMBER, b"") for c in pq.read_schema(path)}
    except (OSError, pa.ArrowException) as error:
        raise DeclarationError(f"{path} cannot be read as Parquet: {error}") from error
