"""Half-widths of plain SQL over noised answers, beside what calculus says of the expressions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from support.templates import vault_of

from sqlpriv.session.session import Result, Session

SETUP = """
CREATE TABLE people AS SELECT range AS id, (range % 2 + 1)::TINYINT AS sex,
    (range % 7 % 3 + 1)::TINYINT AS race, (range % 80)::TINYINT AS age FROM range(60000);
ALTER TABLE people ADD PRIMARY KEY (id);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN (1, 2);
ALTER TABLE people ALTER COLUMN race SET PRIVACY DOMAIN IN (1, 2, 3);
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN (0, 99);
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1000);
"""
PRICED = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5)"
BY_RACE = f"{PRICED} race, COUNT(*) AS n, AVG(age) AS m FROM people GROUP BY race"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    path = vault_of(SETUP, tmp_path_factory.mktemp("tails") / "people.duckdb")
    with Session(path) as opened:
        yield opened


def columns_of(result: Result) -> dict[str, np.ndarray]:
    assert result.table is not None
    return {
        name: np.array(result.table.column(name).to_pylist()) for name in result.table.schema.names
    }


@pytest.mark.parametrize(
    "around",
    [
        "SELECT * FROM ({}) LIMIT 100",
        "SELECT race, n, m FROM ({}) WHERE n > 10 ORDER BY n DESC",
        "WITH w AS ({}) SELECT race, m, n FROM w ORDER BY race DESC",
        "SELECT * FROM ({}) UNION ALL SELECT 9, 0, 0.0",
    ],
)
def test_numbers_that_are_passed_on_keep_their_own(session: Session, around: str) -> None:
    """In the rows where they end up, and those that are not noised have none."""
    plain, wrapped = session.execute(BY_RACE), session.execute(around.format(BY_RACE))
    races = columns_of(plain)["race"].tolist()
    for name in ("n", "m"):
        told = dict(zip(races, plain.half_widths[name], strict=True))
        for race, width in zip(columns_of(wrapped)["race"], wrapped.half_widths[name], strict=True):
            assert width == (pytest.approx(told[race], rel=1e-6) if race in told else None)
    assert set(wrapped.half_widths) == {"n", "m"}


def test_strata_and_everybody_keep_their_own(session: Session) -> None:
    inner = f"{PRICED} race, COUNT(*) AS n FROM people STRATIFY BY race"
    plain = session.execute(inner)
    wrapped = session.execute(f"SELECT n * 100 AS h, n / 2 AS half, n FROM ({inner})")
    for name, times in (("h", 100), ("half", 0.5), ("n", 1)):
        for width, own in zip(wrapped.half_widths[name], plain.half_widths["n"], strict=True):
            assert own is not None
            assert width == pytest.approx(times * own, rel=1e-6)


def test_differences_ratios_and_shares_have_what_calculus_says(session: Session) -> None:
    """Counts of three groups, each ± h: |∂f/∂n| by hand. The noise is a thousandth of them."""
    one = f"{PRICED} race, COUNT(*) AS n FROM people GROUP BY race"
    plain = session.execute(one)
    n, h = columns_of(plain)["n"].astype(float), np.array(plain.half_widths["n"], float)
    pair = session.execute(
        f"WITH w AS ({one}) SELECT a.n - b.n AS d, a.n / b.n AS r FROM w a, w b"
        " WHERE a.race = 1 AND b.race = 2"
    )
    assert pair.half_widths["d"] == [pytest.approx(np.hypot(h[0], h[1]), rel=1e-6)]
    ratio = np.hypot(h[0] / n[1], n[0] * h[1] / n[1] ** 2)
    assert pair.half_widths["r"] == [pytest.approx(ratio, rel=0.02)]
    shares = session.execute(f"SELECT race, n / SUM(n) OVER () AS share FROM ({one})")
    total = n.sum()
    for at, width in enumerate(shares.half_widths["share"]):
        moves = np.where(np.arange(3) == at, total - n[at], -n[at]) * h / total**2
        assert width == pytest.approx(np.sqrt((moves**2).sum()), rel=0.02)


def test_nothing_is_said_where_noise_may_be_shared_or_is_unknown(session: Session) -> None:
    product = session.execute(f"SELECT n * m AS total, n FROM ({BY_RACE})")
    assert set(product.half_widths) == {"n"}, "a mean and its count share the count's noise"
    strata = session.execute(
        f"WITH w AS ({PRICED} race, COUNT(*) AS n FROM people STRATIFY BY race)"
        " SELECT a.n / b.n AS share FROM w a, w b WHERE a.race = 1 AND b.race IS NULL"
    )
    assert strata.half_widths == {}, "everybody is the sum of the strata"
    median = session.execute(
        f"SELECT q + n AS sum, n FROM ({PRICED} race, MEDIAN(age) AS q, COUNT(*) AS n FROM people"
        " GROUP BY race)"
    )
    assert set(median.half_widths) == {"n"}, "a median's own is not known"
    twice = session.execute(
        f"SELECT a.n - b.n AS d FROM ({PRICED} COUNT(*) AS n FROM people) a,"
        f" ({PRICED} COUNT(*) AS n FROM people) b"
    )
    assert twice.half_widths == {}, "the same question has the same noise"


def test_many_numbers_are_estimated_and_stretched(session: Session) -> None:
    """A sum of 100 counts of equal half-widths h is ± 10 h. Of 16 runs the root of the mean
    square is within [.5, 1.6] of it but for one in 10^5; the patterns are the same every time."""
    one = f"{PRICED} age, COUNT(*) AS n FROM people GROUP BY age"
    (h, *_) = session.execute(one).half_widths["n"]
    assert h is not None
    total = session.execute(f"SELECT SUM(n) AS total FROM ({one})").half_widths["total"]
    assert total[0] is not None
    assert 5 * h < total[0] < 16 * 1.08 * h


def test_what_an_answer_says_of_itself_is_not_lost(session: Session) -> None:
    inner = f"{PRICED} race, COUNT(*) AS n FROM people WHERE age BETWEEN 5 AND 9 GROUP BY race"
    notes = session.execute(inner).message
    assert notes
    assert session.execute(f"SELECT * FROM ({inner}) LIMIT 2").message == notes


@pytest.mark.parametrize(
    "tail",
    [
        "SELECT race, [n, n] AS both, {{'n': n}} AS named FROM ({})",
        "SELECT LIST(n) AS all_n, SUM(n) AS total FROM ({})",
        "PIVOT (SELECT n > 20000 AS large, n FROM ({})) ON large USING COUNT(*)",
        "SELECT race, 1 / (n - n) AS nothing, (n / 1000)::TINYINT AS small FROM ({})",
    ],
)
def test_any_plain_sql_is_answered(session: Session, tail: str) -> None:
    """Lists and structs, columns that depend on noise, and values without a number."""
    one = f"{PRICED} race, COUNT(*) AS n FROM people GROUP BY race"
    table = session.execute(tail.format(one)).table
    assert table is not None
    assert table.num_rows


@pytest.mark.parametrize("name", ["age", "years"])
def test_a_key_of_the_first_rows_is_no_number_that_is_off(session: Session, name: str) -> None:
    """The three ages of most people are others in each draw of the noise, as all of eight ages
    have 750. Their counts have their own ±, and the ages have none. A row has no ± where none of
    six runs has it: nearly one of three is in each, so that all three are in none with a
    probability below 1e-6."""
    inner = f"{PRICED} age, COUNT(*) AS n FROM people WHERE age < 8 GROUP BY age"
    own = session.execute(inner).half_widths["n"][0]
    ranked = session.execute(
        f"WITH w AS ({inner}) SELECT age AS {name}, n, row_number() OVER (ORDER BY n DESC) AS place"
        " FROM w QUALIFY place <= 3"
    )
    assert name not in ranked.half_widths
    widths = [width for width in ranked.half_widths["n"] if width is not None]
    assert widths
    assert widths == pytest.approx([own] * len(widths), rel=1e-9)
