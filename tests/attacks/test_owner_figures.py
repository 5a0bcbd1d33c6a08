"""What an owner is told of the rows, and what is found true of them, reaches no analyst.

Two vaults have one declaration and other rows: in the first, values lie beyond their domains, units
have more rows than their bound, rows came late into closed days. Their owners are told different
figures; all that an analyst can look at without paying has to be the same, to the letter.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from sqlpriv.errors import Error
from sqlpriv.session.session import Session

TABLES = """CREATE TABLE people (id INTEGER PRIMARY KEY, age INTEGER, sex VARCHAR);
CREATE TABLE visits (who INTEGER, cost DOUBLE, day DATE);"""
DECLARED = """ALTER TABLE people ADD PRIVACY_KEY (id); ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN (0, 99);
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm');
ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = 2, groups_per_unit = 1);
ALTER TABLE visits ADD PRIVACY_LINK (who) REFERENCES people(id);
ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN (0, 10);
ALTER TABLE visits SET PRIVACY WINDOW (day, closed_before = DATE '2026-01-01');
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 5, delta = 1e-9, keys_delta = 1e-10)"""
PRICED = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1)"
FREE = (
    *(f"SHOW PRIVACY {of}" for of in ("TABLES", "BUDGET", "BUDGET HISTORY", "DECLARATIONS")),
    *(f"SHOW PRIVACY {of}" for of in ("RELEASES", "RELEASES DETAILS", "WINDOWS")),
    *("SHOW GRANTS", "DESCRIBE people", "DESCRIBE visits", "PRAGMA table_info('visits')"),
    f"EXPLAIN PRIVACY {PRICED} sex, count(*), avg(age) FROM people GROUP BY sex",
    f"EXPLAIN PRIVACY {PRICED} sum(cost) FROM visits STRATIFY BY cost > 5",
    f"EXPLAIN PRIVACY {PRICED} cost, count(*) FROM visits JOIN people ON who = id GROUP BY cost",
    "EXPLAIN PRIVACY SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1, left_out = true)"
    " count(*) FROM visits",
    "EXPLAIN PRIVACY CREATE SYNTHETIC TABLE s AS SELECT age, sex FROM people USING independent"
    " OPTIONS (epsilon = 1)",
    *("SELECT * FROM visits", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 9) 1"),
    f"{PRICED} sum(nothing) FROM visits",
    "EVALUATE SYNTHETIC TABLE s AGAINST people",
    *("ALTER TABLE people SET PU", "ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = auto)"),
)


def told(tmp_path: Path, beyond: bool) -> tuple[str, list[str]]:
    """What the owner of a vault was told, and what an analyst is."""
    folder = tmp_path / str(beyond)
    folder.mkdir()
    most, dearest = (120, 40) if beyond else (90, 11)
    rows = f"""INSERT INTO people SELECT i, i % {most}, ['f', 'm', 'x'][1 + i % {2 + beyond}]
        FROM range(200) r(i);
        INSERT INTO visits SELECT i % {40 + 160 * (not beyond)}, i % {dearest}, DATE '2025-12-01'
        FROM range(200) r(i)"""
    with Session(folder / "v.duckdb", role="owner") as owner:
        results = owner.run(f"{TABLES}{rows};{DECLARED}")
        if beyond:
            owner.run("INSERT INTO visits VALUES (1, 1, DATE '2025-12-02')")
        results += owner.run("SHOW PRIVACY WINDOWS; ALTER TABLE people SET PU")
    seen = []
    with Session(folder / "v.duckdb") as analyst:
        for sql in FREE:
            text = f"{sql}: "
            try:
                result = analyst.execute(sql)
                text += f"{result.message} {result.table and result.table.to_pylist()}"
            except Error as error:
                text += f"{type(error).__name__} {error}"
            seen.append(text)
            with suppress(Error):
                seen.append(f"{analyst.describe(sql)} {analyst.quote(sql)}")
        seen.append(f"{analyst.catalog()} {analyst.comments()} {analyst.budgets()}")
    return str(results), seen


def test_an_analyst_sees_nothing_of_what_the_owner_is_told(tmp_path: Path) -> None:
    (of_owner, with_beyond), (of_other, without) = (told(tmp_path, x) for x in (True, False))
    for words in ("beyond its ends", "not listed", "beyond 2 rows of a unit", "CHANGED"):
        assert words in of_owner
        assert words not in of_other
    assert with_beyond == without
