"""Tasks of the American Community Survey: rows in a vault, rows kept aside, and errors.

`mobility`, the persons of five states (CA, FL, NY, PA, TX), four numbers and 17 categories;
`income` and `pubcov`, persons of the same states, two numbers; `employment`, New York's, one
number. A fifth of the rows, by a hash of their number, is kept aside to test on.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import numpy as np
from mixed_error import MixedTable, mixed_error

import sqlpriv

DATA = Path(__file__).parents[4] / "shared" / "data"
FIVE_STATES = "ST IN (6, 12, 36, 42, 48)"
SPLIT = 5
"""One of so many rows is kept aside."""
DECLARE = """
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
{domains}
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1000, delta = 1e-9);"""
STATEMENT = (
    "CREATE OR REPLACE SYNTHETIC TABLE made AS SELECT {columns} FROM people{strata}"
    ' USING "{method}" OPTIONS (epsilon = {epsilon}{options})'
)
Rows = dict[str, np.ndarray]


@dataclass(frozen=True)
class Survey:
    """Where a task's rows are.

    Args:
        file: Of ../shared/data.
        target: The column that is to be told.
        numbers: Columns of numbers and their ends, which are public.
        limit: Rows at most.
        where: Which rows.
        without: Columns that are left out.
    """

    file: str
    target: str
    numbers: dict[str, tuple[int, int]]
    limit: int
    where: str = FIVE_STATES
    without: tuple[str, ...] = ("ST",)


MOBILITY = {"AGEP": (19, 34), "WKHP": (0, 99), "JWMNP": (0, 200), "PINCP": (-20_000, 1_500_000)}
TASKS = {
    "mobility": Survey("acs2018_us_mobility_sample", "MIG_SAME_HOUSE", MOBILITY, 10**9),
    "income": Survey(
        "acs2018_us_income_sample",
        "PINCP_GT50K",
        {"AGEP": (17, 99), "WKHP": (0, 99)},
        60_000,
        without=("ST", "OCCP", "POBP"),
    ),
    "pubcov": Survey(
        "acs2018_us_pubcov_sample",
        "PUBCOV_YES",
        {"AGEP": (16, 99), "PINCP": (-10_000, 30_000)},
        60_000,
    ),
    "employment": Survey(
        "acs2018_ny_employment_20k", "ESR_EMPLOYED", {"AGEP": (17, 89)}, 20_000, "true", ()
    ),
}


@dataclass
class Task:
    """A task's rows in a vault, and those that are kept aside.

    Args:
        name: One of TASKS.
        folder: Where the vault is made.
        seed: Which rows are taken, and which of them are kept aside.
        limit: Rows at most; None for the task's own.
    """

    name: str
    folder: Path
    seed: int = 0
    limit: int | None = None
    aside: Rows = field(init=False)
    real: Rows = field(init=False)

    def __post_init__(self) -> None:
        survey = TASKS[self.name]
        self.target, self.ends = survey.target, survey.numbers
        self.vault = self.folder / f"{self.name}.duckdb"
        left_out = ", ".join((*survey.without, "file_row_number", "h"))
        chosen = (
            f"SELECT * EXCLUDE ({left_out}), h % {SPLIT} = 0 AS aside FROM (SELECT *,"
            f" hash(file_row_number, {self.seed}) AS h FROM"
            f" read_parquet('{DATA}/{survey.file}.parquet', file_row_number = true)"
            f" WHERE {survey.where}) ORDER BY h // {SPLIT} LIMIT {self.limit or survey.limit}"
        )
        with duckdb.connect(str(self.vault)) as engine:
            engine.execute(f"CREATE TEMP TABLE drawn AS {chosen}")
            self.columns = [c for c in engine.table("drawn").columns if c != "aside"]
            filled = ", ".join(f"coalesce({c}, 0) AS {c}" for c in self.columns)
            self.categories = [c for c in self.columns if c not in (*self.ends, self.target)]
            self.levels = {
                c: [
                    v
                    for (v,) in engine.sql(
                        f"SELECT DISTINCT coalesce({c}, 0) FROM drawn ORDER BY 1"
                    ).fetchall()
                ]
                for c in (*self.categories, self.target)
            }
            self.aside = engine.sql(f"SELECT {filled} FROM drawn WHERE aside").fetchnumpy()
            engine.execute(
                f"CREATE TABLE people AS SELECT row_number() OVER () AS id, {filled} FROM drawn"
                " WHERE NOT aside; ALTER TABLE people ADD PRIMARY KEY (id);"
            )
        public = {c: f"IN ({', '.join(map(str, v))})" for c, v in self.levels.items()}
        public |= {c: f"BETWEEN {ends}" for c, ends in self.ends.items()}
        domains = [
            f"ALTER TABLE people ALTER COLUMN {c} SET PRIVACY DOMAIN {d};"
            for c, d in public.items()
        ]
        with sqlpriv.connect(self.vault, role="owner") as owner:
            owner.execute(DECLARE.format(domains="\n".join(domains)))
        self.real = self.rows(self.vault, "people")

    def rows(self, file: Path, table: str) -> Rows:
        """Returns the columns of a table, by name."""
        with duckdb.connect(str(file), read_only=True) as engine:
            return engine.sql(f"SELECT {', '.join(self.columns)} FROM {table}").fetchnumpy()

    def mixed(self, rows: Rows) -> MixedTable:
        """Returns the same as the metrics take them."""
        levels = {c: np.searchsorted(v, rows[c]) for c, v in self.levels.items()}
        return MixedTable(
            {c: levels[c] for c in self.categories},
            {c: np.asarray(rows[c], dtype=float) for c in self.ends},
            {self.target: levels[self.target]},
        )

    def f1(self, rows: Rows, numbers: bool = True) -> float:
        """Returns the macro F1, on the rows kept aside, of a logistic regression of these rows.

        Args:
            rows: That it is trained on.
            numbers: Whether it is told the numbers, too.
        """
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import f1_score

        label = np.asarray(rows[self.target])
        if len(np.unique(label)) < 2:
            return float("nan")
        learn, test = (self._features(x, numbers) for x in (rows, self.aside))
        model = LogisticRegression(max_iter=300, class_weight="balanced").fit(learn, label)
        return float(f1_score(self.aside[self.target], model.predict(test), average="macro"))

    def _features(self, rows: Rows, numbers: bool) -> np.ndarray:
        scaled = [
            (np.asarray(rows[c], float) - self.real[c].mean()) / self.real[c].std()
            for c in (self.ends if numbers else ())
        ]
        ones = [(rows[c] == v).astype(float) for c in self.categories for v in self.levels[c][1:]]
        return np.stack([*scaled, *ones], axis=1)

    def run(
        self, method: str, epsilon: float, strata: str = "", options: str = ""
    ) -> dict[str, float]:
        """Returns the CPU seconds and the errors of one statement.

        Args:
            method: After USING.
            epsilon: Of the statement.
            strata: Columns of STRATIFY BY, as in SQL.
            options: More OPTIONS, as in SQL.
        """
        statement = STATEMENT.format(
            columns=", ".join(self.columns),
            strata=f" STRATIFY BY {strata}" if strata else "",
            method=method,
            epsilon=epsilon,
            options=f", {options}" if options else "",
        )
        with sqlpriv.connect(self.vault) as analyst:
            began = time.process_time()
            analyst.execute(statement)
            cpu = time.process_time() - began
        made = self.rows(self.vault.with_suffix(".release.duckdb"), "made")
        error = mixed_error(self.mixed(self.real), self.mixed(made))
        return {"cpu": cpu, "CM": error.cm, "MM": error.mm, "LT": error.lt, "F1": self.f1(made)}
