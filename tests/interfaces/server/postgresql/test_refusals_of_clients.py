"""What PostgreSQL's clients are told of wrong statements, and parameters that would be changed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from sqlpriv.errors import DataError, ProgrammingError
from sqlpriv.interfaces.server.postgresql.encoding import type_numbers as types
from sqlpriv.interfaces.server.postgresql.encoding.sqlstate import error_message
from sqlpriv.interfaces.server.postgresql.encoding.wire_parameters import decode
from sqlpriv.interfaces.server.protocol import prepared

psycopg = pytest.importorskip("psycopg")


@pytest.mark.parametrize(
    ("statement", "state"),
    [
        ("SELECT 'a", "42601"),
        ("SELECT nosuch FROM made", "42703"),
        ("SELECT x.income FROM made", "42P01"),
        ("SELECT income FROM made a, made b", "42702"),
        ("SELECT (SELECT income FROM made) FROM made", "21000"),
    ],
)
def test_a_wrong_statement_has_postgresqls_state(served: Any, statement: str, state: str) -> None:
    with pytest.raises(psycopg.Error) as refused:
        served.psycopg().execute(statement)
    assert refused.value.sqlstate == state
    assert "SET " not in str(refused.value)


def test_out_of_memory_is_told_without_settings() -> None:
    words = (
        "Out of Memory Error: Failed to allocate\n\nPossible solutions:\n* (SET threads=X)\n\nSee"
    )
    message = error_message(ProgrammingError(words))
    assert b"53200" in message
    assert b"SET" not in message


def test_an_array_of_two_dimensions_is_no_list() -> None:
    """It was flattened, where the binary form was refused."""
    with pytest.raises(DataError):
        decode(b"{{1,2},{3,4}}", 1007, 0)


def test_twin_brackets_in_quotes_are_text() -> None:
    assert decode(b'{"{a}","b\\"}"}', types.TEXT_ARRAY, 0) == ["{a}", 'b"}']


def test_two_values_of_one_name_are_refused() -> None:
    rows = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(DataError, match=r"two values are given for \$a"):
        next(prepared.parameter_sets(("a",), rows))
    assert next(prepared.parameter_sets(("1", "2"), rows)) == (1, 2)


def test_nanoseconds_are_not_cut_off() -> None:
    fine, coarse = pa.array([1_001], pa.timestamp("ns")), pa.array([2_000], pa.timestamp("ns"))
    with pytest.raises(DataError, match="parts of a microsecond"):
        next(prepared.parameter_sets(("1",), pa.table({"1": fine})))
    (value,) = next(prepared.parameter_sets(("1",), pa.table({"1": coarse})))
    assert value.microsecond == 2


@pytest.mark.parametrize("form", ["plain", "dictionary", "list", "fixed"])
def test_parts_of_a_microsecond_of_a_time_are_not_cut_off(form: str) -> None:
    """Python's time has no attribute that would tell: it was cut, in lists too."""
    for value, is_fine in ((1_001, True), (2_000, False), (None, False)):
        cells = pa.array([value], pa.time64("ns"))
        if form == "list":
            cells = pa.array([[2_000, value]], pa.list_(pa.time64("ns")))
        elif form == "fixed":
            cells = pa.array([[value, None]], pa.list_(pa.time64("ns"), 2))
        elif form == "dictionary":
            cells = cells.dictionary_encode()
        sets = prepared.parameter_sets(("1",), pa.table({"1": cells}))
        if is_fine:
            with pytest.raises(DataError, match="parts of a microsecond"):
                next(sets)
        else:
            assert len(next(sets)) == 1
