"""`aim`: one-way marginals, then, round by round, the marginal that the model knows worst.

McKenna, Mullins, Sheldon and Miklau 2022, "AIM: An Adaptive and Iterative Mechanism for
Differentially Private Synthetic Data" (arXiv:2201.12677), Algorithms 2 and 3. The workload is all
marginals of `degree` columns; a candidate's score is its distance from the model less the noise
that measuring it would add, times its weight.

The schedule is for 16 rounds a column. Where the model moved no more than noise would have moved
it, its stratum's next round costs four times as much (half the noise, twice the epsilon of the
choice; twice as much of pure epsilon), and a stratum that could not pay two more rounds spends all
that it has left on the next one.

Price: a stratum's one-way marginals and rounds add up to `price` exactly; strata are disjoint. That
later questions depend on earlier answers is what zCDP's adaptive composition allows.
"""

from __future__ import annotations

import numpy as np

from sqlpriv.kernel.budget import Price, Rho
from sqlpriv.synth import engines, independent
from sqlpriv.synth.adaptive import BETWEEN, LAST, Chosen, Rounds, Run, closure, fitted
from sqlpriv.synth.asking import Marginal, Measure, Select
from sqlpriv.synth.cliques import StratumCliques
from sqlpriv.synth.independent import modelled
from sqlpriv.synth.junction import Graph
from sqlpriv.synth.method import Method, Option, Options, Phase, shared
from sqlpriv.synth.progress import Progress, Report

ROUNDS_PER_COLUMN = 16


def phases(
    sizes: tuple[int, ...], strata: int, price: Price, options: Options
) -> tuple[Phase, ...]:
    """Returns what the price is spent on: one-way marginals, then rounds that depend on answers."""
    columns = modelled(sizes)
    if len(columns) < 2:
        return independent.phases(sizes, strata, price, options)
    nominal = ROUNDS_PER_COLUMN * len(columns)
    first, rest = shared(price, [0.9 * len(columns), nominal - 0.9 * len(columns)])
    ones = tuple(
        Marginal((c,), share)
        for c, share in zip(columns, shared(first, [1.0] * len(columns)), strict=True)
    )
    return (
        Phase("one-way marginals", "noise", first, 1, ones),
        Phase("chosen marginals", "exponential mechanism and noise", rest, nominal),
    )


def fit(
    measure: Measure,
    select: Select,
    sizes: tuple[int, ...],
    strata: int,
    price: Price,
    options: Options,
    report: Report,
) -> tuple[StratumCliques, ...]:
    """Returns one junction-tree model per stratum. Spends exactly `price`; see the module."""
    columns = modelled(sizes)
    plan = phases(sizes, strata, price, options)
    report(Progress("measuring one-way marginals", 0, 1))
    ones = measure(plan[0].marginals)
    graph = Graph(sizes)
    left = sum(phase.price.nano for phase in plan[1:])
    step = max(2, price.nano // (ROUNDS_PER_COLUMN * max(len(columns), 1)))
    runs = [Run(graph, left, step) for _ in range(strata)]
    for question, release in zip(plan[0].marginals, ones, strict=True):
        for s, run in enumerate(runs):
            run.learn(question.clique, release, s)
    for run in runs:
        run.model = fitted(run, options["engine"], BETWEEN)
    if left:
        sigma = ones[0].sigma, ones[0].price
        candidates = closure(columns, options["degree"])
        rounds = Rounds(measure, select, runs, candidates, sigma, noise_penalty=True)
        _anneal(rounds, price.nano, options, report)
    return tuple(StratumCliques(run.model, run.size) for run in runs if run.model is not None)


def _anneal(rounds: Rounds, whole: int, options: Options, report: Report) -> None:
    """Plays rounds until every stratum has spent what it had."""
    runs, begun = rounds.runs, max(run.left for run in rounds.runs)
    while active := [s for s, run in enumerate(runs) if run.left]:
        spent = begun - sum(runs[s].left for s in active) // len(runs)
        report(Progress("choosing and measuring marginals", spent, begun))
        for s in active:
            if runs[s].left < 2 * runs[s].step:
                runs[s].step = runs[s].left
        limits = {s: options["cells"] * (1 - (runs[s].left - runs[s].step) / whole) for s in active}
        for s, choice in rounds.play(limits).items():
            _fit(rounds, s, choice, options["engine"])
    report(Progress("choosing and measuring marginals", begun, begun))


def _fit(rounds: Rounds, stratum: int, choice: Chosen, engine: str) -> None:
    """Fits a stratum anew, and makes its rounds dearer where that moved it less than noise."""
    run = rounds.runs[stratum]
    run.model = fitted(run, engine, BETWEEN if run.left else LAST)
    moved = np.abs(rounds.believed(stratum, choice.clique) - choice.believed).sum()
    if moved <= choice.noise * choice.believed.size:
        run.step *= 4 if isinstance(rounds.sigma[1], Rho) else 2


METHOD = Method(
    name="aim",
    title="the marginals that matter, chosen one by one in each stratum",
    paper="McKenna, Mullins, Sheldon and Miklau 2022 (arXiv:2201.12677)",
    options=(
        Option("degree", 3, "columns of the marginals to be kept", least=2, most=4),
        Option(
            "cells", 100_000, "cells of a stratum's junction tree at most", least=1, most=20_000_000
        ),
        Option(
            "engine",
            "numpy",
            "inference: numpy (fast) or mbi (the reference, compiles in every round)",
            choices=tuple(engines.CLIQUE_ENGINES),
        ),
    ),
    max_strata=1_000,
    max_cells=20_000_000,
    arity=3,
    fit=fit,
    phases=phases,
)
