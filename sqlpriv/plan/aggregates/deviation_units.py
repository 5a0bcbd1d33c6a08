"""Units in which products of deviations have sums, where domains are wide.

The kernel adds up what lies within ±2^62. A variance sums squares of x - middle, a kurtosis their
fourth powers: beyond 4.3e9 and 9.3e4, so long is the domain at most, these are counted in larger
units. A unit is a power of 2, so no digit is lost, and the figure is what it would be without.
"""

from __future__ import annotations

import math
from dataclasses import replace

from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.statements import tree as t


def unit_of_deviations(width: float, power: int) -> float:
    """Returns what deviations are counted in for their products to have sums: a power of 2, so that
    no digit is lost, and 1 where products of so many lie within ±2^60 as they are.

    >>> unit_of_deviations(1e6, 2), unit_of_deviations(1e10, 2), unit_of_deviations(1e6, 4)
    (1.0, 8.0, 16.0)
    """
    half = max(width / 2, 1.0)
    return 2.0 ** max(0, math.ceil(math.log2(half) - 60 / power))


UNITS: dict[str, tuple[int, tuple[int, ...]]] = {
    "covar_pop": (2, (1, 1)),
    "covar_samp": (2, (1, 1)),
    "corr": (2, (0, 0)),
    "regr_slope": (2, (1, -1)),
    "regr_intercept": (2, (1, 0)),
    "regr_r2": (2, (0, 0)),
    "regr_sxy": (2, (1, 1)),
    "skewness": (3, (0,)),
    "kurtosis": (4, (0,)),
    "kurtosis_pop": (4, (0,)),
}
"""Name → of how many deviations it sums products, and by which power of each argument's unit the
figure grows."""


def in_larger_units(call: t.FunctionCall, binder: Binder) -> tuple[t.FunctionCall, float]:
    """Returns the call over arguments in units in which the products have sums, and what the figure
    of these is to be multiplied by; the call as it is, and 1, where it needs none."""
    power, exponents = UNITS.get(call.name, (1, ()))
    args, factor = list(call.args), 1.0
    for i, exponent in enumerate(exponents):
        shape = binder.shape(args[i], binder.bind(args[i]))
        if shape.lower is None or shape.upper is None:
            continue
        unit = unit_of_deviations(float(shape.upper) - float(shape.lower), power)
        if unit != 1:
            args[i] = t.Binary("*", args[i], t.Literal(1 / unit, exponent=True), args[i].pos)
            factor *= unit**exponent
    return replace(call, args=tuple(args)), factor
