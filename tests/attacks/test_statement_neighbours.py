"""A hostile fuzzer of whole statements: no unit loses more by a session than it is charged.

Each seed fills a vault with random rows, asks statements of random kinds in a session, as an
analyst does, and writes down what the gate buys and what the ledger is charged. Then the same
queries are asked, before noise, of the same rows without one unit (`support.purchases`). The rows
are changed once in the middle, so that charges of two states of the vault add up.
"""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest
from suites.vault import TABLES
from support.private_tables import BUDGETS, MORE_TABLES, PAID, owners_of
from support.purchases import Purchases, exact_answers, unit_loss
from support.random_statements import KINDS, Questioner
from support.statement_vaults import (
    Rows,
    make_empty_vault,
    random_rows,
    units_of,
    usual_rows,
    written,
)
from support.unit_losses import Laboratory
from support.vaults import Engine

from sqlpriv.errors import Error
from sqlpriv.kernel.ledger.records import Booking
from sqlpriv.kernel.proof import sensitivity as proof
from sqlpriv.kernel.sql import queries
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import PrivacyUnit
from sqlpriv.session.session import Session

ASKED = 4
"""Statements of a seed."""
FEW, MANY = 2, 400
FIRST = 12_000_000
ONE_ROW = ("distinct on", "aggregates inside a unit")
"""Kinds that ask about one row of each unit: bounding leaves none out."""


class Desk:
    """A vault with an analyst's session, and an engine with the same rows.

    Args:
        path: Where the vault is made.
        kind: Of its budgets.
    """

    def __init__(self, path: Path, kind: str) -> None:
        self.vault, self.kind = make_empty_vault(path, kind), kind
        self.laboratory = Laboratory(Engine())
        self.laboratory.engine.duckdb.execute("SET TimeZone = 'UTC'")
        self.laboratory.engine.duckdb.execute(TABLES + MORE_TABLES)

    def write(self, rows: Rows, verified: bool) -> None:
        """Puts these rows in place of all that the vault and the laboratory hold.

        Args:
            rows: The rows.
            verified: An owner's session writes last, which finds out what is true of the rows.
        """
        with duckdb.connect(self.vault) as engine:
            engine.execute("SET TimeZone = 'UTC'")
            engine.execute(written(rows, PAID))
        if verified:
            with Session(self.vault, role="owner", principal="owner") as owner:
                owner.execute("DELETE FROM regions WHERE false")
        self.laboratory.engine.duckdb.execute(written(rows, PAID))

    @contextmanager
    def without(self, rows: Rows, family: str, unit: str) -> Iterator[None]:
        """Has the laboratory hold the rows without those of one unit meanwhile."""
        engine = self.laboratory.engine.duckdb
        engine.execute("BEGIN")
        engine.execute(written(rows, [family], unit))
        yield
        engine.execute("ROLLBACK")


def is_charged(desk: Desk, family: str, unit: str, at: Booking) -> bool:
    """Whether a charge concerns a unit, in the rows that the laboratory holds.

    Args:
        desk: The laboratory holds the unit's rows.
        family: The unit's table.
        unit: The literals that name it, as `Rows` has them.
        at: To which units the charge was booked.
    """
    if not at.units:
        return True
    columns, (_, own) = usual_rows()[0][family], owners_of(family)[0]
    named = zip(own.split(", "), ast.literal_eval(unit), strict=True)
    where = " AND ".join(f"{c} = CAST({x} AS {columns[c]})" for c, x in named)
    texts = ", ".join(
        f"CAST({c} AS VARCHAR)" if "INT" not in columns[c] and columns[c] != "BOOLEAN" else c
        for c in at.units
    )
    stored = desk.laboratory.engine.duckdb.execute(f"SELECT {texts} FROM {family} WHERE {where}")
    return any(
        all(x in values for x, values in zip(row, at.units.values(), strict=True))
        for row in stored.fetchall()
    )


def check_seed(
    desk: Desk, seed: int, monkeypatch: pytest.MonkeyPatch, kind: str = ""
) -> Counter[str]:
    """Returns what became of a seed's statements, "kind: outcome", where the outcome is "refused",
    "nothing" was bought, "still" or "moved"."""
    rng, outcomes = random.Random(seed), Counter[str]()
    states = [random_rows(rng)]
    states.append(states[0] if rng.random() < 0.5 else random_rows(rng))
    lost: Counter[tuple[str, str]] = Counter()
    paid: Counter[tuple[str, str]] = Counter()
    for rows in states:
        desk.write(rows, verified=rng.random() < 0.5)
        with Session(desk.vault, principal="ann") as session:
            for _ in range(ASKED // 2):
                which = kind or rng.choice([*KINDS])
                outcome = check_statement(desk, rng, which, rows, session, monkeypatch, lost, paid)
                outcomes[f"{which}: {outcome}"] += 1
    for unit, nano in lost.items():
        assert nano <= paid[unit], unit
    return outcomes


def check_statement(
    desk: Desk,
    rng: random.Random,
    kind: str,
    rows: Rows,
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    lost: Counter[tuple[str, str]],
    paid: Counter[tuple[str, str]],
) -> str:
    """Asks one statement; returns its outcome, and adds up what units lose and are charged."""
    text, dialect, seen = KINDS[kind](Questioner(rng)), "duckdb", Purchases()
    if text.startswith("-- "):
        dialect, _, text = text.removeprefix("-- ").partition("\n")
    with monkeypatch.context() as patched:
        seen.record(patched)
        try:
            session.restore(dialect, {"privacy_epsilon": rng.choice([0.1, 1.0, 8.0])})
            session.execute(text)
        except Error:
            if not seen.bought:
                return "refused"
    if not seen.bought:
        return "nothing"
    family = seen.charges[0].unit_table
    assert {charge.unit_table for charge in seen.charges} == {family}
    assert family in PAID
    whole = exact_answers(desk.laboratory, seen.bought, helped=True)
    outcome = "still"
    for unit in rng.sample(units_of(rows, family), min(2, len(units_of(rows, family)))):
        mine = [charge for charge in seen.charges if is_charged(desk, family, unit, charge.at)]
        with desk.without(rows, family, unit):
            other = exact_answers(desk.laboratory, seen.bought, helped=rng.random() < 0.5)
        loss = unit_loss(seen.bought, whole, other)
        assert loss.nano <= sum(charge.price.nano for charge in mine), text
        assert loss.yocto <= sum(charge.yocto for charge in mine), text
        lost[family, unit] += loss.nano
        paid[family, unit] += sum(charge.price.nano for charge in mine)
        outcome = "moved" if loss.moved else outcome
    return outcome


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk whose budgets are of zCDP."""
    return Desk(tmp_path_factory.mktemp("desk") / "people.duckdb", "zcdp")


def test_no_unit_loses_more_by_a_session_than_it_is_charged(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other seeds at every run: a failure names its seed."""
    for seed in random.sample(range(FIRST), FEW):
        print(f"seed {seed}: {dict(check_seed(desk, seed, monkeypatch))}")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*BUDGETS])
@pytest.mark.parametrize("part", range(4))
def test_no_unit_loses_more_by_very_many_sessions(
    tmp_path: Path, part: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, outcomes = Desk(tmp_path / "people.duckdb", kind), Counter[str]()
    for seed in range(FIRST + part * MANY // 4, FIRST + (part + 1) * MANY // 4):
        outcomes += check_seed(desk, seed, monkeypatch)
    moved = sum(n for what, n in outcomes.items() if what.endswith("moved"))
    print(f"learned: nothing; {dict(outcomes)}")
    assert moved > MANY / 4 * ASKED / 3  # else it would ask of rows that nobody has


def keep_all(*_: object, **__: object) -> bool:
    """A break: no unit's rows are bounded."""
    return True


def move_less(
    query: a.Query | a.Clipped, unit: PrivacyUnit, steps: int, proved: Any = proof.sensitivity
) -> proof.Sensitivity:
    """A break: sums are said to move three quarters as far as they do."""
    claim = proved(query, unit, steps)
    return proof.Sensitivity(max(1, claim.l1 * 3 // 4), max(1, claim.l2_squared * 9 // 16))


def check_kind(desk: Desk, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asks statements of one kind alone, of up to sixteen seeds."""
    for seed in range(16):
        check_seed(desk, seed, monkeypatch, kind)


@pytest.mark.parametrize(
    "kind",
    [
        "strata",
        *(
            pytest.param(kind, marks=pytest.mark.slow)
            for kind in KINDS
            if kind not in (*ONE_ROW, "strata")
        ),
    ],
)
def test_every_kind_notices_units_that_are_not_bounded(
    desk: Desk, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twins: a few seeds of each kind are enough."""
    monkeypatch.setattr(queries, "_keeps_all", keep_all)
    with pytest.raises(AssertionError):
        check_kind(desk, kind, monkeypatch)


def test_aggregates_inside_a_unit_notice_a_sensitivity_that_is_too_small(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A twin: such a statement asks about one row of each unit, so bounding leaves none out."""
    monkeypatch.setattr(proof, "sensitivity", move_less)
    with pytest.raises(AssertionError):
        check_kind(desk, "aggregates inside a unit", monkeypatch)
