"""`WEIGHTS FROM`: public shares of the strata, aligned by key."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.errors import Refused


def align_weights(
    table: pa.Table | None,
    source: str,
    columns: Sequence[str],
    levels: Sequence[tuple[object, ...]],
) -> NDArray[np.float64]:
    """Returns the weights in the order of the strata, of shape (strata,), adding up to 1.

    Args:
        table: Columns named as the strata (case does not matter) and `weight`, one row per
            stratum; rows of other strata are passed over. None: there is no such table.
        source: The table's name, for messages.
        columns: The strata columns.
        levels: The strata's values, in the order wanted.

    Raises:
        Refused: A column or a stratum is missing, a stratum is named twice, or a weight is not a
            finite number of at least 0.
    """
    if table is None or not columns:
        raise Refused(
            f'there are no weights "{source}"',
            hint="WEIGHTS FROM takes a public table, behind STRATIFY BY",
        )
    weights = _weights_by_stratum(table, source, columns)
    missing = [level for level in levels if weights.get(level) is None]
    if missing:
        missing_label = ", ".join(str(value) for value in missing[0])
        raise Refused(
            f'"{source}" has no weight of the stratum ({missing_label})',
            hint=f"{len(missing)} of {len(levels)} strata are missing; 0 is a weight",
        )
    shares = np.array([weights[level] for level in levels], dtype=np.float64)
    if not np.isfinite(shares).all() or (shares < 0).any() or shares.sum() <= 0:
        raise Refused(
            f'the weights in "{source}" are not shares',
            hint="they are finite, not negative, and not all 0",
        )
    return np.asarray(shares / shares.sum())


def _weights_by_stratum(
    table: pa.Table, source: str, columns: Sequence[str]
) -> dict[tuple[object, ...], float | None]:
    names = [name.lower() for name in table.column_names]
    wanted = [column.lower() for column in (*columns, "weight")]
    for name in wanted:
        if name not in names:
            raise Refused(
                f'"{source}" has no column "{name}"',
                hint=f"its columns are to be {', '.join(wanted)}",
            )
    *keys, weights = (table.column(names.index(name)).to_pylist() for name in wanted)
    labels = list(zip(*keys, strict=True))
    if len(set(labels)) != len(labels):
        raise Refused(f'"{source}" names a stratum twice', hint="give one row per stratum")
    return dict(zip(labels, weights, strict=True))
