"""Real census rows, the whole way: vault, declaration, questions, a published synthetic table.

Run from the repository's root, where ../shared/data holds the rows:
`python examples/ny_census.py [DIRECTORY]`. The files are made in DIRECTORY, or in a temporary one.
"""

import sys
import tempfile
from pathlib import Path

import duckdb

import sqlpriv

HERE = Path(__file__).parent
SYNTHETIC = """
CREATE OR REPLACE SYNTHETIC TABLE people_synth AS
SELECT SEX, RAC5, AGEP, SCHL, MAR2, WKHP, PINCP_GT50K FROM people
STRATIFY BY SEX, RAC5 USING mst OPTIONS (epsilon = 1)
"""
COMPARE = "SELECT SEX, AVG(AGEP), AVG(WKHP), AVG(PINCP_GT50K) FROM {} GROUP BY SEX ORDER BY SEX"


ROWS = Path("../shared/data/acs2018_ny_income.parquet")


def main(directory: Path) -> None:
    if not ROWS.exists():
        sys.exit(f"the census rows are not there: {ROWS}; examples/quickstart.py needs no data")
    vault = directory / "ny.duckdb"
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute((HERE / "ny_census_vault.sql").read_text())

    with sqlpriv.connect(vault) as analyst:
        for statement in analyst.session.statements((HERE / "ny_census.sql").read_text()):
            print(statement, "\n")
            rows = analyst.execute(statement).df().drop(columns="sql", errors="ignore")
            print(rows.to_string(index=False), "\n")

    with sqlpriv.connect(vault, role="owner") as owner:
        print(owner.execute(SYNTHETIC).result.message)
        print("the vault, which only its owner sees:", *owner.execute(COMPARE.format("people")))

    with duckdb.connect(str(directory / "ny.release.duckdb"), read_only=True) as anybody:
        print("the synthetic table, in plain DuckDB:")
        print(anybody.sql(COMPARE.format("people_synth")))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            main(Path(made))
