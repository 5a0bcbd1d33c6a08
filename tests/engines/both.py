"""The same file behind DuckDB and Spark, and statements of both dialects over it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from support.vaults import make_lists

from sqlpriv.kernel import gate
from sqlpriv.kernel.engine import CONFIG
from sqlpriv.kernel.spark import spark_session as connection
from sqlpriv.kernel.spark.spark_session import type_in_spark
from sqlpriv.kernel.sql.cells import added_up
from sqlpriv.kernel.sql.dialect import DUCKDB, SPARK
from sqlpriv.kernel.sql.queries import MACROS, Rendered, render
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract

Batch = tuple[list[a.Query], TableContract]


def in_spark(contract: TableContract) -> TableContract:
    """The contract of a table, and of all others, whose rows Spark reads."""
    others = {name: replace(c, engine=SPARK.name) for name, c in contract.others.items()}
    return replace(contract, engine=SPARK.name, others=others)


INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.lightweightPlanChangeValidation": "false",
}
"""Few stages, each of one task, and nothing compiled: over few rows a plan takes .4 processor
seconds instead of 2.3."""


class Both:
    """Both engines over one Parquet file for each table; Spark with further settings.

    A statement that is sent `once` is parsed and analyzed once, which is most of its time. A read
    of the kernel's sends it three times: to be checked, for its schema, and to be run.
    """

    def __init__(
        self,
        url: str,
        folder: Path,
        settings: Mapping[str, str] | None = None,
        once: bool = False,
    ) -> None:
        self.folder, self.once = folder, once
        self.duckdb = duckdb.connect(config=CONFIG)
        self.duckdb.execute(MACROS)
        self.spark = connection.Spark(url)
        for name, value in (settings or {}).items():
            self.spark._session.conf.set(name, value)
        self.prepared = False
        self.files: dict[str, tuple[str, ...]] = {}
        self.columns: dict[str, dict[str, str]] = {}

    def fill(self, table: str, query: str) -> None:
        """Writes the rows of a query into a file, which both read as a table."""
        path = str(self.folder / f"{table}-{len(list(self.folder.iterdir()))}.parquet")
        self.duckdb.sql(query).write_parquet(path)
        view = f"CREATE OR REPLACE VIEW {DUCKDB.table(table)} AS FROM read_parquet('{path}')"
        self.duckdb.execute(view)
        types = self.duckdb.execute(f"DESCRIBE {DUCKDB.table(table)}").fetchall()
        self.files[table] = (path,)
        usable = {name.lower(): type_ for name, type_, *_ in types if type_in_spark(type_)}
        self.columns[table] = usable
        self.prepared = False

    def rows_of_spark(self, sql: str) -> list[tuple[Any, ...]]:
        if not self.prepared:  # views of all tables, made once for all statements over these rows
            names = ", ".join(map(SPARK.table, self.files))
            self.spark.prepare(f"SELECT 1 FROM {names}", self.files, self.columns)
            self.prepared = True
        table = self.table_at_once(sql) if self.once else self.spark.execute(sql)
        return [*zip(*(column.to_pylist() for column in table.columns), strict=True)]

    def table_at_once(self, sql: str) -> pa.Table:
        from pyspark.sql.connect.plan import SQL  # not here without the extra

        client = self.spark._session.client
        table, *_ = client.to_table(SQL(sql, [], {}, []).to_proto(client), {})
        return table

    def cells(self, queries: list[a.Query], contract: TableContract) -> list[dict[a.Query, Any]]:
        """The exact integers of queries, from DuckDB and from Spark."""
        mine, other = render(queries, contract, 7), render(queries, in_spark(contract), 7)
        assert [*mine.values.values()] == [*other.values.values()]
        make_lists(self.duckdb, mine)
        answers = []
        result = self.duckdb.execute(mine.sql)
        columns = [name for name, *_ in result.description]
        for rendered, rows in (
            (mine, result.fetchall()),
            (other, self.rows_of_spark(other.sql)),
        ):
            flat = np.array([[int(x) for x in row] for row in rows], object)
            flat = flat.reshape(-1, len(columns))
            answers.append(added_up(rendered.values, dict(zip(columns, flat.T, strict=True))))
        return answers

    def differences(self, batches: Iterable[Batch]) -> list[str]:
        """The queries of batches whose cells differ between the engines."""
        differences = []
        for queries, contract in batches:
            mine, other = self.cells(queries, contract)
            differences += [str(query) for query in queries if mine[query] != other[query]]
        return differences


def record_batches(monkeypatch: pytest.MonkeyPatch) -> list[Batch]:
    """A list that gets every batch of queries that the gate reads together from now on."""
    batches: list[Batch] = []

    def record(queries: Sequence[a.Query], contract: TableContract, key: int) -> Rendered:
        batches.append(([*queries], contract))
        return render(queries, contract, key)

    monkeypatch.setattr(gate, "render", record)
    return batches
