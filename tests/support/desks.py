"""What whole statements in a session cost one unit, against what the ledger is charged."""

from __future__ import annotations

import ast
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pytest
from suites.vault import TABLES

from sqlpriv.errors import Error
from sqlpriv.kernel.ledger.records import Booking
from sqlpriv.session.session import Session
from support.private_tables import MORE_TABLES, PAID, owners_of
from support.purchases import Lost, Purchases, exact_answers, unit_loss
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

ASKED = 4
"""Statements of a seed."""
ROUNDED = 1 + Fraction(1, 10**9)
"""Losses may be rounded to doubles; prices are whole billionths."""
LossOf: TypeAlias = Callable[[Purchases, Sequence[Any], Sequence[Any]], Lost]
"""Returns what a unit lost, of what was bought, and of the answers with and without the unit."""


class MoreLost(AssertionError):
    """A unit loses more than it is charged."""


class Desk:
    """A vault with an analyst's session, and an engine with the same rows.

    Args:
        path: Where the vault is made.
        kind: Of its budgets.

    Attributes:
        largest_share: The most of what a statement was charged that a unit lost by it, so far.
    """

    def __init__(self, path: Path, kind: str) -> None:
        self.vault, self.kind = make_empty_vault(path, kind), kind
        self.largest_share = 0.0
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

    def use_hash_key(self) -> None:
        """Has the laboratory keep the rows that the gate kept last."""
        with closing(sqlite3.connect(self.vault.with_suffix(".ledger"))) as ledger:
            latest = "SELECT hash_key FROM snapshot ORDER BY id DESC LIMIT 1"
            ((key,),) = ledger.execute(latest).fetchall()
        self.laboratory.hash_key = int.from_bytes(key)

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
    desk: Desk,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
    kind: str = "",
    loss_of: LossOf = unit_loss,
) -> Counter[str]:
    """Returns what became of a seed's statements, "kind: outcome", where the outcome is "refused",
    "nothing" was bought, "still" or "moved".

    Raises MoreLost where a unit loses more than it is charged, as `loss_of` tells losses.
    """
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
                outcome = check_statement(
                    desk, rng, which, rows, session, monkeypatch, lost, paid, loss_of
                )
                outcomes[f"{which}: {outcome}"] += 1
    for unit, nano in lost.items():
        if nano > paid[unit] * ROUNDED:
            raise MoreLost(unit)
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
    loss_of: LossOf,
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
    families = {charge.unit_table for charge in seen.charges}
    assert families <= {*PAID}
    desk.use_hash_key()
    whole = exact_answers(desk.laboratory, seen.bought, helped=True)
    outcome = "still"
    for family in sorted(families):  # subqueries may be of other units' tables
        for unit in rng.sample(units_of(rows, family), min(2, len(units_of(rows, family)))):
            with desk.without(rows, family, unit):
                other = exact_answers(desk.laboratory, seen.bought, helped=rng.random() < 0.5)
            loss = loss_of(seen, whole, other)
            mine = [one for one in seen.charges if one.unit_table == family]
            mine = [one for one in mine if is_charged(desk, family, unit, one.at)]
            charged = sum(charge.price.nano for charge in mine)
            if loss.nano > charged * ROUNDED or loss.yocto > sum(one.yocto for one in mine):
                raise MoreLost(text)
            share = float(loss.nano / charged) if charged else 0
            desk.largest_share = max(desk.largest_share, share)
            lost[family, unit] += loss.nano
            paid[family, unit] += charged
            outcome = "moved" if loss.moved else outcome
    return outcome
