"""The levels that a quantile or a mode is found among, and the rank that a call asks for.

A column with few listed values is its own grid. A wider interval is cut into equal cells, and a
cell's middle stands for it: the interval form of the exponential mechanism weights candidates by
their length, and cells of one length need no weights. MIN and MAX, and the shares 0 and 1, are the
1 % and the 99 % quantile: the extreme value of one row is nobody's to tell.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlpriv.errors import Refused
from sqlpriv.kernel.proof.sensitivity import MAX_RANK
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type, Value
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.pricing.tuned_constants import EXTREME, LEVELS_OF_ALL_CELLS, STEPS
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import fold_constant

RANKED = (
    "quantile",
    "quantile_cont",
    "quantile_disc",
    "percentile_cont",
    "percentile_disc",
    "approx_quantile",
)
DISCRETE = ("min", "max", "quantile", "quantile_disc", "percentile_disc", "approx_quantile")
"""Those that are of the column's type in DuckDB: of whole numbers a whole number."""


@dataclass(frozen=True)
class Grid:
    """The levels of x: the kernel's key, and the value that each level stands for."""

    key: a.Key
    values: tuple[Value, ...]


def requested_rank(call: t.FunctionCall) -> tuple[int, int] | None:
    """Returns the rank that a call asks for, a / b; None for MODE.

    Raises:
        Refused: The share is not a number from 0 to 1.
    """
    match call.name:
        case "mode":
            return None
        case "median":
            return (1, 2)
        case "min":
            return (EXTREME, MAX_RANK)
        case "max":
            return (MAX_RANK - EXTREME, MAX_RANK)
    argument = fold_constant(call.args[1]) if len(call.args) == 2 else None
    share = argument.value if argument else None
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise refuse(
            call,
            f"{call.name.upper()} takes a share from 0 to 1",
            f"write {call.name.upper()}(x, 0.25)",
        )
    if share in (0, 1):  # its score ties all levels of an empty end: it would be any of them
        return (EXTREME if share == 0 else MAX_RANK - EXTREME), MAX_RANK
    return round(share * MAX_RANK), MAX_RANK


def level_grid(
    of: a.Expr, type_: Type, lower: Any, upper: Any, listed_values: Any, cells: int
) -> Grid:
    """Returns the levels of an expression with these bounds, or with these `known` values.

    Args:
        of: The expression.
        type_: Its type.
        lower, upper: Its public bounds; not used where `known` is short enough.
        known: Every value that it can have, or None.
        cells: How many cells have such a grid.

    >>> level_grid(a.Col("age"), Type.INTEGER, 0, 4, (0, 1, 2, 3, 4), 1).values
    (0, 1, 2, 3, 4)
    >>> level_grid(a.Col("income"), Type.REAL, 0.0, 10.0, None, 500_000).values
    (2.5, 7.5, 10.0)
    """
    steps = max(2, min(STEPS, LEVELS_OF_ALL_CELLS // max(1, cells)))
    values = [v for v in listed_values or () if v is not None]
    if values and len(values) <= steps:
        ordered = tuple(sorted(values))
        return Grid(a.Key(of, ordered), ordered)
    whole = type_ is Type.INTEGER
    width = -(-(upper - lower + 1) // steps) if whole else (upper - lower) / steps or 1.0
    count = -(-(upper - lower + 1) // width) if whole else steps + 1  # the last: the upper end
    kind = Type.INTEGER if whole else Type.REAL
    shifted = a.Call("-", (of, a.Lit(lower, kind)))
    position = a.Call("floor", (a.Call("/", (shifted, a.Lit(width, kind))),))
    middle = (width - 1) / 2 if whole else width / 2
    stands = tuple(min(float(lower + j * width + middle), float(upper)) for j in range(count))
    return Grid(a.Key(position, tuple(range(count))), stands)


def mode_grid(of: a.Expr, listed_values: Sequence[Value], cells: int) -> Grid:
    """Returns the levels of a mode: all values, since no other value is between two of them.

    Args:
        of, cells: As in `level_grid`.
        listed_values: Every value that the expression can have.

    Raises:
        Refused: All cells together have too many levels.
    """
    values = sorted({value for value in listed_values if value is not None})
    if len(values) * cells > LEVELS_OF_ALL_CELLS:
        raise Refused(
            f"MODE is looked for among {len(values):,} values in each of {cells:,} groups, and may"
            f" be among {LEVELS_OF_ALL_CELLS:,} in all of them",
            hint="ask for fewer groups, or count wider values: SELECT x // 10 AS bin, COUNT(*)",
        )
    return Grid(a.Key(of, tuple(values)), tuple(values))


def quantile_of_times(call: t.FunctionCall, binder: Binder) -> t.Node | None:
    """Returns a quantile of times of day, to the minute, by that of their minutes; None of others.

    The kernel tells the hour and the minute of a TIME, which are whole numbers between ends.
    """
    if call.name not in ("min", "max", "median", *RANKED) or not call.args:
        return None
    arg, *rest = call.args
    if not isinstance(arg, t.Name | t.Cast):
        return None
    if binder.shape(arg, binder.bind(arg)).type is not Type.TIME:
        return None
    hour, minute = (t.FunctionCall(part, (arg,), pos=arg.pos) for part in ("hour", "minute"))
    hours = t.Binary("*", hour, t.Literal(60, arg.pos), arg.pos)
    of_minutes = replace(call, args=(t.Binary("+", hours, minute, arg.pos), *rest))
    rounded = t.FunctionCall("round", (of_minutes,), pos=call.pos)
    whole = t.Cast(rounded, "BIGINT", pos=call.pos)
    minutes = t.FunctionCall("to_minutes", (whole,), pos=call.pos)
    return t.Binary("+", t.Literal(dt.time(0), call.pos), minutes, call.pos)
