"""Keys of public tables: their values, and which of them stand in one row, are the table's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sqlpriv.kernel.terms.contract import Categories, Column, TableContract, Type, Value
from sqlpriv.plan.expressions.traverse import walk
from sqlpriv.session.access.context import Access
from sqlpriv.statements import tables
from sqlpriv.statements import tree as t

MOST = 10_000
"""Values of a column, or combinations of several, that are listed for keys."""
_LISTED = (Type.INTEGER, Type.TEXT, Type.BOOLEAN, Type.DATE)


@dataclass(frozen=True)
class PublicKeys:
    """Reads public tables for the keys of one statement.

    Args:
        access: What the session holds.
        contracts: Of every table, by lower-case name.
    """

    access: Access
    contracts: Mapping[str, TableContract]

    def with_lists(self, select: t.Select, contract: TableContract) -> TableContract:
        """Returns a contract in which keys of public tables without a domain have their values.

        It is for planning alone: the kernel asks for no domain of a public table.
        """
        names = {name.lower() for name in _key_names(select)}
        if not names:
            return contract
        others = dict(contract.others)
        for table in tables(select):
            public = self.contracts.get(table)
            if public is None or not public.public:
                continue
            columns = tuple(
                self._with_values(public.table, column) if column.name.lower() in names else column
                for column in public.columns
            )
            others[table] = replace(public, columns=columns)
        return replace(contract, others=others)

    def combinations(self, table: str, columns: tuple[str, ...]) -> frozenset[tuple[Value, ...]]:
        """Returns which values of some columns stand in one row of a public table."""
        rows = self.access.sql.public_rows([table], self.contracts)[table]
        pairs = rows.select(list(columns)).group_by(list(columns)).aggregate([])
        values = (pairs.column(name).to_pylist() for name in columns)
        return frozenset(zip(*values, strict=True))

    def _with_values(self, table: str, column: Column) -> Column:
        if column.domain is not None or column.type not in _LISTED:
            return column
        values = [value for (value,) in self.combinations(table, (column.name,))]
        if not values or len(values) > MOST or values == [None]:
            return column
        ordered = sorted(values, key=lambda value: (value is None, value))
        return replace(column, domain=Categories(tuple(ordered)))


def _key_names(select: t.Select) -> Iterator[str]:
    """Yields the names of columns that GROUP BY may mean, aliases and ordinals among them."""
    if not (select.group_by or select.group_all):
        return
    for node in (*select.group_by, *(item.expr for item in select.items)):
        yield from (part.name for part in walk(node) if isinstance(part, t.Name))
