"""Rows of five columns in which two pairs depend on each other, and others in one stratum."""

from __future__ import annotations

import numpy as np

from sqlpriv.kernel.terms.contract import Categories
from support.synth_tables import contract

NAMES = ("a", "b", "c", "d", "e")
LEVELS = Categories((0, 1, 2, 3))


def pairwise(rows: int = 4_000, seed: int = 0) -> dict[str, list[int]]:
    """b follows a and d follows c; e is by itself. s is 0 or 1, and inside 1 it is a and c."""
    rng = np.random.default_rng(seed)
    a, c, e, s = (rng.integers(0, k, rows) for k in (4, 4, 4, 2))

    def near(x: np.ndarray) -> np.ndarray:
        return np.where(rng.random(rows) < 0.9, x, rng.integers(0, 4, rows))

    columns = {"a": a, "b": np.where(s == 0, near(a), e), "c": c, "d": near(c), "e": e, "s": s}
    return {name: values.tolist() for name, values in columns.items()}


def table(**unit: int):
    columns = dict.fromkeys(NAMES, ("INTEGER", LEVELS))
    return contract({**columns, "s": ("INTEGER", Categories((0, 1)))}, **unit)


def dependence(out, left, right):
    """Total variation between a pair's table and the product of its margins."""
    pair = np.zeros((4, 4))
    np.add.at(pair, (out[left].to_numpy(), out[right].to_numpy()), 1 / out.num_rows)
    return float(np.abs(pair - np.outer(pair.sum(axis=1), pair.sum(axis=0))).sum() / 2)
