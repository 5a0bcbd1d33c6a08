"""`python tests/bench/scale.py [--rows N …] [--spark URL] [--picture FILE]`: where rows lie.

The same rows are held by a DuckDB vault, read from Parquet where they lie, and read by Spark (left
out without `--spark`; `examples/spark/serve.sh` starts one). Asked are a stratified count, a sum of
a real, the same of units with up to four rows of which two are kept, and of rows joined to their
parents. Beside each stands the engine's own plain aggregate of the same columns. Printed: seconds
of wall time, the lesser of two, the processor time of this process (Spark's work is not in it), the
ratio of the two wall times, and the most memory that this process has taken so far.
"""

from __future__ import annotations

import argparse
import math
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

import duckdb

import sqlpriv
from sqlpriv.kernel.spark.spark_session import Spark

PEOPLE = """SELECT i AS id, (hash(i) % 18)::INTEGER AS g,
    (hash(i, 1) % 1000003) / 7.0 AS pay FROM range({}) t(i)"""
VISITS = """SELECT hash(i, 2) % {} AS who, (hash(i, 3) % 18)::INTEGER AS g,
    (hash(i, 4) % 1000003) / 7.0 AS cost FROM range({}) t(i)"""
LEVELS = ", ".join(map(str, range(18)))
PARENTS = f"""ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PRIVACY BOUND (rows_per_unit = 1);
ALTER TABLE people SET PU;
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1e6);
ALTER TABLE people ALTER COLUMN g SET PRIVACY DOMAIN IN ({LEVELS});
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
PRIVATE = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {}) {} FROM {} GROUP BY {}"
PLAIN = "SELECT {} FROM {} GROUP BY {}"
COLOURS = {"vault": "#1f6feb", "parquet": "#d1651d", "spark": "#2f9e44"}


class Point(NamedTuple):
    """One kind of statement by one engine; seconds, and mebibytes of this process at most."""

    engine: str
    kind: str
    rows: int
    wall: float
    processor: float
    plain: float
    memory: float


def quickest(run: Callable[[], object]) -> tuple[float, float]:
    """Returns the wall and processor seconds of the quicker of two runs."""
    times = []
    for _ in range(2):
        wall, processor = time.perf_counter(), time.process_time()
        run()
        times.append((time.perf_counter() - wall, time.process_time() - processor))
    return min(times)


def declared(folder: Path, engine: str, rows: int, url: str) -> sqlpriv.Connection:
    """Makes a vault of the tables, which it holds itself ("vault") or reads from their files."""
    path = folder / f"{engine}-{rows}.duckdb"
    opened = sqlpriv.connect(path, role="owner", engine=url if engine == "spark" else "duckdb")
    for table in ("people", "visits"):
        at = folder / f"{table}-{rows}.parquet"
        held = f"AS FROM '{at}'" if engine == "vault" else f"FROM PARQUET '{at}'"
        opened.cursor().execute(f"CREATE TABLE {table} {held}")
    if engine == "vault":
        opened.cursor().execute("ALTER TABLE people ADD PRIMARY KEY (id)")
    opened.cursor().execute(PARENTS + CHILDREN)
    return opened


def plain_asker(
    folder: Path, engine: str, rows: int, url: str
) -> tuple[Callable[[str], object], Callable[[], None]]:
    """Returns what runs a plain aggregate in the same engine, and what ends it."""
    files = {t: (str(folder / f"{t}-{rows}.parquet"),) for t in ("people", "visits")}
    if engine == "spark":
        spark = Spark(url)
        for table, (path,) in files.items():
            spark._session.read.parquet(path).createOrReplaceTempView(table)
        return spark.execute, spark.close
    plain = duckdb.connect()
    for table, (path,) in files.items():
        made = "TABLE" if engine == "vault" else "VIEW"
        plain.execute(f"CREATE {made} {table} AS FROM '{path}'")
    return lambda sql: plain.execute(sql).fetchall(), plain.close


def measure(folder: Path, engine: str, rows: int, url: str) -> list[Point]:
    """Measures all kinds of statements of one engine over so many rows."""
    points, epsilon = [], count(2)
    ask_plainly, end = plain_asker(folder, engine, rows, url)
    with declared(folder, engine, rows, url) as vault:
        for kind, parts in KINDS.items():
            wall, processor = quickest(
                lambda parts=parts: vault.cursor().execute(  # a new price: nothing is replayed
                    PRIVATE.format(next(epsilon) / 64, *parts)
                )
            )
            plain, _ = quickest(lambda parts=parts: ask_plainly(PLAIN.format(*parts)))
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            points.append(Point(engine, kind, rows, wall, processor, plain, memory))
            print(line(points[-1]), flush=True)
    end()
    return points


def line(point: Point) -> str:
    """Returns a row of the table."""
    return (
        f"| {point.rows:,} | {point.kind} | {point.engine} | {point.wall:.2f}"
        f" | {point.processor:.2f} | {point.plain:.2f} | {point.wall / point.plain:.1f}"
        f" | {point.memory:,.0f} |"
    )


def draw(points: Sequence[Point], into: Path) -> None:
    """Draws one panel a kind: wall time by rows, both scales logarithmic."""
    wide, pad = 190, 40
    low, high = (f(math.log10(p.rows) for p in points) for f in (min, max))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{len(KINDS) * (wide + pad) + pad}"'
        f' height="{wide + 3 * pad}" font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for place, kind in enumerate(KINDS):
        left, bottom = pad + place * (wide + pad), wide + pad
        parts.append(f'<text x="{left}" y="{pad - 12}" font-weight="bold">{kind}</text>')
        parts.append(f'<path d="M{left} {pad}V{bottom}H{left + wide}" fill="none" stroke="#888"/>')
        for row, (engine, colour) in enumerate(COLOURS.items()):
            some = [p for p in points if (p.engine, p.kind) == (engine, kind)]
            at = [
                (
                    left + wide * (math.log10(p.rows) - low) / max(high - low, 1e-9),
                    bottom - wide * (math.log10(p.wall) + 2) / 4,  # 10 ms to 100 s
                )
                for p in some
            ]
            if at:
                path = "L".join(f"{x:.1f} {y:.1f}" for x, y in at)
                parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
                told = f"{engine}: {some[0].wall:.2f} → {some[-1].wall:.2f} s"
                y = bottom + 16 + 14 * row
                parts.append(f'<text x="{left}" y="{y}" fill="{colour}">{told}</text>')
    into.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")


def main() -> None:
    """Measures what the command line asks for, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7])
    parser.add_argument("--spark", default="", help="spark://host:port")
    parser.add_argument("--picture", type=Path)
    chosen = parser.parse_args()
    print("| rows | statement | rows are in | seconds | processor | plain | ratio | MiB |")
    print("|---|---|---|---|---|---|---|---|")
    points: list[Point] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rows in chosen.rows:
            with duckdb.connect() as engine:
                engine.sql(PEOPLE.format(rows)).write_parquet(
                    str(folder / f"people-{rows}.parquet")
                )
                visits = VISITS.format(rows // 2, rows)
                engine.sql(visits).write_parquet(str(folder / f"visits-{rows}.parquet"))
            for where in ("vault", "parquet", *(["spark"] if chosen.spark else [])):
                points += measure(folder, where, rows, chosen.spark)
    if chosen.picture:
        draw(points, chosen.picture)


if __name__ == "__main__":
    main()
