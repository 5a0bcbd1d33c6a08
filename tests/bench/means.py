"""`python tests/bench/means.py [--rows N]`: means by 2 and by 180 strata, in one run.

For every estimator that AVG may take: whole statements of an analyst's session (parse, plan,
charge, read, noise, seal, answer), each over rows of its own so that none is replayed. What is told
is the CPU time of 180 strata over that of 2, medians of statements asked in turn, so that a slow or
busy machine slows both alike. The vault is generated, and deleted at the end.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

from support.vaults import declare, write

import sqlpriv
from sqlpriv.kernel.gate import Kernel
from sqlpriv.kernel.terms.budget import Budget, Epsilon, Rho
from sqlpriv.kernel.terms.contract import Categories, Interval

ROWS = """
CREATE TABLE people AS SELECT i AS id, (1 + hash(i) % 2)::TINYINT AS sex,
    (1 + hash(i, 1) % 2)::TINYINT AS dis, (1 + least(hash(i, 2) % 30, 8))::TINYINT AS race,
    (hash(i, 3) % 5)::TINYINT AS age, (hash(i, 4) % 25)::TINYINT AS school,
    least(20000 * (0.02 + hash(i, 5) % 1000 / 1000) ** -0.7, 1400000)::INTEGER AS income
FROM range({rows}) r(i);
ALTER TABLE people ADD PRIMARY KEY (id);
"""
DOMAINS = {
    "sex": Categories((1, 2)),
    "dis": Categories((1, 2)),
    "race": Categories(tuple(range(1, 10))),
    "age": Categories(tuple(range(5))),
    "school": Interval(0, 24),
    "income": Interval(-8300, 1423000),
}
FEW, MANY = "sex", "sex, dis, race, age"
TARGET = 1.5
TURNS = 15


def built(folder: Path, rows: int, pure: bool) -> Path:
    """A vault of so many people, under a budget of pure epsilon or of rho."""
    vault = folder / f"{'pure' if pure else 'zcdp'}.duckdb"
    write(vault, ROWS.format(rows=rows))
    kernel = Kernel(vault)
    budget = Budget("people", Epsilon(10**15) if pure else Rho(10**15), 0 if pure else 1e-9)
    declare(kernel, domains=DOMAINS, budget=budget)
    kernel.close()
    return vault


def seconds(vault: Path, calls: Sequence[str], turns: int) -> Iterator[tuple[str, float, float]]:
    """Yields of each call the CPU seconds of a statement by 2 strata, and by 180."""
    with sqlpriv.connect(str(vault)) as connection:
        for number, call in enumerate(calls):
            times: dict[str, list[float]] = {FEW: [], MANY: []}
            for turn in range(turns + 1):
                for by, known in times.items():
                    began = time.process_time()
                    connection.execute(
                        f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) {by}, {call}"
                        f" FROM people WHERE id >= {number * (turns + 1) + turn} STRATIFY BY {by}"
                    ).fetchall()
                    known.append(time.process_time() - began)
            few, many = (statistics.median(known[1:]) for known in times.values())
            yield call, few, many


def measured(rows: int, turns: int = TURNS) -> Iterator[tuple[str, float, float]]:
    """Yields the same for both kinds of budget and every estimator."""
    for pure in (False, True):
        own = "laplace" if pure else "gaussian"
        calls = [
            f"AVG({x} USING {using})"
            for x in ("school", "income")
            for using in (own, "quantile", "coinpress")
        ]
        with tempfile.TemporaryDirectory() as folder:
            for call, few, many in seconds(built(Path(folder), rows, pure), calls, turns):
                yield f"{call}, {'epsilon' if pure else 'rho'}", few, many


def main() -> None:
    """Prints a table, and fails where a ratio misses its target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=455_316)
    given, worst = parser.parse_args(), 0.0
    print(
        f"{given.rows:,} rows, CPU seconds\n{'':38}{'2':>8}{'180':>8}{'ratio':>8}  target {TARGET}"
    )
    for name, few, many in measured(given.rows):
        print(f"{name:38}{few:8.3f}{many:8.3f}{many / few:8.2f}", flush=True)
        worst = max(worst, many / few)
    sys.exit(worst > TARGET)


if __name__ == "__main__":
    main()
