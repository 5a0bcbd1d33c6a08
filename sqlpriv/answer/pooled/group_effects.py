"""Group figures that are drawn together, where some groups are far from all others.

A group's deviation from everybody is taken for b + u + scatter: b, an effect of each of its keys'
values, is normal with a variance for each key; the scatter of few rows has a known variance; u is
the group's own, normal with the standard deviation s · 4^l, l = 0, 1, 2, 3, and l is as likely as
h^l. So a group that is far off and well measured keeps its figure, and draws no other group away
from the rest: with h = 0 alone (Fay and Herriot 1979), one group of forty that lies thirty times as
far out as the others was drawn half the way to them, and all others were drawn to nothing
(Stephens 2017, on mixtures of normals of one centre).

**Small groups differ more.** A group of many rows is made of many kinds of rows, and is a part of
everybody: its deviation is smaller. With n its rows and N a usual group's, s² is (N / n)^a times
as large for it, a = 0, 1/2, 1, each as likely before. The last is what few rows scatter by where no
histogram tells their variance. With a = 0 alone small groups were taken to be as close to
everybody as large ones, whose figures are all that is well known: of 18 groups by Zipf's law .80
to .92 of the intervals held where noise is most of what is seen of the small ones.

Candidates (s, h, a) are weighed by how likely they make the noised figures (for s each doubling is
as likely as any other before). Variances are the mean over s² that are each as likely as any other
before: few groups tell little of s, and such intervals hold as often as they say (Morris 1983,
"Parametric empirical Bayes inference"). Where no sizes are told, as of parts of rows, whose scatter
is known, each s is as likely, which holds there. Under one candidate, b is found together with what
each group says of its l by variational Bayes: b is normal given the groups' weights, which are the
means over l of 1 / (variance of u + scatter + noise), and l is weighed by the figure's distance
from b; the variance of a key's effects is weighed over a grid in the same way.

A group whose count is within four deviations of its noise says nothing of its keys: its noised
figure, a ratio, is off to one side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

HALVINGS = 20
"""Candidates of s, and of the deviation of a key's effects: the interval's width, halved once to so
many times."""
MULTIPLES = 4.0 ** np.arange(4)
"""Of s: how far groups may be off."""
FAR_PARTS = (0.0, 0.03, 0.1, 0.3)
"""Candidates of h."""
POWERS = (0.0, 0.5, 1.0)
"""Candidates of a: the power of a group's rows by which its s² is smaller."""
PASSES = 12
"""Of variational Bayes: later ones moved no figure of the fitted tables by a hundredth of its
error."""
SURELY_COUNTED = 4.0
"""A group of fewer deviations of its count's noise tells nothing of its keys."""
UNLIKELY = 14.0
"""Candidates that are e to so many times less likely than the best are left out."""
MOST_SOLVED = 400
"""More groups than this have no effects of their keys."""


class Drawn(NamedTuple):
    """Deviations from everybody after the noised ones were seen, each of shape (groups,).

    Args:
        means: Their posterior means.
        variances: Their posterior variances.
        weights: Of a group's own noised deviation in its mean.
    """

    means: Array
    variances: Array
    weights: Array


class GroupFigures(NamedTuple):
    """Noised deviations of groups from everybody, all of shape (groups,).

    Args:
        apart: The deviations.
        noise: Variances of their noise.
        scatter: Variances by how few rows the groups have.
        is_counted: Which of them tell of their keys.
        smallness: How many times fewer rows they have than a usual group.
    """

    apart: Array
    noise: Array
    scatter: Array
    is_counted: Array
    smallness: Array


class _Prior(NamedTuple):
    """Candidates of s, h and a, of shape (pairs,), and what s and h say of u, of shape (pairs, l).

    `power` is a."""

    spread: Array
    power: Array
    variances: Array
    log_parts: Array

    def only(self, kept: Array) -> _Prior:
        return _Prior(*(of[kept] for of in self))


class _Effects(NamedTuple):
    """b of every group under each pair, and its variance, of shape (pairs, groups); the part of a
    group's own figure in its b; and the logarithm of how likely b is, of shape (pairs,)."""

    mean: Array
    variance: Array
    leverage: Array
    fit: Array


def draw_together(
    apart: Array,
    noise: Array,
    sizes: tuple[int, ...],
    width: float,
    scatter: Array | float = 0.0,
    is_counted: Array | None = None,
    far_parts: tuple[float, ...] = FAR_PARTS,
    smallness: Array | None = None,
) -> Drawn:
    """Returns the deviations from everybody, given noised ones.

    Args:
        apart: Noised deviations, of shape (groups,).
        noise: Variances of their noise, of shape (groups,).
        sizes: How many values each key has; their product is the number of groups.
        width: Of the declared interval.
        scatter: Variances of the groups' figures by how few rows they have.
        is_counted: Which groups tell of their keys; None for all.
        far_parts: Candidates of h; 0 alone where no group is thought to be off by itself.
        smallness: How many times fewer rows than a usual group each has; None for a = 0 alone.

    A precise one stays, however far it is, and one that is all noise is taken for everybody's:

    >>> apart, noise = np.array([3.0, -3.0, 50.0, 80.0]), np.array([0.01, 0.01, 0.01, 1e8])
    >>> drawn = draw_together(apart, noise, (4,), 100.0)
    >>> drawn.means.round(1).tolist(), drawn.weights.round(2).tolist()
    ([3.0, -3.0, 50.0, 0.0], [1.0, 1.0, 1.0, 0.0])
    """
    figures = GroupFigures(
        apart,
        np.maximum(noise, (width * 1e-9) ** 2),
        np.broadcast_to(np.asarray(scatter, float), apart.shape),
        np.ones(apart.shape) if is_counted is None else np.asarray(is_counted, float),
        np.ones(apart.shape) if smallness is None else smallness,
    )
    has_keys = len(sizes) > 1 and len(apart) <= MOST_SOLVED
    prior = _candidate_priors(width, far_parts, POWERS if smallness is not None else (0.0,))
    effects = _no_effects(prior, len(apart))
    if has_keys:
        prior, effects = _find_effects(figures, prior, sizes, width)
    fit = effects.fit + _weigh_scales(figures, prior, effects)[1]
    kept = fit > fit.max() - UNLIKELY
    prior, effects = prior.only(kept), _Effects(*(of[kept] for of in effects))
    flat = 1 if smallness is None else 2
    return _average(figures, prior, effects, np.exp(fit[kept] - fit.max()), flat)


def _candidate_priors(
    width: float, far_parts: tuple[float, ...], powers: tuple[float, ...]
) -> _Prior:
    scales = width * 2.0 ** -np.arange(1.0, HALVINGS + 1)
    spread, far, power = (x.ravel() for x in np.meshgrid(scales, far_parts, powers, indexing="ij"))
    parts = far[:, None] ** np.arange(MULTIPLES.size)  # 0⁰ is 1
    parts = np.maximum(parts / parts.sum(axis=1, keepdims=True), 1e-300)
    variances = np.minimum(spread[:, None] * MULTIPLES, width) ** 2
    return _Prior(spread, power, variances, np.log(parts))


def _no_effects(prior: _Prior, groups: int) -> _Effects:
    nothing = np.zeros((prior.spread.size, groups))
    return _Effects(nothing, nothing, nothing, np.zeros(prior.spread.size))


def _weigh_scales(figures: GroupFigures, prior: _Prior, effects: _Effects) -> tuple[Array, Array]:
    """Returns how likely each l is in each group, of shape (pairs, l, groups), and the logarithm of
    how likely the figures are, of shape (pairs,)."""
    total = _total_variances(figures, prior)
    squares = (figures.apart - effects.mean) ** 2 + effects.variance
    fit = prior.log_parts[:, :, None] - (squares[:, None] / total + np.log(total)) / 2
    return _normalise(fit, axis=1, over=1)


def _total_variances(figures: GroupFigures, prior: _Prior) -> Array:
    """Returns the variance of u, scatter and noise, of shape (pairs, l, groups)."""
    of_figures = np.maximum(figures.scatter + figures.noise, 1e-300)  # all may be 0
    return _own_variances(figures, prior) + of_figures


def _own_variances(figures: GroupFigures, prior: _Prior) -> Array:
    """Returns the variance of u, of shape (pairs, l, groups)."""
    of_size = figures.smallness ** prior.power[:, None]
    return np.asarray(prior.variances[:, :, None] * of_size[:, None])


def _normalise(fit: Array, axis: int, over: int) -> tuple[Array, Array]:
    """Returns exp(fit), adding up to 1 along an axis, and the sum over another of the logarithms of
    what it added up to; `over` counts the axes that are left."""
    top = fit.max(axis=axis, keepdims=True)
    likely = np.exp(fit - top)
    total = likely.sum(axis=axis, keepdims=True)
    logarithm = (top + np.log(total)).squeeze(axis).sum(axis=over)
    return likely / total, logarithm


def _find_effects(
    figures: GroupFigures, prior: _Prior, sizes: tuple[int, ...], width: float
) -> tuple[_Prior, _Effects]:
    """Returns the effects of keys under each pair that is likely, and these pairs."""
    levels = main_effects(sizes)
    key = np.repeat(np.arange(len(sizes)), sizes)
    of_key = (key == np.arange(len(sizes))[:, None]).astype(float)
    candidates = (width * 2.0 ** -np.arange(1.0, HALVINGS + 1)) ** 2
    precision = np.repeat((prior.spread**-2)[:, None], len(sizes), axis=1)
    effects = _no_effects(prior, len(levels))
    for turn in range(PASSES):
        likely, fit = _weigh_scales(figures, prior, effects)
        fit = fit + effects.fit
        if turn == PASSES // 2:
            kept = fit > fit.max() - 2 * UNLIKELY
            prior, likely, precision = prior.only(kept), likely[kept], precision[kept]
        weight = (likely / _total_variances(figures, prior)).sum(axis=1) * figures.is_counted
        inverse = (levels.T * weight[:, None]) @ levels
        at = np.arange(key.size)
        inverse[:, at, at] += precision[:, key]
        covariance = np.linalg.inv(inverse)
        middle = (covariance @ (levels.T @ (weight * figures.apart)[:, :, None]))[:, :, 0]
        variance = np.einsum("kl,blm,km->bk", levels, covariance, levels, optimize=True)
        squares = (middle**2 + np.diagonal(covariance, axis1=1, axis2=2)) @ of_key.T
        fit_of_keys = -squares[:, :, None] / candidates - np.array(sizes)[:, None] * np.log(
            candidates
        )
        of_keys, logarithm = _normalise(fit_of_keys / 2, axis=2, over=1)
        precision = of_keys @ (1 / candidates)
        logarithm = logarithm + np.linalg.slogdet(covariance)[1] / 2
        effects = _Effects(middle @ levels.T, variance, variance * weight, logarithm)
    return prior, effects


def _average(
    figures: GroupFigures, prior: _Prior, effects: _Effects, belief: Array, flat: int
) -> Drawn:
    """Returns the mean over the candidates and over l; for variances each s to the power `flat` is
    as likely as any other before."""
    likely, _ = _weigh_scales(figures, prior, effects)
    apart = figures.apart - effects.mean
    of_u = _own_variances(figures, prior) + figures.scatter
    kept = of_u / _total_variances(figures, prior)
    own = (likely * kept).sum(axis=1)
    means = effects.mean + own * apart
    variances = (likely * (kept * figures.noise + (1 - kept) ** 2 * effects.variance[:, None])).sum(
        axis=1
    ) + (likely * (kept - own[:, None]) ** 2).sum(axis=1) * apart**2
    mean = belief @ means / belief.sum()
    weights = belief @ (own + (1 - own) * effects.leverage) / belief.sum()
    wide = belief * prior.spread**flat
    return Drawn(mean, wide @ (variances + (means - mean) ** 2) / wide.sum(), weights)


def main_effects(sizes: tuple[int, ...]) -> Array:
    """Returns which level of each key a cell has: shape (cells, sum of sizes), ones and zeros.

    >>> main_effects((2, 2)).astype(int).tolist()
    [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]]
    """
    levels = np.indices(sizes or (1,)).reshape(len(sizes or (1,)), -1)
    return np.hstack(
        [np.eye(size)[level] for size, level in zip(sizes or (1,), levels, strict=True)]
    )
