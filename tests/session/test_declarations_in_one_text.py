"""Declarations that follow one another in a text: verified together, told one by one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlpriv.errors import DeclarationError, OperationalError, ProgrammingError, Refused
from sqlpriv.kernel.terms.contract import TableFacts
from sqlpriv.kernel.vault import Kernel
from sqlpriv.session.commands import owner_tables
from sqlpriv.session.session import Session

TABLE = (
    "CREATE TABLE visits AS SELECT i // 2 AS id, i % 5 AS x, i % 3 AS y FROM range(20) r(i);"
    " INSERT INTO visits VALUES (1, 90, NULL)"
)
DECLARATIONS = (
    "ALTER TABLE visits ADD PRIVACY_KEY (id)",
    "ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = 2)",
    "ALTER TABLE visits SET PU",
    "ALTER TABLE visits ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN (0, 3)",
    "ALTER TABLE visits ALTER COLUMN y SET PRIVACY DOMAIN IN (0, 1)",
    "ALTER TABLE visits ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN (0, 90)",
    "ALTER TABLE visits SET PRIVACY BUDGET (epsilon = 3)",
)


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "visits.duckdb", role="owner", principal="olga") as session:
        session.run(TABLE)
        yield session


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each verification, whether anything was taken to hold of the rows just before it."""
    facts_known: list[bool] = []
    verify = Kernel.verify

    def noting_verify(kernel: Kernel) -> None:
        contracts = kernel.contracts().values()
        facts_known.append(any(contract.facts != TableFacts() for contract in contracts))
        verify(kernel)

    monkeypatch.setattr(Kernel, "verify", noting_verify)
    return facts_known


def error(text: str) -> None:
    raise OperationalError(text)


def facts(session: Session) -> dict[str, object]:
    """What the ledger has of the state that is there now."""
    contracts = session._access.tables.contracts()
    return {name: contract.facts for name, contract in contracts.items()}


def test_each_is_told_as_if_it_were_alone(owner, tmp_path):
    together = [result.message for result in owner.run("; ".join(DECLARATIONS))]
    with Session(tmp_path / "alone.duckdb", role="owner", principal="olga") as other:
        other.run(TABLE)
        alone = [other.execute(text).message for text in DECLARATIONS]
        assert facts(owner) == facts(other)
    assert together == alone
    assert "beyond" in together[3]  # its own interval's, not that of the one that came later
    assert "beyond" not in together[5]


def test_they_are_verified_once_and_nothing_is_taken_to_hold_before(owner, verified):
    owner.settle()
    verified.clear()
    owner.run("; ".join(DECLARATIONS))
    assert verified == [False]
    verified.clear()
    for text in DECLARATIONS:
        owner.execute(text)
    assert verified == [False] * (len(DECLARATIONS) - 1) + [True]  # a budget is no new state


@pytest.mark.parametrize("verifying_fails", [False, True])
def test_one_that_fails_leaves_those_before_it_and_none_behind(
    owner, verified, monkeypatch, verifying_fails
):
    owner.run("; ".join(DECLARATIONS))
    verified.clear()
    if verifying_fails:
        monkeypatch.setattr(Kernel, "_facts", lambda *_: error("verifying"))
    with pytest.raises(DeclarationError, match="needs low <= high"):
        owner.run(
            "ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = 3);"
            " ALTER TABLE visits ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN (9, 0);"
            " ALTER TABLE visits ALTER COLUMN y DROP PRIVACY DOMAIN"
        )
    assert len(verified) == 1
    contract = owner._access.tables.contracts()["visits"]
    assert contract.unit is not None
    assert contract.unit.rows_per_unit == 3
    assert contract.facts.bounded is not verifying_fails
    assert contract.column("y").domain is not None


def test_one_whose_rows_cannot_be_counted_stands_and_none_behind_it(owner, monkeypatch):
    owner.run("; ".join(DECLARATIONS[:3]))
    monkeypatch.setattr(owner_tables, "rows_outside", lambda *_: error("counting"))
    with pytest.raises(OperationalError, match="counting"):
        owner.run(
            f"ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = 3); {DECLARATIONS[3]};"
            f" {DECLARATIONS[4]}"
        )
    contract = owner._access.tables.contracts()["visits"]
    assert contract.column("x").domain is not None
    assert contract.column("y").domain is None
    assert contract.facts.bounded


def test_a_write_between_two_is_seen_by_the_second(owner):
    results = owner.run(
        f"{DECLARATIONS[0]}; {DECLARATIONS[3]}; DELETE FROM visits WHERE x > 3; {DECLARATIONS[3]};"
        f" INSERT INTO visits VALUES (6, 50, 1); {DECLARATIONS[1]}; {DECLARATIONS[2]}"
    )
    assert "5 rows beyond" in results[1].message
    assert "beyond" not in results[3].message
    contract = owner._access.tables.contracts()["visits"]
    assert not contract.facts.bounded  # id 6 has three rows


def test_one_that_names_no_table_is_refused_in_its_turn(owner):
    with pytest.raises((Refused, ProgrammingError), match="nowhere"):
        owner.run(f"{DECLARATIONS[0]}; ALTER TABLE nowhere ADD PRIVACY_KEY (id)")
    assert owner._access.kernel.ledger.declarations()[1]["visits"]["key"] == "id"
