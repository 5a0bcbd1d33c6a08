"""Values on their way out: types, rows, and figures no finer than their error."""

import datetime as dt
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

import sqlpriv
from sqlpriv.interfaces.display import values as subject

SAMPLES = """
    SELECT 1::TINYINT a, 2::UBIGINT b, 3::HUGEINT c, 1.5::DECIMAL(9,2) d, 2.5::FLOAT e, 'x' f,
           true g, DATE '2020-02-29' h, TIMESTAMP '2020-02-29 12:00:00' i, TIME '12:00:00' j,
           'ab'::BLOB k, NULL::INTEGER l, [1, 2] m, 'p'::ENUM('p', 'q') n
"""


@pytest.fixture(scope="module")
def table():
    with duckdb.connect() as con:
        return con.sql(SAMPLES).to_arrow_table()


def test_description_has_seven_items_and_duckdb_names(table):
    described = subject.description(table)
    assert all(len(column) == 7 for column in described)
    assert [column[1] for column in described][:12] == [
        "TINYINT",
        "UBIGINT",
        "HUGEINT",
        "DECIMAL(9,2)",
        "FLOAT",
        "VARCHAR",
        "BOOLEAN",
        "DATE",
        "TIMESTAMP",
        "TIME",
        "BLOB",
        "INTEGER",
    ]
    assert described[3][4:6] == (9, 2)
    assert described[13][1] == "VARCHAR"  # an ENUM's values are text


def test_type_objects_equal_the_types_of_their_group_and_no_other(table):
    groups = [sqlpriv.NUMBER, sqlpriv.STRING, sqlpriv.DATETIME, sqlpriv.BINARY, sqlpriv.ROWID]
    for column in subject.description(table):
        if not column[1].endswith("]"):
            assert [group for group in groups if column[1] == group].__len__() == 1, column
    assert sqlpriv.STRING != sqlpriv.NUMBER
    assert sqlpriv.STRING == sqlpriv.STRING
    assert len({sqlpriv.STRING, sqlpriv.NUMBER, sqlpriv.STRING}) == 2


def test_rows_are_python_values(table):
    (row,) = subject.rows(table)
    assert row[:8] == (1, 2, 3, Decimal("1.50"), 2.5, "x", True, dt.date(2020, 2, 29))
    assert type(row[2]) is int  # HUGEINT, which Arrow has as a decimal
    assert row[10] == b"ab"
    assert row[11] is None


def test_columns_of_one_name_all_come_out():
    table = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert subject.rows(table) == [(1, 2)]


def test_batches_cover_every_row_once():
    table = pa.table({"a": list(range(25))})
    found = [row for batch in subject.batches(table, size=10) for row in batch]
    assert found == [(n,) for n in range(25)]


@pytest.mark.parametrize(
    ("value", "half_width", "text", "width"),
    [
        (48213.4821, 1204.3, "48213", "±1205"),
        (3.14159, 0.042, "3.142", "±0.042"),
        (3.14159, 0.0421, "3.142", "±0.043"),  # rounded up: never surer than we are
        (67590, 12.4, "67590", "±13"),
        (0.1, None, "0.1", ""),
        (46657.585, None, "46657.6", ""),
        (1423000.5, None, "1423000", ""),
        (1e-9, None, "1e-09", ""),
        (None, 3.0, "NULL", "±3.0"),
        (float("nan"), 1.0, "nan", "±1.0"),
        (2.0, float("inf"), "2", ""),
        (True, None, "true", ""),
        (dt.datetime(2020, 1, 2, 3, 4), None, "2020-01-02 03:04:00", ""),
        (b"\x00\xff", None, "00ff", ""),
    ],
)
def test_figures_are_shown_as_finely_as_their_error_warrants(value, half_width, text, width):
    assert subject.format_value(value, half_width) == text
    assert subject.shown_half_width(half_width) == width


def test_json_has_a_form_for_everything():
    value = {"a": [float("inf"), Decimal("1.5"), dt.date(2020, 1, 2), b"\x01", None, True, "ü"]}
    assert subject.plain(value) == {"a": [None, 1.5, "2020-01-02", "01", None, True, "ü"]}


def test_constructors():
    assert sqlpriv.Date(2002, 12, 25) == dt.date(2002, 12, 25)
    ticks = dt.datetime(2002, 12, 25, 13, 45, 30).timestamp()
    assert sqlpriv.DateFromTicks(ticks) == sqlpriv.Date(2002, 12, 25)
    assert sqlpriv.TimeFromTicks(ticks) == sqlpriv.Time(13, 45, 30)
    assert sqlpriv.TimestampFromTicks(ticks) == sqlpriv.Timestamp(2002, 12, 25, 13, 45, 30)
    assert sqlpriv.Binary(b"x") == b"x"
