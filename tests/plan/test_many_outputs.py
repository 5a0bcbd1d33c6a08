"""A statement of a thousand outputs is planned in less than a second."""

from __future__ import annotations

import time

from support.exact_people import planned


def _seconds(outputs: int) -> float:
    """Returns the processor's seconds for reading and planning so many different sums."""
    sums = ", ".join(f"SUM(income + {i}) AS a{i}" for i in range(outputs))
    began = time.process_time()
    plan = planned(f"SELECT {sums} FROM people")
    assert len(plan.measurements) == outputs + 1
    return time.process_time() - began


def test_a_thousand_outputs_are_planned_in_a_second() -> None:
    """0.33 s as measured; 9.9 s when each output was looked for among all others."""
    _seconds(10)
    assert min(_seconds(1000) for _ in range(3)) < 1
