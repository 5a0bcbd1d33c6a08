"""The tables of ../shared/data as an owner would declare them, by one rule for all of them.

A column of one value, a key, a comment and a text of more than MOST_LABELS values are left out. A
number, date or timestamp of more than FEW values gets an interval whose ends are rounded outwards
to one digit, as somebody writes them who does not look; any other column the list of its values.
The tables of `generated.py` are declared by the same rule.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from bench.tables import generated
from support.places import SHARED
from support.vaults import declare, write

from sqlpriv.kernel.terms.budget import Budget, Rho
from sqlpriv.kernel.terms.contract import Categories, ColumnDomain, Interval
from sqlpriv.kernel.vault import Kernel

DATA = SHARED / "data"
FEW, MOST_LABELS, MOST_COLUMNS, LEAST_ROWS = 40, 200, 24, 500
KEYS = ("id", "_id", "pid", "key", "is_test", "comment", "flight", "tailnum")
OUTCOMES: dict[str, tuple[str, str]] = {
    "acs2018_37states_income": ("PINCP_GT50K", "SEX"),
    "acs2018_ny_employment_20k": ("ESR_EMPLOYED", "SEX"),
    "acs2018_ny_income": ("PINCP_GT50K", "SEX"),
    "acs2018_us_income_sample": ("PINCP_GT50K", "SEX"),
    "acs2018_us_mobility_sample": ("MIG_SAME_HOUSE", "SEX"),
    "acs2018_us_pubcov_sample": ("PUBCOV_YES", "SEX"),
    "adult": ("income", "sex"),
    "adult_binned": ("income>50K", "sex"),
    "chicago_taxi_binned": ("payment_type", "shift"),
    "compas_two_years": ("two_year_recid", "race"),
    "nist_ma2018": ("OWN_RENT", "SEX"),
    "nist_national2018": ("OWN_RENT", "SEX"),
    "nist_tx2018": ("OWN_RENT", "SEX"),
    "nltcs": ("telephoning", "eating"),
    "nycflights_airports": ("dst", "tz"),
    "nycflights_flights": ("origin", "carrier"),
    "nycflights_planes": ("engine", "engines"),
    "pension_401k": ("p401k", "male"),
    "privbayes_acs": ("a22", "a0"),
    "privbayes_br2000": ("a13", "a5"),
    "pums_ca_1000": ("married", "sex"),
    "randhie": ("hlthg", "idp"),
    "salary_binned": ("pay-rate", "system"),
    "titanic_binned": ("Survived", "Sex"),
    "tpch_sf001_customer": ("c_mktsegment", "c_nationkey"),
    "tpch_sf001_lineitem": ("l_returnflag", "l_linestatus"),
    "tpch_sf001_orders": ("o_orderstatus", "o_orderpriority"),
    "tpch_sf001_part": ("p_mfgr", "p_size"),
    **generated.OUTCOMES,
}
"""By table: the column whose commonest value a classifier tells from the others, and the column
whose values are the strata of `by stratum`. tpch_sf001_partsupp has neither."""


@dataclass(frozen=True)
class Declared:
    """A vault of one table.

    Args:
        vault: Its file; the table is `people`, its key `id`.
        domains: Of the columns that are synthesized, by name.
        rows: Of the table.
    """

    vault: Path
    domains: dict[str, ColumnDomain]
    rows: int


def table_names() -> list[str]:
    """Returns the tables of at least LEAST_ROWS rows, by name of their file."""
    with duckdb.connect() as engine:
        files = sorted(DATA.glob("*.parquet"))
        return [f.stem for f in files if _count(engine, f"read_parquet('{f}')") >= LEAST_ROWS]


def build_vault(folder: Path, table: str, rows: int) -> Declared:
    """Returns a vault of `rows` rows of the table at most, the first by a hash of their number."""
    vault = folder / f"{table}.duckdb"
    source = f"read_parquet('{DATA}/{table}.parquet', file_row_number = true)"
    most_labels = MOST_LABELS
    if table in generated.GENERATED:
        source, most_labels = f"({generated.GENERATED[table]})", generated.MOST_LABELS
    with duckdb.connect() as engine:
        engine.execute(
            f"CREATE TABLE people AS FROM {source} ORDER BY hash(file_row_number) LIMIT {rows}"
        )
        count = _count(engine, "people")
        domains = _domains(engine, count, most_labels)
        chosen = ", ".join(f'"{name}"' for name in domains)
        write(
            vault,
            f"CREATE TABLE people AS SELECT file_row_number AS id, {chosen} FROM"
            f" (FROM {source} ORDER BY hash(file_row_number) LIMIT {rows});"
            "ALTER TABLE people ADD PRIMARY KEY (id);",
        )
    kernel = Kernel(vault)
    declare(kernel, domains=domains, budget=Budget("people", Rho.at_most(10**6), 1e-9))
    kernel.close()
    return Declared(vault, domains, count)


def _domains(
    engine: duckdb.DuckDBPyConnection, count: int, most_labels: int
) -> dict[str, ColumnDomain]:
    domains: dict[str, ColumnDomain] = {}
    for name, sql_type, *_ in engine.execute("DESCRIBE people").fetchall():
        if name.lower().endswith(KEYS) or name == "file_row_number" or "TIME ZONE" in sql_type:
            continue
        distinct, low, high, known = engine.execute(
            f'SELECT count(DISTINCT "{name}"), min("{name}"), max("{name}"), count("{name}")'
            " FROM people"
        ).fetchall()[0]
        is_text = sql_type == "VARCHAR"
        if distinct < 2 or (is_text and distinct > most_labels):
            continue
        if not is_text and distinct > FEW:
            domains[name] = Interval(_rounded(low, -1), _rounded(high, 1), nullable=known < count)
        else:
            rows = engine.execute(f'SELECT DISTINCT "{name}" FROM people ORDER BY ALL').fetchall()
            is_decimal = sql_type.startswith("DECIMAL")
            labels = (float(v) if is_decimal and v is not None else v for (v,) in rows)
            domains[name] = Categories(tuple(labels))
        if len(domains) == MOST_COLUMNS:
            break
    return domains


def _rounded(end: Any, side: int) -> Any:
    """Returns the end rounded outwards (side -1: down, 1: up) to one digit, or to a year."""
    if isinstance(end, dt.datetime):
        return dt.datetime(end.year + (side > 0), 1, 1)
    if isinstance(end, dt.date):
        return dt.date(end.year + (side > 0), 1, 1)
    if end == 0:
        return 0  # not DECIMAL's zero, which no declaration takes
    step = 10.0 ** math.floor(math.log10(abs(float(end))))
    whole = math.floor(float(end) / step) if side < 0 else math.ceil(float(end) / step)
    return int(whole * step) if isinstance(end, int) else round(whole * step, 10)


def _count(engine: duckdb.DuckDBPyConnection, relation: str) -> int:
    return int(engine.execute(f"SELECT count(*) FROM {relation}").fetchall()[0][0])
