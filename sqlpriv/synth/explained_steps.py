"""What a synthetic table will spend, step by step: for EXPLAIN PRIVACY, before anything is read."""

from __future__ import annotations

from dataclasses import dataclass

from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.synth.domain import binning
from sqlpriv.synth.job import Job
from sqlpriv.synth.long_lists import list_questions
from sqlpriv.synth.quality import measured_error


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


def steps(job: Job) -> tuple[Step, ...]:
    """Returns what the job will spend, in order; touches no row, and neither JAX nor mbi."""
    listed_steps = _look_steps(job)
    moved = set(job.binned) if job.options["binning"] != "width" else set()
    moved |= {*job.list_price[0]}
    for phase in job.phases():
        rounds = f" ({phase.rounds} rounds)" if phase.rounds > 1 else ""
        if not phase.marginals:
            listed_steps.append(Step(phase.name + rounds, phase.mechanism, phase.price, None))
        for marginal in phase.marginals:
            names = [job.domain.attributes[c].column.name for c in marginal.clique]
            name = f"{phase.name}: {', '.join(names)}" if names else "size of each stratum"
            query = job.domain.query(marginal.clique, marginal.within, marginal.pooled)
            measurement = None if moved & {*marginal.clique} else Measurement(query, marginal.price)
            listed_steps.append(Step(name, phase.mechanism, marginal.price, measurement))
    return (*listed_steps, *_error_steps(job))


def _error_steps(job: Job) -> list[Step]:
    """Returns what measuring the table's error costs."""
    price = job.error_price[0]
    if not price.nano:
        return []
    if job.method.selects:
        return [Step("error of the table", "noise", price, None)]
    measured = []
    for name, part in measured_error.step_prices(job.domain, job.every_row, price).items():
        is_count = name == measured_error.ALL_ROWS
        query = measured_error.rows_query(job.domain, job.every_row)
        count = Measurement(query, part) if is_count else None
        measured.append(Step(f"error of the table: {name}", "noise", part, count))
    return measured


def _look_steps(job: Job) -> list[Step]:
    """Returns what is spent on the binned columns: the first histogram and the grid's are known
    beforehand, the others depend on what was found."""
    taken: list[Step] = []
    of_lists = job.list_price[0]
    for column, question in zip(of_lists, list_questions(job.domain, of_lists), strict=True):
        name = f"values of the list: {job.domain.attributes[column].column.name}"
        taken.append(Step(name, "noise", question.price, question))
    for column, price in zip(job.binned, job.parts[0], strict=True):
        name = job.domain.attributes[column].column.name
        look = binning.begin_look(job.domain, column)
        prices = binning.round_prices(price, look)
        histogram, *grid = binning.questions(job.domain, look, prices, 0)
        later = type(price)(sum(p.nano for p in prices[1 : binning.ROUNDS]))
        rounds = f"inside the bins: {name}, finer ({binning.ROUNDS - 1} rounds)"
        taken.append(Step(f"inside the bins: {name}", "noise", histogram.price, histogram))
        taken.append(Step(rounds, "noise", later, None))
        taken += [Step(f"last digits: {name}", "noise", m.price, m) for m in grid]
    return taken
