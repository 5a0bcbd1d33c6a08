"""The number that a level stands for, where linear forms of levels are computed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms.contract import Interval, Type
from sqlpriv.synth.domain.domain import Attribute
from sqlpriv.synth.domain.lattice import number_of


def level_values(attribute: Attribute) -> NDArray[np.float64] | None:
    """Returns the mean of the values of each level of a numeric column, and how far to either side
    of it they are taken to lie, shape (levels, 2).

    NULL stands for the lower end of the domain, as in slices. Returns None for a column whose
    domain is no interval of numbers. Where the shares of a bin's parts are known, the mean is over
    those; else values are taken to lie evenly inside a bin.
    """
    column, bounds = attribute.column, attribute.bounds
    if column.type not in (Type.INTEGER, Type.REAL) or not isinstance(column.domain, Interval):
        return None
    lower = float(number_of(column, column.domain.lower))
    if bounds is None:
        numbers = [
            lower if v is None else float(number_of(column, v)) for v in attribute.key.values
        ]
        return np.stack([numbers, np.zeros(len(numbers))], axis=1)
    ends = np.asarray(bounds, dtype=np.float64)
    low, high = ends[:-1], ends[1:] - (0.0 if column.type is Type.REAL else 1.0)
    means = (low + high) / 2
    if attribute.within is not None:
        within = attribute.within
        first, last = within.ends[:-1], within.ends[1:] - 1
        middles = (within.lattice.value(first) + within.lattice.value(last)) / 2
        at = within.first[:, None] + np.arange(within.share.shape[1])
        means = (within.share * middles[np.minimum(at, middles.size - 1)]).sum(axis=1)
    reach = np.maximum(np.minimum(means - low, high - means), 0.0)
    values = np.stack([means, reach], axis=1)
    null = [[lower, 0.0]] * (attribute.size - len(values))
    return np.concatenate([values, null]) if null else values
