"""Outputs are rehearsed before anything is charged, once for the same outputs and cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from support.exact_people import planned

from sqlpriv.answer.outputs import cell_engine
from sqlpriv.answer.rows import rehearse
from sqlpriv.errors import Refused
from sqlpriv.plan.plan import Plan

DOUBLED = planned("SELECT race, COUNT(*) * 2 AS n FROM people GROUP BY race")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How often DuckDB evaluated outputs."""
    texts: list[str] = []
    run = cell_engine._run
    monkeypatch.setattr(cell_engine, "_REHEARSALS", {})
    monkeypatch.setattr(
        cell_engine, "_run", lambda engine, text: texts.append(text) or run(engine, text)
    )
    return lambda: len(texts)


def with_keys(plan: Plan, *values: object) -> Plan:
    """Returns a plan whose only group has these values."""
    (group,) = plan.output.groups
    other = replace(group, key=replace(group.key, values=values))
    return replace(plan, output=replace(plan.output, groups=(other,)))


def test_the_same_outputs_are_rehearsed_once_at_every_price(runs: Callable[[], int]) -> None:
    dearer = planned(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.25) race, COUNT(*) * 2 AS n"
        " FROM people GROUP BY race"
    )
    assert dearer.price != DOUBLED.price
    schemas = [rehearse(plan, None) for plan in (DOUBLED, dearer, DOUBLED)]
    assert schemas[0].names == ["race", "n"]
    assert schemas.count(schemas[0]) == 3
    assert runs() == 1


@pytest.mark.usefixtures("runs")
def test_other_names_of_the_same_outputs_are_kept_apart() -> None:
    renamed = planned("SELECT race AS r, COUNT(*) * 2 AS m FROM people GROUP BY race")
    assert [rehearse(plan, None).names for plan in (DOUBLED, renamed)] == [
        ["race", "n"],
        ["r", "m"],
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT race, COUNT(*) * 3 AS n FROM people GROUP BY race",
        "SELECT race, COUNT(*) * 2 AS n FROM people GROUP BY race HAVING n > 1",
        "SELECT race, AVG(income) * 2 AS n FROM people GROUP BY race",
    ],
)
def test_other_outputs_are_rehearsed_anew(sql: str, runs: Callable[[], int]) -> None:
    rehearse(DOUBLED, None)
    rehearse(planned(sql), None)
    assert runs() == 2


@pytest.mark.usefixtures("runs")
def test_other_keys_are_rehearsed_anew() -> None:
    cast = planned("SELECT CAST(sex AS INTEGER) + COUNT(*) AS x FROM people GROUP BY sex")
    rehearse(with_keys(cast, "1", "2"), None)
    with pytest.raises(Refused, match="cannot be computed"):
        rehearse(with_keys(cast, "f", "m"), None)


def test_a_refusal_is_not_kept_for_an_answer(runs: Callable[[], int]) -> None:
    unknown = planned("SELECT frobnicate(COUNT(*)) AS x FROM people GROUP BY race")
    for _ in range(2):
        with pytest.raises(Refused, match="frobnicate"):
            rehearse(unknown, None)
    assert runs() == 4


@pytest.mark.usefixtures("runs")
def test_few_rehearsals_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_engine, "MOST_REHEARSALS", 3)
    for number in range(8):
        rehearse(planned(f"SELECT race, COUNT(*) + {number} AS n FROM people GROUP BY race"), None)
        assert len(cell_engine._REHEARSALS) <= 3
