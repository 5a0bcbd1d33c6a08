"""An analyst puts rows of their own in the place of a released table that others read."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlpriv.errors import PermissionDenied, Refused
from sqlpriv.session.session import Session
from sqlpriv.session.synthetic import draw_from_model

DECLARED = """
CREATE TABLE people AS SELECT range AS id, range % 5 AS n FROM range(200);
ALTER TABLE people SET PRIVACY (KEY (id), BOUND (rows_per_unit = 1));
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 100);
ALTER TABLE people ALTER COLUMN n SET PRIVACY DOMAIN BETWEEN (0, 4);
"""
MAKES = "CREATE {} SYNTHETIC TABLE {} AS SELECT n FROM people USING independent OPTIONS (epsilon=1)"
BY_OTHERS = {
    "a statement of its own": MAKES.format("OR REPLACE", "census_people"),
    "one row of its model": "CREATE OR REPLACE SYNTHETIC TABLE census_people"
    " FROM MODEL census_people ROWS 1",
    "a schema": "CREATE OR REPLACE SYNTHETIC SCHEMA census AS TABLES people USING independent"
    " OPTIONS (epsilon = 1)",
    "another way to write the name": MAKES.format("OR REPLACE", '"Census_People"'),
    "the maker's name in a comment": MAKES.format("OR REPLACE", "census_people")
    + " -- Made by bob. Statement: More rows of its model by bob: ",
}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    path = tmp_path / "people.duckdb"
    with Session(path, role="owner", principal="olga") as owner:
        owner.execute(DECLARED)
    return path


def run(vault: Path, sql: str, principal: str, role: str = "analyst") -> None:
    with Session(vault, role=role, principal=principal) as session:
        session.execute(sql)


def state(vault: Path) -> tuple[list[object], object]:
    """What everybody reads, and what was charged."""
    with Session(vault, principal="eve") as anybody:
        rows = anybody.execute("SELECT * FROM census_people").table
        budget = anybody.execute("SHOW PRIVACY BUDGET").table
    assert rows is not None
    assert budget is not None
    return rows.to_pylist(), budget["charges"].to_pylist()


@pytest.mark.parametrize("attack", BY_OTHERS)
@pytest.mark.parametrize("maker", ["olga", "ada"])
def test_a_released_table_is_replaced_by_who_made_it_alone(
    vault: Path, attack: str, maker: str
) -> None:
    """Rows of one's own choice stood where others read the owner's, at no cost by its model."""
    run(vault, MAKES.format("", "census_people"), maker, "owner" if maker == "olga" else "analyst")
    before = state(vault)
    with pytest.raises(PermissionDenied, match="somebody else made"):
        run(vault, BY_OTHERS[attack], "bob")
    assert state(vault) == before
    run(vault, BY_OTHERS["one row of its model"], "olga", "owner")
    assert len(state(vault)[0]) == 1


def test_an_owner_reads_their_view_and_no_table_that_has_its_name(vault: Path) -> None:
    """An analyst's rows, of a table made before the view or after it, were what the owner read."""
    run(vault, MAKES.format("", "census_people"), "olga", "owner")
    run(vault, "CREATE SYNTHETIC TABLE totals FROM MODEL census_people ROWS 3", "eve")
    with Session(vault, role="owner", principal="olga") as owner:
        assert len(owner.execute("SELECT * FROM totals").table) == 3
        owner.execute("CREATE VIEW Totals AS SELECT COUNT(*) AS of_all FROM people")
        for query in ("SELECT * FROM totals", "FROM Totals t"):
            assert owner.execute(query).table.to_pylist() == [{"of_all": 200}]
        assert len(owner.execute("SELECT * FROM census_people").table) > 100


def test_no_released_table_stands_before_the_catalog(vault: Path) -> None:
    """An analyst's rows were what everybody read as duckdb_tables, their owner as well."""
    run(vault, MAKES.format("", "census_people"), "olga", "owner")
    with Session(vault, principal="eve") as eve:
        views = "SELECT view_name FROM duckdb_views() WHERE schema_name IN ('main', 'pg_catalog')"
        names = eve.execute(f"{views} AND internal").table["view_name"].to_pylist()
        assert len(names) > 20
        for name in (*names, "Duckdb_Tables"):
            with pytest.raises(Refused, match="a name of the catalog's"):
                eve.execute(f'CREATE SYNTHETIC TABLE "{name}" FROM MODEL census_people ROWS 1')


def test_who_drew_a_table_of_anothers_model_may_replace_it(vault: Path) -> None:
    run(vault, MAKES.format("", "hers"), "ada")
    draws = "CREATE OR REPLACE SYNTHETIC TABLE his FROM MODEL hers ROWS {}"
    run(vault, draws.format(3), "bob")
    run(vault, draws.format(4), "bob")
    with pytest.raises(PermissionDenied, match="somebody else made"):
        run(vault, draws.format(5), "ada")


def test_a_table_that_comes_while_another_is_made_is_not_replaced(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sqlpriv.session.synthetic import create_synthetic

    def meanwhile(*_: object) -> None:
        monkeypatch.undo()
        run(vault, MAKES.format("", "census_people"), "olga", "owner")

    make = create_synthetic.synthetic_tables.comment
    monkeypatch.setattr(
        create_synthetic.synthetic_tables, "comment", lambda *args: meanwhile() or make(*args)
    )
    with pytest.raises(PermissionDenied, match="somebody else made"):
        run(vault, BY_OTHERS["a statement of its own"], "bob")


def test_an_analyst_draws_so_many_tables_and_no_more(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They cost nothing, so one analyst could fill the disk. A text that says that somebody else
    drew the table counts as one's own, too."""
    monkeypatch.setattr(draw_from_model, "MOST_DRAWN", 2)
    run(vault, MAKES.format("", "hers"), "ada")
    draws = "CREATE {} SYNTHETIC TABLE {} FROM MODEL hers ROWS 1"
    run(vault, draws.format("", "one"), "bob")
    run(vault, draws.format("", "two") + " WHERE ' More rows of its model by ada: ' <> ''", "bob")
    with pytest.raises(Refused, match="bob has drawn 2 tables"):
        run(vault, draws.format("", "three"), "bob")
    run(vault, draws.format("OR REPLACE", "two"), "bob")
    run(vault, draws.format("", "three"), "ada")
    for name in ("four", "five", "six"):
        run(vault, draws.format("", name), "olga", "owner")
    with Session(vault, role="owner", principal="olga") as owner:
        owner.execute("DROP SYNTHETIC TABLE one")
    run(vault, draws.format("", "seven"), "bob")
