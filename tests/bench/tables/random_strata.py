"""Random tables in random strata, as level numbers: see `tests/bench/strata.py --random`.

A table has 1,000 to 40,000 rows (by the logarithm), 4 to 10 columns of 2 to 16 levels and 2 to 16
strata of even to very uneven sizes. Columns are cut from normal variables that share factors; each
stratum moves the mean of each variable, and its loadings, by as much as the table's draw says: from
strata that are all alike to strata that have little in common.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def random_strata(seed: int) -> tuple[pd.DataFrame, tuple[str, ...], tuple[str, ...]]:
    """Returns the table, its columns and those of its strata: the same for the same seed."""
    rng = np.random.default_rng([seed, 7])
    rows = int(np.exp(rng.uniform(np.log(1_000), np.log(40_000))))
    shape = [(int(rng.integers(2, 5)),), (2, int(rng.integers(2, 9)))][int(rng.integers(2))]
    strata = int(np.prod(shape))
    shares = rng.dirichlet(np.full(strata, 10 ** rng.uniform(-0.3, 1.3)))
    stratum = rng.choice(strata, rows, p=shares)
    count, factors = int(rng.integers(4, 11)), int(rng.integers(1, 4))
    moved, turned = rng.choice([0.0, 0.1, 0.3, 1.0]), rng.choice([0.0, 0.2, 0.6])
    values = _values(rng, stratum, (strata, factors, count), 0.2, (moved, turned))
    frame = {f"x{c}": _levels(rng, values[:, c], 16) for c in range(count)}
    names = tuple(f"s{i}" for i in range(len(shape)))
    places = np.unravel_index(stratum, shape)
    frame = dict(zip(names, places, strict=True)) | frame
    return pd.DataFrame(frame), tuple(f"x{c}" for c in range(count)), names


APART = {
    "alike": (0.0, 0.0),
    "slightly": (0.15, 0.15),
    "mixed": (1.0, 0.6),
    "far": (1.0, 0.6),
}
"""How far strata are apart: by how much their means and their loadings are moved; of "mixed" every
second stratum's are not."""


def chosen_strata(
    strata: int, sizes: str, apart: str, seed: int, rows: int = 20_000
) -> tuple[pd.DataFrame, tuple[str, ...], tuple[str, ...]]:
    """Returns a table of seven columns of 2 to 14 levels, its columns and that of its strata.

    Args:
        strata: How many.
        sizes: "equal", or "zipf" for sizes in proportion to 1, 1 / 2, 1 / 3 and so on.
        apart: One of APART.
        seed: Of all that is drawn.
        rows: Of the table.
    """
    rng = np.random.default_rng([seed, 11])
    shares = np.full(strata, 1.0) if sizes == "equal" else 1 / np.arange(1, strata + 1)
    stratum = rng.choice(strata, rows, p=shares / shares.sum())
    count = 7
    moved = np.arange(strata) % 2 if apart == "mixed" else np.ones(strata)
    values = _values(rng, stratum, (strata, 2, count), 0.4, APART[apart], moved)
    frame = {"s": stratum} | {f"x{c}": _levels(rng, values[:, c], 14) for c in range(count)}
    return pd.DataFrame(frame), tuple(f"x{c}" for c in range(count)), ("s",)


def _values(
    rng: np.random.Generator,
    stratum: NDArray[np.int64],
    shape: tuple[int, int, int],
    least_load: float,
    apart: tuple[float, float],
    which: NDArray[np.float64] | float = 1.0,
) -> NDArray[np.float64]:
    """Returns normal variables that share factors, shape (rows, variables).

    Args:
        rng: What is drawn with.
        stratum: Of each row.
        shape: How many strata, factors and variables there are.
        least_load: Loadings are scaled by a number from this to 1.2.
        apart: By how much strata move the means and the loadings.
        which: What is multiplied with that in each stratum, shape (strata,).
    """
    (strata, factors, count), (moved, turned) = shape, apart
    by_stratum = np.broadcast_to(which, strata)[:, None]
    loads = rng.normal(0, 1, (factors, count)) * rng.uniform(least_load, 1.2)
    loads = loads + turned * by_stratum[:, :, None] * rng.normal(0, 1, shape)
    means = moved * by_stratum * rng.normal(0, 1, (strata, count))
    hidden = rng.normal(0, 1, (len(stratum), factors))
    values = np.einsum("rf,rfc->rc", hidden, loads[stratum]) + means[stratum]
    return np.asarray(values + rng.normal(0, 1, values.shape))


def _levels(rng: np.random.Generator, values: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Returns the levels of a variable that is cut into 2 to `most` of random shares."""
    shares = rng.dirichlet(np.full(int(rng.integers(2, most + 1)), 2.0))
    cuts = np.quantile(values, np.cumsum(shares)[:-1])
    return np.asarray(np.searchsorted(np.sort(cuts), values))
