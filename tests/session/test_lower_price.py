"""A mean that is asked in rounds, asked again for less: what was released dearer serves again.

Its rounds are written with noised numbers and with their noise, so a lower price alone would make
other queries of them (`answer/rounds/adaptive_means`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.exact_people import planned

from sqlpriv.answer.moments import Moments
from sqlpriv.answer.rounds import adaptive_means
from sqlpriv.answer.rounds.adaptive_means import (
    RUN,
    Measure,
    SealedRounds,
    ask_rounds,
    find_sealed_rounds,
)
from sqlpriv.errors import BudgetExhausted
from sqlpriv.kernel.terms.algebra import Asked, Col, Count, shape
from sqlpriv.kernel.terms.budget import Epsilon
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.plan.aggregates.means.mean_queries import count_query, histogram
from sqlpriv.plan.aggregates.means.mean_rounds import MeanRounds
from sqlpriv.session.access.result import Result
from sqlpriv.session.session import Session

MAKE = """
CREATE TABLE people (id BIGINT PRIMARY KEY, sex BIGINT, region BIGINT, income DOUBLE);
INSERT INTO people SELECT range AS id, 1 + range % 2 AS sex, 1 + range % 9 AS region,
    exp(8 + range % 2 + 2 * sqrt(-2 * ln(random() + 1e-12)) * cos(6.28 * random())) AS income
    FROM range(40000);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN (1, 2);
ALTER TABLE people ALTER COLUMN region SET PRIVACY DOMAIN IN (1, 2, 3, 4, 5, 6, 7, 8, 9);
ALTER TABLE people ALTER COLUMN income SET PRIVACY DOMAIN BETWEEN (0, 1000000);
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1000{})
"""
STATEMENTS = {
    "of all": "AVG(income) AS a FROM people",
    "by strata": "AVG(income) AS a FROM people STRATIFY BY sex, region",
    "of few rows": "AVG(income) AS a FROM people WHERE region = 3 AND sex = 1",
    "beside others": "sex, COUNT(*), AVG(income) AS a, SUM(income) FROM people GROUP BY sex",
    "in two levels": "sex, AVG(income) AS a FROM people GROUP BY ROLLUP (sex)",
    "pooled": "AVG(income USING pooled) AS a FROM people STRATIFY BY region",
    "coinpress": "AVG(income USING coinpress) AS a FROM people STRATIFY BY sex",
}


@pytest.fixture(scope="module", params=["", ", delta = 1e-9"], ids=["pure", "zCDP"])
def owner(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Session]:
    vault: Path = tmp_path_factory.mktemp("lower") / "v.duckdb"
    with Session(vault, role="owner") as session:
        session.run(MAKE.format(request.param))
        yield session


def ask(session: Session, statement: str, epsilon: float, options: str = "") -> Result:
    """Returns the answer to a statement of `STATEMENTS` at a price."""
    price = f"WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {epsilon}{options})"
    return session.run(f"SELECT {price} {statement}")[-1]


def paid(result: Result) -> int:
    """Returns what an answer cost, in nano."""
    assert result.price is not None
    return result.price.nano


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_lower_price_is_free(owner: Session, name: str) -> None:
    statement, dear = STATEMENTS[name], 0.4
    first = ask(owner, statement, dear)
    assert paid(first)
    for epsilon in (dear, 0.9 * dear, 0.3, 0.1, 0.01):
        again = ask(owner, statement, epsilon)
        assert not paid(again), epsilon
        assert again.table is not None
        assert first.table is not None
        assert again.table.to_pylist() == first.table.to_pylist()


def test_a_lower_price_is_quoted_as_free(owner: Session) -> None:
    statement = "AVG(income) AS a FROM people WHERE region > 4"
    ask(owner, statement, 0.4)
    text = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.2) {statement}"
    (charge,) = owner.quote(text).charges
    assert not charge.price.nano


def test_a_dearer_count_changes_nothing_of_it(owner: Session) -> None:
    """The dearest count is now another, with which the sums' ends would be chosen differently."""
    statement = "AVG(income) AS a FROM people WHERE region < 7 STRATIFY BY sex, region"
    first = ask(owner, statement, 0.2)
    ask(owner, "COUNT(*) FROM people WHERE region < 7 STRATIFY BY sex, region", 5.0)
    assert paid(first)
    for epsilon in (0.2, 0.1):
        assert not paid(ask(owner, statement, epsilon))


def test_what_was_not_released_is_paid_for(owner: Session) -> None:
    """The twin: a higher price, other rows, another estimator."""
    statement = "AVG(income) AS a FROM people WHERE region = 8"
    for epsilon in (0.2, 0.21, 0.4):
        assert paid(ask(owner, statement, epsilon))
    assert paid(ask(owner, statement.replace("8", "9"), 0.1))
    assert paid(ask(owner, statement.replace("income)", "income USING coinpress)"), 0.4))


def test_the_dearest_of_several_rounds_is_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two statements' rounds rest on one count, whose neighbour in the ledger is the histogram of
    the cheaper one: a lower price is answered by the dearer one's, where both would do."""
    (request,) = planned("SELECT AVG(income USING quantile) FROM people").rounds
    counted, bins = count_query(request.recipe), histogram(request.recipe)

    def sealed(number: int, query: Asked, price: int) -> Release:
        return Release(number, query, np.full(shape(query), 900.0), 1.0, Epsilon(price), True)

    known: dict[Asked, list[Release]] = {
        counted: [sealed(1, counted, 10**12)],
        bins: [sealed(9, bins, 9 * 10**11), sealed(2, bins, 8 * 10**11)],
    }
    taken: list[int] = []

    def run(_: MeanRounds, answers: Mapping[Asked, Release], __: Measure) -> Moments:
        taken.append(answers[bins].id)
        return Moments(*[np.ones(1)] * 3, 1.0, 1.0, 1.0, 2.0)

    monkeypatch.setitem(RUN, "quantile", run)
    assert find_sealed_rounds(request, [], lambda m: known.get(m.query, []))
    assert taken == [9]


def test_a_mean_is_looked_for_once(owner: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not sealed before a statement is charged is not looked for again after it."""
    searched: list[MeanRounds] = []

    def search(request: MeanRounds, *of: Any) -> SealedRounds | None:
        searched.append(request)
        return find_sealed_rounds(request, *of)

    monkeypatch.setattr(adaptive_means, "find_sealed_rounds", search)
    men, women = (f"AVG(income) FILTER (sex = {sex} AND region > 6)" for sex in (1, 2))
    for epsilon in (0.1, 0.2):
        assert paid(ask(owner, f"{men} - {women} AS d FROM people", epsilon))
        assert len(searched) == 2
        searched.clear()


@pytest.mark.parametrize("is_between", [False, True])
def test_rounds_that_were_not_sealed_are_not_made_again(
    monkeypatch: pytest.MonkeyPatch, is_between: bool
) -> None:
    """Twice a mean is looked for with the same answers, and its rounds are made once; when the sum
    that they ask for is sealed, they are made again, and found. Where a sealed answer lies between,
    which may be another the next time, they are made every time."""
    (request,) = planned("SELECT AVG(age USING quantile) FROM people").rounds
    counted, bins = count_query(request.recipe), histogram(request.recipe)
    total = Measurement(Count(counted.source, of=Col("age")), Epsilon(7))

    def sealed(number: int, query: Asked, price: int) -> Release:
        return Release(number, query, np.full(shape(query), 901.0), 1.0, Epsilon(price), True)

    between = Measurement(Count(counted.source, of=Col("sex")), Epsilon(7))
    known = {q: [sealed(i, q, 10**12)] for i, q in enumerate((counted, bins, between.query), 1)}
    made: list[int] = []

    def run(_: MeanRounds, __: Mapping[Asked, Release], measure: Measure) -> Moments:
        made.append(1)
        measure([between] if is_between else [])
        measure([total])
        return Moments(*[np.ones(1)] * 3, 1.0, 1.0, 1.0, 2.0)

    monkeypatch.setitem(RUN, "quantile", run)

    def search() -> SealedRounds | None:
        made.clear()
        return find_sealed_rounds(request, [], lambda m: known.get(m.query, []))

    adaptive_means._NOT_SEALED.clear()
    assert search() is None
    assert made
    assert search() is None
    assert bool(made) == is_between
    known[total.query] = [sealed(4, total.query, 10**12)]
    found = search()
    assert found is not None
    assert made == [1]
    assert [release.id for release in found.answers] == ([3, 4] if is_between else [4])


def test_rounds_that_the_allowance_counts_on_are_taken_whatever_counts_are_bought() -> None:
    """A statement asked again for a few nanos more finds its rounds sealed, and its counts not: the
    allowance is made smaller by the rounds, so that asking anew would be refused. The twin knows of
    no such rounds, and asks."""
    (request,) = planned("SELECT AVG(income) AS a FROM people").rounds
    n = np.array([1_000.0])
    sealed = SealedRounds(Moments(n, n, n, 1.0, 1.0, 0.0, 2.0), ())
    bought = Release(7, count_query(request.recipe), n, 1.0, request.price)
    asked: list[int] = []

    def measure(batch: Sequence[Measurement]) -> tuple[Release, ...]:
        asked.append(len(batch))
        if batch:
            raise BudgetExhausted("the statement asks for more than its allowance")
        return ()

    remembered = {(id(request), (5,)): sealed}
    found = ask_rounds([request], [bought], measure, remembered=remembered)
    assert found == {request.recipe: sealed.moments}
    assert asked == [0]
    with pytest.raises(BudgetExhausted):
        ask_rounds([request], [bought], measure)
