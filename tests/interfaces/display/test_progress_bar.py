"""The progress bar: which stage, how far, and how long the rest of it will take."""

import io

import pytest
from rich.console import Console

from sqlpriv.interfaces.display.progress_bar import Pace, reporting
from sqlpriv.session.session import Progress


@pytest.mark.parametrize(
    ("reports", "told"),
    [
        ([(0.0, "fit", 0, 10)], ""),  # nothing to go by
        ([(0.0, "fit", 0, 10), (2.0, "fit", 2, 10)], "about 8 s left of this stage"),
        ([(0.0, "fit", 0, 10), (600.0, "fit", 5, 10)], "about 10 min left of this stage"),
        ([(0.0, "fit", 0, 2), (1.0, "fit", 2, 2)], ""),  # done
        (
            [(0.0, "fit", 0, 2), (9.0, "draw", 0, 4), (10.0, "draw", 1, 4)],
            "about 3 s left of this stage",
        ),
    ],
)
def test_the_rest_of_a_stage_is_told_by_its_own_pace(reports, told):
    now = [0.0]
    pace = Pace(clock=lambda: now[0])
    for now[0], stage, done, of in reports:
        found = pace.estimate_rest(Progress(stage, done, of))
    assert found == told


def test_the_bar_shows_stage_and_steps_and_is_gone_afterwards():
    out = io.StringIO()
    with reporting(Console(file=out, force_terminal=True, width=100)) as report:
        report(Progress("fitting strata", 3, 7))
    assert "fitting strata" in out.getvalue()
    assert "3/7" in out.getvalue()
    assert out.getvalue().endswith("\x1b[2K")  # the line is erased


def test_a_pipe_gets_no_bar():
    out = io.StringIO()
    with reporting(Console(file=out)) as report:
        report(Progress("fitting strata", 3, 7))
    assert out.getvalue() == ""
