"""Released tables as Parquet files in a folder, one a table, each renamed into its place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from sqlpriv.errors import OperationalError
from sqlpriv.publish.release_file import ReleaseStore, quote_identifier, refuse_foreign
from sqlpriv.system import whole_files

COMMENT = "comment"
"""Key of a file's metadata under which its table's comment stands."""
BATCH = 100_000
"""Rows of a row group."""


def write(store: ReleaseStore, names: Sequence[str], folder: Path) -> None:
    """Writes every table aside, then renames one after the other; other files stay.

    A reader sees a table's old file or its new one, never a part. A crash in between the renames
    leaves some tables old and some new.

    Raises:
        Refused: A file of one of the names is there that does not hold a released table.
        OperationalError: It could not be written; no file was changed.
    """
    places = {name: folder / file_name(name) for name in names}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with whole_files.lock_folder(folder / ".sqlpriv.lock"):
            try:
                _write(store, places)
            finally:
                whole_files.clear(folder, "*")
    except OSError as error:
        raise OperationalError(f"{folder} cannot be written: {error.strerror}") from None


def file_name(table: str) -> str:
    """Returns a table's file name: itself where it can be one, other signs as %xx."""
    return re.sub(r"[^\w \-]", lambda sign: f"%{ord(sign[0]):02X}", table) + ".parquet"


def _write(store: ReleaseStore, places: dict[str, Path]) -> None:
    comments = store.comments()
    for name, place in places.items():
        refuse_foreign(name, {name: _comment(place)} if place.exists() else {})
    with store.connect_read_only() as engine:
        for name, place in places.items():
            _write_table(engine, name, comments[name], whole_files.building(place))
    for place in places.values():
        whole_files.into_place(whole_files.building(place), place)


def _write_table(
    engine: duckdb.DuckDBPyConnection, name: str, comment: str, building: Path
) -> None:
    rows = engine.sql(f"FROM {quote_identifier(name)}").to_arrow_reader(BATCH)
    schema = rows.schema.with_metadata({COMMENT: comment})
    with pq.ParquetWriter(building, schema, compression="zstd") as out:
        for batch in rows:
            out.write_table(pa.Table.from_batches([batch]))


def _comment(path: Path) -> str:
    """Returns the comment in a file's metadata; '' in what is no Parquet file or has none."""
    try:
        metadata = pq.read_metadata(path).metadata or {}
    except (OSError, pa.ArrowInvalid):
        return ""
    return (metadata.get(COMMENT.encode()) or b"").decode()
