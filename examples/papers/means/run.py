"""`python examples/papers/means/run.py`: the paper's experiments on means, results and figures.

Simulates New York's people (or takes a complete person file, `--file`), asks every mean again and
again through the library, and writes results as Parquet and figures as SVG. `--speed` times one
whole pass over a file of 455,316 rows instead, in as many processes as there are jobs.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import border
import figures
import floor
import measures as m
import mixture
import people
import pyarrow as pa
import pyarrow.parquet as pq
from laboratory import Laboratory

HERE = Path(__file__).parent
NARROW, WIDE = ("SCHL", "WKHP", "JWMNP"), ("PINCP",)
EPSILONS = (0.1, 0.5, 1.0)
Row = dict[str, Any]
By = tuple[str, ...]


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", help="a complete person file, CSV or Parquet; else simulated")
    parser.add_argument("--rows", type=int, default=people.PERSONS, help="people to simulate")
    parser.add_argument("--repetitions", type=int, default=50)
    parser.add_argument("--only", nargs="*", help="combinations, as SEX+RAC1P; else all 31")
    parser.add_argument("--mixture", type=int, help="repetitions of the normal mixture; 0: none")
    parser.add_argument("--border", type=int, help="repetitions of the width sweep; 0: none")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--speed", action="store_true", help="time one pass over 455,316 rows")
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument(
        "--parts",
        type=Path,
        help="folder where each combination's results are "
        "kept as they come: a run that was stopped goes on from there",
    )
    given = parser.parse_args()
    rows = 455_316 if given.speed else given.rows
    wanted = [by for by in m.COMBINATIONS if not given.only or "+".join(by) in given.only]
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "people.parquet"
        people.write(table, given.file, rows)
        if given.speed:
            print(speed(table, wanted, given.repetitions, given.jobs))
            return
        given.out.mkdir(parents=True, exist_ok=True)
        parts = given.parts or Path(folder)
        parts.mkdir(parents=True, exist_ok=True)
        found = census(table, wanted, given.repetitions, given.jobs, parts)
        least = floor.measured(table, wanted, EPSILONS)
    _keep(found, given.out / "census.parquet")
    _keep(least, given.out / "floor.parquet")
    fifth = max(given.repetitions // 5, 2)
    for name, measure, times in (
        ("mixture", mixture.measured, given.mixture),
        ("border", border.measured, given.border),
    ):
        if times := fifth if times is None else times:
            _keep(measure(times), given.out / f"{name}.parquet")
    figures.draw(given.out)
    figures.tell(given.out)


def _keep(rows: list[Row], file: Path) -> None:
    pq.write_table(pa.Table.from_pylist(rows), file, compression="zstd")


def census(table: Path, wanted: list[By], repetitions: int, jobs: int, parts: Path) -> list[Row]:
    """Returns the errors of every method for every combination, column and price.

    Each combination's rows are kept in `parts`, and taken from there if they are in it.
    """
    files = [parts / f"{'+'.join(by)}.parquet" for by in wanted]
    missing = [(by, file) for by, file in zip(wanted, files, strict=True) if not file.exists()]
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        asked = (repeat(table), [by for by, _ in missing], repeat(repetitions))
        for rows, (_, file) in zip(pool.map(combination, *asked), missing, strict=True):
            seconds = sum(float(row["cpu_seconds"] or 0) * row["repetitions"] for row in rows)
            print(f"{rows[0]['combination']}: {seconds:.1f} CPU seconds", flush=True)
            _keep(rows, file)
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def combination(table: Path, by: By, repetitions: int) -> list[Row]:
    """Returns one combination's rows; those that only compare are repeated a fifth as often."""
    found: list[Row] = []
    with people.opened(table) as engine:
        for column in people.DOMAINS:
            laboratory = Laboratory(engine, people.contract(column))
            exact = m.truth(engine, by, column)
            for method, price in asked(column):
                slow = method in (m.COINPRESS, m.QUANTILE)
                times = max(repetitions // 5, 2) if slow else repetitions
                found.append(m.repeated(laboratory, by, column, method, price, exact, times))
    return found


def asked(column: str) -> list[tuple[m.Method, m.Price]]:
    """Returns the methods and prices at which a column is asked."""
    pairs = [(method, m.RHO) for method in (m.OURS, m.FRESH, m.STRATA_ONLY, m.COINPRESS)]
    if column in NARROW:
        pairs += [(m.QUANTILE, m.RHO)]
        pairs += [(method, m.zcdp(e)) for e in EPSILONS for method in (m.OURS, m.FRESH)]
    else:
        pairs += [(x, m.pure(e)) for e in EPSILONS for x in (m.STRATA_ONLY, m.LAPLACE)]
    return pairs


def speed(table: Path, wanted: list[By], repetitions: int, jobs: int) -> str:
    """Returns how long all combinations and columns take, asked that many times each."""
    wall = time.monotonic()
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        cpu = sum(pool.map(one_pass, repeat(table), wanted, repeat(repetitions)))
    wall = time.monotonic() - wall
    answers = len(wanted) * len(people.DOMAINS) * repetitions
    return f"{answers} answers: {wall:.0f} s, {cpu:.0f} CPU seconds"


def one_pass(table: Path, by: By, repetitions: int) -> float:
    """Returns the CPU seconds of one combination's answers, as AVG estimates them by itself."""
    began = time.process_time()
    with people.opened(table) as engine:
        for column in people.DOMAINS:
            laboratory = Laboratory(engine, people.contract(column))
            for _ in range(repetitions):
                m.asked(laboratory, by, column, m.STRATA_ONLY, m.RHO)
    return time.process_time() - began


if __name__ == "__main__":
    main()
