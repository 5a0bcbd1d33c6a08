"""`python tests/bench/coverage.py [--shapes …] [--rows …] [--strata …] [--kinds …] [--using …]`.

How often the 95 % intervals of AVG hold the truth, and how large its errors are, by the shape of
the values, the number of rows and strata, the kind of the budget, and the estimator. A statement is
planned from its SQL and its answers are estimated as in a session. Between the two stands
`ExactTable`: exact answers by numpy in the place of DuckDB's, with the kernel's own noise at the
kernel's own price. It holds generated rows and has no budget: it is for benchmarks alone.

Each line: coverage and root mean square error of the groups (each by its rows), then of everybody,
and whether the answer says that its interval rests on what the histogram shows. `regret.py` makes
the table of how far `auto` is from the best.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from sqlpriv.answer import adaptive_means, means
from sqlpriv.answer.reconcile import two_levels
from sqlpriv.dialect import read
from sqlpriv.kernel.checked import ready
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Budget
from sqlpriv.kernel.terms.contract import (
    Column,
    Interval,
    PrivacyUnit,
    TableContract,
    TableFacts,
    Type,
)
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.plan.planner import plan
from sqlpriv.session.commands.declare import budget_at

Draw = Callable[[np.random.Generator, int], np.ndarray]


@dataclass(frozen=True)
class ValueShape:
    """A distribution of values, and the interval that is declared for it.

    Args:
        draw: Takes a generator and a number of rows; returns values of shape (rows,).
        lower, upper: The declared interval; values are clamped to it.
        whole: Whether the column is an INTEGER.
    """

    draw: Draw
    lower: float
    upper: float
    whole: bool = False


SHAPES: dict[str, ValueShape] = {
    "uniform": ValueShape(lambda r, n: r.uniform(0, 1000, n), 0, 1000),
    "log-normal": ValueShape(lambda r, n: np.exp(r.normal(10, 1, n)), 0, 1e7),
    "Pareto 1.5": ValueShape(lambda r, n: 1000 * (1 + r.pareto(1.5, n)), 0, 1e7),
    "zero-inflated": ValueShape(
        lambda r, n: np.where(r.random(n) < 0.9, 0.0, np.exp(r.normal(7, 1, n))), 0, 1e6
    ),
    "two atoms": ValueShape(lambda r, n: np.where(r.random(n) < 0.3, 10.0, 250.0), 0, 1000),
    "integers 0..5": ValueShape(lambda r, n: r.integers(0, 6, n).astype(float), 0, 5, True),
    "clamped top": ValueShape(lambda r, n: np.exp(r.normal(10, 1, n)), 0, float(np.exp(12.326))),
    "clamped bottom": ValueShape(lambda r, n: r.normal(84, 100, n), 0, 10_000),
    "bimodal": ValueShape(
        lambda r, n: np.where(r.random(n) < 0.5, r.normal(100, 10, n), r.normal(5000, 200, n)),
        0, 100_000,
    ),
    "constant": ValueShape(lambda _, n: np.full(n, 42.0), 0, 1000),
    "heavy negative": ValueShape(lambda r, n: -100 * (1 + r.pareto(2, n)) + 300, -1e6, 1e4),
}  # fmt: skip
"""The last parts: 1 % of the top's values are clamped (e^12.326 is the 99th percentile of the
log-normal ones), and 20 % of the bottom's."""
STRATA = ("1", "18", "200", "Zipf 18")
USING = ("auto", "plain", "quantile", "coinpress", "pooled")


class ExactTable:
    """Rows (stratum, x) that answer measurements with the kernel's noise and no budget."""

    def __init__(self, stratum: np.ndarray, x: np.ndarray, contract: TableContract, k: int) -> None:
        self.stratum, self.x, self.contract, self.k = stratum, x, contract, k
        self._sizes = np.bincount(stratum, minlength=k)
        self._remembered: dict[object, np.ndarray] = {}

    def release(self, measurements: Sequence[Measurement]) -> tuple[Release, ...]:
        """Returns noised answers, as the gate would."""
        releases = []
        for m in measurements:
            query = m.query
            waiting = ready(m, self.contract)
            assert not isinstance(query, a.Level)
            exact = np.asarray(self._exact(query), float).reshape(-1)
            steps = [round(value / float(waiting.step)) for value in exact.tolist()]  # type: ignore[union-attr]  # no Level
            values = waiting.noised(steps).reshape(a.shape(query))
            releases.append(Release(0, query, values, waiting.sigma, m.price))
        return tuple(releases)

    def _exact(self, query: a.Query) -> np.ndarray:
        by_stratum = bool(query.strata)
        if isinstance(query, a.Count):
            if not query.keys:
                return self._sizes if by_stratum else np.array([len(self.x)])
            bin_key = query.keys[-1].expr
            assert isinstance(bin_key, a.Bin)
            bins = self._binned(bin_key)
            width = len(bin_key.edges) + 1
            at = self.stratum * width + bins if by_stratum else bins
            return np.bincount(at, minlength=width * (self.k if by_stratum else 1))
        value = self._value(query.of, by_stratum)
        middle = (query.lower + query.upper) / 2
        clipped = np.clip(value, query.lower, query.upper) - middle
        if not by_stratum:
            return np.array([clipped.sum()])
        return np.bincount(self.stratum, clipped, self.k)

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


def contract_of(shape: ValueShape, k: int) -> TableContract:
    """Returns what is declared of a table of that shape, in k strata."""
    lower, upper = (int(e) if shape.whole else e for e in (shape.lower, shape.upper))
    kind, name = (Type.INTEGER, "BIGINT") if shape.whole else (Type.REAL, "DOUBLE")
    columns = (
        Column("id", Type.INTEGER, "BIGINT"),
        Column("g", Type.INTEGER, "BIGINT", Interval(0, k - 1), required=True),
        Column("x", kind, name, Interval(lower, upper), required=True),
    )
    facts = TableFacts(True, frozenset({"id", "g", "x"}))
    return TableContract("people", columns, PrivacyUnit("people", "id"), facts=facts)


def budget_of(kind: str) -> Budget:
    """Returns the budget that pays for runs under pure epsilon or zCDP."""
    return budget_at("people", 1e3) if kind == "pure" else budget_at("people", 1e3, 1e-9)


@dataclass(frozen=True)
class Runs:
    """What the runs of one statement gave; G groups, of which one without strata.

    Args:
        covered: Which groups' intervals held the truth, of shape (runs, G).
        errors: Of the groups, of shape (runs, G).
        whole_covered, whole_errors: The same of everybody, of shape (runs,).
        sizes: Rows of the groups, of shape (G,).
        doubtful: Whether the answers say what their intervals rest on.
    """

    covered: np.ndarray
    errors: np.ndarray
    whole_covered: np.ndarray
    whole_errors: np.ndarray
    sizes: np.ndarray
    doubtful: bool


def run(
    shape: ValueShape, rows: int, strata: str, kind: str, using: str, runs: int,
    epsilon: float = 1.0, seed: int = 7,
) -> Runs:  # fmt: skip
    """Asks one statement `runs` times over one table and compares with the truth."""
    rng = np.random.default_rng(seed)
    x = np.clip(shape.draw(rng, rows), shape.lower, shape.upper)
    stratum, k = strata_of(strata, rows)
    table = ExactTable(stratum, x, contract_of(shape, k), k)
    plain = "laplace" if kind == "pure" else "gaussian"
    suffix = "" if using == "auto" else f" USING {plain if using == 'plain' else using}"
    sql = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {epsilon}) AVG(x{suffix}) AS x"
    sql += " FROM people" + ("" if k == 1 and using != "pooled" else " STRATIFY BY g")
    (statement,) = read(sql)
    planned = plan(statement, table.contract, budget_of(kind), None)
    recipe = planned.output.recipes[0]
    sizes = np.bincount(stratum, minlength=k)
    truth = np.bincount(stratum, x, k) / np.maximum(sizes, 1)
    errors, covered, whole_errors, whole_covered = [], [], [], []
    doubtful = False
    for _ in range(runs):
        releases = table.release(planned.measurements)
        moments = adaptive_means.ask_rounds(planned.rounds, releases, table.release)
        own = moments.get(recipe) or means.moments(recipe, {r.query: r for r in releases})
        cells, whole = two_levels(recipe, own, None, None)
        values = np.nan_to_num(cells.values.ravel(), nan=recipe.middle)
        halves = np.nan_to_num(cells.half_widths.ravel(), nan=recipe.width)
        errors.append(values - truth)
        covered.append(np.abs(values - truth) <= halves * (1 + 1e-9) + 1e-9)
        whole_errors.append(float(np.ravel(whole.values)[0]) - x.mean())
        whole_covered.append(abs(whole_errors[-1]) <= float(np.ravel(whole.half_widths)[0]) + 1e-9)
        doubtful = doubtful or bool(getattr(own, "unseen", 0))
    return Runs(
        np.array(covered), np.array(errors), np.array(whole_covered), np.array(whole_errors),
        sizes, doubtful,
    )  # fmt: skip


def grid(
    shapes: Iterable[str], rows: Iterable[int], strata: Iterable[str], kinds: Iterable[str],
    using: Iterable[str],
) -> Iterator[tuple[str, int, str, str, str]]:  # fmt: skip
    """Yields the cells of the suite; strata of less than a row on average are left out."""
    for cell in product(shapes, rows, strata, kinds, using):
        if int(cell[2].split()[-1]) <= cell[1]:
            yield cell


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Returns the options that choose parts of the grid."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--shapes", nargs="*", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--rows", nargs="*", type=int, default=[30, 1_000, 100_000])
    parser.add_argument("--strata", nargs="*", default=list(STRATA))
    parser.add_argument("--kinds", nargs="*", default=["pure", "zcdp"])
    parser.add_argument("--using", nargs="*", default=list(USING))
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--epsilon", type=float, default=1.0)
    return parser


def main() -> None:
    """Prints one line for each cell of the suite."""
    given = arguments(__doc__).parse_args()
    print("shape           rows strata  kind using      groups  everybody  rms groups  everybody")
    for cell in grid(given.shapes, given.rows, given.strata, given.kinds, given.using):
        shape, rows, strata, kind, using = cell
        result = run(SHAPES[shape], rows, strata, kind, using, given.runs, given.epsilon)
        weights = result.sizes / result.sizes.sum()
        squares = (result.errors**2).mean(axis=0) @ weights
        low, high = result.covered.mean(), result.whole_covered.mean()
        holds = min(low, high) >= 0.93
        mark = "" if holds else "  says so" if result.doubtful else "  DOES NOT HOLD"
        print(
            f"{shape:14} {rows:6} {strata:>7} {kind:>5} {using:10}"
            f" {low:6.3f} {high:10.3f} {squares**0.5:11.4g}"
            f" {np.sqrt((result.whole_errors**2).mean()):10.4g}{mark}",
            flush=True,
        )


if __name__ == "__main__":
    main()
