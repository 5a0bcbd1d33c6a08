"""The cells in which a table's error is measured: they may be finer than the model's levels.

Where noise is large a column of numbers has four or five levels, which a model may meet well while
what lies inside them is far off. So numbers and dates are compared in about CELLS cells of equally
many drawn rows each, whose ends are drawn values: also where all rows lie in one part of the
histograms and nothing says where in it. Of a long list whose rare values are modelled in groups,
every declared value is a cell: inside a group a value is drawn whatever the row's other columns
are. Other columns are compared level by level.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.synth.domain.binning import part_edges
from sqlpriv.synth.domain.decode import drawn_numbers, positions_inside
from sqlpriv.synth.domain.domain import Attribute, Domain
from sqlpriv.synth.inference.positions import Codes, ranks_inside
from sqlpriv.synth.models.sampling import dealt
from sqlpriv.synth.quality.column_checks import CELLS


def in_fine_cells(domain: Domain, declared: Domain, codes: Codes) -> tuple[Domain, Codes]:
    """Returns the domain whose columns have cells in the place of levels, and the rows' cells: the
    same for the same rows.

    Args:
        domain: As modelled.
        declared: The same columns before levels were chosen.
        codes: Drawn levels of the columns, then of the strata, shape (rows, columns and strata).
    """
    rng = np.random.default_rng(1)
    attributes, fine = list(domain.attributes), codes.copy()
    inside = positions_inside(domain, codes, rng)
    for i, attribute in enumerate(attributes):
        if attribute.within is not None and attribute.bounds is not None:
            attributes[i], fine[:, i] = _fine_column(attribute, codes[:, i], inside.get(i), rng)
        elif attribute.grouped is not None:
            attributes[i] = replace(attribute, key=declared.attributes[i].key, grouped=None)
            others = [*np.delete(codes, i, axis=1).T]
            fine[:, i] = dealt(codes[:, i], attribute.grouped.share, rng, others)
    return replace(domain, attributes=tuple(attributes)), fine


def _fine_column(
    attribute: Attribute,
    codes: Codes,
    positions: NDArray[np.float64] | None,
    rng: np.random.Generator,
) -> tuple[Attribute, Codes]:
    within, levels = attribute.within, len(attribute.bounds or ()) - 1
    assert within is not None
    missing, levels_inside = codes >= levels, np.minimum(codes, levels - 1)
    if positions is None:
        positions = ranks_inside(levels_inside, rng.random(codes.size), rng)
    numbers = drawn_numbers(within, levels_inside, positions, rng)
    ends = _cell_ends(numbers[~missing], int(within.ends[0]), int(within.ends[-1]))
    nothing = (None,) if None in attribute.key.values else ()
    column = a.Bin(a.Col(attribute.column.name), part_edges(attribute, within.lattice, ends))
    key = a.Key(column, (*range(len(ends) - 1), *nothing))
    cells = np.searchsorted(ends, numbers, side="right") - 1
    return replace(attribute, key=key), np.where(missing, len(ends) - 1, cells)


def _cell_ends(numbers: NDArray[np.int64], first: int, end: int) -> NDArray[np.int64]:
    """Returns where cells of about as many rows each begin, and where the last one ends. A value of
    as many rows as a cell is one by itself, so that values beside it, which may be real, are not
    taken for it.

    >>> _cell_ends(np.array([*range(8), *[9] * 8]), 0, 50).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 50]
    """
    values, held = np.unique(numbers, return_counts=True)
    middle = (np.cumsum(held) - held / 2) / max(held.sum(), 1)
    starts = np.unique((middle * CELLS).astype(np.int64), return_index=True)[1][1:]
    alone = values[held >= max(len(numbers) / CELLS, 2)]
    ends = np.concatenate([values[starts], alone, alone + 1])
    return np.unique([first, *ends[(first < ends) & (ends < end)], end])
