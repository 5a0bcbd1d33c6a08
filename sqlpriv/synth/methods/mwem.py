"""`mwem`: as many rounds as there are columns, each measuring the marginal that is known worst.

MWEM (Hardt, Ligett and McSherry 2012, arXiv:1012.4763) with a graphical model in place of the
multiplicative weights: "MWEM+PGM" of McKenna, Sheldon and Miklau 2019 (arXiv:1901.09136). The
first share of the price is for the number of rows; then every round has one, a tenth of it for the
choice among all marginals of up to `degree` columns. A score is the distance from the model less
one row for each cell, so that small tables are preferred.

Price: a stratum's count and rounds add up to `price` exactly; strata are disjoint.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlpriv.kernel.terms.budget import Price
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.adaptive import whole_or_strata
from sqlpriv.synth.adaptive.borrowing import borrow_from_runs, following, rows_of_runs
from sqlpriv.synth.adaptive.rounds import (
    BETWEEN,
    LAST,
    SELECTING,
    TREES,
    Rounds,
    closure,
    most_cells,
    small,
)
from sqlpriv.synth.adaptive.stratum_model import StratumCliques, knowing_zeros
from sqlpriv.synth.adaptive.stratum_run import Run, fit_run, starting_model
from sqlpriv.synth.api.ask import Ask, Marginal
from sqlpriv.synth.api.method import Method, Model, Option, Options, PairPlan, Phase, Space
from sqlpriv.synth.api.one_way_marginals import modelled_columns
from sqlpriv.synth.api.progress import Progress
from sqlpriv.synth.graph.junction_tree import Graph
from sqlpriv.synth.methods import independent


def phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    """Returns what the price is spent on; see `whole_or_strata`."""
    return whole_or_strata.phases(_phases, space, price, options, "chosen marginals")


def fit(ask: Ask, space: Space, price: Price, options: Options) -> Sequence[Model]:
    """Returns one junction-tree model per stratum. Spends exactly `price`; see the module."""
    return whole_or_strata.fit(_fit, ask, space, price, options, pair_plan)


def pair_plan(space: Space, _: Options) -> PairPlan:
    """Returns how many pairs are measured, and what they have of the price."""
    return PairPlan(1 / SELECTING, len(modelled_columns(space.sizes)) + 1)


def _phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    """Returns the count of rows, and one round for each column."""
    sizes = space.sizes
    columns = modelled_columns(sizes)
    if len(columns) < 2:
        return independent.phases(space, price, options)
    shares = split_price(price, [1.0] * (1 + len(columns)))
    rest = type(price)(sum(share.nano for share in shares[1:]))
    split_price(rest, [1.0, 1.0] * len(columns))  # refuses a round that cannot choose and measure
    return (
        Phase("number of rows", "noise", shares[0], 1, (Marginal((), shares[0]),)),
        Phase("chosen marginals", "exponential mechanism and noise", rest, len(columns)),
    )


def _fit(ask: Ask, space: Space, price: Price, options: Options) -> tuple[StratumCliques, ...]:
    """Returns one junction-tree model per stratum, each by itself but for what it borrows."""
    sizes, strata = space.sizes, space.strata
    columns = modelled_columns(sizes)
    plan = _phases(space, price, options)
    ask.report(Progress("counting rows", 0, 1))
    first = ask.measure(plan[0].marginals)
    graph, left = Graph(sizes), sum(p.price.nano for p in plan[1:])
    runs = [Run(graph, left, 0) for _ in range(strata)]
    for question, release in zip(plan[0].marginals, first, strict=True):
        for s, run in enumerate(runs):
            run.learn(question.clique, release, s)
    for s, run in enumerate(runs):
        run.model = knowing_zeros(space, graph, space.levels(s))
        run.model = starting_model(run, columns)
    if len(columns) > 1:
        whole = dict.fromkeys(closure(columns, options["degree"]), 1.0)
        candidates = small(whole, graph, options["cells"], strata)
        sigma = first[0].sigma, first[0].price
        rounds = Rounds(
            following(ask, rows_of_runs(runs)), runs, candidates, sigma, noise_penalty=False
        )
        _play(rounds, len(columns), options)
    else:
        for run in runs:
            run.model = fit_run(run, options["engine"], LAST)
    rows = rows_of_runs(runs).tolist()
    return tuple(
        StratumCliques(run.model, n) for run, n in zip(runs, rows, strict=True) if run.model
    )


def _play(rounds: Rounds, count: int, options: Options) -> None:
    runs = rounds.runs
    for done in range(count):
        rounds.ask.report(Progress("choosing and measuring marginals", done, count))
        for run in runs:
            run.step = run.left // (count - done)
        cells: float = options["cells"]
        rounds.play(dict.fromkeys(range(len(runs)), cells))
        borrow_from_runs(runs)
        for run in runs:
            run.model = fit_run(run, options["engine"], BETWEEN if done + 1 < count else LAST)
    rounds.ask.report(Progress("choosing and measuring marginals", count, count))


METHOD = Method(
    name="mwem",
    title="as many marginals as columns, the worst known first, in each stratum",
    paper="Hardt, Ligett and McSherry 2012 (arXiv:1012.4763); McKenna, Sheldon and Miklau 2019"
    " (arXiv:1901.09136)",
    options=(
        Option("degree", 2, "columns of the marginals that are measured", least=2, most=4),
        *TREES,
    ),
    max_strata=1_000,
    max_cells=20_000_000,
    arity=1,
    fit=fit,
    one_model=whole_or_strata.whole_if_better(pair_plan),
    phases=phases,
    trees=True,
    pair_cells=lambda options, strata: most_cells(options["cells"], strata),
    max_columns=80,  # 100 took 96 CPU s (20,000 rows of six levels, epsilon 1)
    merges_lists=True,
)
