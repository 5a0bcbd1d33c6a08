"""What each operator of a statement handled, as the engine's own counters tell it."""

from __future__ import annotations

import json
from typing import Any

from support.vaults import Engine


def rows_handled(engine: Engine, sql: str) -> list[tuple[str, int, int]]:
    """Every operator of the plan with the rows that it passed on, and those that it scanned."""
    explained = engine.duckdb.execute(f"EXPLAIN (ANALYZE, FORMAT json) {sql}").fetchall()
    profile = json.loads(explained[0][1])
    handled: list[tuple[str, int, int]] = []

    def walk(operator: dict[str, Any]) -> None:
        rows = operator.get("intermediate_rows", 0), operator.get("rows_scanned", 0)
        handled.append((operator["type"], *rows))
        for child in operator.get("children", ()):
            walk(child)

    for operator in profile["operator"]:
        walk(operator)
    return handled
