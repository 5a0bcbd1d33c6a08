"""`mwem`: as many rounds as there are columns, each measuring the marginal that is known worst.

MWEM (Hardt, Ligett and McSherry 2012, arXiv:1012.4763) with a graphical model in place of the
multiplicative weights: "MWEM+PGM" of McKenna, Sheldon and Miklau 2019 (arXiv:1901.09136). The
first share of the price is for the number of rows; then every round has one, a tenth of it for the
choice among all marginals of up to `degree` columns. A score is the distance from the model less
one row for each cell, so that small tables are preferred.

Price: a stratum's count and rounds add up to `price` exactly; strata are disjoint.
"""

from __future__ import annotations

from sqlpriv.kernel.terms.budget import Price
from sqlpriv.synth.adaptive.rounds import (
    BETWEEN,
    LAST,
    TREES,
    Rounds,
    Run,
    closure,
    fitted,
    small,
    started,
)
from sqlpriv.synth.adaptive.stratum_model import StratumCliques, knowing_zeros
from sqlpriv.synth.api.ask import Ask, Marginal
from sqlpriv.synth.api.method import Method, Option, Options, Phase, Space, shared
from sqlpriv.synth.api.one_way_marginals import modelled
from sqlpriv.synth.api.progress import Progress
from sqlpriv.synth.graph.junction_tree import Graph
from sqlpriv.synth.methods import independent


def phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    """Returns the count of rows, and one round for each column."""
    sizes = space.sizes
    columns = modelled(sizes)
    if len(columns) < 2:
        return independent.phases(space, price, options)
    shares = shared(price, [1.0] * (1 + len(columns)))
    rest = type(price)(sum(share.nano for share in shares[1:]))
    shared(rest, [1.0, 1.0] * len(columns))  # refuses a round that cannot choose and measure
    return (
        Phase("number of rows", "noise", shares[0], 1, (Marginal((), shares[0]),)),
        Phase("chosen marginals", "exponential mechanism and noise", rest, len(columns)),
    )


def fit(ask: Ask, space: Space, price: Price, options: Options) -> tuple[StratumCliques, ...]:
    """Returns one junction-tree model per stratum. Spends exactly `price`; see the module."""
    sizes, strata = space.sizes, space.strata
    columns = modelled(sizes)
    plan = phases(space, price, options)
    ask.report(Progress("counting rows", 0, 1))
    first = ask.measure(plan[0].marginals)
    graph, left = Graph(sizes), sum(p.price.nano for p in plan[1:])
    runs = [Run(graph, left, 0) for _ in range(strata)]
    for question, release in zip(plan[0].marginals, first, strict=True):
        for s, run in enumerate(runs):
            run.learn(question.clique, release, s)
    for s, run in enumerate(runs):
        run.model = knowing_zeros(space, graph, space.levels(s))
        run.model = started(run, columns)
    if len(columns) > 1:
        whole = dict.fromkeys(closure(columns, options["degree"]), 1.0)
        candidates = small(whole, graph, options["cells"], strata)
        sigma = first[0].sigma, first[0].price
        rounds = Rounds(ask, runs, candidates, sigma, noise_penalty=False)
        _play(rounds, len(columns), options)
    else:
        for run in runs:
            run.model = fitted(run, options["engine"], LAST)
    return tuple(StratumCliques(run.model, run.size) for run in runs if run.model is not None)


def _play(rounds: Rounds, count: int, options: Options) -> None:
    for done in range(count):
        rounds.ask.report(Progress("choosing and measuring marginals", done, count))
        for run in rounds.runs:
            run.step = run.left // (count - done)
        cells: float = options["cells"]
        rounds.play(dict.fromkeys(range(len(rounds.runs)), cells))
        for run in rounds.runs:
            run.model = fitted(run, options["engine"], BETWEEN if done + 1 < count else LAST)
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
    phases=phases,
    trees=True,
)
