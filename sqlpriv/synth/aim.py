"""`aim`: one-way marginals, then, round by round, the marginal that the model knows worst.

McKenna, Mullins, Sheldon and Miklau 2022, "AIM: An Adaptive and Iterative Mechanism for
Differentially Private Synthetic Data" (arXiv:2201.12677), Algorithms 2 and 3. The workload is all
marginals of `degree` columns; a candidate's score is its distance from the model less the noise
that measuring it would add, times its weight.

The schedule is for 16 rounds a column. Where the model moved no more than noise would have moved
it, its stratum's next round costs four times as much (half the noise, twice the epsilon of the
choice; twice as much of pure epsilon), and a stratum that could not pay two more rounds spends all
that it has left on the next one.

Pooled strata (`pooling`): a share of the price is spent on one model of the whole population, over
the columns that are not strata. Every stratum starts from it, so relations that nobody measured
inside a stratum are the population's there, and each of its noisy tables is shrunk towards what the
population's model says of it (`adaptive.shrunk`): a stratum of almost nobody follows the pool, one
that is large goes its own way. `pooling = 0` is every stratum by itself, the method of Rosenblatt,
Stoyanovich and Musco 2024.

Price: a stratum's one-way marginals and rounds add up to its part exactly, and strata are disjoint,
so they cost that part together; the pool reads everybody and is added to it (sequential
composition). That later questions depend on earlier answers is what adaptive composition allows.
"""

from __future__ import annotations

import numpy as np

from sqlpriv.kernel.budget import Price, Rho
from sqlpriv.synth import engines, independent
from sqlpriv.synth.adaptive import BETWEEN, LAST, Chosen, Rounds, Run, closure, fitted, small
from sqlpriv.synth.asking import Marginal, Measure, Select
from sqlpriv.synth.cliques import StratumCliques
from sqlpriv.synth.independent import modelled
from sqlpriv.synth.junction import Graph
from sqlpriv.synth.method import Method, Option, Options, Phase, shared
from sqlpriv.synth.progress import Progress, Report

ROUNDS_PER_COLUMN = 16
POOLED = 0.3
"""The share of the price that pooling = auto spends on the population."""
POOL_CELLS = 4
"""The population's junction tree is this many times smaller: every stratum's holds it."""


def phases(
    sizes: tuple[int, ...], strata: int, price: Price, options: Options
) -> tuple[Phase, ...]:
    """Returns what the price is spent on: one-way marginals, then rounds that depend on answers;
    of the population first, where strata are pooled."""
    columns = modelled(sizes)
    if len(columns) < 2:
        return independent.phases(sizes, strata, price, options)
    pool, own = _parts(strata, price, options)
    return (*(_two(columns, pool, pooled=True) if pool else ()), *_two(columns, own, pooled=False))


def _parts(strata: int, price: Price, options: Options) -> tuple[Price | None, Price]:
    """Returns the price of the population's model, None for none, and that of the strata's."""
    share = POOLED if options["pooling"] == "auto" else float(options["pooling"])
    if strata == 1 or share == 0:
        return None, price
    pool, own = shared(price, [share, 1 - share])
    return pool, own


def _two(columns: tuple[int, ...], price: Price, pooled: bool) -> tuple[Phase, Phase]:
    nominal = ROUNDS_PER_COLUMN * len(columns)
    first, rest = shared(price, [0.9 * len(columns), nominal - 0.9 * len(columns)])
    shares = shared(first, [1.0] * len(columns))
    ones = tuple(Marginal((c,), p, pooled=pooled) for c, p in zip(columns, shares, strict=True))
    of = "population: " if pooled else ""
    return (
        Phase(f"{of}one-way marginals", "noise", first, 1, ones),
        Phase(f"{of}chosen marginals", "exponential mechanism and noise", rest, nominal),
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
    columns, graph = modelled(sizes), Graph(sizes)
    if len(columns) < 2:
        (plan,) = phases(sizes, strata, price, options)
        runs = _measured(measure, plan, [Run(graph, 0, 0) for _ in range(strata)])
        return _models(runs, options)
    pool, own = _parts(strata, price, options)
    prior = None
    if pool:
        modest = {**options, "cells": options["cells"] // POOL_CELLS}
        runs = [Run(graph, 0, 0)]
        _run(measure, select, runs, _two(columns, pool, pooled=True), modest, report)
        prior = runs[0].model
    runs = [Run(graph, 0, 0, model=prior, prior=prior) for _ in range(strata)]
    _run(measure, select, runs, _two(columns, own, pooled=False), options, report)
    return _models(runs, options)


def _run(
    measure: Measure,
    select: Select,
    runs: list[Run],
    plan: tuple[Phase, Phase],
    options: Options,
    report: Report,
) -> None:
    """Plays a whole AIM in all strata of a list, or in the population."""
    ones, rest = plan
    report(Progress(ones.name, 0, 1))
    for run in runs:
        run.left = rest.price.nano
        run.step = max(2, (ones.price.nano + rest.price.nano) // rest.rounds)
    _measured(measure, ones, runs)
    for run in runs:
        run.model = fitted(run, options["engine"], BETWEEN)
    whole = closure([m.clique[0] for m in ones.marginals], options["degree"])
    candidates = small(whole, runs[0].graph, options["cells"], len(runs))
    sigma = next(iter(runs[0].sigmas.values())), ones.marginals[0].price
    rounds = Rounds(
        measure, select, runs, candidates, sigma, noise_penalty=True,
        pooled=ones.marginals[0].pooled,
    )  # fmt: skip
    _anneal(rounds, rest.price.nano, options, report)


def _measured(measure: Measure, plan: Phase, runs: list[Run]) -> list[Run]:
    for question, release in zip(plan.marginals, measure(plan.marginals), strict=True):
        for s, run in enumerate(runs):
            run.learn(question.clique, release, s)
    return runs


def _models(runs: list[Run], options: Options) -> tuple[StratumCliques, ...]:
    for run in runs:
        run.model = run.model or fitted(run, options["engine"], LAST)
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
        Option(
            "degree", 3, "columns of the marginals to be kept; 2 of many columns", least=2, most=4
        ),
        Option(
            "cells", 100_000, "cells of a stratum's junction tree at most", least=1, most=20_000_000
        ),
        Option(
            "engine",
            "numpy",
            "inference: numpy (fast) or mbi (the reference, compiles in every round)",
            choices=tuple(engines.CLIQUE_ENGINES),
        ),
        Option(
            "pooling",
            "auto",
            "share of the price for a model of the population that strata start from; 0 for none",
            choices=("auto",),
            share=True,
        ),
    ),
    max_strata=1_000,
    max_cells=20_000_000,
    arity=1,
    fit=fit,
    phases=phases,
)
