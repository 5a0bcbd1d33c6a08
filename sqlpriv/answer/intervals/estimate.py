"""What is estimated: values, and how far 95 % intervals around them reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimate:
    """Values and the standard deviations of their errors; NaN where there is no value.

    `z` is the 95 % half-width in standard deviations, `span` the most that a half-width may be.
    `whole` says that values and errors are whole numbers. `impossible` is the part of `z *
    deviations` that is left out because nothing that is estimated can be there. `is_stated` says
    which values are shown whatever their half-width is; None leaves it to the half-widths.
    """

    values: Array
    deviations: Array
    z: float
    span: Array | float = float("inf")
    whole: bool = False
    impossible: Array | float = 0.0
    is_stated: NDArray[np.bool_] | None = None

    @property
    def half_widths(self) -> Array:
        """Half-widths of the 95 % intervals, cut at the range of what is estimated.

        Of whole numbers ±2.996 holds no more than ±2 does, which is 92.7 % of discrete Laplace
        noise of scale 1, and ±1.96 88 % of discrete Gaussian noise of deviation 1. So half-widths
        whose fraction is above a half are rounded up: by the continuity correction the whole number
        below is too little.

        Where noise took a figure so far out that less than a standard deviation of the interval is
        possible, or nothing, that is luck, not precision (Mandelkern 2002, "Setting confidence
        intervals for bounded parameters"): a standard deviation is stated.

        >>> Estimate(np.zeros(2), np.array([0.5, 9.0]), 2.0, span=10.0).half_widths.tolist()
        [1.0, 10.0]
        >>> Estimate(np.zeros(2), np.array([1.4, 1.7]), 2.0, whole=True).half_widths.tolist()
        [3.0, 3.4]
        >>> Estimate(np.zeros(2), np.ones(2), 2.0, impossible=np.array([0.5, 4.0])).half_widths
        array([1.5, 1. ])
        """
        possible = np.maximum(self.z * self.deviations - self.impossible, self.deviations)
        widths = np.asarray(np.minimum(possible, self.span))
        return np.maximum(widths, np.rint(widths)) if self.whole else widths
