"""What an answer says of its intervals: the histogram they rest on, and where nothing is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from support.exact_people import planned

from sqlpriv.answer import means
from sqlpriv.answer.interval_notes import (
    few_stated_notes,
    interval_notes,
    is_stated_by_rows,
    without_unknown,
)
from sqlpriv.answer.moments import Moments
from sqlpriv.kernel.proof import noise
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


@pytest.mark.parametrize("hidden", [0, 300])
def test_rows_that_noise_may_hide_are_told_of_where_counts_speak_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: int
) -> None:
    """20,000 values of 0 to 999 in [0, 1e6], at most 300 of which lie between 1,500 and 100,000, 12
    in a bin: the deviation of its noise is 55. What is drawn is 0 here; with other noise four of
    ten answers have a note where no rows are hidden."""
    monkeypatch.setattr(noise.Noise, "draw", lambda _, number: [0] * number)
    far = f"UPDATE people SET pay = 1500 * (100000 / 1500.0) ** (id / {hidden}) WHERE id < {hidden}"
    with Session(tmp_path / "people.duckdb", role="owner") as owner:
        owner.execute(ROWS.format(rows=20_000))
        if hidden:
            owner.execute(far)
        options = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1)"
        message = owner.execute(f"{options} AVG(pay) AS p FROM people").message
    assert ("± does not hold" in message) == bool(hidden)


def test_groups_of_which_nothing_is_known_are_counted() -> None:
    """Of two strata one has 100 rows and one less than none: it has no interval."""
    output = planned("SELECT sex, AVG(income) AS a FROM people STRATIFY BY sex").output
    zero = np.zeros(2)
    for second, said in ((-1.0, True), (100.0, False)):
        n = np.array([100.0, second])
        moments = {output.recipes[0]: Moments(n, zero, zero, 1.0, 100.0, 0.0, 2.0)}
        notes = "; ".join(interval_notes(output, moments))
        assert ("nothing is known of a in 1 group" in notes) == said


@pytest.mark.parametrize(
    ("figure", "stated", "said"),
    [
        ("AVG(income) / AVG(age)", 0, False),
        ("AVG(income) / AVG(age)", 1, True),
        ("AVG(income) / AVG(age)", 2, False),
        ("AVG(income) / AVG(age)", 4, False),
        ("REGR_SLOPE(income, age)", 1, True),
        ("AVG(income USING quantile)", 1, True),
        ("VARIANCE(income)", 1, False),
        ("CORR(income, age)", 1, False),
    ],
)
def test_the_few_groups_that_have_a_half_width_are_told_of(
    figure: str, stated: int, said: bool
) -> None:
    """Of four groups of which one has a ± the 5 % that may fail are all of its own, unless rows
    alone decide which has one: those are the twins."""
    output = planned(f"SELECT race, {figure} AS v FROM people GROUP BY race").output
    half_widths = [9.0] * stated + [None] * (4 - stated)
    rows = pa.table([[1, 2, 3, 4], [5.0] * 4, pa.array(half_widths, pa.float64())], ["r", "v", "h"])
    notes = few_stated_notes(output, rows, [1])
    assert [note.startswith("± of v holds for 95 % of all groups") for note in notes] == [
        True
    ] * said


@pytest.mark.parametrize(
    ("figure", "weights", "by_rows"),
    [
        ("AVG(income USING gaussian)", "", True),
        ("VARIANCE(income)", "", True),
        ("COUNT(*)", " WEIGHTS FROM shares", True),
        ("AVG(income USING gaussian)", " WEIGHTS FROM shares", False),
        ("VARIANCE(income)", " WEIGHTS FROM shares", False),
        ("VARIANCE(income USING pooled)", "", False),
        ("STDDEV(income USING pooled)", "", False),
    ],
)
def test_weighted_and_pooled_figures_are_stated_by_their_length(
    figure: str, weights: str, by_rows: bool
) -> None:
    output = planned(f"SELECT {figure} AS v FROM people STRATIFY BY race{weights}").output
    assert is_stated_by_rows(output, output.names.index("v")) == by_rows


@pytest.mark.parametrize(("upper", "known"), [(5.0, [True, True]), (6.0, [False, True])])
@pytest.mark.parametrize(("figure", "value"), [("AVG", 5.0), ("VAR_POP", 0.0)])
def test_of_a_domain_of_one_value_all_is_known(
    figure: str, value: float, upper: float, known: list[bool]
) -> None:
    """Of a group whose rows noise may have made, too; the twin's domain has two values."""
    using = " USING gaussian" if figure == "AVG" else ""
    (recipe,) = planned(f"SELECT {figure}(income{using}) AS v FROM people").output.recipes
    recipe, n = replace(recipe, lower=5.0, upper=upper), np.array([2.0, 80.0])
    half = (upper - 5) / 2
    moments = Moments(n, -n * half, n * half**2 / 2, 9.0, 9 * half**2, 9 * half**4 / 4, 2.0)
    estimate = without_unknown(recipe, means.cells(recipe, moments))
    assert np.isfinite(estimate.values).ravel().tolist() == known
    assert float(estimate.values[1]) == pytest.approx(value, abs=1e-9)


def test_figures_wider_than_their_domain_are_null(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20,000 rows of sex 0 and 1, and nobody of 2. At epsilon 1 the noise of a count is about 5 and
    of a sum about 4 times 500,000. What is drawn is 0 here: in one run of ten a drawn count is far
    enough from 0 for an interval that is shorter than the domain. The twin is a group of 10,000,
    whose interval is a thousandth of that."""
    monkeypatch.setattr(noise.Noise, "draw", lambda _, number: [0] * number)
    with Session(tmp_path / "people.duckdb", role="owner") as owner:
        owner.execute(ROWS.format(rows=20_000))
        answer = owner.execute(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) sex,"
            " AVG(pay USING laplace) AS p, VARIANCE(pay) AS v, STDDEV(pay) AS s"
            " FROM people GROUP BY sex ORDER BY sex"
        )
    assert answer.table is not None
    of_sex = answer.table.to_pydict()
    assert of_sex["p"][2] is None
    assert of_sex["v"][2] is None
    assert of_sex["s"][2] is None
    assert abs(of_sex["p"][0] - 499) < 5_000
    assert "nothing is known of p in 1 group, which is NULL" in answer.message
    assert "nothing is known of v in 1 group and s in 1 group, which is NULL" in answer.message


def test_a_variance_that_noise_hides_says_so() -> None:
    """100 rows of one value in [0, 100], the noised sums as they are drawn; the twin's is shown."""
    output = planned("SELECT VARIANCE(age) AS v FROM people").output
    (recipe,) = output.recipes
    for square, said in ((-1.0, True), (0.2, False)):
        bound = recipe.width**2 / 8
        q = np.array([(square * 100 - bound) * 1000.0])
        moments = {recipe: Moments(np.array([1000.0]), np.zeros(1), q, 1.0, 1.0, 1e6, 2.0)}
        notes = "; ".join(interval_notes(output, moments))
        assert ("noise hides v in 1 group, where 0 stands" in notes) == said


@pytest.mark.parametrize(("few", "said"), [(3, True), (2, False)])
def test_groups_whose_counts_are_noise_are_counted(few: int, said: bool) -> None:
    """Of five counts, each ± 2 by its noise of variance 1, three are below it, or two."""
    output = planned("SELECT race, COUNT(*) AS n FROM people GROUP BY race LIMIT 1").output
    (recipe,) = output.recipes
    counts, zero = np.array([1.0] * few + [50.0] * (5 - few)), np.zeros(5)
    moments = {recipe: Moments(counts[None], zero[None], zero[None], 1.0, 0.0, 0.0, 2.0)}
    notes = "; ".join(interval_notes(output, moments))
    assert ("n is within its ± of 0 in 3 of 5 groups" in notes) == said


@pytest.mark.parametrize(
    ("values", "epsilon", "said"),
    [
        ("sex", 0.05, True),  # three values and ± 79
        ("sex % 2", 0.05, True),
        ("sex", 12, False),
        ("id % 900", 0.05, False),  # 900 values
    ],
)
def test_a_count_of_values_that_is_noise_alone_says_so(
    tmp_path: Path, values: str, epsilon: float, said: bool
) -> None:
    """-6 ± 492 stood for how many of 101 declared values occur, without a word."""
    with Session(tmp_path / "people.duckdb", role="owner") as owner:
        owner.execute(ROWS.format(rows=2_000))
        answer = owner.execute(
            f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {epsilon})"
            f" COUNT(DISTINCT {values}) AS k FROM people"
        )
        strata = owner.execute(
            f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {epsilon / 2})"
            f" sex, COUNT(DISTINCT {values}) AS k FROM people STRATIFY BY sex"
        )
    for result in (answer, strata):
        assert ("nothing is known of k (at most " in result.message) == said, result.message
        assert not (said and "which may have no rows" in result.message)
