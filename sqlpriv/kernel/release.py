"""The only numbers that leave the kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.algebra import Query
from sqlpriv.kernel.budget import Price


@dataclass(frozen=True)
class Measurement:
    """A query, and the price of measuring it in every stratum that a unit touches."""

    query: Query
    price: Price


@dataclass(frozen=True, eq=False)
class Release:
    """The noised answer to one measurement.

    Args:
        id: Number of its seal in the ledger.
        query: What was measured; `algebra.shape(query)` is the shape of `values`.
        values: float64; counts, or sums of `of - middle` in the units of `of`. Unbiased: may be
            negative or beyond any bound.
        sigma: Standard deviation of the noise on every cell, in the units of `values`.
        price: What was paid for it.
        replayed: It came from a seal, at no cost.
    """

    id: int
    query: Query
    values: NDArray[np.float64]
    sigma: float
    price: Price
    replayed: bool = False
