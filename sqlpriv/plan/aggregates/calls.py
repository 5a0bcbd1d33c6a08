"""Aggregate calls: what each is over, and which of them have a private counterpart.

NULL and the count of values. AVG(x) and SUM(x) are over the rows in which x is not NULL, as in SQL,
and need the count of these rows. Where x is never NULL (`Binder.is_present`: its columns are
declared NOT NULL, in the table or with their domain) that is the count of all rows: COUNT(*) needs
the same one, and it is paid once. Elsewhere COUNT(x) is measured on its own. NOT NULL is a promise
of the owner's: a NULL that is there after all counts as the middle of the interval, since the
centred sum adds 0 for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlpriv.errors import meant_among
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Number, Type, Value
from sqlpriv.plan.aggregates.aggregate_names import (
    ANSWERED,
    COUNT_GROUPS,
    ESTIMATORS,
    KINDS,
    POOLED,
    POOLED_INSTEAD,
    REFUSED,
)
from sqlpriv.plan.aggregates.public_bounds import public_bounds
from sqlpriv.plan.aggregates.quantile_levels import DISCRETE, RANKED, requested_rank
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.casts import FLOATS
from sqlpriv.plan.expressions.facts.conditions import truths_as_numbers, whole_identities
from sqlpriv.plan.expressions.facts.dates import number_of_moment
from sqlpriv.plan.expressions.facts.public_engine import is_function
from sqlpriv.plan.expressions.facts.value_facts import Shape
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.expressions.operators import with_infinity
from sqlpriv.plan.expressions.public_evaluation import evaluate_over_lists
from sqlpriv.statements import default_name
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import fold_cast, walk

NUMBERS_OF_MOMENTS = {Type.DATE: "days", Type.TIMESTAMP: "micros"}
"""Quantiles of moments are found among their numbers: of days, or of microseconds since 1970."""


@dataclass(frozen=True)
class Aggregate:
    """One aggregate over private rows.

    Args:
        kind: count, distinct (how many values), sum, mean, variance, stddev or level (a quantile or
            a mode).
        of: What is aggregated; None for COUNT(*).
        type: Type of `of`.
        lower, upper: Public bounds of `of`; 0 and 0 for counts.
        nullable: Whether `of` may be NULL, so that its values have a count of their own.
        units: Whether each value of `of` is of one unit, as in COUNT(DISTINCT id).
        sample: The variance is the sample's (divided by n - 1), not the population's.
        rank: Of a quantile, a / b; None for a mode.
        values: Of a level: every value that `of` can have, if they are listed.
        whole: Of a quantile of whole numbers: whether it is one of them, never between two.
        zoned: Of a quantile: whether `of` is a TIMESTAMPTZ.
        digits: Of a sum or a quantile of whole numbers or decimals: how many stand behind the
            point.
        using: The estimator that `AVG(x USING …)` or `SUM(x USING …)` forces, `pooled`, or ''.
        most_values: How many different values `of` can have at most, of COUNT(DISTINCT …).
    """

    kind: str
    of: a.Expr | None = None
    type: Type | None = None
    lower: Number = 0
    upper: Number = 0
    nullable: bool = False
    sample: bool = False
    rank: tuple[int, int] | None = None
    values: tuple[Value, ...] | None = None
    whole: bool = False
    using: str = ""
    units: bool = False
    digits: int | None = None
    zoned: bool = False
    most_values: int | None = None


def is_aggregate(node: t.Node) -> bool:
    """Whether the expression itself is a call of an aggregate, private counterpart or not."""
    if not isinstance(node, t.FunctionCall):
        return False
    return node.star or node.name in KINDS or node.name in REFUSED


def aggregate_calls(node: t.Node) -> Iterator[t.FunctionCall]:
    """Yields the aggregate calls inside an expression, outermost first."""
    return (part for part in walk(node) if isinstance(part, t.FunctionCall) and is_aggregate(part))


def read_aggregate(call: t.FunctionCall, binder: Binder) -> Aggregate:
    """Returns what an aggregate call asks for.

    `FILTER (WHERE p)` becomes `CASE WHEN p THEN x END`: what does not pass is NULL.

    Raises:
        Refused: No private counterpart, or bounds are needed and not declared.
    """
    names_unit = call.distinct and whole_identities(_identified_by(call.args, binder))
    if names_unit:  # rows without a part of the unit's key are nobody's, and never read
        call = replace(call, args=call.args[:1])
    _check_form(call)
    call = _cast_to_doubles(call, binder)
    kind = KINDS[call.name]
    if call.name in ("count_if", "countif") and len(call.args) == 1:
        test, arg, call_filter = call.args[0], None, call.filter
        call_filter = t.Binary("and", call_filter, test, call.pos) if call_filter else test
    else:
        arg, call_filter = next(iter(call.args), None), call.filter
    constant = fold_cast(arg) if arg is not None and call.distinct else None
    if isinstance(constant, t.Literal) and constant.value is not None:
        raise refuse(call, "one value is no more than one different value", "write 1 for it")
    of = binder.bind(arg) if arg is not None and not _counts_all(call, arg, binder) else None
    if call.name == "sum" and of is not None and binder.shape(call, of).type is Type.BOOLEAN:
        of = truths_as_numbers(of)
    if kind == "level" and arg is not None and of is not None:
        return _read_level(call, arg, of, binder)
    if kind != "count" and of is not None and arg is not None:
        bounds = public_bounds(call, arg, of, binder)
    else:
        bounds = (0, 0)
    digits = binder.shape(call, of).digits if kind == "sum" and of is not None else None
    if kind in ("sum", "mean", "variance", "stddev") and of is not None:
        of = _without_rounding(of)
    if call.distinct and of is not None:
        kind = "count" if names_unit else "distinct"
        if call_filter is not None:
            of = _apply_filter(call_filter, of, binder)
        shape = binder.shape(call, of)
        most = None if names_unit else _most_values(shape)
        return Aggregate(
            kind, of, shape.type, nullable=True, units=bool(names_unit), most_values=most
        )
    if kind == "count" and of is not None and (counted := with_infinity(binder, of)) is not of:
        present = a.Call("not", (a.Call("is null", (counted,)),))
        of = a.Case(((present, a.Lit(1, Type.INTEGER)),), a.Lit(None, Type.INTEGER))
    if call_filter is not None:
        of = _apply_filter(call_filter, of, binder)
    if of is None:
        return Aggregate("count")
    shape = binder.shape(call, of)
    absent = not binder.is_present(of)
    if kind == "count" and not absent:
        return Aggregate("count")
    sample = kind in ("variance", "stddev") and not call.name.endswith("_pop")
    return Aggregate(kind, of, shape.type, *bounds, absent, sample, using=call.using, digits=digits)


def _cast_to_doubles(call: t.FunctionCall, binder: Binder) -> t.FunctionCall:
    """Returns SUM(x::FLOAT) as SUM(x::DOUBLE), unless x has a public list to cast: no comparison
    sees the digits that FLOAT lacks. An aggregate that compares values stays as it is."""
    match call.args:
        case (t.Cast(type=type_) as cast,) if (
            type_ in FLOATS
            and KINDS[call.name] in ("count", "sum", "mean", "variance", "stddev")
            and not call.distinct
            and evaluate_over_lists(binder, cast) is None
        ):
            return replace(call, args=(replace(cast, type="DOUBLE"),))
    return call


def _read_level(call: t.FunctionCall, arg: t.Node, of: a.Expr, binder: Binder) -> Aggregate:
    """Returns a quantile, which needs bounds, or a mode, which needs a list of values."""
    shape, ranked = binder.shape(arg, of), requested_rank(call)
    if ranked is None and (shape.values is None or shape.type is Type.REAL):
        raise refuse(call, "MODE needs a public list of its argument's values", COUNT_GROUPS)
    values = shape.values
    if ranked and shape.type in NUMBERS_OF_MOMENTS:
        of = a.Call(NUMBERS_OF_MOMENTS[shape.type], (of,))
        numbers = [number_of_moment(value) for value in values or () if value is not None]
        values = tuple(numbers) or None
    bounds = public_bounds(call, arg, of, binder) if ranked else (0, 0)
    if call.filter is not None:
        of = _apply_filter(call.filter, of, binder)
    if call.using and shape.type in NUMBERS_OF_MOMENTS:
        hint = "leave out USING, or take days: date_diff('day', DATE '2024-01-01', "
        hint += f"{default_name(t.Item(arg))})"
        raise refuse(call, f"{call.name.upper()} of moments has no estimator {call.using}", hint)
    return Aggregate(
        "level",
        of,
        shape.type,
        *bounds,
        not binder.is_present(of),
        rank=ranked,
        values=values,
        whole=shape.type is Type.INTEGER and call.name in DISCRETE,
        using=call.using,
        digits=shape.scale if ranked else None,
        zoned=bool(shape.zoned),
    )


def _most_values(shape: Shape) -> int | None:
    """Returns how many different values an expression can have at most, NULL not counted."""
    if shape.values is not None:
        return len(set(shape.values) - {None})
    if shape.type is Type.INTEGER and shape.lower is not None and shape.upper is not None:
        return int(shape.upper - shape.lower) + 1
    return None


def _identified_by(args: Sequence[t.Node], binder: Binder) -> frozenset[str]:
    """Returns what columns identify, where all arguments are columns; see `Binder.named`."""
    exprs = [binder.bind(arg) for arg in args if isinstance(arg, t.Name)]
    if len(exprs) < len(args) or not all(isinstance(expr, a.Col) for expr in exprs):
        return frozenset()
    named = (binder.named.get(e.name.lower(), ()) for e in exprs if isinstance(e, a.Col))
    return frozenset().union(*named)


def _counts_all(call: t.FunctionCall, arg: t.Node, binder: Binder) -> bool:
    """Returns whether COUNT(x) counts all rows: x is a constant, or a column without NULL of a type
    that row expressions do not have."""
    constant = isinstance(arg, t.Literal) and arg.value is not None
    column = binder.column_of(arg).lower() if isinstance(arg, t.Name) else ""
    is_there = column in binder.unread and column in binder.required and not call.distinct
    return KINDS[call.name] == "count" and (constant or is_there)


def _check_form(call: t.FunctionCall) -> None:
    """Refuses what no private aggregate can have."""
    if call.name not in KINDS:
        hint = REFUSED.get(call.name) or meant_among(call.name, KINDS) + ANSWERED
        is_unknown = call.name not in REFUSED and not is_function(call.name)
        what = "is no function" if is_unknown else "has no private counterpart"
        raise refuse(call, f"{call.name.upper()} {what}", hint)
    if call.distinct and call.name != "count":
        raise refuse(
            call, f"{call.name.upper()}(DISTINCT …) has no private counterpart", COUNT_GROUPS
        )
    kind, is_pooled = KINDS[call.name], call.using == "pooled" and call.name != "mode"
    has_estimators = kind in ("mean", "sum") and call.using in ESTIMATORS
    if call.using and not has_estimators and not (is_pooled and kind in POOLED):
        hint = f"AVG(x USING …) and SUM(x USING …) take one of: {', '.join(ESTIMATORS)}"
        if call.using == "pooled":
            hint = POOLED_INSTEAD
        raise refuse(call, f"{call.name.upper()} has no estimator {call.using}", hint)
    counts_rows = KINDS[call.name] == "count" and call.name not in ("count_if", "countif")
    most = 2 if call.name in RANKED else 1
    if len(call.args) > most or (not call.args and not counts_rows) or (call.star and call.args):
        raise refuse(
            call,
            f"{call.name.upper()} takes {'two arguments' if most > 1 else 'one argument'}",
            f"write {call.name.upper()}(x{', 0.25' if most > 1 else ''})",
        )
    for arg in call.args:
        for inner in aggregate_calls(arg):
            raise refuse(
                inner, "an aggregate cannot hold another", "build it outside: SUM(x) / COUNT(*)"
            )


def _without_rounding(expr: a.Expr) -> a.Expr:
    """Returns the sum, difference or product of decimals without rounding to their digits.

    Doubles miss a decimal by parts of 2**-52; the kernel's lattice is coarser than that (2**-41 of
    the interval), so a sum is the same, and its SQL is shorter.
    """
    match expr:
        case a.Call(op, (arg,)) if op.startswith("scale ") and isinstance(arg, a.Call):
            return _without_rounding(arg) if arg.op in ("+", "-", "*") else expr
        case a.Call("+" | "-" | "*" | "neg" as op, args):
            return a.Call(op, tuple(map(_without_rounding, args)))
    return expr


def _apply_filter(predicate: t.Node, of: a.Expr | None, binder: Binder) -> a.Expr:
    test = binder.bind_predicate(predicate, "FILTER")
    value: a.Expr = a.Lit(1, Type.INTEGER) if of is None else of
    return a.Case(((test, value),), a.Lit(None, binder.shape(predicate, value).type))
