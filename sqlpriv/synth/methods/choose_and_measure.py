"""What gem, pmw and privbayes share: one-way marginals, then rounds in each of which every stratum
chooses a marginal and measures it.

Price: WEIGHTS of it for the one-way marginals (one batch), for choosing and for measuring; the last
two in equal shares over the rounds. In a round every stratum chooses once and is covered by exactly
one measurement, so a round costs its two shares whichever strata chose what.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.adaptive.borrowing import Measured, borrowed_tables, posterior_sizes
from sqlpriv.synth.api.ask import Ask
from sqlpriv.synth.api.method import Phase
from sqlpriv.synth.api.one_way_marginals import one_ways
from sqlpriv.synth.api.progress import Progress
from sqlpriv.synth.graph.junction_tree import Clique
from sqlpriv.synth.inference.one_way_tables import Floats, total_of
from sqlpriv.synth.models.tree_model import Noisy

WEIGHTS = (0.1, 0.2, 0.7)
"""Of the price: one-way marginals, choosing, measuring."""


def phases(
    sizes: tuple[int, ...], price: Price, rounds: int, choosing: str, measuring: str
) -> tuple[Phase, ...]:
    """Returns the one-way marginals and, unless there are none, the rounds.

    Args:
        sizes: Levels of the columns.
        price: Of all; the phases' prices add up to it exactly.
        rounds: How many.
        choosing, measuring: Names of the two phases, for people.

    Raises:
        DataError: The price has fewer nanos than there are rounds.
    """
    if rounds < 1:
        return (Phase("one-way marginals", "noise", price, 1, one_ways(sizes, price)),)
    first, second, third = split_price(price, WEIGHTS)
    for part in (second, third):
        split_price(part, [1.0] * rounds)  # refuses fewer nanos than rounds
    return (
        Phase("one-way marginals", "noise", first, 1, one_ways(sizes, first)),
        Phase(choosing, "exponential mechanism", second, rounds),
        Phase(measuring, "noise", third, rounds),
    )


def measured_ones(ask: Ask, plan: Sequence[Phase]) -> tuple[Release, ...]:
    """Returns the releases of the first phase, the one-way marginals."""
    ask.report(Progress("measuring one-way marginals", 0, 1))
    return ask.measure(plan[0].marginals)


def totals_of(ones: Sequence[Release], strata: int) -> list[float]:
    """Returns each stratum's noised size from tables that all count it; may be negative."""
    return [total_of([r.values[s] for r in ones], [r.sigma for r in ones]) for s in range(strata)]


def borrowed_ones(
    columns: Sequence[int], ones: Sequence[Release], strata: int
) -> tuple[Floats, list[dict[Clique, Noisy]]]:
    """Returns the rows of each stratum, shape (strata,), and its one-way tables; of several strata
    the rows are above 0 and the tables are shrunk towards the population's (`borrowing`)."""
    measured = [
        Measured((c,), range(strata), r.values, r.sigma)
        for c, r in zip(columns, ones, strict=False)  # without columns: the bare count
    ]
    if strata == 1 or not columns:
        rows = np.array(totals_of(ones, strata))
    else:
        rows = posterior_sizes(measured)
    return rows, borrowed_tables(measured, rows)


def play_rounds(ask: Ask, plan: Sequence[Phase], stage: str) -> Iterator[tuple[Price, Price]]:
    """Yields what choosing and measuring may cost in each round, and tells how far it is; nothing
    where the plan has no rounds."""
    if len(plan) == 1:
        return
    rounds = plan[1].rounds
    prices = zip(*(split_price(phase.price, [1.0] * rounds) for phase in plan[1:]), strict=True)
    for done, (choosing, measuring) in enumerate(prices):
        ask.report(Progress(stage, done, rounds))
        yield choosing, measuring
    ask.report(Progress(stage, rounds, rounds))
