"""Means that are asked for in rounds: each cell's interval follows from what was released before.

`measure` puts measurements to the gate; nothing here sees a row, or can spend more than the rounds'
price: the prices are those of `plan.rounds.rounds`, which EXPLAIN PRIVACY shows beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlpriv.answer import clipped_mean, coinpress
from sqlpriv.answer.means import Moments
from sqlpriv.kernel.terms.algebra import Asked
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.plan.aggregates.mean_rounds import MeanRounds
from sqlpriv.plan.aggregates.rewrites import Recipe

Measure = Callable[[Sequence[Measurement]], tuple[Release, ...]]
Peek = Callable[[Measurement], Release | None]


def asked(
    later: Sequence[MeanRounds], released: Sequence[Release], measure: Measure
) -> dict[Recipe, Moments]:
    """Asks all rounds; returns the moments of each recipe.

    Args:
        later: What a plan asks for after its measurements.
        released: The answers to those; the counts of the cells are among them.
        measure: Puts one round to the gate.
    """
    known: dict[Asked, Release] = {release.query: release for release in released}
    run = {"quantile": clipped_mean.mean, "coinpress": coinpress.mean}

    def kept(batch: Sequence[Measurement]) -> tuple[Release, ...]:
        answers = measure(batch)
        known.update({release.query: release for release in answers})
        return answers

    return {one.recipe: run[one.recipe.using](one, known, kept) for one in later}


def outstanding(later: Sequence[MeanRounds], released: Sequence[Release | None], peek: Peek) -> int:
    """Returns what the rounds would still cost, in nano: all but those that would be replayed.

    Rounds are followed for as long as their answers are sealed. One that is not makes all behind it
    new, for their numbers depend on its answer.

    Args:
        later, released: As in `asked`; None for a measurement that is not sealed.
        peek: Returns a sealed answer, or None.
    """
    nano = sum(one.price.nano for one in later)
    known = [release for release in released if release is not None]

    def sealed(batch: Sequence[Measurement]) -> tuple[Release, ...]:
        nonlocal nano
        answers = [peek(m) for m in batch]
        nano -= sum(m.price.nano for m, r in zip(batch, answers, strict=True) if r is not None)
        known.extend(r for r in answers if r is not None)
        if any(r is None for r in answers):
            raise LookupError
        return tuple(r for r in answers if r is not None)

    for one in later:
        try:
            asked([one], known, sealed)
        except LookupError:
            continue
    return nano
