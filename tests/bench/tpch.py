"""`python tests/bench/tpch.py [--scale F] [--processor]`: TPC-H's 22 queries beside plain DuckDB's.

The tables are dbgen's at any scale factor: pip's `duckdb-extension-tpch` writes them as Parquet, in
an environment of its own, once for each folder `--tables`. Customers are the units, as
`examples/tpch/vault.sql` declares them. Each statement is asked at a price of its own, so that none
is replayed. Both sides are of one
run on one file, and `--processor` measures processor time, for busy machines. A statement that
takes longer than `--limit` seconds is asked once. The last line is the median and the worst ratio.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "tpch"))

import duckdb
from report import SINGLE
from vault import KEYS, make, queries

import sqlpriv

PACKAGES = ("duckdb==1.5.5", "duckdb-extension-tpch==1.5.5")
DBGEN = """
import sys
from pathlib import Path
import duckdb, duckdb_extension_tpch
scale, folder, *tables = sys.argv[1:]
extension = next(Path(duckdb_extension_tpch.__file__).parent.rglob("*.duckdb_extension"))
engine = duckdb.connect(config={"allow_unsigned_extensions": True})
engine.execute(f"LOAD '{extension}'")
engine.execute(f"CALL dbgen(sf = {scale})")
for table in tables:
    engine.execute(f"COPY {table} TO '{folder}/{table}.parquet'")
"""
Clock = Callable[[], float]


def write_tables(folder: Path, scale: float) -> None:
    """Writes dbgen's tables as Parquet files, where they are not there."""
    if all((folder / f"{table}.parquet").exists() for table in KEYS):
        return
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        venv.create(place, with_pip=True)
        python = str(Path(place) / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
        subprocess.run([python, "-c", DBGEN, str(scale), str(folder), *KEYS], check=True)


def median_seconds(run: Callable[[int], object], clock: Clock, limit: float) -> float:
    """Returns the median of three runs, after one to warm up; of one that is above the limit, its
    own seconds."""
    times: list[float] = []
    for turn in range(4):
        began = clock()
        run(turn)
        times.append(clock() - began)
        if times[0] > limit:
            return times[0]
    return statistics.median(times[1:])


def private_text(number: int, text: str) -> str:
    """Returns a query's text with a place for epsilon: what lists single customers goes by what
    passes a threshold."""
    options = "epsilon = {epsilon}"
    if number in SINGLE:
        options += ", group_selection_strategy = LAPLACE_THRESHOLD"
    private = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options})"
    escaped = text.replace("{", "{{").replace("}", "}}")
    return re.sub("select", private, escaped, count=1, flags=re.IGNORECASE)


def measure(vault: Path, number: int, text: str, clock: Clock, limit: float) -> tuple[float, float]:
    """Returns median seconds of ours and of plain DuckDB."""
    with duckdb.connect(str(vault), read_only=True) as engine:
        plain = median_seconds(lambda _: engine.execute(text).fetchall(), clock, limit)
    with sqlpriv.connect(vault) as analyst:

        def ask(turn: int) -> None:
            epsilon = 10 + number / 100 + turn / 1000
            analyst.execute(f"SET privacy_epsilon = {epsilon}")
            analyst.execute(private_text(number, text).format(epsilon=epsilon)).fetchall()

        def ask_default(turn: int) -> None:
            analyst.execute(f"SET privacy_epsilon = {10 + number / 100 + turn / 1000}")
            analyst.execute(text).fetchall()

        return median_seconds(ask if number in SINGLE else ask_default, clock, limit), plain


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--tables", type=Path, help="the folder of dbgen's tables; else a new one")
    parser.add_argument("--queries", type=int, nargs="+", default=[*range(1, 23)])
    parser.add_argument("--limit", type=float, default=20.0)
    parser.add_argument("--processor", action="store_true", help="processor time, not the clock's")
    given = parser.parse_args()
    clock = time.process_time if given.processor else time.perf_counter
    with tempfile.TemporaryDirectory() as place:
        tables = given.tables or Path(place) / "tables"
        write_tables(tables, given.scale)
        began = clock()
        vault = make(Path(place) / "tpch.duckdb", tables, "{}.parquet")
        seconds = clock() - began
        with duckdb.connect(str(vault), read_only=True) as engine:
            customers = engine.sql("SELECT count(*) FROM customer").fetchall()[0][0]
        print(
            f"{os.cpu_count()} cores, DuckDB {duckdb.__version__}, {customers:,} customers, set up"
            f" in {seconds:.1f} s; query, milliseconds of sqlpriv and of DuckDB, ratio"
        )
        ratios: dict[int, float] = {}
        for number in given.queries:
            try:
                ours, plain = measure(vault, number, queries()[number], clock, given.limit)
            except sqlpriv.Error as error:
                print(f"{number:>3}  {type(error).__name__}: {error}", flush=True)
                continue
            ratios[number] = ours / plain
            milliseconds = f"{1000 * ours:>10.0f}{1000 * plain:>10.0f}"
            print(f"{number:>3}{milliseconds}{ours / plain:>8.1f}", flush=True)
    worst = max(ratios, key=lambda number: ratios[number])
    print(f"median {statistics.median(ratios.values()):.1f}, worst {ratios[worst]:.1f} ({worst})")


if __name__ == "__main__":
    main()
