"""`python tests/bench/out_of_core.py [--rows N] [--memory LIMIT]`.

Rows of units of about four rows each are drawn to a Parquet file and asked about where they lie, by
an engine that may use less memory than the rows take; what does not fit spills to a folder beside
the vault. Three rows of a unit are kept, in two groups at most.

Printed for each statement: processor seconds, the most that was spilled, in MB, the most memory
that the process has taken so far, in MB, and the answer's first row, or what it was refused with.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

import sqlpriv
from sqlpriv.kernel import engine

ROWS = """SELECT (hash(i) % {units})::BIGINT AS unit, (hash(i, 1) % 10000)::INTEGER AS shop,
    (hash(i, 2) % 20)::INTEGER AS region, (hash(i, 3) % 100000) / 100.0::DOUBLE AS amount
    FROM range({rows}) t(i)"""
DECLARED = f"""ALTER TABLE sales SET PRIVACY (
    KEY (unit), BOUND (rows_per_unit = 3, groups_per_unit = 2), BUDGET (epsilon = 30, delta = 1e-9),
    COLUMN region IN ({", ".join(map(str, range(20)))}) NOT NULL,
    COLUMN shop BETWEEN (0, 9999) NOT NULL, COLUMN amount BETWEEN (0, 1000) NOT NULL)"""
STATEMENTS = {
    "count": "SELECT COUNT(*) FROM sales",
    "20 groups": "SELECT region, COUNT(*), SUM(amount) FROM sales GROUP BY region",
    "10,000 groups": "SELECT shop, COUNT(*), AVG(amount) FROM sales GROUP BY shop",
    "units": "SELECT region, COUNT(DISTINCT unit) FROM sales GROUP BY region",
    "medians": "SELECT region, MEDIAN(amount) FROM sales STRATIFY BY region",
    "per unit": "SELECT COUNT(*) FROM (SELECT unit, SUM(amount) AS paid FROM sales GROUP BY unit)"
    " WHERE paid > 1000",
    "self-join": "SELECT COUNT(*) FROM sales AS a JOIN sales AS b USING (unit)"
    " WHERE a.region < b.region",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--memory", default="500MB", help="DuckDB's memory_limit")
    options = parser.parse_args()
    engine.CONFIG["memory_limit"] = options.memory
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_vault(folder, options.rows)
        with sqlpriv.connect(folder / "sales.duckdb") as analyst:
            analyst.execute("SET privacy_epsilon = 0.5")
            for title, sql in STATEMENTS.items():
                started = time.process_time()
                with watched_spills(folder) as most:
                    try:
                        answer = str(analyst.execute(sql).fetchone())
                    except sqlpriv.Error as error:
                        answer = str(error).splitlines()[0]
                seconds = time.process_time() - started
                memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
                spilled = most[0] / 1e6
                figures = f"{title:14} {seconds:6.1f} s {spilled:6.0f} MB {memory:6.0f} MB"
                print(f"{figures}  {answer}", flush=True)


def make_vault(folder: Path, rows: int) -> None:
    with duckdb.connect(config={"memory_limit": "500MB"}) as plain:
        drawn = ROWS.format(units=rows // 4, rows=rows)
        plain.execute(f"COPY ({drawn}) TO '{folder}/sales.parquet'")
    with sqlpriv.connect(folder / "sales.duckdb", role="owner") as owner:
        owner.execute(f"CREATE TABLE sales FROM PARQUET '{folder}/sales.parquet'")
        owner.execute(DECLARED)


@contextmanager
def watched_spills(folder: Path) -> Iterator[list[int]]:
    """Yields a list of one number: the most bytes that lay in the engine's folders so far."""
    most, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.1):
            size = 0
            for file in folder.glob("*.spill*/*"):
                with suppress(OSError):  # gone meanwhile
                    size += file.stat().st_size
            most[0] = max(most[0], size)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield most
    finally:
        done.set()
        watcher.join()


if __name__ == "__main__":
    main()
