"""`stability`: the combinations of values that many units have, of columns without public lists.

Korolova, Kenthapadi, Mishra and Ntoulas 2009, "Releasing Search Queries and Clicks Privately"; Bun,
Nissim and Stemmer 2016, "Simultaneous Private Learning of Multiple Concepts" (arXiv:1511.08552).
`synth.existing_cells` finds the combinations; here they are counted, and rows drawn by the counts.
Values that few units have are in no row: that is what the threshold is for, and the answer tells
how many rows have others.

Price: SELECTING of it for the selection, the rest for the counts of what passed, of every stratum
at once (strata are disjoint). The noise of a count is drawn anew, so that a combination's count is
unbiased though it passed by a noised count: its own noise had no part in that.

It is poor where most rows have combinations of their own: of several numbers of many values, say.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sqlpriv.kernel.terms.budget import Price
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.api.ask import Ask
from sqlpriv.synth.api.cell_queries import ListedCells
from sqlpriv.synth.api.method import Method, Model, Options, Phase, Space
from sqlpriv.synth.models.weighted_rows import WeightedRows

SELECTING = 3 / 4
"""Of the price, for the selection: the threshold is about 7 standard deviations, so that missing a
combination costs more than the noise of one that is found. Of 1/4, 1/2, 2/3, 3/4 and .85 the rows
in wrong cells were fewest at 3/4, or within a twentieth of that, on Zipf and geometric counts of
20,000 to 50,000 rows at epsilon .3 and 1."""


def phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    """Returns the selection and the counts; prices add up to `price` exactly."""
    selected, counted = split_price(price, [SELECTING, 1 - SELECTING])
    return (
        Phase("combinations of values that many units have", "Gaussian threshold", selected),
        Phase("counts of what was found", "noise", counted),
    )


def fit(ask: Ask, space: Space, price: Price, options: Options) -> Sequence[Model]:
    """Returns the counted combinations of each stratum. The selection's part of `price` is spent
    before (`synthesis.synthesize`); this spends the rest, or nothing where nothing was found."""
    counted = phases(space, price, options)[1].price
    assert space.existing is not None
    who = [s for s, codes in enumerate(space.existing) if len(codes)]
    questions = [ListedCells(space.existing[s], (s,), counted) for s in who]
    releases = ask.measure(questions) if questions else ()
    values = {s: release.values.ravel() for s, release in zip(who, releases, strict=True)}
    none = np.zeros(0)
    return tuple(
        WeightedRows(codes, np.maximum(values.get(s, none), 0.0), float(values.get(s, none).sum()))
        for s, codes in enumerate(space.existing)
    )


METHOD = Method(
    name="stability",
    title="the combinations of values that many units have; columns need no public lists",
    paper="Korolova et al. 2009; Bun, Nissim and Stemmer 2016 (arXiv:1511.08552)",
    options=(),
    max_strata=1_000,
    max_cells=2**62,
    arity=None,
    fit=fit,
    phases=phases,
    selects=True,
)
