"""Public counts of places, aligned with the levels of a synthetic table's columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.errors import Refused
from sqlpriv.synth.domain.domain import Attribute, Domain

COUNT = "weight"
"""The column of counts, as in tables of WEIGHTS FROM."""


def align_counts(
    table: pa.Table, source: str, domain: Domain, hierarchy: str
) -> NDArray[np.float64]:
    """Returns the counts of places, an axis for each column of the table but COUNT.

    Args:
        table: Columns of the hierarchy, from the widest on, and `weight`: one row for each place.
            A place that is left out has nobody.
        source: The table's name, for messages.
        domain: Of the synthetic table.
        hierarchy: Names of columns, the widest first, joined by commas.

    Raises:
        Refused: Columns are others, a place is named twice or not declared, or a count is no whole
            number of at least 0.
    """
    names = [name.lower() for name in table.column_names]
    places = [part.strip().strip('"').lower() for part in hierarchy.split(",")]
    depth = len(names) - 1
    if COUNT not in names or {*names} != {*places[:depth], COUNT}:
        raise Refused(
            f'the invariants "{source}" have other columns than places and {COUNT}',
            hint=f"columns: {', '.join((*places[: max(depth, 1)], COUNT))}",
        )
    attributes = {a.column.name.lower(): a for a in domain.attributes}
    axes = [_codes(attributes[p], table.column(names.index(p)), source) for p in places[:depth]]
    weights = table.column(names.index(COUNT)).to_pylist()
    values = np.array([np.nan if w is None else float(w) for w in weights], dtype=np.float64)
    if not np.isfinite(values).all() or (values < 0).any() or (values != np.rint(values)).any():
        raise Refused(f'the invariants in "{source}" are to be whole numbers of at least 0')
    counts = np.zeros([attributes[p].size for p in places[:depth]])
    at = tuple(np.array(axis, dtype=np.int64) for axis in axes)
    if axes and len({*zip(*axes, strict=True)}) != len(values):
        raise Refused(f'"{source}" names a place twice', hint="give one row per place")
    counts[at] = values if axes else values.sum()
    return counts


def _codes(attribute: Attribute, values: pa.ChunkedArray, source: str) -> Sequence[int]:
    numbers = {value: i for i, value in enumerate(attribute.key.values)}
    codes = [numbers.get(value, -1) for value in values.to_pylist()]
    if -1 in codes or attribute.bounds is not None:
        raise Refused(
            f'"{source}" has a value of "{attribute.column.name}" that is no level of it',
            hint="places are columns of listed values or of few whole numbers",
        )
    return codes
