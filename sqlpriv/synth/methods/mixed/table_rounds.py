"""Rounds of choosing the tables that rows answer worst, measuring them and fitting the rows anew.

Price: a step is one exponential mechanism and one measurement in every stratum, and strata are
disjoint, so it costs its price whichever strata chose what (`kernel.sensitivity.joint_price`). The
steps' prices add up. That later questions depend on earlier answers is what adaptive composition
allows; K choices before a measurement, of different tables each, are the top K at K times the
price of one (peeling).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.api.ask import Ask, Guess
from sqlpriv.synth.api.grid_queries import AxesTable
from sqlpriv.synth.api.method import Option
from sqlpriv.synth.api.progress import Progress
from sqlpriv.synth.inference.one_way_tables import Floats, scale_sigma
from sqlpriv.synth.methods.mixed.candidate_tables import CandidateTable
from sqlpriv.synth.methods.mixed.edited_rows import FittedTable

OPTIONS = (
    Option("target", None, "columns, in quotes, that all others are to tell of", text=True),
    Option(
        "tables", 20, "tables and slices that each stratum measures at most", least=1, most=1_000
    ),
)
"""The options of methods that are fitted in such rounds."""
AT_ONCE = 4
"""Tables that a round chooses before the rows are fitted."""
SELECTING = 10
"""One part in this many of a step's price is for choosing."""


class FittedRows(Protocol):
    """The rows of one stratum on their way."""

    def counts(self, table: CandidateTable) -> Floats:
        """Returns how many people they stand for in each cell, of the table's shape."""

    def learn(self, tables: Sequence[FittedTable], last: bool) -> None:
        """Fits them to these tables, too."""


def play_tables(
    ask: Ask,
    strata: Sequence[FittedRows],
    candidates: Sequence[CandidateTable],
    price: Price,
    most: int,
    noise: tuple[float, Price],
) -> None:
    """Spends a price on tables that the rows answer worst, each of them once.

    One that a round measured twice would be paid twice, and be replayed twice when the statement is
    run again: other answers, which lead to other questions, and these are paid anew.

    Args:
        ask: The gate.
        strata: One for each stratum.
        candidates: At least one.
        price: Of all tables, their choice included; each costs the same.
        most: So many tables are measured, or all where there are fewer.
        noise: A standard deviation of noise and the price that bought it, of an earlier release.
    """
    steps = split_price(price, [1.0] * min(most, len(candidates)))
    allowed = np.ones((len(strata), len(candidates)), dtype=np.bool_)
    magnitude = math.sqrt(2 / math.pi) if isinstance(noise[1], Rho) else math.sqrt(0.5)
    for begin in range(0, len(steps), AT_ONCE):
        ask.report(Progress("choosing tables and fitting rows", begin, len(steps)))
        answers = [np.stack([rows.counts(c) for rows in strata]) for c in candidates]
        questions: list[tuple[AxesTable, int, tuple[int, ...]]] = []
        for step in steps[begin : begin + AT_ONCE]:
            choosing = type(step)(max(1, step.nano // SELECTING))
            paid = type(step)(step.nano - choosing.nano)
            each = magnitude * scale_sigma(noise, paid)
            guesses = [
                Guess((), answer, 1.0, np.full(len(strata), c.cells * each), axes=c.axes)
                for c, answer in zip(candidates, answers, strict=True)
            ]
            picks = ask.select(guesses, choosing, allowed)
            allowed[np.arange(len(strata)), picks] = False
            for pick in sorted(set(picks)):
                who = tuple(s for s, p in enumerate(picks) if p == pick)
                within = None if len(who) == len(strata) else who
                questions.append((AxesTable(candidates[pick].axes, paid, within), pick, who))
        releases = ask.measure([table for table, _, _ in questions])
        learned: list[list[FittedTable]] = [[] for _ in strata]
        for (_, pick, who), release in zip(questions, releases, strict=True):
            for at, s in enumerate(who):
                values = release.values[at]
                learned[s].append(FittedTable(candidates[pick].fitted, values, release.sigma))
        for rows, tables in zip(strata, learned, strict=True):
            rows.learn(tables, begin + AT_ONCE >= len(steps))
    ask.report(Progress("choosing tables and fitting rows", len(steps), len(steps)))
