"""`python tests/bench/constraints.py`: columns of which one is never below the other, drawn with
`OPTIONS (constraints = …)` and without: the share of rows that break it, and the largest gap
between distribution functions (KS) of the difference and of the larger column, means of RUNS.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import duckdb
import numpy as np
from support.places import SHARED

from sqlpriv.session.session import Session

RUNS, ROWS = 3, 20_000


class Case(NamedTuple):
    """A table, two of its columns, and what is declared of all that are drawn."""

    table: str
    larger: str
    smaller: str
    columns: dict[str, str]


DAYS = "BETWEEN ('1992-01-01', '1999-12-31')"
CASES = (
    Case(
        "tpch_sf001_lineitem",
        "l_receiptdate",
        "l_shipdate",
        {"l_shipdate": DAYS, "l_receiptdate": DAYS, "l_returnflag": "IN ('A', 'N', 'R')"},
    ),
    Case(
        "compas_two_years",
        "age",
        "priors_count",
        {
            "age": "BETWEEN (0, 100)",
            "priors_count": "BETWEEN (0, 50)",
            "sex": "IN ('Male', 'Female')",
        },
    ),
)


def build_vault(folder: Path, case: Case) -> Path:
    """Returns a vault with the first ROWS rows by a hash of their number."""
    vault = folder / f"{case.table}.duckdb"
    columns = ", ".join(case.columns)
    with duckdb.connect(str(vault)) as engine:
        engine.execute(
            f"CREATE TABLE t AS SELECT file_row_number AS id, {columns} FROM"
            f" read_parquet('{SHARED}/data/{case.table}.parquet', file_row_number = true)"
            f" ORDER BY hash(file_row_number) LIMIT {ROWS}"
        )
        engine.execute("ALTER TABLE t ADD PRIMARY KEY (id)")
    with Session(vault, role="owner") as owner:
        owner.execute("ALTER TABLE t ADD PRIVACY_KEY (id); ALTER TABLE t SET PU")
        owner.execute("ALTER TABLE t SET PRIVACY BUDGET (epsilon = 1000, delta = 1e-9)")
        for column, domain in case.columns.items():
            owner.execute(f"ALTER TABLE t ALTER COLUMN {column} SET PRIVACY DOMAIN {domain}")
    return vault


def read_pairs(file: Path, table: str, case: Case) -> np.ndarray:
    """Returns differences and larger values, shape (2, rows); dates in days."""
    days = [
        f"date_diff('day', DATE '1970-01-01', {c})" if "'1" in case.columns[c] else c
        for c in (case.larger, case.smaller)
    ]
    with duckdb.connect(str(file), read_only=True) as engine:
        rows = engine.execute(f"SELECT {days[0]} AS x, {days[1]} AS y FROM {table}").fetchnumpy()
    return np.array([rows["x"] - rows["y"], rows["x"]], dtype=float)


def gap(one: np.ndarray, other: np.ndarray) -> float:
    """Returns the largest gap between two samples' distribution functions."""
    one, other = np.sort(one), np.sort(other)
    both = np.concatenate([one, other])
    shares = [np.searchsorted(x, both, "right") / len(x) for x in (one, other)]
    return float(np.abs(shares[0] - shares[1]).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--methods", nargs="+", default=["mst", "aim"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 0.1])
    given = parser.parse_args()
    head = f"{'table':<22}{'method':<8}{'eps':>4}  {'':<12}"
    print(head + f"{'broken':>8}{'KS diff':>9}{'KS larger':>11}")
    asked = itertools.product(CASES, given.methods, given.epsilons, ("", "constraint"))
    for case, method, epsilon, name in asked:
        figures = measure(case, method, epsilon, bool(name))
        shown = "{:8.3f}{:9.3f}{:11.3f}".format(*figures)
        print(f"{case.table:<22}{method:<8}{epsilon:>4g}  {name or '-':<12}{shown}", flush=True)


def measure(case: Case, method: str, epsilon: float, constrained: bool) -> np.ndarray:
    """Returns the three figures, means of RUNS, each in a vault that has sold nothing yet."""
    option = f", constraints = '{case.larger} >= {case.smaller}'" if constrained else ""
    figures = []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            vault = build_vault(Path(folder), case)
            with Session(vault, role="owner") as owner:
                owner.execute(
                    f"CREATE SYNTHETIC TABLE s AS SELECT {', '.join(case.columns)} FROM t"
                    f" USING {method} OPTIONS (epsilon = {epsilon}{option})"
                )
            real = read_pairs(vault, "t", case)
            drawn = read_pairs(vault.with_suffix(".release.duckdb"), "s", case)
            gaps = [gap(x, y) for x, y in zip(real, drawn, strict=True)]
            figures.append([(drawn[0] < 0).mean(), *gaps])
    return np.mean(figures, axis=0)


if __name__ == "__main__":
    main()
