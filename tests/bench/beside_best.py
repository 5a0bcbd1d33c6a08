"""`python tests/bench/beside_best.py`: a method beside the best of several, on tables of files.

Each table that is named, of ../shared/data or of `tables/generated.py`, is synthesized by every
method at every epsilon, `--runs` times, with the noise of tests/support/fake_gate. Printed for each
epsilon and figure (see `tables/figures.py`; 1 - AUC for AUC; `sum` is 2-way, by stratum and 1 - AUC
added up): the share of tables on which the first method is within 1.1 of the least error of all
methods; the same where an error below that of as many rows drawn anew from the table (with
replacement) counts as that; the same beside the method that was best in the other runs, of two runs
and more; the median ratio, by the least and by that method; and the median difference. Errors are
means over runs. The least of several methods is lower by chance where runs are few, which is why
each run's best method is chosen by the other runs. `--lines FILE` keeps every run, and several
files of lines are summed up by `--of FILE …`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import duckdb
import numpy as np
import pandas as pd
from bench.tables.declared import OUTCOMES, build_vault
from bench.tables.figures import compare, read_frame
from numpy.typing import NDArray
from support.fake_gate import FakeGate
from support.vaults import contract

from sqlpriv.errors import Error
from sqlpriv.kernel.terms.budget import rho_of
from sqlpriv.kernel.terms.contract import Interval
from sqlpriv.synth.synthesis import prepare, synthesize

FIGURES = ("1-way", "2-way", "3-way", "mean", "spearman", "by stratum", "AUC", "sum")
NEAR = 1.1


class FileTable:
    """A declared table: `real` rows as frames have them, and `columns` as the gate counts them."""

    def __init__(self, name: str, rows: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            declared = build_vault(Path(folder), name, rows)
            self.domains = declared.domains
            names = list(self.domains)
            with duckdb.connect(str(declared.vault), read_only=True) as engine:
                described = engine.execute("DESCRIBE people").fetchall()
                selected = ", ".join(f'"{n}"' for n in names)
                values = engine.execute(f"SELECT {selected} FROM people").fetchall()
            types = {n: t for n, t, *_ in described}
            self.real = read_frame(declared.vault, "people", names)
        self.types = {n: types[n] for n in names}
        self.columns = {n: [row[i] for row in values] for i, n in enumerate(names)}
        for n in names:
            if types[n].startswith("DECIMAL"):
                self.columns[n] = [None if v is None else float(v) for v in self.columns[n]]
        self.contract = contract(self.types, self.domains)
        self.target, self.stratum = (
            c if c in self.domains else "" for c in OUTCOMES.get(name, ("", ""))
        )

    def figures(self, drawn: pd.DataFrame, is_classified: bool = True) -> list[float]:
        """Returns FIGURES, 1 - AUC in the place of AUC."""
        wide = [n for n, d in self.domains.items() if isinstance(d, Interval)]
        target = self.target if is_classified else ""
        errors = compare(self.real, drawn, wide, target, self.stratum)
        errors["AUC"] = 1 - errors["AUC"]
        errors["sum"] = errors["2-way"] + errors["by stratum"] + errors["AUC"]
        return [errors[f] for f in FIGURES]

    def synthesize(self, method: str, epsilon: float, seed: int) -> pd.DataFrame:
        """Returns synthetic rows."""
        price = rho_of(epsilon, 1e-9)
        job = prepare(self.contract, tuple(self.domains), (), None, method, {}, price)
        table = synthesize(job, FakeGate(self.columns, self.contract, price, seed=seed)).table
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "drawn.duckdb"
            with duckdb.connect(str(file)) as engine:
                engine.register("rows", table)
                engine.execute("CREATE TABLE drawn AS FROM rows")
            return read_frame(file, "drawn", list(self.domains))


Errors = NDArray[np.float64]
Line = dict[str, Any]


def chosen_by_others(errors: Errors) -> Errors:
    """Returns the error, in the mean over runs, of the method that was best in the other runs.

    Args:
        errors: Of shape (methods, runs, figures), of two runs at least.
    """
    _, runs, figures = errors.shape
    others = (errors.sum(axis=1, keepdims=True) - errors) / (runs - 1)
    best = others.argmin(axis=0)
    return errors[best, np.arange(runs)[:, None], np.arange(figures)].mean(axis=0)


def print_shares(epsilon: float, tables: list[tuple[Errors, Errors]]) -> None:
    """Prints what the module says.

    Args:
        epsilon: Of the statements.
        tables: Errors of shape (methods, runs, figures), and those of rows drawn anew (figures,).
    """
    for i, figure in enumerate(FIGURES):
        some = [(e[:, :, i : i + 1], least[i]) for e, least in tables if not np.isnan(e[0, 0, i])]
        if not some:
            continue
        mine = np.array([e[0].mean() for e, _ in some])
        best = np.array([e.mean(axis=1).min() for e, _ in some])
        least = np.array([x for _, x in some])
        near, above = (np.mean(mine <= NEAR * x) for x in (best, np.maximum(best, least)))
        said = f"within {NEAR} {near:.2f} of {len(mine)} tables, of a sample's error {above:.2f}"
        ratios = f"median ratio {np.median(mine / best):.2f}"
        if some[0][0].shape[1] > 1:
            fair = np.array([float(chosen_by_others(e)[0]) for e, _ in some])
            said += f", of the others' choice {np.mean(mine <= NEAR * fair):.2f}"
            ratios += f" and {np.median(mine / fair):.2f}"
        apart = np.median(mine - best)
        print(f"epsilon {epsilon:g}, {figure}: {said}; {ratios}, difference {apart:.4f}")


def measure_table(name: str, given: argparse.Namespace) -> Iterator[Line]:
    """Yields the errors of each run: of methods, and of rows drawn anew, whose epsilon is 0."""
    table = FileTable(name, given.rows)
    anew = table.real.sample(len(table.real), replace=True, random_state=1)
    least = np.nan_to_num(np.array(table.figures(anew, is_classified=False))).tolist()
    yield {"table": name, "method": "anew", "epsilon": 0.0, "run": 0, "errors": least}
    for epsilon, method in itertools.product(given.epsilons, given.methods):
        line = {"table": name, "method": method, "epsilon": epsilon}
        runs = []
        try:
            for run in range(given.runs):
                began = time.process_time()
                drawn = table.synthesize(method, epsilon, run)
                seconds = time.process_time() - began
                runs.append(table.figures(drawn))
                yield line | {"run": run, "errors": runs[-1], "cpu": seconds}
        except Error as refusal:
            print(f"{name}, {method}: {refusal}")
            continue
        shown = "".join(f"{x:9.4f}" for x in np.mean(runs, axis=0))
        print(f"{name[:24]:<25}{method:<12}{epsilon:>5g}{shown} {seconds:6.1f} s", flush=True)


def summarise(lines: Sequence[Line]) -> None:
    """Prints the shares of every epsilon; the first method of the lines beside the others."""
    tables = {x["table"]: np.array(x["errors"]) for x in lines if x["method"] == "anew"}
    for epsilon in dict.fromkeys(x["epsilon"] for x in lines if x["epsilon"]):
        of_tables = []
        for name, least in tables.items():
            of_methods: dict[str, list[list[float]]] = {}
            for x in lines:
                if x["table"] == name and x["epsilon"] == epsilon:
                    of_methods.setdefault(x["method"], []).append(x["errors"])
            if of_methods:
                runs = min(len(errors) for errors in of_methods.values())
                of_tables.append((np.array([e[:runs] for e in of_methods.values()]), least))
        print_shares(epsilon, of_tables)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", default=[])
    parser.add_argument("--methods", nargs="+", default=["aim", "independent", "hdmm", "privsyn"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 0.1])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--lines", type=Path, help="append JSON lines there")
    parser.add_argument("--of", type=Path, nargs="+", default=[], help="lines of earlier runs")
    given = parser.parse_args()
    lines: list[Line] = [json.loads(x) for file in given.of for x in file.read_text().splitlines()]
    for name in given.tables:
        for line in measure_table(name, given):
            lines.append(line)
            if given.lines:
                with given.lines.open("a") as appended:
                    appended.write(json.dumps(line) + "\n")
    summarise(lines)


if __name__ == "__main__":
    main()
