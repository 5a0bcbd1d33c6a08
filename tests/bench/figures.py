"""`python tests/bench/figures.py [--shapes …] [--rows …] [--kinds …] [--statements …] [--strata …]
[--apart …] [--cells …]`.

How often the 95 % intervals of figures other than a lone mean hold the truth: counts, sums,
variances, quantiles, counts of different values, and differences and ratios of several. Statements
run in a session, as anybody's do; the truth is plain DuckDB's. Each run asks at a price that is a
little higher, because an equal one would be replayed; and each statement has a vault of its own,
because a count that another one has paid more for would be the same in all runs. `--apart` makes
the values of strata differ by a factor, and is how much its logarithm varies. `--cells` takes the
values, numbers of rows, kinds and prices of random columns (`random_shapes.py`), by number, in
place of shapes.

Each line: the part of the intervals of groups that held, then of everybody's; how many times the
error that 95 % of runs stay below the median half-width is (1 is exact, more is too long); and the
part of the groups that are NULL or have no ±, which are left out. A line is marked where more than
7 % of all answers, those without ± counted as held, have a ± that does not hold: where most ± are
unknown, the few that are stated are those in which noise made a divisor look large.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.coverage import ALL_SHAPES
from bench.value_shapes import ValueShape
from random_shapes import Cell, random_cell

from sqlpriv.session.session import Session

A, B = "FILTER (WHERE side = 1)", "FILTER (WHERE side = 2)"
STATEMENTS: dict[str, tuple[str, ...]] = {
    "count": ("COUNT(*)",),
    "sum": ("SUM(x)",),
    "variance": ("VARIANCE(x)", "STDDEV(x)"),
    "distinct": ("COUNT(DISTINCT side)", "COUNT(DISTINCT digit)"),
    "quantile": ("MEDIAN(x)", "QUANTILE_CONT(x, 0.9)"),
    "pooled variance": ("VARIANCE(x USING pooled)", "STDDEV(x USING pooled)"),
    "pooled quantile": ("MEDIAN(x USING pooled)", "QUANTILE_CONT(x, 0.9 USING pooled)"),
    "pooled": ("AVG(x USING pooled)", "SUM(x USING pooled)"),
    "difference": (f"AVG(x) {A} - AVG(x) {B}",),
    "ratio": (f"AVG(x) {A} / AVG(x) {B}",),
    "share": ("COUNT(*) FILTER (WHERE hit) / COUNT(*)",),
    "relative risk": (
        f"(COUNT(*) FILTER (WHERE hit AND side = 1) / COUNT(*) {A})"
        f" / (COUNT(*) FILTER (WHERE hit AND side = 2) / COUNT(*) {B})",
    ),
    "of one count": ("AVG(x) / AVG(y)", "AVG(x) - AVG(y)", "SUM(x) / SUM(y)"),
    "of one sum": ("STDDEV(x) / AVG(x)", "SUM(x) / COUNT(*)", "AVG(x) * COUNT(*)"),
}
"""By name: the outputs of one statement."""
MAKE = """
CREATE TABLE people (id BIGINT PRIMARY KEY, stratum BIGINT, side BIGINT, digit BIGINT, hit BOOLEAN,
    x DOUBLE, y DOUBLE);
INSERT INTO people SELECT * FROM rows;
ALTER TABLE people SET PRIVACY (KEY (id), COLUMN stratum BETWEEN (0, {last}) NOT NULL,
    COLUMN side IN (1, 2) NOT NULL, COLUMN digit BETWEEN (0, 999) NOT NULL,
    COLUMN x BETWEEN ({lower}, {upper}) NOT NULL, COLUMN y BETWEEN ({lower}, {upper}) NOT NULL,
    BUDGET (epsilon = 1e6{delta}))
"""


class Vault:
    """A vault of generated people, and the truth about them.

    Args:
        folder: Where it lies.
        of, rows, kind: Their values, how many people, and `pure` or `zcdp`.
        strata: How many there are; each of the first is half as large again as the next.
        apart: Standard deviation of the logarithm of the factor that a stratum's values have.
    """

    def __init__(
        self, folder: Path, of: ValueShape, rows: int, kind: str, strata: int, apart: float
    ) -> None:
        self.session = Session(folder / "v.duckdb", role="owner")
        rng = np.random.default_rng(11)
        share = np.maximum(1.5 ** -np.arange(strata), 0.01)
        stratum = rng.choice(strata, rows, p=share / share.sum())
        stratum[:strata] = np.arange(strata)  # none is empty
        factor = np.exp(apart * rng.normal(size=strata))[stratum]
        drawn = (factor * of.draw(rng, rows) for _ in range(2))
        x, y = (np.clip(np.rint(v) if of.whole else v, of.lower, of.upper) for v in drawn)
        people = {
            "id": np.arange(rows),
            "stratum": stratum,
            "side": rng.choice((1, 2), rows, p=(0.7, 0.3)),
            "digit": np.minimum(rng.geometric(0.02, rows), 999),
            "hit": rng.random(rows) < 0.2,
            "x": x,
            "y": 0.7 * x + 0.3 * y,
        }
        path = folder / "rows.parquet"
        write_parquet(people, path)
        delta = ", delta = 1e-9" if kind == "zcdp" else ""
        sql = MAKE.format(lower=of.lower, upper=of.upper, delta=delta, last=strata - 1)
        self.session.run(sql.replace("FROM rows", f"FROM '{path}'"))

    def truth(self, outputs: tuple[str, ...]) -> np.ndarray:
        """Returns the exact figures, of shape (strata + 1, outputs); everybody's come last."""
        listed = ", ".join(f"({one.replace(' USING pooled', '')})::DOUBLE" for one in outputs)
        sql = f"SELECT {listed} FROM people GROUP BY ROLLUP (stratum) ORDER BY stratum NULLS LAST"
        table = self.session.run(sql)[-1].table
        assert table is not None
        return np.array([[*row.values()] for row in table.to_pylist()], float)

    def ask(self, outputs: tuple[str, ...], epsilon: float) -> tuple[np.ndarray, np.ndarray]:
        """Returns the noised figures and their half-widths, of the truth's shape."""
        listed = ", ".join(f"{one} AS v{i}" for i, one in enumerate(outputs))
        price = f"WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {epsilon:.6f})"
        answer = self.session.run(f"SELECT {price} {listed} FROM people STRATIFY BY stratum")[-1]
        assert answer.table is not None
        names = [f"v{i}" for i in range(len(outputs))]
        values = np.array([answer.table[n].to_pylist() for n in names], float).T
        nothing = [None] * len(values)
        halves = [answer.half_widths.get(n, nothing) for n in names]
        return values, np.array(halves, float).T


def write_parquet(columns: dict[str, np.ndarray], path: Path) -> None:
    """Writes columns of one length."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), path)


def chosen_columns(
    given: argparse.Namespace,
) -> Iterator[tuple[str, ValueShape, int, str, float]]:
    """Yields name, values, rows, kind and price of what the options choose."""
    for number in given.cells:
        cell = random_cell(number)
        if isinstance(cell, Cell):
            of = ValueShape(cell.draw, cell.lower, cell.upper, cell.whole)
            yield (
                f"{number:6} {cell.epsilon:g} {cell.name:.40}",
                of,
                cell.rows,
                cell.kind,
                cell.epsilon,
            )
    grid = () if given.cells else product(given.shapes, given.rows, given.kinds)
    for shape, rows, kind in grid:
        yield f"{shape:14}", ALL_SHAPES[shape], rows, kind, given.epsilon


def main() -> None:
    """Prints a line for each output of each cell of the grid."""
    parser = argparse.ArgumentParser(description=__doc__)
    shapes = ["uniform", "log-normal", "zero-inflated", "clamped top"]
    parser.add_argument("--shapes", nargs="*", default=shapes, choices=list(ALL_SHAPES))
    parser.add_argument("--rows", nargs="*", type=int, default=[300, 10_000])
    parser.add_argument("--kinds", nargs="*", default=["pure", "zcdp"])
    parser.add_argument("--statements", nargs="*", default=list(STATEMENTS), choices=STATEMENTS)
    parser.add_argument("--strata", type=int, default=4)
    parser.add_argument("--apart", type=float, default=0.0)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--cells", nargs="*", type=int, default=[])
    given = parser.parse_args()
    for column, name in product(chosen_columns(given), given.statements):
        label, of, rows, kind, epsilon = column
        outputs, runs = STATEMENTS[name], range(given.runs)
        with tempfile.TemporaryDirectory() as folder:
            vault = Vault(Path(folder), of, rows, kind, given.strata, given.apart)
            truth = vault.truth(outputs)
            asked = [vault.ask(outputs, epsilon + 1e-6 * run) for run in runs]
            vault.session.close()
        values, halves = (np.array(part) for part in zip(*asked, strict=True))
        for i, output in enumerate(outputs):
            line = measure(values[..., i] - truth[:, i], halves[..., i])
            print(f"{label} {rows:6} {kind:>5} {line}  {output}", flush=True)


def measure(errors: np.ndarray, halves: np.ndarray) -> str:
    """Returns what a line says of errors and half-widths, of shape (runs, strata + 1)."""
    stated = np.isfinite(errors) & np.isfinite(halves)
    held = np.where(stated, np.abs(errors) <= halves * (1 + 1e-9) + 1e-9, np.nan)
    longer = []
    for g in range(errors.shape[1]):
        one = stated[:, g]
        if one.any():
            far = np.quantile(np.abs(errors[one, g]), 0.95)
            longer.append(np.median(halves[one, g]) / max(far, 1e-12))
    parts = (held[:, :-1], held[:, -1])
    groups, whole = (np.nanmean(p) if np.isfinite(p).any() else np.nan for p in parts)
    missed = [(part == 0).mean() for part in parts]
    mark = "  DOES NOT HOLD" if max(missed) > 0.07 else ""
    of_groups = np.median(longer[:-1]) if len(longer) > 1 else np.nan
    return f"{groups:6.3f} {whole:6.3f} {of_groups:7.2f} {1 - stated[:, :-1].mean():6.2f}{mark}"


if __name__ == "__main__":
    main()
