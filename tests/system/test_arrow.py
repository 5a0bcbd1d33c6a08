"""Arrow arrays without pandas are those that pyarrow makes."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from support.vaults import declare, write

from sqlpriv.kernel.terms.contract import Categories, Interval
from sqlpriv.kernel.vault import Kernel
from sqlpriv.system import arrow

VALUES = {
    pa.int8(): [-128, None, 127],
    pa.uint64(): [0, 2**64 - 1],
    pa.int64(): [-(2**63), None, 2**63 - 1],
    pa.float32(): [0.5, None, float("inf"), float("nan")],
    pa.float64(): [1e308, -0.0, None, 3],
    pa.bool_(): [True, None, False, True, False, False, None, True, True],
    pa.string(): ["", None, "Müller", "\U0001f600", "a\0b"],
    pa.date32(): [date(1, 1, 1), None, date(1970, 1, 1), date(9999, 12, 31)],
    pa.timestamp("us"): [datetime(1600, 2, 29, 1, 2, 3, 4), None],
    pa.timestamp("us", "UTC"): [datetime(2018, 1, 1, tzinfo=UTC)],
    pa.decimal128(12, 3): [Decimal("1.250"), None, Decimal("-999999999.999"), 7],
    pa.decimal128(38, 0): [10**38 - 1, None, -(10**38) + 1, 0, Decimal(5)],
    pa.list_(pa.int64()): [[1, 2], None],
}


@pytest.mark.parametrize("kind", VALUES, ids=str)
@pytest.mark.parametrize("which", ["all", "none missing", "all missing", "empty"])
def test_array_is_pyarrows(kind: pa.DataType, which: str) -> None:
    values = VALUES[kind]
    if which == "none missing":
        values = [v for v in values if v is not None]
    elif which == "all missing":
        values = [None] * 9
    elif which == "empty":
        values = []
    made, expected = arrow.array(values, kind), pa.array(values, kind)
    made.validate(full=True)
    assert made.type == kind
    assert made.null_count == expected.null_count
    assert str(made.to_pylist()) == str(expected.to_pylist())


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([300], pa.int8()),
        ([1.5], pa.int64()),
        (["x"], pa.float64()),
        ([1], pa.string()),
        ([10**38], pa.decimal128(38, 0)),
        ([Decimal("0.125")], pa.decimal128(9, 2)),
    ],
)
def test_what_is_not_of_the_type_is_refused(values: list[object], kind: pa.DataType) -> None:
    with pytest.raises((OverflowError, TypeError, ValueError, AttributeError)):
        arrow.array(values, kind)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u4", "f4", "f8"])
def test_numbers_are_pyarrows_also_of_a_column_of_a_matrix(dtype: str) -> None:
    values = np.arange(30).astype(dtype).reshape(10, 3)[:, 1]
    assert arrow.numbers(values).equals(pa.array(values))
    missing = values % 2 == 0
    made = arrow.numbers(values, missing)
    made.validate(full=True)
    assert made.equals(pa.array(values, mask=missing))


def test_a_table_is_pyarrows() -> None:
    schema = pa.schema([("name", pa.string()), ("n", pa.int64()), ("of", pa.list_(pa.string()))])
    rows = [{"name": "a", "n": 1, "of": ["x"]}, {"n": None, "name": "b"}]
    assert arrow.table(rows, schema).equals(pa.Table.from_pylist(rows, schema=schema))
    assert arrow.table([], schema).equals(pa.Table.from_pylist([], schema=schema))


ANSWERED = """
import sys
import sqlpriv
with sqlpriv.connect(sys.argv[1]) as connection:
    asked = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) sex, name, COUNT(*), AVG(age)"
    asked += " FROM people GROUP BY name STRATIFY BY sex"
    connection.execute("EXPLAIN PRIVACY " + asked)
    assert len(connection.execute(asked).fetchall()) == 6
    connection.execute("SET privacy_epsilon = 1")
    for asked in (
        "SELECT t.label, AVG(p.age) AS a FROM people p JOIN names t ON p.name = t.name"
        " GROUP BY t.label, t.name ORDER BY a DESC",
        "SELECT name, COUNT(*) AS n, n / 2 AS half FROM people GROUP BY name HAVING n > 0",
        "SELECT name, SUM(age) AS s, s / SUM(SUM(age)) OVER () AS share FROM people GROUP BY name",
        "SELECT name, sex, COUNT(*) AS n FROM people GROUP BY ROLLUP (name, sex) ORDER BY n",
    ):
        connection.execute(asked).fetchall()
    connection.execute("CREATE SYNTHETIC TABLE made AS SELECT sex, name, age FROM people"
                       " USING independent OPTIONS (epsilon = 1)")
print("pandas" in sys.modules)
"""


def test_a_first_answer_does_not_import_pandas(tmp_path: Path) -> None:
    vault = tmp_path / "people.duckdb"
    write(
        vault,
        "CREATE TABLE people AS SELECT i AS id, i % 2 AS sex, ['a', 'b'][1 + i % 2] AS name,"
        " i % 90 AS age FROM range(1000) r(i); ALTER TABLE people ADD PRIMARY KEY (id);"
        " CREATE TABLE names AS FROM (VALUES ('a', 'Anna'), ('b', 'Bert')) v (name, label)",
    )
    domains = {
        "sex": Categories((0, 1)),
        "name": Categories(("a", "b")),
        "age": Interval(0, 90),
    }
    with contextlib.closing(Kernel(vault)) as kernel:
        declare(kernel, domains=domains)
        kernel.ledger.declare("names", "owner", public=True)
    command = [sys.executable, "-c", ANSWERED, str(vault)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split()[-1] == "False"
