"""What noised histograms say of single columns, before a model of all columns is fitted.

Bins are merged where a histogram shows hardly anybody, and rare values of a long list are grouped.
"""

from __future__ import annotations

from dataclasses import replace

from sqlpriv.kernel.terms.release import Release
from sqlpriv.synth.api.ask import Gate
from sqlpriv.synth.domain import binning
from sqlpriv.synth.job import Job
from sqlpriv.synth.long_lists import group_lists, list_questions


def refine_columns(job: Job, gate: Gate) -> tuple[Job, list[Release]]:
    """Measures binned columns and long lists of values, each by itself, and groups their levels.

    Returns:
        The job with the domain that the model is of, and the releases that it was told.
    """
    declared, list_prices = job.domain, job.list_price[0]
    looks, releases = _look_at_columns(job, gate)
    refined = binning.refine_domain(declared, looks, job.options["binning"])
    listed = gate.release(list_questions(declared, list_prices)) if list_prices else ()
    job = replace(job, domain=group_lists(refined, tuple(list_prices), listed))
    return job, [*releases, *listed]


def _look_at_columns(job: Job, gate: Gate) -> tuple[dict[int, binning.ColumnLook], list[Release]]:
    """Returns what noised histograms say of the binned columns, by number, and the releases. Every
    round is one batch for all columns."""
    looks = {c: binning.begin_look(job.domain, c) for c in job.binned}
    prices = {
        c: binning.round_prices(price, looks[c])
        for c, price in zip(job.binned, job.parts[0], strict=True)
    }
    releases: list[Release] = []
    for done in range(binning.ROUNDS if looks else 0):
        questions = {c: binning.questions(job.domain, looks[c], prices[c], done) for c in looks}
        answers = gate.release([m for measurements in questions.values() for m in measurements])
        releases += answers
        begin = 0
        for c, measurements in questions.items():
            looks[c] = binning.learn(looks[c], answers[begin : begin + len(measurements)])
            begin += len(measurements)
    return looks, releases
