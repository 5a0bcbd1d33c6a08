"""The time of a statement's parts adds up, and every part is one that a statement has."""

from pathlib import Path

from bench.matrix import Shape, write_table
from bench.parts import PARTS, measure_parts

from sqlpriv.session.session import Session


def test_parts_add_up_to_the_statements(tmp_path: Path) -> None:
    vault = tmp_path / "parts.duckdb"
    write_table(vault, Shape(500, "TINYINT", "INTEGER", "NOT NULL", "wide"))
    with Session(vault) as session:
        watch, seconds = measure_parts(session, turns=3)
    assert watch.entries.keys() == PARTS.keys()
    assert watch.entries["DuckDB runs it"] == 3
    assert 0.5 * seconds < watch.seconds.total() <= seconds * 1.001
    assert all(taken >= 0 for taken in watch.seconds.values())
