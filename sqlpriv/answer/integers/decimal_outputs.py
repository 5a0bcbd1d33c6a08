"""Outputs that DuckDB shows as DECIMALs: sums, MIN, MAX and quantiles of decimals, + - * of them.

Cells hold doubles, which are rounded to the digits of the column's type (`round_to_digits`): a
noised sum of cents is one of cents. An output of such numbers is cast; another one is a DOUBLE.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from sqlpriv.plan.computed_columns import AGGREGATE
from sqlpriv.plan.plan import Output
from sqlpriv.statements import tree as t

_MOST_DIGITS = 12
"""Digits behind the point: a DECIMAL of 38 has 26 before it, for 2**31 times 2**53 rows."""
_SAME = ("abs", "coalesce", "nullif", "greatest", "least")


def decimal_types(output: Output) -> dict[int, str]:
    """Returns the DECIMAL type of each output that is one, by its place."""
    digits: dict[str, int | None] = {}
    for marginal in output.marginals:
        digits |= {f"{AGGREGATE}{i}": x.digits for i, x in enumerate(marginal.recipes)}
    if all(value is None for value in digits.values()):
        return {}
    each = {place: _digits(item, digits) for place, item in enumerate(output.items)}
    return {place: f"DECIMAL(38, {n})" for place, n in each.items() if n is not None}


def _digits(node: t.Node, digits: dict[str, int | None]) -> int | None:
    """Returns the digits behind the point of an output with a decimal in it; None of others."""
    names: list[str] = []
    count = _digits_of(node, digits, names)
    is_decimal = count is not None and any(digits[name] for name in names)
    return count if is_decimal and count is not None and count <= _MOST_DIGITS else None


def _digits_of(node: t.Node, digits: dict[str, int | None], names: list[str]) -> int | None:
    match node:
        case t.Name(name) if name in digits:
            names.append(name)
            return digits[name]
        case t.Literal(bool() | None):
            return None
        case t.Literal(int()):
            return 0
        case t.Literal(float() as value, exponent=False):
            exponent = Decimal(repr(value)).as_tuple().exponent
            return max(0, -exponent) if isinstance(exponent, int) else None
        case t.Unary("-", arg):
            return _digits_of(arg, digits, names)
        case t.Binary("+" | "-" | "*" as op, left, right):
            parts = [_digits_of(part, digits, names) for part in (left, right)]
            return None if None in parts else (sum if op == "*" else max)(x or 0 for x in parts)
        case t.FunctionCall("round", (arg, t.Literal(int() as kept))) if kept >= 0:
            count = _digits_of(arg, digits, names)
            return None if count is None else min(kept, count)
        case t.FunctionCall(name, args) if name in _SAME and args:
            parts = [_digits_of(part, digits, names) for part in args]
            return None if None in parts else max(x or 0 for x in parts)
    return None


def round_to_digits(column: NDArray[np.float64], digits: int | None) -> NDArray[np.float64]:
    """Returns numbers rounded to so many digits behind the point; as they are for None."""
    return column if digits is None else np.round(column, digits)
