"""`hdmm`: the marginals, and their prices, that answer a workload with the least expected error.

McKenna, Miklau, Hay and Machanavajjhala 2018, "Optimizing Error of High-Dimensional Statistical
Queries under Differential Privacy" (HDMM, arXiv:1808.03537), in its form for marginals: the
workload, all marginals of `degree` columns and fewer, is answered from a strategy, which marginals
are measured at which part of the price. The strategy follows from sizes of domains alone
(`marginal_strategy`), so nothing is spent on choosing, and everything is measured in one batch. The
paper answers the workload by least squares; here rows are made that agree (`table_rows`).

Price: the prices of the marginals add up to it; strata are disjoint. With strata see
`whole_or_strata` and `borrowing`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.adaptive import whole_or_strata
from sqlpriv.synth.adaptive.borrowing import borrow_by_stratum
from sqlpriv.synth.api.ask import Ask, Marginal
from sqlpriv.synth.api.method import Method, Model, Option, Options, PairPlan, Phase, Space
from sqlpriv.synth.api.one_way_marginals import modelled_columns
from sqlpriv.synth.api.progress import Progress
from sqlpriv.synth.inference.one_way_tables import total_of
from sqlpriv.synth.methods import independent
from sqlpriv.synth.methods.batches.marginal_strategy import (
    MOST_CELLS,
    strategy_shares,
    workload_of,
)
from sqlpriv.synth.methods.batches.table_rows import rows_of_tables

MOST_MARGINALS = 1_000
ONES = 0.1
"""Of the price, for the one-way marginals: rows begin with them."""


def phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    """Returns what the price is spent on; see `whole_or_strata`."""
    return whole_or_strata.phases(_phases, space, price, options, "marginals of a strategy")


def fit(ask: Ask, space: Space, price: Price, options: Options) -> Sequence[Model]:
    """Returns one set of rows per stratum. Spends exactly `price`; see the module."""
    return whole_or_strata.fit(_fit, ask, space, price, options, pair_plan)


def pair_plan(space: Space, _: Options) -> PairPlan:
    """Returns how many pairs there are, and what they have of the price, about."""
    return PairPlan(ONES, math.comb(len(modelled_columns(space.sizes)), 2))


def measured_marginals(space: Space, price: Price, degree: int) -> list[Marginal]:
    """Returns the marginals of the strategy with their prices, which add up to `price`.

    Raises:
        Refused: There are more than MOST_MARGINALS to choose from.
    """
    columns = modelled_columns(space.sizes)
    if _count_marginals(len(columns), degree) > MOST_MARGINALS:
        fits = max(n for n in range(len(columns)) if _count_marginals(n, degree) <= MOST_MARGINALS)
        lower = f", OPTIONS (degree = {degree - 1})" * (degree > 2)
        raise Refused(
            f"hdmm weighs {MOST_MARGINALS} marginals at most",
            hint=f"select {fits} columns at most{lower}, or USING mst",
        )
    first, rest = split_price(price, [ONES, 1 - ONES])
    workload = workload_of(columns, degree)
    small = [
        q for q in workload if len(q) == 1 or math.prod(space.sizes[c] for c in q) <= MOST_CELLS
    ]
    parts = strategy_shares(small, small, space.sizes)
    chosen = [(q, float(part)) for q, part in zip(small, parts, strict=True) if part > 0]
    ones = split_price(first, [1.0] * len(columns))
    strategy = split_price(rest, [part for _, part in chosen])
    marginals = [Marginal((c,), p) for c, p in zip(columns, ones, strict=True)]
    for (clique, _), each in zip(chosen, strategy, strict=True):
        if len(clique) > 1:
            marginals.append(Marginal(clique, each))
        else:
            at = columns.index(clique[0])
            together = type(each)(marginals[at].price.nano + each.nano)
            marginals[at] = Marginal(clique, together)
    return marginals


def _count_marginals(columns: int, degree: int) -> int:
    """Returns how many marginals there are of at most `degree` of these columns."""
    return sum(math.comb(columns, k) for k in range(1, degree + 1))


def _phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    if len(modelled_columns(space.sizes)) < 2:
        return independent.phases(space, price, options)
    measured_marginals(space, price, options["degree"])
    return (Phase("marginals of a strategy", "noise", price),)


def _fit(ask: Ask, space: Space, price: Price, options: Options) -> Sequence[Model]:
    if len(modelled_columns(space.sizes)) < 2:
        return independent.fit(ask, space, price, options)
    questions = measured_marginals(space, price, options["degree"])
    ask.report(Progress("measuring marginals", 0, 1))
    releases = ask.measure(questions)
    answers = [(q.clique, release) for q, release in zip(questions, releases, strict=True)]
    measured = [{c: (r.values[s], r.sigma) for c, r in answers} for s in range(space.strata)]
    models = []
    for s, tables in enumerate(borrow_by_stratum(measured)):
        ask.report(Progress("making rows", s, space.strata))
        size = total_of([r.values[s] for r in releases], [r.sigma for r in releases])
        models.append(rows_of_tables(tables, space.sizes, size))
    ask.report(Progress("making rows", space.strata, space.strata))
    return tuple(models)


METHOD = Method(
    name="hdmm",
    title="the marginals and prices that answer all small marginals with the least error",
    paper="McKenna, Miklau, Hay and Machanavajjhala 2018 (arXiv:1808.03537)",
    options=(Option("degree", 2, "columns of the marginals of the workload", least=1, most=3),),
    max_strata=100,
    max_cells=4_000_000,
    arity=2,
    fit=fit,
    one_model=whole_or_strata.whole_if_better(pair_plan),
    phases=phases,
    merges_lists=True,
)
