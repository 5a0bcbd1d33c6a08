"""From models to a table: how many rows of which stratum, and none that is declared impossible.

`OPTIONS (zeros = 'age < 15 AND married')` names rows that cannot exist, by a predicate over the
published columns. Rows for which it is true are drawn again, so that what is published follows the
model *given* that they do not exist; a row that is still impossible after REDRAWS is replaced by a
possible one of its stratum, or left out where there is none. `OPTIONS (totals = weights)` takes the
weights of `WEIGHTS FROM` for public numbers of rows and meets them exactly, unless a stratum has no
possible row at all: it is left out, and a note says so. All of it is post-processing of releases
and public facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.errors import Refused
from sqlpriv.synth.api.method import Model
from sqlpriv.synth.domain.decode import decode, ordered_levels
from sqlpriv.synth.domain.domain import Domain
from sqlpriv.synth.inference.positions import Coupling, draw_positions, fit_coupling
from sqlpriv.synth.models.composed_columns import add_differences, cast_sums
from sqlpriv.synth.models.made_up import draw_values
from sqlpriv.synth.models.sampling import strata_rows
from sqlpriv.system import arrow
from sqlpriv.system.quiet_engine import open_engine

REDRAWS = 30
UNASKED_ROWS = 10_000_000
"""Rows drawn at most without `rows`: at a tiny epsilon the noised total is mostly noise."""


def check_zeros(domain: Domain, zeros: str) -> None:
    """Refuses a predicate that cannot be computed of the published columns."""
    nobody = np.zeros((1, len(domain.sizes)), dtype=np.int64)
    nowhere = np.zeros(1, dtype=np.int64)
    _broken(_decode_table(domain, nobody, nowhere, np.random.default_rng(0)), zeros)


def draw_table(
    domain: Domain,
    options: Mapping[str, Any],
    zeros: str | None,
    models: Sequence[Model],
    weights: NDArray[np.float64] | None,
    rng: np.random.Generator,
) -> tuple[pa.Table, tuple[int, ...]]:
    """Returns rows of the models, shuffled, and the strata that were to have rows and have no
    possible one; strata columns are fixed inside each stratum."""
    counts = _counts(options, models, weights, rng)
    drawn = [m.sample(domain.sizes, int(n), rng) for m, n in zip(models, counts, strict=True)]
    order = rng.permutation(int(counts.sum()))
    codes = np.concatenate(drawn)[order]
    strata: NDArray[np.int64] = np.repeat(np.arange(len(models)), counts)[order]
    coupling = fit_coupling(codes, ordered_levels(domain))
    table = _decode_table(domain, codes, strata, rng, coupling)
    if zeros is None:
        return table, ()
    possible, left_out = _possible(domain, zeros, models, table, strata, rng, coupling)
    return cast_sums(possible, domain.composed), left_out


def _counts(
    options: Mapping[str, Any],
    models: Sequence[Model],
    weights: NDArray[np.float64] | None,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Returns the rows of each stratum: from public numbers and noised sizes, never the true."""
    if options["totals"] == "weights" and weights is not None:
        return np.rint(weights).astype(np.int64)
    rows = options["rows"]
    if rows is None:
        rows = min(max(round(sum(m.size for m in models)), 0), UNASKED_ROWS)
    return strata_rows([m.size for m in models], int(rows), weights, rng)


def _decode_table(
    domain: Domain,
    codes: NDArray[np.int64],
    strata: NDArray[np.int64],
    rng: np.random.Generator,
    coupling: Coupling | None = None,
) -> pa.Table:
    inside = {} if coupling is None else draw_positions(coupling, codes, rng)
    fixed = np.unravel_index(strata, domain.strata_shape or (1,))
    arrays = {s.column.name: decode(s, fixed[i], rng) for i, s in enumerate(domain.strata)}
    for i, attribute in enumerate(domain.attributes):
        others = [*np.delete(codes, i, axis=1).T] if attribute.grouped is not None else []
        arrays[attribute.column.name] = decode(attribute, codes[:, i], rng, inside.get(i), others)
    arrays |= {column.name: draw_values(column, len(codes), rng) for column in domain.made_up}
    drawn = pa.table({name: arrays[name] for name in domain.output})
    return add_differences(drawn, domain.composed)


def _possible(
    domain: Domain,
    zeros: str,
    models: Sequence[Model],
    table: pa.Table,
    strata: NDArray[np.int64],
    rng: np.random.Generator,
    coupling: Coupling,
) -> tuple[pa.Table, tuple[int, ...]]:
    """Returns the table with its impossible rows drawn again, and who is left out; see the
    module."""
    wrong = np.flatnonzero(_broken(table, zeros))
    for _ in range(REDRAWS):
        if not wrong.size:
            return table, ()
        again = np.zeros((wrong.size, len(domain.sizes)), dtype=np.int64)
        for s in np.unique(strata[wrong]):
            mine = np.flatnonzero(strata[wrong] == s)
            again[mine] = models[s].sample(domain.sizes, 4 * mine.size, rng)[
                rng.choice(4 * mine.size, mine.size, replace=False)
            ]
        fresh = _decode_table(domain, again, strata[wrong], rng, coupling)
        place = np.arange(table.num_rows)
        place[wrong] = table.num_rows + np.arange(wrong.size)
        table = pa.concat_tables([table, fresh]).take(arrow.numbers(place))
        wrong = wrong[_broken(fresh, zeros)]
    return _replace_impossible_rows(table, strata, wrong, rng)


def _replace_impossible_rows(
    table: pa.Table, strata: NDArray[np.int64], wrong: NDArray[np.int64], rng: np.random.Generator
) -> tuple[pa.Table, tuple[int, ...]]:
    """Returns the table with a possible row of the stratum for each that stayed impossible, and the
    strata that have none."""
    left_out: list[int] = []
    place, keep = np.arange(table.num_rows), np.ones(table.num_rows, dtype=np.bool_)
    keep[wrong] = False
    for s in np.unique(strata[wrong]):
        mine, good = wrong[strata[wrong] == s], np.flatnonzero(keep & (strata == s))
        if good.size:
            place[mine] = rng.choice(good, mine.size)
        else:
            place[mine] = -1
            left_out.append(int(s))
    return table.take(arrow.numbers(place[place >= 0])), tuple(left_out)


def _broken(table: pa.Table, zeros: str) -> NDArray[np.bool_]:
    """Returns for which rows the predicate is true (not NULL)."""
    with open_engine() as engine:
        engine.register("synthetic", table)
        try:
            verdicts = engine.execute(f"SELECT coalesce({zeros}, false) AS x FROM synthetic")
            return np.asarray(verdicts.fetchnumpy()["x"], dtype=np.bool_)
        except duckdb.Error:
            raise Refused("zeros cannot be computed of the published columns") from None
