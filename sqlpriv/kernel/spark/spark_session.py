"""Apache Spark by Spark Connect: statements over the files of a vault's tables.

Claim: a statement reads the listed files and no other. Each read has a session of its own, whose
random name nobody else knows. The files of each view that it makes are read back, and before each
statement the plan behind the view (its hash), and every setting on which the meaning of the text
rests (`SETTINGS`): where one differs, nothing is run.

Claim: nothing that Spark says leaves here but a table of results. Errors are replaced by ones of
fixed text, and the loggers that would write them, statements and all, to stderr are off. What
Spark's own logs, event logs, pages and shuffle files hold is the cluster's, its owner's to guard.
"""

import logging
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from sqlpriv.errors import OperationalError
from sqlpriv.kernel.ledger.pointer import pointer_of
from sqlpriv.kernel.sql.dialect import SPARK

SETTINGS = {
    "spark.sql.ansi.enabled": "false",  # with it, a row could make a statement fail
    "spark.sql.caseSensitive": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.mergeSchema": "false",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    # what its parser learns of texts, 5 KB a state, would fill the driver's memory: a tenth at most
    "spark.sql.parser.manageParserCaches": "true",
    "spark.sql.parser.parserDfaCacheFlushRatio": "10.0",
    # to leave out rows beyond a bound before they are sent, Spark sorts all of them once more
    "spark.sql.optimizer.windowGroupLimitThreshold": "-1",
    # an empty side of a join, or the values of one, is no reason to spare the other
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
    "spark.sql.optimizer.excludedRules": (
        "org.apache.spark.sql.catalyst.optimizer.PropagateEmptyRelation"
    ),
    "spark.sql.adaptive.optimizer.excludedRules": (
        "org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation"
    ),
}
TYPES = {
    "BOOLEAN": "boolean",
    "TINYINT": "tinyint",
    "SMALLINT": "smallint",
    "INTEGER": "int",
    "BIGINT": "bigint",
    "UTINYINT": "smallint",
    "USMALLINT": "int",
    "UINTEGER": "bigint",
    "UBIGINT": "decimal(20,0)",
    "FLOAT": "float",
    "DOUBLE": "double",
    "VARCHAR": "string",
    "DATE": "date",
    "TIMESTAMP": "timestamp_ntz",
    "TIMESTAMP WITH TIME ZONE": "timestamp",
}
"""What Spark calls the types of DuckDB that it reads from Parquet alike; DECIMAL beside them."""


def spark_of(vault: Path) -> str:
    """Returns the URL of the server that reads a vault's files; '' where DuckDB reads them."""
    return pointer_of(vault.with_suffix(".engine"), b"spark://")


def type_in_spark(sql_type: str) -> str:
    """Returns what Spark calls a type of DuckDB; '' for one that it does not read alike.

    >>> type_in_spark("DECIMAL(15,2)"), type_in_spark("UUID")
    ('decimal(15,2)', '')
    """
    return sql_type.lower() if sql_type.startswith("DECIMAL(") else TYPES.get(sql_type, "")


class Spark:
    """One session of a Spark Connect server, for one read of a vault.

    Args:
        url: spark://host:port; one on another machine takes TLS and the token in
            $SQLPRIV_SPARK_TOKEN.

    Raises:
        OperationalError: The server cannot be reached or does not take the settings, or pyspark is
            not installed; nothing was read or charged.
    """

    def __init__(self, url: str) -> None:
        self._plans, self._frames = dict[str, int](), dict[str, Any]()  # by view, by statement
        with _one_error(f"Spark cannot be reached at {url} (is pyspark here, its token set?)"):
            with warnings.catch_warnings(action="ignore"):  # of pyspark, about pandas
                from pyspark.sql.connect.client.retries import DefaultPolicy
                from pyspark.sql.connect.session import SparkSession
            for kind in ("SQLQueryContext", "DataFrameQueryContext"):
                logging.getLogger(f"{kind}Logger").disabled = True
            near = urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
            secret = "" if near else f";use_ssl=true;token={os.environ['SQLPRIV_SPARK_TOKEN']}"
            self._session = SparkSession(connection=f"sc://{urlsplit(url).netloc}/{secret}")
            self._session.client.set_retry_policies([DefaultPolicy(max_retries=2)])
            for name, value in SETTINGS.items():
                self._session.conf.set(name, value)

    def prepare(
        self,
        sql: str,
        files: Mapping[str, tuple[str, ...]],
        columns: Mapping[str, Mapping[str, str]],
    ) -> None:
        """Makes views of the files of the tables that a statement reads, and has it analyzed.

        Args:
            sql: The statement.
            files: The paths of each table.
            columns: By table, the usable columns (lower case) and what DuckDB calls their types.

        Raises:
            OperationalError: Spark sees other files or columns, or does not take the statement.
        """
        for table in (t for t in files if SPARK.table(t) in sql):
            with _one_error(f"Spark reads {table} otherwise than DuckDB, or not at all"):
                frame = self._session.read.parquet(*files[table])
                types = {column.lower(): type_ for column, type_ in frame.dtypes}
                wanted = {c: type_in_spark(t) for c, t in columns[table].items()}
                paths = sorted(unquote(urlsplit(file).path) for file in frame.inputFiles())
                if (
                    len(types) < len(frame.dtypes)  # two columns have one name
                    or not wanted.items() <= types.items()
                    or paths != sorted(files[table])
                ):
                    raise ValueError
                frame.createOrReplaceTempView(SPARK.table(table))
                self._plans[SPARK.table(table)] = frame.semanticHash()
        with _one_error("the statement is too long for Spark, or Spark does not take it"):
            _ = self._frame(sql).schema

    def execute(self, sql: str) -> pa.Table:
        """Returns what a statement gives; raises whatever."""
        return self._frame(sql).toArrow()

    def interrupt(self) -> None:
        """Stops what this session runs, on the cluster."""
        with suppress(Exception):
            self._session.interruptAll()

    def close(self) -> None:
        """Ends the session, and its views with it."""
        with suppress(Exception):
            self._session.stop()

    def _frame(self, sql: str) -> Any:
        """Returns a statement as Spark's frame, made once: each that is made is analyzed anew.

        Raises ValueError where the session is not as this file made it, or a statement so long that
        planning it could take all of the driver's memory: forms write an argument up to six times,
        so that functions of functions grow fast.
        """
        plans = {view: self._session.table(view).semanticHash() for view in self._plans}
        if (
            plans != self._plans
            or not SETTINGS.items() <= self._session.conf.getAll.items()
            or len(sql) > 2**17
        ):
            raise ValueError
        return self._frames.get(sql) or self._frames.setdefault(sql, self._session.sql(sql))


@contextmanager
def _one_error(problem: str) -> Iterator[None]:
    """Replaces any error inside, whose text may quote rows or statements, by one of fixed text."""
    failed = True
    with suppress(Exception):
        yield
        failed = False
    if failed:  # `with` still handles Spark's error, so that without `from None` a traceback has it
        raise OperationalError(f"{problem}; nothing was read or charged") from None
