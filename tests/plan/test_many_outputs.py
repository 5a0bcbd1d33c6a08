"""The work of planning a statement grows no faster than its number of outputs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable

from support.exact_people import planned

from sqlpriv.plan.plan import Plan

FEW, MANY, LIMIT = 150, 600, 4.1
"""Numbers of outputs, and how many times the calls of the fewer the more may take: 4.02 as
measured, and the same in every run."""


def _calls(outputs: int, also: Callable[[Plan], None]) -> int:
    """Returns how many functions are called to read and to plan so many different sums.

    Calls are counted, and not seconds, of which another load on the machine would make more.

    Args:
        outputs: The number of sums.
        also: What else is done with the plan.
    """
    sums = ", ".join(f"SUM(income + {i}) AS a{i}" for i in range(outputs))
    events: Counter[str] = Counter()

    def count(_frame: object, event: str, _arg: object) -> None:
        events[event] += 1

    sys.setprofile(count)
    try:
        plan = planned(f"SELECT {sums} FROM people")
        also(plan)
    finally:
        sys.setprofile(None)
    assert len(plan.measurements) == outputs + 1
    return events["call"] + events["c_call"]


def _search(plan: Plan) -> None:
    """Looks for each measurement among those before it."""
    for number, measurement in enumerate(plan.measurements):
        any(measurement == other for other in plan.measurements[:number])


def _nothing(plan: Plan) -> None:
    """Does nothing more with a plan."""


def test_work_grows_as_the_outputs_do() -> None:
    _calls(10, _nothing)  # what is loaded and kept with the first statement
    assert _calls(MANY, _nothing) < LIMIT * _calls(FEW, _nothing)


def test_a_search_among_all_outputs_is_noticed() -> None:
    """The twin: planning took 9.9 s for 1,000 outputs when each was looked for among the others."""
    _calls(10, _nothing)
    assert _calls(MANY, _search) > LIMIT * _calls(FEW, _search)
