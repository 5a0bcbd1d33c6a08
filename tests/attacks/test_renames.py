"""Attacks by renaming: a table under another name never has a fresh budget, nor others' rights.

Each attack is an owner's plain SQL, in the order that would win something if protection went by
name alone: a budget that is whole again, private rows under the name of a public table, another
column as the unit's key.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support.templates import vault_of

from sqlpriv.errors import BudgetExhausted, DeclarationError, Error, OperationalError, Refused
from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.session.access.owner_engine import OwnerEngine
from sqlpriv.session.access.renames import FollowedTables
from sqlpriv.session.session import Result, Session

VAULT = """
CREATE TABLE people AS SELECT i AS id, i % 2 AS sex, i % 90 AS age FROM range(2000) r(i);
CREATE TABLE visits AS SELECT i % 2000 AS pid, i % 40 AS cost FROM range(4000) r(i);
CREATE TABLE codes AS SELECT i AS code FROM range(3) r(i);
CREATE TABLE blank AS SELECT i AS id, i % 2 AS sex, i % 90 AS age FROM range(10) r(i);
ALTER TABLE people SET PRIVACY (KEY (id), BOUND (rows_per_unit = 1), COLUMN sex IN (0, 1),
    COLUMN age BETWEEN (0, 99), BUDGET (epsilon = 1, delta = 1e-9));
ALTER TABLE visits SET PRIVACY (LINK (pid) REFERENCES people(id), BOUND (rows_per_unit = 2),
    COLUMN cost BETWEEN (0, 40));
ALTER TABLE codes SET PRIVACY (PUBLIC);
"""
COUNT = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.8) COUNT(*) AS n FROM {}"


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Session]:
    """An owner whose budget for people is mostly spent: epsilon 0.8 of 1."""
    path = vault_of(f"{VAULT};{COUNT.format('people')}", tmp_path / "people.duckdb")
    with Session(path, role="owner") as session:
        yield session


def rows(result: Result) -> list[dict[str, object]]:
    assert result.table is not None
    return result.table.to_pylist()


def spent(session: Session) -> dict[object, tuple[object, object]]:
    found = rows(session.execute("SHOW PRIVACY BUDGET"))
    return {row["unit_table"]: (row["rho_spent"], row["charges"]) for row in found}


def shown(session: Session) -> str:
    found = rows(session.execute("SHOW PRIVACY DECLARATIONS"))
    return "\n".join(str(row["declaration"]) for row in found)


SAME_ACCOUNT = {
    "renamed": "ALTER TABLE people RENAME TO persons",
    "renamed in a transaction": "BEGIN; ALTER TABLE people RENAME TO persons; COMMIT",
    "renamed twice at once": "ALTER TABLE people RENAME TO p; ALTER TABLE p RENAME TO persons",
    "renamed while explained": "EXPLAIN ANALYZE ALTER TABLE people RENAME TO persons",
    "in another case, by schema": "aLTER /* x */ TABLE main.People RENAME TO Persons",
    "one after the other": "ALTER TABLE people RENAME TO p; SHOW PRIVACY TABLES;"
    " ALTER TABLE p RENAME TO persons",
    "a blank one takes its name": "ALTER TABLE people RENAME TO persons;"
    " ALTER TABLE blank RENAME TO people",
    "a new one takes its name": "BEGIN; ALTER TABLE people RENAME TO persons;"
    " CREATE TABLE people AS FROM persons LIMIT 3; COMMIT",
}


@pytest.mark.parametrize("attack", SAME_ACCOUNT)
def test_a_renamed_table_keeps_its_account_and_its_protection(owner: Session, attack: str) -> None:
    before, declared = spent(owner)["people"], shown(owner)
    owner.execute(SAME_ACCOUNT[attack])
    accounts = {str(table).lower(): x for table, x in spent(owner).items()}
    assert accounts == dict.fromkeys(accounts, before), "what was spent is spent under both names"
    assert "persons" in accounts
    lines = shown(owner).lower().replace('"', "").split("\n")
    assert sorted(lines) == sorted(declared.lower().replace("people", "persons").split("\n"))
    with pytest.raises(BudgetExhausted, match="is left"):
        owner.execute(COUNT.format("persons"))
    owner.settle()
    with Session(owner.vault) as analyst:
        with pytest.raises(Refused):
            analyst.execute("SELECT * FROM persons")
        with pytest.raises(Refused, match=r"nobody declared|no table|no released"):
            analyst.execute(COUNT.format("people"))
    print(f"{attack}: gained nothing, {before[0]} of rho stays spent")


def test_a_new_table_under_the_old_name_shares_what_was_spent(owner: Session) -> None:
    before = spent(owner)["people"]
    owner.execute("ALTER TABLE people RENAME TO persons; CREATE TABLE people AS FROM persons")
    owner.execute(
        "ALTER TABLE people SET PRIVACY (KEY (id), BOUND (rows_per_unit = 1),"
        " BUDGET (epsilon = 1, delta = 1e-9))"
    )
    assert spent(owner) == {"people": before, "persons": before}
    with pytest.raises(BudgetExhausted, match="is left"):
        owner.execute(COUNT.format("people"))


@pytest.mark.parametrize(
    "rebuild",
    [
        "CREATE TABLE new AS FROM people; DROP TABLE people; ALTER TABLE new RENAME TO people",
        "CREATE TABLE new AS FROM people; SHOW PRIVACY TABLES; DROP TABLE people;"
        " SHOW PRIVACY TABLES; ALTER TABLE new RENAME TO people",
        "CREATE OR REPLACE TABLE people AS FROM people",
        "ALTER TABLE people RENAME TO persons; SHOW PRIVACY TABLES; DROP TABLE persons;"
        " SHOW PRIVACY TABLES; CREATE TABLE persons AS SELECT 1 AS id;"
        " ALTER TABLE persons RENAME TO people",
    ],
)
def test_a_table_made_anew_under_the_name_has_what_was_spent(owner: Session, rebuild: str) -> None:
    before = spent(owner)["people"]
    owner.execute(rebuild)
    owner.execute(
        "ALTER TABLE people SET PRIVACY (KEY (id), BOUND (rows_per_unit = 1),"
        " BUDGET (epsilon = 1, delta = 1e-9))"
    )
    assert spent(owner)["people"] == before


def test_two_tables_that_change_names_change_nothing_else(owner: Session) -> None:
    swap = (
        "ALTER TABLE people RENAME TO t; ALTER TABLE codes RENAME TO people;"
        " ALTER TABLE t RENAME TO codes"
    )
    before = spent(owner)["people"]
    owner.execute(f"BEGIN; {swap}; COMMIT")
    assert spent(owner)["codes"] == before
    with Session(owner.vault) as analyst:
        assert len(rows(analyst.execute("SELECT * FROM people"))) == 3, "codes are public still"
        with pytest.raises(Refused):
            analyst.execute("SELECT * FROM codes")
    assert "LINK (pid) REFERENCES codes(id)" in shown(owner)


@pytest.mark.parametrize("between", ["", "SHOW PRIVACY TABLES;"])
def test_private_rows_do_not_become_public_by_a_public_name(owner: Session, between: str) -> None:
    owner.execute(f"DROP TABLE codes; {between} ALTER TABLE people RENAME TO codes")
    with Session(owner.vault) as analyst, pytest.raises(Refused):
        analyst.execute("SELECT * FROM codes")
    owner.execute(f"ALTER TABLE codes RENAME TO t; {between} ALTER TABLE blank RENAME TO codes")
    with Session(owner.vault) as analyst, pytest.raises(Refused):
        analyst.execute("SELECT * FROM codes")


def test_a_rename_that_is_undone_is_none(owner: Session) -> None:
    declared, before = shown(owner), spent(owner)
    owner.execute(
        "BEGIN; ALTER TABLE people RENAME TO persons; ALTER TABLE persons RENAME sex TO s"
    )
    owner.rollback()
    owner.execute(
        "BEGIN; ALTER TABLE people RENAME age TO years; ROLLBACK;"
        " ALTER TABLE visits RENAME cost TO price"
    )
    assert shown(owner) == declared.replace("COLUMN cost", "COLUMN price")
    assert spent(owner) == before


def test_columns_take_domain_key_and_links_along(owner: Session) -> None:
    declared = shown(owner)
    owner.execute(
        "ALTER TABLE people RENAME COLUMN id TO person; ALTER TABLE people RENAME sex TO"
        " gender; ALTER TABLE visits RENAME pid TO whose"
    )
    assert shown(owner) == (
        declared.replace("KEY (id)", "KEY (person)")
        .replace("people(id)", "people(person)")
        .replace("COLUMN sex", "COLUMN gender")
        .replace("(pid)", "(whose)")
    )
    owner.execute(
        "BEGIN; ALTER TABLE people RENAME gender TO t; ALTER TABLE people RENAME age TO"
        " gender; ALTER TABLE people RENAME t TO age; COMMIT"
    )
    assert "COLUMN gender BETWEEN (0, 99)" in shown(owner)
    assert "COLUMN age IN (0, 1)" in shown(owner)


def test_another_column_in_the_place_of_the_key_is_no_key(owner: Session) -> None:
    """Dropped and added: the column is at its place, of the same type, but it names nobody."""
    owner.execute("ALTER TABLE people DROP COLUMN age; ALTER TABLE people ADD COLUMN other INTEGER")
    assert "other" not in shown(owner)
    owner.execute(
        "CREATE OR REPLACE TABLE people AS SELECT age AS age, sex, id AS other FROM"
        " (SELECT 1 AS id, 1 AS sex, 2 AS age)"
    )
    owner.settle()
    with Session(owner.vault) as analyst, pytest.raises(Refused, match="nobody declared"):
        analyst.execute(COUNT.format("people"))


def test_a_process_that_ends_after_a_rename_leaves_nothing_open(owner: Session) -> None:
    """The ledger knows of a rename when its statement returns, not when the session ends."""
    owner.execute("ALTER TABLE people RENAME TO persons")
    with Session(owner.vault) as analyst:
        assert spent(analyst)["persons"][1] == 1


TAKES_A_PUBLIC_NAME = {
    "one by one": ("DROP TABLE codes", "ALTER TABLE people RENAME TO codes"),
    "explained": ("DROP TABLE codes", "EXPLAIN ANALYZE ALTER TABLE people RENAME TO codes"),
    "in a transaction": (
        "BEGIN",
        "ALTER TABLE people RENAME TO t",
        "ALTER TABLE codes RENAME TO people",
        "ALTER TABLE t RENAME TO codes",
        "COMMIT",
    ),
    "dropped and made anew": (
        "DROP TABLE codes",
        "SHOW PRIVACY TABLES",
        "CREATE TABLE codes AS FROM people",
    ),
    "a column becomes the key": (
        "BEGIN",
        "ALTER TABLE people RENAME id TO t",
        "ALTER TABLE people RENAME age TO id",
        "ALTER TABLE people RENAME t TO age",
        "COMMIT",
    ),
}


@pytest.mark.parametrize("renames", TAKES_A_PUBLIC_NAME)
def test_a_rename_whose_ledger_fails_behind_it_opens_no_table(owner: Session, renames: str) -> None:
    """Macros in the vault, a ledger that cannot be reached, or a kill: what the tables were called
    is forgotten. `codes` was public, and is the people now."""
    owner.execute("CREATE MACRO m() AS 1")
    for statement in TAKES_A_PUBLIC_NAME[renames]:
        with suppress(OperationalError):
            owner.execute(statement)
    owner.execute("DROP MACRO m")
    owner.settle()
    with Session(owner.vault) as analyst:
        if renames == "a column becomes the key":
            with pytest.raises(Refused, match="nobody declared"):
                analyst.execute(COUNT.format("people"))
            return
        for question in ("SELECT * FROM codes", COUNT.format("codes")):
            with pytest.raises((Refused, BudgetExhausted)):
                analyst.execute(question)


def test_a_table_of_units_does_not_take_the_place_of_a_public_one(owner: Session) -> None:
    """It was made, and refused then: what was loaded into it was public."""
    made = "CREATE OR REPLACE PU TABLE codes (id INTEGER PRIMARY KEY, PRIVACY_KEY (id))"
    with pytest.raises(DeclarationError, match="UNSET PUBLIC first"):
        owner.execute(made)
    assert [row["code"] for row in rows(owner.execute("SELECT * FROM codes"))] == [0, 1, 2]
    owner.execute(f"ALTER TABLE codes UNSET PUBLIC; {made}; INSERT INTO codes VALUES (7)")
    owner.settle()
    with Session(owner.vault) as analyst, pytest.raises(Refused):
        analyst.execute("SELECT * FROM codes")


@pytest.mark.parametrize(
    "made", ["CREATE OR REPLACE TABLE codes", 'create or replace table main."Codes"']
)
def test_who_makes_a_public_table_anew_is_told_that_it_is_public(owner: Session, made: str) -> None:
    said = owner.execute(f"{made} AS FROM people").message
    assert "is public: anyone may read its rows" in said
    assert "UNSET PUBLIC" in said
    owner.execute("ALTER TABLE codes UNSET PUBLIC")
    for private in (f"{made} AS FROM people", "CREATE TABLE t AS SELECT 'codes' AS codes"):
        assert "public" not in owner.execute(private).message


def test_nobody_reads_between_a_rename_and_its_ledger(
    owner: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vault can be read before its declarations have followed: whoever polls is there."""
    release, seen = OwnerEngine.release, list[str]()

    def release_and_look(engine: OwnerEngine) -> FollowedTables | None:
        followed = release(engine)
        if followed is not None:
            with Session(owner.vault) as analyst:
                try:
                    seen.append(f"{len(rows(analyst.execute('SELECT * FROM codes')))} rows")
                except Error as error:
                    seen.append(type(error).__name__)
        return followed

    monkeypatch.setattr(OwnerEngine, "release", release_and_look)
    owner.execute("DROP TABLE codes; ALTER TABLE people RENAME TO codes")
    assert seen == ["Refused"]


def test_a_rename_that_its_ledger_cannot_hold_is_undone(
    owner: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = shown(owner)

    def fail(*_: object, **__: object) -> int:
        raise OperationalError("the ledger cannot be used just now")

    for statements in (
        "ALTER TABLE people RENAME TO persons",
        "BEGIN; ALTER TABLE people RENAME TO persons; COMMIT",
    ):
        with monkeypatch.context() as patched:
            patched.setattr(Ledger, "declare", fail)
            with pytest.raises(OperationalError, match="cannot be used"):
                owner.execute(statements)
        owner.rollback()
        assert shown(owner) == declared


def test_a_commit_that_fails_gives_declarations_back(owner: Session) -> None:
    declared = shown(owner)
    owner.execute("CREATE TABLE one (id INTEGER PRIMARY KEY); INSERT INTO one VALUES (1)")
    with suppress(Error):
        owner.execute("BEGIN; ALTER TABLE people RENAME TO persons; INSERT INTO one VALUES (1)")
    with suppress(Error):
        owner.execute("COMMIT")
    owner.rollback()
    assert shown(owner) == declared


def test_a_table_gets_no_rights_of_one_whose_name_differs_in_case_alone(owner: Session) -> None:
    """DuckDB tells Ä and ä apart, and declarations do not: ä was public, and then Ä was."""
    owner.execute('CREATE TABLE "ä" (region INTEGER); ALTER TABLE "ä" SET PUBLIC')
    owner.execute("""CREATE TABLE "Ä" AS SELECT 'hidden' AS secret""")
    for _ in range(2):
        owner.settle()
        with Session(owner.vault) as analyst, pytest.raises(Refused):
            analyst.execute('SELECT * FROM "Ä"')
        owner.execute('DROP TABLE IF EXISTS "ä"')
    assert "undeclared" in str(rows(owner.execute("SHOW PRIVACY TABLES")))


def test_a_link_leads_to_no_column_that_differs_from_a_unique_one_in_case_alone(
    owner: Session,
) -> None:
    """Each row would have as many parents as there are rows of that number."""
    owner.execute('CREATE TABLE homes ("É" INTEGER UNIQUE, "é" INTEGER, id INTEGER UNIQUE)')
    with pytest.raises(Error, match="no table"):
        owner.execute("ALTER TABLE homes ADD PRIVACY_LINK (id) REFERENCES people(id)")
    with pytest.raises(Error, match="no table"):
        owner.execute('ALTER TABLE visits ADD PRIVACY_LINK (pid) REFERENCES homes("é")')
