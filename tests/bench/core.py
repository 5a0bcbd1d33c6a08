"""`python tests/bench/core.py [--rows N]`: private statements against DuckDB's own, in one run.

Everything is a ratio of medians of the same run on the same file, so that a slow machine slows both
sides. The vault is generated, and deleted at the end.
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
from collections.abc import Callable, Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import duckdb
from support.vaults import declare, write

from sqlpriv.kernel.gate import Allowance
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Budget, Rho
from sqlpriv.kernel.terms.contract import Categories, Interval
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.kernel.vault import Kernel

REPEATS = 3
TARGETS = {"unique": 2.5, "bounded": 2.0, "medians": 4.0, "memory": 1.5, "import": 0.5}
ROWS = """
CREATE TABLE people (id BIGINT PRIMARY KEY, sex VARCHAR, race TINYINT, income INTEGER,
    hours INTEGER);
INSERT INTO people SELECT i, CASE WHEN hash(i) % 2 = 0 THEN 'f' ELSE 'm' END,
    1 + hash(i, 1) % 9, hash(i, 2) % 200000, hash(i, 3) % 100 FROM range({rows}) r(i);
CREATE TABLE visits AS SELECT (hash(i, 4) % ({rows} // 5 + 1))::BIGINT AS id,
    CASE WHEN hash(id) % 2 = 0 THEN 'f' ELSE 'm' END AS sex, (1 + hash(id, 1) % 9)::TINYINT AS race,
    (hash(i, 2) % 200000)::INTEGER AS income, (hash(i, 3) % 100)::INTEGER AS hours
    FROM range({rows}) r(i);
"""
PLAIN = {
    "people": "SELECT sex, race, count(*), avg(income), sum(hours) FROM people GROUP BY ALL",
    "visits": "SELECT sex, race, count(*), avg(income), sum(hours) FROM (SELECT * FROM visits"
    " QUALIFY row_number() OVER (PARTITION BY id ORDER BY hash(42, id, income, hours)) <= 5)"
    " GROUP BY ALL",
}
PRIVATE = (
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {epsilon}) sex, race, COUNT(*) AS n,"
    " AVG(income) AS income, SUM(hours) AS hours FROM {table} STRATIFY BY sex, race"
)
MEDIANS = "sex, race, median(income) FROM people GROUP BY ALL"
DOMAINS = {
    "sex": Categories(("f", "m")),
    "race": Categories(tuple(range(1, 10))),
    "income": Interval(0, 199999),
    "hours": Interval(0, 99),
}
STRATA = (a.Key(a.Col("sex"), ("f", "m")), a.Key(a.Col("race"), tuple(range(1, 10))))


def build_vault(folder: Path, rows: int) -> Path:
    """A vault of a table with one row a unit and one with about five."""
    vault = folder / "bench.duckdb"
    write(vault, ROWS.format(rows=rows))
    kernel = Kernel(vault)
    for table, m in (("people", 1), ("visits", 5)):
        budget = Budget(table, Rho.at_most(10**6), 1e-9)
        declare(kernel, domains=DOMAINS, table=table, m=m, budget=budget)
    kernel.close()
    return vault


def measure_by_kernel(kernel: Kernel, table: str, turn: int) -> None:
    """The measurements of the statement, dearer every time, so that none is replayed."""
    contract = kernel.contracts()[table]
    scan, income, hours = a.Scan(table), a.Col("income"), a.Col("hours")
    queries: list[a.Query] = [
        a.Count(scan, STRATA),
        a.Count(scan, STRATA, of=income),
        a.Sum(scan, income, 0, 199999, STRATA),
        a.Count(scan, STRATA, of=hours),
        a.Sum(scan, hours, 0, 99, STRATA),
    ]
    batch = [Measurement(q, Rho(10**6 + turn)) for q in queries]
    account = kernel.ledger.account(table)
    assert account is not None
    with Allowance(kernel, contract, account.left, "bench", "SELECT") as allowance:
        assert not any(r.replayed for r in allowance.release(batch))


def median(run: Callable[[int], object], first: int = 0) -> float:
    """Seconds, after one run to warm up."""
    times = []
    for turn in range(first, first + REPEATS + 1):
        began = time.perf_counter()
        run(turn)
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:])


def plain_seconds(vault: Path, sql: str) -> float:
    """Median seconds of DuckDB's own statement on a connection that stays open."""
    with duckdb.connect(str(vault), read_only=True) as plain:
        return median(lambda _: plain.execute(sql).fetchall())


def kernel_seconds(vault: Path, table: str) -> float:
    """Median seconds of the kernel: look up, charge, read, noise, seal."""
    kernel = Kernel(vault)
    try:
        return median(lambda turn: measure_by_kernel(kernel, table, turn))
    finally:
        kernel.close()


def whole_statements(vault: Path, sql: str) -> float:
    """Median seconds from SQL text to rows."""
    from sqlpriv.session.session import Session

    session = Session(vault, role="analyst", principal="bench")
    try:
        return median(lambda turn: session.execute(sql.format(epsilon=5 + turn / 10)))
    finally:
        session.close()


def peak(what: str, vault: Path, table: str) -> float:
    """Peak memory, in MB, of a process that runs one statement."""
    command = [sys.executable, __file__, "--one", what, "--vault", str(vault), "--table", table]
    paths = ":".join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return float(done.stdout.split()[-1])


def one(what: str, vault: Path, table: str) -> None:
    if what == "duckdb":
        with duckdb.connect(str(vault), read_only=True) as plain:
            plain.execute(PLAIN[table]).fetchall()
    else:
        kernel = Kernel(vault)
        measure_by_kernel(kernel, table, -(10**5))
        kernel.close()
    status = Path("/proc/self/status").read_text()  # ru_maxrss would count the parent's, from fork
    print(int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024)


def import_seconds() -> float:
    """Median seconds that `import sqlpriv` adds to a bare interpreter."""

    def seconds(code: str) -> float:
        return median(lambda _: subprocess.run([sys.executable, "-c", code], check=True))

    return seconds("import sqlpriv") - seconds("pass")


def measurements(rows: int, sessions: bool = True) -> Iterator[tuple[str, float, float, float]]:
    """Rows of the table: what, ours, DuckDB's (0 for none), the target for the ratio (or ours)."""
    yield "import sqlpriv, s", import_seconds(), 0.0, TARGETS["import"]
    with tempfile.TemporaryDirectory() as folder:
        vault = build_vault(Path(folder), rows)
        for table, target in (("people", TARGETS["unique"]), ("visits", TARGETS["bounded"])):
            ours, theirs = (peak(what, vault, table) for what in ("kernel", "duckdb"))
            yield f"{table}: peak memory, MB", ours, theirs, TARGETS["memory"]
            plain = plain_seconds(vault, PLAIN[table])
            yield f"{table}: kernel, s", kernel_seconds(vault, table), plain, target
            if sessions:
                private = PRIVATE.replace("{table}", table)
                whole = whole_statements(vault, private)
                yield f"{table}: whole statement, s", whole, plain, target
        if sessions:
            private = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {{epsilon}}) {MEDIANS}"
            ours, theirs = (
                whole_statements(vault, private),
                plain_seconds(vault, f"SELECT {MEDIANS}"),
            )
            yield "people: medians of 18 groups, s", ours, theirs, TARGETS["medians"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--kernel-only", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--vault", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--table", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        one(given.one, given.vault, given.table)
        return
    print(f"{given.rows:,} rows, {os.cpu_count()} cores, DuckDB {duckdb.__version__}")
    print(f"{'':<32}{'sqlpriv':>10}{'DuckDB':>10}{'ratio':>8}{'target':>8}")
    for what, ours, plain, target in measurements(given.rows, not given.kernel_only):
        ratio, shown = (ours / plain, f"{plain:10.3f}") if plain else (ours, f"{'':>10}")
        verdict = "" if ratio <= target else "  missed"
        print(f"{what:<32}{ours:10.3f}{shown}{ratio:8.2f}{target:8.2f}{verdict}", flush=True)


if __name__ == "__main__":
    main()
