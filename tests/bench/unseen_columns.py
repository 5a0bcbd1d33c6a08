"""Columns that no estimator was made with: cells of `random_shapes.py` from number 5,000 on.

Even numbers are drawn of families that the cells below 5,000 do not have: beta and gamma with a
point mass in the middle, hurdles, Student's t with two degrees of freedom, codes of categories,
days since 1970, amounts in cents, answers heaped at round numbers, and mixtures of two of these.
Odd numbers are numeric columns of the files of `../shared/data`, by one or two columns of few
values, at most 30,000 rows, in an interval that reaches a random number of times as far as the
values do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import duckdb
import numpy as np
from bench.mean_tables import DATA, StratifiedRows

FIRST = 5_000
MOST_ROWS = 30_000
Draw = Callable[[np.random.Generator, int], np.ndarray]
KINDS = (
    *("spiked beta", "spiked gamma", "hurdle", "t2", "codes", "days", "cents", "heaps"),
    *("few values", "power", "negative gamma", "constant with outliers"),
)


def draw_family(rng: np.random.Generator) -> tuple[str, Draw, bool]:
    """Returns a distribution's name, its draw, and whether its values are whole numbers."""
    kind = str(rng.choice(KINDS))
    scale = float(10 ** rng.uniform(0.5, 4.5))
    a, b = rng.uniform(0.3, 4, 2)
    part = float(rng.choice([0.05, 0.2, 0.5]))
    match kind:
        case "spiked beta":
            at = scale * float(rng.uniform(0.05, 0.95))
            return (
                f"{part} at {at:.3g}, {scale:.3g} Beta({a:.1f}, {b:.1f})",
                lambda r, n: np.where(r.random(n) < part, at, scale * r.beta(a, b, n)),
                False,
            )
        case "spiked gamma":
            at = scale * float(rng.uniform(0.2, 6))
            return (
                f"{part} at {at:.3g}, Gamma({a:.1f}, {scale:.3g})",
                lambda r, n: np.where(r.random(n) < part, at, r.gamma(a, scale, n)),
                False,
            )
        case "hurdle":
            least = scale * part
            return (
                f"{part} hurdle {least:.3g} + Weibull({a:.1f}, {scale:.3g})",
                lambda r, n: np.where(r.random(n) < part, least + scale * r.weibull(a, n), 0.0),
                False,
            )
        case "t2":
            at = scale * float(rng.uniform(-3, 3))
            return f"t2({at:.3g}, {scale:.3g})", lambda r, n: at + scale * r.standard_t(2, n), False
        case "codes":
            number = int(rng.integers(3, 60))
            codes = np.sort(rng.choice(9_999, number, replace=False)).astype(float)
            weight = rng.dirichlet(np.full(number, 0.5))
            return f"{number} codes", lambda r, n: r.choice(codes, n, p=weight), True
        case "days":
            last, mean = int(rng.integers(10_000, 20_000)), float(10 ** rng.uniform(1.5, 3.5))
            return (
                f"days, {mean:.0f} before {last}",
                lambda r, n: np.maximum(last - np.floor(r.gamma(1.5, mean, n)), 0),
                True,
            )
        case "cents":
            spread = float(rng.uniform(0.3, 1.4))
            return (
                f"cents of LN({np.log(scale):.1f}, {spread:.2f})",
                lambda r, n: np.rint(100 * np.exp(r.normal(np.log(scale), spread, n))) / 100,
                False,
            )
        case "heaps":
            step = scale / 5
            return (
                f"{1 - part:.2f} heaped at {step:.3g}, Gamma({1 + a:.1f}, {scale:.3g})",
                lambda r, n: _heaped(r, r.gamma(1 + a, scale, n), step, 1 - part),
                False,
            )
        case "few values":
            values = np.arange(int(rng.integers(2, 12))).astype(float)
            weight = rng.dirichlet(np.ones(values.size))
            return f"{values.size} values", lambda r, n: r.choice(values, n, p=weight), True
        case "power":
            return f"{scale:.3g} U^{2 * a:.1f}", lambda r, n: scale * r.random(n) ** (2 * a), False
        case "negative gamma":
            at = scale * float(rng.uniform(0, 4))
            return (
                f"{at:.3g} - Gamma({a:.1f}, {scale:.3g})",
                lambda r, n: at - r.gamma(a, scale, n),
                False,
            )
    far = float(rng.uniform(1.5, 8))
    return (
        f"{scale:.3g}, .02 of them up to {far:.1f} times",
        lambda r, n: np.where(r.random(n) < 0.02, scale * r.uniform(1, far, n), scale),
        False,
    )


def _heaped(r: np.random.Generator, values: np.ndarray, step: float, part: float) -> np.ndarray:
    """Returns values of which a part is rounded to multiples of a step."""
    return np.where(r.random(values.size) < part, np.rint(values / step) * step, values)


@dataclass(frozen=True)
class FileCell:
    """A column of a file by others; its rows are the same in every table.

    Args:
        name: The file and its columns.
        rows: How many there are.
        strata: How many strata, as text.
        kind, epsilon: Of the budget.
    """

    name: str
    source: StratifiedRows
    rows: int
    strata: str
    kind: str
    epsilon: float

    @property
    def lower(self) -> float:
        """The lower declared end."""
        return self.source.lower

    @property
    def upper(self) -> float:
        """The upper declared end."""
        return self.source.upper

    def table(self, number: int) -> StratifiedRows:
        """Returns the rows."""
        del number
        return self.source


@cache
def numeric_files() -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
    """Returns files, their columns of more than 20 different numbers, and those of 2 to 40."""
    files = []
    for path in sorted(DATA.glob("*.parquet")):
        described = duckdb.sql(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
        names = [row[0] for row in described]
        is_number = [row[1].split("(")[0] in NUMBERS for row in described]
        counts = ", ".join(f'approx_count_distinct("{name}")' for name in names)
        (row,) = duckdb.sql(f"SELECT {counts} FROM '{path}'").fetchall()
        numbers = tuple(n for n, k, ok in zip(names, row, is_number, strict=True) if ok and k > 20)
        groups = tuple(n for n, k in zip(names, row, strict=True) if 2 <= k <= 40)
        if numbers and set(groups) - set(numbers):
            files.append((path.stem, numbers, groups))
    return tuple(files)


NUMBERS = frozenset(
    ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "UTINYINT")
)


def file_cell(rng: np.random.Generator, kind: str, epsilon: float) -> FileCell:
    """Returns a random column of a random file by at most two others."""
    files = numeric_files()
    stem, numbers, groups = files[int(rng.integers(len(files)))]
    of = str(rng.choice(numbers))
    by = list(dict.fromkeys(rng.choice([g for g in groups if g != of], int(rng.integers(1, 3)))))
    ranks = ", ".join(f'dense_rank() OVER (ORDER BY "{g}") - 1 AS g{i}' for i, g in enumerate(by))
    rows = duckdb.sql(
        f'SELECT x::DOUBLE AS x, * EXCLUDE x FROM (SELECT "{of}" AS x, {ranks} FROM'
        f" (FROM read_parquet('{DATA}/{stem}.parquet', file_row_number = true)"
        f' WHERE "{of}" IS NOT NULL ORDER BY hash(file_row_number) LIMIT {MOST_ROWS}))'
    ).fetchnumpy()
    x = np.asarray(rows["x"], float)
    keys = [np.asarray(rows[f"g{i}"]).astype(int) for i in range(len(by))]
    sizes = tuple(int(key.max()) + 1 for key in keys)
    stratum = np.ravel_multi_index(keys, sizes)
    order = np.argsort(stratum, kind="stable")
    far = max(float(np.abs(x).max()), 1.0) * float(10 ** rng.uniform(0, 2))
    lower = 0.0 if x.min() >= 0 else -float(np.ceil(far * rng.choice([1.0, 0.1])))
    whole = bool((x == np.rint(x)).all())
    upper = float(np.ceil(far))
    clipped = np.clip(x, lower, upper)
    source = StratifiedRows(clipped[order], stratum[order], sizes, lower, upper, whole)
    name = f"{stem}.{of} by {', '.join(by)}"
    return FileCell(name, source, len(x), str(source.strata), kind, epsilon)


def interval_for(values: np.ndarray, rng: np.random.Generator, whole: bool) -> tuple[float, float]:
    """Returns an interval that cuts the values in one of ten, or reaches up to 300 times as far.

    >>> interval_for(np.array([1.0, 5.0]), np.random.default_rng(1), True)[0]
    0.0
    """
    far = max(float(np.quantile(np.abs(values), 0.999)), 1.0)
    cuts = rng.random() < 0.1
    upper = float(np.ceil(far * (rng.uniform(0.4, 1) if cuts else 10 ** rng.uniform(0, 2.5))))
    upper = max(upper, 2.0) if whole else upper
    is_negative = (values < 0).mean() > 0.01
    return (-upper if is_negative else 0.0), upper
