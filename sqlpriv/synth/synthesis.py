"""One synthetic table: from a declared table and an allowance to rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.synth.api.ask import Ask, Asker, Gate
from sqlpriv.synth.api.method import Method, Phase, Space, shared
from sqlpriv.synth.api.progress import Progress, Report, silent
from sqlpriv.synth.domain import binning
from sqlpriv.synth.domain.decode import arrow_type
from sqlpriv.synth.domain.domain import Domain, discretise
from sqlpriv.synth.domain.structural_zeros import Kept, Zeros, impossible, kept
from sqlpriv.synth.drawing import check_zeros, draw_table
from sqlpriv.synth.notes import left_out_note, notes_of, zeros_note
from sqlpriv.synth.registry import MAX_ROWS, method_of, options_of


@dataclass(frozen=True, eq=False)
class Job:
    """A checked request: all of it public; nothing was read or charged yet.

    Args:
        domain: Cells, strata and the relation that is counted.
        method: The synthesizer.
        options: Every option, defaults filled in.
        price: What the whole statement costs, unless parts of it are replayed.
        zeros: Rows that cannot exist, or None.
    """

    domain: Domain
    method: Method
    options: Mapping[str, Any]
    price: Price
    zeros: Zeros | None = None

    def phases(self) -> tuple[Phase, ...]:
        """Returns what the price will be spent on, in order."""
        return self.method.phases(self.space, self.parts[1], self.options)

    @property
    def space(self) -> Space:
        """Levels of the columns and of the strata."""
        return Space(self.domain.sizes, self.domain.strata_shape)

    @property
    def parts(self) -> tuple[tuple[Price, ...], Price]:
        """What the fine histogram of each binned column costs, and the method's part."""
        columns = self.binned
        if not columns:
            return (), self.price
        each = binning.SHARE / len(columns)
        *fine, rest = shared(self.price, [*[each] * len(columns), 1 - binning.SHARE])
        return tuple(fine), rest

    @property
    def binned(self) -> tuple[int, ...]:
        """The columns of which a fine histogram is measured: see `binning.WORTH`."""
        columns = binning.binned(self.domain)
        return columns if self.price.nano >= binning.WORTH * len(columns) else ()

    def fine(self) -> tuple[Measurement, ...]:
        """Returns the fine histograms of binned columns."""
        queries = [binning.fine_query(self.domain, c) for c in self.binned]
        return tuple(Measurement(q, p) for q, p in zip(queries, self.parts[0], strict=True))


@dataclass(frozen=True)
class Step:
    """One line of EXPLAIN PRIVACY: a measurement known beforehand, or a phase that depends on one.

    Args:
        name: For people: "one-way marginals: age", "spanning tree (9 rounds)".
        mechanism: "noise" or "exponential mechanism".
        price: Of this step; the prices of all steps add up to the statement's.
        measurement: What `Kernel.explain` takes, or None where it depends on earlier answers.
    """

    name: str
    mechanism: str
    price: Price
    measurement: Measurement | None


@dataclass(frozen=True, eq=False)
class Synthesis:
    """A synthetic table: post-processing of releases, free to publish.

    Args:
        table: The rows, of the columns' own types.
        types: SQL type of each column of the published table.
        releases: What it was made from.
        notes: Public remarks: where the row count is from, say.
    """

    table: pa.Table
    types: Mapping[str, str]
    releases: tuple[Release, ...]
    notes: tuple[str, ...]


def prepare(
    contract: TableContract,
    columns: Sequence[str],
    strata: Sequence[str],
    where: a.Expr | None,
    method: str,
    options: Mapping[str, Any],
    price: Price,
) -> Job:
    """Checks a request from public facts alone.

    Args:
        contract: Of the private table.
        columns: Selected columns, in order.
        strata: Columns of STRATIFY BY; put first where they are not selected.
        where: The user's predicate, or None.
        method: Name of a synthesizer.
        options: As written; see `registry.options_of`.
        price: Of the whole statement.

    Raises:
        Refused: Something does not fit; see `discretise` and `options_of`, and the method's limits.
        DataError: The price is too small to be shared out.
    """
    found = method_of(method)
    chosen = options_of(found, options)
    domain = discretise(contract, columns, strata, where, chosen["bins"])
    for attribute in (*domain.strata, *domain.attributes):
        arrow_type(attribute.column.sql_type)
    _check_size(found, domain)
    if zeros := impossible(chosen["zeros"], contract, domain):
        check_zeros(domain, zeros.sql)
    job = Job(domain, found, chosen, price, zeros)
    job.fine(), job.phases()  # refuse a price that is too small to be shared out
    return job


def steps(job: Job) -> tuple[Step, ...]:
    """Returns what the job will spend, in order; touches no row, and neither JAX nor mbi."""
    found = []
    for column, asked in zip(job.binned, job.fine(), strict=True):
        name = f"inside the bins: {job.domain.attributes[column].column.name}"
        found.append(Step(name, "noise", asked.price, asked))
    moved = set(job.binned) if job.options["binning"] == "quantile" else set()
    for phase in job.phases():
        rounds = f" ({phase.rounds} rounds)" if phase.rounds > 1 else ""
        if not phase.marginals:
            found.append(Step(phase.name + rounds, phase.mechanism, phase.price, None))
        for marginal in phase.marginals:
            names = [job.domain.attributes[c].column.name for c in marginal.clique]
            name = f"{phase.name}: {', '.join(names)}" if names else "size of each stratum"
            query = job.domain.query(marginal.clique, marginal.within, marginal.pooled)
            known = None if moved & {*marginal.clique} else Measurement(query, marginal.price)
            found.append(Step(name, phase.mechanism, marginal.price, known))
    return tuple(found)


def synthesize(
    job: Job,
    gate: Gate,
    weights: NDArray[np.float64] | None = None,
    report: Report = silent,
) -> Synthesis:
    """Fits the model through the gate and draws the table.

    Args:
        job: From `prepare`.
        gate: An allowance of at least `job.price`.
        weights: Shares of the strata, shape (strata,) in row-major order of their levels; None for
            shares by noised size.
        report: Told of the progress.

    Raises:
        Refused: The weights do not fit; nothing was read.
        BudgetExhausted and others: As the gate does.
    """
    shares = None if weights is None else _checked(weights, job.domain.strata_count)
    _check_totals(job, shares)
    method_price = job.parts[1]
    inside = gate.release(fine) if (fine := job.fine()) else ()
    columns = dict(zip(job.binned, inside, strict=True))
    job = replace(job, domain=binning.refined(job.domain, columns, job.options["binning"]))
    asker = Asker(gate, job.domain, list(inside))
    ask = Ask(asker.measure, asker.select, report)
    known = Kept({}, 0)
    if job.zeros and job.method.trees:
        known = kept(job.domain, job.zeros, job.options["cells"])
    space = replace(job.space, zeros=known.masks)
    models = job.method.fit(ask, space, method_price, job.options)
    report(Progress("drawing rows", 0, 1))
    rng = np.random.default_rng()
    sql = job.zeros.sql if job.zeros else None
    table, left_out = draw_table(job.domain, job.options, sql, models, shares, rng)
    report(Progress("drawing rows", 1, 1))
    types = {x.column.name: x.column.sql_type for x in _all(job.domain)}
    ordered = {name: types[name] for name in job.domain.output}
    notes = notes_of(job.domain, job.options, table.num_rows, models, shares is not None)
    if job.zeros:
        notes += (zeros_note(job.zeros, known), *left_out_note(job.domain, left_out))
    return Synthesis(table, ordered, tuple(asker.releases), notes)


def _all(domain: Domain) -> tuple[Any, ...]:
    return (*domain.strata, *domain.attributes)


def _check_size(method: Method, domain: Domain) -> None:
    """Refuses what the method would take too long for; see `Method.max_strata`, `max_cells`."""
    if domain.strata_count > method.max_strata:
        raise Refused(
            f"{method.name} takes at most {method.max_strata} strata, not {domain.strata_count}",
            hint="STRATIFY BY fewer columns",
        )
    sizes = domain.sizes
    arity = len(sizes) if method.arity is None else method.arity
    cells = domain.strata_count * sum(map(math.prod, itertools.combinations(sizes, arity)))
    if cells > method.max_cells:
        raise Refused(
            f"{method.name} looks at {method.max_cells} cells at most; this has {cells}",
            hint="select fewer columns, OPTIONS (bins = 8), fewer strata, or USING independent",
        )


def _checked(weights: NDArray[np.float64], strata: int) -> NDArray[np.float64]:
    shares = np.asarray(weights, dtype=np.float64)
    sound = shares.shape == (strata,) and np.isfinite(shares).all() and (shares >= 0).all()
    if not sound or shares.sum() <= 0:
        raise Refused("WEIGHTS FROM needs one weight of at least 0 for each stratum, not all 0")
    return shares


def _check_totals(job: Job, shares: NDArray[np.float64] | None) -> None:
    """Refuses `totals = weights` where the weights are no numbers of rows, or `rows` is given."""
    if job.options["totals"] != "weights":
        return
    whole = shares is not None and bool((shares == np.rint(shares)).all())
    few = shares is not None and float(shares.sum()) <= MAX_ROWS
    if not (whole and few) or job.options["rows"] is not None:
        raise Refused(
            f"totals = weights takes whole numbers of rows, at most {MAX_ROWS} in all",
            hint="STRATIFY BY … WEIGHTS FROM a public table of counts, without the option rows",
        )
