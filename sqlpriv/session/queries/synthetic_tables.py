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
from sqlpriv.dialect import commands as cmd
from sqlpriv.errors import Refused
from sqlpriv.kernel.gate import Allowance
from sqlpriv.kernel.terms.budget import Budget, Price
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.kernel.vault import Kernel
from sqlpriv.plan.explain import SCHEMA, price_row, total_rows
from sqlpriv.plan.pricing.display import epsilon_shown
from sqlpriv.plan.pricing.predictions import predict_measurements
from sqlpriv.plan.pricing.statement import half_width
from sqlpriv.plan.synthetic import plan_synthetic
from sqlpriv.publish.release_file import MARK
from sqlpriv.synth.api.progress import Report
from sqlpriv.synth.domain.public_counts import align_counts
from sqlpriv.synth.synthesis import Job, Synthesis, prepare, steps
from sqlpriv.synth.synthesis import synthesize as run_job
from sqlpriv.system import arrow


def prepare_job(
    create: cmd.CreateSynthetic,
    contract: TableContract,
    budget: Budget,
    settings: Mapping[str, float],
) -> tuple[Job, str]:
    """Returns the checked job and the public table of its weights ('' without one).

    Raises:
        Refused: The statement does not fit; nothing was read or charged.
    """
    planned = plan_synthetic(create, contract, budget, settings.get("privacy_epsilon"))
    columns = tuple(c.name for c in planned.columns)
    strata = tuple(c.name for c in planned.strata)
    options = dict(planned.options)
    job = prepare(contract, columns, strata, planned.where, planned.method, options, planned.price)
    return job, planned.weights


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
        mechanism = e.mechanism if step.measurement is not None else step.mechanism
        rows.append(price_row(step.name, delta, step.price, mechanism=mechanism, **predicted))
    rows += total_rows(job.price, left, delta)
    return arrow.table(rows, SCHEMA)


def comment(create: cmd.CreateSynthetic, job: Job, budget: Budget, principal: str) -> str:
    """Returns what a published table says of itself: method, price, strata, when, whence."""
    strata = ", ".join(x.column.name for x in job.domain.strata) or "none"
    when = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    epsilon = epsilon_shown(job.price, budget.delta)
    return (
        f"Synthetic rows, {MARK}. Method: {job.method.name}. "
        f"epsilon = {epsilon:.6g}, delta = {budget.delta:g}. Strata: {strata}. "
        f"Made {when} by {principal}. Statement: {create.text}"
    )
