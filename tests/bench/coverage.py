"""`python tests/bench/coverage.py [--set … | --shapes …] [--rows …] [--strata …] [--apart …]
[--kinds …] [--using …] [--runs …] [--draws …] [--picture FILE]`.

How often the 95 % intervals of AVG hold the truth, and how large its errors are, by the shape of
the values, the number of rows and strata, the kind of the budget, and the estimator. A statement is
planned from its SQL and its answers are estimated as in a session. Between the two stands
`ExactTable`: exact answers by numpy in the place of DuckDB's, with the kernel's own noise at the
kernel's own price. It holds generated rows and has no budget: it is for benchmarks alone.

Each line: the part of the groups' intervals (each by its rows) and of everybody's that held, of
everybody's where the answer has no note, and the part of answers with one; root mean square errors
of groups and everybody, and the median half-width. `--draws` spreads the runs over so many tables.
`--apart` lets the strata differ: a row's stratum depends on its value then. `--picture` draws the
parts. `regret.py` makes the table of how far `auto` is from the best.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import mean_tables
from bench.heat_map import Square, draw
from bench.mean_tables import StratifiedRows
from bench.value_shapes import SETS, ValueShape

from sqlpriv.answer.interval_notes import most_unseen
from sqlpriv.answer.moments import read_moments
from sqlpriv.answer.reconcile import two_levels
from sqlpriv.answer.rounds import adaptive_means
from sqlpriv.dialect import read
from sqlpriv.kernel.checked import parts_of, prepare_measurement
from sqlpriv.kernel.proof.sensitivity import lattice_of
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Budget
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.plan.plan import Plan
from sqlpriv.plan.planner import plan
from sqlpriv.session.declarations.budgets import budget_at

STRATA = ("1", "18", "200", "Zipf 18")
HEADING = "shape                rows strata"
ALL_SHAPES = {name: shape for shapes in SETS.values() for name, shape in shapes.items()}
USING = ("auto", "plain", "quantile", "coinpress", "pooled")


class ExactTable:
    """Rows (stratum, x) that answer measurements with the kernel's noise and no budget."""

    def __init__(self, rows: StratifiedRows) -> None:
        self.stratum, self.x, self.k = rows.stratum, rows.x, rows.strata
        self.contract = rows.contract
        self._sizes = np.bincount(self.stratum, minlength=self.k)
        self._remembered: dict[object, np.ndarray] = {}

    def release(self, measurements: Sequence[Measurement]) -> tuple[Release, ...]:
        """Returns noised answers, as the gate would."""
        releases = []
        for m in measurements:
            query = m.query
            waiting = prepare_measurement(m, Scope(query.source, self.contract))
            assert not isinstance(query, a.Level)
            parts = [self._steps(part) for part in parts_of(query)]
            values = waiting.answer(*parts).reshape(a.shape(query))
            releases.append(Release(0, query, values, waiting.sigma, m.price))
        return tuple(releases)

    def _steps(self, query: a.Query) -> list[int]:
        """Returns what the kernel reads: integers, in steps of the query's lattice."""
        scope = Scope(query.source, self.contract)
        step = float(lattice_of(query, None if query.of is None else scope.type(query.of)).step)
        exact = np.asarray(self._exact(query), float).reshape(-1)
        return [int(steps) for steps in np.rint(exact / step).tolist()]

    def _exact(self, query: a.Query) -> np.ndarray:
        by_stratum = bool(query.strata)
        if isinstance(query, a.Count):
            if not query.keys:
                return self._sizes if by_stratum else np.array([len(self.x)])
            return self._by_bin(query, None)
        value = self._value(query.of, by_stratum)
        middle = (query.lower + query.upper) / 2
        clipped = np.clip(value, query.lower, query.upper) - middle
        if query.keys:
            return self._by_bin(query, clipped)
        if not by_stratum:
            return np.array([clipped.sum()])
        return np.bincount(self.stratum, clipped, self.k)

    def _by_bin(self, query: a.Query, values: np.ndarray | None) -> np.ndarray:
        """Returns counts, or sums of values, in each bin of each stratum."""
        bin_key = query.keys[-1].expr
        assert isinstance(bin_key, a.Bin)
        bins, width = self._binned(bin_key), len(bin_key.edges) + 1
        at = self.stratum * width + bins if query.strata else bins
        return np.bincount(at, values, width * (self.k if query.strata else 1))

    def _binned(self, expr: a.Bin) -> np.ndarray:
        if expr.edges not in self._remembered:
            self._remembered[expr.edges] = np.searchsorted(
                np.array(expr.edges, float), self.x, side="right"
            )
        return self._remembered[expr.edges]

    def _value(self, expr: a.Expr, by_stratum: bool) -> np.ndarray:
        match expr:
            case a.Col():
                return self.x
            case a.Lit(value):
                return np.float64(value)  # type: ignore[arg-type]  # a number here
            case a.Bin():
                return self._binned(expr)
            case a.Pick(_, numbers):
                table = np.array(numbers)
                return table[self.stratum] if by_stratum else table[0]
            case a.Call("real", (arg,)):
                return self._value(arg, by_stratum)
            case a.Call("-" | "*" as op, (left, right)):
                first, second = self._value(left, by_stratum), self._value(right, by_stratum)
                return first - second if op == "-" else first * second
        raise AssertionError(f"the exact table cannot evaluate {expr}")


def strata_of(name: str, rows: int) -> tuple[np.ndarray, int]:
    """Returns each row's stratum, ascending, and how many strata there are.

    >>> strata_of("Zipf 18", 1000)[1]
    18
    """
    k = int(name.split()[-1])
    weights = 1 / np.arange(1, k + 1) if name.startswith("Zipf") else np.ones(k)
    ends = np.rint(rows * weights.cumsum() / weights.sum()).astype(int)
    return np.searchsorted(ends, np.arange(rows), side="right"), k


def budget_of(kind: str) -> Budget:
    """Returns the budget that pays for runs under pure epsilon or zCDP."""
    return budget_at("people", 1e3) if kind == "pure" else budget_at("people", 1e3, 1e-9)


@dataclass(frozen=True)
class Runs:
    """What the runs of one statement gave; G groups, of which one without strata.

    Args:
        covered: Which groups' intervals held the truth, of shape (runs, G).
        errors: Of the groups, of shape (runs, G).
        whole_covered, whole_errors, whole_halves: The same of everybody, and the half-widths, of
            shape (runs,).
        sizes: Rows of the groups, of shape (G,).
        doubtful: Which answers say that their intervals may not hold, of shape (runs,).
    """

    covered: np.ndarray
    errors: np.ndarray
    whole_covered: np.ndarray
    whole_errors: np.ndarray
    whole_halves: np.ndarray
    sizes: np.ndarray
    doubtful: np.ndarray


def rows_of(
    shape: ValueShape, rows: int, strata: str, seed: int = 7, apart: float = 0.0
) -> StratifiedRows:
    """Returns rows of one shape.

    Args:
        shape, rows, strata: What they are of.
        seed: Of the values and of which strata are high.
        apart: How far rows are sorted by value before strata are cut off them: a row's rank, as a
            part of all, counts so many times a uniform number. At 0 all strata are alike.
    """
    rng = np.random.default_rng(seed)
    x = np.clip(shape.draw(rng, rows), shape.lower, shape.upper)
    stratum, k = strata_of(strata, rows)
    if apart:
        rank = np.argsort(np.argsort(x, kind="stable")) / rows
        x = x[np.argsort(apart * rank + rng.random(rows))]
        sizes, order = np.bincount(stratum, minlength=k), rng.permutation(k)
        stratum = np.repeat(order, sizes[order])
    return StratifiedRows(x, stratum, (k,), shape.lower, shape.upper, shape.whole)


def plan_of(
    rows: StratifiedRows, kind: str, using: str, epsilon: float = 1.0, options: str = ""
) -> Plan:
    """Returns the plan of AVG(x) by an estimator, by strata where there are several."""
    plain = "laplace" if kind == "pure" else "gaussian"
    suffix = "" if using == "auto" else f" USING {plain if using == 'plain' else using}"
    sql = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {epsilon}{options})"
    sql += f" AVG(x{suffix}) AS x FROM people"
    one = rows.strata == 1 and using != "pooled"
    (statement,) = read(sql + ("" if one else f" STRATIFY BY {', '.join(rows.columns)}"))
    return plan(statement, rows.contract, budget_of(kind), None)


def run(
    rows: StratifiedRows, kind: str, using: str, runs: int, epsilon: float = 1.0, options: str = ""
) -> Runs:
    """Asks one statement `runs` times over one table and compares with the truth."""
    table, k = ExactTable(rows), rows.strata
    planned = plan_of(rows, kind, using, epsilon, options)
    recipe = planned.output.recipes[0]
    sizes = np.bincount(rows.stratum, minlength=k)
    truth = np.bincount(rows.stratum, rows.x, k) / np.maximum(sizes, 1)
    errors, covered, whole_errors, whole_halves, doubtful = [], [], [], [], []
    own_recipe = planned.output.own[0] if planned.output.own else None
    for _ in range(runs):
        releases = table.release(planned.measurements)
        moments = adaptive_means.ask_rounds(planned.rounds, releases, table.release)
        by_query = {r.query: r for r in releases}
        of_strata = moments.get(recipe) or read_moments(recipe, by_query)
        own = None
        if own_recipe is not None:
            own = (own_recipe, moments.get(own_recipe) or read_moments(own_recipe, by_query))
        cells, whole = two_levels(recipe, of_strata, None, own)
        values = np.nan_to_num(cells.values.ravel(), nan=recipe.middle)
        halves = np.nan_to_num(cells.half_widths.ravel(), nan=recipe.width)
        errors.append(values - truth)
        covered.append(np.abs(values - truth) <= halves * (1 + 1e-9) + 1e-9)
        of_all = np.nan_to_num(np.ravel(whole.values)[0], nan=recipe.middle)
        whole_errors.append(float(of_all) - rows.x.mean())
        whole_halves.append(float(np.nan_to_num(np.ravel(whole.half_widths)[0], nan=recipe.width)))
        doubtful.append(most_unseen(recipe, of_strata) > 0)
    held = sizes > 0
    misses, halves = np.array(whole_errors), np.array(whole_halves)
    return Runs(
        np.array(covered)[:, held],
        np.array(errors)[:, held],
        np.abs(misses) <= halves + 1e-9,
        misses,
        halves,
        sizes[held],
        np.array(doubtful),
    )


def join_runs(of_tables: Sequence[Runs]) -> Runs:
    """Returns the runs over several tables whose strata have the same sizes."""
    names = [field.name for field in fields(Runs) if field.name != "sizes"]
    joined = {name: np.concatenate([getattr(r, name) for r in of_tables]) for name in names}
    return Runs(**joined, sizes=of_tables[0].sizes)


def chosen_rows(
    given: argparse.Namespace, seed: int = 7
) -> Iterator[tuple[str, StratifiedRows, str]]:
    """Yields name, rows and kind of budget of what the options choose.

    Files if `--tables` names any, else the suite; strata of less than a row are left out.
    """
    for name, kind in product(given.tables or (), given.kinds):
        yield f"{name:33}", mean_tables.load(name), kind
    names = given.shapes or list(SETS[given.set])
    suite = () if given.tables else product(names, given.rows, given.strata, given.kinds)
    for shape, rows, strata, kind in suite:
        if int(strata.split()[-1]) <= rows:
            drawn = rows_of(ALL_SHAPES[shape], rows, strata, seed, given.apart)
            yield f"{shape:18} {rows:6} {strata:>8}", drawn, kind


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Returns the options that choose parts of the grid."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--set", default="suite", choices=list(SETS), help="of shapes")
    parser.add_argument("--shapes", nargs="*", choices=list(ALL_SHAPES), help="in its place")
    parser.add_argument("--tables", nargs="*", choices=mean_tables.NAMES)
    parser.add_argument("--rows", nargs="*", type=int, default=[30, 1_000, 100_000])
    parser.add_argument("--strata", nargs="*", default=list(STRATA))
    parser.add_argument("--apart", type=float, default=0.0)
    parser.add_argument("--kinds", nargs="*", default=["pure", "zcdp"])
    parser.add_argument("--using", nargs="*", default=list(USING))
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--draws", type=int, default=1, help="tables of a shape, for the runs")
    parser.add_argument("--epsilon", type=float, default=1.0)
    return parser


def main() -> None:
    """Prints one line for each cell of the suite."""
    parser = arguments(__doc__)
    parser.add_argument("--picture", type=Path, help="an SVG file")
    given = parser.parse_args()
    cells: list[Square] = []
    print(
        f"{HEADING}  kind using      groups  everybody  no note  noted  rms groups  everybody"
        "  median ±"
    )
    tables = zip(*(chosen_rows(given, 7 + seed) for seed in range(given.draws)), strict=True)
    for drawn, using in product(tables, given.using):
        name, _, kind = drawn[0]
        runs = -(-given.runs // given.draws)
        result = join_runs([run(rows, kind, using, runs, given.epsilon) for _, rows, _ in drawn])
        weights = result.sizes / result.sizes.sum()
        squares = (result.errors**2).mean(axis=0) @ weights
        low, high = result.covered.mean(), result.whole_covered.mean()
        silent = ~result.doubtful
        without_note = result.whole_covered[silent].mean() if silent.any() else np.nan
        holds = min(low, high) >= 0.93
        mark = "" if holds else "  says so" if result.doubtful.any() else "  DOES NOT HOLD"
        print(
            f"{name} {kind:>5} {using:10}"
            f" {low:6.3f} {high:10.3f} {without_note:8.3f} {result.doubtful.mean():6.2f}"
            f" {squares**0.5:11.4g} {np.sqrt((result.whole_errors**2).mean()):10.4g}"
            f" {np.median(result.whole_halves):9.4g}{mark}",
            flush=True,
        )
        row, column = name[:18].strip(), ", ".join([*name[18:].split(), kind, using])
        noted = "*" if result.doubtful.mean() > 0.05 else ""
        cells.append(Square("groups", row, column, float(low), noted))
        cells.append(Square("everybody", row, column, float(high), noted))
    if given.picture:
        title = "Part of 95 % intervals that held; * more than 5 % of answers have a note"
        colours = ["#b2182b", "#fddbc7", "#d1e5f0", "#4393c3"]
        draw(cells, title, ([0.5, 0.93, 0.931, 1.0], colours), given.picture)


if __name__ == "__main__":
    main()
