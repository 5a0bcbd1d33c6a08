"""Rewriting of aggregates into the kernel's counts and centred sums: one function per rule.

Each rule takes an `Aggregate` over some cells and returns its `Recipe`: the queries that it needs.
`tests/rewrites/<rule>.sql` shows what each does. Equal queries of several recipes are one
measurement (`merged`), paid once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Number, Type, Value
from sqlpriv.plan.aggregates.calls import Aggregate
from sqlpriv.plan.aggregates.moment_formulas import unit_of_deviations
from sqlpriv.plan.aggregates.quantile_levels import level_grid, mode_grid
from sqlpriv.plan.expressions.facts.dates import date_of_day, moment_of_micros

MOST_OF_WHOLE_SUM = 2**31
"""Sums of whole numbers up to this are whole, as BIGINT: 2^31 rows of them are below 2^63."""


@dataclass(frozen=True)
class GroupedRows:
    """What an aggregate is taken over: the statement's rows, strata and marginal keys."""

    source: a.Relation
    strata: tuple[a.Key, ...] = ()
    keys: tuple[a.Key, ...] = ()
    units_named: frozenset[str] = frozenset()

    def count_query(self, of: a.Expr | None = None) -> a.Count:
        """Returns the count of rows, or of values of `of`, in these cells."""
        return a.Count(self.source, self.strata, self.keys, of)

    def unit_count_query(self, of: a.Expr) -> a.Count:
        """Returns the count of different values of `of`, of which each is one unit's."""
        keys = {key: f"sqlpriv_key{i}" for i, key in enumerate((*self.strata, *self.keys))}
        folded = [(name, key.expr) for key, name in keys.items()]
        unit = isinstance(of, a.Col) and of.name.lower() in self.units_named
        one = (a.Fold("sqlpriv_n", "count", of),) if unit else ()
        relation: a.Relation = a.PerUnit(
            self.source, (*folded, *(() if unit else (("sqlpriv_of", of),))), one
        )
        if unit:  # a left join may have rows of the unit without it
            some = a.Call(">", (a.Col("sqlpriv_n"), a.Lit(0, Type.INTEGER)))
            relation = a.Where(relation, some)
        strata, marginal = (
            tuple(a.Key(a.Col(keys[key]), key.values) for key in part)
            for part in (self.strata, self.keys)
        )
        return a.Count(relation, strata, marginal, None if unit else a.Col("sqlpriv_of"))

    def sum_query(self, of: a.Expr, lower: Number, upper: Number) -> a.Sum:
        """Returns the centred sum of `of` in these cells."""
        return a.Sum(self.source, of, lower, upper, self.strata, self.keys)


@dataclass(frozen=True)
class Recipe:
    """How an aggregate is made of releases; `estimate.means` says by which formula.

    Args:
        kind: count, sum, mean, variance, stddev or level.
        count: N, the count; None where it is not needed. Of a level: the histogram it is read off.
        total: S, the sum of x - middle; None for a count or a constant x.
        square: Q, the sum of (x - middle)² - centre, centre = (upper - lower)² / 8; variances only.
        lower, upper: Bounds of x.
        sample: Divide the variance by N - 1.
        level: A quantile or mode that is chosen in each cell.
        size: Of a chosen level: the count of values, which tells whether there is any.
        whole: The same over all strata; or the population's count of different values, to which
            the strata's do not add up.
        rank, values: Its rank (None: a mode), and what its levels stand for.
        zoned: Whether a level is a TIMESTAMPTZ.
        type: Of a level or a sum as it is shown; counts are whole, all else is not.
        using: The estimator that asks for the total in rounds (`plan.rounds`), or ''.
        digits: Of a sum or a quantile of whole numbers or decimals: those behind the point.
        pooled: Whether the strata's means are drawn together once they are released.
        whole_numbers: Whether x, of which the mean or the sum is taken, is a whole number.
        most_values: Of a count of different values: how many there can be.
    """

    kind: str
    count: a.Count | None
    total: a.Sum | None = None
    square: a.Sum | None = None
    lower: Number = 0
    upper: Number = 0
    sample: bool = False
    level: a.Level | None = None
    size: a.Count | None = None
    whole: a.Level | a.Distinct | None = None
    rank: tuple[int, int] | None = None
    values: tuple[Value, ...] = ()
    type: Type = Type.REAL
    using: str = ""
    whole_numbers: bool = False
    pooled: bool = False
    digits: int | None = None
    zoned: bool = False
    most_values: int | None = None

    @property
    def queries(self) -> tuple[a.Asked, ...]:
        """What has to be measured."""
        optional = (
            self.count,
            self.total,
            self.square,
            self.level,
            self.whole,
            self.size,
        )
        return tuple(q for q in optional if q is not None)

    @property
    def middle(self) -> float:
        """The middle of x's interval, around which sums are centred."""
        return (self.lower + self.upper) / 2

    @property
    def width(self) -> float:
        """The length of x's interval."""
        return float(self.upper - self.lower)

    @property
    def square_unit(self) -> float:
        """What (x - middle)² is counted in: see `unit_of_deviations`."""
        return unit_of_deviations(self.width, 2) ** 2


MOMENTS_OF_NUMBERS = {Type.DATE: date_of_day, Type.TIMESTAMP: moment_of_micros}
"""What a number of `NUMBERS_OF_MOMENTS` stands for."""
Rule = Callable[[Aggregate, GroupedRows], Recipe]


def expand_count(aggregate: Aggregate, cells: GroupedRows) -> Recipe:
    """COUNT(*) → Count; COUNT(x) → Count(of = x); COUNT(DISTINCT unit) → Count of PerUnit rows."""
    if aggregate.units and aggregate.of is not None:
        return Recipe("count", cells.unit_count_query(aggregate.of))
    return Recipe("count", cells.count_query(aggregate.of))


def expand_distinct(aggregate: Aggregate, cells: GroupedRows) -> Recipe:
    """COUNT(DISTINCT x) → Distinct(of = x); with strata one more over all of them."""
    assert aggregate.of is not None  # as `calls.read_aggregate` sees to
    whole = a.Distinct(cells.source, (), cells.keys, aggregate.of)
    most = aggregate.most_values
    if not cells.strata:
        return Recipe("count", whole, most_values=most)
    return Recipe("count", replace(whole, strata=cells.strata), whole=whole, most_values=most)


def expand_sum(aggregate: Aggregate, cells: GroupedRows) -> Recipe:
    """SUM(x) → Sum(x - middle) + middle · N; the count also tells whether there is any value."""
    total, count = _centred_sum(aggregate, cells), _value_count(aggregate, cells)
    lower, upper = aggregate.lower, aggregate.upper
    whole = aggregate.type is Type.INTEGER
    is_small = max(abs(lower), abs(upper)) <= MOST_OF_WHOLE_SUM
    type_ = Type.INTEGER if whole and is_small else Type.REAL
    recipe = Recipe("sum", count, total, None, lower, upper, type=type_, whole_numbers=whole)
    return replace(recipe, digits=aggregate.digits if is_small else None)


def expand_mean(aggregate: Aggregate, cells: GroupedRows) -> Recipe:
    """AVG(x) → middle + Sum(x - middle) / N."""
    total, count = _centred_sum(aggregate, cells), _value_count(aggregate, cells)
    whole = aggregate.type is Type.INTEGER
    return Recipe("mean", count, total, None, aggregate.lower, aggregate.upper, whole_numbers=whole)


def expand_variance(aggregate: Aggregate, cells: GroupedRows) -> Recipe:
    """VARIANCE(x) → Sum((x - middle)²) / N - (Sum(x - middle) / N)²; STDDEV is its root.

    The squares lie in [0, (upper - lower)² / 4], so their sum is centred, too. In wide domains they
    are squares of deviations in larger units, since the kernel's sums end at 2^62.
    """
    total, count = _centred_sum(aggregate, cells), _value_count(aggregate, cells)
    lower, upper = aggregate.lower, aggregate.upper
    square = None
    if total is not None and aggregate.of is not None:
        middle = a.Lit((lower + upper) / 2, Type.REAL)
        of = aggregate.of if aggregate.type is Type.REAL else a.Call("real", (aggregate.of,))
        deviation, unit = a.Call("-", (of, middle)), unit_of_deviations(upper - lower, 2)
        if unit != 1:
            deviation = a.Call("*", (deviation, a.Lit(1 / unit, Type.REAL)))
        most = ((upper - lower) / unit) ** 2 / 4
        square = cells.sum_query(a.Call("*", (deviation, deviation)), 0.0, most)
    return Recipe(aggregate.kind, count, total, square, lower, upper, aggregate.sample)


def expand_level(aggregate: Aggregate, cells: GroupedRows) -> Recipe:
    """MEDIAN(x), MIN(x), MODE(x) → Level; with strata one more over all of them.

    `choose_quantile_methods` may yet take a histogram instead.
    """
    assert aggregate.of is not None  # as `calls.read_aggregate` sees to
    size = math.prod(len(key.values) for key in (*cells.strata, *cells.keys))
    ends = (aggregate.lower, aggregate.upper)
    of_type = aggregate.type or Type.REAL
    of_moment = MOMENTS_OF_NUMBERS.get(of_type) if aggregate.rank is not None else None
    grid_type = Type.INTEGER if of_moment else of_type
    if aggregate.rank is None:
        grid = mode_grid(aggregate.of, aggregate.values or (), size)
    else:
        grid = level_grid(aggregate.of, grid_type, *ends, aggregate.values, size)
    values = grid.values
    if of_moment:
        values = tuple(map(of_moment, values))
    elif aggregate.whole:  # a cell of whole numbers has one within half of its middle
        values = tuple(round(x) for x in values if isinstance(x, int | float))
    real = aggregate.rank is not None and not (of_moment or aggregate.whole)
    level = a.Level(cells.source, grid.key, aggregate.rank, cells.strata, cells.keys)
    whole = replace(level, strata=()) if cells.strata else None
    return Recipe(
        "level",
        None,
        None,
        None,
        *ends,
        level=level,
        size=_value_count(aggregate, cells),
        whole=whole,
        rank=aggregate.rank,
        values=values,
        type=Type.REAL if real else of_type,
        digits=aggregate.digits,
        zoned=aggregate.zoned,
    )


RULES: dict[str, Rule] = {
    "count": expand_count,
    "distinct": expand_distinct,
    "sum": expand_sum,
    "mean": expand_mean,
    "variance": expand_variance,
    "stddev": expand_variance,
    "level": expand_level,
}


def expand_aggregate(aggregate: Aggregate, cells: GroupedRows) -> Recipe:
    """Returns the recipe of an aggregate, by the rule of its kind."""
    return RULES[aggregate.kind](aggregate, cells)


def _value_count(aggregate: Aggregate, cells: GroupedRows) -> a.Count:
    """Returns N: the rows' count where NULL is no value of x, else the count of its values."""
    return cells.count_query(aggregate.of if aggregate.nullable else None)


def _centred_sum(aggregate: Aggregate, cells: GroupedRows) -> a.Sum | None:
    """Returns S, or None where x is a constant: a sum that nothing can move is not measured."""
    if aggregate.of is None or aggregate.lower == aggregate.upper:
        return None
    return cells.sum_query(aggregate.of, aggregate.lower, aggregate.upper)
