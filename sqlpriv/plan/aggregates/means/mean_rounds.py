"""A mean asked for in several rounds: their queries, and what each costs, before anything is read.

Every cell has an interval of its own, yet one query serves all: x is brought to [-1, 1] with the
cell's centre and half width, which are picked from public tables (`algebra.Pick`), and the sum is
clamped there. A unit of that sum is worth the cell's half width, and so is its noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.plan.aggregates.cost_of_strata import plain_own_part
from sqlpriv.plan.aggregates.estimators import is_too_narrow
from sqlpriv.plan.aggregates.means.mean_queries import (
    cell_count,
    cell_view,
    clipped_sum,
    clipped_sum_of_all,
    histogram,
    scaled_sum,
    squared_sum,
)
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.pricing.split import split_statement_price
from sqlpriv.plan.pricing.tuned_constants import (
    CELL_SHARE,
    COINPRESS_SHARE,
    HISTOGRAM_SHARE,
    HISTOGRAM_SHARES,
    MOST_FOR_FINE,
    SECTIONS,
)


@dataclass(frozen=True)
class MeanRounds:
    """A mean that is asked for in rounds, later ones as the earlier answered.

    Args:
        recipe: Its count is measured with the statement's other queries; its total is the sum
            that the rounds take the place of.
        price: Of all rounds together.
        steps, sigma: See `StatementOptions`.
        histogram_shared: Earlier rounds of the statement measure the first histogram already.
        both_levels: Whether the sum of all strata together may take a part of the last round's
            price (`answer.rounds.everybody_sum`).
    """

    recipe: Recipe
    price: Price
    steps: int
    sigma: float | None
    histogram_shared: bool = False
    both_levels: bool = False
    _by_share: dict[float, tuple[MeanRound, MeanRound]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )  # what `quantile_rounds` made: a statement asks for the same ten times


CLIPPED = "sum, clipped cell by cell"
PLAIN = ("sum over the declared interval", "everybody's own sum")


class MeanRound(NamedTuple):
    """One round: what each of its queries is, for people, and what it costs."""

    names: tuple[str, ...]
    measurements: tuple[Measurement, ...]


def rounds_of(mean: MeanRounds) -> tuple[MeanRound, ...]:
    """Returns the rounds in order; their prices add up to the price exactly.

    What is known beforehand of a later round's query is all but its numbers: the bounds are those
    of the declared interval here.
    """
    recipe = mean.recipe
    if recipe.using == "quantile" and is_too_narrow(recipe.width):
        sums = plain_sums(mean)
        return (MeanRound(PLAIN[: len(sums)], sums),)
    if recipe.using == "quantile":
        return quantile_rounds(mean)
    early, squares = mean.steps - 1, mean.sigma is None
    parts = [COINPRESS_SHARE / early] * early + [1 - COINPRESS_SHARE] if early else [1.0]
    steps = []
    for number, price in enumerate(split_statement_price(mean.price, parts), 1):
        queries: tuple[a.Query, ...] = (scaled_sum(recipe, None),)
        if squares and number <= early:
            queries += (squared_sum(recipe, None),)
        amounts = split_statement_price(price, [1.0] * len(queries))
        measurements = tuple(Measurement(q, p) for q, p in zip(queries, amounts, strict=True))
        steps.append(
            MeanRound(
                (f"coinpress step {number} of {mean.steps}",) * len(measurements), measurements
            )
        )
    return tuple(steps)


def plain_sums(mean: MeanRounds) -> tuple[Measurement, ...]:
    """Returns the sum over the declared interval and everybody's own, if it is worth its price.

    They take the price of all rounds, where nothing is known that says where to clip.
    """
    recipe = mean.recipe
    part = plain_own_part(cell_count(recipe), type(mean.price)) if mean.both_levels else 0.0
    if not part:
        return (Measurement(clipped_sum(recipe, None), mean.price),)
    of_strata, of_all = split_statement_price(mean.price, [1 - part, part])
    return (
        Measurement(clipped_sum(recipe, None), of_strata),
        Measurement(clipped_sum_of_all(recipe, None), of_all),
    )


def quantile_rounds(
    mean: MeanRounds, histogram_share: float = HISTOGRAM_SHARE
) -> tuple[MeanRound, MeanRound]:
    """Returns the rounds of `quantile`; a single cell has no histogram of its own.

    Args:
        mean: What is asked for.
        histogram_share: The part of the price that the first histogram takes. It is chosen once the
            counts are noised; EXPLAIN PRIVACY, which has none, shows the usual one.
    """
    if (kept := mean._by_share.get(histogram_share)) is not None:
        return kept
    recipe = mean.recipe
    several = cell_count(recipe) > 1
    early_queries: list[tuple[str, a.Query, float]] = []
    if not mean.histogram_shared:
        early_queries.append(
            ("histogram of the range", histogram(recipe, histogram_share), histogram_share)
        )
    if several:
        view = cell_view(recipe, histogram_share)
        name = "coarse histogram" if isinstance(view, a.Count) else "place in its range"
        early_queries.append((f"each cell's {name}", view, CELL_SHARE))
    parts = [share for _, _, share in early_queries]
    *first, last = split_statement_price(mean.price, [*parts, 1 - sum(parts)])
    early = tuple(Measurement(q, p) for (_, q, _), p in zip(early_queries, first, strict=True))
    names = tuple(name for name, _, _ in early_queries)
    whole_sum = Measurement(clipped_sum(recipe, None), last)
    rounds = MeanRound(names, early), MeanRound((CLIPPED,), (whole_sum,))
    mean._by_share[histogram_share] = rounds
    return rounds


def first_rounds(mean: MeanRounds) -> tuple[MeanRound, ...]:
    """Returns what the first round may have been, for each grid that its histogram may have, at the
    least price that the round then has."""
    usual, recipe = rounds_of(mean)[0], mean.recipe
    is_clipped = recipe.using == "quantile" and not is_too_narrow(recipe.width)
    if not is_clipped or mean.histogram_shared or recipe.width <= 2**SECTIONS:
        return (usual,)
    least_coarse = min(share for share in HISTOGRAM_SHARES if share > MOST_FOR_FINE)
    return usual, quantile_rounds(mean, least_coarse)[0]


def prices_paid(mean: MeanRounds, paid: Mapping[a.Asked, Price]) -> tuple[Price, ...]:
    """Returns what a mean's rounds may have cost in all, by what some of their queries did.

    Which part of the price the histogram takes depends on the noised counts, and is one of a few;
    the cells' own view always takes the same.

    Args:
        mean: As it is asked for now; its own price is among those returned.
        paid: Prices of sealed answers.

    Returns:
        Prices, to some nanos, of which none is less than the mean's own; the dearest first.
    """
    kind, own = type(mean.price), mean.price.nano
    nanos = {own}
    if mean.recipe.using == "quantile":
        parts: list[tuple[a.Asked, float]] = []
        for share in HISTOGRAM_SHARES:
            parts.append((cell_view(mean.recipe, share), CELL_SHARE))
            if not mean.histogram_shared:
                parts.append((histogram(mean.recipe, share), share))
        nanos |= {
            round((paid[query].nano + rounding) / share)
            for query, share in parts
            if query in paid
            for rounding in ((0,) if paid[query].nano > 10_000 else (0, 1, -1))
        }
    return tuple(kind(nano) for nano in sorted(nanos, reverse=True) if nano >= own)


def order_rounds(means: Iterable[MeanRounds]) -> tuple[MeanRounds, ...]:
    """Returns rounds as they are asked: fewest cells first, and each histogram once."""
    ordered: list[MeanRounds] = []
    for one in sorted(means, key=lambda x: cell_count(x.recipe)):
        has_histogram = one.recipe.using == "quantile" and not is_too_narrow(one.recipe.width)
        histogram_shared = has_histogram and any(
            histogram(one.recipe) == histogram(x.recipe) for x in ordered
        )
        ordered.append(replace(one, histogram_shared=histogram_shared))
    return tuple(ordered)


def round_templates(means: Sequence[MeanRounds]) -> list[tuple[str, Measurement]]:
    """Returns every measurement of the rounds as far as it is known beforehand, with its name."""
    return [
        pair
        for one in means
        for step in rounds_of(one)
        for pair in zip(step.names, step.measurements, strict=True)
    ]
