"""Eight askers race for the last of one budget, by every way that leads to it.

Over Flight SQL with our own client, with tickets and with DoPut; over PostgreSQL's protocol with
simple and with extended queries; by a session of this process, and by sessions of other ones. Each
asks at a price of its own, so that what is left fits some of them and not others.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import flight
from support.child_processes import ChildPython

import sqlpriv
from sqlpriv.interfaces.server.protocol import messages as m
from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.kernel.ledger.store import insert
from sqlpriv.session.commands.backup import back_up, restore

psycopg = pytest.importorskip("psycopg")

THOUSANDTH = 1_000_000
"""Nano of epsilon = .001."""
BUDGET, EACH = 3_000, 10
"""Thousandths of epsilon, of which 1,000 were spent on a table; statements of each asker."""
PRICES = (43, 47, 51, 53, 59, 61, 67, 71)
"""Thousandths, by asker: 4,520 are asked for."""
CHILD = """
import sys
from sqlpriv.errors import BudgetExhausted
from sqlpriv.session.session import Session

with Session(sys.argv[1], principal="ada") as session:
    print("ready", flush=True)
    answered = 0
    for sql in filter(None, sys.stdin.read().split(";")):
        try:
            answered += session.execute(sql).table.num_rows
        except BudgetExhausted:
            pass
print(answered)
"""


def statements(asker: int) -> list[str]:
    """What one asker asks, which nobody else does."""
    options = f"WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {PRICES[asker] / 1000})"
    return [
        f"SELECT {options} COUNT(*) AS n FROM people WHERE income > {asker} + {i} / 100"
        for i in range(EACH)
    ]


def answers(ask: Callable[[str], Any], asked: Sequence[str]) -> int:
    """Returns to how many statements there was an answer; the others cost more than was left."""
    answered = 0
    for sql in asked:
        try:
            ask(sql)
            answered += 1
        except (sqlpriv.BudgetExhausted, psycopg.Error, flight.FlightServerError) as error:
            if "is left" not in str(error):
                raise
    return answered


def ask_by_ticket(client: Any, call: Any) -> Callable[[str], Any]:
    """Has a ticket given, and shows it."""

    def ask(sql: str) -> None:
        asked = flight.FlightDescriptor.for_command(m.wrap("CommandStatementQuery", query=sql))
        ticket = client.get_flight_info(asked, call).endpoints[0].ticket
        assert client.do_get(ticket, call).read_all().num_rows == 1

    return ask


def ask_by_update(client: Any, call: Any) -> Callable[[str], Any]:
    """Runs a question for its effect: the charge is made, and nobody sees the answer."""

    def ask(sql: str) -> None:
        command = flight.FlightDescriptor.for_command(m.wrap("CommandStatementUpdate", query=sql))
        writer, reader = client.do_put(command, pa.schema([]), call)
        with writer:
            writer.done_writing()
            assert reader.read() is not None

    return ask


def race(served: Any) -> list[int]:
    """Returns how many answers each asker got."""
    children = [ChildPython(CHILD, served.vault) for _ in range(2)]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    start = threading.Barrier(len(PRICES))
    askers: list[Callable[[str], Any]] = [
        served.connect("ada").execute,
        ask_by_ticket(*served.flight("bob")),
        ask_by_update(*served.flight("ada")),
        served.psycopg("ada", cursor_factory=psycopg.ClientCursor).execute,
        served.psycopg("bob").execute,
        served.opened.enter_context(sqlpriv.connect(served.vault, principal="ada")).execute,
    ]

    def run(asker: int) -> int:
        start.wait()
        if asker < len(askers):
            return answers(askers[asker], statements(asker))
        text = ";".join(statements(asker))
        return int(children[asker - len(askers)].communicate(text)[0])

    with ThreadPoolExecutor(len(PRICES)) as pool:
        return [*pool.map(run, range(len(PRICES)))]


def account(vault: Path) -> tuple[int, int]:
    """Returns the number of charges, and what was spent in thousandths of epsilon."""
    with closing(Ledger(vault.with_suffix(".ledger"))) as ledger:
        held = ledger.account("people")
        assert held is not None
        return held.charges, held.spent.nano // THOUSANDTH


def check(served: Any) -> None:
    """Asserts that what was answered is what was charged, and that it fits."""
    with served.connect("olga") as owner:
        owner.execute(f"ALTER TABLE people SET PRIVACY BUDGET (epsilon = {BUDGET / 1000})")
    charges, spent = account(served.vault)
    counts = race(served)
    charges_after, spent_after = account(served.vault)
    print(f"learned: nothing; answers by asker {counts}, {BUDGET - spent_after} thousandths left")
    assert spent_after <= BUDGET
    assert charges_after - charges == sum(counts)
    bought = sum(n * price for n, price in zip(counts, PRICES, strict=True))
    assert spent_after - spent == bought
    refused = [price for n, price in zip(counts, PRICES, strict=True) if n < EACH]
    assert BUDGET - spent_after < min(refused), "somebody was refused what was left"


def test_the_last_of_a_budget_is_sold_once_by_every_way_to_it(serve: Any) -> None:
    check(serve(concurrency=len(PRICES)))


def test_twin_a_charge_that_looks_before_it_locks_sells_more(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left is read, and where little is left the charge is written when others have taken
    it, or two seconds later: six of the eight askers are in this process."""

    def careless(ledger: Ledger, statement: int, unit: str, price: Any, *_: object) -> int:
        def left_now() -> Any:
            return ledger.account(unit).left  # type: ignore[union-attr]  # it has a budget

        left = left_now()
        if price.nano > left.nano:
            raise sqlpriv.BudgetExhausted("more than is left")
        until = time.monotonic() + 2 * (left.nano < sum(PRICES) * THOUSANDTH)
        while price.nano <= left_now().nano and time.monotonic() < until:
            time.sleep(0.05)
        fields = {"statement_id": statement, "unit_table": unit, "strata": "{}", "yocto": 0}
        return insert(ledger.store, "charge", price, snapshot_id=None, **fields)

    def two_steps(allowance: Any, measurements: Any, *_: object) -> int:
        price = measurements[0].price
        begun = allowance._ledger.begin_statement(*allowance._asked)
        allowance._statement, allowance.spent = begun, price
        allowance._charged = careless(allowance._ledger, begun, "people", price)
        return int(allowance._charged)

    monkeypatch.setattr("sqlpriv.kernel.gate.Allowance._charge", two_steps)
    with pytest.raises(AssertionError):
        check(serve(concurrency=len(PRICES)))


def test_under_a_server_only_the_ledger_that_was_put_back_sells(
    served: Any, tmp_path: Path
) -> None:
    """Who was connected before would charge the one that is gone; who connects later does not."""
    asked = statements(0)
    with served.connect("ada") as before:
        before.execute(asked[0])
        back_up(served.vault, tmp_path / "backup")
        restore(tmp_path / "backup", served.vault)
        charges, _ = account(served.vault)
        with pytest.raises(sqlpriv.OperationalError, match="connect again"):
            before.execute(asked[1])
        with served.connect("ada") as after:
            after.execute(asked[1])
            assert account(served.vault)[0] == charges + 1
            with pytest.raises(sqlpriv.OperationalError, match="would be forgotten"):
                restore(tmp_path / "backup", served.vault)
            after.execute(asked[2])  # all is as it was
