"""`python tests/bench/thinning.py [--cells N] [--shapes …]`: ends of cells, thinned and not.

`AVG(x USING quantile)` by many groups of uneven sizes, pure epsilon = 1: processor time of choosing
where cells are clipped, what is predicted for the choice, and the error of the groups' means, each
as thinned by what it is where all pairs of ends are compared; what is minimised is "both", the
geometric mean of the groups' predicted errors and everybody's. Two statements have different noise,
so the ratio of errors differs from 1 by chance, too.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from value_shapes import SHAPES, ValueShape

from sqlpriv.answer.rounds import clipping, last_round
from sqlpriv.session.session import Session

ALL_PAIRS = 10**9
THINNED = clipping.FEW_PAIRS


def write_table(vault: Path, shape: ValueShape, cells: int, seed: int) -> pa.Table:
    """Writes and declares a table of 60 rows a cell on average; returns its groups and values."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(5, cells + 5) ** 0.7
    group = rng.choice(cells, 60 * cells, p=weights / weights.sum()).astype(np.int32)
    values = np.clip(shape.draw(rng, group.size), shape.lower, shape.upper)
    rows = pa.table({"id": np.arange(group.size), "g": group, "x": values})
    with duckdb.connect(str(vault)) as engine:
        engine.register("drawn", rows).execute("CREATE TABLE people AS SELECT * FROM drawn")
    with Session(vault, role="owner") as owner:
        for change in (
            "ADD PRIVACY_KEY (id)",
            "SET PRIVACY BOUND (rows_per_unit = 1)",
            "SET PU",
            f"ALTER COLUMN g SET PRIVACY DOMAIN BETWEEN (0, {cells - 1})",
            f"ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN ({shape.lower}, {shape.upper})",
            "SET PRIVACY BUDGET (epsilon = 100)",
        ):
            owner.execute(f"ALTER TABLE people {change}")
    return rows


def choose_timed(arguments: tuple[Any, ...], pairs: int) -> tuple[clipping.Clipping, float]:
    """Returns the choice, where up to so many pairs are all compared, and its seconds."""
    clipping.FEW_PAIRS = pairs
    began = time.process_time()
    return clipping.choose_clipping(*arguments), time.process_time() - began


def mean_error(vault: Path, rows: pa.Table, pairs: int, epsilon: float) -> tuple[float, Any]:
    """Returns the groups' mean absolute error, weighted by rows, and what was chosen from."""
    seen: list[tuple[Any, ...]] = []

    def choose(*arguments: Any) -> clipping.Clipping:
        seen.append(arguments)
        return choose_timed(arguments, pairs)[0]

    last_round.choose_clipping = choose
    with Session(vault) as analyst:
        table = analyst.execute(
            f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {epsilon}) g,"
            " AVG(x USING quantile) AS x FROM people GROUP BY g"
        ).table
    group, values = rows["g"].to_numpy(), rows["x"].to_numpy()
    counts = np.bincount(group, minlength=table.num_rows)
    truth = np.bincount(group, values, minlength=table.num_rows) / np.maximum(counts, 1)
    answers = np.asarray(table["x"], dtype=float)[np.asarray(table["g"]).argsort()]
    told = np.isfinite(answers)  # NULL where noise leaves no row
    return float(np.average(np.abs(answers - truth)[told], weights=counts[told])), seen[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cells", type=int, default=2_000)
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print("values            all pairs, s  thinned, s  predicted: groups  everybody   both   error")
    for named in given.shapes:
        with tempfile.TemporaryDirectory() as folder:
            vault = Path(folder) / "people.duckdb"
            rows = write_table(vault, SHAPES[named], given.cells, given.seed)
            thinned_error, arguments = mean_error(vault, rows, THINNED, 1.0)
            error, _ = mean_error(vault, rows, ALL_PAIRS, 1.0001)
        whole, slow = choose_timed(arguments, ALL_PAIRS)
        thinned, fast = choose_timed(arguments, THINNED)
        shares = arguments[1].shares
        groups = np.exp((shares * np.log(thinned.variance / whole.variance)).sum() / 2)
        totals = [c.scattered + c.common**2 for c in (thinned, whole)]
        everybody = (totals[0] / totals[1]) ** 0.5
        print(
            f"{named:<18}{slow:12.2f}{fast:12.2f}{groups:19.3f}{everybody:11.3f}"
            f"{(groups * everybody) ** 0.5:7.3f}{thinned_error / error:8.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
