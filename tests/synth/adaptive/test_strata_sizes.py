"""Sizes of strata: least squares of all that counts them, then posterior means above zero."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sqlpriv.synth.adaptive.strata_sizes import count_strata, nonnegative
from sqlpriv.synth.models.tree_model import Noisy

SIZES = {0: 3, 4: 2, 5: 3}
"""Levels by column: 4 and 5 make the strata."""


def tables(rng):
    """All subsets of the three columns but some, of noise with variances of their own."""
    truth = rng.integers(0, 1_000, (3, 2, 3)).astype(float)
    for k in range(4):
        for clique in itertools.combinations(SIZES, k):
            if clique == (0, 4):
                continue
            others = tuple(i for i, c in enumerate(SIZES) if c not in clique)
            values = truth.sum(axis=others)
            variance = np.full(values.shape, rng.uniform(1, 100))
            yield clique, Noisy(values + rng.normal(0, np.sqrt(variance)), variance)


def test_everything_that_counts_strata_is_put_together_by_least_squares():
    found = dict(tables(np.random.default_rng(1)))
    rows, wanted, spread = [], [], []
    for clique, noisy in found.items():
        others = tuple(i for i, c in enumerate(clique) if c == 0)
        fixed = [c for c in clique if c != 0]
        for at in np.ndindex(*(SIZES[c] for c in fixed)):
            known = dict(zip(fixed, at, strict=True))
            of = [
                all(known.get(c, x) == x for c, x in ((4, i), (5, j))) for i, j in np.ndindex(2, 3)
            ]
            rows.append(of)
            wanted.append(noisy.values.sum(axis=others)[at])
            spread.append(noisy.variance.sum(axis=others)[at])
    design, weight = np.array(rows, dtype=float), 1 / np.array(spread)
    covariance = np.linalg.inv(design.T @ (weight[:, None] * design))
    sizes, variance = count_strata(found, (4, 5), (2, 3))
    np.testing.assert_allclose(sizes, covariance @ (design.T @ (weight * np.array(wanted))))
    np.testing.assert_allclose(variance, np.diag(covariance))


@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_sizes_are_above_zero_and_nearer_than_cut_noise(scale):
    """200 strata of 1 to 10,000 rows, evenly on a logarithmic scale, noise of 300; 20 times: the
    mean square error is 0.9 of that of sizes cut at zero at most (0.75 to 0.87 seen). Twin: without
    noise there is nothing to gain, and what is known stays."""
    rng = np.random.default_rng(2)
    errors = np.zeros(2)
    for _ in range(20):
        truth = np.exp(rng.uniform(0, np.log(10_000), 200))
        noisy = truth + scale * rng.normal(0, 300, 200)
        found = nonnegative(noisy, np.full(200, (300 * scale) ** 2 + 1e-6))
        assert found.min() > 0
        assert found.sum() == pytest.approx(noisy.sum())
        errors += [((x - truth) ** 2).mean() for x in (found, np.maximum(noisy, 0))]
    if scale:
        assert errors[0] < 0.9 * errors[1]
    else:
        assert errors[0] == pytest.approx(0, abs=1e-3)


def test_nobody_seen_anywhere_is_hardly_anybody():
    """The noised total is below zero: one row in all, as far as sizes go."""
    found = nonnegative(np.array([-500.0, -3e4, 20.0]), np.array([100.0, 1e6, 4.0]) ** 2)
    assert found.min() > 0
    assert found.sum() == pytest.approx(1.0)


def test_two_large_strata_keep_their_sizes():
    sizes = np.array([64_350.0, 91_940.0])
    np.testing.assert_allclose(nonnegative(sizes, np.array([300.0, 300.0]) ** 2), sizes, rtol=1e-4)
