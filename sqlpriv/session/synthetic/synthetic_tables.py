"""From a CREATE SYNTHETIC TABLE to a published one, and plain SQL over what was released."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.answer.stratum_weights import align_weights
from sqlpriv.errors import Refused
from sqlpriv.kernel.gate import Allowance
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Budget, Price, Rho
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.kernel.vault import Kernel
from sqlpriv.plan.explanation.explain import SCHEMA, price_row, total_rows
from sqlpriv.plan.pricing.display import epsilon_shown
from sqlpriv.plan.pricing.predictions import predict_measurements, predict_threshold
from sqlpriv.plan.pricing.statement import half_width
from sqlpriv.plan.synthetic.synthetic_plan import plan_synthetic
from sqlpriv.publish.release_file import MARK
from sqlpriv.session.queries.programs.gate_requests import sealed_releases
from sqlpriv.statements import commands as cmd
from sqlpriv.synth.api.progress import Report
from sqlpriv.synth.domain.public_counts import align_counts
from sqlpriv.synth.explained_steps import steps
from sqlpriv.synth.job import Job
from sqlpriv.synth.models.composed_columns import Composed
from sqlpriv.synth.registry import method_of
from sqlpriv.synth.synthesis import Synthesis, prepare
from sqlpriv.synth.synthesis import synthesize as run_job
from sqlpriv.system import arrow

THRESHOLD = "Gaussian threshold"
TYPICAL_ROWS = (10_000, 100_000, 1_000_000)
"""Of which EXPLAIN tells the expected error where nobody has counted the table's rows."""

FAR_APART = ", if a look at the columns finds strata far apart and each is modelled by itself"


def prepare_job(
    create: cmd.CreateSynthetic,
    contract: TableContract,
    budget: Budget,
    settings: Mapping[str, float],
    price: Price | None = None,
) -> tuple[Job, str]:
    """Returns the checked job and the public table of its weights ('' without one).

    `price` is what it may spend where the statement does not say it itself.

    Raises:
        Refused: The statement does not fit; nothing was read or charged.
    """
    method_of(create.method)
    planned = plan_synthetic(create, contract, budget, settings.get("privacy_epsilon"), price)
    read, options = planned.read, dict(planned.options)
    job = prepare(
        read.contract,
        read.columns,
        read.strata,
        read.rows,
        planned.method,
        options,
        planned.price,
        planned.yocto,
        tuple(Composed(x.column, x.smaller) for x in planned.differences),
    )
    left_out = f"* stands without {', '.join(read.left_out)}" if read.left_out else ""
    return replace(job, left_out=left_out), planned.weights


def name_of_job(job: Job) -> str:
    """Returns a name that a job shares with whoever makes the same table by the same method."""
    return a.query_hash(("synthesis", job.domain.source, job.method.name, job.price))


def synthesize(
    job: Job, allowance: Allowance, weights: NDArray[np.float64] | None, report: Report
) -> Synthesis:
    """Runs a prepared job within an allowance; see `synth.synthesis.synthesize`."""
    return run_job(job, allowance, weights, report)


def shares(job: Job, table: pa.Table | None, name: str) -> NDArray[np.float64] | None:
    """Returns the weights of the strata in row-major order; None without a table of them."""
    if table is None:
        return None
    columns = [x.column.name for x in job.domain.strata]
    labels = list(itertools.product(*(x.key.values for x in job.domain.strata)))
    return align_weights(table, name, columns, labels)


def with_invariants(job: Job, table: pa.Table | None, name: str) -> Job:
    """Returns the job with public sizes of places in place of their table's name.

    Raises:
        Refused: There is no such public table, or it does not fit; nothing was read or charged.
    """
    if table is None:
        raise Refused(f'there is no public table "{name}"', hint="ALTER TABLE … SET PUBLIC")
    counts = align_counts(table, name, job.domain, job.options["hierarchy"])
    return replace(job, options={**job.options, "invariants": counts})


def explain_job(
    kernel: Kernel, job: Job, contract: TableContract, left: Price, delta: float
) -> pa.Table:
    """Returns the rows of EXPLAIN PRIVACY for a synthetic table: what each step costs."""
    rows = []
    for step in steps(job):
        predicted: dict[str, Any] = {}
        if step.measurement is not None:
            (e,) = predict_measurements(kernel, [step.measurement], contract)
            predicted = {
                "cells": e.cells,
                "sensitivity": e.sensitivity,
                "sigma": e.sigma,
                "sql": e.sql,
            }
            predicted["expected_error"] = half_width(step.price) * e.sigma
        if job.method.selects and step.mechanism == THRESHOLD and isinstance(step.price, Rho):
            sigma, least = predict_threshold(job.every_row, contract, step.price, job.yocto)
            label = f"{step.name} (at least {least})"
            rows.append(price_row(label, delta, step.price, mechanism=step.mechanism, sigma=sigma))
            continue
        mechanism = e.mechanism if step.measurement is not None else step.mechanism
        rows.append(price_row(step.name, delta, step.price, mechanism=mechanism, **predicted))
    rows += _expected_errors(kernel, job, contract)
    rows += total_rows(job.price, left, delta)
    return arrow.table(rows, SCHEMA)


def _expected_errors(kernel: Kernel, job: Job, contract: TableContract) -> list[dict[str, Any]]:
    """Returns the error that is expected of marginals of one and of two columns: of as many rows as
    are known, or else of each of TYPICAL_ROWS; of strata that a look at columns may find far apart,
    both if it does not and if it does."""
    if job.domain.undeclared:
        return []  # nothing is known of such columns before they are looked at
    counted_rows = known_rows(kernel, job, contract)
    rows = []
    for count in (counted_rows,) if counted_rows else TYPICAL_ROWS:
        of = f"{count:,.0f} rows" + (" (counted before)" if counted_rows else "")
        for expected, where in (
            (job.expected_error(count), ""),
            (job.expected_error_apart(count), FAR_APART),
        ):
            if expected is None:
                continue
            for name, error in (("1 column", expected.one_way), ("2 columns", expected.two_way)):
                label = f"expected share of rows in a wrong cell, of {name}, {of}{where}"
                rows.append({"measurement": label, "expected_error": error})
    return rows


def known_rows(kernel: Kernel, job: Job, contract: TableContract) -> float | None:
    """Returns the number of rows that an earlier statement has paid for; None if none has."""
    kind = type(job.price)
    for source in (job.domain.source, job.every_row, a.Scan(contract.table)):
        question = Measurement(a.Count(source), kind(0))
        if counts := sealed_releases(kernel, question, contract):
            return max(float(counts[0].values.sum()), 1.0)
    return None


def comment(
    create: cmd.CreateSynthetic, job: Job, budget: Budget, principal: str, quality: str = ""
) -> str:
    """Returns what a published table says of itself: method, price, strata, quality, when,
    whence."""
    strata = ", ".join(x.column.name for x in job.domain.strata) or "none"
    when = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    epsilon = epsilon_shown(job.price, budget.delta)
    return (
        f"Synthetic rows, {MARK}. Method: {job.method.name}. "
        f"epsilon = {epsilon:.6g}, delta = {budget.delta:g}. Strata: {strata}. "
        f"{quality and f'{quality}. '}Made {when} by {principal}. Statement: {create.text}"
    )
