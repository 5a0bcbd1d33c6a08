"""Answers the 22 queries of TPC-H and writes README.md: `python examples/tpch/report.py`.

Each query that touches customers' data is asked RUNS times, with noise of its own each time (a
repeated question would be replayed from its seal, so every run pays a little more). Its error is
the median over runs and cells of |answer - exact| / |exact|, cells without rows left out; the exact
answer is plain DuckDB's on the same tables.
"""

from __future__ import annotations

import math
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

import sqlpriv

sys.path.insert(0, str(Path(__file__).parent))

from vault import DATA, HERE, KEYS, make, queries

RUNS, EPSILON = 20, 10.0
FREE = {2, 11, 16}
SINGLE = {
    3: "lists single orders; every order is one customer's",
    10: "lists single customers with their names and telephone numbers",
    18: "lists single orders and who made them",
}
"""Their groups have one customer each: none passes a threshold, and nothing is paid."""
NOTES = {
    5: "one row for each declared nation: those outside Asia are noise around 0",
    7: "also the pairs that WHERE leaves out in part (FRANCE and FRANCE): noise around 0",
    8: "the exact share is 0: the error is of the share itself",
    13: "one row of a customer: noise as for one row",
    15: "`WITH` is answered first; the best supplier is that of the noised sums",
    17: "the averages of all 2,000 parts are asked first, with half of the price; the exact answer "
    "is NULL in this small database",
    19: "the exact answer is of one line: that of one customer is what is hidden",
    20: "written with `WITH`, for what was shipped of each part and supplier; error: the share "
    "of suppliers told wrong",
    21: "one row for each declared supplier",
    22: "the average balance is asked first, with half of the price",
}
KEYED = {
    1: 2,
    4: 1,
    5: 1,
    6: 0,
    7: 3,
    8: 1,
    9: 2,
    12: 1,
    13: 1,
    14: 0,
    15: 2,
    17: 0,
    19: 0,
    21: 1,
    22: 1,
}
LINES, ORDERS = 60, 15
"""Of a customer who orders at all, by the specification: 15 orders of four lines."""
ABOUT: dict[int, float] = {
    1: LINES * 0.98,  # shipped by September 1998
    4: ORDERS * 3 / 80 * 0.9,  # of a quarter, with a late line
    5: LINES / 6.6 / 25,  # of a year, from a supplier of the customer's nation
    6: LINES / 6.9 * 3 / 11 * 23 / 50,  # of a year, a discount among three, less than 24 pieces
    7: LINES * 2 / 6.9 / 25,  # of two years, from a supplier of one nation
    8: LINES * 2 / 6.6 / 150,  # of two years, of one type among 150
    9: LINES * 5 / 92,  # parts with one word of 92 among their five
    12: LINES / 6.9 * 2 / 7 * 0.2,  # of a year, by two modes of seven, late in one way only
    14: LINES / 83,  # of a month
    15: LINES * 3 / 83,  # of a quarter
    19: LINES * 0.001,
    21: LINES / 2 / 25,  # of finished orders, from a supplier of one nation
}
"""About how many rows of a customer a query is about, from the specification alone."""
Rows = Sequence[tuple[Any, ...]]


def enough(number: int) -> int:
    """Returns a bound that few customers pass: the Poisson mean and two standard deviations."""
    return math.ceil(ABOUT[number] + 2 * math.sqrt(ABOUT[number]))


def exactly() -> tuple[dict[int, Rows], dict[int, float]]:
    """Returns plain DuckDB's answer to each query, and the seconds it took."""
    engine, rows, seconds = duckdb.connect(), {}, {}
    for table in KEYS:
        engine.execute(f"CREATE TABLE {table} AS FROM '{DATA}/tpch_sf001_{table}.parquet'")
    for number, text in queries().items():
        began = time.perf_counter()
        rows[number] = engine.execute(text).fetchall()
        seconds[number] = time.perf_counter() - began
    return rows, seconds


def errors(number: int, noised: Rows, exact: Rows) -> list[float]:
    """Returns the relative error of each number of the exact answer, or of each row of a list.

    A row that the noised answer does not have is wrong by all of it: an error of 1.
    """
    if number == 20:
        ours, theirs = {row[0] for row in noised}, {row[0] for row in exact}
        return [len(ours ^ theirs) / max(1, len(theirs))]
    if number == 15:
        return [abs(float(noised[0][4]) - float(exact[0][4])) / float(exact[0][4])]
    if number == 8:  # the exact share is 0 in this small database
        return [abs(float(x[1] or 0) - float(y[1])) for x, y in zip(noised, exact, strict=True)]
    keys = KEYED[number]
    known = {tuple(row[:keys]): row[keys:] for row in noised}
    relative: list[float] = []
    for row in exact:
        numbers = known.get(tuple(row[:keys]))
        if numbers is None:
            relative += [1.0 for y in row[keys:] if y]
            continue
        pairs = zip(numbers, row[keys:], strict=True)
        relative += [
            1.0 if x is None else abs(float(x) - float(y)) / abs(float(y)) for x, y in pairs if y
        ]
    return relative


def measured(
    con: sqlpriv.Connection, number: int, text: str, exact: Rows, bound: int = 0
) -> dict[str, Any]:
    """Returns the median error over RUNS runs, and the median seconds of a run."""
    found: list[float] = []
    seconds = []
    for run in range(RUNS):
        epsilon = EPSILON + run * 1e-4
        con.execute(f"SET privacy_epsilon = {epsilon}")
        options = f"OPTIONS (epsilon = {epsilon}, max_rows_contributed = {bound})"
        private = f"SELECT WITH DIFFERENTIAL_PRIVACY {options}"
        asked = re.sub("select", private, text, count=1, flags=re.IGNORECASE) if bound else text
        began = time.perf_counter()
        rows = con.execute(asked).fetchall()
        seconds.append(time.perf_counter() - began)
        found += errors(number, rows, exact)
    return {"error": statistics.median(found or [math.nan]), "seconds": statistics.median(seconds)}


def report(path: Path) -> str:
    """Returns the README's text."""
    exact, plain = exactly()
    lines = []
    with sqlpriv.connect(make(path)) as con:
        for number, text in queries().items():
            if number in SINGLE:
                options = f"epsilon = {EPSILON}, group_selection_strategy = LAPLACE_THRESHOLD"
                private = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options})"
                began = time.perf_counter()
                rows = con.execute(re.sub("select", private, text, count=1, flags=re.IGNORECASE))
                assert rows.fetchall() == [], number
                ratio = (time.perf_counter() - began) / plain[number]
                note = f"{SINGLE[number]}: no group passes a threshold, and all rows are missing"
                lines.append((number, "no row", "0", "1", "", f"{ratio:.0f}", note))
                continue
            if number in FREE:
                began = time.perf_counter()
                assert con.execute(text).fetchall() == exact[number], number
                ratio = (time.perf_counter() - began) / plain[number]
                lines.append(
                    (number, "exact", "0", "0", "", f"{ratio:.0f}", "public tables alone: free")
                )
                continue
            made = measured(con, number, text, exact[number])
            ratio = made["seconds"] / plain[number]
            error, fewer = "" if math.isnan(made["error"]) else f"{made['error']:.2g}", ""
            if number in ABOUT:
                less = measured(con, number, text, exact[number], m := enough(number))["error"]
                fewer = f"{less:.2g} ({m})"
            note = NOTES.get(number, "")
            lines.append((number, "yes", f"{EPSILON:g}", error, fewer, f"{ratio:.0f}", note))
            print(*lines[-1], file=sys.stderr, flush=True)
    body = "\n".join(f"| [{n}](q{n:02}.sql) | {' | '.join(rest)} |" for n, *rest in lines)
    shown = sum(line[1] != "no row" for line in lines)
    return TEXT.format(shown=shown, none=len(lines) - shown, runs=RUNS, body=body)


TEXT = """# TPC-H, with the customer as the unit of privacy

`python examples/tpch/report.py` wrote this file. Scale factor 0.01: 1,500 customers, 15,000 orders,
60,000 lines. [vault.sql](vault.sql) declares the tables: customers, orders and their lines are
private; parts, suppliers, nations are public. The queries have the validation parameters of the
specification. **{shown} of 22 are answered with rows.** The other {none} list what is one
customer's: they are refused, or, asked with `OPTIONS (group_selection_strategy =
LAPLACE_THRESHOLD)`, answered by the groups that pass the threshold, which are none whatever the
rows are: free, and said so.

A customer may have up to 160 lines and 40 orders, more than any has, so that no bound cuts: noise
is for 160 lines of the highest price. 1,500 customers are few for that: `error` is mostly noise,
and falls as 1 / (number of customers). Without noise, the answers are plain DuckDB's
(`tests/house/test_tpch.py`).

`error` is the median of |answer - exact| / |exact| over all numbers of the answer and {runs} runs;
`fewer rows` is the error with `OPTIONS (max_rows_contributed = m)`, m in brackets; what is left out
of a customer with more counts as an error. m is what a query should need of nearly every customer,
from the specification alone: two standard deviations above the Poisson mean (`report.py`, ABOUT).
`time` is a statement's, charge and seals on disk included, as a multiple of plain DuckDB's, which
takes a few milliseconds.

| query | answered | ε | error | fewer rows | time | |
|---|---|---|---|---|---|---|
{body}
"""

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        text = report(Path(folder) / "tpch.duckdb")
    (HERE / "README.md").write_text(text, "utf-8")
