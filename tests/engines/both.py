"""The same file behind DuckDB and Spark, and statements of both dialects over it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from sqlpriv.kernel.engine import CONFIG
from sqlpriv.kernel.spark import spark_session as connection
from sqlpriv.kernel.sql.cells import added_up
from sqlpriv.kernel.sql.dialect import DUCKDB, SPARK
from sqlpriv.kernel.sql.queries import MACROS, render
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract


def in_spark(contract: TableContract) -> TableContract:
    """The contract of a table, and of all others, whose rows Spark reads."""
    others = {name: replace(c, engine=SPARK.name) for name, c in contract.others.items()}
    return replace(contract, engine=SPARK.name, others=others)


class Both:
    """Both engines over one Parquet file for each table."""

    def __init__(self, url: str, folder: Path) -> None:
        self.folder = folder
        self.duckdb = duckdb.connect(config=CONFIG)
        self.duckdb.execute("".join(MACROS))
        self.spark = connection.Spark(url)
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
        self.columns[table] = {name.lower(): type_ for name, type_, *_ in types}
        self.prepared = False

    def rows_of_spark(self, sql: str) -> list[tuple[Any, ...]]:
        if not self.prepared:  # views of all tables, made once for all statements over these rows
            names = ", ".join(map(SPARK.table, self.files))
            self.spark.prepare(f"SELECT 1 FROM {names}", self.files, self.columns)
            self.prepared = True
        table = self.spark.execute(sql)
        return [*zip(*(column.to_pylist() for column in table.columns), strict=True)]

    def cells(self, queries: list[a.Query], contract: TableContract) -> list[dict[a.Query, Any]]:
        """The exact integers of queries, from DuckDB and from Spark."""
        mine, other = render(queries, contract, 7), render(queries, in_spark(contract), 7)
        assert [*mine.values.values()] == [*other.values.values()]
        answers = []
        for rendered, rows in (
            (mine, self.duckdb.execute(mine.sql).fetchall()),
            (other, self.rows_of_spark(other.sql)),
        ):
            columns = self.duckdb.sql(mine.sql).columns
            flat = np.array([[int(x) for x in row] for row in rows], object)
            flat = flat.reshape(-1, len(columns))
            answers.append(added_up(rendered.values, dict(zip(columns, flat.T, strict=True))))
        return answers
