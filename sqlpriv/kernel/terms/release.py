"""The only numbers that leave the kernel."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms.algebra import Asked
from sqlpriv.kernel.terms.budget import Price


@dataclass(frozen=True)
class Measurement:
    """A query, and the price of measuring it in every stratum that a unit touches."""

    query: Asked
    price: Price


@dataclass(frozen=True, eq=False)
class Release:
    """The noised answer to one measurement, at the price that was paid.

    `id` is its seal's, and 0 before it has one. `values` are float64 of `algebra.shape(query)`:
    counts, or sums of `of - middle` in its units, unbiased, so they may be negative; `sigma` is the
    noise's standard deviation on every cell. Of a `Level` they are positions in its list, chosen,
    not noised: sigma is 0.
    """

    id: int
    query: Asked
    values: NDArray[np.float64]
    sigma: float
    price: Price
    replayed: bool = False
