"""Strata by themselves: one-way marginals of each, then AIM's rounds in each.

What the strata ask together costs what one of them asks: they are disjoint (parallel composition;
`kernel.sensitivity` bounds what a unit of several strata adds).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sqlpriv.kernel.terms.release import Release
from sqlpriv.synth.adaptive.rounds import BETWEEN, LAST, Rounds, closure, small
from sqlpriv.synth.adaptive.schedule import Schedule, anneal
from sqlpriv.synth.adaptive.stratum_model import StratumCliques, knowing_zeros
from sqlpriv.synth.adaptive.stratum_run import Run, fit_run
from sqlpriv.synth.api.ask import Ask, Marginal
from sqlpriv.synth.api.method import Options, Space
from sqlpriv.synth.api.progress import Progress
from sqlpriv.synth.graph.junction_tree import Clique, Graph
from sqlpriv.synth.inference.one_way_tables import dearer_prices
from sqlpriv.synth.inference.strata_constants import MOST_ONE_WAYS


def separate(
    ask: Ask,
    space: Space,
    ones: Sequence[Marginal],
    left: int,
    options: Options,
    schedule: Schedule,
    known: Sequence[tuple[Clique, Release]] = (),
) -> tuple[StratumCliques, ...]:
    """Returns one junction-tree model per stratum; spends the price of `ones` and `left`.

    Args:
        ask: The gate.
        space: Levels of columns and strata.
        ones: The one-way marginals, at least one; none of them of the population.
        left: What the rounds may spend, in nano; 0 where there is one column only.
        options: Of AIM.
        schedule: Of the rounds.
        known: What was measured in every stratum before: columns and answer.
    """
    several, graph = len(ones) > 1, Graph(space.sizes)
    ask.report(Progress("measuring one-way marginals", 0, 1))
    whole = left + sum(question.price.nano for question in ones)
    whole += sum(release.price.nano for _, release in known)
    step = schedule.step(whole, len(ones))
    runs = [Run(graph, left, step) for _ in range(space.strata)]
    releases = ask.measure(ones)
    measured = [(q.clique, release) for q, release in zip(ones, releases, strict=True)]
    for clique, release in (*known, *measured):
        for s, run in enumerate(runs):
            run.learn(clique, release, s)
    if several:
        rows = float(np.mean([run.size for run in runs]))
        again = dearer_one_ways(ones, releases, rows, whole)
        left -= sum(question.price.nano for question in again)
        for question, release in zip(again, ask.measure(again) if again else (), strict=True):
            for s, run in enumerate(runs):
                run.learn(question.clique, release, s)
    for s, run in enumerate(runs):
        run.left = left
        run.model = knowing_zeros(space, graph, space.levels(s))
        run.model = fit_run(run, options["engine"], BETWEEN if several else LAST)
    if several:
        workload = closure([m.clique[0] for m in ones], options["degree"])
        candidates = small(workload, graph, options["cells"], len(runs))
        noise = releases[0].sigma, releases[0].price  # of an earlier statement, where it was dearer
        share = schedule.selecting
        rounds = Rounds(ask, runs, candidates, noise, noise_penalty=True, selecting=share)
        anneal(rounds, left, options, schedule.dearer)
    return tuple(StratumCliques(run.model, run.size) for run in runs if run.model is not None)


def dearer_one_ways(
    asked: Sequence[Marginal], releases: Sequence[Release], rows: float, whole: int
) -> tuple[Marginal, ...]:
    """Returns one-way marginals that are to be measured once more, see `dearer_prices`. None is, of
    which that would cost no more than before: the gate would repeat its answer.

    Price: what they cost is taken from the rounds, so that the statement's price stays: sequential
    composition, of prices that follow from released numbers.

    Args:
        asked: One-way marginals of all strata.
        releases: Their answers, whose prices are what their noise is worth.
        rows: The noised number of rows that each of their tables counts.
        whole: The price of the statement, in nano.
    """
    kind = type(asked[0].price)
    levels = np.array([float(release.values[0].size) for release in releases])
    prices = np.array([float(release.price.nano) for release in releases])
    noise = levels * np.array([release.sigma for release in releases]) / max(rows, 1.0)
    most = round(MOST_ONE_WAYS * whole) - sum(question.price.nano for question in asked)
    more = dearer_prices(noise, prices, most, kind)
    return tuple(
        replace(question, price=kind(price))
        for question, price in zip(asked, more, strict=True)
        if price > question.price.nano
    )
