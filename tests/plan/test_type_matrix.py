"""Every row operation on every type gives DuckDB's values, or is refused, as docs/types.md says."""

from __future__ import annotations

import pytest
from support import type_matrix
from support.places import ROOT

from sqlpriv.plan.expressions import binder


@pytest.fixture(scope="module")
def matrix() -> dict[str, dict[str, type_matrix.Cell]]:
    return type_matrix.matrix()


def test_no_value_differs_but_for_a_reason_that_is_told(
    matrix: dict[str, dict[str, type_matrix.Cell]],
) -> None:
    differing = {
        (name, sql_type): cell.reason
        for name, cells in matrix.items()
        for sql_type, cell in cells.items()
        if cell.outcome == "differs"
    }
    assert differing.keys() == type_matrix.DIFFERENCES.keys(), differing


def test_numbers_texts_and_moments_are_answered(
    matrix: dict[str, dict[str, type_matrix.Cell]],
) -> None:
    """What a column can be declared with can be compared, counted and listed."""
    usable = [name for name in type_matrix.TYPES if name != "INTEGER[]"]
    for sql_type in usable:
        assert matrix["="][sql_type].outcome in ("agrees", "refused"), sql_type
        assert matrix["is null"][sql_type].outcome == "agrees", sql_type
    outcomes = {cells["INTEGER[]"].outcome for cells in matrix.values()}
    assert outcomes <= {"refused", "no such operation"}


def test_the_page_says_what_is(matrix: dict[str, dict[str, type_matrix.Cell]]) -> None:
    assert (ROOT / "docs" / "types.md").read_text("utf-8") == type_matrix.whole_page(matrix)


def test_decimals_in_doubles_alone_would_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: without rounding to their digits, 3 * 0.1 is not 0.3."""

    engine = type_matrix.table_of("DECIMAL(4,1)")
    assert type_matrix.try_cell(engine, "DECIMAL(4,1)", "x * 0.1 = 0.3").outcome == "agrees"
    monkeypatch.setattr(binder, "_exact_decimal", lambda expr, _: expr)
    assert type_matrix.try_cell(engine, "DECIMAL(4,1)", "x * 0.1 = 0.3").outcome == "differs"
