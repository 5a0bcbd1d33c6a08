"""`python examples/papers/means/run.py`: the paper's experiments on means, results and figures.

Simulates New York's people (or takes a complete person file, `--file`), asks every mean again and
again through the library, and writes results as Parquet and figures as SVG. `--speed` times one
whole pass over a file of 455,316 rows instead.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import duckdb
import figures
import measures as m
import mixture
import people
import pyarrow as pa
import pyarrow.parquet as pq
from laboratory import Laboratory

from sqlpriv.kernel.budget import Rho

HERE = Path(__file__).parent
NARROW, WIDE = ("SCHL", "WKHP", "JWMNP"), ("PINCP",)
EPSILONS = (0.1, 0.5, 1.0)
Row = dict[str, float | str | int | None]


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", help="a complete person file, CSV or Parquet; else simulated")
    parser.add_argument("--rows", type=int, default=people.PERSONS, help="people to simulate")
    parser.add_argument("--repetitions", type=int, default=50)
    parser.add_argument("--only", nargs="*", help="combinations, as SEX+RAC1P; else all 31")
    parser.add_argument("--mixture", type=int, help="repetitions of the normal mixture; 0: none")
    parser.add_argument("--speed", action="store_true", help="time one pass over 455,316 rows")
    parser.add_argument("--out", type=Path, default=HERE)
    given = parser.parse_args()
    engine = duckdb.connect(config={"threads": 2})
    rows = 455_316 if given.speed else given.rows
    people.load(engine, given.file) if given.file else people.simulate(engine, rows)
    if given.speed:
        print(speed(engine, given.repetitions))
        return
    given.out.mkdir(parents=True, exist_ok=True)
    wanted = [by for by in m.COMBINATIONS if not given.only or "+".join(by) in given.only]
    found = census(engine, wanted, given.repetitions)
    pq.write_table(pa.Table.from_pylist(found), given.out / "census.parquet", compression="zstd")
    times = max(given.repetitions // 5, 2) if given.mixture is None else given.mixture
    if times:
        mixed = pa.Table.from_pylist(mixture.measured(times))
        pq.write_table(mixed, given.out / "mixture.parquet", compression="zstd")
    figures.draw(given.out)
    figures.tell(given.out)


def census(
    engine: duckdb.DuckDBPyConnection, combinations: list[tuple[str, ...]], repetitions: int
) -> list[Row]:
    """Returns the errors of every method for every combination, column and price.

    The slow ones (several scans an answer) are repeated a fifth as often.
    """
    found: list[Row] = []
    for by in combinations:
        started = time.monotonic()
        for column in (*NARROW, *WIDE):
            laboratory = Laboratory(engine, people.contract(column))
            exact = m.truth(engine, by, column)
            for method, price in asked(column):
                slow = method is m.COINPRESS or (column in WIDE and method is not m.LAPLACE)
                times = max(repetitions // 5, 2) if slow else repetitions
                found.append(m.repeated(laboratory, by, column, method, price, exact, times))
        print(f"{'+'.join(by)}: {time.monotonic() - started:.1f} s", flush=True)
    return found


def asked(column: str) -> list[tuple[m.Method, m.Price]]:
    """Returns the methods and prices at which a column is asked."""
    pairs = [(method, m.RHO) for method in (m.OURS, m.FRESH, m.STRATA_ONLY, m.COINPRESS)]
    if column in NARROW:
        pairs += [(method, m.zcdp(e)) for e in EPSILONS for method in (m.OURS, m.FRESH)]
    else:
        pairs += [(x, m.pure(e)) for e in EPSILONS for x in (m.STRATA_ONLY, m.LAPLACE)]
    return pairs


def speed(engine: duckdb.DuckDBPyConnection, repetitions: int) -> str:
    """Returns how long all combinations and columns take, asked that many times each."""
    assert isinstance(m.RHO.budget.total, Rho)
    wall, cpu = time.monotonic(), time.process_time()
    for by in m.COMBINATIONS:
        for column in (*NARROW, *WIDE):
            laboratory = Laboratory(engine, people.contract(column))
            for _ in range(repetitions):
                m.asked(laboratory, by, column, m.STRATA_ONLY, m.RHO)
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    answers = len(m.COMBINATIONS) * len(people.DOMAINS) * repetitions
    return f"{answers} answers: {wall:.0f} s, {cpu:.0f} CPU seconds"


if __name__ == "__main__":
    main()
