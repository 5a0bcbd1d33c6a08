"""Statements that are broken at random: each is explained or refused, and no other error leaves."""

from __future__ import annotations

import random
import re

import pytest
from suites.run import classes, statements
from suites.vault import make_vault

from sqlpriv.errors import Error
from sqlpriv.session.session import Session

TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\w+|\s+|.", re.DOTALL)
OURS = (
    "SELECT sex, COUNT(*) AS n, AVG(income) AS m FROM people STRATIFY BY sex, educ",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5, report = true) educ, SUM(hours)"
    " FROM people WHERE age > 30 STRATIFY BY educ ORDER BY 2 LIMIT 3",
    "CREATE SYNTHETIC TABLE s AS SELECT sex, age FROM people STRATIFY BY educ USING mst",
    "SELECT sex, COUNT(*) FROM people GROUP BY sex STRATIFY BY educ WITH PRIVACY (epsilon = 0.3)",
)
WORDS = """WITH PRIVACY ( ) , STRATIFY BY GROUP ORDER HAVING QUALIFY LIMIT 1 'x' NULL * OPTIONS
    UNION ALL SELECT FROM WHERE AND NOT OVER FILTER USING mst AS DISTINCT [1] :: DATE IN CASE END
    PIVOT LATERAL TABLESAMPLE WINDOW ROLLUP CUBE GROUPING SETS""".split()  # noqa: SIM905  # reads better


@pytest.mark.parametrize("price", ["WITH PRIVACY (epsilon = 0.3)", "OPTIONS (epsilon = 0.3)"])
@pytest.mark.parametrize("behind", ["FROM people", "FROM people GROUP BY sex", "WHERE age > 3"])
def test_a_price_at_the_end_is_told_its_place(session: Session, behind: str, price: str) -> None:
    with pytest.raises(Error, match="the price stands behind SELECT") as refusal:
        session.execute(
            f"SELECT COUNT(*) FROM people p {behind.removeprefix('FROM people')} {price}"
        )
    assert "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5)" in str(refusal.value)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory):
    with Session(make_vault(tmp_path_factory.mktemp("broken") / "v.duckdb")) as opened:
        opened.execute("SET privacy_epsilon = 0.5")
        yield opened


def whole_statements() -> list[str]:
    """Returns statements that are answered, those of the suites with STRATIFY BY as well."""
    texts = [s.partition("\n-- plain")[0] for name in classes() for s in statements(name)]
    plain = [text for text in texts if not text.startswith("-- ")]
    return [*plain, *(t.replace("GROUP BY", "STRATIFY BY") for t in plain), *OURS * 20]


def broken(texts: list[str], rng: random.Random) -> str:
    """Returns one of the texts with one to three tokens left out, swapped, replaced or put in."""
    tokens = TOKEN.findall(rng.choice(texts))
    for _ in range(rng.choice([1, 1, 2, 3])):
        at = rng.randrange(len(tokens))
        other = TOKEN.findall(rng.choice(texts))
        start = rng.randrange(len(other))
        tokens[at : at + rng.randrange(2)] = rng.choice(
            [[], [f" {rng.choice(WORDS)} "], [" ", *other[start : start + rng.randrange(12)], " "]]
        )
    return "".join(tokens)


def explain_broken(session: Session, seed: int, number: int) -> int:
    """Explains broken statements; returns how many of them were no error."""
    rng, texts, explained = random.Random(seed), whole_statements(), 0
    for _ in range(number):
        text = broken(texts, rng)
        try:
            session.execute(f"EXPLAIN PRIVACY {text}")
        except Error:
            continue
        except Exception as error:  # which is what this looks for
            raise AssertionError(text) from error
        explained += 1
    return explained


def test_a_broken_statement_is_explained_or_refused(session):
    assert 0 < explain_broken(session, 1, 150) < 150


@pytest.mark.parametrize(
    "text",
    [
        "SELECT VAR_POP( DISTINCT ), COUNT(*) FROM odd",
        "SELECT educ, SUM(SUM( DISTINCT )) OVER (ORDER BY educ) FROM people GROUP BY educ",
        "SELECT COUNT(*) FROM events e JOIN (SELECT DISTINCT FROM sources) c ON c.source = 1",
        "SELECT k, COUNT(*) FROM people CROSS JOIN (VALUES (1), (2)) AS v (k, s) GROUP BY k",
    ],
)
def test_nothing_where_values_belong_is_refused(session, text):
    with pytest.raises(Error):
        session.execute(f"EXPLAIN PRIVACY {text}")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_broken_statements_are_explained_or_refused(session, seed):
    assert 0 < explain_broken(session, seed, 1_000) < 1_000


def test_an_error_that_is_not_ours_is_seen(session, monkeypatch):
    """The twin: what a statement of a broken reader would raise."""
    monkeypatch.setattr(session, "execute", lambda text: int(text))
    with pytest.raises(AssertionError):
        explain_broken(session, 1, 1)
