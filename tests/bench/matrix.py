"""`python tests/bench/matrix.py [--rows N …] [--processor]`: statements beside DuckDB's, by type.

COUNT(*), AVG(income) and SUM(hours) by 18 groups, fresh, pure epsilon, over every combination of
the keys' type, the values' type, whether NULL is allowed, and how wide the declared interval is.
Beside each stands plain DuckDB and the same statement by hand: clamped, added up by DuckDB and
noised by numpy's Laplace, without budget, proof or ledger. All three are of one run on one file, so
a slow machine slows all; `--processor` measures processor time, for busy ones. The last line is the
worst row, which README shows.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np

from sqlpriv.session.session import Session

REPEATS = 5
Clock = Callable[[], float]
KEYS = {
    "TINYINT": "(hash(i) % 18)::TINYINT",
    "VARCHAR": "'group ' || (hash(i) % 18)",
    "ENUM": "('group ' || (hash(i) % 18))::groups",
}
VALUES = {"INTEGER": "INTEGER", "DOUBLE": "DOUBLE", "DECIMAL": "DECIMAL(12, 2)"}
WIDTHS = {"narrow": 99, "wide": 500_000}
"""The upper end of the declared interval of `income`."""
NULLS = {"NOT NULL": "{}", "nullable": "CASE WHEN hash(i, 9) % 50 = 0 THEN NULL ELSE {} END"}
INCOME = (
    "exp(3.2 + 1.1 * sqrt(-2 * ln((1 + hash(i, 2) % 99999) / 1e5)) * cos(hash(i, 3) % 6283 / 1e3))"
)
"""Log-normal; a wide column holds a thousand times as much, clamped at its declared end."""


class Shape(NamedTuple):
    """One row of the table."""

    rows: int
    key: str
    value: str
    null: str
    width: str


def write_table(vault: Path, shape: Shape) -> None:
    """Writes the table of a shape, one row a unit, and declares it."""
    scale = 1_000 if shape.width == "wide" else 0.5
    end = WIDTHS[shape.width]
    income = NULLS[shape.null].format(f"least({scale} * {INCOME}, {end})::{VALUES[shape.value]}")
    labels = ", ".join(f"'group {n}'" for n in range(18))
    levels = ", ".join(map(str, range(18))) if shape.key == "TINYINT" else labels
    promise = "NOT NULL" if shape.null == "NOT NULL" else "OR NULL"
    with Session(vault, role="owner") as owner:
        owner.execute(f"CREATE TYPE groups AS ENUM ({labels})")
        owner.execute(
            f"CREATE TABLE people AS SELECT i AS id, {KEYS[shape.key]} AS g, {income} AS income,"
            f" (hash(i, 4) % 100)::INTEGER AS hours FROM range({shape.rows}) r(i)"
        )
        owner.execute("ALTER TABLE people ADD PRIMARY KEY (id)")
        for change in (
            "ADD PRIVACY_KEY (id)",
            "SET PRIVACY BOUND (rows_per_unit = 1)",
            "SET PU",
            f"ALTER COLUMN g SET PRIVACY DOMAIN IN ({levels}) NOT NULL",
            f"ALTER COLUMN income SET PRIVACY DOMAIN BETWEEN (0, {end}) {promise}",
            "ALTER COLUMN hours SET PRIVACY DOMAIN BETWEEN (0, 99) NOT NULL",
            "SET PRIVACY BUDGET (epsilon = 100000)",
        ):
            owner.execute(f"ALTER TABLE people {change}")


def median_seconds(run: Callable[[int], object], clock: Clock) -> float:
    """Returns the median of `REPEATS` runs, after one to warm up."""
    times = []
    for turn in range(REPEATS + 1):
        began = clock()
        run(turn)
        times.append(clock() - began)
    return statistics.median(times[1:])


def by_hand(engine: duckdb.DuckDBPyConnection, end: int) -> None:
    """Does what a careful analyst would write: clamps, sums by group, adds noise of epsilon 1."""
    cells = engine.execute(
        "SELECT g, count(*), count(income), sum(greatest(least(income, ?), 0)::DOUBLE),"
        " sum(greatest(least(hours, 99), 0)) FROM people GROUP BY g ORDER BY g",
        [end],
    ).fetchnumpy()
    scales = (4.0, 4.0, 4.0 * end, 4.0 * 99)
    columns = [np.asarray(column, dtype=float) for name, column in cells.items() if name != "g"]
    noised = [
        c + np.random.default_rng().laplace(0, s, c.size)
        for c, s in zip(columns, scales, strict=True)
    ]
    _ = noised[2] / noised[1]


def measure(shape: Shape, estimator: str, clock: Clock) -> tuple[float, float, float]:
    """Returns median seconds of ours, of plain DuckDB, and of the statement by hand."""
    plain = "SELECT g, count(*), avg(income), sum(hours) FROM people GROUP BY g"
    using = f" USING {estimator}" if estimator else ""
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "matrix.duckdb"
        write_table(vault, shape)
        with duckdb.connect(str(vault), read_only=True) as engine:
            of_duckdb = median_seconds(lambda _: engine.execute(plain).fetchall(), clock)
            of_hand = median_seconds(lambda _: by_hand(engine, WIDTHS[shape.width]), clock)
        with Session(vault) as analyst:

            def ask(turn: int) -> None:
                analyst.execute(
                    f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {1 + turn / 1000}) g,"
                    f" COUNT(*) AS n, AVG(income{using}) AS income, SUM(hours) AS hours"
                    " FROM people GROUP BY g"
                )

            return median_seconds(ask, clock), of_duckdb, of_hand


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--using", default="", help="an estimator of AVG; by default auto")
    parser.add_argument("--processor", action="store_true", help="processor time, not the clock's")
    for option, choices in (
        ("--keys", KEYS),
        ("--values", VALUES),
        ("--nulls", NULLS),
        ("--widths", WIDTHS),
    ):
        parser.add_argument(option, nargs="+", default=list(choices), choices=list(choices))
    given = parser.parse_args()
    clock = time.process_time if given.processor else time.perf_counter
    print(f"{os.cpu_count()} cores, DuckDB {duckdb.__version__}; medians of {REPEATS}, ms")
    print(
        f"{'rows':>10} {'key':<8}{'value':<8}{'':<9}{'width':<7}"
        f"{'sqlpriv':>9}{'DuckDB':>9}{'by hand':>9}{'ratio':>7}{'/ hand':>7}"
    )
    worst: dict[int, tuple[float, str]] = {}
    combinations = itertools.product(
        given.rows, given.keys, given.values, given.nulls, given.widths
    )
    for shape in itertools.starmap(Shape, combinations):
        ours, plain, hand = measure(shape, given.using, clock)
        line = (
            f"{shape.rows:>10,} {shape.key:<8}{shape.value:<8}{shape.null:<9}{shape.width:<7}"
            f"{ours * 1e3:9.1f}{plain * 1e3:9.1f}{hand * 1e3:9.1f}{ours / plain:7.1f}"
            f"{ours / hand:7.1f}"
        )
        print(line, flush=True)
        worst[shape.rows] = max(worst.get(shape.rows, (0.0, "")), (ours / plain, line))
    for rows, (ratio, line) in worst.items():
        print(f"worst of {rows:,} rows: {ratio:.1f} times DuckDB\n{line}")


if __name__ == "__main__":
    main()
