"""How near a clipped mean of PINCP can come at best: a floor that no estimator here gets under.

Each stratum is given what no private estimator has: its exact size, its mean as the middle c of the
interval, the whole price for one sum, and, of 60 half widths h, the one that is best for its very
values. What is left is the bias of clipping and Laplace noise of scale h / (n epsilon).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import measures as m
import numpy as np
import people

COLUMN = "PINCP"
HALVES = np.geomspace(2_000, 1_431_300, 60)


def measured(
    table: Path, wanted: list[tuple[str, ...]], epsilons: tuple[float, ...]
) -> list[dict[str, Any]]:
    """Returns the least parity error of every combination and price, the population's part left
    out.
    """
    found = []
    with people.opened(table) as engine:
        for by in wanted:
            kept = m.truth(engine, by, COLUMN).kept
            sql = f"SELECT {m.cell_number(by)}, list({COLUMN}) FROM people "
            sql += f"WHERE {COLUMN} IS NOT NULL GROUP BY ALL"
            rows = engine.execute(sql).fetchall()
            strata = [np.array(values, float) for cell, values in rows if kept[cell]]
            lost = [np.abs(clipped_away(x)) for x in strata]
            for epsilon in epsilons:
                least = [
                    error(bias, HALVES / (len(x) * epsilon)).min() / abs(x.mean())
                    for x, bias in zip(strata, lost, strict=True)
                ]
                found.append(
                    {
                        "combination": "+".join(by),
                        "price": m.pure(epsilon).name,
                        "floor": float(np.sum(least)),
                    }
                )
    return found


def clipped_away(values: np.ndarray) -> np.ndarray:
    """Returns how far clipping to each half width around the mean moves the mean."""
    away = values - values.mean()
    return np.array([np.clip(away, -half, half).mean() for half in HALVES])


def error(bias: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Returns E|b + L| of Laplace noise: b + s exp(-b / s)."""
    return bias + scale * np.exp(-bias / scale)
