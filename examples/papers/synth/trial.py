"""One trial: synthesize under a fresh budget, compare with the truth and with held-out rows."""

from __future__ import annotations

import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
from census import COLUMNS, POSITIVE, TARGET

import sqlpriv
from sqlpriv.evaluate.classifier import classify
from sqlpriv.evaluate.parity import max_disparity, means, parity_error
from sqlpriv.evaluate.workload_error import error_of_cells, joint_cells

BY = {"SEX": ("SEX",), "RAC1P": ("RAC1P",), "SEX_RAC1P": ("SEX", "RAC1P")}
"""Whom errors are compared between, whatever the table was stratified by."""
POOLED = ("aim",)
"""The methods whose strata can be steadied by the population's model."""


@dataclass(frozen=True)
class Trial:
    """What to synthesize: `strata` is 'none' or one of `BY`; `pooling` as in OPTIONS."""

    method: str
    strata: str
    pooling: str
    epsilon: float
    run: int

    def statement(self) -> str:
        """Returns the SQL that makes the table."""
        by = f"STRATIFY BY {', '.join(BY[self.strata])} " if self.strata != "none" else ""
        pooled = f", pooling = {self.pooling}" if by and self.method in POOLED else ""
        return (
            f"CREATE SYNTHETIC TABLE made AS SELECT {', '.join(COLUMNS)} FROM people {by}"
            f"USING {self.method} OPTIONS (epsilon = {self.epsilon}{pooled})"
        )


def measured(trial: Trial, directory: Path) -> dict[str, object]:
    """Runs a trial on a copy of the vault with nothing spent, so that no answer is replayed."""
    with tempfile.TemporaryDirectory() as scratch:
        for file in directory.glob("people.*"):
            shutil.copy(file, scratch)
        started, cpu = time.perf_counter(), time.process_time()
        with sqlpriv.connect(Path(scratch) / "people.duckdb") as analyst:
            spent = analyst.execute(trial.statement()).result
        seconds = {"wall_s": time.perf_counter() - started, "cpu_s": time.process_time() - cpu}
        assert spent is not None
        with duckdb.connect() as engine:
            engine.execute(f"ATTACH '{scratch}/people.release.duckdb' AS release (READ_ONLY)")
            engine.execute(f"ATTACH '{scratch}/people.duckdb' AS vault (READ_ONLY)")
            scores = _scores(engine, directory / "test.parquet")
    return {**vars(trial), **seconds, "epsilon_spent": spent.epsilon, **scores}


def _scores(engine: duckdb.DuckDBPyConnection, held_out: Path) -> dict[str, object]:
    wanted = ", ".join(COLUMNS)
    made = engine.table("release.main.made").project(wanted).materialize()
    real = engine.table("vault.main.people").project(wanted).materialize()
    test = engine.read_parquet(str(held_out)).project(wanted).materialize()
    found: dict[str, object] = {"rows": len(made)}
    cells = joint_cells(real, made, COLUMNS)
    for ways in (2, 3):
        found[f"error_{ways}way"] = error_of_cells(cells, COLUMNS, (), ways).population
    for name, strata in BY.items():
        others = [c for c in COLUMNS if c not in strata]
        m = means(real, made, others, strata)
        pairs = [(m.real[:, j], m.synthetic[:, j]) for j in range(len(others))]
        found[f"parity_means_{name}"] = sum(parity_error(*pair).error for pair in pairs)
        found[f"max_disparity_{name}"] = max(max_disparity(*pair) for pair in pairs)
        inside = error_of_cells(cells, others, strata, 2)
        known = [e for e in inside.strata.values() if e is not None]
        found[f"error_2way_inside_{name}"] = float(np.mean(known))
        if name != "SEX":
            inside = error_of_cells(cells, others, strata, 3)
            known = [e for e in inside.strata.values() if e is not None]
            found[f"parity_3way_{name}"] = sum(known) + inside.population / len(known)
    try:
        c = classify(made, test, TARGET, POSITIVE, BY["SEX_RAC1P"])
    except sqlpriv.DataError:  # one class only: it predicts that one
        return found
    rates = list(c.strata.values())
    n = sum(r.rows for r in rates)
    found |= {
        "accuracy": c.accuracy,
        "macro_f1": c.macro_f1,
        "dem_parity": c.demographic_parity,
        "fpr_diff": c.fpr_difference,
        "fnr_diff": c.fnr_difference,
        "selected": sum(r.rows * (r.selected or 0) for r in rates) / n,
    }
    return found
