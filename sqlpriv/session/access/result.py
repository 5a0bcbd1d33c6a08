"""What a statement gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from sqlpriv.kernel.terms.budget import Price


@dataclass(frozen=True, eq=False)
class Result:
    """What a statement gave.

    Args:
        table: Its rows; None for a statement without rows.
        message: What was done, for a statement without rows; else ''. Below it, a line each, what a
            reader has to know of the numbers, the worst first.
        half_widths: For noised columns, by name: the half-width of a 95 % interval in every row.
        price: What was charged; None where nothing could be.
        epsilon: The same as an epsilon.
        exact: The rows were computed exactly on the vault, for an owner: they are not protected.
        changed: How many rows of the vault an owner's statement changed; -1 if that is not known.
        summed: For columns of keys, by name: the numbers of the rows, from 0, in which the key is
            NULL because they are of all its values together.
    """

    table: pa.Table | None = None
    message: str = ""
    half_widths: Mapping[str, list[float | None]] = field(default_factory=dict)
    price: Price | None = None
    epsilon: float | None = None
    exact: bool = False
    changed: int = -1
    summed: Mapping[str, frozenset[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Catalog:
    """Names that may be completed: tables of the vault and released ones, with their columns."""

    tables: Mapping[str, tuple[str, ...]]
    released: Mapping[str, tuple[str, ...]]
