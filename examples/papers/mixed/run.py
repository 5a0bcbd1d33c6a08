"""`python examples/papers/mixed/run.py`: categories and numbers by a target, measured.

Every finished trial is a line of results.jsonl in the working directory; start it again and it
goes on where it stopped. At the end it writes results.parquet, the figures and README.md here.
`--rows 0` takes all rows of the tasks.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from acs_tasks import TASKS, Task

HERE = Path(__file__).parent
METHODS = ("mst", "aim", "gsd", "rap++")
EPSILONS = (0.15, 1.0)
TARGETED = ("gsd", "rap++")
"""The methods that are told the target."""
QUICK = "tables = 12, points = 500, steps = 25"
"""Of rap++, without --full: a fifth of the time of what it does by itself."""


@dataclass(frozen=True)
class Trial:
    """One statement in a vault that has sold nothing; `method` "real" trains on the real rows."""

    task: str
    run: int
    method: str
    epsilon: float


def trials(tasks: list[str], methods: list[str], runs: int) -> Iterator[Trial]:
    """Yields the trials, run by run, so that a grid that is stopped has every setting once."""
    for run in range(runs):
        for task in tasks:
            yield Trial(task, run, "real", 0.0)
            for epsilon in EPSILONS:
                for method in methods:
                    yield Trial(task, run, method, epsilon)


def measure(trial: Trial, rows: int, options: str) -> dict[str, object]:
    """Returns a line of results: the trial and its figures."""
    with tempfile.TemporaryDirectory() as folder:
        task = Task(trial.task, Path(folder), trial.run, rows or None)
        if trial.method == "real":
            figures = {"F1": task.f1(task.real), "F1_categories": task.f1(task.real, False)}
        else:
            target = f"target = '{task.target}'" if trial.method in TARGETED else ""
            more = options if trial.method == "rap++" else ""
            figures = task.run(
                trial.method, trial.epsilon, options=", ".join(filter(None, (target, more)))
            )
        return asdict(trial) | {"rows": len(task.real[task.target])} | figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("sqlpriv-papers-mixed"))
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--rows", type=int, default=12_500)
    parser.add_argument("--full", action="store_true", help="rap++ at its own options")
    parser.add_argument("--only-report", action="store_true", help="figures of what there is")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    results = given.work / "results.jsonl"
    lines = [json.loads(x) for x in results.read_text().splitlines()] if results.exists() else []
    finished = {tuple(line[name] for name in Trial.__dataclass_fields__) for line in lines}
    with results.open("a") as file:
        for trial in trials(given.tasks, given.methods, given.runs):
            if given.only_report or tuple(asdict(trial).values()) in finished:
                continue
            lines.append(measure(trial, given.rows, "" if given.full else QUICK))
            file.write(json.dumps(lines[-1]) + "\n")
            file.flush()
            print(lines[-1], flush=True)
    from mixed_figures import write_report

    write_report(lines, HERE)


if __name__ == "__main__":
    main()
