"""Estimators of a mean: what `AVG(x USING …)` and OPTIONS may say, and which one AVG takes alone.

    gaussian, laplace   the centred sum over the declared interval, with the budget's kind of noise
    quantile            a histogram on a geometric grid and a coarse one of each cell, then a sum
                        clipped where that predicts the least error (`estimate.quantile`)
    pooled              what AVG takes alone, then strata drawn together (`answer.reconcile`)
    coinpress           intervals that shrink round by round (`estimate.coinpress`)

**Which one AVG takes.** The declared interval says whether histograms may be worth their price.
Once the counts of the cells are noised, `clipped_mean` buys no histogram that could not show so few
rows, and pays the whole price for the plain sum; once the histogram is bought, it clips only where
that predicts less error. All of that comes again from the seals when the same question does.

In units of τ / N, τ being the noise that the whole price buys at a sensitivity of 1, a mean of x
uniform on an interval of width w has the noise (w/2) (1 + 1/√3): that of S, and of N times the
mean's distance from the middle. A spread of s needs an interval of about ±4 s around its centre.
Before anything is known, s is log-uniform between one unit of x and w/√12, the most that a uniform
x has; its median is √(w/√12). Histograms are asked for where that predicts any gain: from about
w = 8 on. A declared spread (`coinpress_sigma`) takes the place of s, and has to halve the error.
Narrower domains by strata have everybody's own plain sum beside the strata's, where that is worth
its price (`cost_of_strata.plain_own_part`: under zCDP, from two strata on).

A clipped mean that turns out to need no clipping has paid for a histogram in vain, a tenth of its
price; one that was not clipped had up to 15 times the error (`tests/bench/regret.py --tables`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from sqlpriv.errors import DataError, Refused
from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.plan.aggregates.calls import Aggregate
from sqlpriv.plan.aggregates.cost_of_strata import own_share, plain_own_part
from sqlpriv.plan.pricing.tuned_constants import (
    AUTO_COST,
    CELL_SHARE,
    COINPRESS_SHARE,
    HISTOGRAM_SHARE,
    LEAST_GAIN,
    MAX_PICKED,
    MEDIAN_SPREAD,
    RELIABLE,
    UPPER_DECILE,
)
from sqlpriv.statements.tree import Options, Pos

ROUNDS = ("quantile", "coinpress")


class StatementOptions(NamedTuple):
    """The options of a statement that are not its price.

    Args:
        population_share: The part of the price for a population figure of its own; None leaves it
            to the means that are measured in rounds (`mean_rounds.MeanRounds.both_levels`).
        steps, sigma: COINPRESS's rounds, and the standard deviation of x, None if not declared.
        auto: The share is such that the population costs at most `AUTO_COST`.
        rows, groups: How many rows of a unit count in a stratum, and in how many strata, where that
            is to be fewer than declared.
        smooth: Whether strata's means that name no estimator are drawn together.
        left_out: Whether the share of the rows beyond the bound is measured.
        integers: Whether counts are to be whole, not negative, and to add up over a ROLLUP.
        choose_rows: Whether `rows` is chosen by noised counts of the units (`rows_choice`).
    """

    population_share: float | None = None
    steps: int = 3
    sigma: float | None = None
    auto: bool = False
    rows: int | None = None
    groups: int | None = None
    smooth: bool = False
    left_out: bool = False
    choose_rows: bool = False
    integers: bool = False


def read_statement_options(options: Options, pos: Pos) -> StatementOptions:
    """Returns the options that are not the price, checked.

    Raises:
        Refused: An unknown option, or a value out of range.
    """
    fields: dict[str, Any] = {}
    for name, value in options:
        if name in _SWITCHES:
            if not isinstance(value, bool):
                raise Refused.at(pos, f"{name} is true or false", f"write {name} = true")
            fields[name] = value
            continue
        if name not in _KNOWN:
            option_names = ", ".join(
                ("epsilon", "rho", "max_relative_error", "report", *_SWITCHES, *_KNOWN)
            )
            raise Refused.at(pos, f"there is no option {name}", f"one of: {option_names}")
        field, least, most, kind = _KNOWN[name]
        if (name, value) == ("population_share", "auto"):
            fields["auto"] = True
            continue
        if (name, value) == ("max_rows_contributed", "auto"):
            fields["choose_rows"] = True
            continue
        if isinstance(value, bool) or not isinstance(value, kind) or not least <= value <= most:
            raise Refused.at(pos, f"the option {name} is out of range", f"write {_EXAMPLES[name]}")
        fields[field] = value
    return StatementOptions(**fields)


def resolve_auto_share(options: StatementOptions, price: type[Price]) -> StatementOptions:
    """Returns the options with `population_share = auto` as a number."""
    if not options.auto:
        return options
    return options._replace(population_share=own_share(price, AUTO_COST), auto=False)


_SWITCHES = ("smooth", "left_out", "integers")
_NUMBER: Any = (int, float)
_KNOWN: dict[str, tuple[str, float, float, Any]] = {
    "population_share": ("population_share", 0, 0.99, _NUMBER),
    "coinpress_steps": ("steps", 1, 10, int),
    "coinpress_sigma": ("sigma", 1e-300, 1e300, _NUMBER),
    "max_rows_contributed": ("rows", 1, 10**6, int),
    "max_groups_contributed": ("groups", 1, 10**6, int),
}
_EXAMPLES = {
    "population_share": "population_share = 0.5, from 0 to 0.99, or auto",
    "coinpress_steps": "coinpress_steps = 3: from 1 to 10",
    "coinpress_sigma": "coinpress_sigma = 10: a positive number",
    "max_rows_contributed": "max_rows_contributed = 5, a whole number of rows of one unit, or auto",
    "max_groups_contributed": "max_groups_contributed = 2: a whole number of strata of one unit",
}


def choose_estimator(
    aggregate: Aggregate,
    cells: int,
    price: type[Price],
    options: StatementOptions,
    both_levels: int = 0,
) -> str:
    """Returns the estimator in rounds that a mean takes, or '' for the plain one.

    Args:
        aggregate: A mean, whose `using` forces one.
        cells: How many cells it is taken over.
        price: The kind of budget.
        options: Of the statement.
        both_levels: How many strata there are, where everybody's own sum might be measured beside
            theirs; 0 where it cannot: by further keys, or with public weights.

    Raises:
        Refused: The estimator forced is not that of the budget's kind, or there are too many cells.
    """
    forced = "" if aggregate.using == "pooled" else aggregate.using
    own = "gaussian" if issubclass(price, Rho) else "laplace"
    if forced in ROUNDS and cells > MAX_PICKED:
        raise DataError(f"{forced} takes at most {MAX_PICKED} cells, not {cells}")
    if forced in ROUNDS:
        return "" if aggregate.lower == aggregate.upper else forced
    if forced not in ("", own):
        raise DataError(f"a budget of this kind has {own} noise: write USING {own}")
    is_mean = aggregate.kind == "mean" or (aggregate.kind, aggregate.using) == ("sum", "pooled")
    if forced or cells > MAX_PICKED or not is_mean:
        return ""
    width = float(aggregate.upper - aggregate.lower)
    estimators = ("", "quantile") if options.sigma is None else ("", "quantile", "coinpress")
    errors = {
        name: predicted_error(name, width, options.sigma, MEDIAN_SPREAD) for name in estimators
    }
    best = min(errors, key=lambda name: errors[name])
    is_open = options.population_share is None
    if not best and both_levels and is_open and plain_own_part(both_levels, price):
        return "quantile"  # without a histogram: see `is_too_narrow`
    worth = LEAST_GAIN if options.sigma is None else 2
    return best if worth * errors[best] <= errors[""] else ""


def is_too_narrow(width: float) -> bool:
    """Returns whether no histogram of an interval of so many units of x is worth its price.

    >>> [is_too_narrow(width) for width in (1.0, 5.0, 7.0, 12.0)]
    [True, True, True, False]
    """
    clipped, plain = (
        predicted_error(name, width, None, MEDIAN_SPREAD) for name in ("quantile", "")
    )
    return plain < clipped


def predicted_error(
    using: str, width: float, sigma: float | None, rank: float = UPPER_DECILE
) -> float:
    """Returns the predicted error of an estimator, in units of τ / N; see the module's text.

    Args:
        using: 'quantile', 'coinpress', or '' for the plain sum.
        width: Of the declared interval, in units of x.
        sigma: The declared standard deviation of x, or None.
        rank: See `half_interval`.

    >>> round(predicted_error("", 100.0, None)), round(predicted_error("coinpress", 100.0, 5.0))
    (79, 23)
    """
    plain = width / 2 * (1 + 1 / math.sqrt(3))
    if using not in ROUNDS:
        return plain
    first = HISTOGRAM_SHARE + CELL_SHARE if using == "quantile" else COINPRESS_SHARE
    return half_interval(width, sigma, rank) / math.sqrt(1 - first)


def half_interval(width: float, sigma: float | None, rank: float = UPPER_DECILE) -> float:
    """Returns half the width of the interval that the last round is expected to clip to.

    `rank` is the part of all spreads, log-uniform, that are at most the one predicted with.
    """
    spread = (width / math.sqrt(12)) ** rank if sigma is None else sigma
    return min(RELIABLE * spread, width / 2 * (1 + 1 / math.sqrt(3)))
