"""`python tests/bench/accuracy.py [--rows N] [--runs R]`: mean absolute error of one statement.

COUNT(*), AVG(income) and SUM(hours) over 18 groups at epsilon = 1, pure, once for the whole
statement: every run is a vault's budget of its own. Incomes and hours are generated, with the
declared intervals far wider than most values, as in practice, and every race has half as many as
the one before: the smallest group has about 1 row in 1,000. The truth is DuckDB's own answer.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

import duckdb

from sqlpriv.session.session import Session

TARGETS = {"n": 3.0, "income": 250.0, "hours": 215.0}
"""Mean absolute error of a group, for one million rows."""
ROWS = """
CREATE TABLE people (id BIGINT PRIMARY KEY, sex VARCHAR, race TINYINT, income INTEGER,
    hours INTEGER);
INSERT INTO people SELECT i, CASE WHEN hash(i) % 2 = 0 THEN 'f' ELSE 'm' END,
    9 - floor(log2(1 + hash(i, 1) % 511)),
    least(500000, exp(9 + 2.5 * (hash(i, 2) % 1000) / 1000))::INTEGER,
    (hash(i, 3) % 60)::INTEGER FROM range({rows}) r(i);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm') NOT NULL;
ALTER TABLE people ALTER COLUMN race SET PRIVACY DOMAIN BETWEEN (1, 9) NOT NULL;
ALTER TABLE people ALTER COLUMN income SET PRIVACY DOMAIN BETWEEN (0, 500000) NOT NULL;
ALTER TABLE people ALTER COLUMN hours SET PRIVACY DOMAIN BETWEEN (0, 99) NOT NULL;
"""
ASKED = "sex, race, COUNT(*) AS n, AVG(income) AS income, SUM(hours) AS hours FROM people"
PRIVATE = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {{epsilon}}) {ASKED} GROUP BY ALL"
PLAIN = f"SELECT {ASKED} GROUP BY ALL"


def measured(rows: int, runs: int) -> dict[str, float]:
    """Returns the mean absolute error of each output over groups and runs."""
    errors: dict[str, list[float]] = {name: [] for name in TARGETS}
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "people.duckdb"
        with Session(vault, role="owner") as owner:
            owner.execute(ROWS.format(rows=rows))
            owner.execute(f"ALTER TABLE people SET PRIVACY BUDGET (epsilon = {2 * runs})")
        with duckdb.connect(str(vault), read_only=True) as plain:
            found = plain.execute(PLAIN).fetchall()
        truth = {row[:2]: dict(zip(TARGETS, row[2:], strict=True)) for row in found}
        with Session(vault) as analyst:
            for run in range(runs):  # a nano dearer each time: none is replayed
                made = analyst.execute(PRIVATE.format(epsilon=1 + run * 1e-8)).table
                assert made is not None
                for row in made.to_pylist():
                    right = truth[(row["sex"], row["race"])]
                    for name, of in errors.items():
                        of.append(abs(row[name] - float(right[name])))
    return {name: statistics.fmean(of) for name, of in errors.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=30)
    given = parser.parse_args()
    print(f"{given.rows:,} rows, 18 groups, epsilon = 1 pure, {given.runs} runs")
    print(f"{'mean absolute error of':<24}{'sqlpriv':>10}{'at most':>10}")
    found = measured(given.rows, given.runs)
    for name, error in found.items():
        verdict = "" if error <= TARGETS[name] else "  missed"
        print(f"{name:<24}{error:10.2f}{TARGETS[name]:10.2f}{verdict}")
    return int(any(error > TARGETS[name] for name, error in found.items()))


if __name__ == "__main__":
    sys.exit(main())
