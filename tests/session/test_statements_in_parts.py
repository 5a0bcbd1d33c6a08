"""Statements of several private queries and a tail: what they cost, and what stays out of reach."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from support.templates import vault_of

from sqlpriv.errors import ProgrammingError, Refused
from sqlpriv.kernel.proof import noise
from sqlpriv.session.session import Session

SETUP = """
CREATE TABLE people AS SELECT range AS id, (range % 2 + 1)::TINYINT AS sex,
    (range % 3 + 1)::TINYINT AS race, (range % 80)::TINYINT AS age FROM range(600);
ALTER TABLE people ADD PRIMARY KEY (id);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN (1, 2);
ALTER TABLE people ALTER COLUMN race SET PRIVACY DOMAIN IN (1, 2, 3);
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN (0, 99);
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 8);
CREATE TABLE pets AS SELECT range AS id, range % 200 AS holder FROM range(300);
ALTER TABLE pets ADD PRIMARY KEY (id);
ALTER TABLE pets ADD PRIVACY_KEY (id);
ALTER TABLE pets SET PU;
ALTER TABLE pets SET PRIVACY BUDGET (epsilon = 8);
CREATE TABLE shares AS SELECT * FROM (VALUES (1, 0.25), (2, 0.75)) AS v (sex, weight);
ALTER TABLE shares SET PUBLIC;
CREATE TABLE secrets AS SELECT 1 AS x;
"""
PRICED = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5)"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return vault_of(SETUP, tmp_path / "people.duckdb")


@pytest.fixture
def analyst(vault: Path) -> Iterator[Session]:
    with Session(vault, principal="ann") as session:
        yield session


def spent(session: Session) -> dict[str, tuple[float, int]]:
    table = session.execute("SHOW PRIVACY BUDGET").table
    assert table is not None
    rows = table.to_pylist()
    return {row["unit_table"]: (row["epsilon_spent"], row["charges"]) for row in rows}


@pytest.mark.parametrize(
    ("statement", "of_people", "of_pets", "queries"),
    [
        (f"{PRICED} race, COUNT(*) / SUM(COUNT(*)) OVER () FROM people GROUP BY race", 0.5, 0, 1),
        (
            f"{PRICED} 'a', COUNT(*) FROM people UNION ALL SELECT 'b', COUNT(*) FROM people"
            " WHERE sex = 1",
            0.5,
            0,
            2,
        ),
        (f"{PRICED} (SELECT COUNT(*) FROM people), (SELECT COUNT(*) FROM pets)", 0.25, 0.25, 2),
        (
            f"SELECT a.n / b.n FROM ({PRICED} COUNT(*) AS n FROM people) a, "
            "(SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.2) COUNT(*) AS n FROM pets) b",
            0.5,
            0.2,
            2,
        ),
        (
            f"WITH w AS ({PRICED} race, COUNT(*) AS n FROM people GROUP BY race) "
            "SELECT x.n - y.n FROM w x JOIN w y ON x.race = y.race + 1",
            0.5,
            0,
            1,
        ),
    ],
)
def test_prices_add_up_and_are_told_before(
    analyst: Session, statement: str, of_people: float, of_pets: float, queries: int
) -> None:
    quote = analyst.quote(statement)
    explained = analyst.execute(f"EXPLAIN PRIVACY {statement}").table
    schema = analyst.describe(statement)
    assert spent(analyst) == {"people": (0, 0), "pets": (0, 0)}
    result = analyst.execute(statement)
    (people, people_charges), (pets, pets_charges) = spent(analyst).values()
    assert (people, pets) == pytest.approx((of_people, of_pets))
    assert people_charges + pets_charges == queries
    assert result.epsilon == pytest.approx(quote.epsilon) == pytest.approx(of_people + of_pets)
    assert {charge.unit_table for charge in quote.charges} == {
        table for table, price in (("people", of_people), ("pets", of_pets)) if price
    }
    assert explained is not None
    totals = [row["epsilon"] for row in explained.to_pylist() if row["measurement"] == "total"]
    assert sum(totals) == pytest.approx(of_people + of_pets)
    assert result.table is not None
    assert result.table.schema == schema
    assert analyst.execute(statement).epsilon == 0, "answers that are sealed are free"


@pytest.mark.parametrize(
    "statement",
    [
        f"{PRICED} COUNT(*) OVER () FROM people",
        f"{PRICED} age, RANK() OVER (ORDER BY age) FROM people",
        f"{PRICED} race, SUM(age) OVER () FROM people GROUP BY race",
        f"{PRICED} race, COUNT(*) FROM people GROUP BY race QUALIFY age = MAX(age) OVER ()",
        f"{PRICED} COUNT(*) FROM people UNION ALL SELECT age FROM people",
        f"{PRICED} COUNT(*) FROM people UNION ALL SELECT x FROM secrets",
        f"{PRICED} COUNT(*) FROM people UNION ALL SELECT COUNT(*) FROM secrets",
        f"SELECT * FROM ({PRICED} sex, COUNT(*) AS n FROM people GROUP BY sex), people",
        f"SELECT * FROM ({PRICED} COUNT(*) AS n FROM people), read_csv('/etc/passwd')",
        f"SELECT * FROM ({PRICED} COUNT(*) AS n FROM people), '/etc/passwd'",
        f"SELECT * FROM ({PRICED} COUNT(*) AS n FROM people), information_schema.tables",
        f"SELECT * FROM ({PRICED} COUNT(*) AS n FROM people), duckdb_settings()",
        f"SELECT * FROM ({PRICED} COUNT(*) AS n FROM people), nowhere",
        f"SELECT n, (SELECT MAX(age) FROM people WHERE age < n) FROM ({PRICED} COUNT(*) AS n"
        " FROM people)",
        f"WITH RECURSIVE w AS ({PRICED} COUNT(*) AS n FROM people UNION ALL SELECT age FROM"
        " people) SELECT * FROM w",
        "PIVOT (SELECT * FROM people) ON sex USING COUNT(*)",
    ],
)
def test_raw_rows_and_other_tables_stay_out_of_reach(analyst: Session, statement: str) -> None:
    for text in (statement, f"EXPLAIN PRIVACY {statement}"):
        with pytest.raises(Refused):
            analyst.execute(text)
    with pytest.raises(Refused):
        analyst.quote(statement)
    assert spent(analyst) == {"people": (0, 0), "pets": (0, 0)}


def test_what_the_tail_gets_wrong_is_said_before_the_charge(analyst: Session) -> None:
    statement = f"{PRICED} race, no_such_function(COUNT(*)) OVER () FROM people GROUP BY race"
    with pytest.raises(ProgrammingError, match="no_such_function"):
        analyst.execute(statement)
    assert spent(analyst)["people"] == (0, 0)


def test_an_owner_gets_the_same_noised_numbers(vault: Path) -> None:
    statement = f"{PRICED} race, RANK() OVER (ORDER BY COUNT(*)) FROM people GROUP BY race"
    tables = []
    for role in ("analyst", "owner"):
        with Session(vault, role=role) as session:
            result = session.execute(statement)
            assert not result.exact
            tables.append(result.table)
    assert tables[0] == tables[1]


def test_parameters_reach_the_part_that_they_stand_in(
    analyst: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noise.Noise, "draw", lambda _, n: [0] * n)
    marked = (
        f"{PRICED} sex, COUNT(*) AS n, SUM(COUNT(*)) OVER () + {{}} AS s FROM people"
        " WHERE age < {} GROUP BY sex HAVING COUNT(*) > {} ORDER BY sex"
    )
    expected = pa.table({"n": [160, 160], "s": [420, 420]})
    for names, values in (
        ("???", [100, 40, 1]),
        (("$1", "$2", "$3"), [100, 40, 1]),
        (("$a", ":b", "$c"), {"a": 100, "b": 40, "c": 1}),
    ):
        table = analyst.execute(marked.format(*names), values).table
        assert table is not None
        assert table.select(["n", "s"]).to_pylist() == expected.to_pylist()


def test_a_with_that_doubles_itself_is_refused_as_such(analyst: Session) -> None:
    """Once the refusal was of the last name, which "is no table of this vault"."""
    doubled = ", ".join(
        f"w{i} AS (SELECT age FROM w{i - 1} UNION ALL SELECT age FROM w{i - 1})"
        for i in range(1, 21)
    )
    with pytest.raises(Refused, match="queries of WITH are used more than 100 times"):
        analyst.execute(
            f"WITH w0 AS (SELECT age FROM people), {doubled} {PRICED} COUNT(*) FROM w20"
        )


def test_a_refusal_of_a_part_has_its_place_in_the_whole_text(analyst: Session) -> None:
    text = (
        "SELECT 1;\n  SELECT sex, n, RANK() OVER (ORDER BY n) AS r\n"
        "  FROM (SELECT sex, SUM(nothing) AS n FROM people GROUP BY sex)"
    )
    analyst.execute("SET privacy_epsilon = 1")
    with pytest.raises(Refused, match="nothing") as caught:
        analyst.execute(text)
    assert (caught.value.line, caught.value.column) == (3, 25)


OF_STRATA = (
    f"WITH q AS ({PRICED} sex, race, COUNT(*) AS n FROM people GROUP BY race STRATIFY BY sex)"
)


@pytest.mark.parametrize(
    ("tail", "marked"),
    [
        ("SELECT * FROM q", {"sex": {6, 7, 8}}),
        ("SELECT race, sex FROM q ORDER BY sex DESC, race", {"sex": {6, 7, 8}}),
        ("SELECT sex AS s FROM q ORDER BY sex NULLS FIRST, race", {"s": {0, 1, 2}}),
        ("SELECT DISTINCT sex AS s, CAST(NULL AS INTEGER) AS u FROM q ORDER BY s", {"s": {2}}),
        (
            "SELECT a.race, b.sex AS s FROM q AS a LEFT JOIN q AS b ON a.race = b.race + 1"
            " AND a.sex = b.sex + 1 ORDER BY ALL",
            {},
        ),
        ("SELECT max(sex) AS s, CAST(NULL AS INTEGER) AS u FROM q", {}),
    ],
)
def test_nulls_that_are_of_all_values_stay_marked(
    analyst: Session, tail: str, marked: dict[str, set[int]]
) -> None:
    assert analyst.execute(f"{OF_STRATA} {tail}").summed == marked


@pytest.mark.parametrize(
    ("type_", "labels"),
    [
        ("BOOLEAN", "TRUE, FALSE"),
        ("TINYINT", "1, 100"),
        ("UTINYINT", "1, 100"),
        ("DECIMAL(3, 2)", "1, 2"),
        ("DECIMAL(4, 2)", "1.25, 2.5"),
        ("DECIMAL(18, 0)", "1, 2"),
    ],
)
@pytest.mark.parametrize("tail", ["SELECT key FROM q", "SELECT n, key FROM q ORDER BY key, n"])
def test_nulls_of_every_type_of_key_stay_marked(
    vault: Path, type_: str, labels: str, tail: str
) -> None:
    with Session(vault, role="owner") as owner:
        owner.execute("ALTER TABLE people ALTER COLUMN sex DROP PRIVACY DOMAIN")
        typed = f"TYPE {type_} USING (sex = 1)::INT::{type_}"
        owner.execute(f"ALTER TABLE people ALTER COLUMN sex {typed}")
        owner.execute(f"ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN ({labels})")
        with_q = f"WITH q AS ({PRICED} sex AS key, COUNT(*) AS n FROM people STRATIFY BY sex)"
        assert owner.execute(f"{with_q} {tail}").summed == {"key": {2}}


@pytest.mark.parametrize(
    "rest",
    [
        "v.race, COUNT(*) {} ON p.race = v.race GROUP BY v.race",
        "v.race, SUM(CASE WHEN p.age IS NULL THEN 1 END) {} ON p.race = v.race GROUP BY v.race",
        "p.sex, COUNT(p.id) {} ON p.race = v.race GROUP BY p.sex",
        "sex AS sex, COUNT(p.id) {} ON p.race = v.race GROUP BY sex",
        "v.race, COUNT(p.id) {} ON p.race = v.race WHERE p.age > 9 GROUP BY v.race",
        "v.race, COUNT(v.race) {} ON p.race = v.race GROUP BY v.race",
    ],
)
def test_a_written_row_that_is_kept_alone_may_not_count(analyst: Session, rest: str) -> None:
    """Which rows have no private one is private: each of these would show it."""
    joined = "FROM (VALUES (1), (7)) AS v(race) LEFT JOIN people p"
    with pytest.raises(Refused, match="a written row without a private one would count here"):
        analyst.execute(f"{PRICED} {rest.format(joined)}")
    assert spent(analyst)["people"] == (0, 0)
