"""A vault of TPC-H: loads the tables, with their keys, and declares them."""

from __future__ import annotations

from pathlib import Path

import sqlpriv

HERE = Path(__file__).parent
DATA = HERE.parents[2] / "shared" / "data"
KEYS = {
    "customer": "c_custkey",
    "orders": "o_orderkey",
    "part": "p_partkey",
    "supplier": "s_suppkey",
    "nation": "n_nationkey",
    "region": "r_regionkey",
    "lineitem": "l_orderkey, l_linenumber",
    "partsupp": "ps_partkey, ps_suppkey",
}


def make(path: Path, data: Path = DATA, file_name: str = "tpch_sf001_{}.parquet") -> Path:
    """Returns the vault, made anew at that path, of the tables' files in a folder."""
    with sqlpriv.connect(path, role="owner") as owner:
        for table, key in KEYS.items():
            file = data / file_name.format(table)
            owner.execute(f"CREATE TABLE {table} AS FROM '{file}'")
            owner.execute(f"ALTER TABLE {table} ADD PRIMARY KEY ({key})")
        owner.execute((HERE / "vault.sql").read_text("utf-8"))
    return path


def queries() -> dict[int, str]:
    """Returns the text of each query by its number."""
    return {n: (HERE / f"q{n:02}.sql").read_text("utf-8") for n in range(1, 23)}
