"""GEM's generator in JAX: a small network whose outputs are products of softmaxes, one per stratum.

Fixed Gaussian noise goes in, one row for each component; out come, for each component, the shares
of every column's levels. A pair's table is the mean over components of products of shares, so all
pairs at once are one matrix product. Strata are one batch (`vmap`), and every round runs the same
compiled function: what changes between rounds are arrays of one shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from sqlpriv.synth.models.tree_model import Floats

INPUTS, HIDDEN = 16, 64
RATE, DECAY, SQUARES = 3e-3, 0.9, 0.999
"""Adam's step and moving averages (Kingma and Ba 2015, arXiv:1412.6980)."""

Weights = dict[str, jax.Array]


class Targets(NamedTuple):
    """What is known, in shares of the stratum's size; `_weight` is 0 where nothing is.

    Shapes (strata, levels of all columns) and (strata, all levels, all levels).
    """

    one: NDArray[np.float32]
    one_weight: NDArray[np.float32]
    pair: NDArray[np.float32]
    pair_weight: NDArray[np.float32]


class _State(NamedTuple):
    weights: Weights
    mean: Weights
    square: Weights
    step: jax.Array


@dataclass(eq=False)
class Generator:
    """The networks of all strata.

    Args:
        sizes: Levels of each modelled column.
        strata: How many networks.
        components: Rows of fixed noise.
        seed: Of weights and noise: post-processing, no secret.
    """

    sizes: tuple[int, ...]
    strata: int
    components: int
    seed: int

    def __post_init__(self) -> None:
        key = jax.random.PRNGKey(self.seed)
        keys = jax.random.split(key, 4)
        shapes = ((INPUTS, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, sum(self.sizes)))
        self.noise = jax.random.normal(keys[0], (self.components, INPUTS), jnp.float32)
        weights: Weights = {}
        for i, (shape, key) in enumerate(zip(shapes, keys[1:], strict=True)):
            drawn = jax.random.normal(key, (self.strata, *shape), jnp.float32)
            weights[f"w{i}"] = drawn * (1.5 / shape[0]) ** 0.5
            weights[f"b{i}"] = jnp.zeros((self.strata, shape[1]), jnp.float32)
        none = jax.tree.map(jnp.zeros_like, weights)
        self._state = _State(weights, none, none, jnp.zeros((), jnp.int32))
        self._shares, self._descend = _compile_functions(self.sizes)
        self._sum: Weights | None = None
        self._summed = 0

    def descend(self, targets: Targets, steps: int) -> None:
        """Takes that many steps of Adam towards the targets."""
        self._state = self._descend(self._state, targets, self.noise, steps)

    def remember(self) -> None:
        """Takes the weights as they are into the average."""
        now = self._state.weights
        self._sum = now if self._sum is None else jax.tree.map(jnp.add, self._sum, now)
        self._summed += 1

    def shares(self, average: bool = False) -> Floats:
        """Returns shape (strata, components, all levels): of the weights now, or their average."""
        weights = self._state.weights
        if average and self._sum is not None:
            weights = jax.tree.map(lambda x: x / self._summed, self._sum)
        return np.asarray(self._shares(weights, self.noise), dtype=np.float64)


@cache
def _compile_functions(
    sizes: tuple[int, ...],
) -> tuple[Callable[..., jax.Array], Callable[..., _State]]:
    """Returns the two functions of a domain; JAX compiles each once for each shape it meets."""
    one = partial(_shares, sizes=sizes)
    return jax.jit(jax.vmap(one, in_axes=(0, None))), jax.jit(_descender(one))


def _shares(weights: Weights, noise: jax.Array, sizes: Sequence[int]) -> jax.Array:
    """Returns one stratum's shares, (components, all levels); each column's add up to 1."""
    hidden = noise
    for i in range(2):
        hidden = jax.nn.relu(hidden @ weights[f"w{i}"] + weights[f"b{i}"])
    logits = hidden @ weights["w2"] + weights["b2"]
    parts = jnp.split(logits, np.cumsum(sizes)[:-1].tolist(), axis=1)
    shares: jax.Array = jnp.concatenate([jax.nn.softmax(p, axis=1) for p in parts], axis=1)
    return shares


def _descender(one: Callable[[Weights, jax.Array], jax.Array]) -> Callable[..., _State]:
    def loss(weights: Weights, known: Targets, noise: jax.Array) -> jax.Array:
        shares = one(weights, noise)
        singles: jax.Array = shares.mean(axis=0)
        pairs: jax.Array = shares.T @ shares / len(shares)
        apart: Any = known.one_weight * (singles - known.one) ** 2
        pairs_apart: Any = known.pair_weight * (pairs - known.pair) ** 2
        return jnp.add(apart.sum(), pairs_apart.sum())

    slope: Any = jax.vmap(jax.grad(loss), in_axes=(0, 0, None))

    def step(state: _State, known: Targets, noise: jax.Array) -> _State:
        gradient, count = slope(state.weights, known, noise), state.step + 1
        mean = jax.tree.map(lambda m, g: DECAY * m + (1 - DECAY) * g, state.mean, gradient)
        square = jax.tree.map(
            lambda v, g: SQUARES * v + (1 - SQUARES) * g * g, state.square, gradient
        )
        at = count.astype(jnp.float32)  # an integer's powers are doubles where mbi asked for them
        rate = RATE * jnp.sqrt(1 - SQUARES**at) / (1 - DECAY**at)
        weights = jax.tree.map(
            lambda w, m, v: w - rate * m / (jnp.sqrt(v) + 1e-10), state.weights, mean, square
        )
        return _State(weights, mean, square, count)

    def descend(state: _State, known: Targets, noise: jax.Array, steps: int) -> _State:
        final_state: _State = jax.lax.fori_loop(0, steps, lambda _, s: step(s, known, noise), state)
        return final_state

    return descend
