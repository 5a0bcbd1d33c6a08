"""`python tests/bench/random_shapes.py [--cells FIRST LAST] [--runs …] [--draws …] [--using …]
[--picture FOLDER]`.

Regret and coverage of AVG(x) on columns that nobody chose: each cell is drawn by its number. Eleven
families of distributions, a third of them mixed with another one or with zeros, some negated, some
rounded; domains that cut the values or are up to a million times as wide; 30 to 100,000 rows in 1
to 100 strata, whose values differ by a factor in half of the cells; pure epsilon and zCDP, at .1
and 1. No estimator was tuned on them one by one; cells 0 to 299 were looked at. Cells from 5,000 on
are of other families (even numbers) and of real files (odd numbers): `unseen_columns.py`. Those
from 20,000 on are columns as strangers have them: `fresh_columns.py`.

Each line: mean absolute errors of `auto` by the least of the single estimators, for groups weighted
by rows and for everybody; the part of `auto`'s intervals that held, of groups, of everybody, and of
everybody's without a note; the part of answers with one. The last lines: means, and the worst.
`--picture` draws them by rows and strata.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.heat_map import Square, draw
from bench.mean_tables import StratifiedRows
from coverage import join_runs, strata_of
from fresh_columns import FAMILIES as FRESH_FAMILIES
from fresh_columns import FIRST_FRESH, draw_fresh, reach_interval
from fresh_columns import ROWS as FRESH_ROWS
from fresh_columns import STRATA as FRESH_STRATA
from regret import errors, runs_of_estimators
from unseen_columns import FIRST, FileCell, draw_family, file_cell, interval_for

Draw = Callable[[np.random.Generator, int], np.ndarray]
ROWS = (30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
FAMILIES = (
    *("normal", "lognormal", "expon", "gamma", "pareto", "t", "beta"),
    *("uniform", "weibull", "poisson", "loglogistic"),
)


@dataclass(frozen=True)
class Cell:
    """A column and how it is asked for; `draw` gives its values before they are clamped."""

    name: str
    draw: Draw
    lower: float
    upper: float
    whole: bool
    rows: int
    strata: str
    differs: bool
    kind: str
    epsilon: float

    def table(self, number: int) -> StratifiedRows:
        """Returns the rows of one of its tables."""
        rng = np.random.default_rng(1_000 + number)
        x = self.draw(rng, self.rows)
        stratum, k = strata_of(self.strata, self.rows)
        if self.differs:
            x = x * np.exp(rng.normal(0, 0.5, k))[stratum]
        x = np.clip(np.rint(x) if self.whole else x, self.lower, self.upper)
        return StratifiedRows(x, stratum, (k,), self.lower, self.upper, self.whole)


def random_power(rng: np.random.Generator, low: float, high: float) -> float:
    return float(10 ** rng.uniform(low, high))


def random_family(rng: np.random.Generator) -> tuple[str, Draw]:
    """Returns a distribution of a random family, and its name."""
    kind = str(rng.choice(FAMILIES))
    match kind:
        case "normal":
            middle = random_power(rng, 0, 4)
            spread = middle * random_power(rng, -1.5, 0.3)
            return f"N({middle:.3g}, {spread:.3g})", lambda r, n: r.normal(middle, spread, n)
        case "lognormal":
            middle, spread = rng.uniform(2, 10), rng.uniform(0.2, 2.2)
            return f"LN({middle:.1f}, {spread:.2f})", lambda r, n: np.exp(
                r.normal(middle, spread, n)
            )
        case "expon":
            scale = random_power(rng, 0, 4)
            return f"Exp({scale:.3g})", lambda r, n: r.exponential(scale, n)
        case "gamma":
            shape, scale = random_power(rng, -0.7, 1), random_power(rng, 0, 4)
            return f"Gamma({shape:.2f}, {scale:.3g})", lambda r, n: r.gamma(shape, scale, n)
        case "pareto":
            slope, least = rng.uniform(1.2, 3.5), random_power(rng, 0, 4)
            return (
                f"Pareto({slope:.2f}, {least:.3g})",
                lambda r, n: least * (1 + r.pareto(slope, n)),
            )
        case "t":
            freedom, scale = rng.uniform(2, 6), random_power(rng, 0, 3)
            at = scale * rng.uniform(-5, 5)
            return f"t({freedom:.1f}, {at:.3g})", lambda r, n: at + scale * r.standard_t(freedom, n)
        case "beta":
            a, b = rng.uniform(0.3, 5, 2)
            scale = random_power(rng, 1, 5)
            return f"{scale:.3g} Beta({a:.1f}, {b:.1f})", lambda r, n: scale * r.beta(a, b, n)
        case "uniform":
            low, width = 10 ** rng.uniform(0, 4, 2)
            return f"U({low:.3g} + {width:.3g})", lambda r, n: low + width * r.random(n)
        case "weibull":
            shape, scale = rng.uniform(0.4, 3), random_power(rng, 0, 4)
            return f"Weibull({shape:.2f}, {scale:.3g})", lambda r, n: scale * r.weibull(shape, n)
        case "poisson":
            rate = random_power(rng, -0.5, 2)
            return f"Poisson({rate:.2f})", lambda r, n: r.poisson(rate, n).astype(float)
    slope, scale = rng.uniform(1.3, 3), random_power(rng, 0, 4)
    return f"log-logistic({slope:.2f}, {scale:.3g})", (
        lambda r, n: scale * (1 / r.uniform(1e-12, 1, n) - 1) ** (1 / slope)
    )


def _mixed(first: Draw, second: Draw, part: float) -> Draw:
    return lambda r, n: np.where(r.random(n) < part, second(r, n), first(r, n))


def _with_zeros(of: Draw, part: float) -> Draw:
    return lambda r, n: np.where(r.random(n) < part, 0.0, of(r, n))


def _negated(of: Draw) -> Draw:
    return lambda r, n: -of(r, n)


def _rounded(of: Draw, step: float) -> Draw:
    return lambda r, n: np.rint(of(r, n) / step) * step


def unseen_cell(number: int) -> Cell | FileCell:
    """Returns a cell of `unseen_columns.py`, always the same one."""
    rng = np.random.default_rng([number, 9173])
    kind, epsilon = str(rng.choice(["pure", "zcdp"])), float(rng.choice([0.1, 1.0, 1.0]))
    if number % 2:
        return file_cell(rng, kind, epsilon)
    name, values, whole = draw_family(rng)
    if rng.random() < 0.2:
        other, second, is_whole = draw_family(rng)
        name, values, whole = f"{name} + .2 {other}", _mixed(values, second, 0.2), whole & is_whole
    lower, upper = interval_for(values(np.random.default_rng(1), 20_000), rng, whole)
    rows, strata = int(rng.choice(ROWS)), str(rng.choice(["1", "1", "4", "18", "Zipf 18", "100"]))
    strata = strata if int(strata.split()[-1]) <= rows / 2 else "1"
    differs = bool(rng.random() < 0.5) and strata != "1" and not whole
    return Cell(name, values, lower, upper, whole, rows, strata, differs, kind, epsilon)


def fresh_cell(number: int) -> Cell:
    """Returns a cell of `fresh_columns.py`, always the same one."""
    rng = np.random.default_rng([number, 60_113])
    name, values, whole = draw_fresh(rng, FRESH_FAMILIES[number % len(FRESH_FAMILIES)])
    lower, upper = reach_interval(values(np.random.default_rng(1), 20_000), rng)
    rows, strata = int(rng.choice(FRESH_ROWS)), str(rng.choice(FRESH_STRATA))
    strata = strata if 2 * int(strata.split()[-1]) <= rows else "1"
    differs = bool(rng.random() < 0.5) and strata != "1" and not whole
    kind, epsilon = str(rng.choice(["pure", "zcdp"])), float(rng.choice([0.1, 1.0]))
    return Cell(name, values, lower, upper, whole, rows, strata, differs, kind, epsilon)


def random_cell(number: int) -> Cell | FileCell:
    """Returns the cell of a number, always the same one."""
    if number >= FIRST_FRESH:
        return fresh_cell(number)
    if number >= FIRST:
        return unseen_cell(number)
    rng = np.random.default_rng([number, 4711])
    name, values = random_family(rng)
    if rng.random() < 0.3:
        other, second = random_family(rng)
        part = float(rng.choice([0.5, 0.2, 0.05]))
        name, values = f"{name} + {part} {other}", _mixed(values, second, part)
    if rng.random() < 0.3:
        zeros = float(rng.choice([0.1, 0.4, 0.7, 0.9]))
        name, values = f"{zeros} zeros, {name}", _with_zeros(values, zeros)
    size = np.abs(values(np.random.default_rng(1), 20_000))
    far = float(np.quantile(size[size > 0], 0.99)) if (size > 0).any() else 1.0
    if rng.random() < 0.12:
        name, values = f"-({name})", _negated(values)
    whole = bool(rng.random() < 0.35)
    if rng.random() < 0.15:
        step = float(10 ** np.floor(np.log10(far / 10)))
        name = f"{name}, by {step:.3g}"
        values = _rounded(values, step)
    is_negative = (values(np.random.default_rng(1), 2_000) < 0).mean() > 0.02
    how = rng.random()
    if how < 0.1:
        width = far * rng.uniform(0.3, 1.1)
    else:
        width = far * random_power(rng, *((0.1, 2.5) if how < 0.75 else (2.5, 6)))
    upper = max(width, 1.0)
    if whole:
        upper = max(float(np.ceil(upper)), 2.0)
        values = _rounded(values, 1.0)
    lower = 0.0
    if is_negative:
        lower = -float(np.ceil(upper * rng.choice([1.0, 0.1, 0.01])))
    elif rng.random() < 0.1:
        lower = -upper
    rows, strata = int(rng.choice(ROWS)), str(rng.choice(["1", "1", "4", "18", "Zipf 18", "100"]))
    if int(strata.split()[-1]) > rows / 2:
        strata = "1"
    differs = bool(rng.random() < 0.5) and strata != "1"
    kind, epsilon = str(rng.choice(["pure", "zcdp"])), float(rng.choice([0.1, 1.0, 1.0]))
    return Cell(name, values, lower, upper, whole, rows, strata, differs, kind, epsilon)


def measure_cell(
    cell: Cell | FileCell, using: list[str], runs: int, draws: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns auto's errors by the least of the others', for groups and everybody; and the parts of
    its intervals that held, of groups, everybody, everybody's without a note (NaN without such),
    and the part of answers with one."""
    of_tables = [
        runs_of_estimators(cell.table(number), cell.kind, using, -(-runs // draws), cell.epsilon)
        for number in range(draws)
    ]
    joined = {name: join_runs([runs_of[name] for runs_of in of_tables]) for name in using}
    found = {name: np.array(errors(result)) for name, result in joined.items()}
    others = [found[name] for name in using if name != "auto"] or [found["auto"]]
    auto = joined["auto"]
    silent = auto.whole_covered[~auto.doubtful]
    held = (auto.covered.mean(), auto.whole_covered.mean(), np.nan, auto.doubtful.mean())
    parts = np.array(held)
    parts[2] = silent.mean() if silent.size else np.nan
    return found["auto"] / np.maximum(np.min(others, axis=0), 1e-300), parts


def draw_pictures(cells: list[Cell | FileCell], measured: np.ndarray, folder: Path) -> None:
    """Writes `random_regret.svg` and `random_coverage.svg`: means by rows and strata.

    Args:
        cells: What was measured.
        measured: Two ratios and four parts of each, of shape (cells, 6).
        folder: Where the files are written.
    """
    strata = ("1", "4", "18", "Zipf 18", "100")
    panels = {"regret": ("groups", "everybody")}
    panels["coverage"] = ("groups", "everybody", "everybody without a note")
    scales = {
        "regret": ([0.9, 1.1, 1.6], ["#4393c3", "#f7f7f7", "#b2182b"]),
        "coverage": ([0.5, 0.93, 0.931, 1.0], ["#b2182b", "#fddbc7", "#d1e5f0", "#4393c3"]),
    }
    for picture, first in (("regret", 0), ("coverage", 2)):
        squares = []
        for rows, by, (at, panel) in product(ROWS, strata, enumerate(panels[picture], first)):
            inside = [i for i, cell in enumerate(cells) if (cell.rows, cell.strata) == (rows, by)]
            figures = measured[inside, at]
            if np.isfinite(figures).any():
                squares.append(Square(panel, f"{rows:,} rows", by, float(np.nanmean(figures))))
        title = {
            "regret": "Error of AVG(x) by that of the best single estimator, by strata",
            "coverage": "Part of 95 % intervals that held, by strata",
        }[picture]
        draw(
            squares,
            f"{title}: {len(cells)} random columns",
            scales[picture],
            folder / f"random_{picture}.svg",
        )


def main() -> None:
    """Prints a line for each cell, then what they say together."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", nargs=2, type=int, default=[0, 300], metavar=("FIRST", "LAST"))
    parser.add_argument("--runs", type=int, default=48)
    parser.add_argument("--draws", type=int, default=4, help="tables of a cell, for the runs")
    parser.add_argument("--using", nargs="*", default=["auto", "plain", "quantile", "coinpress"])
    parser.add_argument("--picture", type=Path, help="a folder for two SVG files")
    given = parser.parse_args()
    print("cell   regret: groups  all   held: groups   all  no note  noted")
    cells, measured = [], []
    for number in range(*given.cells):
        cell = random_cell(number)
        ratios, parts = measure_cell(cell, given.using, given.runs, given.draws)
        cells.append(cell)
        measured.append([*ratios, *parts])
        shown = "{:14.2f} {:5.2f} {:14.2f} {:5.2f} {:8.2f} {:6.2f}".format(*measured[-1])
        asked = f"{cell.kind} {cell.epsilon:g}, {cell.rows} rows, {cell.strata} strata"
        print(
            f"{number:4} {shown}  {asked}, [{cell.lower:.3g}, {cell.upper:.3g}]  {cell.name}",
            flush=True,
        )
    table = np.array(measured)
    print("mean", *np.nanmean(table, axis=0).round(3))
    print("worst regret", *table[:, :2].max(axis=0).round(2), "of", len(table), "cells")
    print("below .9 without a note:", int((table[:, 4] < 0.9).sum()))
    if given.picture:
        draw_pictures(cells, table, given.picture)


if __name__ == "__main__":
    main()
