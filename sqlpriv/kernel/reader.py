"""The engine, opened read-only for one statement. Only `kernel.gate` may import this.

Claim: nothing that the engine says leaves this file but exact integers for the gate, the catalog
(names and types: public), rows of tables declared public, and errors of fixed text. DuckDB's own
error texts quote values; they are dropped, chain and all.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import lru_cache, wraps
from importlib import resources
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
import pyarrow as pa

from sqlpriv.errors import OperationalError, ReadFailed
from sqlpriv.kernel.engine import attach, detach, fingerprint
from sqlpriv.kernel.rows_in_files import FORM, bind_views, check_files
from sqlpriv.kernel.spark.spark_session import Spark, spark_of, type_in_spark
from sqlpriv.kernel.sql.cells import added_up
from sqlpriv.kernel.sql.dialect import DUCKDB, SPARK
from sqlpriv.kernel.sql.queries import Rendered
from sqlpriv.kernel.sql.quoting import name
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Column, TableContract, Type
from sqlpriv.kernel.terms.operations import type_of
from sqlpriv.system.time_limit import TimeLimit

TIMEOUT_SECONDS = 600.0
"""No read takes longer. The limit is the same for every question, as that of memory is, so that
reaching it tells only that a read took as long."""
MACROS_THERE = """SELECT 0 UNION ALL SELECT 1 FROM system.main.duckdb_functions()
WHERE NOT internal AND database_name = 'vault' ORDER BY 1 DESC LIMIT 1"""
"""Calls nothing that a macro could stand in for: `count_star` hid itself and all others."""
Catalog = tuple[TableContract, ...]
CATALOG = resources.files("sqlpriv.kernel.sql").joinpath("catalog.sql").read_text("utf-8")
_P = ParamSpec("_P")
_R = TypeVar("_R")


@lru_cache(64)
def known_of(_fingerprint: str) -> dict[str, Any]:
    """Returns what is known of a vault in one state, which the caller may add to: its "catalog";
    "files", once they were seen to be right; and the result of each query of `Reader.fact`.

    Claim: while the fingerprint is the same nothing was written, so all of this stays true.
    """
    return {}


def _silence_errors(text: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Replaces the engine's error, whose text may quote rows, by one of fixed text."""

    def silence(read: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(read)
        def silent(*args: _P.args, **named: _P.kwargs) -> _R:
            with suppress(Exception):  # whatever it was: its text may quote rows
                return read(*args, **named)
            # Raised when the engine's error is gone: inside a handler, or where a `with` ends, it
            # would stay on as __context__, and a traceback prints that.
            raise ReadFailed(text)

        return silent

    return silence


class Reader(AbstractContextManager["Reader"]):
    """One read-only connection to the vault. While it is open no process can write the file."""

    def __init__(self, vault: Path) -> None:
        self._vault = vault
        self._spark: Spark | None = None
        self._clock = TimeLimit()
        self._engine, self._duckdb = attach(vault)  # the last that can fail
        self.fingerprint = self._engine.fingerprint
        self._known = known_of(self.fingerprint)

    def __exit__(self, failure: object = None, *_: object) -> None:
        """Raises ReadFailed where a file was written during the read, so that no answer leaves. It
        does not replace an OperationalError, which says that nothing was charged."""
        same = (
            failure is OperationalError
            or not self._engine.files
            or fingerprint(self._vault) == self.fingerprint
        )
        self._clock.close()
        detach(self._engine, self._duckdb)
        if self._spark is not None:
            self._spark.close()
        if not same:
            raise ReadFailed("a file of a table changed while it was read; what was paid is spent")

    def catalog(self) -> Catalog:
        """Returns the base tables of schema main, undeclared: names, types, unique columns.

        Claim: nobody reads a vault that holds macros, which could stand in for functions. Whoever
        reads rows asks for the catalog before. Raises OperationalError where there are macros.
        """
        if "catalog" not in self._known:
            if self.truths(MACROS_THERE) != (0,):
                raise OperationalError(
                    f"the vault {self._vault.name} holds macros, which could stand in for"
                    " functions; DROP them, then ask again"
                )
            self._known["catalog"] = self._read_catalog()
        return self._known["catalog"]  # type: ignore[no-any-return]  # it is a `Catalog`

    @_silence_errors("the catalog could not be read")
    def _read_catalog(self) -> Catalog:
        """Returns the catalog of the attached vault.

        Claim: a declaration is about one table, and one column of it. Declarations do not tell
        upper from lower case, but DuckDB tells "Ä" from "ä". So a table is left out, as views are,
        if another table's name differs from its own in case alone, or if the names of two of its
        columns do.
        """
        tables: dict[str, TableContract] = {}
        bind_views(self._duckdb, self._engine.files)
        rows = self._duckdb.execute(CATALOG, {"files": FORM}).fetchall()
        for table, column, sql_type, required, unique, collated in rows:
            type_, contract = type_of(sql_type), tables.get(table, TableContract(table, ()))
            required &= type_ is not Type.REAL  # NOT NULL is no promise that there is no NaN
            columns = (*contract.columns, Column(column, type_, sql_type, None, required))
            tables[table] = replace(
                contract,
                columns=columns,
                unique=contract.unique | ({column.lower()} if unique else set()),
                collated=collated,
            )
        for table in self._parquet if spark_of(self._vault) else ():
            columns = tuple(
                c if type_in_spark(c.sql_type) else replace(c, type=None, sql_type="")
                for c in tables[table].columns
            )
            tables[table] = replace(tables[table], columns=columns, engine=SPARK.name)
        names = Counter(map(str.lower, tables))
        return tuple(
            table
            for t, table in tables.items()
            if names[t.lower()] == 1
            and len(table.columns) == len({c.name.lower() for c in table.columns})
        )

    @_silence_errors("the engine could not finish reading; the charge stays")
    def cells(self, asked: Rendered) -> dict[a.Query, list[int]]:
        """Returns the exact integers of each rendered query, in all its measured cells.

        Claim: a list of units (`BoundedRows.halves`) is made of the state of the vault that it is
        kept for. The files are compared once more after it is made. If they differ, the list is
        dropped: this statement fails, and no later one finds the list.
        """
        for table, select in asked.lists.items():
            with self._engine.listing:
                self._run_within_limit(
                    f"CREATE TABLE IF NOT EXISTS {table} AS {select}", asked.engine
                )
                if fingerprint(self._vault) != self.fingerprint:
                    self._duckdb.execute(f"DROP TABLE {table}")
        result = self._run_within_limit(asked.sql, asked.engine)
        wide = {c: str(of).startswith(("HUGEINT", "DECIMAL")) for c, of, *_ in result.description}
        if not any(wide.values()):
            return added_up(
                asked.values, {c: np.asarray(x) for c, x in result.fetchnumpy().items()}
            )
        # numpy would make doubles of HUGEINT; Spark's sums are decimals without a fraction
        by_column = [*zip(*result.fetchall(), strict=True)] or [()] * len(wide)
        return added_up(
            asked.values,
            {
                column: np.array([*map(int, values)], object if of_any_size else np.int64)
                for (column, of_any_size), values in zip(wide.items(), by_column, strict=True)
            },
        )

    @_silence_errors("the engine could not finish reading; the charge stays")
    def groups(self, sql: str, engine: str) -> Any:
        """Returns the values and, last, the exact counts of a rendered grouping."""
        return self._run_within_limit(sql, engine).fetchall()

    def prepare(self, sql: str, engine: str) -> None:
        """Has the engine ready for a statement, as far as no row is read: see `Spark.prepare`.

        Claim: a file that changes while Spark gets ready, which takes seconds, costs nothing. Nor
        does a clock that cannot be started: none is, once the charge was paid. (Threads that draw
        noise are started then, but where none can be, nothing is missing: `run_in_parts`.)
        """
        self._clock.start()
        if engine == SPARK.name:
            self._spark = self._spark or Spark(spark_of(self._vault))
            usable = {
                t.table: {c.name.lower(): c.sql_type for c in t.columns if c.type}
                for t in self.catalog()
                if t.engine == engine
            }
            self._spark.prepare(sql, self._parquet, usable)
            if fingerprint(self._vault) != self.fingerprint:
                raise OperationalError("a table's file changed; nothing was read or charged")

    def check_files(self) -> None:
        """Refuses to go on where files of a table are missing or differ: see `rows_in_files`."""
        check_files(self._duckdb, self._engine.files, "files" in self._known)
        self._known["files"] = True

    @property
    def _parquet(self) -> dict[str, tuple[str, ...]]:
        """The Parquet files of each table of such: Spark reads these."""
        return {t: listed.paths for t, listed in self._engine.files.items() if not listed.inside}

    def _run_within_limit(self, sql: str, engine: str) -> Any:
        """Runs a statement, which is interrupted after the time limit; returns DuckDB's result.

        Claim: Ctrl-C at any moment leaves no clock behind that a process would wait for at its end.
        """
        opened = self._spark if self._spark and engine == SPARK.name else self._duckdb
        with self._clock.limit(TIMEOUT_SECONDS, opened.interrupt):
            return (
                opened.execute(sql)
                if opened is self._duckdb
                else self._duckdb.from_arrow(opened.execute(sql))
            )

    @_silence_errors("the vault could not be looked through")
    def truths(self, sql: str, engine: str = DUCKDB.name) -> Any:
        """Returns the one row of a verifying query (owner's declarations), or of one that reads
        public tables alone; `prepare` comes before it."""
        return self._run_within_limit(sql, engine).fetchall()[0]

    def fact(self, sql: str, engine: str) -> Any:
        """Returns the one row of such a query, which is asked once for a state of the vault."""
        if sql not in self._known:
            self.prepare(sql, engine)  # outside `truths`, which silences what it says
            self._known[sql] = self.truths(sql, engine)
        return self._known[sql]

    @_silence_errors("the public table could not be read")
    def rows(
        self, table: TableContract, columns: Sequence[str] = (), once: bool = False
    ) -> pa.Table:
        """Returns all rows of a table, or some columns; the vault calls this for public tables
        alone. `once` gives each row once, in the order of the columns' types.

        Claim: of an ENUM's labels only those that the public rows hold leave. An ENUM, also one
        inside another type, is cast to text: its type was often made of private rows, and Arrow's
        dictionary would hold all labels of the type.
        """
        texts = {
            stored: f"CAST({stored} AS {kind}) AS {name(c.name)}" if "VARCHAR" in kind else stored
            for c in table.columns
            if not columns or c.name in columns
            for stored in [f"{DUCKDB.table(table.table)}.{name(c.name)}"]
            for kind in ["VARCHAR" if c.sql_type == "ENUM" else c.sql_type]
        }
        return cast(
            "pa.Table",
            self._duckdb.sql(
                f"SELECT {', '.join(texts.values())} FROM {DUCKDB.table(table.table)}"
                + f" GROUP BY {', '.join(texts)} ORDER BY {', '.join(texts)}" * once
            ).to_arrow_table(),
        )
