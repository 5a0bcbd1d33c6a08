"""CREATE TABLE … FROM PARQUET | ICEBERG | DUCKDB: rows that stay in files, and are read there.

The files are listed once, by whole paths, when the table is made: files that come later are not of
the table until it is made again. Nothing is copied. DROP TABLE forgets them and leaves them there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from glob import glob
from itertools import zip_longest
from pathlib import Path

from sqlpriv.errors import DeclarationError, ProgrammingError, Refused
from sqlpriv.kernel.rows_in_files import (
    FORM,
    LAYOUTS,
    PLAIN_TABLE,
    Listed,
    listed_in,
)
from sqlpriv.kernel.sql.quoting import literal, name
from sqlpriv.session.access.context import Access
from sqlpriv.session.access.owner_engine import OwnerEngine
from sqlpriv.session.access.result import Result
from sqlpriv.session.commands.iceberg_files import iceberg_files
from sqlpriv.statements import commands as cmd
from sqlpriv.system.count_text import count_text

_DROP = re.compile(
    r"""\s*DROP\s+TABLE\s+(?:IF\s+EXISTS\s+)?(?:main\.)?(\w+|"(?:[^"]|"")+")"""
    r"(?:\s+(?:CASCADE|RESTRICT))?\s*",
    re.IGNORECASE,
)
_FALLIBLE = re.compile("VARCHAR|TIME")
"""How the types of columns begin that may hold, in a Parquet file, what is no value of theirs."""
_FILE_TABLE = """SELECT sql FROM duckdb_views() WHERE lower(view_name) = lower($name)
AND database_name = current_database() AND schema_name = 'main' AND regexp_full_match(sql, $form)"""


def create_file_table(create: cmd.CreateFileTable, access: Access) -> Result:
    """Makes a table of files.

    Returns:
        How many files and rows it has, in words for the owner.

    Raises:
        PermissionDenied: It is no owner who asks.
        Refused: A table of that name is there, or no file has such a name.
        DeclarationError: The files' columns differ, a value of them is none of its type, or their
            snapshot cannot be read in place.
    """
    access.needs_owner("make a table", create.pos)
    assert access.owner is not None
    unread: frozenset[str] = frozenset()
    existed = create.table.lower() in access.tables.contracts()
    if existed and create.if_not_exists:
        return Result(message=f"there is a table {create.table} already")
    if existed and not create.or_replace:
        hint = "write CREATE OR REPLACE TABLE to list its files anew"
        raise Refused.at(create.pos, f'there is a table "{create.table}" already', hint)
    paths = iceberg_files(create) if create.form == "ICEBERG" else matching_files(create)
    if pattern := next((path for path in paths if set("*?[") & set(path)), ""):
        why = f"DuckDB would read the name {pattern} as a pattern"
        raise Refused.at(create.pos, why, "rename what has *, ? or [ in its name")
    try:
        if create.form == "DUCKDB":
            check_database(create, paths, access.owner)
        else:
            check_layouts(create, paths, access.owner)
            unread = columns_of_folders(create, paths, access.owner)
            check_values(create, paths, access.owner)
    except ProgrammingError as error:
        raise DeclarationError(f"{create.table} cannot be made of these files: {error}") from error
    view = view_of(create.table, Listed(tuple(paths), create.inside), folders=not unread)
    try:
        access.owner.run(view.replace("CREATE", "CREATE OR REPLACE", 1) if existed else view)
        ((count,),) = access.owner.read_rows(f"SELECT count(*) FROM {name(create.table)}")
    except ProgrammingError as error:  # of that name there is a table that holds its rows itself
        raise DeclarationError(f"{create.table} cannot be made of files: {error}") from error
    access.tables.contracts()
    access.kernel.verify()
    rows, files = count_text(count, "row"), count_text(len(paths), "file")
    message = f"{create.table}: {rows} in {files}, read in place"
    if unread:
        message += f"; {', '.join(sorted(unread))} of the folders' names counts for nothing"
    return Result(message=message)


def check_layouts(create: cmd.CreateFileTable, paths: Sequence[str], owner: OwnerEngine) -> None:
    """Raises DeclarationError where Parquet files differ in the names or types of columns, or
    columns differ in case alone: DuckDB would call `sex` beside `SEX` sex_1, without a word."""
    named = columns_of_file(paths[0], owner)
    if twice := [column for column in named if [*map(str.lower, named)].count(column.lower()) > 1]:
        raise DeclarationError(
            f"columns of {create.table} have one name here, where case does not matter:"
            f" {', '.join(twice)}; write the files anew, with other names"
        )
    if owner.read_rows(LAYOUTS.format(f"[{', '.join(map(literal, paths))}]")) != [(1,)]:
        raise DeclarationError(
            f"the files of {create.table} differ in the names or types of their columns"
            f"{_differing_column(paths, owner)}; write"
            " those that differ anew: COPY (SELECT … FROM 'old.parquet') TO 'new.parquet'"
        )


def _differing_column(paths: Sequence[str], owner: OwnerEngine) -> str:
    """Returns the first file whose columns are not those of the first, and the first such column;
    '' where DuckDB reads all of them alike, and they are stored in other ways."""

    def columns(path: str) -> list[str]:
        rows = owner.read_rows(f"DESCRIBE SELECT * FROM read_parquet({literal(path)})")
        return [f"{row[0]} {row[1]}" for row in rows]

    first = columns(paths[0])
    for path in paths[1:]:
        for mine, theirs in zip_longest(first, columns(path), fillvalue="no column"):
            if mine != theirs:
                names = Path(path).name, Path(paths[0]).name
                return f": {names[0]} has {theirs} where {names[1]} has {mine}"
    return ""


def check_values(create: cmd.CreateFileTable, paths: Sequence[str], owner: OwnerEngine) -> None:
    """Raises DeclarationError where DuckDB cannot read a value: a text that is no UTF-8, a time
    beyond its day, milliseconds beyond the end of time. Each question that meets such a row fails,
    and tells by it that the row is there; here its owner hears of it."""
    files = f"read_parquet([{', '.join(map(literal, paths))}])"
    described = owner.read_rows(f"DESCRIBE SELECT * FROM {files}")
    for column in (row[0] for row in described if _FALLIBLE.match(row[1])):
        try:
            owner.read_rows(f"SELECT max(hash({name(column)})) FROM {files}")
        except ProgrammingError as error:
            raise DeclarationError(
                f"a value of {column} cannot be read: {error}; write the files of {create.table}"
                " anew, without it"
            ) from error


def columns_of_file(path: str, owner: OwnerEngine) -> list[str]:
    """Returns the names of a Parquet file's columns, as they stand in it.

    Its schema is a tree, told from the root down: what a column consists of stands behind it.
    """
    schema = f"SELECT name, coalesce(num_children, 0) FROM parquet_schema({literal(path)})"
    columns: list[str] = []
    parts_to_come = 0
    for name_in_file, children in owner.read_rows(schema)[1:]:
        if not parts_to_come:
            columns.append(name_in_file)
        parts_to_come += children - bool(parts_to_come)
    return columns


def columns_of_folders(
    create: cmd.CreateFileTable, paths: Sequence[str], owner: OwnerEngine
) -> frozenset[str]:
    """Returns the columns that folders' names (`year=2024/`) give and that are not to be read.

    DuckDB has a column of that name for all rows, also in place of one that the files hold: of an
    Iceberg table these are the true ones, and `region=null` would be a text. Where the files of a
    folder hold a column of such a name themselves, what they hold counts.
    """
    of_each = [
        {part.partition("=")[0] for part in Path(p).parent.parts if "=" in part} for p in paths
    ]
    named = frozenset.intersection(*map(frozenset, of_each))
    files = f"read_parquet([{', '.join(map(literal, paths))}], hive_partitioning = false)"
    held = {row[0].lower() for row in owner.read_rows(f"DESCRIBE SELECT * FROM {files}")}
    own = create.form == "ICEBERG" or any(column.lower() in held for column in named)
    return named if own else frozenset()


def check_database(create: cmd.CreateFileTable, paths: Sequence[str], owner: OwnerEngine) -> None:
    """Refuses what cannot be read in place of another DuckDB file.

    Raises:
        Refused: They are several files, or one that is a vault.
        DeclarationError: It has no such table, or one with a generated column or a COLLATE.
    """
    if len(paths) != 1:
        raise Refused.at(create.pos, "a table of a DuckDB file is one file's", "name one file")
    if Path(paths[0]).samefile(owner.vault) or Path(paths[0]).with_suffix(".ledger").exists():
        hint = "ask it there: its rows have a budget of their own"
        raise Refused.at(create.pos, f"{paths[0]} is a vault", hint)
    owner.run(f"ATTACH {literal(paths[0])} AS sqlpriv_seen (READ_ONLY)")
    try:
        tables = owner.read_rows(PLAIN_TABLE, {"alias": "sqlpriv_seen", "table": create.inside})
    finally:
        owner.run("DETACH sqlpriv_seen")
    if tables != [(1,)]:
        raise DeclarationError(
            f"{paths[0]} has no table {create.inside} in schema main that holds its rows itself,"
            " without generated columns and COLLATE; write the rows that are meant to Parquet:"
            f" COPY (SELECT … ) TO '{create.table}.parquet'"
        )


def drop_file_table(text: str, owner: OwnerEngine) -> str | None:
    """Drops a table of files, if that is what a statement says; no file is touched.

    Returns:
        What was removed and what was not, in words for the owner; None for another statement.
    """
    if (match := _DROP.fullmatch(text)) is None:
        return None
    table = match[1][1:-1].replace('""', '"') if match[1].startswith('"') else match[1]
    views = owner.read_rows(_FILE_TABLE, {"name": table, "form": FORM})
    if not views:
        return None
    count = len(listed_in(views[0][0]).paths)
    owner.run(f"DROP VIEW main.{name(table)}")
    return (
        f"dropped {table}: its list of {count_text(count, 'file')} and what was declared of it; the"
        " files stay as they are, and what was spent stays spent"
    )


def matching_files(create: cmd.CreateFileTable) -> list[str]:
    """Returns the whole paths of the files that the patterns name, each once, in order.

    Raises:
        Refused: A pattern names no file.
    """
    paths: dict[str, None] = {}
    for pattern in create.paths:
        matches = glob(str(Path(pattern).expanduser()), recursive=True)
        files = [str(Path(p).resolve()) for p in matches if Path(p).is_file()]
        if not files:
            hint = f"looked in {Path.cwd()}; a folder's files are 'folder/*.parquet'"
            if Path(pattern).expanduser().is_dir():
                hint = f"it is a folder; its files are '{pattern.rstrip('/')}/*.parquet'"
            if "://" in pattern:
                hint = "files are of this machine: copy them here, or mount what holds them"
            raise Refused.at(create.pos, f"there is no file {pattern}", hint)
        paths |= dict.fromkeys(sorted(files))
    return [*paths]


def view_of(table: str, listed: Listed, folders: bool = True) -> str:
    """Returns the statement that makes a table of files: of `rows_in_files.FORM`, once printed.

    Args:
        table: Its name.
        listed: Where its rows lie.
        folders: Whether folders' names give columns.

    >>> print(view_of("people", Listed(("/a.parquet", "/b's.parquet"))))
    CREATE VIEW main."people" AS SELECT * FROM read_parquet(['/a.parquet', '/b''s.parquet'])
    """
    paths = ", ".join(map(literal, listed.paths))
    called = f"read_parquet([{paths}]{'' if folders else ', hive_partitioning = false'})"
    if listed.inside:
        named = f"schema_name = 'main', table_name = {literal(listed.inside)}"
        called = f"read_duckdb({paths}, {named})"
    return f"CREATE VIEW main.{name(table)} AS SELECT * FROM {called}"
