"""One synthetic table: from a declared table and an allowance to rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.contract import Column, TableContract
from sqlpriv.kernel.terms.release import Release
from sqlpriv.statements.printer import literal
from sqlpriv.synth.api.ask import Ask, Asker, Gate
from sqlpriv.synth.api.method import Model
from sqlpriv.synth.api.progress import Progress, Report, silent
from sqlpriv.synth.api.size_limits import check_size
from sqlpriv.synth.column_looks import refine_columns
from sqlpriv.synth.domain import binning
from sqlpriv.synth.domain.decode import arrow_type
from sqlpriv.synth.domain.domain import Attribute, Domain, discretise, rows_of
from sqlpriv.synth.domain.outside import keep_rows
from sqlpriv.synth.domain.structural_zeros import Kept, impossible, zeros_to_keep
from sqlpriv.synth.drawing import check_zeros, draw_table
from sqlpriv.synth.existing_cells import check_undeclared, select_cells
from sqlpriv.synth.explained_steps import steps
from sqlpriv.synth.job import Job
from sqlpriv.synth.kept_model import KeptModel
from sqlpriv.synth.long_lists import list_notes
from sqlpriv.synth.methods import auto
from sqlpriv.synth.models.composed_columns import Composed, notes_of_sums, outside_declared
from sqlpriv.synth.models.made_up import column_of_values, read_patterns
from sqlpriv.synth.notes import left_out_note, notes_of, zeros_note
from sqlpriv.synth.quality import measured_error
from sqlpriv.synth.quality.column_checks import (
    constant_columns,
    large_pairs,
    noisy_columns,
    noisy_numbers,
    total_noise,
)
from sqlpriv.synth.quality.fine_cells import in_fine_cells
from sqlpriv.synth.quality.quality_line import SELECTED, Findings, quality_line
from sqlpriv.synth.registry import MAX_ROWS, method_of, options_of

SHORT = 16
"""Whole numbers of more values than this are binned with `binning = auto`: most of a longer list
are rare, and a rare level is mostly noise."""


@dataclass(frozen=True, eq=False)
class Synthesis:
    """A synthetic table: post-processing of releases, free to publish.

    Args:
        table: The rows, of the columns' own types.
        types: SQL type of each column of the published table.
        releases: What it was made from.
        notes: Public remarks: where the row count is from, say.
        kept: What more rows can be drawn from.
    """

    table: pa.Table
    types: Mapping[str, str]
    releases: tuple[Release, ...]
    notes: tuple[str, ...]
    kept: KeptModel


def prepare(
    contract: TableContract,
    columns: Sequence[str],
    strata: Sequence[str],
    where: a.Expr | a.Relation | None,
    method: str,
    options: Mapping[str, Any],
    price: Price,
    yocto: int = 0,
    composed: tuple[Composed, ...] = (),
) -> Job:
    """Checks a request and lays out its work, from public facts alone. Nothing is charged or read.

    Args:
        contract: Of the private table.
        columns: Selected columns, in order.
        strata: Columns of STRATIFY BY; put first where they are not selected.
        where: The user's predicate, or None; or the rows themselves, of a relation that has the
            contract's columns.
        method: Name of a synthesizer.
        options: As written; see `registry.options_of`.
        price: Of the whole statement.
        yocto: Delta, in 1e-24, for a method that selects the values of undeclared columns.
        composed: Columns that are differences in the contract, and are published as sums.

    Raises:
        Refused: Something does not fit; see `discretise` and `options_of`, and the method's limits.
        DataError: The price is too small to be shared out.
    """
    method_asked = method_of(method)
    chosen = options_of(method_asked, options)
    bins = chosen["bins"]
    cut = min(bins, SHORT) if chosen["binning"] == "auto" else bins
    made_up = read_patterns(chosen["patterns"])
    if absent := made_up.keys() - {name.lower() for name in columns}:
        raise Refused(
            f'patterns name "{min(absent)}", which is no column of the table',
            hint="select it, or leave its pattern out; nothing was read",
        )
    if method_asked.selects and not yocto:
        raise Refused(f"{method_asked.name} needs a delta for keys; nothing was read")
    undeclared = _undeclared_columns(contract, columns, made_up) if method_asked.selects else ()
    check_undeclared(contract, undeclared)
    domain = discretise(contract, columns, strata, where, bins, cut, made_up, undeclared)
    domain = replace(domain, composed=composed)
    if domain.made_up and not (domain.attributes or domain.strata or undeclared):
        raise Refused("all columns are made up", hint="select a declared column beside them")
    domain = binning.with_grids(domain, chosen["grid"])
    domain = keep_rows(domain, chosen["outside"], rows_of(contract, where))
    for attribute in (*domain.strata, *domain.attributes):
        arrow_type(attribute.column.sql_type)
    check_size(method_asked, domain.sizes, domain.strata_count)
    if zeros := impossible(chosen["zeros"], contract, domain):
        check_zeros(domain, zeros.sql)
    unit = contract.unit
    bounded = (
        unit is not None and unit.rows_per_unit > 1 and unit.groups_per_unit < domain.strata_count
    )
    base = rows_of(contract, where)
    job = Job(domain, method_asked, chosen, price, zeros, base, bounded=bounded, yocto=yocto)
    if method_asked is auto.METHOD:
        taken = auto.choose_method(job.space, job.parts[1])
        job = replace(job, method=taken, options=options_of(taken, options), asked_auto=True)
    steps(job)  # refuse a price that is too small to be shared out
    return job


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
    shares = None if weights is None else _check_weights(weights, job.domain.strata_count)
    _check_totals(job, shares)
    method_price = job.parts[1]
    declared = job.domain
    job, releases_of_columns = refine_columns(job, gate)
    existing = None
    if job.method.selects:
        of_cells = job.phases()[0].price
        whole, existing = select_cells(gate, job.domain, job.every_row, of_cells, job.yocto)
        job = replace(job, domain=whole)
        declared = whole
    asker = Asker(gate, job.domain, releases_of_columns)
    ask = Ask(asker.measure, asker.select, report)
    zeros = Kept({}, 0)
    if job.zeros and job.method.trees:
        zeros = zeros_to_keep(job.domain, job.zeros, job.options["cells"])
    space = replace(job.space, zeros=zeros.masks, existing=existing)
    models = job.method.fit(ask, space, method_price, job.options)
    report(Progress("drawing rows", 0, 1))
    rng = np.random.default_rng()
    sql = _impossible_rows(job)
    table, left_out = draw_table(job.domain, job.options, sql, models, shares, rng)
    report(Progress("drawing rows", 1, 1))
    findings = _find_flaws(job, declared, asker, models, table.num_rows)
    vague = noisy_numbers(table, findings.total, releases_of_columns)
    findings = replace(findings, vague=vague)
    types = _published_types(job.domain)
    quality = quality_line(findings)
    notes = (
        *job.notes,
        quality,
        *list_notes(job.domain),
        *notes_of(job.domain, job.options, table.num_rows, models, shares is not None),
    )
    notes += notes_of_sums(job.domain.composed)
    if job.zeros:
        notes += (zeros_note(job.zeros, zeros),)
    notes += left_out_note(job.domain, left_out)
    kept = KeptModel(job.domain, models, sql, shares, types, quality=quality)
    return Synthesis(table, types, tuple(asker.releases), notes, kept)


def _published_types(domain: Domain) -> dict[str, str]:
    """Returns column → SQL type of the published table, in its columns' order."""
    types = {x.column.name: x.column.sql_type for x in _all(domain)}
    types |= {column.name: column.sql_type for column in domain.made_up}
    types |= {one.column.name: one.column.sql_type for one in domain.composed}
    types |= {x.column.name: _enum_of(x) for x in _all(domain) if x.column.sql_type == "ENUM"}
    return {name: types[name] for name in domain.output}


def _enum_of(attribute: Attribute) -> str:
    """Returns the ENUM of the levels in their declared order, which are public; VARCHAR where there
    is none but NULL, and of values that were selected, whose order in the ENUM was not declared."""
    grouped, key = attribute.grouped, attribute.key
    levels = grouped.values if grouped is not None else key.values
    labels = ", ".join(literal(str(level)) for level in levels if level is not None)
    return f"ENUM({labels})" if labels and attribute.column.domain is not None else "VARCHAR"


def _impossible_rows(job: Job) -> str | None:
    """Returns the predicate of rows that are drawn anew; None where there are none."""
    parts = [job.zeros.sql] if job.zeros else []
    if outside := outside_declared(job.domain.composed):
        parts.append(outside)
    return " OR ".join(f"({part})" for part in parts) or None


def _undeclared_columns(
    contract: TableContract, columns: Sequence[str], made_up: Mapping[str, str]
) -> tuple[Column, ...]:
    """Returns the columns whose values are to be selected."""
    asked_for = (contract.column(name) for name in columns)
    return tuple(
        c for c in asked_for if c and c.domain is None and column_of_values(c, made_up) is None
    )


def _find_flaws(
    job: Job,
    declared: Domain,
    asker: Asker,
    models: Sequence[Model],
    drawn: int,
) -> Findings:
    """Returns what is known of the table's quality; spends the error's price.

    The error to expect is that of strata as they were modelled: by themselves, where the method was
    told nothing of everybody.

    Args:
        job: Of the table, its domain as it was modelled.
        declared: The domain before histograms were looked at.
        asker: All that the method was told, and by which gate.
        models: One for each stratum.
        drawn: Rows of the table.
    """
    price, domain = job.error_price[0], job.domain
    total = max(sum(m.size for m in models), 0.0)
    before, rows = replace(job, domain=declared), max(total, 1.0)
    expected = before.expected_error if asker.has_pooled else before.expected_error_each
    codes = measured_error.draw_codes(domain, models, total)
    cells, codes = in_fine_cells(domain, declared, codes)
    measured = None
    if price.nano:
        measured = measured_error.measure_error(
            asker.gate, cells, codes, job.every_row, total, price, job.method.selects
        )
    return Findings(
        drawn,
        total,
        measured,
        expected(rows),
        noisy_columns(domain, asker.releases, total),
        constant_columns(declared, codes),
        large_pairs(domain, job.method, job.options),
        SELECTED if job.method.selects else job.options["outside"],
        job.bounded,
        total_noise(asker.releases),
        constrained=bool(domain.composed),
    )


def _all(domain: Domain) -> tuple[Any, ...]:
    """Returns the strata's columns and the others that are modelled."""
    return (*domain.strata, *domain.attributes)


def _check_weights(weights: NDArray[np.float64], strata: int) -> NDArray[np.float64]:
    """Returns the weights as doubles, of shape (strata,).

    Raises:
        Refused: They are of another shape, negative, not finite, or all 0.
    """
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
