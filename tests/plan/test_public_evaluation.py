"""Functions evaluated over public lists: what they are allowed, and what they never are."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from support.exact_people import engine, planned, rows

from sqlpriv.errors import Refused
from sqlpriv.plan.expressions.public_evaluation import MOST_ROWS

ASK = "SELECT WITH DIFFERENTIAL_PRIVACY {} FROM people"


def test_an_unlisted_value_is_in_no_group() -> None:
    """A label that nobody declared has NULL, not the function's value: no list tells it."""
    people = engine()
    people.execute("UPDATE people SET sex = 'X' WHERE id <= 30")
    answer = rows(people, ASK.format("lower(sex) AS s, COUNT(*) AS n") + " GROUP BY s").table
    counted = dict(zip(*(column.to_pylist() for column in answer.columns), strict=True))
    assert set(counted) == {"f", "m"}
    assert sum(counted.values()) == 570


def test_null_is_evaluated_where_the_domain_has_it() -> None:
    people = engine()
    answer = rows(
        people,
        ASK.format("coalesce(lower(region), 'none') AS r, COUNT(*) AS n")
        + " GROUP BY r ORDER BY r",
    ).table
    plain = people.execute(
        "SELECT coalesce(lower(region), 'none') AS r, COUNT(*) FROM people GROUP BY r ORDER BY r"
    ).fetchall()
    assert [tuple(row.values()) for row in answer.to_pylist()] == plain


def test_values_beyond_an_interval_are_clamped_to_it_first() -> None:
    people = engine()
    people.execute("UPDATE people SET age = 500 WHERE id = 1")
    answer = rows(people, ASK.format("COUNT(*) AS n") + " WHERE age::VARCHAR = '99'").table
    assert (
        answer.column("n")[0].as_py()
        == 1 + people.execute("SELECT COUNT(*) FROM people WHERE age = 99").fetchall()[0][0]
    )


@pytest.mark.parametrize(
    "text",
    [
        "random() < age",  # not the same for the same
        "hash(sex) = 7",  # tells how a value is stored
        "reverse(note) = 'N1'",  # no list
        "count(sex) = 'a'",
        "lower(sex || note) = 'a'",
        "repeat(sex, 100000) = 'a'",  # a text that is too long
        "repeat(repeat(sex, 900), 900) = 'a'",
        "lpad(sex, age * 100000000, 'a') = 'a'",
    ],
)
def test_what_cannot_be_evaluated_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        planned(ASK.format("COUNT(*)") + f" WHERE {text}")


def test_lists_of_too_many_combinations_are_refused() -> None:
    assert MOST_ROWS < 100 * 80
    with pytest.raises(Refused, match="concat"):
        planned(ASK.format("COUNT(*)") + " WHERE concat(age, hours) = '11'")


@pytest.mark.parametrize("text", ["upper(strftime(born, '%Y')) || 'x'", "reverse(monthname(born))"])
def test_functions_of_texts_of_many_days_are_planned_or_refused_at_once(text: str) -> None:
    """A CASE of a hundred years asked in each WHEN for the shape of 36,500 days: minutes. On the
    processor alone, of which it takes a fifth of a second."""
    begun = time.process_time()
    with suppress(Refused):
        planned(ASK.format(f"{text} AS k, COUNT(*)") + " GROUP BY k")
    assert time.process_time() - begun < 5


def test_a_moment_of_long_texts_is_refused_before_it_is_computed() -> None:
    """The text has 1.1 GB, of which a comparison's narrowing computed ten letters in 3.5 s."""
    begun = time.process_time()
    long = "CAST(substring(repeat('2024-01-05 ', 100000000), 1, 10) AS DATE)"
    with pytest.raises(Refused):
        planned(ASK.format("COUNT(*)") + f" WHERE born < {long}")
    assert time.process_time() - begun < 1


def test_parts_with_lists_are_evaluated_over_them() -> None:
    people = engine()
    text = "month(born) || '/' || lower(sex)"
    answer = rows(people, ASK.format(f"{text} AS k, COUNT(*) AS n") + " GROUP BY k").table
    plain = f"SELECT {text} AS k, COUNT(*) FROM people GROUP BY k ORDER BY k"
    groups = sorted(tuple(row.values()) for row in answer.to_pylist())
    assert groups == people.execute(plain).fetchall()
