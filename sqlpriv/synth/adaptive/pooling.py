"""Pooled strata: a model of the whole population, and what each stratum has of its own.

1. Of every stratum its size is measured, a look is taken at its one-way marginals, and those of the
   population are measured, inside strata where that is worth it (`joint.shared_one_ways`). Where
   even the smallest stratum is so large that a pool has nothing to tell it (`apart`), each has
   one-way marginals of its own, and goes on by itself (`separate`); steps 2 to 5 fall away.
2. The noised sizes and the noise alone say how much of what is left the population's model gets
   (`share`), and which strata are large enough to say anything of themselves (`taking_part`). The
   others learn their one-way marginals alone, or, where those are noise, too, are merged: they
   stay what the population's model says of them.
3. A model of the population is made over all columns, those of the strata among them, as without
   strata: round by round the marginal that it knows worst. Counts of strata and of single levels
   are replaced by posterior means, which are above zero (`strata_sizes`), and tables of several
   columns are shrunk towards strata that are alike and columns that are independent (`shrinkage`):
   a stratum that drowns in the noise is what everybody is, where the measured cells alone would
   make of it whatever the noise made positive.
4. Given a stratum's levels it is that stratum's model, from which the stratum goes on with its
   one-way marginals and with rounds of its own; what it measures is shrunk towards what was
   expected, as far as that is less noisy.
   Levels of fewer people than the noise in every cell say nothing: merged strata that have them are
   what everybody is, whatever else they have in common.
5. The strata's models are moved together to add up to the population's tables (`reconciling`).

So with all of the price for the population this is the method without strata, but for shrinkage;
with none of it every stratum by itself; and in between each has what the other measured.

Price. Let p be the price, A the part of steps 1 and 3 that counts the population, B that of 1 and 4
that counts inside strata, A + B = p (B = p where strata go on by themselves). Every stratum's
measurements and choices add up to at most B (`Run.left` is what it may still spend), and no unit is
counted in two strata at more than its bound allows, so all strata together cost B: parallel
composition, as one norm (`kernel.sensitivity`). That is added to A: sequential composition, which
holds for prices and questions chosen after earlier answers, as they are here (Whitehouse, Ramdas,
Rogers and Wu 2023, "Fully adaptive composition"; a filter stops at p, which the gate is). Steps 2
and 5 look at released numbers only and cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.adaptive import pooling_prior
from sqlpriv.synth.adaptive.joint.pool_layout import Layout
from sqlpriv.synth.adaptive.joint.pooled_one_ways import dearer_questions, strata_with_one_ways
from sqlpriv.synth.adaptive.joint.shared_one_ways import SharedOneWays, pair_tables
from sqlpriv.synth.adaptive.pooling_share import apart, share, taking_part
from sqlpriv.synth.adaptive.rounds import BETWEEN, Rounds, closure, small
from sqlpriv.synth.adaptive.schedule import Schedule, anneal
from sqlpriv.synth.adaptive.separate import separate
from sqlpriv.synth.adaptive.strata_sizes import count_strata, measured_sizes, nonnegative
from sqlpriv.synth.adaptive.strata_sum import reconcile_with_population
from sqlpriv.synth.adaptive.stratum_model import (
    StratumCliques,
    condition_model,
    knowing_zeros,
)
from sqlpriv.synth.adaptive.stratum_run import Run, fit_run
from sqlpriv.synth.api.ask import Ask, Marginal
from sqlpriv.synth.api.method import Options, PairPlan, Phase, Space, Strata
from sqlpriv.synth.api.one_way_marginals import modelled_columns, one_ways
from sqlpriv.synth.api.progress import Progress
from sqlpriv.synth.graph.junction_tree import Clique
from sqlpriv.synth.inference.one_way_tables import Floats, count_sigma, scale_sigma
from sqlpriv.synth.inference.strata_constants import LOOK, MOST_ONE_WAYS
from sqlpriv.synth.models.clique_model import CliqueModel

POOLED = Schedule(dearer=2.0, selecting=20)
"""AIM's 4 leaves most of the price to a few last rounds, which is worse where a model exists to
begin with. Choosing for a tenth, which is AIM's, errs 4 % more (3-way, census rows, strata of SEX x
RAC1P at epsilon = 1), and so does a fortieth."""
APART = Schedule(rounds=32, dearer=2.0, selecting=40)
"""Of strata by themselves: so large beside the noise that cheap rounds tell them much, and more of
them more. With 16 of them, or 4 for 2, 3-way errors were a tenth larger (census rows, SEX at
epsilon = 5). The noise of a choice is 1.25 sqrt(r) over the number of cells, in units of what the
score already takes off for noise, where measuring costs r times choosing: a tenth of it for tables
of 80 cells."""


def phases(space: Space, price: Price) -> tuple[Phase, Phase, Phase]:
    """Returns what is measured first, and what depends on it: whose one-way marginals are measured,
    and the rounds."""
    columns = modelled_columns(space.sizes)
    nominal = POOLED.rounds * (len(columns) + 1)
    measured = 0.9 * (len(columns) + 1)
    look, after = split_price(price, [LOOK, 1 - LOOK])
    first, rest = split_price(after, [measured, nominal - measured])
    split_price(rest, [1.0, 1.0])  # refuses what cannot pay for choosing and measuring
    size, *each = split_price(first, [1.0] * (len(columns) + 1))
    looks = one_ways(space.sizes, look)
    ones = type(price)(sum(p.nano for p in each))
    begun = type(price)(size.nano + look.nano)
    what = "population, then strata: chosen marginals"
    return (
        Phase("a look at strata", "noise", begun, 1, (Marginal((), size), *looks)),
        Phase("one-way marginals, of all or of each stratum", "noise", ones),
        Phase(what, "exponential mechanism and noise", rest, nominal),
    )


def is_one_model(rows: float, price: Price, space: Space, options: Options) -> Strata:
    """Returns whether the population's model is what strata err as; see `method.OneModel`.

    By strata of equal sizes, since nothing else is known of them: where the smallest is smaller,
    `fit` may model everybody although this says that it models each. Of a part of the price that
    was named, everybody's model is what strata err as where it has less noise than the strata's
    tables, which the rest measures, added up, or where none is large enough for rounds of its own.
    """
    columns, population = modelled_columns(space.sizes), options["pooling"]
    if space.strata == 1 or len(columns) < 2 or population == 0:
        return Strata.EACH
    levels = [n for n in (*space.sizes, *space.strata_shape) if n > 1]
    strata, sigma = np.full(space.strata, rows / space.strata), count_sigma(price)
    if population == "auto":
        return Strata.EACH if apart(strata, sigma, levels) else Strata.ONE
    everybody = type(price)(max(round(price.nano * population), 1))
    own = type(price)(max(price.nano - everybody.nano, 1))
    is_nearer = count_sigma(everybody) < count_sigma(own) * math.sqrt(space.strata)
    has_rounds = taking_part(strata, (sigma, price), own.nano)
    return Strata.ONE if is_nearer or not has_rounds else Strata.EACH


def fit(ask: Ask, space: Space, price: Price, options: Options) -> tuple[StratumCliques, ...]:
    """Returns one junction-tree model per stratum. Spends exactly `price`; see the module."""
    look, ones, rest = phases(space, price)
    ask.report(Progress(ones.name, 0, 1))
    size, *looks = look.marginals
    layout, (sizes,) = Layout(space), ask.measure([size])
    noise, population = (sizes.sigma, sizes.price), options["pooling"]
    shared = SharedOneWays(ask, measured_sizes(sizes))
    shared.look(looks)
    questions = one_ways(space.sizes, ones.price)
    levels = [layout.graph.sizes[c] for c in (*layout.columns, *layout.strata)]
    if population == "auto" and apart(sizes.values, scale_sigma(noise, price), levels):
        answers = [(q.clique, shared.inside[q.clique[0]]) for q in looks]
        return separate(ask, space, questions, rest.price.nano, options, APART, answers)
    after = shared.deepen(rest.price, *pair_tables(space, PairPlan(1 / POOLED.selecting)))
    most = round(MOST_ONE_WAYS * price.nano) - (rest.price.nano - after.nano)
    questions = dearer_questions(questions, layout, sizes, most)
    left = after.nano + ones.price.nano - sum(question.price.nano for question in questions)
    marginals = shared.measure(questions)
    columns = [(q.clique, release) for q, release in zip(questions, marginals, strict=True)]
    everybody = _everybody(layout, sizes, columns, options)
    if population == "auto":
        population = share(everybody.size, scale_sigma(noise, price), levels)
    own = min(round(left * (1 - population)), left - 2)
    part = taking_part(sizes.values.ravel(), noise, own)
    own = own if part else 0
    learning = sorted({*part, *strata_with_one_ways(sizes.values.ravel(), shared)})
    playing = _Playing(ask, layout, price, options)
    everybody.left = left - own
    pooled = marginals[0].sigma, marginals[0].price
    noisier = scale_sigma(pooled, type(price)(everybody.left)) / scale_sigma(
        noise, type(price)(max(own, 1))
    )
    playing.play([everybody], pooled, (*layout.columns, *layout.strata), own, pooled=True)
    runs = _strata_runs(everybody, layout, learning, noisier)
    if own:
        _size(ask, runs, part, type(price)(own))
    for s in learning:
        runs[s].left = own if s in part else 0
        for column, release in shared.inside.items():
            runs[s].learn((column,), release, s)
        runs[s].model = fit_run(runs[s], options["engine"], BETWEEN)
    if own:
        playing.play(runs, noise, layout.columns, 0, pooled=False)
    models = _sized_models(runs)
    if learning:
        sigmas = {column: release.sigma for column, release in shared.inside.items()}
        models = reconcile_with_population(everybody, models, learning, layout, sigmas)
    return tuple(StratumCliques(m, m.total, s not in learning) for s, m in enumerate(models))


def _everybody(
    layout: Layout, sizes: Release, ones: Sequence[tuple[Clique, Release]], options: Options
) -> Run:
    """Returns the population, of which the sizes of strata and the one-way marginals are known."""
    run = Run(layout.graph, 0, 0)
    run.take(layout.strata, sizes, sizes.values.reshape(layout.strata_sizes))
    for clique, release in ones:
        run.learn(clique, release, 0)
    run.model = knowing_zeros(layout.space, layout.graph, {})
    run.steadied = partial(
        pooling_prior.shrink_towards_independence, layout.strata, layout.strata_sizes
    )
    run.model = fit_run(run, options["engine"], BETWEEN)
    return run


def telling(everybody: Run, layout: Layout, sizes: Floats) -> dict[int, NDArray[np.bool_]]:
    """Returns, by column of strata, of which levels the population's model can tell anything: those
    of more people than the noise of a cell in the best table that tells levels apart, and all of a
    column that zeros are about.

    Args:
        sizes: Of the strata, above 0.
    """
    shaped, telling_levels = sizes.reshape(layout.strata_sizes), {}
    zeros = {column for clique in layout.space.zeros for column in clique}
    for i, column in enumerate(layout.strata):
        apart = [c for c in everybody.tables if column in c and {*c} - {*layout.strata}]
        least = min((everybody.tables[c].variance.min() for c in apart), default=np.inf)
        people = shaped.sum(axis=tuple(j for j in range(shaped.ndim) if j != i))
        telling_levels[column] = (people**2 >= least) | (column in zeros)
    return telling_levels


def _strata_runs(everybody: Run, layout: Layout, part: Sequence[int], noisier: float) -> list[Run]:
    """Returns the strata, of which the population's model alone is known, and their noised sizes.

    Of a stratum that does not take part it is asked given those of its levels alone that it can
    tell anything of: the rest is left as it is among everybody. The noise of the population's
    tables is in the model of a stratum by its share of the rows: one that is most of the population
    learns little from it that it does not measure better.

    Args:
        part: Who takes part.
        noisier: How many times the noise of the strata's tables that of the population's is.
    """
    assert everybody.model is not None
    sizes, variances = count_strata(everybody.tables, layout.strata, layout.strata_sizes)
    tells = telling(everybody, layout, nonnegative(sizes, variances))
    runs = []
    for s, (size, variance) in enumerate(zip(sizes.tolist(), variances.tolist(), strict=True)):
        levels = layout.space.levels(s)
        levels_told = {c: n for c, n in levels.items() if s in part or tells[c][n]}
        model = condition_model(everybody.model, everybody.graph, levels_told)
        doubt = (max(size, 0.0) / max(everybody.size, 1.0) * noisier) ** 2
        steadied, totals = (
            partial(pooling_prior.shrink_towards_model, model, doubt),
            [(size, variance)],
        )
        runs.append(Run(everybody.graph, 0, 2, totals=totals, model=model, steadied=steadied))
    return runs


def _sized_models(runs: Sequence[Run]) -> list[CliqueModel]:
    """Returns the models of all strata, each with its size for its total."""
    noised, variance = ([run.size for run in runs], [run.size_variance for run in runs])
    sizes = nonnegative(np.array(noised), np.array(variance)).tolist()
    return [replace(r.model, total=n) for r, n in zip(runs, sizes, strict=True) if r.model]


def _size(ask: Ask, runs: Sequence[Run], part: Sequence[int], price: Price) -> None:
    """Counts the strata that have no rounds. They could have had them for this price: what the
    others ask costs no more if these ask, too."""
    others = tuple(s for s in range(len(runs)) if s not in part)
    if others:
        (release,) = ask.measure([Marginal((), price, others)])
        for row, s in enumerate(others):
            runs[s].take((), release, np.asarray(release.values[row]))


@dataclass(frozen=True)
class _Playing:
    """What all rounds of a statement share."""

    ask: Ask
    layout: Layout
    price: Price
    options: Options

    def play(
        self,
        runs: Sequence[Run],
        noise: tuple[float, Price],
        columns: Sequence[int],
        later: int,
        pooled: bool,
    ) -> None:
        """Plays the rounds of the population, or of all strata that have something left."""
        for run in runs:
            run.step = POOLED.step(run.left, len(columns))
        strata = sum(run.left > 0 for run in runs)
        whole = closure(columns, self.options["degree"])
        candidates = small(whole, self.layout.graph, self.options["cells"], strata)
        rounds = Rounds(
            self.ask,
            runs,
            candidates,
            noise,
            noise_penalty=True,
            pooled=pooled,
            selecting=POOLED.selecting,
        )
        anneal(rounds, self.price.nano, self.options, POOLED.dearer, later)
