"""What is public of stored tables while a query over them is parted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sqlpriv.dialect.common_tables import bare_name, common_table

Rows = tuple[Sequence[str], Sequence[tuple[Any, ...]], Sequence[str]]
"""The names of columns, rows, and the types of exact numbers, '' of other columns."""


@dataclass(frozen=True)
class StoredTables:
    """What is public of stored tables, each by its lower-case name.

    Args:
        is_private: Whether it has rows to protect.
        columns_of: The lower-case names of its columns; None of an unknown table.
        types_of: The type of each of its columns; None of a table that is not private.
        row_names: A PRIMARY KEY or UNIQUE column, '' for none, and the columns that name the unit,
            in lower case.
        run: Runs a query over these public tables; None of one that fails.
    """

    is_private: Callable[[str], bool]
    columns_of: Callable[[str], Collection[str] | None]
    types_of: Callable[[str], Mapping[str, str] | None]
    row_names: Callable[[str], tuple[str, frozenset[str]]]
    run: Callable[[str, Sequence[str]], Rows | None]

    def reads_private(self, query: exp.Expr) -> bool:
        """Returns whether a part of a query reads private rows, also by queries of WITH."""
        return any(map(self.is_private, tables_read(query)))


def tables_read(query: exp.Expr) -> Iterator[str]:
    """Yields the stored tables that a part of a query reads, also by queries of WITH.

    Each of those is looked through once: where each reads the one before twice, sixteen of them
    were 2^16 queries to look through, which took 5 s.
    """
    parts, common_tables = [query], set[int]()
    while parts:
        for table in parts.pop().find_all(exp.Table):
            if not isinstance(table.this, exp.Identifier):
                continue
            cte = common_table(table)
            if cte is None:
                yield bare_name(table)
            elif id(cte) not in common_tables:
                common_tables.add(id(cte))
                parts.append(cte.this)
