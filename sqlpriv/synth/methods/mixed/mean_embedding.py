"""Mixtures of products in JAX, moved until their mean embedding is the one that was measured.

A feature is a product of scores of some columns' levels. Under a product of columns its mean is the
product of the columns' mean scores, so the mean over a mixture is exact: no rows are drawn while it
is fitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from sqlpriv.synth.inference.one_way_tables import Floats

RATE = 0.05
"""Of Adam, for logits."""
APART = 0.5
"""Standard deviation of the logits that components begin with: alike ones would stay alike."""


class KnownMeans(NamedTuple):
    """What is known of one stratum, in shares of its rows.

    Attributes:
        ones: By column, the shares of its levels.
        trust: By column, the weight of a share's squared error.
        scores: By column, of each feature, 1 where the column is not in it: shape (levels,
            features).
        means: Of the features, shape (features,).
        weight: Of a mean's squared error.
    """

    ones: Mapping[str, Any]
    trust: Mapping[str, float]
    scores: Mapping[str, Any]
    means: Any
    weight: Any


def fit_mixture(measured: KnownMeans, components: int, steps: int, seed: int) -> dict[int, Floats]:
    """Returns by column the shares of its levels in each component, shape (components, levels).

    Args:
        measured: Of the stratum.
        components: How many, all of one weight.
        steps: Of Adam.
        seed: Of the beginning: post-processing, no secret.
    """
    rng = np.random.default_rng(seed)
    logits = {
        column: jnp.asarray(
            np.log(share + 1e-6) + rng.normal(0.0, APART, (components, share.size)), jnp.float32
        )
        for column, share in measured.ones.items()
    }
    arrays = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), measured)
    fitted = _descend(logits, arrays, steps)
    return {
        int(column): np.asarray(jax.nn.softmax(x, axis=1), dtype=np.float64)
        for column, x in fitted.items()
    }


def _loss(logits: Mapping[str, Any], measured: KnownMeans) -> Any:
    features: Any = 1.0
    apart: Any = 0.0
    for column, weights in logits.items():
        shares = jax.nn.softmax(weights, axis=1)
        features = features * (shares @ measured.scores[column])
        apart += measured.trust[column] * jnp.sum(
            (shares.mean(axis=0) - measured.ones[column]) ** 2
        )
    means = jnp.mean(features, axis=0)
    return apart + measured.weight * jnp.sum((means - measured.means) ** 2)


@partial(jax.jit, static_argnums=2)
def _descend(logits: Any, measured: KnownMeans, steps: int) -> Any:
    adam = optax.adam(optax.cosine_decay_schedule(RATE, steps))

    def step(_: Any, state: Any) -> Any:
        now, moments = state
        moves, moments = adam.update(jax.grad(_loss)(now, measured), moments)
        return optax.apply_updates(now, moves), moments

    return jax.lax.fori_loop(0, steps, step, (logits, adam.init(logits)))[0]
