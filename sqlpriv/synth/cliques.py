"""A stratum's model over cliques of columns, as `synthesis` draws from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlpriv.synth.propagation import CliqueModel


@dataclass(frozen=True, eq=False)
class StratumCliques:
    """One stratum as a junction tree; a `Model`.

    Args:
        model: Over the columns that have more than one level.
        size: The noised number of rows; may be negative.
    """

    model: CliqueModel
    size: float

    def sample(
        self, sizes: Sequence[int], rows: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Returns levels node by node; see `method.Model`."""
        drawn = np.zeros((rows, len(sizes)), dtype=np.int64)
        for column, codes in self.model.draw(rows, rng).items():
            drawn[:, column] = codes
        return drawn
