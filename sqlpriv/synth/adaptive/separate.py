"""Strata by themselves: one-way marginals of each, then AIM's rounds in each.

What the strata ask together costs what one of them asks: they are disjoint (parallel composition;
`kernel.sensitivity` bounds what a unit of several strata adds).
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlpriv.kernel.terms.release import Release
from sqlpriv.synth.adaptive.rounds import BETWEEN, LAST, Rounds, closure, small
from sqlpriv.synth.adaptive.schedule import Schedule, anneal
from sqlpriv.synth.adaptive.stratum_model import StratumCliques, knowing_zeros
from sqlpriv.synth.adaptive.stratum_run import Run, fit_run
from sqlpriv.synth.api.ask import Ask, Marginal
from sqlpriv.synth.api.method import Options, Space
from sqlpriv.synth.api.progress import Progress
from sqlpriv.synth.graph.junction_tree import Clique, Graph


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
    for s, run in enumerate(runs):
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
