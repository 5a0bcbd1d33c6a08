"""The cells in which a table's error is measured: of numbers finer ones than their levels.

Where noise is large a column of numbers has four or five levels, which a model may meet well while
what lies inside them is far off. So numbers and dates are compared in about CELLS cells of equally
many drawn rows each, whose ends are ends of the histograms' parts. Columns without such histograms
are compared level by level.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.synth.domain.binning import part_edges
from sqlpriv.synth.domain.decode import parts_at
from sqlpriv.synth.domain.domain import Attribute, Domain
from sqlpriv.synth.inference.positions import Codes, ranks_inside
from sqlpriv.synth.quality.prediction import CELLS


def in_fine_cells(domain: Domain, codes: Codes) -> tuple[Domain, Codes]:
    """Returns the domain whose columns of numbers have cells in the place of levels, and the rows'
    cells: the same for the same rows.

    Args:
        domain: As modelled.
        codes: Drawn levels of the columns, then of the strata, shape (rows, columns and strata).
    """
    rng = np.random.default_rng(1)
    attributes, fine = list(domain.attributes), codes.copy()
    for i, attribute in enumerate(attributes):
        if attribute.within is not None and attribute.bounds is not None:
            attributes[i], fine[:, i] = _of_column(attribute, codes[:, i], rng)
    return replace(domain, attributes=tuple(attributes)), fine


def _of_column(
    attribute: Attribute, codes: Codes, rng: np.random.Generator
) -> tuple[Attribute, Codes]:
    within, levels = attribute.within, len(attribute.bounds or ()) - 1
    assert within is not None
    missing, inside = codes >= levels, np.minimum(codes, levels - 1)
    positions = ranks_inside(inside, rng.random(inside.size), rng)
    parts = within.first[inside] + parts_at(within.share, inside, positions)[0]
    held = np.bincount(parts[~missing], minlength=len(within.ends) - 1)
    middle = (np.cumsum(held) - held / 2) / max(held.sum(), 1)
    _, starts, cell = np.unique(
        np.floor(middle * CELLS).clip(0, CELLS - 1), return_index=True, return_inverse=True
    )
    ends = within.ends[[*starts, -1]]
    nothing = (None,) if None in attribute.key.values else ()
    column = a.Bin(a.Col(attribute.column.name), part_edges(attribute, within.lattice, ends))
    key = a.Key(column, (*range(len(starts)), *nothing))
    return replace(attribute, key=key), np.where(missing, len(starts), cell[parts])
