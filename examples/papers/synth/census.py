"""The rows of the experiment: the paper's ten columns, split into a vault to learn from and a test.

The authors used the 196,967 persons of New York in the 2018 survey, which are not to be had here.
These are as many persons of the same survey from the whole country, in the paper's coding.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

import sqlpriv

DATA = Path(__file__).parents[4] / "shared" / "data" / "acs2018_us_pubcov_sample.parquet"
ROWS = 196_967
TARGET, POSITIVE = "ESR", 1

CODED = f"""
CREATE TABLE coded AS
SELECT row_number() OVER (ORDER BY hash(file_row_number, 11)) AS id,
       least(AGEP // 20, 4)::TINYINT AS AGEP,
       CASE WHEN SCHL IS NULL OR SCHL <= 1 THEN 0 WHEN SCHL <= 15 THEN 1 WHEN SCHL <= 17 THEN 2
            WHEN SCHL <= 20 THEN 3 ELSE 4 END::TINYINT AS SCHL,
       MAR::TINYINT AS MAR, DIS::TINYINT AS DIS, coalesce(ESP, 0)::TINYINT AS ESP,
       coalesce(MIL, 0)::TINYINT AS MIL, coalesce(DREM, 0)::TINYINT AS DREM,
       SEX::TINYINT AS SEX, RAC1P::TINYINT AS RAC1P,
       (coalesce(ESR, 0) IN (1, 2))::TINYINT AS ESR
FROM read_parquet(?, file_row_number = true) ORDER BY id LIMIT {ROWS}"""

DOMAINS = {
    "AGEP": range(5),
    "SCHL": range(5),
    "MAR": range(1, 6),
    "DIS": (1, 2),
    "ESP": range(9),
    "MIL": range(5),
    "DREM": range(3),
    "SEX": (1, 2),
    "RAC1P": range(1, 10),
    "ESR": (0, 1),
}
COLUMNS = tuple(DOMAINS)

DECLARE = """
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
{domains}
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 10, delta = 1e-9);"""


def prepare(directory: Path, data: Path = DATA) -> None:
    """Makes `people.duckdb` (80 % of the rows, declared) and `test.parquet` (the others)."""
    test = directory / "test.parquet"
    vault = directory / "people.duckdb"
    if vault.exists() and test.exists():
        return
    directory.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as engine:
        engine.execute(CODED, [str(data)])
        engine.execute(f"ATTACH '{vault}' AS vault")
        engine.execute(
            "CREATE TABLE vault.people (id BIGINT PRIMARY KEY, "
            + ", ".join(f"{c} TINYINT" for c in COLUMNS)
            + ")"
        )
        engine.execute("INSERT INTO vault.people SELECT * FROM coded WHERE id % 5 > 0")
        engine.execute(f"COPY (SELECT * FROM coded WHERE id % 5 = 0) TO '{test}'")
    domains = "\n".join(
        f"ALTER TABLE people ALTER COLUMN {c} SET PRIVACY DOMAIN IN {tuple(levels)};"
        for c, levels in DOMAINS.items()
    )
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute(DECLARE.format(domains=domains))
