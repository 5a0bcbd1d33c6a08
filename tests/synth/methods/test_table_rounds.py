"""Rounds that choose tables, with a gate that only counts what it is asked."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.synth.api.ask import Ask
from sqlpriv.synth.api.grid_queries import LevelGroups
from sqlpriv.synth.methods.mixed.candidate_tables import CandidateTable
from sqlpriv.synth.methods.mixed.edited_rows import GroupAxis
from sqlpriv.synth.methods.mixed.table_rounds import play_tables


class _Gate:
    """Picks the first table that each stratum may still have."""

    def __init__(self):
        self.spent, self.questions = 0, []

    def select(self, _, price, allowed):
        self.spent += price.nano
        assert allowed.any(axis=1).all()
        return tuple(int(row.argmax()) for row in allowed)

    def measure(self, questions):
        self.spent += sum(question.price.nano for question in questions)
        self.questions += [(question.axes, question.within) for question in questions]
        return tuple(SimpleNamespace(values=np.zeros((2, 2)), sigma=1.0) for _ in questions)


def _table(column):
    axis = LevelGroups(column, (0, 1))
    return CandidateTable((axis,), (GroupAxis(column, np.arange(2)),))


def test_fewer_tables_than_may_be_measured_share_the_whole_price():
    """Each of 20 steps measured one, and the steps of a round the same one again and again."""
    gate, strata = _Gate(), [SimpleNamespace(counts=lambda _: np.zeros(2), learn=lambda *_: None)]
    play_tables(
        Ask(gate.measure, gate.select),
        strata * 2,
        [_table(c) for c in range(6)],
        Rho(1_000_000),
        20,
        (1.0, Rho(1_000)),
    )
    assert len(gate.questions) == len(set(gate.questions)) == 6
    assert gate.spent == 1_000_000
