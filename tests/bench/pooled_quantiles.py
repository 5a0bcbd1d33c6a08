"""`python tests/bench/pooled_quantiles.py [--tables FIRST LAST | --shapes …] [--runs …]`.

MEDIAN and QUANTILE_CONT by strata with USING pooled: how far they are off, and whether their
intervals hold. `--tables` takes the random tables of `pooled_groups.py`. `--shapes` crosses shapes
of values with 50 to 20,000 rows a stratum in 30 strata (of one size, or of 20 to 20,000 rows),
alike or apart by a normal shift of the values' own spread, epsilon .1 and 1, pure and zCDP.

Exact counts are read once; every run adds noise of the planned deviation, which numpy draws. The
truth is numpy's quantile, as DuckDB interpolates it.

Each line, means over strata with rows: the errors of the strata's own quantiles (everybody's where
there is none) and of everybody's for all; by the lesser of the two, or a twentieth of a level,
those of the pooled ones; the part of the pooled intervals that held, and the median half-width as a
part of the domain. `--shapes` adds up lines by what they have in common. A line is marked HELD
below .93.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.coverage import budget_of
from bench.mean_tables import StratifiedRows

from sqlpriv.answer import quantiles
from sqlpriv.dialect import read
from sqlpriv.kernel.checked import prepare_measurement
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.plan.plan import Plan
from sqlpriv.plan.planner import plan


class AskedTable(NamedTuple):
    """A table and how it is asked for."""

    name: str
    rows: StratifiedRows
    kind: str
    epsilon: float


Draw = Callable[[np.random.Generator, int], np.ndarray]
SHAPES: dict[str, tuple[Draw, float, bool]] = {
    "normal": (lambda r, n: r.normal(300, 40, n), 1000.0, False),
    "log-normal": (lambda r, n: r.lognormal(3, 1, n), 2000.0, False),
    "Pareto": (lambda r, n: 10 * (1 + r.pareto(1.5, n)), 5000.0, False),
    "integers": (lambda r, n: r.poisson(4, n).astype(float), 50.0, True),
    "zeros": (lambda r, n: np.where(r.random(n) < 0.6, 0.0, r.exponential(50, n)), 1000.0, False),
    "bimodal": (lambda r, n: r.normal(np.where(r.random(n) < 0.45, 100, 400), 20), 1000.0, False),
    "three heaps": (
        lambda r, n: r.normal(r.choice([50.0, 300.0, 800.0], n, p=[0.4, 0.35, 0.25]), 15),
        2000.0,
        False,
    ),
    "two ends": (lambda r, n: 600 * r.beta(0.3, 0.4, n), 1000.0, False),
}
"""Draws, the upper end of the domain, and whether values are whole numbers."""
ROWS = ("50", "300", "2000", "20000", "mixed")
STRATA = 30


def shape_tables(names: list[str], rows: list[str]) -> Iterator[tuple[tuple[str, ...], AskedTable]]:
    """Yields what tables are, and the tables."""
    crossed = product(names, rows, ("alike", "apart"), ("pure", "zcdp"), (1.0, 0.1))
    for number, (name, size, how, kind, epsilon) in enumerate(crossed):
        rng = np.random.default_rng([number, 60_619])
        draw, upper, whole = SHAPES[name]
        n = np.geomspace(20, 20_000, STRATA) if size == "mixed" else np.full(STRATA, float(size))
        stratum = np.repeat(np.arange(STRATA), n.astype(int))
        x = draw(rng, len(stratum))
        if how == "apart":
            spread = float(np.quantile(np.abs(x - np.median(x)), 0.7)) + 1
            x = np.abs(x + spread * rng.normal(0, 1, STRATA)[stratum])
        x = np.clip(np.rint(x) if whole else x, 0.0, upper)
        table = StratifiedRows(x, stratum, (STRATA,), 0.0, upper, whole)
        of = (name, f"{size} rows", how, kind, f"epsilon {epsilon}")
        yield of, AskedTable(" ".join(of), table, kind, epsilon)


def random_tables(first: int, end: int) -> Iterator[tuple[tuple[str, ...], AskedTable]]:
    """Yields the random tables of `pooled_groups.py`."""
    from pooled_groups import random_table  # its other modules are found beside a script alone

    for number in range(first, end):
        table = random_table(number)
        yield ("all",), AskedTable(table.name, table.rows, table.kind, table.epsilon)


def plan_of(table: AskedTable, q: float) -> Plan:
    """Returns the plan of one quantile by all strata columns."""
    price = f"WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {table.epsilon})"
    by = ", ".join(table.rows.columns)
    sql = f"SELECT {price} QUANTILE_CONT(x, {q} USING pooled) FROM people STRATIFY BY {by}"
    (statement,) = read(sql)
    return plan(statement, table.rows.contract, budget_of(table.kind), None)


def measure_table(table: AskedTable, q: float, runs: int) -> np.ndarray:
    """Returns the errors of the strata's own quantiles and of everybody's for all, those of the
    pooled ones by the lesser, the part of their intervals that held, and their half-width by the
    domain's width."""
    rows, planned = table.rows, plan_of(table, q)
    recipe = planned.output.recipes[0]
    exact = _exact_counts(rows, np.array(recipe.values, float), recipe.count, planned.measurements)
    sizes = np.bincount(rows.stratum, minlength=rows.strata)
    ends = np.concatenate([[0], sizes.cumsum()])
    x = rows.x[np.argsort(rows.stratum, kind="stable")]
    held = np.flatnonzero(sizes)
    truth = np.array([np.quantile(x[ends[i] : ends[i + 1]], q) for i in held])
    rng, measured = np.random.default_rng(5), []
    for _ in range(runs):
        releases = {m.query: _noised(m, exact[m.query], rows, rng) for m in planned.measurements}
        own, _ = quantiles.cells(recipe, releases)
        (of_all, *_), _ = quantiles.population(recipe, releases, None)
        everybody = float(recipe.middle) if of_all is None else of_all
        (pooled, halves), _ = quantiles.pooled_cells(recipe, releases, None)
        plain = [everybody if value is None else value for value in own]
        guesses = (plain, np.full(rows.strata, everybody), pooled)
        errors = [np.abs(np.array(guess, float)[held] - truth) for guess in guesses]
        half = np.array(halves, float)[held]
        inside = (errors[2] <= half * (1 + 1e-9) + 1e-9 * recipe.width).mean()
        measured.append([*(e.mean() for e in errors), inside, np.median(half) / recipe.width])
    plain_error, for_all, error, part, width = np.mean(measured, axis=0)
    step = recipe.width / len(recipe.values)
    least = max(min(plain_error, for_all), step / 20)  # many runs hit whole numbers exactly
    return np.array([plain_error, for_all, error / least, part, width])


def _exact_counts(
    rows: StratifiedRows, levels: np.ndarray, of: a.Query, asked: tuple[Measurement, ...]
) -> dict[a.Query, np.ndarray]:
    assert isinstance(of, a.Count)
    k = len(levels)
    if tuple(of.keys[-1].values) == tuple(levels):
        at = np.searchsorted(levels, rows.x)
    else:
        at = np.floor((rows.x - rows.lower) / (levels[1] - levels[0])).astype(int)
    flat = rows.stratum * k + np.clip(at, 0, k - 1)
    table = np.bincount(flat, minlength=rows.strata * k).reshape(a.shape(of))
    return {
        m.query: table if m.query == of else table.sum(axis=-1).reshape(a.shape(m.query))
        for m in asked
    }


def _noised(
    m: Measurement, exact: np.ndarray, rows: StratifiedRows, rng: np.random.Generator
) -> Release:
    sigma = prepare_measurement(m, Scope(m.query.source, rows.contract)).sigma
    if isinstance(m.price, Rho):
        noise = np.rint(rng.normal(0, sigma, exact.shape))
    else:
        stop = -np.expm1(-2 * np.arcsinh(np.sqrt(0.5) / sigma))
        noise = 0.0 + rng.geometric(stop, exact.shape) - rng.geometric(stop, exact.shape)
    return Release(0, m.query, exact + noise, sigma, m.price)


def _summary(name: str, lines: list[np.ndarray]) -> str:
    table = np.array(lines)
    ratio, part = table[:, 2], table[:, 3]
    return (
        f"{name:14} {len(lines):4}: error {ratio.mean():.3f} (geometric"
        f" {np.exp(np.log(np.maximum(ratio, 1e-3)).mean()):.3f}), worst {ratio.max():.2f}, above"
        f" 1.05 {(ratio > 1.05).mean():.2f}; held {part.mean():.3f}, least {part.min():.2f},"
        f" below .93 {(part < 0.93).mean():.2f}"
    )


def main() -> None:
    """Prints a line for each quantile of each table, then what they say together."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs=2, type=int, default=[0, 40], metavar=("FIRST", "LAST"))
    parser.add_argument("--shapes", nargs="*", default=[], choices=list(SHAPES))
    parser.add_argument("--rows", nargs="*", default=list(ROWS), choices=ROWS)
    parser.add_argument("--quantiles", nargs="*", type=float, default=[0.5, 0.9])
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    sums: dict[str, list[np.ndarray]] = defaultdict(list)
    by_shape = shape_tables(given.shapes, given.rows)
    for of, table in by_shape if given.shapes else random_tables(*given.tables):
        for q in given.quantiles:
            line = measure_table(table, q, given.runs)
            for key in dict.fromkeys([*of, f"quantile {q}", "all"]):
                sums[key].append(line)
            shown = "{:10.4g} {:10.4g} {:7.2f} {:6.3f} {:9.2e}".format(*line)
            print(f"{q:4} {shown} {'HELD' if line[3] < 0.93 else '    '} {table.name}", flush=True)
    for key, lines in sums.items():
        print(_summary(key, lines))


if __name__ == "__main__":
    main()
