"""GoogleSQL's and Snowflake's words for privacy inside a call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from sqlpriv.dialect.marks import MARK
from sqlpriv.errors import Refused
from sqlpriv.statements.keywords import words
from sqlpriv.statements.tree import ContributionBounds, FunctionCall, Literal, Node

if TYPE_CHECKING:
    from sqlpriv.dialect.lowering.node_lowering import NodeLowering

ANONYMIZED = words("anon_count anon_sum anon_avg anon_var_pop anon_stddev_pop anon_percentile_cont")
"""GoogleSQL's older names of private aggregates."""
ENDS_OF_INTERVAL = {"dp_interval_low": "-", "dp_interval_high": "+"}
"""Snowflake's functions: the aggregate, less or more half its 95 % interval."""
QUANTILE_LISTS = ("approx_quantiles", "quantiles")
"""GoogleSQL's functions, also with `anon_` before them, that give a list of quantiles."""
MOST_PARTS = 1_000
"""Parts of a list of quantiles: each end is measured."""
_BOUNDS = {"contribution_bounds_per_row": "row", "contribution_bounds_per_group": "group"}


def contribution_bounds(
    lowering: NodeLowering, nodes: Sequence[exp.Expr]
) -> ContributionBounds | None:
    """Returns what `contribution_bounds_per_row => (0, 10)` says; None where nothing does."""
    bounds: ContributionBounds | None = None
    for node in nodes:
        name = str(node.this.name).lower()
        ends = node.args["expression"]
        if name == "report_format":
            raise Refused.at(
                lowering.token(node.args["expression"]),
                "report_format is an option here",
                "write OPTIONS (report = true): each output gets the ends of its interval",
            )
        if name not in _BOUNDS or bounds is not None:
            raise lowering.cannot(node)
        parts = ends.expressions if isinstance(ends, exp.Tuple) else []
        values = [part.value for part in lowering.expressions(parts) if isinstance(part, Literal)]
        match values:
            case [int() | float() as lower, int() | float() as upper] if lower < upper:
                bounds = ContributionBounds(_BOUNDS[name], lower, upper)
            case _:
                raise Refused.at(
                    lowering.token(ends),
                    f"{name} takes two numbers, the lower one first",
                    f"write {name} => (0, 10)",
                )
    return bounds


def list_of_quantiles(
    lowering: NodeLowering, args: Sequence[exp.Expr], bounds: ContributionBounds | None
) -> FunctionCall | None:
    """Reads `APPROX_QUANTILES(x, 4)`, the n + 1 ends of n equal parts; None of other arguments."""
    arg, number = lowering.expressions(args) if len(args) == 2 else (None, None)
    if arg is None or not isinstance(number, Literal) or type(number.value) is not int:
        return None
    parts = number.value
    if not 0 < parts <= MOST_PARTS:
        message = f"a list of quantiles has 1 to {MOST_PARTS} parts"
        raise Refused.at(number.pos, message, "write APPROX_QUANTILES(x, 4)")
    shares = tuple(Literal(place / parts, number.pos) for place in range(parts + 1))
    listed = FunctionCall("list_value", shares, pos=number.pos)
    return FunctionCall("quantile_cont", (arg, listed), bounds=bounds, pos=arg.pos)


def one_of_quantiles(lowering: NodeLowering, node: exp.Expr) -> Node:
    """Reads `APPROX_QUANTILES(x, 4)[OFFSET(1)]`, one of the n + 1 ends of n equal parts."""
    call, index = node.this, next(iter(node.expressions), None)
    offset = 0
    if isinstance(index, exp.Anonymous) and len(index.expressions) == 1:
        offsets = {"offset": 0, "safe_offset": 0, "ordinal": 1, "safe_ordinal": 1}
        offset = offsets.get(str(index.this).partition(MARK)[0].lower(), -1)
        index = index.expressions[0]
    quantiles = lowering.expression(call)
    at = lowering.expression(index) if index is not None and offset >= 0 else None
    match quantiles, at:
        case FunctionCall(args=(arg, FunctionCall("list_value", shares))), Literal(int(place)) if (
            0 <= place - offset < len(shares)
        ):
            return replace(quantiles, args=(arg, shares[place - offset]))
    raise Refused.at(
        lowering.token(node),
        "one of the quantiles has a number from 0 on",
        "write APPROX_QUANTILES(x, 4)[OFFSET(2)] for the median",
    )
