"""What whole statements ask has the same cells in Spark as in DuckDB: rewrites and synthesizers."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import duckdb
import pytest
from engines.both import INTERPRETED, Batch, Both, in_spark, record_batches
from support.exact_people import PEOPLE, engine, planned
from support.places import TESTS

import sqlpriv
from sqlpriv.kernel.sql.queries import joint_batches, render
from sqlpriv.kernel.terms import algebra as a

sys.path.insert(0, str(TESTS / "rewrites"))

import golden

ROWS = """SELECT i::BIGINT AS id, ['f', 'm', 'it''s \\ x'][1 + (hash(i) % 3)::INTEGER] AS sex,
    (1 + hash(i, 1) % 4)::INTEGER AS race, (hash(i, 2) % 90)::INTEGER AS age,
    i % 3 = 0 AS working, (hash(i, 7) % 100000) / 7.0 AS pay,
    DATE '1990-01-01' + (hash(i, 5) % 9000)::INTEGER AS joined FROM range(900) r(i)"""
DECLARED = r"""
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PRIVACY BOUND (rows_per_unit = 1);
ALTER TABLE people SET PU;
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1e6, delta = 1e-9);
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm', 'it''s \ x');
ALTER TABLE people ALTER COLUMN race SET PRIVACY DOMAIN BETWEEN (1, 4);
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN (0, 89);
ALTER TABLE people ALTER COLUMN pay SET PRIVACY DOMAIN BETWEEN (0, 1e7);
ALTER TABLE people ALTER COLUMN working SET PRIVACY DOMAIN IN (true, false);
ALTER TABLE people ALTER COLUMN joined
    SET PRIVACY DOMAIN BETWEEN (DATE '1990-01-01', DATE '2014-12-31')
"""
MADE = """CREATE SYNTHETIC TABLE made AS SELECT sex, race, age, working, joined
FROM people {} USING {} OPTIONS (epsilon = 4, rows = 50{})"""
METHODS = {
    "independent": ("", ""),
    "gaussian": ("STRATIFY BY sex", ""),
    "histogram": ("", ", bins = 2"),
    "mst": ("STRATIFY BY sex", ""),
    "hdmm": ("", ", bins = 4"),
    "gsd": ("", ""),
}
"""Of each kind of question a method: its strata and options. Of gsd, Spark is asked for marginals
by several statements."""


@pytest.fixture
def both(spark_url: str, tmp_path: Path) -> Iterator[Both]:
    engines = Both(spark_url, tmp_path, INTERPRETED)
    yield engines
    engines.spark.close()


@pytest.mark.parametrize("name", golden.names())
def test_rewrites_have_equal_cells(both: Both, name: str) -> None:
    with engine() as people:
        path = both.folder / "golden.parquet"
        people.sql("FROM people").write_parquet(str(path))
    both.fill("people", f"FROM '{path}'")
    batches = []
    for case in golden.cases(name):
        asked = [m.query for m in planned(case.sql).measurements]
        exact = [q.histogram if isinstance(q, a.Level) else q for q in asked]
        batches.append(([*dict.fromkeys(exact)], PEOPLE))
    assert batches
    assert both.differences(batches) == []


def people(path: Path, url: str = "duckdb") -> sqlpriv.Connection:
    """A vault whose people lie in a Parquet file."""
    with duckdb.connect() as rows:
        rows.sql(ROWS).write_parquet(str(path / "people.parquet"))
    opened = sqlpriv.connect(path / "v.duckdb", role="owner", engine=url)
    opened.cursor().execute(f"CREATE TABLE people FROM PARQUET '{path}/people.parquet'; {DECLARED}")
    return opened


def batches_of_spark(batches: list[Batch]) -> Iterator[Batch]:
    """As the gate reads them where Spark reads the rows."""
    for queries, contract in batches:
        for parts in joint_batches([(query,) for query in queries], [], in_spark(contract)):
            yield [*chain(*parts)], contract


@pytest.mark.parametrize("method", METHODS)
def test_what_synthesizers_ask_has_equal_cells(
    both: Both, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    batches = record_batches(monkeypatch)
    with people(tmp_path) as vault:
        strata, options = METHODS[method]
        vault.cursor().execute(MADE.format(strata, method, options))
    assert batches
    both.fill("people", f"FROM '{tmp_path}/people.parquet'")
    assert both.differences(batches_of_spark(batches)) == []


def test_a_histogram_of_wide_reals_has_equal_cells(
    both: Both, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its edges are written in digits of each number: functions of functions of the column."""
    batches = record_batches(monkeypatch)
    with people(tmp_path) as vault:
        vault.cursor().execute("""CREATE SYNTHETIC TABLE made AS SELECT sex, pay FROM people
            USING mst OPTIONS (epsilon = 4, rows = 50)""")
    texts = [render(queries, in_spark(contract), 7).sql for queries, contract in batches]
    assert any("sqlpriv_named" in text for text in texts)
    both.fill("people", f"FROM '{tmp_path}/people.parquet'")
    assert both.differences(batches) == []


def test_a_synthetic_table_is_made_of_what_spark_reads(spark_url: str, tmp_path: Path) -> None:
    """At a price at which the noise moves no cell by half a row of a hundred."""
    with people(tmp_path, spark_url) as vault:
        cursor = vault.cursor()
        cursor.execute("""CREATE SYNTHETIC TABLE made AS SELECT race, working FROM people
            STRATIFY BY sex USING mst OPTIONS (epsilon = 10000, rows = 900)""")
        cursor.execute("SELECT sex, race, working, count(*) FROM made GROUP BY ALL")
        made = {row[:-1]: row[-1] for row in cursor.fetchall()}
    with duckdb.connect() as rows:
        plain = rows.sql(f"SELECT sex, race, working FROM ({ROWS})").fetchall()
    counts = Counter(plain)
    assert made.keys() == counts.keys()
    assert all(abs(made[cell] - counts[cell]) <= 2 for cell in counts)


@pytest.mark.parametrize("name", ["census", "lake"])
def test_an_example_runs(spark_url: str, name: str) -> None:
    command = [sys.executable, f"examples/spark/{name}.py", spark_url]
    run = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert "synthetic:" in run.stdout
