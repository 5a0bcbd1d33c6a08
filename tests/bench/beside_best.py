"""`python tests/bench/beside_best.py`: a method beside the best of several, on tables of files.

Each table of ../shared/data that is named is synthesized by every method at every epsilon, `--runs`
times, with the noise of tests/support/fake_gate. Printed for each epsilon and figure (see
`tables/figures.py`; 1 - AUC for AUC): the share of tables on which the first method is within 1.1
of the least error of all methods, the same where an error below that of as many rows drawn anew
from the table (with replacement) counts as that, the median ratio and the median difference. Errors
are means over runs; the least of several methods is lower by chance where runs are few.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import duckdb
import numpy as np
import pandas as pd
from bench.tables.declared import OUTCOMES, build_vault
from bench.tables.figures import compare, read_frame
from support.fake_gate import FakeGate
from support.vaults import contract

from sqlpriv.errors import Error
from sqlpriv.kernel.terms.budget import rho_of
from sqlpriv.kernel.terms.contract import Interval
from sqlpriv.synth.synthesis import prepare, synthesize

FIGURES = ("1-way", "2-way", "3-way", "mean", "spearman", "by stratum", "AUC")
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
        return [1 - errors[f] if f == "AUC" else errors[f] for f in FIGURES]

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", required=True)
    parser.add_argument("--methods", nargs="+", default=["aim", "independent", "hdmm", "privsyn"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 0.1])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=2)
    given = parser.parse_args()
    errors: dict[float, list[Any]] = {epsilon: [] for epsilon in given.epsilons}
    for name in given.tables:
        table = FileTable(name, given.rows)
        anew = table.real.sample(len(table.real), replace=True, random_state=1)
        least = np.nan_to_num(np.array(table.figures(anew, is_classified=False)))
        for epsilon in given.epsilons:
            of_methods = []
            for method in given.methods:
                try:
                    runs = [
                        table.figures(table.synthesize(method, epsilon, seed))
                        for seed in range(given.runs)
                    ]
                except Error as refusal:
                    print(f"{name}, {method}: {refusal}")
                    continue
                of_methods.append(np.mean(runs, axis=0))
                shown = "".join(f"{x:9.4f}" for x in of_methods[-1])
                print(f"{name[:24]:<25}{method:<12}{epsilon:>5g}{shown}", flush=True)
            errors[epsilon].append((of_methods[0], np.min(of_methods, axis=0), least))
    for epsilon, (i, figure) in itertools.product(given.epsilons, enumerate(FIGURES)):
        mine, best, least = (
            np.array([x[k][i] for x in errors[epsilon] if not np.isnan(x[0][i])]) for k in range(3)
        )
        if len(mine):
            near, above = (np.mean(mine <= NEAR * x) for x in (best, np.maximum(best, least)))
            ratio, apart = np.median(mine / best), np.median(mine - best)
            print(
                f"epsilon {epsilon:g}, {figure}: within {NEAR} {near:.2f} of {len(mine)} tables, of"
                f" a sample's error {above:.2f}; median ratio {ratio:.2f}, difference {apart:.4f}"
            )


if __name__ == "__main__":
    main()
