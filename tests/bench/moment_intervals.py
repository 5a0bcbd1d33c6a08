"""`python tests/bench/moment_intervals.py [--cells FIRST LAST] [--groups …] [--each]`.

How often the intervals of variances, standard deviations, covariances, correlations and plain means
hold what DuckDB computes, on columns that a number draws: the ten families of
`quantile_intervals.py` with random parameters, in domains 1 to 30 times as wide as the values, 5 to
3,000 rows a group, pure epsilon or zCDP, at 1 or .1. No rule was chosen by a cell from 1,000 on:
take numbers that were not used before.

A cell is one statement by 400 groups, each with its own draw of as many rows and its own noise.
Statements are planned from SQL and estimated as in a session. Exact integers are read once, by the
kernel's own SQL, and get noise of the planned deviation, which numpy draws. The truth is plain
DuckDB's.

Each line: the part of the stated intervals that held; the part of all groups that have one; the
median half-width by the error that 95 % of stated answers stay below. The last lines are by output,
by the rows of a group and by the part of the groups that have an interval: selection shows where
that is small. `HELD` marks less than .93 of at least 40 stated.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.value_shapes import ValueShape
from other_aggregates import ExactGate, SeededCell, estimate, plan_of
from quantile_intervals import random_draw

from sqlpriv.errors import Refused
from sqlpriv.kernel.checked import check_expressions, prepare_measurement
from sqlpriv.kernel.proof.sensitivity import lattice_of
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.kernel.terms.release import Measurement, Release

STATEMENTS = {
    "spread": ("VAR_POP(x)", "STDDEV(x)"),
    "pairs": ("COVAR_POP(y, x)", "CORR(y, x)"),
    "plain mean": ("AVG(x USING {plain})",),
}
ROWS = (5, 10, 20, 40, 80, 200, 600, 3_000)
WIDER = (1.0, 1.0, 3.0, 30.0)
"""How many times as far as the values the declared interval reaches."""
STATED = (0.02, 0.1, 0.3, 0.5, 0.9, 1.01)
"""Ends of the classes by the part of answers that have an interval."""


def moment_cell(number: int) -> SeededCell:
    """Returns the cell of a number, always the same one; its rows are those of a group."""
    rng = np.random.default_rng([number, 31_337])
    name, draw, whole = random_draw(rng)
    values = draw(rng, 100_000)
    far = max(float(np.quantile(np.abs(values), 0.9999)), 1.0) * float(rng.choice(WIDER))
    unit = 10.0 ** np.floor(np.log10(far))
    upper = max(float(np.ceil(far / unit) * unit), 2.0)
    lower = -upper if values.min() < 0 else 0.0
    rows = int(rng.choice(ROWS))
    kind, epsilon = str(rng.choice(["pure", "zcdp"])), float(rng.choice([1.0, 1.0, 0.1]))
    of = ValueShape(draw, lower, upper, whole)
    return SeededCell(f"{name} in {upper:.0e}", rows, "1", kind, epsilon, of)


class NumpyNoiseGate(ExactGate):
    """People of a cell; answers counts and sums with noise that numpy draws, and no budget."""

    def release(self, measurements: Sequence[Measurement]) -> tuple[Release, ...]:
        return tuple(map(self._release_one, measurements))

    def _release_one(self, m: Measurement) -> Release:
        if m not in self._prepared:
            scope = Scope(m.query.source, self.contract)
            self._prepared[m] = prepare_measurement(m, scope)
            lattice = lattice_of(m.query, check_expressions(m.query, scope))
            steps = np.array(self._read(m.query), float)
            self._values[m] = (steps * float(lattice.step)).reshape(a.shape(m.query))
        sigma, values = self._prepared[m].sigma, self._values[m]
        if isinstance(m.price, Rho):
            noise = self.rng.normal(0, sigma, values.shape)
        else:
            noise = self.rng.laplace(0, sigma / 2**0.5, values.shape)
        noise = np.rint(noise) if isinstance(m.query, a.Count) else noise
        return Release(0, m.query, values + noise, sigma, m.price)

    def __init__(self, cell: SeededCell, seed: int) -> None:
        super().__init__(cell, seed)
        self._values: dict[Measurement, np.ndarray] = {}
        self.rng = np.random.default_rng()


def figures_of(errors: np.ndarray, halves: np.ndarray) -> tuple[float, float, float, int]:
    """Returns the part that held, the part that is stated, the median half-width by the error that
    95 % stay below, and how many are stated."""
    stated = np.isfinite(errors) & np.isfinite(halves)
    apart, wide = np.abs(errors[stated]), halves[stated]
    if not apart.size:
        return np.nan, 0.0, np.nan, 0
    held = float((apart <= wide * (1 + 1e-9) + 1e-9).mean())
    most = float(np.quantile(apart, 0.95))
    longer = float(np.median(wide)) / most if most > 0 else np.nan
    return held, float(stated.mean()), longer, apart.size


def main() -> None:
    """Prints a line for each output of marked cells, or of each, and what they add up to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", nargs=2, type=int, default=[0, 40], metavar=("FIRST", "LAST"))
    parser.add_argument("--groups", type=int, default=400)
    parser.add_argument("--statements", nargs="*", default=list(STATEMENTS), choices=STATEMENTS)
    parser.add_argument("--each", action="store_true", help="print lines without a mark, too")
    given = parser.parse_args()
    sums: dict[str, list[tuple[float, float, float, int]]] = defaultdict(list)
    print(f"{'cell':55} held stated length", flush=True)
    for number in range(*given.cells):
        cell = moment_cell(number)
        of_all = replace(cell, rows=cell.rows * given.groups, strata=str(given.groups))
        gate = NumpyNoiseGate(of_all, 9_000 + number)
        label = f"{number:6} {cell.shape:28} {cell.rows:6} {cell.kind} {cell.epsilon:3}"
        plain = "laplace" if cell.kind == "pure" else "gaussian"
        for name in given.statements:
            outputs = tuple(one.format(plain=plain) for one in STATEMENTS[name])
            try:
                asked = estimate(plan_of(of_all, gate, outputs, "GROUP BY g0"), gate, 1)
            except Refused as refusal:
                print(label, name, refusal, flush=True)
                continue
            truth = gate.truth([one.replace(f" USING {plain}", "") for one in outputs])[:-1]
            for i, output in enumerate(outputs):
                of = figures_of(asked.errors[0, :, i] - truth[:, i], asked.halves[0, :, i])
                keys = [f"of {output.split('(')[0]}", f"{cell.rows:6} rows", "all"]
                if of[3]:
                    keys.append(f"stated up to {next(end for end in STATED if of[1] < end):.2f}")
                for key in keys:
                    sums[key].append(of)
                is_low = of[0] < 0.93 and of[3] >= 40
                if is_low or given.each:
                    text = "{:6.3f} {:5.3f} {:5.2f}".format(*of[:3])
                    print(f"{label} {text} {'HELD' if is_low else '    '} {output}", flush=True)
    for key, rows in sorted(sums.items()):
        table = np.array(rows, float)
        enough = table[table[:, 3] >= 40, 0]
        held = np.nansum(table[:, 0] * table[:, 3]) / max(table[:, 3].sum(), 1)
        low = (enough < 0.93).sum() / max(enough.size, 1)
        print(
            f"{key:18} {len(rows):4} figures, {len(enough):4} of 40 stated or more: least held "
            f"{enough.min(initial=1):.3f}, {low:.2f} below .93; of all stated {held:.3f}; "
            f"stated {table[:, 1].mean():.2f}; length {np.nanmedian(table[:, 2]):.2f}"
        )


if __name__ == "__main__":
    main()
