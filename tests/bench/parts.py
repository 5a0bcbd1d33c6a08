"""`python tests/bench/parts.py [--rows N]`: which parts of a fresh statement take its time.

The statement is that of `throughput.py`, each time at a price of its own. Told is the processor
time of a statement, all threads' together, and of each part of it without the parts inside; how
often a part is entered; and its share. What is in no part stands last.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.matrix import Shape, write_table
from bench.throughput import PRIVATE

from sqlpriv.session.session import Session

PARTS = {
    "text → statement": "session.access.kept_statements.KeptStatements.read",
    "statement → plan": "session.queries.compiler.ProgramCompiler.compile",
    "look-ups among the seals": "session.queries.programs.gate_requests.price_now",
    "names of queries": "kernel.terms.algebra.query_hash",
    "checks, lattice, price of a measurement": "kernel.gate.prepare_measurement",
    "OpenDP draws": "kernel.proof.noise._measure",
    "ATTACH": "kernel.reader.attach",
    "DETACH": "kernel.reader.detach",
    "algebra → SQL": "kernel.gate.render",
    "queries → statements": "kernel.gate.joint_batches",
    "DuckDB runs it": "kernel.reader.Reader._run_within_limit",
    "rows of DuckDB → Python": "kernel.reader.Reader.cells",
    "groups → cells": "kernel.reader.added_up",
    "random delay (privacy)": "kernel.proof.delay.Delay.__exit__",
    "charge": "kernel.gate.Allowance._charge",
    "seal": "kernel.gate.Allowance._seal",
    "other work of the gate": "kernel.gate.Allowance.release",
    "mean: tails": "answer.rounds.last_round.estimate_tails",
    "mean: ends": "answer.rounds.last_round.choose_clipping",
    "mean: everything else": "session.queries.step_runner.gate_requests.release_measurements",
    "releases → rows": "session.queries.step_runner.StepRunner._result",
}
"""By what a part is called: the function, where it is looked up."""
TURNS, WARM_UP = 100, 10


class Stopwatch:
    """Adds up processor time by part, each without the parts that it calls.

    Attributes:
        seconds, entries: By part.
    """

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.entries: Counter[str] = Counter()
        self._open: list[str] = []
        self._since = 0.0

    def wrap(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a function whose calls are timed."""

        @functools.wraps(function)
        def timed(*args: Any, **named: Any) -> Any:
            self._turn()
            self._open.append(part)
            self.entries[part] += 1
            try:
                return function(*args, **named)
            finally:
                self._turn()
                self._open.pop()

        return timed

    def _turn(self) -> None:
        """Books the time since the last turn to the part that is open."""
        now = time.process_time()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now


def function_of(path: str) -> Callable[..., Any]:
    """Returns what a dotted path of the package names."""
    names = path.split(".")
    for end in range(len(names), 0, -1):
        try:
            module: Any = importlib.import_module(".".join(["sqlpriv", *names[:end]]))
        except ModuleNotFoundError:
            continue
        return functools.reduce(getattr, names[end:], module)
    raise LookupError(path)


def measure_parts(session: Session, turns: int = TURNS) -> tuple[Stopwatch, float]:
    """Returns the times of some fresh statements' parts, and seconds of all of them."""
    watch = Stopwatch()
    with ExitStack() as patches:
        for part, path in PARTS.items():
            timed = watch.wrap(part, function_of(path))
            patches.enter_context(mock.patch(f"sqlpriv.{path}", timed))
        began = 0.0
        for turn in range(WARM_UP + turns):
            if turn == WARM_UP:
                watch.seconds.clear()
                watch.entries.clear()
                began = time.process_time()
            session.execute(PRIVATE.format(epsilon=1 + turn / 1000))
        return watch, time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=2_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "parts.duckdb"
        write_table(vault, Shape(given.rows, "TINYINT", "INTEGER", "NOT NULL", "wide"))
        with Session(vault) as session:
            watch, seconds = measure_parts(session)
    print(f"{given.rows:,} rows: {seconds / TURNS * 1e3:.1f} ms of processor time a statement")
    print(f"{'ms':>7} {'share':>6} {'times':>6}")
    for part, taken in watch.seconds.most_common():
        times = watch.entries[part] / TURNS
        print(f"{taken / TURNS * 1e3:7.2f} {taken / seconds:6.1%} {times:6.1f}  {part}")
    rest = seconds - watch.seconds.total()
    print(f"{rest / TURNS * 1e3:7.2f} {rest / seconds:6.1%}         in no part")


if __name__ == "__main__":
    main()
