"""One price divided among several measurements, to the last nano.

Not part of the trust boundary: the gate charges what it is asked to pay, however it was divided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

from sqlpriv.errors import DataError, Refused
from sqlpriv.kernel.terms.budget import Price

_P = TypeVar("_P", bound=Price)


def split_price(price: _P, weights: Sequence[float]) -> tuple[_P, ...]:
    """Returns positive parts of a price, proportional to `weights`, that add up to it exactly.

    Each part gets one nano first. The other nanos are divided in proportion; those that rounding
    down leaves go to the largest remainders, the first of equal ones. So each part is within
    len(weights) nanos of its proportion.

    Args:
        price: What is divided, in nano-rho or nano-epsilon.
        weights: One positive finite number for each part.

    Raises:
        DataError: A weight is not positive and finite, or there are more weights than nanos.

    >>> from sqlpriv.kernel.terms.budget import Epsilon, Rho
    >>> [part.nano for part in split_price(Rho(10), (1, 1, 1))]
    [4, 3, 3]
    >>> [part.nano for part in split_price(Epsilon(1_000_000_000), (0.04, 0.06, 0.9))]
    [40000001, 60000001, 899999998]
    """
    if not weights or not all(math.isfinite(w) and w > 0 for w in weights):
        raise DataError("a privacy budget is split by positive weights")
    exact, rest = [Fraction(w) for w in weights], price.nano - len(weights)
    if rest < 0:
        what = f"a privacy loss of {price.value} is too small for {len(weights)} shares"
        raise DataError(f"{what}: pay a larger epsilon, or ask for less")
    per_weight = rest / sum(exact)
    ideal = [w * per_weight for w in exact]
    shares = [1 + math.floor(share) for share in ideal]
    by_remainder = sorted(range(len(ideal)), key=lambda i: (math.floor(ideal[i]) - ideal[i], i))
    for i in by_remainder[: price.nano - sum(shares)]:
        shares[i] += 1
    return tuple(type(price)(share) for share in shares)


def split_statement_price(price: _P, weights: Sequence[float]) -> tuple[_P, ...]:
    """Returns parts as `split_price` does.

    Raises:
        Refused: The statement's price has too few nanos; says what to write.
    """
    try:
        return split_price(price, weights)
    except DataError as error:
        raise Refused(str(error), hint="give the statement a larger epsilon") from None
