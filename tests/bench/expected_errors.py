"""`python tests/bench/expected_errors.py [--cells FIRST LAST] [--dearer …] [--runs …]`.

How near EXPLAIN PRIVACY comes to the ± of a clipped mean once its histogram was released: the cells
of `random_shapes.py` are asked for once, and then what is expected at so many times the price is
compared with the ± of fresh answers at that price, a median over runs and groups.

Each line: the ratio of the two at each price. The last lines: the part of the ratios between 2 / 3
and 3 / 2 and their quantiles; and the same of one fresh answer's ± by the median of the others',
nearer than which nothing that is expected can be.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from coverage import ExactTable, plan_of
from random_shapes import Cell, random_cell

from sqlpriv.answer.reconcile import two_levels
from sqlpriv.answer.rounds import adaptive_means
from sqlpriv.answer.rounds.expected_means import CountNoise, expected_half_widths
from sqlpriv.kernel.terms.algebra import Asked
from sqlpriv.kernel.terms.release import Measurement, Release


def measure_cell(cell: Cell, dearer: Sequence[float], runs: int) -> np.ndarray:
    """Returns the ratios at each price: what is expected, and one answer's ±, by the ± of answers;
    of shape (prices, 2), NaN where nothing is expected."""
    rows = cell.table(0)
    exact = ExactTable(rows)
    released: dict[Asked, Release] = {}

    def measure(batch: Sequence[Measurement]) -> tuple[Release, ...]:
        releases = exact.release(batch)
        released.update({release.query: release for release in releases})
        return releases

    first = plan_of(rows, cell.kind, "auto", cell.epsilon)
    adaptive_means.ask_rounds(first.rounds, measure(first.measurements), measure)
    ratios = np.full((len(dearer), 2), np.nan)
    for at, times in enumerate(dearer):
        planned = plan_of(rows, cell.kind, "auto", cell.epsilon * times)
        recipe = planned.output.recipes[0]
        counts = {
            release.query: CountNoise(release.sigma, release.price)
            for release in exact.release(planned.measurements)
        }
        halves = expected_half_widths(planned.rounds, counts, released.get).get(recipe)
        if halves is None:
            continue
        answers = []
        for _ in range(runs):
            of_plan = exact.release(planned.measurements)
            moments = adaptive_means.ask_rounds(planned.rounds, of_plan, exact.release)[recipe]
            answers.append(two_levels(recipe, moments, None, None)[0].half_widths)
        usual = np.nanmedian(answers[1:], axis=0)
        ratios[at] = np.nanmedian(halves / usual), np.nanmedian(answers[0] / usual)
    return ratios


def main() -> None:
    """Prints a line for each cell, then what they say together."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", nargs=2, type=int, default=[0, 100], metavar=("FIRST", "LAST"))
    parser.add_argument("--dearer", nargs="*", type=float, default=[1.0, 1.5, 4.0])
    parser.add_argument("--runs", type=int, default=8)
    given = parser.parse_args()
    measured = []
    for number in range(*given.cells):
        cell = random_cell(number)
        measured.append(measure_cell(cell, given.dearer, given.runs))
        shown = " ".join(f"{ratio:8.2f}" for ratio in measured[-1][:, 0])
        print(f"{number:5} {shown}  {cell.kind} {cell.epsilon:g}, {cell.rows} rows  {cell.name}")
    table = np.array(measured)
    for at, times in enumerate(given.dearer):
        print(f"{times:g} times the price: {describe(table[:, at, 0])}")
    print(f"one fresh answer: {describe(table[:, :, 1].ravel())}")


def describe(ratios: np.ndarray) -> str:
    """Returns how many ratios lie within 1.5, and their quantiles."""
    some = ratios[np.isfinite(ratios)]
    within = ((some < 1.5) & (some > 1 / 1.5)).mean()
    low, quarter, middle, three, high = np.quantile(some, [0.05, 0.25, 0.5, 0.75, 0.95])
    return (
        f"{within:.2f} of {some.size} within 1.5; quantiles"
        f" {low:.2f} {quarter:.2f} {middle:.2f} {three:.2f} {high:.2f}"
    )


if __name__ == "__main__":
    main()
