"""Released tables, handed to where BI tools read: a DuckDB file, Parquet files, PostgreSQL.

Everything here is about what was released already: it reads the release file and nothing else, so
it spends nothing and can reveal nothing. With each table goes its comment: method, epsilon, delta,
strata, when and by whom it was made, from which statement. A reader of the old table is not
disturbed, and a crash leaves the old one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlpriv.errors import Refused
from sqlpriv.publish import duckdb_file, parquet, postgresql
from sqlpriv.publish.release_file import ReleaseStore
from sqlpriv.publish.target import DuckDBFile, ParquetFolder, target_of

__all__ = ["publish"]


def publish(store: ReleaseStore, tables: Sequence[str], to: str, vault: Path) -> str:
    """Writes released tables to a target, those of their names there replaced; others stay.

    Args:
        store: Where they were released.
        tables: Their names; none for all of them.
        to: `bi.duckdb`, `folder/*.parquet` or `postgresql://…`.
        vault: The private file, which is never written here.

    Returns:
        What was done, in words.

    Raises:
        Refused: No such table or target, or something there is not ours to replace.
        VaultBusy: Somebody writes there, or a reader does not end.
        OperationalError: It could not be written; what was there is untouched.
    """
    target = target_of(to)
    names = _choose_tables(store, tables)
    match target:
        case DuckDBFile(path):
            duckdb_file.write(store, names, path, vault)
        case ParquetFolder(folder):
            parquet.write(store, names, folder)
        case _:
            postgresql.write(store, names, target)
    return f"published {', '.join(names)} to {target.label}"


def _choose_tables(store: ReleaseStore, tables: Sequence[str]) -> tuple[str, ...]:
    """Returns the tables asked for as they are spelt in the release file, each once."""
    there = {name.lower(): name for name in store.tables()}
    if not there:
        raise Refused(
            f"nothing is in {store.path.name} so far",
            hint="CREATE SYNTHETIC TABLE … AS SELECT … USING mst makes a table to publish",
        )
    for table in tables:
        if table.lower() not in there:
            raise Refused(
                f'there is no released table "{table}"',
                hint=f"released: {', '.join(there.values())}; private tables are never published",
            )
    wanted_tables = dict.fromkeys(table.lower() for table in tables) if tables else there
    return tuple(there[name] for name in wanted_tables)
