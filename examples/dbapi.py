"""sqlpriv as a PEP 249 driver: what every Python tool that speaks SQL builds on.

Run it anywhere: `python examples/dbapi.py`. It works in a temporary directory, on made-up visits.
"""

import tempfile
from pathlib import Path

import sqlpriv

DECLARE = """
ALTER TABLE visits ADD PRIVACY_KEY (patient);
ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = 5);
ALTER TABLE visits SET PU;
ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('north', 'south');
ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN (0, 1000);
ALTER TABLE visits SET PRIVACY BUDGET (epsilon = 2, delta = 1e-9);
"""


def load(vault: Path) -> None:
    """The owner's side: plain SQL, values bound and never pasted, and a transaction."""
    with sqlpriv.connect(vault, role="owner") as owner:
        cursor = owner.cursor()
        cursor.execute("CREATE TABLE visits (patient BIGINT, ward VARCHAR, cost DOUBLE)")
        cursor.execute("BEGIN")
        rows = [("north", 3, 120.5), ("south", 7, 80.0)]
        cursor.executemany(
            "INSERT INTO visits SELECT range % 4000, ?, (range * ?) % 1000 + ? FROM range(6000)",
            rows,
        )
        owner.commit()
        print("loaded", cursor.execute("SELECT count(*) FROM visits").fetchone()[0], "visits")
        cursor.execute(DECLARE)


def ask(vault: Path) -> None:
    """The analyst's side."""
    with sqlpriv.connect(vault, principal="ada") as analyst, analyst.cursor() as cursor:
        # Several statements give several sets of rows; `?`, `$1` and `:name` bind values.
        cursor.execute(
            "SET privacy_epsilon = 0.5;"
            "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits WHERE cost >= :low"
            " STRATIFY BY ward; SHOW PRIVACY BUDGET",
            {"low": 100},
        )
        print([(name, type_code) for name, type_code, *_ in cursor.description])
        for ward, n, cost in cursor:
            print(ward or "everybody", n, round(cost, 1))
        widths = cursor.result.half_widths["cost"]
        print("±", [round(w, 1) for w in widths], "for epsilon", round(cursor.result.epsilon, 3))
        assert cursor.description[1][1] == sqlpriv.NUMBER
        cursor.nextset()
        print(cursor.df()[["unit_table", "epsilon", "epsilon_left"]].to_string(index=False))

        try:
            cursor.execute("SELECT patient FROM visits")
        except analyst.ProgrammingError as error:  # the module's errors, on the connection too
            print(error)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        load(Path(directory) / "clinic.duckdb")
        ask(Path(directory) / "clinic.duckdb")
