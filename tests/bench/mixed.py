"""`python tests/bench/mixed.py`: errors over categories and numbers by a target.

Prints of each method: CPU seconds of the statement, CM, MM, LT (`sqlpriv.evaluate.mixed_error`),
and macro F1 of a logistic regression that is trained on the synthetic rows and tested on real ones.
`real rows` is the same regression trained on the real rows.

Tasks: `mobility`, the persons of five states (CA, FL, NY, PA, TX) of
../shared/data/acs2018_us_mobility_sample.parquet, four numbers and 17 categories, target
MIG_SAME_HOUSE; `income`, 60,000 persons of the same states of acs2018_us_income_sample.parquet,
two numbers; `pubcov`, 60,000 of acs2018_us_pubcov_sample.parquet, two numbers. A fifth of the rows,
by a hash of their number, is kept aside to test on.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import duckdb
import numpy as np
from support.vaults import declare, write

from sqlpriv.evaluate.mixed_error import MixedTable, mixed_error
from sqlpriv.kernel.terms.budget import Budget, Rho
from sqlpriv.kernel.terms.contract import Categories, Interval
from sqlpriv.kernel.vault import Kernel
from sqlpriv.session.session import Session

DATA = TESTS.parents[1] / "shared" / "data"
STATES = "(6, 12, 36, 42, 48)"
TASKS: dict[str, dict[str, Any]] = {
    "mobility": {
        "file": "acs2018_us_mobility_sample", "target": "MIG_SAME_HOUSE", "limit": 10**9,
        "numbers": {
            "AGEP": (19, 34), "WKHP": (0, 99), "JWMNP": (0, 200), "PINCP": (-20_000, 1_500_000),
        },
    },
    "income": {
        "file": "acs2018_us_income_sample", "target": "PINCP_GT50K", "limit": 60_000,
        "numbers": {"AGEP": (17, 99), "WKHP": (0, 99)}, "without": ("OCCP", "POBP"),
    },
    "pubcov": {
        "file": "acs2018_us_pubcov_sample", "target": "PUBCOV_YES", "limit": 60_000,
        "numbers": {"AGEP": (16, 99), "PINCP": (-10_000, 30_000)},
    },
}  # fmt: skip
STATEMENT = (
    "CREATE OR REPLACE SYNTHETIC TABLE made AS SELECT {columns} FROM people{strata}"
    ' USING "{method}" OPTIONS (epsilon = {epsilon}{options})'
)


class Task:
    """A task's rows in a vault, and those that are kept aside."""

    def __init__(self, name: str, folder: Path, seed: int = 0) -> None:
        task = TASKS[name]
        self.target, self.ends = task["target"], task["numbers"]
        self.vault = folder / f"{name}.duckdb"
        without = ", ".join(("ST", *task.get("without", ())))
        source = f"read_parquet('{DATA}/{task['file']}.parquet', file_row_number = true)"
        self.select = (
            f"SELECT * EXCLUDE ({without}, file_row_number, h), h % 5 = 0 AS aside FROM (SELECT *,"
            f" hash(file_row_number, {seed}) AS h FROM {source} WHERE ST IN {STATES})"
            f" ORDER BY h LIMIT {task['limit']}"
        )
        with duckdb.connect() as engine:
            self.columns = [
                c for c in engine.sql(f"{self.select} ").limit(0).columns if c != "aside"
            ]
            self.categories = [c for c in self.columns if c not in self.ends and c != self.target]
            filled = ", ".join(f"coalesce({c}, 0) AS {c}" for c in self.columns)
            engine.execute(f"CREATE TABLE drawn AS SELECT {filled}, aside FROM ({self.select})")
            self.levels = {
                c: [
                    v
                    for (v,) in engine.sql(f"SELECT DISTINCT {c} FROM drawn ORDER BY 1").fetchall()
                ]
                for c in (*self.categories, self.target)
            }
            self.aside = engine.sql("FROM drawn WHERE aside").fetchnumpy()
        write(
            self.vault,
            f"CREATE TABLE people AS SELECT row_number() OVER () AS id, {filled}"
            f" FROM ({self.select}) WHERE NOT aside; ALTER TABLE people ADD PRIMARY KEY (id);",
        )
        domains: dict[str, Any] = {c: Categories(tuple(v)) for c, v in self.levels.items()}
        domains |= {c: Interval(*ends) for c, ends in self.ends.items()}
        kernel = Kernel(self.vault)
        declare(kernel, domains=domains, budget=Budget("people", Rho.at_most(10**6), 1e-9))
        kernel.close()
        self.real = self.rows(self.vault, "people")

    def rows(self, file: Path, table: str) -> dict[str, np.ndarray]:
        """The columns of a table, by name."""
        with duckdb.connect(str(file), read_only=True) as engine:
            return engine.sql(f"SELECT {', '.join(self.columns)} FROM {table}").fetchnumpy()

    def mixed(self, rows: dict[str, np.ndarray]) -> MixedTable:
        """The same as the metrics take them."""
        levels = {c: np.searchsorted(v, rows[c]) for c, v in self.levels.items()}
        return MixedTable(
            {c: levels[c] for c in self.categories},
            {c: np.asarray(rows[c], dtype=float) for c in self.ends},
            {self.target: levels[self.target]},
        )

    def f1(self, rows: dict[str, np.ndarray]) -> float:
        """Macro F1, tested on the rows kept aside."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import f1_score

        learn, test = self._features(rows), self._features(self.aside)
        label = np.asarray(rows[self.target])
        if len(np.unique(label)) < 2:
            return float("nan")
        model = LogisticRegression(max_iter=300, class_weight="balanced").fit(learn, label)
        return float(f1_score(self.aside[self.target], model.predict(test), average="macro"))

    def _features(self, rows: dict[str, np.ndarray]) -> np.ndarray:
        numbers = [
            (np.asarray(rows[c], float) - self.real[c].mean()) / self.real[c].std()
            for c in self.ends
        ]
        ones = [(rows[c] == v).astype(float) for c in self.categories for v in self.levels[c][1:]]
        return np.stack([*numbers, *ones], axis=1)

    def run(self, method: str, epsilon: float, strata: str, options: str) -> dict[str, float]:
        """One statement: its CPU seconds and errors."""
        statement = STATEMENT.format(
            columns=", ".join(self.columns), strata=f" STRATIFY BY {strata}" if strata else "",
            method=method, epsilon=epsilon, options=f", {options}" if options else "",
        )  # fmt: skip
        with Session(self.vault, role="analyst", principal="bench") as session:
            began = time.process_time()
            message = session.execute(statement).message
            cpu = time.process_time() - began
        print(message, file=sys.stderr)
        made = self.rows(self.vault.with_suffix(".release.duckdb"), "made")
        error = mixed_error(self.mixed(self.real), self.mixed(made))
        return {"cpu": cpu, "CM": error.cm, "MM": error.mm, "LT": error.lt, "F1": self.f1(made)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", nargs="+", default=["mobility"], choices=list(TASKS))
    parser.add_argument("--methods", nargs="+", default=["aim", "gsd"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0])
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--strata", default="", help="columns of STRATIFY BY, as in SQL")
    parser.add_argument("--options", default="", help="more OPTIONS of gsd, rap and rap++")
    given = parser.parse_args()
    names = ("cpu", "CM", "MM", "LT", "F1")
    print(f"{'task':<10}{'method':<8}{'epsilon':>8}" + "".join(f"{n:>9}" for n in names))
    for name in given.tasks:
        for run in range(given.runs):
            with tempfile.TemporaryDirectory() as folder:
                task = Task(name, Path(folder), run)
                print(f"{name:<10}{'real':<8}{'':>8}{'':>36}{task.f1(task.real):9.3f}", flush=True)
                for epsilon in given.epsilons:
                    for method in given.methods:
                        aimed = method in ("gsd", "rap", "rap++", "dpmerf")
                        options = f"target = '{task.target}'" if aimed else ""
                        options += f", {given.options}" if aimed and given.options else ""
                        row = task.run(method, epsilon, given.strata, options)
                        shown = f"{row['cpu']:9.1f}" + "".join(f"{row[n]:9.4f}" for n in names[1:])
                        print(f"{name:<10}{method:<8}{epsilon:>8g}{shown}", flush=True)


if __name__ == "__main__":
    main()
