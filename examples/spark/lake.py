"""An Iceberg catalog in a folder, read by Spark: `python examples/spark/lake.py [URL]`.

From the repository's root, where ../shared/data holds TPC-H's tables (scale factor .01). pyiceberg
makes the catalog: each append is a snapshot, a list of Parquet files that do not change. The
vault's tables are pinned to a snapshot's files, and Spark and DuckDB read the same ones: give the
URL `duckdb` to see. Start the server first: examples/spark/serve.sh
"""

import sys
import tempfile
from pathlib import Path

import duckdb
from pyiceberg.catalog.sql import SqlCatalog

import sqlpriv

ROWS = {
    "customer": "SELECT c_custkey, c_mktsegment FROM '{}'",
    "orders": "SELECT o_custkey, o_orderpriority, o_totalprice::DOUBLE AS o_totalprice FROM '{}'",
}
DECLARED = """
ALTER TABLE customer ADD PRIVACY_KEY (c_custkey);
ALTER TABLE customer SET PRIVACY BOUND (rows_per_unit = 1);
ALTER TABLE customer SET PU;
ALTER TABLE customer SET PRIVACY BUDGET (epsilon = 3, delta = 1e-9);
ALTER TABLE customer ALTER COLUMN c_mktsegment SET PRIVACY DOMAIN
    IN ('AUTOMOBILE', 'BUILDING', 'FURNITURE', 'HOUSEHOLD', 'MACHINERY');
ALTER TABLE orders SET PRIVACY BOUND (rows_per_unit = 40);
ALTER TABLE orders ADD PRIVACY_LINK (o_custkey) REFERENCES customer(c_custkey);
ALTER TABLE orders ALTER COLUMN o_orderpriority SET PRIVACY DOMAIN
    IN ('1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW');
ALTER TABLE orders ALTER COLUMN o_totalprice SET PRIVACY DOMAIN BETWEEN (0, 500000)
"""
ASK = """SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) c_mktsegment, COUNT(*) AS orders,
    AVG(o_totalprice) AS price FROM customer JOIN orders ON c_custkey = o_custkey
    GROUP BY 1 ORDER BY 1"""


def make_lake(folder: Path) -> dict[str, str]:
    """Makes the catalog, appends each table in two halves, and returns the tables' metadata."""
    catalog = SqlCatalog("lake", uri=f"sqlite:///{folder}/lake.db", warehouse=f"file://{folder}")
    catalog.create_namespace("tpch")
    metadata = {}
    with duckdb.connect() as engine:
        for name, query in ROWS.items():
            rows = engine.sql(
                query.format(f"../shared/data/tpch_sf001_{name}.parquet")
            ).to_arrow_table()
            table = catalog.create_table(f"tpch.{name}", schema=rows.schema)
            half = rows.num_rows // 2
            for part in (rows.slice(0, half), rows.slice(half)):
                table.append(part)
            metadata[name] = table.metadata_location.removeprefix("file://")
    return metadata


def main(url: str = "spark://127.0.0.1:15002") -> None:
    """Makes the lake and a vault of its tables, asks, and releases a synthetic table."""
    folder = Path(tempfile.mkdtemp(prefix="sqlpriv-lake-"))
    with sqlpriv.connect(folder / "tpch.duckdb", role="owner", engine=url) as owner:
        cursor = owner.cursor()
        for name, metadata in make_lake(folder).items():
            cursor.execute(f"CREATE TABLE {name} FROM ICEBERG '{metadata}'")
        cursor.execute(DECLARED)
        print(*cursor.execute(ASK).fetchall(), sep="\n")
        cursor.execute("""CREATE SYNTHETIC TABLE segments AS SELECT c_mktsegment FROM customer
            USING independent OPTIONS (epsilon = 1)""")
        cursor.execute("SELECT c_mktsegment, COUNT(*) FROM segments GROUP BY 1 ORDER BY 1")
        print("synthetic:", *cursor.fetchall(), sep="\n")
    print(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
