"""examples/papers/mixed: a task's vault, and the page and pictures that are made of trials."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.places import ROOT

sys.path.insert(0, str(ROOT / "examples" / "papers" / "mixed"))

from acs_tasks import DATA, TASKS, Task
from mixed_figures import findings, write_report

LINES = [
    {"task": task, "run": 0, "method": method, "epsilon": epsilon, "rows": 100, "cpu": 1.5 + better}
    | {"CM": 0.1 - better / 100, "MM": float("nan"), "LT": 0.2, "F1": 0.5 + better / 10}
    for task, epsilon, (better, method) in itertools.product(
        ("income", "employment"), (0.15, 1.0), enumerate(("mst", "gsd"))
    )
]
REAL = {"run": 0, "method": "real", "epsilon": 0.0, "rows": 100, "F1": 0.8, "F1_categories": 0.6}


def test_the_page_says_which_method_is_best(tmp_path: Path) -> None:
    lines = [*LINES, *({"task": task, **REAL} for task in ("income", "employment"))]
    told = findings(pd.DataFrame(lines)).splitlines()
    assert told[0] == "- categories (CM), of 4 settings best: `gsd` in 4."
    assert told[-1] == "- F1, of 4 settings best: `gsd` in 4."
    write_report(lines, tmp_path)
    page = (tmp_path / "README.md").read_text()
    assert "| income | 0.800 | 0.600 |" in page
    assert {f.name for f in tmp_path.iterdir()} == {
        "README.md",
        "results.parquet",
        "errors.svg",
        "f1.svg",
        "time.svg",
    }


@pytest.mark.skipif(not DATA.exists(), reason="the survey's files are not here")
@pytest.mark.parametrize("name", TASKS)
def test_a_task_keeps_a_fifth_aside_and_declares_every_column(name: str, tmp_path: Path) -> None:
    """Of 2,000 rows, 400 aside: 100 more or fewer are five standard deviations."""
    task = Task(name, tmp_path, limit=2_000)
    aside = len(task.aside[task.target])
    assert len(task.real[task.target]) + aside == 2_000
    assert abs(aside - 400) < 100
    row = task.run("independent", 1.0)
    assert row["CM"] > 0
    assert np.isfinite(row["LT"])
