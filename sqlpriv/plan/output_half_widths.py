"""How far an output over several aggregates may be off: written as SQL over their half-widths."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import NamedTuple

from sqlpriv.plan.aggregates.calls import Aggregate
from sqlpriv.plan.aggregates.moment_formulas import at_least_one
from sqlpriv.plan.cells.computed_columns import (
    AGGREGATE,
    END,
    HALF,
    LIST,
    OWN_WEIGHT,
    PART,
    PLAIN,
    SHIFTS,
    aggregates_in,
)
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import rebuild, walk, with_aliases

DIVISIONS = ("/", "//", "%")


class SharedReleases(NamedTuple):
    """What of an aggregate's errors may be those of others, too.

    Args:
        counts: The number of its set: aggregates of different sets share no release.
        values: The number of what it is of: those of one set and number may share their sums.
        parts: Keys of `SHIFTS`: the releases that it may be made of, and "rest".
    """

    counts: int
    values: int
    parts: tuple[str, ...]


def half_width(item: t.Node, shared: Sequence[SharedReleases] = ()) -> t.Node | None:
    """Returns how far an output f may be off: 95 % half-widths of the noise of all its aggregates.

    Noise of one release moves all aggregates that are made of it at once, with their signs. With
    d_ri the move of aggregate a_i under the half-width of release r, f's half-width is

        √(Σ_r w_r² + Σ_c (Σ_{i in c} v_i)²),   w_r = max |f(… a_i ± d_ri …) - f(…)|

    to first order that of the covariance of what f is made of. Releases are independent of each
    other. v_i is as w_r, by what of a_i's own half-width no release explains: what clipping may
    have lost, say. Within a set c of aggregates it adds up as if it erred in one direction. An
    aggregate alone in its set moves by its own half-width. None where there is no aggregate. TRY
    makes NULL of an end at which f is not defined.

    **Divisors.** Of 1 / a the farther end counts, not the mean of both, which is short of it where
    the noise is much of a. Where a itself may be 0 the ratio may be anything (Fieller 1954): the
    half-width is NULL where the interval of a divisor holds 0. By the mean of both ends, across 0,
    the relative risk of groups of some tens of rows held .71 (zCDP) and .86.

    **Correlations**, which are brought into [-1, 1], and their squares are there where both
    variances are above their half-widths, and have a half-width wherever they are: see
    `_half_width_of_correlation`.

    Args:
        item: The output.
        shared: Of each aggregate: see `shared_releases`. Without, each is alone.
    """
    width = _width_by_moves(item, shared)
    if width is None:
        return None
    if (ratio := correlation_of(item)) is not None:
        return _half_width_of_correlation(item, ratio, width)
    conditions = [_is_not_zero(divisor, shared) for divisor in uncertain_divisors(item)]
    if not conditions:
        return width
    return t.CaseWhen(((reduce(lambda x, y: t.Binary("and", x, y), conditions), width),))


def correlation_of(item: t.Node) -> t.Binary | None:
    """Returns the ratio brought into [-1, 1] that an output is, or is the square of; else None."""
    match item:
        case t.FunctionCall("pow", (ratio, t.Literal(2))):
            return correlation_of(ratio)
        case t.Binary(_, left, right) if right == at_least_one(left):
            return item
    return None


def _half_width_of_correlation(item: t.Node, ratio: t.Binary, width: t.Node) -> t.Node:
    """Returns the half-width of a ratio r in [-1, 1], 1 + |r| at most, or of r², of the distance to
    the farther of 0 and 1.

    Of a variance that is far below its noise, the noise chooses whether a correlation is there, and
    so whether it holds. Up to twice the half-width of a variance all of [-1, 1] is possible: what
    noise puts above it is a twentieth of what is stated at most (`level_intervals`, "Few rows").
    """
    number = _as_number(item)
    if item is ratio:
        most: t.Node = t.Binary("+", t.Literal(1), t.FunctionCall("abs", (number,)))
    else:
        most = t.FunctionCall("greatest", (number, t.Binary("-", t.Literal(1), number)))
    numbers = {i for d in uncertain_divisors(ratio.left) for i in aggregates_in(d)}
    tests: list[t.Node] = [t.Literal(True)]
    for i in sorted(numbers):
        twice = t.Binary("*", t.Literal(2), t.Name(f"{HALF}{i}"))
        tests.append(t.Binary(">", t.Name(f"{AGGREGATE}{i}"), twice))
    both_stand_out = reduce(lambda x, y: t.Binary("and", x, y), tests)
    return t.CaseWhen(((both_stand_out, t.FunctionCall("least", (width, most))),), most)


def uncertain_divisors(item: t.Node) -> list[t.Node]:
    """Returns what an output divides by that is made of aggregates and may be 0, each once."""
    divisions = (part for part in walk(item) if isinstance(part, t.Binary) and part.op in DIVISIONS)
    divisors = dict.fromkeys(one.right for one in divisions if aggregates_in(one.right))
    return [one for one in divisors if not _is_above_zero(one)]


def _is_above_zero(divisor: t.Node) -> bool:
    """Returns whether a divisor is GREATEST of a number above 0 and others, as CORR's is that keeps
    it within -1 and 1."""
    return (
        isinstance(divisor, t.FunctionCall)
        and divisor.name == "greatest"
        and any(
            isinstance(one, t.Literal) and isinstance(one.value, int | float) and one.value > 0
            for one in divisor.args
        )
    )


def _is_not_zero(divisor: t.Node, shared: Sequence[SharedReleases]) -> t.Node:
    """Returns the condition that a divisor's interval does not hold 0; NULL where it has none."""
    numbers = aggregates_in(divisor)
    if len(numbers) == 1:  # its ends are known, so GREATEST(COUNT(*), 1) is never 0
        ends = _ends(divisor, {i: f"{HALF}{i}" for i in numbers})
        return t.Binary(">", t.Binary("*", *ends), t.Literal(0))
    width = half_width(divisor, shared)
    assert width is not None  # it is made of aggregates
    return t.Binary(">", t.FunctionCall("abs", (_as_number(divisor),)), width)


def _width_by_moves(item: t.Node, shared: Sequence[SharedReleases]) -> t.Node | None:
    """Returns the half-width of an output but for its divisors."""
    by_set: dict[int, list[int]] = {}
    for i in aggregates_in(item):
        by_set.setdefault(shared[i].counts if shared else i, []).append(i)
    widths: list[t.Node] = []
    for numbers in by_set.values():
        if len(numbers) == 1:
            widths.append(_width(item, {numbers[0]: f"{HALF}{numbers[0]}"}))
        else:
            widths += _widths_of_set(item, {i: shared[i] for i in numbers})
    if len(widths) < 2:
        return next(iter(widths), None)
    squares: list[t.Node] = [t.FunctionCall("pow", (w, t.Literal(2))) for w in widths]
    return t.FunctionCall("sqrt", (reduce(lambda x, y: t.Binary("+", x, y), squares),))


def _widths_of_set(item: t.Node, shared: Mapping[int, SharedReleases]) -> list[t.Node]:
    """Returns w_r of each release of a set of aggregates, and the sum of their v_i."""
    releases: dict[tuple[str, int], dict[int, str]] = {}
    for i, of in shared.items():
        for part in of.parts:
            if part != "rest":
                release = (part, 0 if part == "n" else of.values)
                releases.setdefault(release, {})[i] = f"{SHIFTS[part]}{i}"
    rests = [_width(item, {i: f"{SHIFTS['rest']}{i}"}) for i in shared]
    moved = [_width(item, columns) for columns in releases.values()]
    return [*moved, reduce(lambda x, y: t.Binary("+", x, y), rests)]


def shared_releases(aggregates: Iterable[Aggregate]) -> tuple[SharedReleases, ...]:
    """Returns what each aggregate may share: see `SharedReleases`.

    Aggregates over one expression share its count, and all that are there in every row the rows'.

    >>> from sqlpriv.kernel.terms.algebra import Col
    >>> rows, pay, age = Aggregate("count"), Aggregate("sum", Col("pay")), Col("age")
    >>> found = shared_releases([rows, pay, Aggregate("mean", age, nullable=True)])
    >>> [(one.counts, one.values) for one in found], found[0].parts
    ([(0, 0), (0, 1), (1, 2)], ('n', 'rest'))
    """
    listed = list(aggregates)
    counts = _numbers([one.of if one.nullable else None for one in listed])
    values = _numbers([one.of for one in listed])
    parts = [_PARTS.get(one.kind, ("rest",)) for one in listed]
    return tuple(map(SharedReleases, counts, values, parts))


_MEAN, _VARIANCE = ("n", "s", "r", "rest"), ("n", "s", "q", "rest")
_PARTS = {
    "count": ("n", "rest"),
    "sum": _MEAN,
    "mean": _MEAN,
    "variance": _VARIANCE,
    "stddev": _VARIANCE,
}


def _numbers(things: Sequence[object]) -> list[int]:
    number = {thing: place for place, thing in enumerate(dict.fromkeys(things))}
    return [number[thing] for thing in things]


def _width(item: t.Node, shifts: Mapping[int, str]) -> t.Node:
    """Returns the farther of |f(up) - f| and |f(down) - f|, aggregates being moved at once by their
    columns of shifts: half of |f(up) - f(down)| and of |f(up) + f(down) - 2 f|, which is NULL where
    either end is."""
    high, low = _ends(item, shifts)
    apart: t.Node = t.FunctionCall("abs", (t.Binary("-", high, low),))
    if not isinstance(item, t.Name):
        twice = t.Binary("*", t.Literal(2), _as_number(item))
        bent = t.FunctionCall("abs", (t.Binary("-", t.Binary("+", high, low), twice),))
        apart = t.Binary("+", apart, bent)
    return t.Binary("/", apart, t.Literal(2))


def _ends(item: t.Node, shifts: Mapping[int, str]) -> tuple[t.Node, t.Node]:
    """Returns an output whose aggregates are moved up by their columns of shifts, and down."""
    moved: list[t.Node] = []
    for op in "+-":
        names: dict[str, t.Node] = {}
        for i, column in shifts.items():
            name = f"{AGGREGATE}{i}"
            names[name] = t.Binary(op, t.Name(name), t.Name(column))
        moved.append(_as_number(with_aliases(item, names)))
    return moved[0], moved[1]


def _as_number(item: t.Node) -> t.Node:
    """Returns an output as DOUBLE; NULL where it is not defined, no number or NaN."""
    number = t.Cast(t.FunctionCall("try", (item,)), "DOUBLE", try_=True)
    return t.FunctionCall("nullif", (number, _NAN))


_NAN = t.Cast(t.Literal("NaN"), "DOUBLE")


def number_ends(width: t.Node, columns: dict[t.Node, t.Name]) -> t.Node:
    """Returns a half-width whose ends are columns, so that SQL writes each of them once.

    An end stands in a width two to five times, and is as long as the output. None of them fails on
    a row (`_as_number`), so that they may be computed before what stands around them.

    Args:
        width: The half-width.
        columns: The column of each end that was met before; new ones are added.

    >>> from sqlpriv.statements import sql
    >>> ends = {}
    >>> width = half_width(t.Binary("*", t.Name("aggregate_0"), t.Literal(2)))
    >>> sql(number_ends(width, ends))
    '((abs(("end_0" - "end_1")) + abs((("end_0" + "end_1") - (2 * "end_2")))) / 2)'
    >>> print(sql(next(iter(ends))))
    nullif(TRY_CAST(try((("aggregate_0" + "half_0") * 2)) AS DOUBLE), CAST('NaN' AS DOUBLE))
    """

    def column_of(part: t.Node) -> t.Node | None:
        if isinstance(part, t.FunctionCall) and part.args[1:] == (_NAN,):
            return columns.setdefault(part, t.Name(f"{END}{len(columns)}"))
        return None

    return rebuild(width, column_of)


def number_parts(end: t.Node, columns: dict[t.Node, t.Name]) -> t.Node:
    """Returns an end in which what a quotient repeats of its dividend is a column: of x / f(x),
    which is how CORR is kept within -1 and 1, SQL writes x once.

    Where x fails on a row, or is NULL, so does x / f(x), and the end is NULL: so TRY(x), which may
    be computed before what stands around it, gives the same end.

    Args:
        end: The end of an output.
        columns: The column of each dividend that was met before; new ones are added.
    """
    match end:
        case t.FunctionCall(args=(t.Cast(arg=t.FunctionCall("try", (t.Binary("/") as item,))), _)):
            dividend = item.left
        case _:
            return end
    if dividend not in walk(item.right):
        return end
    once = t.FunctionCall("try", (dividend,))
    column = columns.setdefault(once, t.Name(f"{PART}{len(columns)}"))
    return rebuild(end, lambda part: column if part == dividend else None)


def has_half_width(node: t.Node) -> bool:
    """Whether an output has half-widths: it is made of aggregates, is none itself, and no time of
    day, whose differences are intervals. What CASE tests is not what is shown."""
    values = rebuild(node, _without_tests)
    names = [part.name for part in walk(values) if isinstance(part, t.Name)]
    is_list = any(isinstance(part, t.FunctionCall) and part.name == LIST for part in walk(node))
    own = any(name.startswith((HALF, *SHIFTS.values())) for name in names)
    literals = (part.value for part in walk(node) if isinstance(part, t.Literal))
    is_time = any(isinstance(value, dt.time) for value in literals)
    return bool(aggregates_in(node)) and not own and not is_list and not is_time


def _without_tests(node: t.Node) -> t.Node | None:
    if not isinstance(node, t.CaseWhen):
        return None
    return replace(node, whens=tuple((t.Literal(True), then) for _, then in node.whens))


def with_report(
    name: str, item: t.Node, shared: Sequence[SharedReleases], pooled: frozenset[int]
) -> list[tuple[str, t.Node]]:
    """Returns an output and what `report = true` shows beside it.

    Where it is made of aggregates these are the ends of its 95 % interval; where it is one of those
    in `pooled`, also the figure of a stratum's own rows alone, and their weight in what is shown.
    """
    width = half_width(item, shared) if has_half_width(item) else None
    if width is None:
        return [(name, item)]
    value = t.Cast(item, "DOUBLE", try_=True)
    ends = [t.Binary(op, value, width) for op in "-+"]
    report = [(name, item), (f"{name}_lo", ends[0]), (f"{name}_hi", ends[1])]
    (number, *others) = aggregates_in(item)
    if item == t.Name(f"{AGGREGATE}{number}") and number in pooled and not others:
        report.append((f"{name}_plain", t.Name(f"{PLAIN}{number}")))
        report.append((f"{name}_own_weight", t.Name(f"{OWN_WEIGHT}{number}")))
    return report
