"""Rows themselves as a model: what was fitted is a table, and is drawn from as it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class RowSample:
    """One stratum; a `Model`.

    Args:
        rows: Levels, shape (rows, columns); at least one row.
        size: The noised number of people.
    """

    rows: NDArray[np.int64]
    size: float

    def sample(
        self, sizes: Sequence[int], rows: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Returns levels: every row as often as every other, but for a random rest."""
        assert self.rows.shape[1] == len(sizes)
        times, more = divmod(rows, len(self.rows))
        rest = rng.choice(len(self.rows), more, replace=False)
        at = np.concatenate([*[np.arange(len(self.rows))] * times, rest])
        drawn: NDArray[np.int64] = self.rows[rng.permutation(at)]
        return drawn
