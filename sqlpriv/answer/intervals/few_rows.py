"""Which means and variances are stated, and how far their intervals reach where rows are few.

**The fault.** A half-width falls with the noised count N. While none was stated that was as long as
the domain, N decided which groups had one: of groups of few rows those whose count the noise made
look large, and of these intervals .65 to .85 held, since a ratio S / N is drawn to 0 there.

**The cure** is that of quantiles (`level_intervals`, "Few rows"), where its proof is. Which figures
are stated is decided by public numbers and by N alone: N is above c, z deviations of its own noise.
Up to 2 c every chance is taken .05 times, which for most figures makes all that is possible
possible: they are stated with a half-width that reaches to the farther end of it. So what noise
puts above 2 c is a twentieth of what is stated at most, whatever the number of rows.

Sums may be noised by more than their count. A row moves S by w / 2 and Q by w² / 8 at most: in rows
their noise is σ_S / (w / 2) and σ_Q / (w² / 8), and up to z of the largest of the three the
interval cannot be shorter than the domain. That, too, is public, and is c there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.intervals.level_intervals import OF_FEW_ROWS, TAIL, deviations_of_sums
from sqlpriv.plan.pricing.statement import LAPLACE_95


def noise_in_rows(variances: tuple[Array | float, ...], width: float) -> Array:
    """Returns the deviation of the noise that hides most rows, in rows: c / z.

    Args:
        variances: Of the noise of N, of S and, of a variance, of Q.
        width: w, of the declared interval.

    >>> float(noise_in_rows((4.0, 100.0), 10.0)), float(noise_in_rows((4.0, 225.0), 10.0))
    (2.0, 3.0)
    """
    moves = (1.0, width / 2, width**2 / 8)
    pairs = zip(variances, moves, strict=False)
    in_rows = [np.sqrt(variance) / move for variance, move in pairs if move > 0]
    return np.asarray(np.max(np.broadcast_arrays(*in_rows), axis=0))


def reach_of_rows(n: Array, deviation: Array | float, z: float) -> Array:
    """Returns how many deviations of noise an interval reaches that is made of so many rows.

    Args:
        n: Noised counts.
        deviation: Of the noise that hides most rows: `noise_in_rows`.
        z: The 95 % half-width of such noise, in deviations.

    >>> reach_of_rows(np.array([3.0, 4.5, 40.0]), 2.0, 1.96).round(2).tolist()
    [3.02, 3.02, 1.96]
    >>> reach_of_rows(np.array([8.0, 9.0]), 2.0, LAPLACE_95).round(2).tolist()
    [4.24, 2.12]
    """
    kurtosis = np.array(3.0)  # of one Laplace noise; a sum of several has less
    far = deviations_of_sums(z < LAPLACE_95, kurtosis, OF_FEW_ROWS * TAIL)
    return np.where(n < 2 * z * np.asarray(deviation), far, z)


def are_rows_told(n: Array, deviation: Array | float, z: float) -> NDArray[np.bool_]:
    """Returns of which cells a figure is stated: of those with more rows than c.

    Args:
        n, deviation, z: See `reach_of_rows`.

    >>> are_rows_told(np.array([3.0, 5.0]), 2.0, 2.0).tolist()
    [False, True]
    """
    return np.asarray(n > z * np.asarray(deviation))
