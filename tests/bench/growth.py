"""`python tests/bench/growth.py [--quick] [--axes NAME …] [--picture FILE]`: how cost grows.

Each axis makes one input longer and leaves all others as they are: earlier charges, distinct strata
of them, groups, rows, columns, declared tables. Measured is the processor time of a statement that
is paid for and, where the ledger is what grows, of its replay; medians of `REPEATS`. Printed beside
each is how often the input, and how often the time, of the axis's first point it is. `--picture`
draws the axes side by side, both scales logarithmic, with the line of what grows as its input does.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

import duckdb

from sqlpriv.session.session import Session

REPEATS = 5
PRICED = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {:.4f}) "
MEAN = "g, COUNT(*) AS n, AVG(income) AS income, SUM(hours) AS hours FROM people GROUP BY g"
ROWS = "SELECT i AS id, (hash(i) % {groups})::INTEGER AS g, (hash(i, 1) % {strata})::INTEGER AS s"
NUMBERS = "(hash(i, 2) % 500001)::INTEGER AS income, (hash(i, 3) % 100)::INTEGER AS hours"
SMALL = 2_000
"""Rows of a table where something else grows."""


class Point(NamedTuple):
    """One measurement: what grew, how long it was, and milliseconds of processor time."""

    axis: str
    size: int
    milliseconds: float


def make_vault(
    vault: Path, rows: int, groups: int = 18, strata: int = 1, columns: int = 0, tables: int = 1
) -> None:
    """Writes and declares `people`, and tables of the same form beside it.

    Args:
        vault: The file.
        rows: How many, each a unit.
        groups, strata: Values of the columns g and s, which are declared.
        columns: How many more numbers, x0, x1, ….
        tables: How many tables of 100 rows, this one among them.
    """
    more = "".join(f", (hash(i, {9 + n}) % 100)::INTEGER AS x{n}" for n in range(columns))
    with Session(vault, role="owner") as owner:
        for number in range(tables):
            name, size = ("people", rows) if not number else (f"other{number}", 100)
            source = f"{ROWS.format(groups=groups, strata=strata)}, {NUMBERS}{more}"
            owner.execute(f"CREATE TABLE {name} AS {source} FROM range({size}) r(i)")
            owner.execute(f"ALTER TABLE {name} ADD PRIMARY KEY (id)")
            domains = {"g": groups - 1, "s": strata - 1, "income": 500_000, "hours": 99}
            domains |= {f"x{n}": 99 for n in range(columns)}
            for change in (
                "ADD PRIVACY_KEY (id)",
                "SET PRIVACY BOUND (rows_per_unit = 1)",
                "SET PU",
                *(
                    f"ALTER COLUMN {c} SET PRIVACY DOMAIN BETWEEN (0, {end}) NOT NULL"
                    for c, end in domains.items()
                ),
                "SET PRIVACY BUDGET (epsilon = 1000000)",
            ):
                owner.execute(f"ALTER TABLE {name} {change}")


@contextmanager
def made_vault(rows: int, **shape: int) -> Iterator[Path]:
    """A vault that is there while it is measured: see `make_vault`."""
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "v.duckdb"
        make_vault(vault, rows, **shape)
        yield vault


def add_charges(vault: Path, charges: int, strata: int = 1) -> None:
    """Appends charges that were made before, as the kernel writes them, to strata in turn."""
    with Session(vault) as session:
        session.execute(PRICED.format(1e-4) + "COUNT(*) FROM people")  # so that there is a snapshot
        with session._access.kernel.ledger.begin("IMMEDIATE") as db:
            (snapshot,) = db.execute("SELECT max(id) FROM snapshot").fetchone()
            row = "INSERT INTO statement (at, principal, text) VALUES ('2020-01-01T', 'x', 'x')"
            (statement,) = db.execute(f"{row} RETURNING id").fetchone()
            filters = [json.dumps({"s": [n]}) for n in range(strata)] if strata > 1 else ["{}"]
            for number in range(charges):
                db.execute(
                    "INSERT INTO charge (at, statement_id, unit_table, kind, nano, snapshot_id,"
                    " strata) VALUES ('2020-01-01T', ?, 'people', 'pure', 1, ?, ?)",
                    (statement, snapshot, filters[number % len(filters)]),
                )


def median_milliseconds(run: Callable[[], object], repeats: int = REPEATS) -> float:
    """Returns the median processor time of some runs, after one to warm up."""
    times = []
    for _ in range(repeats + 1):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return 1000 * statistics.median(times[1:])


def statement_milliseconds(vault: Path, query: str, replayed: bool = False) -> float:
    """Returns the median time of a statement, each at a price of its own unless it is replayed."""
    numbers = count(1)
    with Session(vault) as session:
        return median_milliseconds(
            lambda: session.execute(
                PRICED.format(1 + (0 if replayed else next(numbers) / 1000)) + query
            )
        )


def of_charges(sizes: Sequence[int]) -> Iterator[Point]:
    """Measures a fresh statement and its replay behind earlier charges."""
    for size in sizes:
        with made_vault(SMALL) as vault:
            add_charges(vault, size)
            yield Point("charges", size, statement_milliseconds(vault, MEAN))
            yield Point("charges, replay", size, statement_milliseconds(vault, MEAN, True))


def of_strata(sizes: Sequence[int]) -> Iterator[Point]:
    """Measures a fresh statement behind 10,000 charges of so many distinct strata."""
    for size in sizes:
        with made_vault(SMALL, strata=max(sizes)) as vault:
            add_charges(vault, 10_000, size)
            query = f"COUNT(*) FROM people WHERE s = {size - 1}"
            yield Point("strata", size, statement_milliseconds(vault, query))


def of_groups(sizes: Sequence[int]) -> Iterator[Point]:
    """Measures counts of so many declared groups."""
    for size in sizes:
        with made_vault(100_000, groups=size) as vault:
            query = "g, COUNT(*) AS n FROM people GROUP BY g"
            yield Point("groups", size, statement_milliseconds(vault, query))


def of_rows(sizes: Sequence[int]) -> Iterator[Point]:
    """Measures a count, a mean and a sum by 18 groups; beside them DuckDB's plain statement."""
    plain = MEAN.replace("COUNT(*)", "count(*)")
    for size in sizes:
        with made_vault(size) as vault:
            yield Point("rows", size, statement_milliseconds(vault, MEAN))
            with duckdb.connect(str(vault), read_only=True) as engine:
                ask = partial(ask_plainly, engine, f"SELECT {plain}")
                yield Point("rows, DuckDB", size, median_milliseconds(ask))


def of_columns(sizes: Sequence[int]) -> Iterator[Point]:
    """Measures sums of so many columns by 18 groups."""
    for size in sizes:
        with made_vault(100_000, columns=max(sizes)) as vault:
            sums = ", ".join(f"SUM(x{n}) AS x{n}" for n in range(size))
            query = f"g, {sums} FROM people GROUP BY g"
            yield Point("columns", size, statement_milliseconds(vault, query))


def of_tables(sizes: Sequence[int]) -> Iterator[Point]:
    """Measures a statement on one of so many declared tables, and one more declaration."""
    for size in sizes:
        with made_vault(SMALL, tables=size) as vault:
            yield Point("tables", size, statement_milliseconds(vault, MEAN))
            with Session(vault, role="owner") as owner:
                declare = partial(declare_another_end, owner, count(100))
                yield Point("tables, declare", size, median_milliseconds(declare))


def ask_plainly(engine: duckdb.DuckDBPyConnection, text: str) -> None:
    """Asks DuckDB's own statement."""
    engine.execute(text).fetchall()


def declare_another_end(owner: Session, ends: Iterator[int]) -> None:
    """Declares another end of a column."""
    change = f"ALTER COLUMN hours SET PRIVACY DOMAIN BETWEEN (0, {next(ends)})"
    owner.execute(f"ALTER TABLE people {change}")


AXES: dict[str, tuple[Callable[[Sequence[int]], Iterator[Point]], list[int], list[int]]] = {
    "charges": (of_charges, [0, 1_000, 10_000, 100_000], [0, 1_000]),
    "strata": (of_strata, [1, 100, 1_000, 10_000], [1, 100]),
    "groups": (of_groups, [10, 100, 1_000, 10_000, 100_000], [10, 1_000]),
    "rows": (of_rows, [10**5, 10**6, 10**7, 5 * 10**7], [10**4, 10**5]),
    "columns": (of_columns, [1, 5, 10, 20, 40], [1, 5]),
    "tables": (of_tables, [1, 5, 10, 20, 50], [1, 5]),
}
"""How each axis is measured, its points, and those of `--quick`."""


def draw(points: Sequence[Point], into: Path) -> None:
    """Draws one panel an axis: times by those of the first point, and a line of slope 1."""
    names = list(dict.fromkeys(point.axis.split(",")[0] for point in points))
    wide, high, pad = 190, 190, 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{len(names) * (wide + pad) + pad}"'
        f' height="{high + 3 * pad}" font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    decades = 5.0
    for place, name in enumerate(names):
        left, bottom = pad + place * (wide + pad), high + pad
        lines = dict.fromkeys(p.axis for p in points if p.axis.split(",")[0] == name)
        parts.append(f'<text x="{left}" y="{pad - 12}" font-weight="bold">{name}</text>')
        parts.append(f'<path d="M{left} {pad}V{bottom}H{left + wide}" fill="none" stroke="#888"/>')
        parts.append(
            f'<path d="M{left} {bottom}L{left + wide} {pad}" stroke="#bbb" stroke-dasharray="4 3"/>'
        )
        for row, line in enumerate(lines):
            some = [p for p in points if p.axis == line]
            colour = ("#1f6feb", "#d1651d")[row % 2]
            at = [
                (
                    left + wide / decades * logarithm(max(p.size, 1) / max(some[0].size, 1)),
                    bottom - high / decades * logarithm(p.milliseconds / some[0].milliseconds),
                    p,
                )
                for p in some
            ]
            path = "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in at)
            parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
            parts += [
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}">'
                f"<title>{p.size:,}: {p.milliseconds:.1f} ms</title></circle>"
                for x, y, p in at
            ]
            last = some[-1]
            legend = f"{line}: {some[0].milliseconds:.0f} → {last.milliseconds:.0f} ms"
            parts.append(
                f'<text x="{left}" y="{bottom + 16 + 14 * row}" fill="{colour}">{legend}</text>'
            )
    parts.append("</svg>")
    into.write_text("\n".join(parts) + "\n")


def logarithm(ratio: float) -> float:
    """Returns the decades of a ratio, 0 at least."""
    return max(0.0, math.log10(ratio))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two short points of each axis")
    parser.add_argument("--axes", nargs="+", default=list(AXES), choices=list(AXES))
    parser.add_argument("--picture", type=Path, help="an SVG file")
    given = parser.parse_args()
    print("processor time of a statement, medians; × is by the first point of the axis")
    print(f"{'':<18}{'size':>12}{'ms':>10}{'input ×':>10}{'time ×':>8}")
    points: list[Point] = []
    for axis in given.axes:
        measure_axis, sizes, short = AXES[axis]
        first: dict[str, Point] = {}
        for point in measure_axis(short if given.quick else sizes):
            start = first.setdefault(point.axis, point)
            points.append(point)
            grown = f"{point.size / start.size:.0f}" if start.size else ""
            print(
                f"{point.axis:<18}{point.size:>12,}{point.milliseconds:>10.1f}"
                f"{grown:>10}{point.milliseconds / start.milliseconds:>8.2f}",
                flush=True,
            )
    if given.picture:
        draw(points, given.picture)


if __name__ == "__main__":
    main()
