"""`python tests/bench/other_aggregates.py [--seeds FIRST LAST] [--statements …] [--runs …]
[--draws …] [--all]`.

How often the 95 % intervals of figures hold the truth, on cells that a seed draws: one of the
eleven shapes of `value_shapes.py`, 30, 1,000 or 100,000 rows, 1, 18 or 200 strata with sizes by
Zipf's law, pure epsilon or zCDP, at 1 or .1. MIN and MAX are compared with the 1 % and the 99 %
quantile, which they are. Seeds from 20,000 on are the cells of
`random_shapes.py` of that number. The counterpart of `coverage.py`, which is of AVG alone. No rule
was chosen by a seed: take seeds that were not used before.

A statement is planned from its SQL and its answers are estimated as in a session. Between the two
stands `ExactGate`: each query's exact integers are read once, by the kernel's own SQL, and every
run adds the kernel's own noise at the kernel's own price. It holds generated rows and has no
budget: it is for benchmarks alone. The truth is plain DuckDB's.

Each line, groups / everybody: the part of the stated intervals that held; the part of all answers
whose interval failed in silence, which is to say that a ± is stated, does not hold, and no note
says so; the median over groups of the median half-width by the error that 95 % of runs stay below
(1 is exact, more is too long); the part that is NULL or has no ±; and the part of answers with a
note on intervals. `SILENT` marks more than .07 of silent failures, `LONG` half-widths of more than
twice that error. Without `--all` only marked lines are printed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import figures
import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.coverage import budget_of, strata_of
from bench.value_shapes import SHAPES, ValueShape
from figures import A, B
from fresh_columns import FIRST_FRESH
from random_shapes import fresh_cell
from support.exact_people import select
from support.vaults import decoded

from sqlpriv.answer import rows
from sqlpriv.answer.aggregate_columns import cell_figures
from sqlpriv.answer.interval_notes import interval_notes, is_stated_by_rows
from sqlpriv.answer.outputs.cell_engine import POSITION
from sqlpriv.errors import Refused
from sqlpriv.kernel.checked import PreparedMeasurement, parts_of, prepare_measurement
from sqlpriv.kernel.sql.queries import MACROS, render
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import (
    Column,
    Interval,
    PrivacyUnit,
    TableContract,
    TableFacts,
    Type,
)
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.plan.output_half_widths import has_half_width
from sqlpriv.plan.plan import Plan
from sqlpriv.plan.planner import plan
from sqlpriv.session.queries.programs.gate_requests import release_measurements

STATEMENTS: dict[str, tuple[str, ...]] = {
    **{name: outputs for name, outputs in figures.STATEMENTS.items() if "pooled" not in name},
    "of NULLs": ("COUNT(z)", "SUM(z)", "STDDEV_POP(z)"),
    "mean": ("AVG(x)",),
    "extremes": ("MIN(x)", "MAX(x)", "MAX(digit)"),
    "quarters": ("QUANTILE_CONT(x, 0.25)", "QUANTILE_DISC(x, 0.75)"),
    "count difference": (f"COUNT(*) {A} - COUNT(*) {B}", f"SUM(x) {A} - SUM(x) {B}"),
    "share of a sum": (f"SUM(x) {A} / SUM(x)",),
    "pairs": ("CORR(y, x)", "COVAR_POP(y, x)"),
    "regression": ("REGR_SLOPE(y, x)", "REGR_INTERCEPT(y, x)"),
    "bends": ("SQRT(COUNT(*))", "POW(COUNT(*), 2)", "LN(COUNT(*))"),
}
"""By name: the outputs of one statement."""
EXTREMES = {
    "MIN(x)": "quantile_disc(x, 0.01)",
    "MAX(x)": "quantile_disc(x, 0.99)",
    "MAX(digit)": "quantile_disc(digit, 0.99)",
}
"""What MIN and MAX tell, as a note below each of their answers says."""
NOTES = ("± does not hold", "noise hides")
"""How notes begin that say that intervals may not hold."""


@dataclass(frozen=True)
class SeededCell:
    """What a seed draws: a column, its rows and strata, and the kind and size of the price."""

    shape: str
    rows: int
    strata: str
    kind: str
    epsilon: float
    of: ValueShape


def seeded_cell(seed: int) -> SeededCell:
    """Returns the cell of a seed, always the same one."""
    if seed >= FIRST_FRESH:
        fresh = fresh_cell(seed)
        of = ValueShape(fresh.draw, fresh.lower, fresh.upper, fresh.whole)
        return SeededCell(fresh.name, fresh.rows, fresh.strata, fresh.kind, fresh.epsilon, of)
    rng = np.random.default_rng([seed, 80_021])
    rows = int(rng.choice([30, 1_000, 100_000]))
    strata = str(rng.choice(["1", "18", "Zipf 200"]))
    strata = "1" if int(strata.split()[-1]) * 2 > rows else strata
    shape, kind = str(rng.choice(list(SHAPES))), str(rng.choice(["pure", "zcdp"]))
    epsilon = float(rng.choice([1.0, 1.0, 0.1]))
    return SeededCell(shape, rows, strata, kind, epsilon, SHAPES[shape])


def contract_of(cell: SeededCell, strata: int) -> TableContract:
    """Returns what is declared of the generated people."""
    of = cell.of
    kind, name = (Type.INTEGER, "BIGINT") if of.whole else (Type.REAL, "DOUBLE")
    ends = (int(of.lower), int(of.upper)) if of.whole else (float(of.lower), float(of.upper))
    whole = {"g0": strata - 1, "side": 2, "digit": 999}
    columns = (
        Column("id", Type.INTEGER, "BIGINT"),
        *(
            Column(n, Type.INTEGER, "BIGINT", Interval(0, m), required=True)
            for n, m in whole.items()
        ),
        Column("hit", Type.BOOLEAN, "BOOLEAN", required=True),
        Column("x", kind, name, Interval(*ends), required=True),
        Column("y", Type.REAL, "DOUBLE", Interval(float(of.lower), float(of.upper)), required=True),
        Column("z", kind, name, Interval(*ends, nullable=True)),
    )
    facts = TableFacts(True, frozenset({"id", *whole, "hit", "x", "y"}))
    return TableContract("people", columns, PrivacyUnit("people", "id"), facts=facts)


class ExactGate:
    """Generated people of a cell; answers measurements with the kernel's noise and no budget."""

    def __init__(self, cell: SeededCell, seed: int) -> None:
        rng, of, people_count = np.random.default_rng(seed), cell.of, cell.rows
        stratum, self.strata = strata_of(cell.strata, people_count)
        x, other = (np.clip(of.draw(rng, people_count), of.lower, of.upper) for _ in range(2))
        people = pa.table(
            {
                "id": np.arange(people_count),
                "g0": stratum,
                "side": rng.choice((1, 2), people_count, p=(0.7, 0.3)),
                "digit": np.minimum(rng.geometric(0.02, people_count), 999),
                "hit": rng.random(people_count) < 0.2,
                "x": np.rint(x).astype(np.int64) if of.whole else x,
                "y": 0.7 * x + 0.3 * other,
                "present": rng.random(people_count) < 0.8,
            }
        )
        self.contract = contract_of(cell, self.strata)
        self.engine = duckdb.connect(config={"threads": 1})
        self.engine.register("drawn", people)
        nullable = "CASE WHEN present THEN x END AS z"
        self.engine.execute(
            f"CREATE TABLE people AS SELECT * EXCLUDE present, {nullable} FROM drawn"
        )
        self.engine.execute(MACROS)
        self._exact: dict[a.Query, list[int]] = {}
        self._prepared: dict[Measurement, PreparedMeasurement] = {}

    def release(self, measurements: Sequence[Measurement]) -> tuple[Release, ...]:
        """Returns noised answers, as the gate would."""
        releases = []
        for m in measurements:
            if m not in self._prepared:
                scope = Scope(m.query.source, self.contract)
                self._prepared[m] = prepare_measurement(m, scope)
            waiting = self._prepared[m]
            values = waiting.answer(*map(self._read, parts_of(m.query))).reshape(a.shape(m.query))
            releases.append(Release(0, m.query, values, waiting.sigma, m.price))
        return tuple(releases)

    def _read(self, query: a.Query) -> list[int]:
        """Returns the exact integers of a query, in steps of its lattice."""
        if query not in self._exact:
            (steps,) = decoded(self.engine, render([query], self.contract, 0))
            self._exact[query] = [int(step) for step in steps.ravel().tolist()]
        return self._exact[query]

    def truth(self, outputs: Sequence[str]) -> np.ndarray:
        """Returns the exact figures, of shape (strata + 1, outputs); everybody's come last. NaN
        where a stratum has no rows, or a figure is not defined."""
        listed = ", ".join(f"({EXTREMES.get(one, one)})::DOUBLE" for one in outputs)
        of_groups = self.engine.execute(
            f"SELECT g0, {listed} FROM people GROUP BY ROLLUP (g0)"
        ).fetchall()
        figures = np.full((self.strata + 1, len(outputs)), np.nan)
        counts = [i for i, one in enumerate(outputs) if one.startswith("COUNT") and "/" not in one]
        figures[:, counts] = 0.0
        for g, *row in of_groups:
            figures[-1 if g is None else g] = np.array(row, float)
        return figures


@dataclass(frozen=True)
class Asked:
    """What the runs of one statement gave, over several tables.

    Args:
        errors, halves: Of shape (runs, strata + 1, outputs); NaN where there is none, or no truth.
        noted: Which answers have a note that an output's intervals may not hold, of shape (runs,
            outputs).
    """

    errors: np.ndarray
    halves: np.ndarray
    noted: np.ndarray


def ask(
    cell: SeededCell, gates: Sequence[ExactGate], outputs: Sequence[str], runs: int, by: str
) -> Asked:
    """Asks one statement `runs` times, spread over the tables."""
    per_table = [estimate(plan_of(cell, g, outputs, by), g, runs // len(gates)) for g in gates]
    tables = zip(per_table, gates, strict=True)
    errors = [one.errors - gate.truth(outputs)[-one.errors.shape[1] :] for one, gate in tables]
    halves, noted = [one.halves for one in per_table], [one.noted for one in per_table]
    return Asked(*(np.concatenate(part) for part in (errors, halves, noted)))


def plan_of(cell: SeededCell, gate: ExactGate, outputs: Sequence[str], by: str) -> Plan:
    """Returns the plan of a statement, by strata where there are several."""
    listed = ", ".join(f"{one} AS v{i}" for i, one in enumerate(outputs))
    levels = [one for one in outputs if one.startswith(("MEDIAN", "QUANTILE"))]
    if levels:  # a histogram is counted where a ± is wanted
        listed += f", ERROR({levels[0]}) AS e"
    price = f"WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {cell.epsilon})"
    clause = by if gate.strata > 1 else ""
    sql = f"SELECT {price} {listed} FROM people {clause}"
    return plan(select(sql), gate.contract, budget_of(cell.kind), None)


def estimate(planned: Plan, gate: ExactGate, runs: int) -> Asked:
    """Returns the figures of so many answers in the place of their errors.

    The outputs of all answers are evaluated in one go, which is what most of the time goes to."""
    output, layouts, noted = planned.output, [], []
    for run in range(runs):
        releases, adapted = release_measurements(planned, gate.release)
        of_run = cell_figures(output, releases, adapted)
        cells = rows._layout(output, of_run, None)
        at = cells.column(POSITION).to_numpy() + run * cells.num_rows
        layouts.append(cells.set_column(cells.num_columns - 1, POSITION, pa.array(at)))
        noted.append(any(n.startswith(NOTES) for n in interval_notes(output, of_run.moments)))
    numbers = [i for i, item in enumerate(output.items) if output.names[i].startswith("v")]
    halves = [i for i in numbers if has_half_width(output.items[i])]
    table, halves, _ = rows._evaluate_with_halves(pa.concat_tables(layouts), output, halves)
    nothing = np.full(table.num_rows, np.nan)
    widths = {i: np.array(table.column(f"h{i}").to_pylist(), float) for i in halves}
    values = [np.array(table.column(i).to_pylist(), float) for i in numbers]
    columns = (values, [widths.get(i, nothing) for i in numbers])
    figures_of_runs, widths_of_runs = (np.stack(c, -1).reshape(runs, -1, len(c)) for c in columns)
    stated = np.isfinite(widths_of_runs).mean(axis=1)
    chosen = [not is_stated_by_rows(output, number) for number in numbers]
    is_few = (stated > 0) & (stated < 1 / 3) & chosen  # as `few_stated_notes` says
    return Asked(figures_of_runs, widths_of_runs, np.array(noted)[:, None] | is_few)


def measure(errors: np.ndarray, halves: np.ndarray, noted: np.ndarray) -> tuple[str, bool]:
    """Returns what a line says of errors and half-widths, of shape (runs, strata + 1), and whether
    it has a mark."""
    apart = np.abs(errors)
    stated = np.isfinite(apart) & np.isfinite(halves)
    held = stated & (apart <= halves * (1 + 1e-9) + 1e-9)
    silent = stated & ~held & ~noted[:, None]
    groups = slice(0, max(errors.shape[1] - 1, 1))
    texts, marks = [], set()
    for part in (groups, slice(-1, None)):
        of_stated = held[:, part].sum() / max(stated[:, part].sum(), 1)
        failed = silent[:, part].mean()
        with np.errstate(all="ignore"):
            lengths = [
                np.median(halves[one, g]) / np.quantile(apart[one, g], 0.95)
                for g in range(errors.shape[1])[part]
                if (one := stated[:, g]).sum() >= 40
            ]
            longer = float(np.median(lengths)) if lengths else np.nan
        if failed > 0.07:
            marks.add("SILENT")
        if longer > 2:
            marks.add("LONG")
        blank = 1 - stated[:, part].mean()
        texts.append(f"{of_stated:6.3f} {failed:6.3f} {longer:6.2f} {blank:5.2f}")
    return f"{' |'.join(texts)} | {noted.mean():5.2f} {' '.join(sorted(marks)):11}", bool(marks)


def main() -> None:
    """Prints a line for each output of each cell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", nargs=2, type=int, default=[0, 20], metavar=("FIRST", "LAST"))
    parser.add_argument("--statements", nargs="*", default=list(STATEMENTS), choices=STATEMENTS)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--draws", type=int, default=4, help="tables of a cell, for the runs")
    parser.add_argument("--rollup", action="store_true", help="GROUP BY ROLLUP for STRATIFY BY")
    parser.add_argument("--all", action="store_true", help="print lines without a mark, too")
    parser.add_argument("--strata", nargs="*", default=["1", "18", "Zipf 18", "Zipf 200"])
    given = parser.parse_args()
    by = "GROUP BY ROLLUP (g0)" if given.rollup else "STRATIFY BY g0"
    print(f"{HEADING:71} groups: held silent long blank | everybody | noted")
    for seed in range(*given.seeds):
        cell = seeded_cell(seed)
        if cell.strata not in given.strata:
            continue
        label = f"{seed:6} {cell.shape:32.32} {cell.rows:6} {cell.strata:>8}"
        label += f" {cell.kind} {cell.epsilon:3}"
        gates = [ExactGate(cell, 1_000 + number) for number in range(given.draws)]
        for name in given.statements:
            outputs = STATEMENTS[name]
            try:
                asked = ask(cell, gates, outputs, given.runs, by)
            except Refused as refusal:
                print(label, name, refusal, flush=True)
                continue
            for i, output in enumerate(outputs):
                line, is_marked = measure(
                    asked.errors[..., i], asked.halves[..., i], asked.noted[:, i]
                )
                if is_marked or given.all:
                    print(f"{label} {line} {output}", flush=True)


HEADING = "  seed shape                              rows   strata kind epsilon"

if __name__ == "__main__":
    main()
