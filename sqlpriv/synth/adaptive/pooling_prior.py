"""What pooled strata's tables are moved towards before models are fitted to them.

Noise is the same in every cell, and most columns have levels that hardly anybody has: there the
measured cells are noise, half of them below zero, and a model that is fitted to them believes of
those few people whatever the noise made positive. What is expected without looking is the better
guess there, and `shrinkage` finds from the noised cells how far it is to be believed.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from sqlpriv.synth.adaptive.strata_sizes import count_strata, nonnegative
from sqlpriv.synth.adaptive.stratum_run import Run
from sqlpriv.synth.graph.junction_tree import Clique
from sqlpriv.synth.inference.shrinkage import shrunk
from sqlpriv.synth.models.clique_model import CliqueModel
from sqlpriv.synth.models.tree_model import Noisy


def shrink_towards_independence(
    strata: Clique, shape: tuple[int, ...], run: Run
) -> dict[Clique, Noisy]:
    """Returns the population's tables as they are fitted: those of one column, and those that count
    strata alone, as posterior means; the others shrunk towards columns that have nothing to do with
    one another, and strata that are all alike. Of a stratum, or a level, of almost nobody, of which
    they know nothing, the model then says what it says of everybody.

    Variances stay those of the noise: the same is expected in every table, and with the posterior's
    it would count once for each.
    """
    tables, alike = dict(run.tables), {}
    sizes = nonnegative(*count_strata(tables, strata, shape))
    for clique, noisy in run.tables.items():
        within = tuple(c for c in clique if c in strata)
        beside = tuple(c for c in clique if c not in strata)
        others = tuple(i for i, c in enumerate(strata) if c not in within)
        rows_by_stratum = sizes.reshape(shape).sum(axis=others)
        if not beside:
            tables[clique] = Noisy(rows_by_stratum, noisy.variance)
        elif len(clique) == 1:
            tables[clique] = Noisy(nonnegative(noisy.values, noisy.variance), noisy.variance)
        else:
            assert run.model is not None
            parts = [beside] if within else [(c,) for c in beside]
            shares = reduce(np.multiply.outer, map(run.model.shares, parts))
            alike[clique] = np.multiply.outer(shares, rows_by_stratum)
    moved = shrunk({c: tables[c] for c in alike}, alike)
    return tables | {c: Noisy(x.values, tables[c].variance) for c, x in moved.items()}


def shrink_towards_model(model: CliqueModel, doubt: float, run: Run) -> dict[Clique, Noisy]:
    """Returns a stratum's tables shrunk towards a model of it; for `doubt` see `shrunk`."""
    total = max(run.size, 1.0)
    tables = {clique: noisy for clique, noisy in run.tables.items() if clique}
    return shrunk(tables, {c: total * model.shares(c) for c in tables}, doubt)
