"""What an answer says of groups: which are left out, and which may have no rows."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from support.templates import vault_of

from sqlpriv.session.session import Session

SETUP = """
CREATE TABLE people AS SELECT i AS id, 'town ' || (i % 3) AS town, i % 2 AS side
FROM range(3000) t(i);
ALTER TABLE people ADD PRIMARY KEY (id);
ALTER TABLE people SET PRIVACY (KEY (id), COLUMN side BETWEEN (0, 9) NOT NULL,
    BUDGET (epsilon = 100, delta = 1e-9, keys_delta = 1e-6));
"""
GROUPS = "SELECT {} FROM (SELECT side, COUNT(*) AS n FROM people GROUP BY side)"


OPEN = """
CREATE TABLE people AS SELECT i AS id, i % 2 AS side, i % 3 AS half FROM range(3000) t(i);
ALTER TABLE people SET PRIVACY (KEY (id), BOUND (rows_per_unit = 1), COLUMN side BETWEEN (0, 9),
    COLUMN half IN (0, 1, 2), BUDGET (epsilon = 100, delta = 1e-9));
"""


@pytest.fixture(scope="module")
def open_keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A session on people of whom NULLs are in no group."""
    with Session(vault_of(OPEN, tmp_path_factory.mktemp("open") / "people.duckdb")) as opened:
        opened.execute("SET privacy_epsilon = 1")
        yield opened


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(vault_of(SETUP, tmp_path_factory.mktemp("groups") / "people.duckdb")) as opened:
        opened.execute("SET privacy_epsilon = 8")
        yield opened


def test_an_answer_over_selected_keys_says_the_threshold(session: Session) -> None:
    ask = "SELECT town, COUNT(*) AS n FROM people GROUP BY town"
    foretold = session.execute(f"EXPLAIN PRIVACY {ask}")
    result = session.execute(ask)
    least = re.search(
        r"groups by town are shown where the noised number of their units is (\d+) or more "
        r"\(± [\d.]+\); smaller groups are left out",
        result.message,
    )
    assert least is not None
    assert least.group() in foretold.message
    assert foretold.table is not None
    assert f"keys of at least {least[1]} units" in foretold.table.column("measurement").to_pylist()


def test_an_answer_over_listed_keys_says_none(session: Session) -> None:
    result = session.execute("SELECT side, COUNT(*) AS n FROM people GROUP BY side")
    assert "left out" not in result.message


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        ("side", "side"),
        ("side // 2 AS half", "half"),
        ("side // 2", "(side // 2)"),
        ('side AS "of: it"', "of: it"),
        ("side AS id", "id"),
    ],
)
def test_keys_of_a_divided_query_are_called_as_their_columns(
    open_keys: Session, keys: str, name: str
) -> None:
    """It said `key0`, which nobody wrote."""
    ask = f"SELECT {keys}, COUNT(*) AS n, n / SUM(n) OVER () AS share FROM people GROUP BY 1"
    assert f"rows whose {name} is NULL or not declared are" in open_keys.execute(ask).message


@pytest.mark.parametrize("output", ["entropy(side)", "histogram(side)"])
def test_counts_of_values_name_what_is_counted(open_keys: Session, output: str) -> None:
    """It said `__key0 or __value`."""
    ask = f"SELECT half, {output} FROM people GROUP BY half"
    message = open_keys.execute(ask).message
    assert "rows whose half or side is NULL or not declared are in no group" in message
    assert "__" not in message


@pytest.mark.parametrize("output", ["AVG(n) AS a", "COUNT(*) AS c", "MEDIAN(n) AS m"])
def test_an_average_over_groups_says_which_may_have_no_rows(session: Session, output: str) -> None:
    """Two of ten groups have 1,500 rows; the count of each of eight others is within its half-width
    in 95 % or more of draws: all of them are outside with a probability below 0.05^8 = 4e-11."""
    message = session.execute(GROUPS.format(output)).message
    assert re.search(r"\d of 10 listed groups may have no rows", message)


def test_a_sum_over_groups_has_no_need_to(session: Session) -> None:
    assert "listed groups may" not in session.execute(GROUPS.format("SUM(n) AS s")).message
