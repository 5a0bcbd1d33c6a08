"""The ledger forgets nothing, sells nothing twice and guesses at nothing, wherever it is kept."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.child_processes import ChildPython
from support.ledger_rows import releases
from support.ledgers import pay, sealed

from sqlpriv.errors import BudgetExhausted, DeclarationError, LedgerError
from sqlpriv.kernel.ledger.records import Ledger, Sealed
from sqlpriv.kernel.terms.budget import Budget, Epsilon, Price, Rho
from sqlpriv.kernel.terms.contract import UNDECLARED

# --- what is stored ---


def test_what_was_written_is_read_back(ledger: Ledger, place: Path) -> None:
    domains = {"é": {"labels": [None, 1.5], "required": False}}
    ledger.declare("People", "owner", key="id", bound=[2, 1])
    ledger.declare("other", "owner", public=True)
    last = ledger.declare("people", "owner", domains=domains)
    with closing(Ledger(place)) as again:
        people = {**UNDECLARED, "key": "id", "bound": [2, 1], "domains": domains}
        other = {**UNDECLARED, "public": True}
        assert again.declarations() == (last, {"people": people, "other": other})
        with again.begin() as db:
            rows = db.execute("SELECT principal, at FROM declaration").fetchall()
        assert all(who == "owner" and at.endswith("+00:00") for who, at in rows)
        account = again.account("PEOPLE")
        assert account is not None
        assert account.budget == Budget("people", Rho(1000), 1e-9)
        assert again.account("other") is None


def test_declarations_that_were_read_are_not_read_again(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.declare("people", "owner", public=True)
    before = ledger.declarations()
    with monkeypatch.context() as patch:
        patch.setattr("sqlpriv.kernel.ledger.records.json.loads", None)
        assert ledger.declarations() == before


def test_declarations_of_another_process_count_at_once(ledger: Ledger, place: Path) -> None:
    ledger.declare("people", "owner", public=True)
    ledger.declarations()
    with closing(Ledger(place)) as other:
        last = other.declare("people", "owner", public=False)
        other.declare("people", "owner", grants=["ada"])
    people = {**UNDECLARED, "public": False, "grants": ["ada"]}
    assert ledger.declarations() == (last, {"people": people})


def test_a_declaration_that_was_undone_is_forgotten(ledger: Ledger) -> None:
    """In SQLite its number goes to the next one, which says something else."""
    ledger.declare("people", "owner", public=True)

    def declare_and_undo() -> None:
        with ledger.begin("IMMEDIATE"):
            ledger.declare("people", "owner", key="id")
            assert ledger.declarations()[1]["people"]["key"] == "id"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        declare_and_undo()
    last = ledger.declare("people", "owner", key="name")
    people = {**UNDECLARED, "public": True, "key": "name"}
    assert ledger.declarations() == (last, {"people": people})


# --- budget and charges ---


def test_the_last_nano_is_sold_and_no_more(ledger: Ledger) -> None:
    pay(ledger, 600)
    with pytest.raises(BudgetExhausted) as refusal:
        pay(ledger, 401)
    assert str(refusal.value).startswith("costs rho = 0.000000401 (epsilon = ")
    assert "but rho = 0.0000004 (epsilon = " in str(refusal.value)
    assert str(refusal.value).endswith("at delta = 1e-09) is left; nothing was read")
    pay(ledger, 400)
    with pytest.raises(BudgetExhausted):
        pay(ledger, 1)
    assert (ledger.account("People").spent, ledger.account("people").left) == (Rho(1000), Rho(0))
    assert ledger.account("PEOPLE").charges == 2


def test_a_budget_is_replaced_and_what_was_spent_stays(ledger: Ledger) -> None:
    pay(ledger, 600)
    ledger.set_budget(Budget("people", Rho(500), 1e-9), "owner")
    assert (ledger.account("people").spent, ledger.account("people").left) == (Rho(600), Rho(0))
    with pytest.raises(BudgetExhausted):
        pay(ledger, 1)
    ledger.set_budget(Budget("people", Rho(700), 1e-6), "owner")
    assert ledger.account("people").left == Rho(100)


def test_each_unit_table_has_its_own_budget(ledger: Ledger) -> None:
    ledger.set_budget(Budget("firms", Epsilon(50), 0.0), "owner")
    ledger.charge(ledger.begin_statement("ann", ""), "firms", Epsilon(30))
    assert (ledger.account("firms").left, ledger.account("people").left) == (Epsilon(20), Rho(1000))
    with pytest.raises(
        BudgetExhausted, match=r"costs epsilon = 0\.000000021 but epsilon = 0\.0000"
    ):
        ledger.charge(ledger.begin_statement("ann", ""), "firms", Epsilon(21))
    assert ledger.account("nowhere") is None
    with pytest.raises(DeclarationError, match="no PRIVACY BUDGET"):
        pay(ledger, 1, "nowhere")


def test_a_budget_of_another_kind_sells_nothing(ledger: Ledger) -> None:
    """A session refuses to set one; whoever writes it without asking has no budget to spend."""
    pay(ledger, 1)
    ledger.set_budget(Budget("people", Epsilon(1000), 0.0), "owner")
    for price in (Rho(1), Epsilon(1)):
        with pytest.raises(LedgerError, match="charges of people are not of the kind pure"):
            ledger.charge(ledger.begin_statement("ann", ""), "people", price)
    ledger.set_budget(Budget("people", Rho(1000), 1e-9), "owner")
    assert (ledger.account("people").spent, ledger.account("people").charges) == (Rho(1), 1)
    ledger.set_budget(Budget("people", Epsilon(9), 0.0), "owner", "bob")
    with pytest.raises(LedgerError, match="cannot be charged"):
        ledger.charge(ledger.begin_statement("bob", ""), "people", Rho(1))
    assert ledger.account("people").charges == 1


@pytest.mark.parametrize("price", [Epsilon(1), Rho(0)])
def test_prices_of_the_wrong_kind_or_of_nothing_are_refused(ledger: Ledger, price: Price) -> None:
    with pytest.raises(LedgerError, match="cannot be charged"):
        ledger.charge(ledger.begin_statement("ann", ""), "people", price)
    assert ledger.account("people").charges == 0


def test_a_ceiling_binds_its_principal_and_the_budget_everybody(ledger: Ledger) -> None:
    def buy(who: str, nano: int) -> None:
        ledger.charge(ledger.begin_statement(who, "SELECT 1"), "people", Rho(nano))

    ledger.set_budget(Budget("people", Rho(300), 1e-9), "owner", "team_a")
    assert ledger.holders("People") == ["", "team_a"]
    buy("team_a", 200)
    with pytest.raises(BudgetExhausted, match="is left to team_a; nothing was read"):
        buy("team_a", 101)
    buy("ann", 600)  # has no ceiling of her own
    team, table = ledger.account("people", "team_a"), ledger.account("people")
    assert (team.spent, team.left, team.charges) == (Rho(200), Rho(100), 1)
    assert (table.spent, table.left, table.charges) == (Rho(800), Rho(200), 2)
    buy("ann", 150)
    with pytest.raises(BudgetExhausted, match="is left; nothing was read"):
        buy("team_a", 60)  # within the ceiling, not within the budget
    ledger.set_budget(Budget("people", Rho(100), 1e-9), "owner", "team_a")
    assert ledger.account("people", "team_a").left == Rho(0)
    assert ledger.account("people", "ann") is None


def test_a_ceiling_binds_its_holder_in_whatever_case_the_name_is_written(ledger: Ledger) -> None:
    """`FOR 'Ada'` left ada, who logs in as that, without a ceiling."""

    def buy(who: str, nano: int) -> None:
        ledger.charge(ledger.begin_statement(who, "SELECT 1"), "people", Rho(nano))

    ledger.set_budget(Budget("people", Rho(300), 1e-9), "owner", "Ada")
    buy("ada", 200)
    for who in ("ada", "Ada", "ADA"):
        with pytest.raises(BudgetExhausted, match=f"is left to {who}; nothing was read"):
            buy(who, 101)
        assert [account.left for account in ledger.accounts("people", who)] == [Rho(800), Rho(100)]
    ledger.set_budget(Budget("people", Rho(400), 1e-9), "owner", "Ada")
    buy("Ada", 150)
    assert ledger.account("people", "Ada").left == Rho(50)
    ledger.set_budget(Budget("people", Rho(380), 1e-9), "owner", "ada")  # two bind, both
    with pytest.raises(BudgetExhausted, match="is left to Ada; nothing was read"):
        buy("Ada", 40)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 400), max_size=12), st.integers(1, 1200))
def test_spending_follows_the_model(
    tmp_path_factory: pytest.TempPathFactory, prices: list[int], total: int
) -> None:
    left = total
    with closing(Ledger(tmp_path_factory.mktemp("model") / "l")) as ledger:
        ledger.set_budget(Budget("people", Rho(total), 1e-9), "owner")
        for price in prices:
            try:
                pay(ledger, price)
                left -= price
                assert left >= 0
            except BudgetExhausted:
                assert price > left
            assert ledger.account("people").left == Rho(left)
            assert ledger.account("people").spent == Rho(total - left)


# --- snapshots, seals, replays ---


def test_a_snapshot_lasts_as_long_as_its_fingerprint(ledger: Ledger) -> None:
    a = ledger.snapshot("a")
    assert ledger.snapshot("a") == a
    assert a.facts is None
    assert 0 <= a.hash_key < 2**64
    ledger.record_facts(a.id, {"bounded": False})
    ledger.record_facts(a.id, {"bounded": True})
    assert ledger.snapshot("a").facts == {"bounded": True}
    b = ledger.snapshot("b")
    assert (b.id > a.id, b.hash_key != a.hash_key, b.facts) == (True, True, None)
    assert ledger.snapshot("a").id > b.id  # the same data again is a new snapshot all the same


def test_seals_that_cover_the_price_are_listed_dearest_first(ledger: Ledger) -> None:
    here, there = ledger.snapshot("a").id, ledger.snapshot("b").id
    cheap = sealed(ledger, here, "q", Rho(10))
    dear = sealed(ledger, here, "q", Rho(30))
    middle = sealed(ledger, here, "q", Rho(20))
    sealed(ledger, here, "other", Rho(40))
    sealed(ledger, there, "q", Rho(50))
    for asked in (1, 10, 30):
        seals = ledger.find_seals(here, "q", Rho(asked))
        assert seals[0] == Sealed("q", Rho(30), 2.5, b"q", dear)
        assert [seal.id for seal in seals] == [dear, middle, cheap][: 4 - max(1, asked // 10)]
    assert not ledger.find_seals(here, "q", Rho(31))
    assert not ledger.find_seals(here, "unknown", Rho(1))
    assert not ledger.find_seals(here, "q", Epsilon(1))
    spent = ledger.account("people").spent
    ledger.replay(ledger.begin_statement("bob", "again"), [dear, cheap])
    ledger.replay(ledger.begin_statement("bob", "again"), [dear])
    assert ledger.account("people").spent == spent
    rows = releases(ledger)
    assert [row["replays"] for row in rows] == [1, 2, 0, 0, 0]
    expected = {"id": dear, "principal": "ann", "statement": "SELECT 1", "unit_table": "people"}
    assert expected.items() <= rows[1].items()
    assert (rows[1]["kind"], rows[1]["nano"]) == ("zcdp", 30)


def test_seals_are_stored_all_or_none_under_a_real_charge(ledger: Ledger) -> None:
    snapshot, statement = ledger.snapshot("a").id, ledger.begin_statement("ann", "s")
    charge = ledger.charge(statement, "people", Rho(9))
    answers = [(charge, Sealed(q, Rho(3), 1.0, b"")) for q in "xyz"]
    assert len(set(ledger.seal(statement, snapshot, answers))) == 3
    for wrong in [(charge, Sealed("w", Rho(0), 1.0, b"")), (charge + 99, answers[0][1])]:
        with pytest.raises(LedgerError):
            ledger.seal(statement, snapshot, [answers[0], wrong])
    assert len(releases(ledger)) == 3


# --- damage and the unknown ---


# --- processes and threads ---

RACE = """
import sys
from sqlpriv.errors import BudgetExhausted
from sqlpriv.kernel.terms.budget import Budget, Rho
from sqlpriv.kernel.ledger.records import Ledger
ledger = Ledger(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
sold = 0
try:
    while True:
        ledger.charge(ledger.begin_statement("racer", ""), "people", Rho(int(sys.argv[1])))
        sold += 1
except BudgetExhausted:
    print(sold, flush=True)
ledger.close()
"""


def test_eight_processes_race_for_the_last_of_the_budget(ledger: Ledger, place: Path) -> None:
    """1000 nano in slices of 23: exactly 43 are sold, whoever gets them."""
    racers = [ChildPython(RACE, 23, place) for _ in range(8)]
    assert [racer.stdout.readline() for racer in racers] == ["ready\n"] * 8
    for racer in racers:
        racer.stdin.write("\n")
        racer.stdin.flush()
    sold = [int(racer.communicate(timeout=60)[0]) for racer in racers]
    assert sum(sold) == 43
    assert ledger.account("people").charges == 43
    assert ledger.account("people").left == Rho(1000 - 43 * 23)


def test_threads_share_a_ledger(ledger: Ledger) -> None:
    def buy() -> None:
        for _ in range(20):
            try:
                pay(ledger, 23)
            except BudgetExhausted:
                return

    threads = [threading.Thread(target=buy) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.account("people").charges == 43


KILL = """
import os, signal, sys
from sqlpriv.kernel.ledger import records as module
from sqlpriv.kernel.terms.budget import Rho
ledger = module.Ledger(sys.argv[2])
statement = ledger.begin_statement("ann", "")
if sys.argv[1] == "before":
    insert = module.insert
    def dying(*args, **row):
        insert(*args, **row)
        os.kill(os.getpid(), signal.SIGKILL)
    module.insert = dying
ledger.charge(statement, "people", Rho(7))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("when", "spent"), [("before", 0), ("after", 7)])
def test_a_charge_stands_from_the_moment_it_returns(
    ledger: Ledger, place: Path, when: str, spent: int
) -> None:
    child = ChildPython(KILL, when, place)
    child.communicate(timeout=60)
    assert child.returncode == -9
    assert ledger.account("people").spent == Rho(spent)
    with closing(Ledger(place)) as again:
        assert again.account("people").spent == Rho(spent)
        pay(again, 1)  # the dead process left no lock behind


def test_two_processes_make_one_ledger(place: Path) -> None:
    script = (
        "import sys; from sqlpriv.kernel.ledger.records import Ledger\n"
        "Ledger(sys.argv[1]).declare('t', 'o', key='id')"
    )
    makers = [ChildPython(script, place) for _ in range(4)]
    for maker in makers:
        maker.communicate(timeout=60)
    assert [maker.returncode for maker in makers] == [0] * 4
    with closing(Ledger(place)) as ledger:
        assert ledger.declarations() == (4, {"t": {**UNDECLARED, "key": "id"}})
        assert ledger.account("t") is None


def test_a_charge_that_was_undone_is_not_remembered(ledger: Ledger) -> None:
    """Its number goes to the next charge, which has to be added though the number is known."""
    pay(ledger, 100)
    statement = ledger.begin_statement("ann", "SELECT 1")
    with ledger.begin("IMMEDIATE") as db:
        ledger.charge(statement, "people", Rho(7))
        assert ledger.account("people").spent == Rho(107)
        db.execute("ROLLBACK")
        db.execute("BEGIN")
    assert ledger.account("people").spent == Rho(100)
    pay(ledger, 50)
    assert ledger.account("people").spent == Rho(150)
    assert ledger.account("people").charges == 2


def test_charges_of_others_are_added(place: Path, ledger: Ledger) -> None:
    """Each of two open ledgers adds what the other one paid, in whatever order they look."""
    with closing(Ledger(place)) as other:
        for n in range(1, 8):
            pay((ledger, other)[n % 2], 10)
            for eyes in (ledger, other) if n % 3 else (other,):
                assert eyes.account("people").spent == Rho(10 * n)
                assert eyes.account("people").charges == n
