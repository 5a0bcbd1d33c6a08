"""Spark reads a table's files, sqlpriv answers: `python examples/spark/census.py [URL]`.

From the repository's root, where ../shared/data holds the rows: 103,021 people of New York (ACS
2018). They are written into two Parquet files, declared, asked, and released as a synthetic table.
Start the server first: examples/spark/serve.sh
"""

import sys
import tempfile
from pathlib import Path

import duckdb

import sqlpriv

DECLARED = """
ALTER TABLE people ADD PRIVACY_KEY (person_id);
ALTER TABLE people SET PRIVACY BOUND (rows_per_unit = 1);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN SEX SET PRIVACY DOMAIN IN (1, 2);
ALTER TABLE people ALTER COLUMN RAC5 SET PRIVACY DOMAIN IN (1, 2, 3, 4, 5);
ALTER TABLE people ALTER COLUMN WKHP SET PRIVACY DOMAIN BETWEEN (1, 99) NOT NULL;
ALTER TABLE people ALTER COLUMN PINCP_GT50K SET PRIVACY DOMAIN IN (0, 1);
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 3, delta = 1e-9)
"""


def main(url: str = "spark://127.0.0.1:15002") -> None:
    """Makes a vault of the rows, asks Spark by way of it, and releases a synthetic table."""
    folder = Path(tempfile.mkdtemp(prefix="sqlpriv-spark-"))
    with duckdb.connect() as engine:
        rows = "SELECT row_number() OVER () AS person_id, SEX, RAC5, WKHP, PINCP_GT50K"
        engine.execute(f"CREATE TABLE t AS {rows} FROM '../shared/data/acs2018_ny_income.parquet'")
        for part in range(2):
            half = engine.sql(f"FROM t WHERE person_id % 2 = {part}")
            half.write_parquet(str(folder / f"people-{part}.parquet"))
    with sqlpriv.connect(folder / "people.duckdb", role="owner", engine=url) as owner:
        cursor = owner.cursor()
        cursor.execute(f"CREATE TABLE people FROM PARQUET '{folder}/*.parquet'; {DECLARED}")
        cursor.execute("""SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5)
            SEX, COUNT(*) AS n, AVG(WKHP) AS hours FROM people STRATIFY BY SEX""")
        print(*cursor.fetchall(), sep="\n")
        cursor.execute("""CREATE SYNTHETIC TABLE copy AS SELECT SEX, RAC5, PINCP_GT50K
            FROM people USING mst OPTIONS (epsilon = 1)""")
        cursor.execute("SELECT SEX, COUNT(*), AVG(PINCP_GT50K) FROM copy GROUP BY SEX ORDER BY SEX")
        print("synthetic:", *cursor.fetchall(), sep="\n")
    print(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
