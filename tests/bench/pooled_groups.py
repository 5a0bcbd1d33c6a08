"""`python tests/bench/pooled_groups.py [--tables FIRST LAST | --files …] [--runs …]`.

AVG(x USING pooled) on groups that nobody chose: each table is drawn by its number. Values are of
the families of `random_shapes.py`; 12 to 96 groups by one to three columns, of equal or very uneven
sizes, 1,000 to 80,000 rows; groups differ by a shift or a factor, which is normal, heavy-tailed, of
a tenth of the groups alone, a sum over the columns' values, or nothing. Tables 0 to 159 were looked
at. `--files` takes columns of files in their place, at pure epsilon 1 and .1.

Each line: the plain mean over groups of the errors of `auto`'s figures, of everybody's mean for all
and of the pooled ones, all of one answer; the pooled ones' by the lesser of the two; and the part
of their intervals that held; and by the same lesser the error of an oracle that is told the mean
square of how far the groups are from everybody, and draws each towards everybody by it. The last
lines: means, and how many are above 1.05 or below .7.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import mean_tables
from bench.mean_tables import StratifiedRows
from coverage import ExactTable, plan_of
from random_shapes import random_family, random_power

from sqlpriv.answer.intervals.estimate import Estimate
from sqlpriv.answer.moments import Moments, read_moments
from sqlpriv.answer.pooled_strata import own_means
from sqlpriv.answer.reconcile import two_levels
from sqlpriv.answer.rounds import adaptive_means
from sqlpriv.plan.aggregates.rewrites import Recipe

SIZES = ((12,), (40,), (4, 9), (3, 20), (8, 12), (2, 5, 6))


@dataclass(frozen=True)
class GroupedTable:
    """A table and how it is asked for."""

    name: str
    rows: StratifiedRows
    kind: str
    epsilon: float


def random_table(number: int) -> GroupedTable:
    """Returns the table of a number, always the same one."""
    rng = np.random.default_rng([number, 815])
    name, draw = random_family(rng)
    sizes = SIZES[rng.integers(len(SIZES))]
    k, rows = math.prod(sizes), int(rng.choice([1000, 5000, 20000, 80000]))
    n, uneven = _random_sizes(rng, k, rows)
    effect, differ = _random_effects(rng, sizes)
    stratum = np.repeat(np.arange(k), n)
    x = draw(rng, len(stratum))
    is_shift = rng.random() < 0.4
    spread = min(x.std(), np.quantile(np.abs(x - np.median(x)), 0.9) + 1e-9)
    factor = np.exp(np.clip(effect, -3, 3)[stratum])
    x = x + spread * effect[stratum] if is_shift else x * factor
    upper = max(float(np.quantile(np.abs(x), 0.995)) * random_power(rng, 0.1, 2.0), 1.0)
    whole = bool(rng.random() < 0.3)
    if whole:
        upper, x = max(float(np.ceil(upper)), 2.0), np.rint(x)
    is_positive = (x < 0).mean() < 0.02
    lower = 0.0 if is_positive else -float(np.ceil(upper * rng.choice([1, 0.1])))
    kind, epsilon = str(rng.choice(["pure", "zcdp"])), float(rng.choice([0.1, 1.0, 1.0]))
    table = StratifiedRows(np.clip(x, lower, upper), stratum, sizes, lower, upper, whole)
    asked = f"{kind} {epsilon:g}, {rows} rows, {'x'.join(map(str, sizes))} groups, {uneven} sizes"
    how = f"{differ} {'shifts' if is_shift else 'factors'}"
    return GroupedTable(f"{asked}, {how}, [{lower:.3g}, {upper:.3g}]  {name}", table, kind, epsilon)


def file_tables(name: str) -> list[GroupedTable]:
    """Returns a column of a file, at both prices."""
    rows = mean_tables.load(name)
    return [GroupedTable(f"pure {epsilon}", rows, "pure", epsilon) for epsilon in (1.0, 0.1)]


def _random_sizes(rng: np.random.Generator, k: int, rows: int) -> tuple[np.ndarray, str]:
    how = str(rng.choice(["zipf", "geometric", "equal", "log-normal"]))
    if how == "zipf":
        weight = 1 / np.arange(1, k + 1) ** rng.uniform(0.7, 2)
    elif how == "geometric":
        weight = 2.0 ** -(np.arange(k) * rng.uniform(4, 13) / k)
    elif how == "equal":
        weight = np.ones(k)
    else:
        weight = np.exp(rng.normal(0, rng.uniform(0.5, 2), k))
    if rng.random() < 0.6:
        weight = rng.permutation(weight)
    least = 1 if rng.random() < 0.7 else 0
    return np.maximum(np.rint(rows * weight / weight.sum()), least).astype(int), how


def _random_effects(rng: np.random.Generator, sizes: tuple[int, ...]) -> tuple[np.ndarray, str]:
    """Returns how far the groups are apart, and which kind of effects it is."""
    how, k = (
        str(rng.choice(["normal", "heavy", "few", "no", "additive", "mixed"])),
        math.prod(sizes),
    )
    scale = random_power(rng, -1.5, 0.3)
    levels = np.indices(sizes).reshape(len(sizes), -1)
    pairs = zip(sizes, levels, strict=True)
    additive = sum(rng.normal(0, 1, size)[level] for size, level in pairs) / len(sizes) ** 0.5
    effects = {
        "normal": rng.normal(0, 1, k),
        "heavy": rng.standard_t(2.5, k) / 2,
        "few": np.where(rng.random(k) < 0.1, rng.normal(0, 4, k), 0),
        "no": np.zeros(k),
        "additive": additive,
        "mixed": 0.8 * additive + 0.6 * rng.normal(0, 1, k),
    }
    return effects[how] * scale, how


def measure_table(table: GroupedTable, runs: int) -> np.ndarray:
    """Returns the mean errors of auto, everybody's mean and pooled figures, the last by the lesser
    of the others, the part of the pooled intervals that held, and the oracle's error by the same.
    """
    rows, exact = table.rows, ExactTable(table.rows)
    planned = plan_of(rows, table.kind, "pooled", table.epsilon)
    recipe = planned.output.recipes[0]
    sizes = np.bincount(rows.stratum, minlength=rows.strata)
    held = sizes > 0
    truth = np.bincount(rows.stratum, rows.x, rows.strata)[held] / sizes[held]
    measured = []
    for _ in range(runs):
        releases = exact.release(planned.measurements)
        moments = adaptive_means.ask_rounds(planned.rounds, releases, exact.release).get(recipe)
        moments = moments or read_moments(recipe, {r.query: r for r in releases})
        plain, whole = two_levels(replace(recipe, pooled=False), moments, None, None)
        pooled, _ = two_levels(recipe, moments, None, None)
        guesses = [plain.values.ravel()[held], np.ravel(whole.values)[:1], pooled.values[held]]
        guesses.append(_drawn_by_oracle(recipe, moments, whole, truth, held))
        errors = [np.abs(np.nan_to_num(g, nan=recipe.middle) - truth) for g in guesses]
        inside = errors[2] <= pooled.half_widths.ravel()[held] * (1 + 1e-9) + 1e-9
        measured.append([*(error.mean() for error in errors), inside.mean()])
    auto, for_all, pooled_error, oracle, part = np.mean(measured, axis=0)
    least = max(min(auto, for_all), 1e-300)
    return np.array([auto, for_all, pooled_error, pooled_error / least, part, oracle / least])


def _drawn_by_oracle(
    recipe: Recipe, moments: Moments, whole: Estimate, truth: np.ndarray, held: np.ndarray
) -> np.ndarray:
    """Returns the groups drawn towards everybody by how far they are apart on average."""
    middle = np.nan_to_num(whole.values, nan=recipe.middle)
    error = np.nan_to_num(whole.deviations, nan=recipe.width)
    own, noise = (part.ravel()[held] for part in own_means(recipe, moments, middle, error**2))
    apart = ((truth - middle) ** 2).mean()
    return np.asarray(middle + apart / (apart + noise) * (own - middle))


def main() -> None:
    """Prints a line for each table, then what they say together."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs=2, type=int, default=[0, 160], metavar=("FIRST", "LAST"))
    parser.add_argument("--files", nargs="*", default=[], choices=mean_tables.NAMES)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    chosen = given.files or range(*given.tables)
    print("table       auto  everybody     pooled  ratio  held oracle")
    measured = []
    for one in chosen:
        for table in file_tables(one) if given.files else [random_table(one)]:
            measured.append(measure_table(table, given.runs))
            shown = "{:10.4g} {:10.4g} {:10.4g} {:6.2f} {:5.2f} {:6.2f}".format(*measured[-1])
            print(f"{one:5} {shown}  {table.name}", flush=True)
    table = np.array(measured)
    for name, ratio in (("pooled", table[:, 3]), ("oracle", table[:, 5])):
        print(
            f"{name}: {ratio.mean():.3f} on average, {ratio.max():.2f} at worst; above 1.05 in"
            f" {(ratio > 1.05).mean():.2f} of tables, below .7 in {(ratio < 0.7).mean():.2f}"
        )
    print(f"intervals held {table[:, 4].mean():.3f}")


if __name__ == "__main__":
    main()
