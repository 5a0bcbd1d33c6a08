"""Means that are asked for in rounds: each cell's interval follows from what was released before.

`measure` puts measurements to the gate; nothing here sees a row, or can spend more than the rounds'
price: the prices are those of `mean_rounds.rounds`, which EXPLAIN PRIVACY shows beforehand.

**What was released dearer serves again.** Where a round's query is written with answers to earlier
rounds it depends on their noise, and so on the price, which decides how far to clip: at a lower
price the queries are others. And once a count was released again at a higher price, by any
statement, the dearest answer to it is another, too. So a mean is first looked for among the seals
as it was asked before: with each sealed answer to its counts and its first round, at each price
that these say was paid (`mean_rounds.prices_paid`). If its last sum follows from one of these and
is sealed, that is the answer, and nothing is charged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import chain, islice, product
from typing import NamedTuple

from sqlpriv.answer.moments import Moments
from sqlpriv.answer.rounds import clipped_mean, coinpress
from sqlpriv.kernel.terms.algebra import Asked
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.plan.aggregates.means.mean_queries import count_query, histogram
from sqlpriv.plan.aggregates.means.mean_rounds import MeanRounds, first_rounds, prices_paid
from sqlpriv.plan.aggregates.rewrites import Recipe

Measure = Callable[[Sequence[Measurement]], tuple[Release, ...]]
Seals = Callable[[Measurement], Sequence[Release]]
"""Returns the sealed answers to a measurement that cost as much or more, the dearest first."""
MOST_COMBINATIONS = 27
"""Of sealed answers, with which a mean's earlier rounds are looked for: three of three queries."""
ROUNDING = 200
"""Prices that are told from others are off by a few nanos divided by a part of the price."""
RUN = {"quantile": clipped_mean.mean, "coinpress": coinpress.mean}


def nothing_sealed(_: Measurement) -> tuple[Release, ...]:
    """Returns what is sealed where nothing is: for tables that were never asked."""
    return ()


SearchKey = tuple[int, tuple[int, ...]]


class NotSealed(Exception):
    """Of a round that is looked for among the seals: it was not asked before.

    Args:
        measurement: What was not sealed.
    """

    def __init__(self, measurement: Measurement) -> None:
        super().__init__()
        self.measurement = measurement


MOST_KEPT, MOST_FIGURES = 1024, 1000
_NOT_SEALED: dict[tuple[MeanRounds, bytes], Measurement] = {}
"""What was not sealed of rounds, by their request and a digest of the answers that they follow
from: as these make it, so do they the next time, and only whether it is sealed by now is asked. It
takes 5 to 10 ms to make, of which each statement tries up to 108. Answers of more than
`MOST_FIGURES` numbers are not kept: what they make is as large."""


class SealedRounds(NamedTuple):
    """A mean's rounds as they were asked before: its moments, and the answers they are made of."""

    moments: Moments
    answers: tuple[Release, ...]


Remembered = dict[SearchKey, SealedRounds | None]
"""What was found of each request, by what it was looked for with; None where nothing was."""


def ask_rounds(
    rounds_to_ask: Sequence[MeanRounds],
    released: Sequence[Release],
    measure: Measure,
    seals: Seals = nothing_sealed,
    remembered: Remembered | None = None,
) -> dict[Recipe, Moments]:
    """Puts every round to the gate and returns the moments of each recipe.

    Args:
        rounds_to_ask: The means of a plan that are measured in rounds, in their order.
        released: The answers to the plan's measurements; the counts of the cells are among them.
        measure: Puts the measurements of one round to the gate.
        seals: Finds what was released before.
        remembered: What `outstanding_price` found.

    Returns:
        Noised moments of shape (strata, key 1, …) for each mean that is measured in rounds.
    """
    answers: dict[Asked, Release] = {release.query: release for release in released}

    def measure_and_remember(batch: Sequence[Measurement]) -> tuple[Release, ...]:
        batch_answers = measure(batch)
        answers.update({release.query: release for release in batch_answers})
        return batch_answers

    moments: dict[Recipe, Moments] = {}
    searched = {request for request, _ in remembered or {}}
    for one in rounds_to_ask:
        earlier = _remembered_rounds(one, released, remembered or {})
        # No rounds were written with an answer that was bought since a search without result.
        if earlier is None and id(one) not in searched:
            earlier = find_sealed_rounds(one, released, seals)
        if earlier is None:
            moments[one.recipe] = RUN[one.recipe.using](one, answers, measure_and_remember)
            continue
        measure([Measurement(r.query, r.price) for r in earlier.answers])  # replayed, and said so
        answers.update({r.query: r for r in earlier.answers if r.query not in answers})
        moments[one.recipe] = earlier.moments
    return moments


def _remembered_rounds(
    request: MeanRounds, released: Sequence[Release], remembered: Remembered
) -> SealedRounds | None:
    """Returns the rounds with which `outstanding_price` made the allowance smaller, or None.

    They are those that were found with the same counts; else any of the request: where a count was
    bought anew at a price that is some nanos higher, others would ask for more than is allowed.
    """
    key = _search_key(request, released)
    of_request = (rounds for (one, _), rounds in remembered.items() if one == key[0] and rounds)
    return remembered.get(key) or next(of_request, None)


def _search_key(request: MeanRounds, released: Sequence[Release]) -> SearchKey:
    """Returns what a mean's rounds are looked for with, beside the seals."""
    counted = count_query(request.recipe)
    return id(request), tuple(r.id for r in released if r.query == counted)


def find_sealed_rounds(
    request: MeanRounds, released: Sequence[Release], seals: Seals
) -> SealedRounds | None:
    """Returns a mean's rounds that were asked before at its price or a higher one, or None.

    Args:
        request: The mean, at its price now.
        released: The answers to the plan's measurements, of which counts may be among what the
            rounds were written with.
        seals: Finds what was released before.
    """
    by_grid = (
        _sealed_rounds_after(step.measurements, request, released, seals)
        for step in first_rounds(request)
    )
    return next((one for one in by_grid if one is not None), None)


def _sealed_rounds_after(
    early: Sequence[Measurement], request: MeanRounds, released: Sequence[Release], seals: Seals
) -> SealedRounds | None:
    """Returns the rounds that began with these queries, at these prices or higher ones."""
    free, recipe = type(request.price)(0), request.recipe
    others = [Measurement(histogram(recipe), free)] if request.histogram_shared else []
    counted = [r for r in released if r.query == count_query(recipe)]
    # what was paid for all rounds is no less than now, so neither was any of the first ones
    first = (*early, *others)
    sealed_answers: dict[Asked, list[Release]] = {}
    # dearest first: where it is not sealed, the many sealed answers to cheaper ones are not read
    for m in sorted(first, key=lambda m: m.price.nano, reverse=True):
        if not (answers_to_one := list(seals(m))):
            return None
        sealed_answers[m.query] = answers_to_one
    sealed = [sealed_answers[m.query] for m in first]
    counts = [*counted, *seals(Measurement(count_query(recipe), free))]
    counts = list({id(r) if not r.id else r.id: r for r in counts}.values())
    if not counts:
        return None
    # The dearest first, lest another statement's cheaper rounds be taken for these; with the counts
    # of now, or those that are its neighbours in the ledger, as one statement's seals are.
    likely = (
        (count, *first_answers)
        for first_answers in product(*sealed)
        for count in (*counted, min(counts, key=lambda r: abs(r.id - first_answers[0].id)))
    )
    listed = islice(chain(likely, product(counts, *sealed)), 3 * MOST_COMBINATIONS)
    distinct = {tuple(map(id, answers)): answers for answers in listed}.values()
    combinations = islice(distinct, MOST_COMBINATIONS)
    rounds = (_rounds_with(request, answers, seals) for answers in combinations)
    return next((one for one in rounds if one is not None), None)


def _rounds_with(
    request: MeanRounds, answers: Sequence[Release], seals: Seals
) -> SealedRounds | None:
    """Returns the rounds that follow from some sealed answers, at a price that was paid for them,
    if they are sealed, too."""
    by_query = {release.query: release for release in answers}
    figures = b"".join(
        b"%r %r " % (r.price.nano, r.sigma) + r.values.tobytes() for r in by_query.values()
    )
    digest = sha256(figures).digest()
    for price in prices_paid(request, {q: r.price for q, r in by_query.items()}):
        used: list[Release] = []

        def replay(batch: Sequence[Measurement], used: list[Release] = used) -> tuple[Release, ...]:
            releases = tuple(_sealed_answer(m, by_query, seals) for m in batch)
            used.extend(releases)
            return releases

        request_at_price = replace(request, price=price)
        try:
            if (missing := _NOT_SEALED.get((request_at_price, digest))) is not None:
                _sealed_answer(missing, by_query, seals)
            moments = RUN[request.recipe.using](request_at_price, by_query, replay)
        except NotSealed as one:
            if len(_NOT_SEALED) >= MOST_KEPT:
                _NOT_SEALED.clear()
            is_small = sum(r.values.size for r in answers) <= MOST_FIGURES
            # what follows from other sealed answers, too, changes where a dearer one is sealed
            if is_small and {*map(id, used)} <= {*map(id, answers)}:
                _NOT_SEALED[request_at_price, digest] = one.measurement
            continue
        return SealedRounds(moments, tuple(used))
    return None


def _sealed_answer(m: Measurement, chosen: Mapping[Asked, Release], seals: Seals) -> Release:
    """Returns the chosen or the dearest answer to a measurement that cost as much.

    Raises:
        NotSealed: There is none.
    """
    least = type(m.price)(max(m.price.nano - ROUNDING, 0))
    picked = chosen.get(m.query)
    releases = seals(replace(m, price=least)) if picked is None else (picked,)
    for release in releases:
        if release.price.nano >= least.nano:
            return release
    raise NotSealed(m)


def outstanding_price(
    rounds_to_ask: Sequence[MeanRounds],
    released: Sequence[Release | None],
    seals: Seals,
    remembered: Remembered | None = None,
) -> int:
    """Returns what the rounds would still cost, in nano: all but those that would be replayed.

    A round whose answer is sealed is replayed for nothing. The first round that is not sealed makes
    all later rounds new, because their queries are written with its answer.

    Args:
        rounds_to_ask, released: As in `ask_rounds`; None for a measurement that is not sealed.
        seals: Finds what was released before.
        remembered: Gets what was found of each request; rounds that were found stay sealed.
    """
    nano = sum(one.price.nano for one in rounds_to_ask)
    sealed_releases = [release for release in released if release is not None]

    def peek_batch(batch: Sequence[Measurement]) -> tuple[Release, ...]:
        nonlocal nano
        replayed = [next(iter(seals(m)), None) for m in batch]
        fresh = [m for m, r in zip(batch, replayed, strict=True) if r is None]
        nano -= sum(m.price.nano for m, r in zip(batch, replayed, strict=True) if r is not None)
        sealed_releases.extend(r for r in replayed if r is not None)
        if fresh:
            raise NotSealed(fresh[0])
        return tuple(r for r in replayed if r is not None)

    for one in rounds_to_ask:
        earlier = find_sealed_rounds(one, sealed_releases, seals)
        if remembered is not None:
            remembered[_search_key(one, sealed_releases)] = earlier
        if earlier is not None:
            nano -= one.price.nano
            sealed_releases.extend(earlier.answers)
            continue
        answers = {r.query: r for r in sealed_releases}
        needed = [count_query(one.recipe), *[histogram(one.recipe)] * one.histogram_shared]
        if not all(query in answers for query in needed):
            continue
        try:
            RUN[one.recipe.using](one, answers, peek_batch)
        except NotSealed:
            continue
    return nano
