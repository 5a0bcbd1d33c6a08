"""What an answer says of its intervals: the histogram they rest on, and where nothing is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.exact_people import planned

from sqlpriv.answer.interval_notes import interval_notes
from sqlpriv.answer.means import Moments
from sqlpriv.session.session import Session

ROWS = """
CREATE TABLE people AS SELECT range AS id, (range % 2)::TINYINT AS sex,
    (range % 1000)::DOUBLE AS pay FROM range({rows});
ALTER TABLE people ADD PRIMARY KEY (id);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN (0, 1, 2) NOT NULL;
ALTER TABLE people ALTER COLUMN pay SET PRIVACY DOMAIN BETWEEN (0, 1000000) NOT NULL;
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 30);
"""


def _message(folder: Path, rows: int, select: str) -> str:
    with Session(folder / "people.duckdb", role="owner") as owner:
        owner.execute(ROWS.format(rows=rows))
    with Session(folder / "people.duckdb") as analyst:
        options = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1)"
        return analyst.execute(f"{options} {select}").message


@pytest.mark.parametrize(("using", "said"), [("", True), (" USING laplace", False)])
def test_a_clipped_mean_says_what_its_interval_rests_on(
    tmp_path: Path, using: str, said: bool
) -> None:
    """20,000 values below 1,000 in [0, 1e6] are clipped; the twin is a plain sum."""
    message = _message(tmp_path, 20_000, f"AVG(pay{using}) AS p FROM people")
    assert ("the interval of p does not hold if up to" in message) == said


def test_groups_of_which_nothing_is_known_are_counted() -> None:
    """Of two strata one has 100 rows and one less than none: it has no interval."""
    output = planned("SELECT sex, AVG(income) AS a FROM people STRATIFY BY sex").output
    zero = np.zeros(2)
    for second, said in ((-1.0, True), (100.0, False)):
        n = np.array([100.0, second])
        moments = {output.recipes[0]: Moments(n, zero, zero, 1.0, 100.0, 0.0, 2.0)}
        notes = "; ".join(interval_notes(output, moments))
        assert ("nothing is known of a in 1 group" in notes) == said
