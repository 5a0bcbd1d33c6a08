"""`gaussian`: means and covariances, as one multivariate Gaussian in each stratum.

Every column is taken to show, through cuts, one coordinate of a Gaussian vector (a Gaussian copula;
Li, Xiong and Jiang 2014, "Differentially Private Synthesization of Multi-Dimensional Data using
Copula Functions"). The cuts come from the noised one-way marginal, so that each column keeps its
own shape: where a column's values are normal, this is its mean and variance. The covariance of two
coordinates comes from *one number* for each pair of columns and stratum: the noised sum of the
product of two scores. So it needs little budget where there are many columns or strata; what is not
a monotone relation between two columns is lost, and a category is read in its declared order.

Scores: levels are grouped, in order, by the population's noised marginal into at most 32 groups; a
group's score is the normal quantile of its middle. Under a bivariate normal with correlation r, the
mean of the product of the two scores tells r (see `latent_correlation`).

Price: half for the one-way marginals (one batch), half in equal shares for the pairs' moments (one
batch). A moment's rows add at most the largest product of two scores, in absolute value.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.api.ask import Ask
from sqlpriv.synth.api.cell_queries import Moment
from sqlpriv.synth.api.method import Method, Options, Phase, Space
from sqlpriv.synth.api.one_way_marginals import modelled_columns, one_ways
from sqlpriv.synth.api.progress import Progress
from sqlpriv.synth.inference.latent_correlation import (
    hermite_terms,
    nearest_correlations,
    shrink_estimates,
    solve_correlations,
)
from sqlpriv.synth.inference.normal_scores import LevelScores, normal_scores
from sqlpriv.synth.inference.one_way_tables import LEAST_SIGMA, Floats, onto_simplex
from sqlpriv.synth.methods.choose_and_measure import measured_ones, totals_of
from sqlpriv.synth.models.sampling import round_systematically

PRIOR = 0.25
"""Variance of correlations, before anything is known of them."""
Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class GaussianModel:
    """One stratum; a `Model`.

    Args:
        shares: By column, the share of each level.
        correlation: Of the columns' coordinates, in the order of `shares`; positive semidefinite.
        size: The noised number of rows.
    """

    shares: Mapping[int, Floats]
    correlation: Floats
    size: float

    def sample(
        self, sizes: Sequence[int], rows: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Returns levels: each column's rounded counts, dealt out in the order of its coordinate,
        so that its marginal has no sampling error."""
        drawn = np.zeros((rows, len(sizes)), dtype=np.int64)
        values, vectors = np.linalg.eigh(self.correlation)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        coordinates = rng.standard_normal((rows, len(self.shares))) @ root.T
        for i, (column, share) in enumerate(self.shares.items()):
            counts = round_systematically(share[None, :], np.array([rows]), rng)[0]
            drawn[np.argsort(coordinates[:, i]), column] = np.repeat(np.arange(share.size), counts)
        return drawn


def phases(
    space: Space,
    price: Price,
    options: Options,
) -> tuple[Phase, ...]:
    """Returns the one-way marginals and the moments; prices add up to `price` exactly."""
    sizes = space.sizes
    pairs = len(modelled_columns(sizes)) * (len(modelled_columns(sizes)) - 1) // 2
    if not pairs:
        return (Phase("one-way marginals", "noise", price, 1, one_ways(sizes, price)),)
    first, second = split_price(price, [1.0, 1.0])
    split_price(second, [1.0] * pairs)  # refuses fewer nanos than pairs
    ones = Phase("one-way marginals", "noise", first, 1, one_ways(sizes, first))
    return (ones, Phase(f"covariances of {pairs} pairs", "noise", second))


def fit(ask: Ask, space: Space, price: Price, options: Options) -> tuple[GaussianModel, ...]:
    """Returns one Gaussian per stratum. Spends exactly `price`; see the module."""
    sizes, strata = space.sizes, space.strata
    columns, plan = modelled_columns(sizes), phases(space, price, options)
    ones = measured_ones(ask, plan)
    totals = totals_of(ones, strata)
    shares = [_shares(columns, ones, s) for s in range(strata)]
    if len(columns) < 2:
        one = np.eye(len(columns))
        return tuple(GaussianModel(p, one, n) for p, n in zip(shares, totals, strict=True))
    ask.report(Progress("measuring covariances", 0, 1))
    scales = {c: normal_scores(r.values.sum(axis=0)) for c, r in zip(columns, ones, strict=True)}
    pairs = list(itertools.combinations(columns, 2))
    covariances = [
        Moment((u, v), *_joint_scores(scales[u], scales[v]), each)
        for (u, v), each in zip(pairs, split_price(plan[1].price, [1.0] * len(pairs)), strict=True)
    ]
    moments = ask.measure(covariances)
    ask.report(Progress("fitting strata", 0, strata))
    correlations, noise = _correlations(pairs, moments, shares, scales, totals)
    ask.report(Progress("fitting strata", strata, strata))
    shrunk = shrink_estimates(correlations, noise, np.maximum(totals, 1.0), PRIOR)
    return tuple(
        GaussianModel(shares[s], _matrix(columns, pairs, shrunk[s]), totals[s])
        for s in range(strata)
    )


def _shares(columns: Sequence[int], ones: Sequence[Release], stratum: int) -> dict[int, Floats]:
    return {
        c: onto_simplex(r.values[stratum] / max(r.values[stratum].sum(), 1.0), 1.0)
        for c, r in zip(columns, ones, strict=False)  # without columns: the bare count
    }


def _joint_scores(
    u: LevelScores, v: LevelScores
) -> tuple[tuple[tuple[float, ...], ...], tuple[tuple[int, ...], ...]]:
    scores = tuple(tuple(x.score.tolist()) for x in (u, v))
    return scores, tuple(tuple(x.group.tolist()) for x in (u, v))


def _correlations(
    pairs: Sequence[Pair],
    moments: Sequence[Release],
    shares: Sequence[Mapping[int, Floats]],
    scales: Mapping[int, LevelScores],
    totals: Sequence[float],
) -> tuple[Floats, Floats]:
    """Returns correlations and their noise's standard deviations, shape (strata, pairs)."""
    correlations = np.zeros((len(shares), len(pairs)))
    noise = np.zeros_like(correlations)
    for s, of_stratum in enumerate(shares):
        size = max(totals[s], 1.0)
        series = {c: hermite_terms(p, _level_scores(scales[c])) for c, p in of_stratum.items()}
        terms = np.array([series[u] * series[v] for u, v in pairs])
        sums = np.array([float(release.values[s]) for release in moments])
        correlations[s] = solve_correlations(terms, sums / size)
        sigmas = np.array([max(release.sigma, LEAST_SIGMA) for release in moments])
        noise[s] = sigmas / size / np.maximum(np.abs(terms[:, 1]), 1e-9)
    return correlations, noise


def _level_scores(scale: LevelScores) -> Floats:
    return scale.score[scale.group]


def _matrix(columns: Sequence[int], pairs: Sequence[Pair], correlations: Floats) -> Floats:
    """Returns the correlation matrix: eigenvalues below 0 cut off, the diagonal brought back."""
    place = {c: i for i, c in enumerate(columns)}
    symmetric = np.eye(len(columns))
    for (u, v), r in zip(pairs, correlations, strict=True):
        symmetric[place[u], place[v]] = symmetric[place[v], place[u]] = r
    return nearest_correlations(symmetric)


METHOD = Method(
    name="gaussian",
    title="means and covariances: a Gaussian behind the columns of each stratum",
    paper="Li, Xiong and Jiang 2014 (DPCopula, EDBT)",
    options=(),
    max_strata=2_000,
    max_cells=2_000_000,
    arity=1,
    max_columns=48,  # which took 51 CPU s (20,000 rows of six levels, epsilon 1)
    fit=fit,
    phases=phases,
)
