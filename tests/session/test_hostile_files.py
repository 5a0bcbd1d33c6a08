"""Files as others write them: partitioned folders, odd names and types, columns renamed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlpriv.errors import DeclarationError, Error, Refused
from sqlpriv.session.session import Session

OWNED = """
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PRIVACY BOUND (rows_per_unit = 1);
ALTER TABLE people SET PU;
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1e7);
"""
ROWS = 300


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.chdir(tmp_path)
    with Session(tmp_path / "v.duckdb", role="owner") as opened:
        yield opened


def write(path: str, first: int = 0, **columns: Any) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    ids = pa.array(range(first, first + ROWS), pa.int64())
    pq.write_table(pa.table({"id": ids, **columns}), path)


def ask(session: Session, select: str) -> list[tuple[Any, ...]]:
    """Answers with hardly any noise."""
    options = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1e4)"
    table = session.run(f"{options} {select}")[-1].table
    assert table is not None
    return [tuple(row.values()) for row in table.to_pylist()]


def refuse(session: Session, sql: str, kind: type[Error], words: str) -> None:
    with pytest.raises(kind, match=words):
        session.run(sql)
    assert "people" not in session.catalog().tables


def test_folders_give_a_column_that_their_files_lack(session: Session) -> None:
    write("lake/year=2024/a.parquet")
    write("lake/year=2025/a.parquet", ROWS)
    write("lake/year=2025/b.parquet", 2 * ROWS)
    session.run(f"CREATE TABLE people FROM PARQUET 'lake/*/*.parquet'; {OWNED}")
    session.run("ALTER TABLE people ALTER COLUMN year SET PRIVACY DOMAIN BETWEEN (2023, 2025)")
    counts = ask(session, "year, count(*) FROM people GROUP BY year ORDER BY year")
    assert counts == [(2023, 0), (2024, ROWS), (2025, 2 * ROWS)]


def test_a_column_of_the_files_is_not_what_their_folder_is_called(session: Session) -> None:
    """Else one folder's rows would all be one unit's, and its code a number."""
    write("id=7/code=007/a.parquet", code=pa.array(["007", None, "7"] * 100))
    (message,) = session.run("CREATE TABLE people FROM PARQUET '*/*/*.parquet'")
    assert message.message.endswith(
        "read in place; code, id of the folders' names counts for nothing"
    )
    session.run(OWNED)
    session.run("ALTER TABLE people ALTER COLUMN code SET PRIVACY DOMAIN IN ('007', '7', NULL)")
    counts = ask(session, "code, count(*) FROM people GROUP BY code ORDER BY code NULLS FIRST")
    assert counts == [(None, 100), ("007", 100), ("7", 100)]


@pytest.mark.parametrize("name", ["st*r", "what?", "a[1]", "a[b-d]"])
@pytest.mark.parametrize("form", ["PARQUET", "DUCKDB"])
def test_a_name_that_is_a_pattern_is_refused(session: Session, name: str, form: str) -> None:
    file = f"{name}.{form.lower()}"
    if form == "PARQUET":
        write(file)
    else:
        with duckdb.connect("plain.duckdb") as other:
            other.execute("CREATE TABLE people (id INTEGER)")
        Path("plain.duckdb").rename(file)
    asked = file.replace("[", "[[]")
    refuse(session, f"CREATE TABLE people FROM {form} '{asked}'", Refused, "as a pattern")


@pytest.mark.parametrize("other", ["SEX", "Sex"])
def test_columns_that_differ_in_case_alone_are_refused(session: Session, other: str) -> None:
    """DuckDB would call the second one sex_1, and a domain of sex be that of the first."""
    sex = pa.array([1] * ROWS)
    write("a.parquet", pair=pa.array([{"sex": 1, "b": {"SEX": 2}}] * ROWS), sex=sex)
    session.run("CREATE TABLE held FROM PARQUET 'a.parquet'")  # parts of a column are no columns
    write("b.parquet", **{"sex": sex, other: sex})
    made = "CREATE TABLE people FROM PARQUET 'b.parquet'"
    refuse(session, made, DeclarationError, f"case does not matter: sex, {other}; write")


NO_VALUES = {
    "a text": pa.StringArray.from_buffers(
        ROWS,
        pa.py_buffer(np.arange(ROWS + 1, dtype="i4").tobytes()),
        pa.py_buffer(b"a" * (ROWS - 1) + b"\xff"),
    ),
    "a time": pa.array([*[0] * (ROWS - 1), 2**62], pa.time64("us")),
    "a time before midnight": pa.array([*[0] * (ROWS - 1), -1], pa.time32("ms")),
    "milliseconds": pa.array([*[0] * (ROWS - 1), 9 * 10**18], pa.timestamp("ms")),
    "milliseconds of a zone": pa.array([*[0] * (ROWS - 1), 9 * 10**18], pa.timestamp("ms", "UTC")),
}


@pytest.mark.parametrize("kind", NO_VALUES)
def test_files_with_a_value_that_is_none_are_refused(session: Session, kind: str) -> None:
    """It would fail whatever question meets its row, and tell that the row is there."""
    write("a.parquet", x=NO_VALUES[kind])
    made = "CREATE TABLE people FROM PARQUET 'a.parquet'"
    refuse(session, made, DeclarationError, "a value of x cannot be read")
    write("a.parquet", x=NO_VALUES[kind].slice(0, 1).take(pa.array([0] * ROWS)))
    session.run(f"{made}; {OWNED}")
    assert ask(session, "count(x) FROM people") == [(ROWS,)]


def test_files_that_come_later_are_not_of_the_table(session: Session) -> None:
    write("day/a.parquet")
    session.run(f"CREATE TABLE people FROM PARQUET 'day/*.parquet'; {OWNED}")
    write("day/b.parquet", ROWS)
    assert ask(session, "count(*) FROM people") == [(ROWS,)]
    session.run("CREATE OR REPLACE TABLE people FROM PARQUET 'day/*.parquet'")
    assert ask(session, "count(*) FROM people") == [(2 * ROWS,)]


@pytest.mark.parametrize("name", ["a b", "ä", "a'b", 'a"b', "a;b", "a\nb", "a$b", "a{b,c}", "a\\b"])
def test_other_names_are_read(session: Session, name: str) -> None:
    write(f"{name}.parquet")
    Path("x").mkdir()
    quoted = name.replace("'", "''")
    session.run(f"CREATE TABLE people FROM PARQUET './x/../{quoted}.parquet'; {OWNED}")
    assert ask(session, "count(*) FROM people") == [(ROWS,)]


def test_a_link_is_of_the_file_that_it_led_to(session: Session) -> None:
    write("a.parquet")
    write("b.parquet", ROWS)
    Path("now.parquet").symlink_to("a.parquet")
    session.run(f"CREATE TABLE people FROM PARQUET 'now.parquet'; {OWNED}")
    Path("now.parquet").unlink()
    Path("now.parquet").symlink_to("b.parquet")
    assert ask(session, f"count(*) FROM people WHERE id < {ROWS}") == [(ROWS,)]


def test_values_of_odd_types_are_read_as_they_are(session: Session) -> None:
    days = [dt.datetime(2024, 1, 1 + i % 3) for i in range(ROWS)]
    moments = pa.array(days, pa.timestamp("ns"))
    ids = pa.array(range(ROWS), pa.int64())
    columns = {
        "cents": pa.array([Decimal(i % 4).scaleb(-2) for i in range(ROWS)], pa.decimal128(18, 2)),
        "whole": pa.array([Decimal(i % 2) for i in range(ROWS)], pa.decimal128(38, 0)),
        "at": moments,
        "pair": pa.array([{"a": i, "b": "x"} for i in range(ROWS)]),
        "many": pa.array([[i, i] for i in range(ROWS)]),
        "by": pa.array([[("k", i)] for i in range(ROWS)], pa.map_(pa.string(), pa.int64())),
        "none": pa.nulls(ROWS),
        "odd": pa.array([float("nan"), float("inf"), 1.0] * 100),
    }
    table = pa.table({"id": ids, **columns})
    pq.write_table(table, "a.parquet", use_deprecated_int96_timestamps=True)
    session.run(f"CREATE TABLE people FROM PARQUET 'a.parquet'; {OWNED}")
    session.run(
        "ALTER TABLE people ALTER COLUMN cents SET PRIVACY DOMAIN BETWEEN (0, 0.03);"
        "ALTER TABLE people ALTER COLUMN whole SET PRIVACY DOMAIN BETWEEN (0, 1);"
        "ALTER TABLE people ALTER COLUMN odd SET PRIVACY DOMAIN BETWEEN (0, 2);"
        "ALTER TABLE people ALTER COLUMN at SET PRIVACY DOMAIN"
        " BETWEEN (TIMESTAMP '2024-01-01', TIMESTAMP '2024-01-03')"
    )
    ((cents,),) = ask(session, "sum(cents) FROM people")
    assert float(cents) == pytest.approx(75 * 0.06, abs=0.02)
    ((whole,),) = ask(session, "sum(whole) FROM people")
    assert float(whole) == pytest.approx(ROWS / 2, abs=1)
    ((odd,),) = ask(session, "sum(odd) FROM people")  # NaN counts as NULL, infinity as the end
    assert odd == pytest.approx(100 * 2 + 100, abs=1)
    counts = ask(session, "CAST(at AS DATE) AS d, count(*) FROM people GROUP BY d ORDER BY d")
    assert counts == [(dt.date(2024, 1, day), 100) for day in (1, 2, 3)]
    with pytest.raises(Error, match="pair"):
        ask(session, "sum(pair) FROM people")


@pytest.mark.parametrize(
    ("file", "content"),
    [("a.parquet", b""), ("b.parquet", b"PAR1" * 40), ("c.parquet", b"id\n1\n")],
)
def test_what_is_no_parquet_is_refused(session: Session, file: str, content: bytes) -> None:
    Path(file).write_bytes(content)
    refuse(
        session, f"CREATE TABLE people FROM PARQUET '{file}'", DeclarationError, "cannot be made"
    )


def test_what_is_far_says_where_files_have_to_be(session: Session) -> None:
    with pytest.raises(Refused) as refused:
        session.run("CREATE TABLE people FROM PARQUET 's3://bucket/a.parquet'")
    assert "copy them here" in str(refused.value)


def test_an_empty_file_is_a_table_without_rows(session: Session) -> None:
    pq.write_table(pa.table({"id": pa.array([], pa.int64())}), "a.parquet")
    session.run(f"CREATE TABLE people FROM PARQUET 'a.parquet'; {OWNED}")
    assert ask(session, "count(*) FROM people") == [(0,)]


class Lake:
    """An Iceberg catalog in a folder, with one table."""

    def __init__(self, folder: Path) -> None:
        from pyiceberg.catalog.sql import SqlCatalog

        self.catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}")
        self.catalog.create_namespace("d")

    def make(self, rows: pa.Table) -> Any:
        self.table = self.catalog.create_table("d.people", schema=rows.schema)
        return self.table

    @property
    def metadata(self) -> str:
        return str(self.table.metadata_location).removeprefix("file://")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    pytest.importorskip("pyiceberg")
    return Lake(tmp_path)


CODED = {"id": range(ROWS), "code": ["007", None, "null"] * 100}


def test_a_partitioned_iceberg_table_has_the_values_of_its_files(
    session: Session, lake: Lake
) -> None:
    from pyiceberg.transforms import IdentityTransform

    rows = pa.table(CODED)
    table = lake.make(rows)
    with table.update_spec() as spec:
        spec.add_field("code", IdentityTransform())
    table.append(rows)
    (made,) = session.run(f"CREATE TABLE people FROM ICEBERG '{lake.metadata}'")
    assert "300 rows in 3 files" in made.message
    session.run(OWNED)
    session.run("ALTER TABLE people ALTER COLUMN code SET PRIVACY DOMAIN IN ('007', 'null', NULL)")
    counts = ask(session, "code, count(*) FROM people GROUP BY code ORDER BY code NULLS FIRST")
    assert counts == [(None, 100), ("007", 100), ("null", 100)]


def test_files_from_before_a_column_was_renamed_are_refused(session: Session, lake: Lake) -> None:
    rows = pa.table({**CODED, "other": ["x"] * ROWS})
    table = lake.make(rows)
    table.append(rows)
    before = table.current_snapshot().snapshot_id
    with table.update_schema() as change:
        change.rename_column("code", "former").rename_column("other", "code")
    with table.update_schema() as change:
        change.rename_column("former", "other")
    made = f"CREATE TABLE people FROM ICEBERG '{lake.metadata}'"
    refuse(session, made, DeclarationError, "written before a column")
    session.run(f"{made} SNAPSHOT {before}; {OWNED}")
    session.run("ALTER TABLE people ALTER COLUMN code SET PRIVACY DOMAIN IN ('007', 'null')")
    assert ask(session, "count(*) FROM people WHERE code = '007'") == [(100,)]


def test_files_from_before_a_column_was_added_are_refused(session: Session, lake: Lake) -> None:
    from pyiceberg.types import LongType

    rows = pa.table(CODED)
    table = lake.make(rows)
    table.append(rows)
    with table.update_schema() as change:
        change.add_column("pay", LongType())
    made = f"CREATE TABLE people FROM ICEBERG '{lake.metadata}'"
    refuse(session, made, DeclarationError, "written before a column")
