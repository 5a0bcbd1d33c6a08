"""IN with hundreds of values that are no literals is answered as DuckDB answers it."""

from __future__ import annotations

from pathlib import Path

from sqlpriv.session.session import Session
from suites.run import EPSILON, without_noise
from suites.vault import make_vault, plain_duckdb


def test_a_long_list_of_values_is_answered(tmp_path: Path) -> None:
    """300 comparisons nested one in the other were a RecursionError."""
    listed = ", ".join(f"hours + {number}" for number in range(300))
    text = f"SELECT COUNT(*) FROM people WHERE age IN ({listed})"
    with plain_duckdb() as plain, Session(make_vault(tmp_path / "p.duckdb"), principal="l") as own:
        own.execute(f"SET privacy_epsilon = {EPSILON}")
        for _ in without_noise():
            table = own.execute(text).table
        assert table is not None
        assert [tuple(row.values()) for row in table.to_pylist()] == plain.execute(text).fetchall()
