"""One price divided among several measurements, to the last nano.

Not part of the trust boundary: the gate charges what it is asked to pay, however it was divided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

from sqlpriv.errors import DataError
from sqlpriv.kernel.terms.budget import Epsilon, Rho

_P = TypeVar("_P", Rho, Epsilon)


def split(price: _P, weights: Sequence[float]) -> tuple[_P, ...]:
    """Returns positive shares, proportional to `weights`, that add up to exactly `price`.

    Everyone gets one nano; the rest is shared out in proportion, the nanos left by rounding down
    to the largest remainders (the first of equal ones). So a share is within len(weights) nanos.
    Raises DataError for a weight not positive and finite, and for more weights than nanos.
    """
    if not weights or not all(math.isfinite(w) and w > 0 for w in weights):
        raise DataError("a privacy budget is split by positive weights")
    exact, rest = [Fraction(w) for w in weights], price.nano - len(weights)
    if rest < 0:
        raise DataError(f"a privacy loss of {price.value} is too small for {len(weights)} shares")
    ideal = [rest * w / sum(exact) for w in exact]
    shares = [1 + math.floor(share) for share in ideal]
    by_remainder = sorted(range(len(ideal)), key=lambda i: (math.floor(ideal[i]) - ideal[i], i))
    for i in by_remainder[: price.nano - sum(shares)]:
        shares[i] += 1
    return tuple(type(price)(share) for share in shares)
