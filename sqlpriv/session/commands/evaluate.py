"""From EVALUATE SYNTHETIC TABLE to its rows and its report, for owners who may see the truth."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa

from sqlpriv.errors import DataError, OperationalError, Refused
from sqlpriv.evaluate.evaluation import Target, evaluate, rows
from sqlpriv.kernel.rows_in_files import files_of
from sqlpriv.kernel.sql.quoting import literal, name
from sqlpriv.kernel.terms.contract import Categories, Column, TableContract, Value
from sqlpriv.kernel.vault import Kernel
from sqlpriv.publish.release_file import NO_EXTENSIONS, SEALED, ReleaseStore
from sqlpriv.statements import commands as cmd
from sqlpriv.synth.api.progress import Progress, Report
from sqlpriv.system.database_files import refuse_database
from sqlpriv.system.quiet_engine import open_engine


def evaluate_synthetic(
    statement: cmd.Evaluate,
    kernel: Kernel,
    store: ReleaseStore,
    contracts: Mapping[str, TableContract],
    report: Report,
) -> pa.Table:
    """Returns the measures as rows; writes the report if the statement names a file for it.

    Raises:
        Refused: A table or column is not there, or the target cannot be classified.
        OperationalError: The report could not be written.
        VaultBusy: Somebody writes the vault.
    """
    real = contracts.get(statement.real.lower())
    if real is None:
        raise Refused.at(statement.pos, f'there is no table "{statement.real}" in the vault')
    released = {table.lower(): columns for table, columns in store.tables().items()}
    if statement.synthetic.lower() not in released:
        there = ", ".join(released) or "none so far"
        raise Refused.at(
            statement.pos,
            f'there is no released table "{statement.synthetic}"',
            f"released: {there}",
        )
    released_columns = {c.lower() for c in released[statement.synthetic.lower()]}
    columns = [c for c in real.columns if c.name.lower() in released_columns]
    strata = [_column(statement, columns, c).name for c in statement.strata]
    options = dict(statement.options)
    with kernel.hold(), _both(kernel.vault, store) as engine:
        target = _target(statement, options, columns, engine, contracts)
        try:
            evaluation = evaluate(
                engine.table(f"vault.main.{name(real.table)}"),
                engine.table(f"release.main.{name(statement.synthetic)}"),
                columns,
                strata,
                target,
                lambda stage, done, of: report(Progress(stage, done, of)),
            )
        except DataError as error:
            raise Refused.at(statement.pos, str(error)) from None
    if "report" in options:
        _write(statement, options["report"], evaluation)
    return rows(evaluation)


@contextmanager
def _both(vault: Path, store: ReleaseStore) -> Iterator[duckdb.DuckDBPyConnection]:
    """The vault, the files of its tables and the release file, read-only, in an engine that reaches
    nothing else but, beside the vault, a folder of its own for what does not fit into memory."""
    with (
        TemporaryDirectory(prefix=f"{vault.name}.spill", suffix=".tmp", dir=vault.parent) as spills,
        open_engine(config={**NO_EXTENSIONS, "temp_directory": spills}) as engine,
    ):
        for path, alias in ((vault, "vault"), (store.path, "release")):
            quoted = str(path).replace("'", "''")
            engine.execute(f"ATTACH '{quoted}' AS {alias} (READ_ONLY)")
        paths = [path for listed in files_of(engine).values() for path in listed.opened]
        engine.execute(f"SET allowed_paths = [{', '.join(map(literal, paths))}]")
        for setting in SEALED:
            engine.execute(setting)
        yield engine


def _target(
    statement: cmd.Evaluate,
    options: Mapping[str, Value],
    columns: list[Column],
    engine: duckdb.DuckDBPyConnection,
    contracts: Mapping[str, TableContract],
) -> Target | None:
    if "target" not in options:
        for option in ("positive", "held_out"):
            if option in options:
                raise Refused.at(
                    statement.pos,
                    f"{option} is of a classifier, which needs a target",
                    "OPTIONS (target = 'column', positive = value)",
                )
        return None
    column = _column(statement, columns, str(options["target"]))
    if column.name.lower() in map(str.lower, statement.strata):
        raise Refused.at(statement.pos, f"{column.name} makes the strata; classify another column")
    held_out = options.get("held_out")
    there = None
    if held_out is not None:
        contract = contracts.get(str(held_out).lower())
        if contract is None or any(contract.column(c.name) is None for c in columns):
            raise Refused.at(
                statement.pos,
                f'there is no table "{held_out}" with those columns',
                "held_out names a table of the vault, of the same columns",
            )
        there = engine.table(f"vault.main.{name(contract.table)}")
    return Target(column.name, _positive(statement, options, column), there)


def _positive(statement: cmd.Evaluate, options: Mapping[str, Value], column: Column) -> Value:
    if options.get("positive") is not None:
        return options["positive"]
    labels = column.domain.labels if isinstance(column.domain, Categories) else ()
    values = [v for v in labels if v is not None]
    if len(values) != 2:
        raise Refused.at(
            statement.pos,
            f"{column.name} does not have two values: which one is positive?",
            f"OPTIONS (target = '{column.name}', positive = …)",
        )
    return values[1]


def _column(statement: cmd.Evaluate, columns: list[Column], wanted: str) -> Column:
    for column in columns:
        if column.name.lower() == wanted.lower():
            return column
    both = ", ".join(c.name for c in columns) or "none"
    raise Refused.at(
        statement.pos, f"{wanted} is not a column of both tables", f"both have: {both}"
    )


def _write(statement: cmd.Evaluate, to: Value, found: object) -> None:
    """Writes the report, whole or not at all, readable by its owner alone."""
    from sqlpriv.evaluate.evaluation import Evaluation
    from sqlpriv.evaluate.report import html

    assert isinstance(found, Evaluation)
    path = Path(str(to)).expanduser()
    refuse_database(path)
    page = html(found, statement.synthetic, statement.real)
    building = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(os.open(building, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(page)
        os.replace(building, path)
    except OSError as error:
        building.unlink(missing_ok=True)
        raise OperationalError(f"the report could not be written: {error.strerror}") from None
