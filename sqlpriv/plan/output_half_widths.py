"""How far an output over several aggregates may be off: written as SQL over their half-widths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from sqlpriv.plan.aggregates.calls import Aggregate
from sqlpriv.plan.computed_columns import AGGREGATE, HALF, LIST, aggregates_in
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import walk, with_aliases


def half_width(item: t.Node, shared: Sequence[int] = ()) -> t.Node | None:
    """Returns how far an output f moves over the aggregates a_i within their half-widths h_i.

    Aggregate i contributes w_i = |f(a_i + h_i) - f(a_i - h_i)| / 2. Errors of aggregates that share
    no release are independent: the roots of their squares are added. What shares a release adds up
    as if it erred in one direction, an upper bound whatever the covariance:

        √(Σ_c (Σ_{i in c} w_i)²)    over the sets c of aggregates that share releases

    None where there is no aggregate. TRY makes NULL of an end at which f is not defined.

    Args:
        item: The output.
        shared: The set of each aggregate: see `sets_of_shared_releases`. Without, all are one.
    """
    totals: dict[int, t.Node] = {}
    for i in aggregates_in(item):
        high, low = (_shift_aggregate(item, i, op) for op in "+-")
        width = t.Binary("/", t.FunctionCall("abs", (t.Binary("-", high, low),)), t.Literal(2))
        of = shared[i] if shared else 0
        totals[of] = width if of not in totals else t.Binary("+", totals[of], width)
    if len(totals) < 2:
        return next(iter(totals.values()), None)
    squares: list[t.Node] = [
        t.FunctionCall("pow", (total, t.Literal(2))) for total in totals.values()
    ]
    return t.FunctionCall("sqrt", (reduce(lambda x, y: t.Binary("+", x, y), squares),))


def sets_of_shared_releases(aggregates: Iterable[Aggregate]) -> tuple[int, ...]:
    """Returns the number of each aggregate's set: those of one set may share a release.

    Aggregates over one expression share its count, and all that are there in every row the rows'.

    >>> from sqlpriv.kernel.terms.algebra import Col
    >>> rows, pay, age = Aggregate("count"), Aggregate("sum", Col("pay")), Col("age")
    >>> sets_of_shared_releases([rows, pay, Aggregate("mean", age, nullable=True)])
    (0, 0, 1)
    """
    counts = [one.of if one.nullable else None for one in aggregates]
    number = {of: place for place, of in enumerate(dict.fromkeys(counts))}
    return tuple(number[of] for of in counts)


def _shift_aggregate(item: t.Node, i: int, op: str) -> t.Node:
    moved = t.Binary(op, t.Name(f"{AGGREGATE}{i}"), t.Name(f"{HALF}{i}"))
    end = t.FunctionCall("try", (with_aliases(item, {f"{AGGREGATE}{i}": moved}),))
    number = t.Cast(end, "DOUBLE", try_=True)
    return t.FunctionCall("nullif", (number, t.Cast(t.Literal("NaN"), "DOUBLE")))


def has_half_width(node: t.Node) -> bool:
    """Whether an output has half-widths: it is made of aggregates, and is none itself."""
    names = [part.name for part in walk(node) if isinstance(part, t.Name)]
    is_list = any(isinstance(part, t.FunctionCall) and part.name == LIST for part in walk(node))
    own = any(name.startswith(HALF) for name in names)
    return bool(aggregates_in(node)) and not own and not is_list


def with_interval_ends(name: str, item: t.Node, shared: Sequence[int]) -> list[tuple[str, t.Node]]:
    """Returns an output and, where it is made of aggregates, the ends of its 95 % interval."""
    width = half_width(item, shared) if has_half_width(item) else None
    if width is None:
        return [(name, item)]
    value = t.Cast(item, "DOUBLE", try_=True)
    ends = [t.Binary(op, value, width) for op in "-+"]
    return [(name, item), (f"{name}_lo", ends[0]), (f"{name}_hi", ends[1])]
