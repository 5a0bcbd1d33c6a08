"""`python tests/bench/scale.py [--rows N …] [--spark PORT:PID] [--points FILE] [--picture FILE]`.

The same rows are held by a DuckDB vault, read from Parquet where they lie, and read by Spark (left
out without `--spark`; `examples/spark/serve.sh PORT` starts one on this machine). `--engines` and
`--kinds` choose some. A file of `--points` gets a line of JSON for each figure; figures that it has
are not measured again, so that a run which was ended goes on, and all are in the picture. With
`--fresh` Spark answers each plain aggregate in a session of its own, as it does sqlpriv's reads:
what is left between the two is not the session's.

Asked are a stratified count, a sum of a real, the same of units with about two rows of which two
are kept, of rows joined to their parents, and a synthetic table by AIM. Beside each stands the
engine's own plain aggregate of the same columns; beside AIM's, that of all its pairs of columns.

Printed: processor seconds of this process and of Spark's, the lesser of two runs, so that other
work on the machine matters little; seconds of wall time of that run; the ratio of processor
seconds; the most memory that this process has taken so far, and Spark's.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import NamedTuple

import duckdb

import sqlpriv
from sqlpriv.kernel.spark.spark_session import Spark

PEOPLE = """SELECT i AS id, (hash(i) % 18)::INTEGER AS g,
    least(hash(i, 5) % 5, hash(i, 6) % 5)::INTEGER AS h, (hash(i, 7) % 12)::INTEGER AS k,
    (hash(i, 1) % 1000003) / 7.0 AS pay FROM range({}) t(i)"""
VISITS = """SELECT (hash(i, 2) % {})::BIGINT AS who, (hash(i, 3) % 18)::INTEGER AS g,
    (hash(i, 4) % 1000003) / 7.0 AS cost FROM range({}) t(i)"""
LEVELS = ", ".join(map(str, range(18)))
PARENTS = f"""ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PRIVACY BOUND (rows_per_unit = 1);
ALTER TABLE people SET PU;
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1e6);
ALTER TABLE people ALTER COLUMN g SET PRIVACY DOMAIN IN ({LEVELS});
ALTER TABLE people ALTER COLUMN h SET PRIVACY DOMAIN IN (0, 1, 2, 3, 4);
ALTER TABLE people ALTER COLUMN k SET PRIVACY DOMAIN BETWEEN (0, 11);
ALTER TABLE people ALTER COLUMN pay SET PRIVACY DOMAIN BETWEEN (0, 143000);"""
CHILDREN = f"""ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = 2);
ALTER TABLE visits ADD PRIVACY_LINK (who) REFERENCES people(id);
ALTER TABLE visits ALTER COLUMN g SET PRIVACY DOMAIN IN ({LEVELS});
ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN (0, 143000)"""
JOINED = "people JOIN visits ON people.id = visits.who"
KINDS = {
    "count": ("people.g, count(*) AS n", "people", "people.g"),
    "real sum": ("people.g, sum(pay) AS total", "people", "people.g"),
    "bounded": ("visits.g, sum(cost) AS total", "visits", "visits.g"),
    "join": ("people.g, sum(cost) AS total", JOINED, "people.g"),
}
AIM = "aim"
ASKED = {
    kind: (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {})"
        f" {columns} FROM {source} GROUP BY {key}",
        f"SELECT {columns} FROM {source} GROUP BY {key}",
    )
    for kind, (columns, source, key) in KINDS.items()
} | {
    AIM: (
        "CREATE OR REPLACE SYNTHETIC TABLE made AS SELECT g, h, k FROM people USING aim"
        " OPTIONS (epsilon = {}, rows = 100)",
        " UNION ALL ".join(
            f"SELECT count(*) AS n FROM people GROUP BY {pair}" for pair in ("g, h", "g, k", "h, k")
        ),
    )
}
"""By kind, what is asked of sqlpriv at a price, and of the engine."""
MEMORY = "memory"
"""The panel of the most memory that was taken, by rows."""
COLOURS = {"vault": "#1f6feb", "parquet": "#d1651d", "spark": "#2f9e44"}


class Point(NamedTuple):
    """One kind of statement by one engine: seconds, and mebibytes of memory at most."""

    engine: str
    kind: str
    rows: int
    processor: float
    wall: float
    plain: float
    memory: float


class Clock:
    """Processor seconds of this process and, where there is one, of Spark's."""

    def __init__(self, server: int) -> None:
        self.server = server

    def seconds(self) -> float:
        if not self.server:
            return time.process_time()
        fields = Path(f"/proc/{self.server}/stat").read_text().rsplit(")", 1)[1].split()
        ticks = int(fields[11]) + int(fields[12])
        return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Mebibytes at most, of both."""
        here = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        if not self.server:
            return here
        lines = Path(f"/proc/{self.server}/status").read_text().splitlines()
        return here + next(int(x.split()[1]) for x in lines if x.startswith("VmHWM")) / 1024

    def least_seconds(self, run: Callable[[], object]) -> tuple[float, float]:
        """Returns the processor and wall seconds of the quicker of two runs."""
        times = []
        for _ in range(2):
            wall, processor = time.perf_counter(), self.seconds()
            run()
            times.append((self.seconds() - processor, time.perf_counter() - wall))
        return min(times)


def tables_of(kinds: Iterable[str]) -> tuple[str, ...]:
    """Returns the tables that some kinds of statements need.

    To declare `visits`, which is linked to `people`, takes minutes at 10⁸ rows.
    """
    read_visits = any("visits" in ASKED[kind][1] for kind in kinds)
    return ("people", "visits") if read_visits else ("people",)


def write_rows(folder: Path, rows: int, tables: Sequence[str]) -> None:
    """Writes tables as Parquet files."""
    queries = {"people": PEOPLE.format(rows), "visits": VISITS.format(rows // 2, rows)}
    with duckdb.connect() as engine:
        for table in tables:
            engine.sql(queries[table]).write_parquet(str(folder / f"{table}-{rows}.parquet"))


def declare_vault(
    folder: Path, engine: str, rows: int, url: str, tables: Sequence[str]
) -> sqlpriv.Connection:
    """Makes a vault of the tables, which it holds itself ("vault") or reads from their files."""
    path = folder / f"{engine}-{rows}.duckdb"
    opened = sqlpriv.connect(path, role="owner", engine=url if engine == "spark" else "duckdb")
    for table in tables:
        at = folder / f"{table}-{rows}.parquet"
        held = f"AS FROM '{at}'" if engine == "vault" else f"FROM PARQUET '{at}'"
        opened.cursor().execute(f"CREATE TABLE {table} {held}")
    if engine == "vault":
        opened.cursor().execute("ALTER TABLE people ADD PRIMARY KEY (id)")
    opened.cursor().execute(PARENTS + CHILDREN if "visits" in tables else PARENTS)
    return opened


def session_over(files: Mapping[str, tuple[str, ...]], url: str) -> Spark:
    """Returns a session of Spark with a view of each table."""
    spark = Spark(url)
    for table, (path,) in files.items():
        spark._session.read.parquet(path).createOrReplaceTempView(table)
    return spark


def plain_asker(
    folder: Path, engine: str, rows: int, url: str, fresh: bool, tables: Sequence[str]
) -> tuple[Callable[[str], object], Callable[[], None]]:
    """Returns what runs a plain aggregate in the same engine, and what ends it."""
    files = {t: (str(folder / f"{t}-{rows}.parquet"),) for t in tables}
    if engine == "spark" and fresh:

        def ask(sql: str) -> object:
            with closing(session_over(files, url)) as spark:
                return spark.execute(sql)

        return ask, lambda: None
    if engine == "spark":
        spark = session_over(files, url)
        return spark.execute, spark.close
    plain = duckdb.connect()
    for table, (path,) in files.items():
        made = "TABLE" if engine == "vault" else "VIEW"
        plain.execute(f"CREATE {made} {table} AS FROM '{path}'")
    return lambda sql: plain.execute(sql).fetchall(), plain.close


def measure(
    folder: Path, engine: str, rows: int, kinds: Sequence[str], url: str, server: int, fresh: bool
) -> Iterator[Point]:
    """Yields a figure for each of some kinds of statements of one engine over so many rows."""
    epsilon, clock = count(2), Clock(server if engine == "spark" else 0)
    tables = tables_of(kinds)
    ask_plainly, end = plain_asker(folder, engine, rows, url, fresh, tables)
    with declare_vault(folder, engine, rows, url, tables) as vault:
        for kind in kinds:
            private, sql = ASKED[kind]
            processor, wall = clock.least_seconds(
                lambda private=private: vault.cursor().execute(  # a new price: nothing is replayed
                    private.format(next(epsilon) / 64)
                )
            )
            plain, _ = clock.least_seconds(lambda sql=sql: ask_plainly(sql))
            yield Point(engine, kind, rows, processor, wall, plain, clock.memory())
    end()


def line(point: Point) -> str:
    """Returns a row of the table."""
    return (
        f"| {point.rows:,} | {point.kind} | {point.engine} | {point.processor:.2f}"
        f" | {point.wall:.2f} | {point.plain:.2f} | {point.processor / point.plain:.1f}"
        f" | {point.memory:,.0f} |"
    )


def draw(points: Sequence[Point], into: Path) -> None:
    """Draws a panel for each kind, processor time by rows, and one of memory; logarithmic."""
    wide, pad = 170, 40
    low, high = (f(math.log10(p.rows) for p in points) for f in (min, max))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{(len(ASKED) + 1) * (wide + pad) + pad}"'
        f' height="{wide + 3 * pad}" font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for place, panel in enumerate([*ASKED, MEMORY]):
        left, bottom = pad + place * (wide + pad), wide + pad
        # 10 ms to 1,000 s; 100 MiB to 100 GiB
        least, decades, unit = (2, 3, "MiB") if panel == MEMORY else (-2, 5, "s")
        parts.append(f'<text x="{left}" y="{pad - 12}" font-weight="bold">{panel}</text>')
        parts.append(f'<path d="M{left} {pad}V{bottom}H{left + wide}" fill="none" stroke="#888"/>')
        for row, (engine, colour) in enumerate(COLOURS.items()):
            heights = dict[int, float]()
            for p in (p for p in points if p.engine == engine and panel in (p.kind, MEMORY)):
                height = p.memory if panel == MEMORY else p.processor
                heights[p.rows] = max(height, heights.get(p.rows, 0))
            at = [
                (
                    left + wide * (math.log10(rows) - low) / max(high - low, 1e-9),
                    bottom - wide * (math.log10(height) - least) / decades,
                )
                for rows, height in sorted(heights.items())
            ]
            if at:
                path = "L".join(f"{x:.1f} {y:.1f}" for x, y in at)
                parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
                first, last = heights[min(heights)], heights[max(heights)]
                told = (
                    f"{first:,.0f} → {last:,.0f}" if unit == "MiB" else f"{first:.2f} → {last:.2f}"
                )
                y = bottom + 16 + 14 * row
                parts.append(
                    f'<text x="{left}" y="{y}" fill="{colour}">{engine}: {told} {unit}</text>'
                )
    into.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")


def main() -> None:
    """Measures what the command line asks for, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7])
    parser.add_argument("--spark", default="", help="PORT:PID of a server on this machine")
    parser.add_argument("--engines", nargs="+", choices=COLOURS, default=[*COLOURS])
    parser.add_argument("--kinds", nargs="+", choices=ASKED, default=[*ASKED])
    parser.add_argument("--points", type=Path, help="a file of figures: read, and added to")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--fresh", action="store_true", help="a session for each plain aggregate")
    chosen = parser.parse_args()
    port, _, server = chosen.spark.partition(":")
    url = f"spark://127.0.0.1:{port}"
    engines = [e for e in chosen.engines if e != "spark" or chosen.spark]
    lines = (
        chosen.points.read_text().splitlines() if chosen.points and chosen.points.exists() else []
    )
    points = [Point(**json.loads(text)) for text in lines]
    measured = {(p.rows, p.engine, p.kind) for p in points}
    print("| rows | statement | rows are in | processor s | wall s | plain s | ratio | MiB |")
    print("|---|---|---|---|---|---|---|---|")
    for rows in chosen.rows:
        kinds = {e: [k for k in chosen.kinds if (rows, e, k) not in measured] for e in engines}
        if not any(kinds.values()):
            continue
        with tempfile.TemporaryDirectory() as name:
            write_rows(Path(name), rows, tables_of(k for e in engines for k in kinds[e]))
            for where in (e for e in engines if kinds[e]):
                for point in measure(
                    Path(name), where, rows, kinds[where], url, int(server or 0), chosen.fresh
                ):
                    points.append(point)
                    print(line(point), flush=True)
                    if chosen.points:
                        with chosen.points.open("a") as file:
                            file.write(json.dumps(point._asdict()) + "\n")
    if chosen.picture:
        draw(points, chosen.picture)


if __name__ == "__main__":
    main()
