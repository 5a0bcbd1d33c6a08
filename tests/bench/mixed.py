"""`python tests/bench/mixed.py`: errors over categories and numbers by a target.

Prints of each method: CPU seconds of the statement, CM, MM, LT (`mixed_error.py` beside the tasks),
and macro F1 of a logistic regression that is trained on the synthetic rows and tested on real ones.
`real` is the same regression trained on the real rows. Tasks: examples/papers/mixed/acs_tasks.py.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "papers" / "mixed"))

from acs_tasks import TASKS, Task


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
