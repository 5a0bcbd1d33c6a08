"""The list of values that an operation gives, where its arguments' values are listed.

Values are computed as the kernel computes them: numbers in doubles, step by step.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from sqlpriv.kernel.terms.contract import Type
from sqlpriv.plan.expressions.facts.value_facts import MAX_LEVELS, Shape

MOST_EVALUATED = 10_000
"""Values are computed one by one, 1 µs each."""
_KEPT = 64
"""Lists that are kept: planning asks for the shape of an expression again for each that holds it,
so that nine outputs that double one another took 12 s."""
_NUMBERS = (Type.INTEGER, Type.REAL)


def with_results_listed(op: str, args: Sequence[Shape], result: Shape) -> Shape:
    """Returns the shape of an operation on numbers with its values, where these can be listed.

    Args:
        op: Of `operations.OPERATIONS`.
        args: Shapes of its arguments.
        result: Its shape so far.

    >>> tens = Shape(Type.INTEGER, 0, 3, False, (0, 1, 2, 3))
    >>> ten = Shape(Type.INTEGER, 10, 10, False, (10,))
    >>> with_results_listed("*", [tens, ten], Shape(Type.INTEGER, 0, 30, False)).values
    (0, 10, 20, 30)
    >>> cut = Shape(Type.REAL, 0.5, 2.5, False)
    >>> with_results_listed("floor", [cut], Shape(Type.REAL, 0, 3, False)).values
    (0.0, 1.0, 2.0, 3.0)
    """
    if result.type not in _NUMBERS or any(arg.type not in _NUMBERS for arg in args):
        return result
    if all(arg.values is not None for arg in args):
        return list_values(op, tuple(args), result)
    return _grid(op, args, result)


@lru_cache(_KEPT)
def list_values(op: str, args: tuple[Shape, ...], result: Shape) -> Shape:
    """Returns the shape with the values of an operation on listed ones, if these are few."""
    lists = [_numbers(arg) for arg in args]
    compute = _compute(op, args)
    if compute is None or math.prod(map(len, lists)) > MOST_EVALUATED:
        return result
    try:
        values = {compute(*row) for row in itertools.product(*lists)}
    except (OverflowError, ValueError, ZeroDivisionError):
        return result
    numbers: list[Any] = sorted(v for v in values if v is not None)
    if not numbers or not all(map(math.isfinite, numbers)):
        return result
    listed = [int(v) if result.type is Type.INTEGER else float(v) + 0.0 for v in numbers]
    nullable = result.nullable or None in values
    return replace(
        result,
        lower=listed[0],
        upper=listed[-1],
        nullable=nullable,
        values=(*listed, *((None,) if nullable else ())),
    )


def _grid(op: str, args: Sequence[Shape], result: Shape) -> Shape:
    """Returns the shape of a rounded number, whose values are the multiples of a step."""
    rounded = op in ("floor", "ceil", "round", "trunc") and result.type is Type.REAL
    digits = 0 if rounded else int(op[6:]) if op.startswith("scale ") else None
    if digits is None or result.lower is None or len(args) != 1 or abs(digits) > 15:
        return result
    unit = 10.0 ** abs(digits)
    low, high = (end * unit if digits >= 0 else end / unit for end in (result.lower, result.upper))
    first, last = math.floor(low + 0.5), math.ceil(high - 0.5)
    if last - first >= MAX_LEVELS or max(abs(first), abs(last)) >= 2**53:
        return result
    steps = range(first, last + 1)
    values = tuple(n / unit if digits >= 0 else n * unit for n in steps)
    return replace(result, values=(*values, *((None,) if result.nullable else ())))


def _numbers(arg: Shape) -> list[Any]:
    return [value for value in arg.values or () if value is not None]


def _compute(op: str, args: Sequence[Shape]) -> Callable[..., Any] | None:
    """Returns the operation on Python's numbers; None for one that is not listed."""
    whole = all(arg.type is Type.INTEGER for arg in args)
    if op.startswith("scale "):
        return lambda x: _round_half_away(x, int(op[6:]))
    table: dict[str, Callable[..., Any]] = {
        "+": lambda x, y: x + y,
        "-": lambda x, y: x - y,
        "*": lambda x, y: x * y,
        "/": lambda x, y: x / y if y else None,
        "//": lambda x, y: (math.trunc(x / y) if whole else x / y) if y else None,
        "%": lambda x, y: math.fmod(x, y) if y else None,
        "neg": lambda x: -x,
        "abs": abs,
        "floor": math.floor,
        "ceil": math.ceil,
        "trunc": math.trunc,
        "round": lambda x: _round_half_away(x, 0),
        "sign": lambda x: (x > 0) - (x < 0),
        "integer": round,
        "real": float,
        "&": lambda x, y: x & y,
        "|": lambda x, y: x | y,
    }
    return table.get(op)


def _round_half_away(x: float, digits: int) -> float:
    """Returns a number rounded as DuckDB rounds doubles: a half goes away from zero."""
    unit = 10.0 ** abs(digits)
    scaled = x * unit if digits >= 0 else x / unit
    near = math.copysign(math.floor(abs(scaled) + 0.5), scaled)
    return near / unit if digits >= 0 else near * unit
