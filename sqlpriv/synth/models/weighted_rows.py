"""Rows with weights as a model: combinations of levels, and how many rows have each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlpriv.synth.models.sampling import dealt
from sqlpriv.synth.models.tree_model import Floats


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """One stratum; a `Model`.

    Args:
        rows: Levels, shape (combinations, columns).
        counts: Of each, nonnegative, shape (combinations,).
        size: The noised number of rows.
    """

    rows: NDArray[np.int64]
    counts: Floats
    size: float

    def sample(
        self, sizes: Sequence[int], rows: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Returns levels; the count of every combination is within one of its share of the rows.
        A stratum of which none is known has no rows to give: level 0 stands for all."""
        if not rows or not len(self.rows):
            return np.zeros((rows, len(sizes)), dtype=np.int64)
        counts = self.counts if self.counts.sum() > 0 else np.ones(len(self.rows))
        return self.rows[dealt(np.zeros(rows, dtype=np.int64), counts[None, :], rng)]
