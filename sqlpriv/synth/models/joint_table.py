"""One table of all columns together: the model of a small domain, or of the cells of a large one
that are known to hold anybody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlpriv.synth.models.sampling import dealt
from sqlpriv.synth.models.tree_model import Floats


@dataclass(frozen=True, eq=False)
class JointModel:
    """The expected counts of cells of the joint domain; a `Model`.

    Args:
        columns: The modelled columns, in the order that numbers the cells (row-major).
        cells: Numbers of the cells that may hold rows, shape (cells,).
        counts: Their expected counts, nonnegative, shape (cells,).
        size: The noised number of rows.
    """

    columns: tuple[int, ...]
    cells: NDArray[np.int64]
    counts: Floats
    size: float

    def sample(
        self, sizes: Sequence[int], rows: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Returns levels; the count of every cell is within one of its share of the rows."""
        drawn = np.zeros((rows, len(sizes)), dtype=np.int64)
        if self.columns and rows:
            picked = dealt(np.zeros(rows, dtype=np.int64), self.counts[None, :], rng)
            shape = tuple(sizes[c] for c in self.columns)
            drawn[:, self.columns] = np.stack(np.unravel_index(self.cells[picked], shape), axis=1)
        return drawn
