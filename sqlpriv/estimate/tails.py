"""What is believed of each cell's values before they are summed: one distribution, tilted by cell.

A noised histogram of all cells together gives the pooled distribution; what its bins cannot tell
from noise is drawn on from the last that they can. Bins lie on a geometric grid, so that their
numbers are a scale of orders of magnitude. A cell's own distribution is taken to be

    p_b exp(λ b), normalised,    λ from N(rate, spread²)

with the rate that gives it its *place*, its mean bin. Places are noised, too: they are drawn
together by what the cells' keys say, and what stays open is the spread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sqlpriv.estimate.means import Array
from sqlpriv.kernel.release import Release


@dataclass(frozen=True, eq=False)
class Tails:
    """The belief of the module's text.

    Args:
        pooled: Shares of the bins, of shape (bins,), adding up to 1, or all 0.
        ends: Of the bins, ascending, of shape (bins + 1,). Inside a bin values are uniform.
        noise: Standard deviation of the noise in a pooled share.
        rate, spread: Of the cells' shape.
    """

    pooled: Array
    ends: Array
    noise: float
    rate: Array
    spread: Array

    def shares(self, deviations: float = 0.0) -> Array:
        """Returns each cell's shares, shape (…, bins), λ being so many spreads off its rate."""
        return tilted(self.pooled, self.rate + deviations * self.spread)

    @property
    def middles(self) -> Array:
        """Of the bins, of shape (bins,)."""
        return np.asarray((self.ends[:-1] + self.ends[1:]) / 2)

    def share_noise(self) -> Array:
        """Returns how far the histogram's noise may put them off: each by itself at most.

        So where hardly anything is drawn on, hardly anything is feared: a few values far beyond
        all others that are seen, a spike, are clipped off, and are missed, by the half-width, too.
        One that allowed for it would tell nothing: as many rows at the interval's end as a bin
        needs to be seen (75 / epsilon of them) weigh many times what the plain mean's noise does.
        """
        return np.minimum(self.noise / np.maximum(self.pooled, 1e-300), 1.0) * self.shares()


def believed(counts: Release, place: Release | None, counted: Release, ends: Array,
             visible: float) -> Tails:  # fmt: skip
    """Returns what a histogram and, of several cells, their places tell.

    Args:
        counts: The histogram, of all cells together.
        place: Noised sums of bin numbers from the middle one.
        counted: Noised counts.
        ends: Of the bins.
        visible: From how many deviations of its noise on a bin counts as seen.
    """
    pooled = seen(counts.values.ravel(), visible * counts.sigma)
    noise = counts.sigma / max(float(counts.values.sum()), 1.0)
    if place is None:
        known = np.zeros(counted.values.shape)
        return Tails(pooled, ends, noise, known, known)
    above, variance = drawn_places(pooled, place, counted)
    rate = rates(pooled, above)
    return Tails(pooled, ends, noise, rate, np.sqrt(variance) / _variance(pooled, rate))


def main_effects(sizes: tuple[int, ...]) -> Array:
    """Returns which level of each key a cell has: shape (cells, sum of sizes), ones and zeros."""
    levels = np.indices(sizes or (1,)).reshape(len(sizes or (1,)), -1)
    return np.hstack(
        [np.eye(size)[level] for size, level in zip(sizes or (1,), levels, strict=True)]
    )


def seen(counts: Array, visible: float) -> Array:
    """Returns shares of the bins, adding up to 1 (or all 0): `extended` from the largest both ways.

    Args:
        counts: Noised, of shape (bins,).
        visible: Below this a count is taken for noise.
    """
    found = np.maximum(extended(counts, visible), extended(counts[::-1], visible)[::-1])
    return np.asarray(found / max(found.sum(), 1e-300))


def drawn_places(pooled: Array, place: Release, counted: Release) -> tuple[Array, Array]:
    """Returns by how many bins each cell's mean bin lies above the pooled one, and the variance.

    A cell of poorer people has its mass some bins lower, tail and all. So that noise does not move
    it, its place is drawn towards what the cell's keys say (main effects, by ridge regression over
    all cells), by the part of its distance from there that is noise: empirical Bayes, as Fay and
    Herriot (1979) estimate incomes of small places. Noise, too, is how few rows
    scatter: by the pooled variance over their number.
    """
    n = np.maximum(counted.values, 1.0)
    middle = (pooled.size - 1) / 2 - float(pooled @ np.arange(pooled.size))
    own = place.values / n + middle * counted.values / n
    noise = (place.sigma / n) ** 2 + (middle * counted.sigma / n) ** 2 + 1e-12
    cells = (*place.query.strata, *place.query.keys)
    effects = main_effects(tuple(len(key.values) for key in cells))
    scatter = float(_variance(pooled, np.zeros(1))[0]) / n
    drawn = drawn_together(own.ravel(), (noise + scatter).ravel(), effects)
    return drawn[0].reshape(n.shape), drawn[1].reshape(n.shape)


def drawn_together(own: Array, noise: Array, effects: Array) -> tuple[Array, Array]:
    """Returns each cell's number, drawn towards its fit, and the variance that is left.

    It is drawn by the part of its variance that is noise. Numbers are around 0. Effects have the
    variance of the cells' numbers beyond their noise (ridge regression): where nothing is known all
    fits are 0.

    Args:
        own: Noised, of shape (cells,).
        noise: Variances.
        effects: Of shape (cells, effects).
    """
    spread = _beyond_noise(own, noise) + 1e-12
    weighted = effects.T / (noise + spread)
    inner = weighted @ effects + np.eye(effects.shape[1]) / spread
    fitted = effects @ np.linalg.solve(inner, weighted @ own)
    signal = _beyond_noise(own - fitted, noise)
    kept = signal / (signal + noise)
    return np.asarray(fitted + (own - fitted) * kept), np.asarray(kept * noise)


def _beyond_noise(apart: Array, noise: Array) -> float:
    """Returns the variance that noise does not explain, not negative; exact cells count most."""
    weight = 1 / noise
    return max(float((weight * (apart**2 - noise)).sum() / weight.sum()), 0.0)


def rates(pooled: Array, above: Array) -> Array:
    """Returns λ for which a cell's mean bin lies `above` the pooled one as wanted, by halving."""
    number = _numbers(pooled)
    low, high = np.full(above.shape, -3.0), np.full(above.shape, 3.0)
    for _ in range(40):
        middle = (low + high) / 2
        below = tilted(pooled, middle) @ number < above
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray((low + high) / 2)


def tilted(pooled: Array, rate: Array) -> Array:
    """Returns p_b exp(λ b), adding up to 1 where p does, of shape (…, bins)."""
    power = rate[..., None] * _numbers(pooled)
    table = pooled * np.exp(power - power.max(axis=-1, keepdims=True))
    return np.asarray(table / np.maximum(table.sum(axis=-1, keepdims=True), 1e-300))


def _numbers(pooled: Array) -> Array:
    """Returns the bins' numbers, from the pooled mean one."""
    return np.asarray(np.arange(pooled.size) - pooled @ np.arange(pooled.size))


def _variance(pooled: Array, rate: Array) -> Array:
    """Returns the variance of a row's bin number in each cell, 0.01 at least."""
    table, number = tilted(pooled, rate), _numbers(pooled)
    return np.asarray(np.maximum(table @ number**2 - (table @ number) ** 2, 0.01))


def extended(pooled: Array, visible: float) -> Array:
    """Returns the bins from the largest on, the tail above the last visible one drawn on.

    Visible are bins above `visible` without a gap from the largest one on, and wherever they are
    above twice that: a lone bin of noise would call for an interval as wide as the declared one.

    Bins below the largest are 0 here. On the geometric grid the tail of a power law falls by the
    same factor from bin to bin. It is taken over the last four steps (one doubling), at most 0.67
    (tails heavier than x^-2.3 are told too little apart from noise), and what is drawn on stays
    below what would have been visible.
    """
    number, clear = np.arange(pooled.size), pooled > visible
    top = int(pooled.argmax())
    gap = top + int(np.argmin(np.append(clear[top:], False)))
    kept = (number >= top) & ((clear & (number < gap)) | (pooled > 2 * visible))
    if kept.sum() < 2:
        return np.where(kept, pooled, 0.0)
    found = np.flatnonzero(kept)
    last, back = found[-1], found[max(-5, -found.size)]
    rate = min(float(pooled[last] / pooled[back]) ** (1 / float(last - back)), 0.67)
    drawn = np.minimum(pooled[last] * rate ** np.maximum(number - last, 0.0), visible)
    return np.where(number > last, drawn, np.where(kept, pooled, 0.0))
