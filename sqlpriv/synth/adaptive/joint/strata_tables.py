"""What a method's own tables of columns by strata say of a column inside strata.

A method that models everybody, strata's columns among the others, measures some columns by strata
itself: all of them where it measures every pair. Added up over other columns such a table counts
the column inside every stratum, as a look does, with the noise of all cells that were added up.
Post-processing of released numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sqlpriv.kernel.terms.release import Release
from sqlpriv.synth.graph.junction_tree import Clique
from sqlpriv.synth.inference.one_way_tables import LEAST_SIGMA, Floats


def tables_inside(
    inside: Mapping[int, Release],
    answers: Sequence[tuple[Clique, Release]],
    strata_shape: Sequence[int],
    columns: int,
) -> tuple[dict[int, Floats], dict[int, float]]:
    """Returns, by column, its counts in every stratum, shape (strata, levels), and their noise's
    standard deviation: the inverse-variance mean of all that was measured.

    Args:
        inside: By column, what was measured in every stratum, values of that shape.
        answers: Columns and tables of everybody; values have a first axis of length 1.
        strata_shape: Levels of the strata's columns, which have the numbers from `columns` on.
        columns: How many others there are.
    """
    strata = {columns + i for i, levels in enumerate(strata_shape) if levels > 1}
    values = {c: release.values for c, release in inside.items()}
    sigmas = {c: max(release.sigma, LEAST_SIGMA) for c, release in inside.items()}
    release_ids = {release.id for release in inside.values()}
    for clique, release in answers:
        if not strata <= {*clique} or release.id in release_ids:
            continue
        release_ids.add(release.id)
        table = release.values[0]
        for axis, column in enumerate(clique):
            if column in strata or column not in values:
                continue
            beside = tuple(i for i, c in enumerate(clique) if c not in strata and i != axis)
            counts = table.sum(axis=beside)
            summed_cells = math.prod(table.shape[i] for i in beside)
            noise = max(release.sigma, LEAST_SIGMA) * math.sqrt(summed_cells)
            by_strata = counts.reshape(table.shape[axis], -1).T
            part = noise**-2 / (noise**-2 + sigmas[column] ** -2)
            values[column] = (1 - part) * values[column] + part * by_strata
            sigmas[column] = (noise**-2 + sigmas[column] ** -2) ** -0.5
    return values, sigmas
