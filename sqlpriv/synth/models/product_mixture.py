"""A mixture of products: rows of one component have independent columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlpriv.synth.models.sampling import dealt
from sqlpriv.synth.models.tree_model import Floats


@dataclass(frozen=True, eq=False)
class MixtureModel:
    """One stratum; a `Model`.

    Args:
        shares: By column, the shares of its levels in each component, shape (components, levels);
            components are of equal weight.
        size: The noised number of rows.
    """

    shares: Mapping[int, Floats]
    size: float

    def sample(
        self, sizes: Sequence[int], rows: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Returns levels: rows are dealt to components, then each column inside them."""
        drawn = np.zeros((rows, len(sizes)), dtype=np.int64)
        if not self.shares:
            return drawn
        components = len(next(iter(self.shares.values())))
        alike = np.ones((1, components))
        component = dealt(np.zeros(rows, dtype=np.int64), alike, rng)
        placed: list[int] = []
        for column, share in self.shares.items():
            drawn[:, column] = dealt(component, share, rng, [drawn[:, c] for c in placed])
            placed.append(column)
        return drawn
