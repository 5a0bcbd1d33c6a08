"""`python tests/bench/quantile_intervals.py [--cells FIRST LAST] [--runs …] [--each]`.

How often the intervals of quantiles hold the quantile that DuckDB computes, on columns that a
number draws: ten families (atoms, whole numbers, gaps, heaps, values of both signs, domains 1 to
10^6 times as wide as the values) with random parameters, 10, 30, 300 or 10,000 rows a group in 1,
18 or 200 groups (200,000 rows at most), pure epsilon or zCDP, at 1 or .1.

Statements are planned from SQL and estimated as in a session. Each histogram's exact counts are
read once; every run adds noise of the planned deviation, which numpy draws (a run has up to 400,000
counts). The truth is plain DuckDB's. MIN and MAX are compared with the quantiles of 1 and 99 %,
which a note below their answers says they are.

Each line, groups / everybody: the part of the stated intervals that held; the part of all answers
that have one; the median half-width as a part of the domain; the root mean square error of answers
with an interval as a part of the domain. The last lines are by rows of a group, and by kind. A line
is marked HELD where at least 40 intervals are stated and less than .93 of them hold.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.value_shapes import Draw, ValueShape
from coverage import budget_of
from other_aggregates import ExactGate, SeededCell
from support.exact_people import select

from sqlpriv.answer import quantiles
from sqlpriv.kernel.checked import prepare_measurement
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.plan.plan import Plan
from sqlpriv.plan.planner import plan

OUTPUTS = {
    "MEDIAN(x)": "median(x)",
    "QUANTILE_CONT(x, 0.25)": "quantile_cont(x, 0.25)",
    "QUANTILE_CONT(x, 0.9)": "quantile_cont(x, 0.9)",
    "QUANTILE_DISC(x, 0.4)": "quantile_disc(x, 0.4)",
    "MIN(x)": "quantile_disc(x, 0.01)",
    "MAX(x)": "quantile_disc(x, 0.99)",
}
"""What is asked, and the truth of it."""
WIDER = (1.0, 1.0, 3.0, 30.0, 1e3, 1e6)
"""How many times as far as the values the declared interval reaches."""


def random_draw(rng: np.random.Generator) -> tuple[str, Draw, bool]:
    """Returns a distribution's name, its draw, and whether its values are whole numbers."""
    a, b = (float(v) for v in rng.uniform(0.2, 3, 2))
    part, scale = float(rng.uniform(0.1, 0.9)), float(10 ** rng.uniform(1, 4))
    few = np.sort(rng.choice(1000, int(rng.integers(2, 6)), replace=False)).astype(float)
    weights = rng.dirichlet(np.ones(few.size))
    families: dict[str, tuple[Draw, bool]] = {
        "atoms": (lambda r, n: r.choice(few, n, p=weights), True),
        "binomial": (lambda r, n: r.binomial(int(5 + 40 * a), part, n).astype(float), True),
        "zeta": (lambda r, n: np.minimum(r.zipf(1.3 + a, n), 1e6).astype(float), True),
        "Beta": (lambda r, n: scale * r.beta(a, b, n), False),
        "gap": (
            lambda r, n: scale * np.where(r.random(n) < part, r.random(n), 9 + r.random(n)),
            False,
        ),
        "atom and exponential": (
            lambda r, n: np.where(r.random(n) < part, scale, r.exponential(scale, n)),
            False,
        ),
        "log-uniform": (lambda r, n: np.exp(r.uniform(0, 3 + 3 * a, n)), False),
        "Laplace": (lambda r, n: r.laplace(scale * (b - 1), scale, n), False),
        "heaps": (lambda r, n: np.rint(5 * r.gamma(1 + a, 2, n)) * 50.0, True),
        "equal": (lambda _, n: np.full(n, np.rint(scale)), True),
    }
    name = str(rng.choice(list(families)))
    return name, *families[name]


def random_quantile_cell(number: int) -> SeededCell:
    """Returns the cell of a number, always the same one; its rows are those of all groups."""
    rng = np.random.default_rng([number, 60_607])
    name, draw, whole = random_draw(rng)
    values = draw(rng, 100_000)
    far = max(float(np.abs(values).max()), 1.0) * float(rng.choice(WIDER))
    unit = 10.0 ** np.floor(np.log10(far))
    upper = max(float(np.ceil(far / unit) * unit), 2.0)
    lower = -upper if values.min() < 0 else 0.0
    groups = int(rng.choice([1, 18, 200]))
    rows = int(rng.choice([10, 30, 300, 10_000]))
    total = min(rows * groups, 200_000)
    kind, epsilon = str(rng.choice(["pure", "zcdp"])), float(rng.choice([1.0, 1.0, 0.1]))
    of = ValueShape(draw, lower, upper, whole)
    return SeededCell(f"{name} in {upper:.0e}", total, str(groups), kind, epsilon, of)


class NumpyGate:
    """The rows of a cell; answers counts with noise that numpy draws, with no budget."""

    def __init__(self, cell: SeededCell, number: int) -> None:
        self.exact = ExactGate(cell, 7_000 + number)
        self.rng = np.random.default_rng()

    def release(self, m: Measurement) -> Release:
        """Returns the noised counts of a query."""
        sigma = prepare_measurement(m, Scope(m.query.source, self.exact.contract)).sigma
        assert isinstance(m.query, a.Count)
        counts = np.array(self.exact._read(m.query), float).reshape(a.shape(m.query))
        if m.price.value and isinstance(m.price, Rho):
            noise = np.rint(self.rng.normal(0, sigma, counts.shape))
        else:
            stop = -np.expm1(-2 * np.arcsinh(np.sqrt(0.5) / sigma))
            one, other = (self.rng.geometric(stop, counts.shape) for _ in range(2))
            noise = one - other
        return Release(0, m.query, counts + noise, sigma, m.price)

    def truth(self) -> np.ndarray:
        """Returns the exact quantiles, of shape (groups + 1, outputs); everybody's come last."""
        listed = ", ".join(f"({one})::DOUBLE" for one in OUTPUTS.values())
        sql = f"SELECT g0, {listed} FROM people GROUP BY ROLLUP (g0) ORDER BY g0 NULLS LAST"
        return np.array([row[1:] for row in self.exact.engine.execute(sql).fetchall()], float)


def plan_of(cell: SeededCell, gate: NumpyGate) -> Plan:
    """Returns the plan of a statement that asks for all quantiles and their half-widths."""
    listed = ", ".join(f"{one}, ERROR({one})" for one in OUTPUTS)
    by = "STRATIFY BY g0" if gate.exact.strata > 1 else ""
    price = f"WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {cell.epsilon})"
    sql = f"SELECT {price} {listed} FROM people {by}"
    return plan(select(sql), gate.exact.contract, budget_of(cell.kind), None)


def ask(cell: SeededCell, number: int, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns errors and half-widths, of shape (runs, groups + 1, outputs); NaN where none is."""
    gate = NumpyGate(cell, number)
    planned, truth = plan_of(cell, gate), gate.truth()
    strata = gate.exact.strata
    numbers = list(dict.fromkeys(planned.output.marginals[0].recipes))
    errors = np.full((runs, strata + 1, len(OUTPUTS)), np.nan)
    halves = errors.copy()
    for run in range(runs):
        releases = {m.query: gate.release(m) for m in planned.measurements}
        for i, recipe in enumerate(numbers):
            values, widths = quantiles.cells(recipe, releases)
            if strata > 1:
                of_all, width_of_all = quantiles.population(recipe, releases, None)
                values, widths = values + of_all, widths + width_of_all
            else:
                values, widths = values * 2, widths * 2
            errors[run, :, i] = np.array(values, float) - truth[:, i]
            halves[run, :, i] = np.array(widths, float)
    return errors, halves


def figures_of(errors: np.ndarray, halves: np.ndarray, width: float) -> tuple[float, ...]:
    """Returns the part that held, the part that is stated, and the median half-width and the error
    of what is stated."""
    stated = np.isfinite(errors) & np.isfinite(halves)
    held = stated & (np.abs(errors) <= halves * (1 + 1e-9) + 1e-9 * width)
    if not stated.any():
        return np.nan, 0.0, np.nan, np.nan
    error = float(np.sqrt(np.mean(errors[stated] ** 2))) / width
    part = held.sum() / stated.sum()
    return float(part), float(stated.mean()), float(np.median(halves[stated])) / width, error


def main() -> None:
    """Prints a line for each quantile of each cell, or of each cell, and what they add up to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", nargs=2, type=int, default=[0, 40], metavar=("FIRST", "LAST"))
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--each", action="store_true", help="a line for each quantile")
    given = parser.parse_args()
    sums: dict[str, list[np.ndarray]] = defaultdict(list)
    print(f"{'cell':62} held stated ± error | everybody", flush=True)
    for number in range(*given.cells):
        cell = random_quantile_cell(number)
        groups = int(cell.strata)
        errors, halves = ask(cell, number, max(4, given.runs // (4 if groups == 200 else 1)))
        width = cell.of.upper - cell.of.lower
        label = f"{number:6} {cell.shape:28} {cell.rows:6} {groups:3} {cell.kind} {cell.epsilon:3}"
        parts = list(enumerate(OUTPUTS)) if given.each else []
        for at, name in [(slice(None), "all"), *((slice(i, i + 1), n) for i, n in parts)]:
            two = [figures_of(errors[:, g, at], halves[:, g, at], width) for g in (slice(-1), [-1])]
            text = " |".join("{:6.3f} {:5.2f} {:9.2e} {:9.2e}".format(*one) for one in two)
            low = any(
                one[0] < 0.93 and one[1] * errors[:, g, at].size >= 40
                for one, g in zip(two, (slice(-1), [-1]), strict=True)
            )
            print(f"{label} {text} {'HELD' if low else '    '} {name}", flush=True)
            of = [name] if name != "all" else [f"{cell.rows // groups} rows", cell.kind, "all"]
            for key in of:
                sums[key].append(np.array(two))
    for key, rows in sorted(sums.items()):
        table = np.array(rows)
        parts = np.nanmean(table, axis=0)
        stated = table[..., 1]
        held = np.nansum(table[..., 0] * stated, axis=0) / stated.sum(axis=0)
        least = np.nanmin(table[..., 0], axis=0)
        print(
            f"{key:24} {len(rows):3} cells: held {held[0]:.3f} / {held[1]:.3f}, in the worst "
            f"{least[0]:.3f} / {least[1]:.3f}, stated {parts[0, 1]:.2f} / {parts[1, 1]:.2f}"
        )


if __name__ == "__main__":
    main()
