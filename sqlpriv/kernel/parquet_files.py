"""Tables whose rows lie in Parquet files: which files they are, and whether one of them changed.

Such a table is a view of the vault with one form, `FORM`: every row of a fixed list of files, no
column or row left out, named by whole paths. A view of another form is no table, and is never read.

Claim: the sealed engine can open the vault and exactly these files. Their state is a part of the
fingerprint, which is taken before and after each read: what was read is of the files that were
planned for, or no answer leaves, and what was charged stays charged. DuckDB locks no Parquet file,
so a file that changes while it is read is found out only afterwards.
"""

import hashlib
import os
import re
from contextlib import suppress

import duckdb

from sqlpriv.errors import OperationalError
from sqlpriv.kernel.sql.quoting import literal, name

TEXT = "'(?:[^']|'')*'"
FORM = (
    r'CREATE VIEW (?:main\.)?(?:[a-zA-Z_][a-zA-Z_0-9]*|"(?:[^"]|"")*") AS SELECT \* FROM '
    rf"read_parquet\(list_value\({TEXT}(?:, {TEXT})*\)\);"
)
"""A view as DuckDB prints it, whole; a pattern that Python and DuckDB read alike."""
VIEWS = """SELECT view_name, sql FROM duckdb_views()
WHERE NOT internal AND schema_name = 'main' AND database_name = 'vault'
    AND regexp_full_match(sql, ?) ORDER BY ALL"""
LAYOUTS = """SELECT count(DISTINCT columns) FROM (
SELECT list((name, type, converted_type, logical_type::VARCHAR, num_children)) AS columns
FROM parquet_schema({}) GROUP BY file_name)"""
Files = dict[str, tuple[str, ...]]
"""The paths of each table, by its name."""
MISSING = "missing"
_FOOTERS: dict[tuple[str | int, ...], str] = {}


def files_of(connection: duckdb.DuckDBPyConnection) -> Files:
    """Returns the files of each table of the attached vault that has any."""
    views = connection.execute(VIEWS, [FORM]).fetchall()
    listed = ((view, sql[sql.index("list_value(") :]) for view, sql in views)
    return {
        view: tuple(path[1:-1].replace("''", "'") for path in re.findall(TEXT, paths))
        for view, paths in listed
    }


def state_of(path: str) -> str:
    """Returns a name of a file's contents: its place on the disk, size, time and footer.

    The footer, which holds the statistics of each column of each row group, is read once for a
    place, size and time. `MISSING` stands for a file that cannot be read.
    """
    try:
        with open(path, "rb") as file:
            at = os.fstat(file.fileno())
            place = (path, at.st_dev, at.st_ino, at.st_size, at.st_mtime_ns, at.st_ctime_ns)
            if place not in _FOOTERS:
                for old in [*_FOOTERS][:-99_999]:
                    del _FOOTERS[old]
                file.seek(-min(8, at.st_size), os.SEEK_END)
                length = int.from_bytes(file.read(8)[:4], "little") + 8
                file.seek(-min(length, at.st_size), os.SEEK_END)
                _FOOTERS[place] = hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return MISSING
    return f"{place} {_FOOTERS[place]}"


def check_files(connection: duckdb.DuckDBPyConnection, files: Files) -> None:
    """Refuses to go on where a file cannot be read, or has other columns than its table's.

    Raises:
        OperationalError: It names the table and what to do; nothing was charged.
    """
    for table, paths in files.items():
        why = "finds files whose columns differ from each other or from the table's"
        if missing := [path for path in paths if state_of(path) == MISSING]:
            why = f"cannot read {missing[0]}"
        with suppress(duckdb.Error):
            listed = f"[{', '.join(map(literal, paths))}]"
            connection.execute(f"SELECT * FROM vault.main.{name(table)} LIMIT 0").fetchall()
            layouts = connection.execute(LAYOUTS.format(listed)).fetchall()
            if layouts == [(1,)] and not missing:
                continue
        raise OperationalError(
            f"the table {table} {why}; nothing was charged; put the files right, or make the"
            f" table again: CREATE OR REPLACE TABLE {table} FROM PARQUET '…'"
        )
