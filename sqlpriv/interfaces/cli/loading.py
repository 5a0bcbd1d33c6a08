"""Files loaded into a new vault, which is at its place whole or not at all."""

from __future__ import annotations

import csv
import fcntl
import glob
import gzip
import os
import re
import shutil
import signal
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import sqlpriv
from sqlpriv.kernel.sql.quoting import literal, name

if TYPE_CHECKING:
    import pyarrow as pa

    from sqlpriv.session.session import Session

READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".parquet": "read_parquet",
    ".json": "read_json",
    ".jsonl": "read_json",
}
"""How a file is named at its end → DuckDB's function for it. Texts may be compressed by gzip."""
NOTHING_TO_PROPOSE = (
    "there is nothing to propose from. Put rows below its head; or make a table that is filled"
    " later, and declare it from what its form says: CREATE TABLE visits (patient BIGINT, cost"
    " INTEGER); ALTER TABLE visits SET PRIVACY (KEY (patient), BOUND (rows_per_unit = 5), COLUMN"
    " cost BETWEEN (0, 1500) NOT NULL, BUDGET (epsilon = 3, delta = 1e-9))"
)
"""What an owner may do with a file that holds a table's head alone."""
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers")
_STATISTICS = (".sav", ".dta", ".sas7bdat", ".xpt", ".rds", ".rdata")


def data_files(source: Path) -> list[Path]:
    """Returns the files of a source that hold tables, in the order of their names.

    Tables of other programs that lie beside them are named on stderr, and left out.

    Raises:
        UsageError: There is none, or two would be one table.
    """
    there = sorted(source.iterdir()) if source.is_dir() else [source]
    files = [file for file in there if _format_of(file) in READERS and not file.is_dir()]
    remedies = [remedy for file in there if (remedy := _remedy_for(file))]
    if not files:
        suffixes = ", ".join(READERS)
        holds = remedies[0] if remedies else f"{source} holds no table"
        raise click.UsageError(
            f"{holds}.\nFiles end with {suffixes} (of texts also .csv.gz), vaults with .duckdb."
        )
    for remedy in remedies:
        click.echo(f"left out: {remedy}", err=True)
    names = [table_name(file) for file in files]
    for table in names:
        if names.count(table) > 1:
            raise click.UsageError(f"two files of {source} would be the table {table}: rename one.")
    return files


def _format_of(file: Path) -> str:
    """Returns how a file's name ends, in lower case and without the ending of its compression.

    >>> _format_of(Path("visits.CSV.gz")), _format_of(Path("visits.parquet.gz"))
    ('.csv', '.gz')
    """
    inner = Path(file.stem).suffix.lower()
    is_compressed = file.suffix.lower() == ".gz" and inner != ".parquet"
    return inner if is_compressed and inner in READERS else file.suffix.lower()


def _remedy_for(file: Path) -> str:
    """Returns what to do with a file that holds tables in another program's form; '' for others."""
    match _format_of(file):
        case suffix if suffix in _SPREADSHEETS:
            return (
                f"{file} is a spreadsheet: save each sheet as CSV (Save As, CSV UTF-8),"
                " one table to a sheet with the columns' names in its first line"
            )
        case suffix if suffix in _STATISTICS:
            return (
                f"{file} is of a statistics program: write it as Parquet or CSV there,"
                " or with pandas (read_spss, read_stata, read_sas)"
            )
        case ".gz" | ".zst" | ".zip" | ".bz2" | ".xz" | ".7z" | ".tar" | ".tgz":
            return f"{file} is compressed: unpack it first; .csv.gz, .tsv.gz and .json.gz are read"
    return ""


def table_name(file: Path) -> str:
    """Returns the name of the table that a file becomes.

    >>> table_name(Path("Visits (2024).csv")), table_name(Path("visits.csv.gz"))
    ('visits_2024', 'visits')
    """
    return re.sub(r"[\W_]+", "_", stem_of(file).lower()).strip("_") or "data"


def stem_of(file: Path) -> str:
    """Returns a file's name without its ending, and without that of its compression."""
    return file.stem if _format_of(file) == file.suffix.lower() else Path(file.stem).stem


@contextmanager
def folder_aside(path: Path) -> Iterator[Path]:
    """Yields a hidden folder beside a path, to build in; it is removed at the end.

    SIGTERM and SIGHUP end the block as Ctrl-C does. What a killed process left is removed by the
    next one: the system lets go of the lock on a folder with the process that made it.
    """
    leftovers = path.parent.glob(f".{glob.escape(path.name)}.*.making")
    for leftover in leftovers:
        with suppress(OSError), _lock_folder(leftover):
            shutil.rmtree(leftover)
    signals = (signal.SIGTERM, signal.SIGHUP)
    handlers = [signal.signal(number, signal.default_int_handler) for number in signals]
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".making", dir=path.parent))
    try:
        with _lock_folder(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        for number, handler in zip(signals, handlers, strict=True):
            signal.signal(number, handler)


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Holds the lock on a folder; BlockingIOError where another process holds it."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def load_files(vault: Path, files: Sequence[Path]) -> tuple[Path, ...]:
    """Loads files into a new vault.

    Returns:
        The files that could not be read. They are named on stderr, as are those without rows, and
        the others are loaded.

    Raises:
        UsageError: No file is loaded.
    """
    from sqlpriv.session.session import Session

    empty, unread = list[Path](), dict[Path, str]()
    with Session(vault, role="owner") as session:
        for file in files:
            try:
                has_rows = load(session, file)
            except (click.UsageError, sqlpriv.Error, OSError) as error:
                unread[file] = _reason(file, error)
                session.execute(f"DROP TABLE IF EXISTS {name(table_name(file))}")
                continue
            if has_rows:
                table = table_name(file)
                click.echo(f"loaded {file.name} into {vault.name} as {table}", err=True)
            else:
                empty.append(file)
    if len(empty) + len(unread) == len(files):
        holds = [f"{', '.join(map(str, empty))} holds no rows: {NOTHING_TO_PROPOSE}"] * bool(empty)
        raise click.UsageError("\n".join([*unread.values(), *holds]))
    for file in empty:
        click.echo(f"{file.name} holds no rows: it is left out", err=True)
    for reason in unread.values():
        click.echo(f"left out: {reason}", err=True)
    return tuple(unread)


def _reason(file: Path, error: Exception) -> str:
    """Returns why a file was not read, in one paragraph that names the file."""
    if isinstance(error, click.UsageError):
        return error.message
    if isinstance(error, OSError):
        return f"{file} cannot be read: {error.strerror}."
    text = str(error).partition("\n\nLINE ")[0].strip()  # the statement is none of the user's
    return f"{file} cannot be read: {text.removeprefix('Invalid Input Error: ')}"


def fetch_rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    """Returns the rows of plain SQL."""
    return rows_of(session.execute(sql).table)


def rows_of(table: pa.Table | None) -> list[tuple[object, ...]]:
    """Returns the rows of a table, whose columns may have one name."""
    assert table is not None
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def load(session: Session, file: Path) -> bool:
    """Loads a file as a table; returns whether it has rows: of one without no table is made.

    Raises:
        UsageError: Its lines are not rows of one table.
        sqlpriv.Error: It cannot be read.
    """
    table, options = table_name(file), ""
    function = READERS[_format_of(file)]
    is_text = function == "read_csv"
    if is_text and (encoding := text_encoding(file)) != "utf-8":
        options = f", encoding = {literal(encoding)}"
        click.echo(f"{file.name} is no UTF-8: it is read as {encoding}", err=True)
    reader = f"{function}({literal(str(file))}{options})"
    session.execute(f"CREATE TABLE {name(table)} AS FROM {reader}")
    ((rows,),) = fetch_rows(session, f"SELECT count(*) FROM {name(table)}")
    columns = [str(row[0]) for row in fetch_rows(session, f"DESCRIBE {name(table)}")]
    if not rows:
        session.execute(f"DROP TABLE {name(table)}")
        return False
    _make_keys_whole(session, table)
    delimiter = max(",;|\t", key=columns[0].count)
    if is_text and len(columns) == 1 and delimiter in columns[0]:
        raise click.UsageError(
            f"{file} was read as one column, {columns[0]!r}: {uneven_line(file, delimiter)}."
            " Mend that line, or load the file yourself:"
            f" CREATE TABLE {table} AS FROM read_csv({literal(str(file))}, delim = …, …)."
        )
    return True


def _make_keys_whole(session: Session, table: str) -> None:
    """Makes integers of identifiers that a file holds as 17.0; nothing else names units."""
    from sqlpriv.session.proposals.whole_identifiers import whole_identifiers

    for key in whole_identifiers(partial(fetch_rows, session), table):
        if key.integer:
            altered = f"{name(table)} ALTER COLUMN {name(key.column)}"
            session.execute(f"ALTER TABLE {altered} TYPE {key.integer}")
            click.echo(
                f"{key.column} holds whole numbers: it is {key.integer}, and no {key.type}",
                err=True,
            )


def uneven_line(file: Path, delimiter: str) -> str:
    """Returns which line of a file of text is the first with more values than its head, or fewer.

    Args:
        file: A CSV or TSV file, compressed or not.
        delimiter: What stands between two values.
    """
    opened = _opener(file)(file, "rt", encoding=text_encoding(file), newline="")
    with opened as lines, suppress(csv.Error):  # a quote that is never closed, say
        reader = csv.reader(lines, delimiter=delimiter)
        head = len(next(reader, []))
        for values in reader:
            if len(values) not in (0, head):
                return f"line {reader.line_num} has {len(values)} values, its head {head}"
    return "a line of it has more values than its head, or fewer"


def _opener(file: Path) -> Callable[..., Any]:
    return gzip.open if file.suffix.lower() == ".gz" else open


def text_encoding(file: Path) -> str:
    """Returns the encoding that a file of text seems to have: utf-8, utf-16 or latin-1.

    Raises:
        UsageError: The file ends with .gz and is not compressed by gzip, or is cut off.
    """
    open_file = _opener(file)
    try:
        with open_file(file, "rb") as opened:
            if opened.read(2) in (b"\xff\xfe", b"\xfe\xff"):
                return "utf-16"
        with open_file(file, "rt", encoding="utf-8") as opened_text:
            while opened_text.read(1 << 20):
                pass
    except UnicodeDecodeError:
        return "latin-1"
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise click.UsageError(f"{file} is no whole gzip file: {error}.") from error
    return "utf-8"
