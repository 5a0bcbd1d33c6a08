"""Rows of a table in order, as a cursor hands them out: one, some, or the rest."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sqlpriv.interfaces.display.values import rows

Row = tuple[Any, ...]
AHEAD = 1000
"""Rows that are made into Python's at once when they are fetched one by one."""


class Fetcher:
    """A position in a table.

    Args:
        table: All the rows. They become Python values no sooner than they are asked for.

    Attributes:
        position: Index of the next row, from 0.
    """

    def __init__(self, table: pa.Table) -> None:
        self.table, self.position = table, 0
        self._block: list[Row] = []
        self._begins = 0

    def one(self) -> Row | None:
        """Returns the next row; None after the last."""
        at = self.position - self._begins
        if not at < len(self._block):
            self._block, self._begins, at = rows(self.table, self.position, AHEAD), self.position, 0
            if not self._block:
                return None
        self.position += 1
        return self._block[at]

    def some(self, count: int) -> list[Row]:
        """Returns the next `count` rows; fewer at the end."""
        next_rows = rows(self.table, self.position, count)
        self.position += len(next_rows)
        return next_rows

    def rest(self) -> list[Row]:
        """Returns all rows that are left."""
        return self.some(max(0, self.table.num_rows - self.position))
