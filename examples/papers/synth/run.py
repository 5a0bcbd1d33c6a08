"""`python examples/papers/synth/run.py`: the paper's synthesis experiments, resumable.

Every finished trial is a line of results.jsonl in the working directory; start it again and it
goes on where it stopped. At the end it writes results.parquet, the figures and README.md here.
"""

from __future__ import annotations

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from census import prepare
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from trial import BY, POOLED, Trial, measured

HERE = Path(__file__).parent
METHODS = ("mst", "aim", "gem")
EPSILONS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0)


def grid(methods: list[str], runs: int) -> list[Trial]:
    """Returns the trials, run by run, so that a grid that is stopped has every setting once."""
    settings = [(m, s, "0") for m in methods for s in ("none", *BY)]
    settings += [(m, s, "auto") for m in methods if m in POOLED for s in BY]
    return [
        Trial(method, strata, pooling, epsilon, run)
        for run in range(runs)
        for method, strata, pooling in settings
        for epsilon in EPSILONS
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("sqlpriv-papers-synth"))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only-report", action="store_true", help="figures of what there is")
    given = parser.parse_args()
    prepare(given.work)
    results = given.work / "results.jsonl"
    if not given.only_report:
        run(grid(given.methods, given.runs), given.work, results, given.workers)
    from report import write

    write(results, HERE)


def run(trials: list[Trial], work: Path, results: Path, workers: int) -> None:
    """Runs what is not there yet, and appends each result as soon as it is."""
    there = (
        {key(json.loads(line)) for line in results.read_text().splitlines()}
        if (results.exists())
        else set()
    )
    missing = [t for t in trials if key(vars(t)) not in there]
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # the workers inherit it: each has one core
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    with pool, Progress(*columns) as bar, results.open("a") as file:
        task = bar.add_task("trials", total=len(trials), completed=len(trials) - len(missing))
        for done in as_completed([pool.submit(measured, t, work) for t in missing]):
            file.write(json.dumps(done.result()) + "\n")
            file.flush()
            bar.advance(task)


def key(found: dict[str, object]) -> tuple[object, ...]:
    """Returns what tells one trial from another."""
    return tuple(found[name] for name in ("method", "strata", "pooling", "epsilon", "run"))


if __name__ == "__main__":
    main()
