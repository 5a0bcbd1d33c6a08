"""Means that are asked for in rounds: each cell's interval follows from what was released before.

`measure` puts measurements to the gate; nothing here sees a row, or can spend more than the rounds'
price: the prices are those of `mean_rounds.rounds`, which EXPLAIN PRIVACY shows beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlpriv.answer.means import Moments
from sqlpriv.answer.rounds import clipped_mean, coinpress
from sqlpriv.kernel.terms.algebra import Asked
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.plan.aggregates.mean_rounds import MeanRounds
from sqlpriv.plan.aggregates.rewrites import Recipe

Measure = Callable[[Sequence[Measurement]], tuple[Release, ...]]
Peek = Callable[[Measurement], Release | None]


def ask_rounds(
    rounds_to_ask: Sequence[MeanRounds], released: Sequence[Release], measure: Measure
) -> dict[Recipe, Moments]:
    """Puts every round to the gate and returns the moments of each recipe.

    Args:
        rounds_to_ask: The means of a plan that are measured in rounds, in their order.
        released: The answers to the plan's measurements; the counts of the cells are among them.
        measure: Puts the measurements of one round to the gate.

    Returns:
        Noised moments of shape (strata, key 1, …) for each mean that is measured in rounds.
    """
    answers: dict[Asked, Release] = {release.query: release for release in released}
    run = {"quantile": clipped_mean.mean, "coinpress": coinpress.mean}

    def measure_and_remember(batch: Sequence[Measurement]) -> tuple[Release, ...]:
        batch_answers = measure(batch)
        answers.update({release.query: release for release in batch_answers})
        return batch_answers

    return {
        one.recipe: run[one.recipe.using](one, answers, measure_and_remember)
        for one in rounds_to_ask
    }


def outstanding_price(
    rounds_to_ask: Sequence[MeanRounds], released: Sequence[Release | None], peek: Peek
) -> int:
    """Returns what the rounds would still cost, in nano: all but those that would be replayed.

    A round whose answer is sealed is replayed for nothing. The first round that is not sealed makes
    all later rounds new, because their queries are written with its answer.

    Args:
        rounds_to_ask, released: As in `ask_rounds`; None for a measurement that is not sealed.
        peek: Returns the sealed answer to a measurement, or None.
    """
    nano = sum(one.price.nano for one in rounds_to_ask)
    sealed_releases = [release for release in released if release is not None]

    def peek_batch(batch: Sequence[Measurement]) -> tuple[Release, ...]:
        nonlocal nano
        answers = [peek(m) for m in batch]
        nano -= sum(m.price.nano for m, r in zip(batch, answers, strict=True) if r is not None)
        sealed_releases.extend(r for r in answers if r is not None)
        if any(r is None for r in answers):
            raise LookupError
        return tuple(r for r in answers if r is not None)

    for one in rounds_to_ask:
        try:
            ask_rounds([one], sealed_releases, peek_batch)
        except LookupError:
            continue
    return nano
