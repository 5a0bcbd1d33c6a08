"""Every method on every table of ../shared/data; see `synth.py --all-tables`."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bench.tables.declared import OUTCOMES, build_vault, table_names
from bench.tables.figures import FIGURES, compare, read_frame

from sqlpriv.errors import Error
from sqlpriv.kernel.terms.contract import Interval
from sqlpriv.session.session import Session
from sqlpriv.synth.registry import REGISTRY

METHODS = tuple(REGISTRY)
LIMIT_S = 120


def measure(
    table: str, method: str, epsilon: float, rows: int, options: str = ""
) -> dict[str, Any]:
    """Returns one line: of a whole statement over the real gate, in a vault that has sold nothing
    yet. `refused` says why there are no figures."""
    line: dict[str, Any] = {"table": table, "method": method, "epsilon": epsilon}
    with tempfile.TemporaryDirectory() as folder:
        declared = build_vault(Path(folder), table, rows)
        names = list(declared.domains)
        line |= {"rows": declared.rows, "columns": len(names)}
        quoted = ", ".join(f'"{name}"' for name in names)
        select = f'SELECT {quoted} FROM people USING "{method}"'
        more = f"OPTIONS (epsilon = {epsilon}{', ' + options if options else ''})"
        session = Session(declared.vault, role="analyst", principal="bench")
        session.execute(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.05) COUNT(*) AS n FROM people"
        )
        statement = f"CREATE SYNTHETIC TABLE drawn AS {select} {more}"
        line |= predict_errors(session, statement)
        began, cpu = time.perf_counter(), time.process_time()
        try:
            with _time_limit(LIMIT_S):
                made = session.execute(statement)
        except Error as refusal:
            return line | {"refused": str(refusal).splitlines()[0][:120]}
        except TimeoutError:
            return line | {"refused": f"not done after {LIMIT_S} s"}
        finally:
            session.close()
        line |= {"wall": time.perf_counter() - began, "cpu": time.process_time() - cpu}
        line["message"] = made.message
        real = read_frame(declared.vault, "people", names)
        drawn = read_frame(declared.vault.with_suffix(".release.duckdb"), "drawn", names)
    wide = [n for n, d in declared.domains.items() if isinstance(d, Interval)]
    target, stratum = (name if name in names else "" for name in OUTCOMES.get(table, ("", "")))
    return line | compare(real, drawn, wide, target, stratum)


def predict_errors(session: Session, statement: str) -> dict[str, float]:
    """Returns the errors that EXPLAIN PRIVACY expects of one column and of two."""
    try:
        told = session.execute(f"EXPLAIN PRIVACY {statement}").table
    except Error:
        return {}
    assert told is not None
    rows = zip(told["measurement"].to_pylist(), told["expected_error"].to_pylist(), strict=True)
    errors = [error for name, error in rows if name.startswith("expected share")]
    return dict(zip(("expected 1-way", "expected 2-way"), errors, strict=True))


@contextlib.contextmanager
def _time_limit(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def print_predictions(lines: Sequence[dict[str, Any]]) -> None:
    """Prints how many of the errors EXPLAIN PRIVACY has predicted within a factor of 1.5."""
    for ways in ("1-way", "2-way"):
        known = [x for x in lines if f"expected {ways}" in x and x.get(ways, 0) > 0]
        ratios = np.array([x[f"expected {ways}"] / x[ways] for x in known])
        if len(ratios):
            close = np.mean(np.maximum(ratios, 1 / ratios) <= 1.5)
            print(f"expected {ways} error within 1.5 of the true one: {close:.0%} of {len(ratios)}")


def print_all(
    tables: Sequence[str],
    methods: Sequence[str],
    epsilons: Sequence[float],
    rows: int,
    options: str,
    file: Path | None,
) -> None:
    """Prints a line for every table, method and epsilon, and appends it to `file` as JSON."""
    names = ("wall", *FIGURES)
    lines: list[dict[str, Any]] = []
    head = "".join(f"{n:>11}" for n in names)
    print(f"{'table':<27}{'rows':>6} {'method':<12}{'eps':>5}{head}", flush=True)
    for table in tables or table_names():
        for method in methods:
            for epsilon in epsilons:
                with contextlib.redirect_stderr(io.StringIO()):
                    line = measure(table, method, epsilon, rows, options)
                lines.append(line)
                shown = "".join(f"{line[n]:11.3f}" if n in line else "" for n in names)
                begin = f"{table:<27}{line['rows']:>6} {method:<12}{epsilon:>5g}"
                print(f"{begin}{shown or '  ' + line['refused']}", flush=True)
                if file is not None:
                    with file.open("a") as appended:
                        appended.write(json.dumps(line, default=float) + "\n")
    print_predictions(lines)
