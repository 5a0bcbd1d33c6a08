"""`dpmerf`: the mean of random features, released once, and a mixture that has the same mean.

Harder, Adamczewski and Park 2021, "DP-MERF: Differentially Private Mean Embeddings with Random
Features for Practical Privacy-Preserving Data Generation" (AISTATS, arXiv:2002.11603). The mean
embedding of a table under a kernel says how columns hang together; random Fourier features turn it
into a vector of D numbers, the label's levels being a factor of it. The vector is noised once, and
a generator is trained until its own embedding is that one.

Three things differ from the paper. A feature is a product, over some columns, of cosines of random
frequency and phase: its expectation is the Gaussian kernel of these columns, as that of a cosine of
their sum is (Rahimi and Recht 2007), and the kernel's algebra can say it, as a sum of products of
scores of levels. The columns are up to `degree` of all, other ones for each feature, and the
target's: what few columns have to do with one another is not lost among the others. The generator
is a mixture of products, whose embedding is known exactly (`mean_embedding`).

Scores: a number's are cosines of the normal quantiles of its noised one-way marginal, those of a
category are cosines of a random angle for each level. Less their mean over that marginal, so that a
feature's mean is 0 where columns are independent, they are scaled to reach 1.

Price: FIRST of it for the one-way marginals (one batch), the rest in equal shares for the features'
sums (one batch). A row adds at most 1 to a sum, in absolute value: D sums at rho / D each have the
noise of one Gaussian release, at rho, of a vector of D coordinates within ±1, whose L2 norm is at
most sqrt(D). So the kernel needs no release of vectors.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.api.ask import Ask
from sqlpriv.synth.api.cell_queries import Moment
from sqlpriv.synth.api.method import Method, Model, Option, Options, Phase, Space
from sqlpriv.synth.api.one_way_marginals import modelled_columns, one_ways
from sqlpriv.synth.api.progress import Progress
from sqlpriv.synth.inference.latent_correlation import shrink_estimates
from sqlpriv.synth.inference.normal_scores import LevelScores, category_scores, normal_scores
from sqlpriv.synth.inference.one_way_tables import LEAST_SIGMA, Floats, onto_simplex
from sqlpriv.synth.methods import independent
from sqlpriv.synth.methods.choose_and_measure import borrowed_ones, measured_ones
from sqlpriv.synth.methods.mixed.candidate_tables import target_columns
from sqlpriv.synth.models.product_mixture import MixtureModel

FIRST = 0.3
"""Of the price, for the one-way marginals."""
SEED = 0
"""Of frequencies, phases and the mixture's beginning, which are no noise."""
Feature = Mapping[int, Floats]
"""Of each column of a feature, the scores of its groups of levels, shape (groups,)."""


def phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    """Returns the one-way marginals and the features; prices add up to `price` exactly."""
    target_columns(space, options["target"])
    if len(modelled_columns(space.sizes)) < 2:
        return independent.phases(space, price, options)
    first, rest = split_price(price, [FIRST, 1 - FIRST])
    split_price(rest, [1.0] * options["features"])  # refuses fewer nanos than features
    ones = Phase("one-way marginals", "noise", first, 1, one_ways(space.sizes, first))
    return ones, Phase(f"sums of {options['features']} random features", "noise", rest)


def fit(ask: Ask, space: Space, price: Price, options: Options) -> Sequence[Model]:
    """Returns one mixture per stratum. Spends exactly `price`; see the module."""
    columns, plan = modelled_columns(space.sizes), phases(space, price, options)
    if len(columns) < 2:
        return independent.fit(ask, space, price, options)
    ones = measured_ones(ask, plan)
    scales = {
        c: (normal_scores if c in space.values else category_scores)(r.values.sum(axis=0))
        for c, r in zip(columns, ones, strict=True)
    }
    targets = target_columns(space, options["target"])
    features = random_features(columns, targets, scales, options["degree"], options["features"])
    ask.report(Progress("measuring random features", 0, 1))
    sums = ask.measure(
        [
            Moment(
                tuple(feature),
                tuple(tuple(scores.tolist()) for scores in feature.values()),
                tuple(tuple(scales[c].group.tolist()) for c in feature),
                each,
            )
            for feature, each in zip(
                features, split_price(plan[1].price, [1.0] * len(features)), strict=True
            )
        ]
    )
    return _mixtures(ask, columns, ones, (features, sums), scales, options)


def _mixtures(
    ask: Ask,
    columns: Sequence[int],
    ones: Sequence[Release],
    measured: tuple[Sequence[Feature], Sequence[Release]],
    scales: Mapping[int, LevelScores],
    options: Options,
) -> tuple[MixtureModel, ...]:
    """Returns the mixture of each stratum: what strata's features have beyond their noise is kept,
    the rest is everybody's."""
    from sqlpriv.synth.methods.mixed.mean_embedding import KnownMeans, fit_mixture  # imports JAX

    features, sums = measured
    rows, tables = borrowed_ones(columns, ones, len(ones[0].values))
    sizes = np.maximum(rows, 1.0)
    noise = np.array([max(r.sigma, LEAST_SIGMA) for r in sums])[None, :] / sizes[:, None]
    means = np.stack([r.values for r in sums], axis=1) / sizes[:, None]
    means = shrink_estimates(means, noise, sizes)
    scores = {str(c): np.ones((scales[c].group.size, len(features))) for c in columns}
    for number, feature in enumerate(features):
        for column, of_groups in feature.items():
            scores[str(column)][:, number] = of_groups[scales[column].group]
    sigmas = {c: max(r.sigma, LEAST_SIGMA) for c, r in zip(columns, ones, strict=True)}
    models = []
    for s, size in enumerate(sizes.tolist()):
        ask.report(Progress("training mixtures", s, len(sizes)))
        shares = {str(c): onto_simplex(tables[s][(c,)].values / size, 1.0) for c in columns}
        least = min(*sigmas.values(), size * float(noise[s].min()))
        trust = {str(c): (least / sigma) ** 2 for c, sigma in sigmas.items()}
        weight = (least / (size * float(noise[s].min()))) ** 2
        measured_means = KnownMeans(shares, trust, scores, means[s], weight)
        fitted = fit_mixture(measured_means, options["points"], options["steps"], SEED)
        models.append(MixtureModel(fitted, float(rows[s])))
    ask.report(Progress("training mixtures", len(sizes), len(sizes)))
    return tuple(models)


def random_features(
    columns: Sequence[int],
    targets: Sequence[int],
    scales: Mapping[int, LevelScores],
    degree: int,
    count: int,
) -> list[Feature]:
    """Returns features of up to `degree` columns, and of the targets: as many of each number of
    columns, and each set of that many as often as any other, but for one time.

    Args:
        columns: Those that are modelled.
        targets: Columns that are in all features.
        scales: By column.
        degree: How many of the others are in a feature at most.
        count: How many features.
    """
    rng = np.random.default_rng(SEED)
    free = [c for c in columns if c not in targets]
    least = max(min(1 if targets else 2, len(free)), 0)
    by_size = [
        _cycle_sets(list(itertools.combinations(free, size)), rng)
        for size in range(least, max(least, min(degree, len(free))) + 1)
    ]
    features: list[Feature] = []
    for number in range(count):
        chosen = sorted({*next(by_size[number % len(by_size)]), *targets} & {*columns})
        features.append({c: _cosines(scales[c], rng) for c in chosen})
    return features


def _cycle_sets(
    sets: Sequence[tuple[int, ...]], rng: np.random.Generator
) -> Iterator[tuple[int, ...]]:
    """Yields all sets in random order, again and again."""
    while True:
        for at in rng.permutation(len(sets)):
            yield sets[at]


def _cosines(scale: LevelScores, rng: np.random.Generator) -> Floats:
    """Returns the scores of a column's groups: of mean 0 over its marginal, of largest size 1."""
    phase = rng.uniform(0.0, 2 * np.pi, scale.score.size if scale.unordered else 1)
    frequency = 0.0 if scale.unordered else rng.standard_normal()
    wave = np.cos(frequency * scale.score + phase)
    wave = wave - wave @ scale.mass
    largest = float(np.abs(wave).max())
    return wave / largest if largest > 1e-6 else np.ones_like(wave)


METHOD = Method(
    name="dpmerf",
    title="a mixture that has the same mean of random features",
    paper="Harder, Adamczewski and Park 2021 (arXiv:2002.11603)",
    options=(
        Option("target", None, "columns, in quotes, that all others are to tell of", text=True),
        Option("features", 200, "random features, each a sum in each stratum", least=1, most=2_000),
        Option("degree", 2, "columns of a feature, besides the target's", least=1, most=6),
        Option("points", 300, "products that are mixed", least=1, most=5_000),
        Option("steps", 600, "of Adam", least=1, most=10_000),
    ),
    max_strata=100,
    max_cells=200_000,
    arity=1,
    fit=fit,
    phases=phases,
    merges_lists=True,
)
