"""Which tables a synthetic schema has, what of them is modelled, and how they hang together.

All of it is public: names, declared domains and links. Of every table one statement follows, as an
owner could write it: its rows with the columns of their parent and how many children each has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.contract import Link, TableContract
from sqlpriv.publish.release_file import quote_identifier as quoted
from sqlpriv.session.declarations.linking_columns import linking_columns
from sqlpriv.statements import alter_text
from sqlpriv.statements import commands as cmd

NEW_KEYS = ("INT", "VARCHAR", "UUID")
"""Ends and beginnings of the types of which new keys are made."""


@dataclass(frozen=True)
class SchemaTable:
    """One table of a synthetic schema.

    Args:
        contract: Of the private table.
        columns: Names of its columns that are modelled, in the order of the table.
        keys: Names of its columns that number its rows anew: PRIMARY KEY, UNIQUE.
        parent: The table that its rows belong to; None for a table of its own.
        link: How; None for a table of its own.
        left_out: Columns that are neither.
    """

    contract: TableContract
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    parent: SchemaTable | None = None
    link: Link | None = None
    left_out: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As it is spelt in the vault."""
        return self.contract.table

    @property
    def children_column(self) -> str:
        """The modelled column of the parent that holds how many rows of this table it has."""
        return f"rows of {self.name}"

    def parent_columns(self, children: Sequence[SchemaTable]) -> dict[str, str]:
        """Returns the names, in this table's statement, of what is modelled of the parent.

        Args:
            children: Those of the parent, this table among them.
        """
        assert self.parent is not None
        modelled = (*self.parent.columns, *(child.children_column for child in children))
        return {f"{self.parent.name}: {column}": column for column in modelled}


def arrange_tables(
    create: cmd.CreateSyntheticSchema, contracts: Mapping[str, TableContract]
) -> tuple[SchemaTable, ...]:
    """Returns the tables of a schema, every parent before its children.

    Raises:
        Refused: A table is not there, not private or named twice; a column is not there; a link
            leads to no key; links run in a circle, or two lead out of one table.
    """
    named = {table.name.lower(): table for table in create.tables}
    if len(named) < len(create.tables):
        raise Refused.at(create.pos, "a table is named twice", "name it once")
    arranged: dict[str, SchemaTable] = {}
    while len(arranged) < len(named):
        ready = [
            of
            for of in named
            if of not in arranged
            and all(link.table.lower() in arranged for link in _links(of, named, contracts, create))
        ]
        if not ready:
            raise Refused.at(create.pos, "the links between these tables run in a circle")
        for of in ready:
            links = _links(of, named, contracts, create)
            parent = arranged[links[0].table.lower()] if links else None
            arranged[of] = _read_table(named[of], contracts[of], parent, links, create)
    return tuple(arranged.values())


def _links(
    of: str,
    named: Mapping[str, cmd.TableColumns],
    contracts: Mapping[str, TableContract],
    create: cmd.CreateSyntheticSchema,
) -> tuple[Link, ...]:
    if of not in contracts:
        raise Refused.at(create.pos, f'there is no table "{named[of].name}"')
    links = tuple(link for link in contracts[of].links if link.table.lower() in named)
    if len(links) > 1:
        tables = " and ".join(link.table for link in links)
        raise Refused.at(
            create.pos,
            f"{named[of].name} is linked to {tables}: its rows would have two parents",
            "name one of them in this schema, and make another schema of the other",
        )
    return links


def _read_table(
    wanted: cmd.TableColumns,
    contract: TableContract,
    parent: SchemaTable | None,
    links: Sequence[Link],
    create: cmd.CreateSyntheticSchema,
) -> SchemaTable:
    if contract.unit is None:
        raise Refused.at(
            create.pos,
            f'"{contract.table}" has no privacy unit',
            "leave it out if it is public: it needs no synthetic copy",
        )
    link = links[0] if links else None
    linking = linking_columns(link) if link else frozenset[str]()
    is_single = link and not link.further
    if link and parent and not (is_single and link.parent.lower() in parent.contract.unique):
        columns = ", ".join(theirs for _, theirs in link.pairs)
        raise Refused.at(
            create.pos,
            f'"{columns}" is neither PRIMARY KEY nor UNIQUE in {parent.name}:'
            f" a row of {contract.table} may have several parents",
            f"declare {parent.name} with a PRIMARY KEY; rows in files have none: copy them into"
            " a table of the vault that has",
        )
    if link and not contract.unique - linking:
        raise Refused.at(
            create.pos,
            f"{contract.table} has no PRIMARY KEY that tells its rows apart",
            f"{alter_text(contract.table)} ADD PRIMARY KEY (…)",
        )
    keys = [
        column.name
        for column in contract.columns
        if column.name.lower() in contract.unique - linking and _makes_keys(column.sql_type)
    ]
    taken = {*linking, *contract.unit.columns, *map(str.lower, keys)}
    free = [column for column in contract.columns if column.name.lower() not in taken]
    if wanted.columns:
        for name in wanted.columns:
            if contract.column(name) is None:
                raise Refused.at(create.pos, f'{contract.table} has no column "{name}"')
        chosen = {name.lower() for name in wanted.columns} - taken
        free = [column for column in free if column.name.lower() in chosen]
    modelled = [c.name for c in free if c.domain is not None or wanted.columns]
    left_out = [c.name for c in free if c.name not in modelled]
    return SchemaTable(contract, tuple(modelled), tuple(keys), parent, link, tuple(left_out))


def _makes_keys(sql_type: str) -> bool:
    return sql_type.upper().endswith(NEW_KEYS) or sql_type.upper().startswith(NEW_KEYS)


def children_of(table: SchemaTable, tables: Sequence[SchemaTable]) -> tuple[SchemaTable, ...]:
    """Returns the tables whose rows belong to rows of this one."""
    return tuple(x for x in tables if x.parent is not None and x.parent.name == table.name)


def statement_of(table: SchemaTable, tables: Sequence[SchemaTable], method: str) -> str:
    """Returns the statement that models one table of a schema: its rows, its parent's columns, how
    many children each of them has.

    Every unit gives one row of a child table, taken at random: a row stands beside its number of
    siblings, so that it is as good a sample of a parent's rows as all of them, for less noise.
    """
    items = [f"t.{quoted(column)}" for column in table.columns]
    joins = list(_count_children(table, tables, "t", items))
    if table.parent is not None and table.link is not None:
        siblings = children_of(table.parent, tables)
        shared = {of: name for name, of in table.parent_columns(siblings).items()}
        link = table.link
        items += [f"p.{quoted(of)} AS {quoted(shared[of])}" for of in table.parent.columns]
        joins.append(
            f"JOIN {quoted(table.parent.name)} AS p ON p.{quoted(link.parent)}"
            f" = t.{quoted(link.column)}"
        )
        counted: list[str] = []
        joins += _count_children(table.parent, tables, "p", counted)
        renamed = [shared[sibling.children_column] for sibling in siblings]
        items += [
            f"{text.rpartition(' AS ')[0]} AS {quoted(name)}"
            for text, name in zip(counted, renamed, strict=True)
        ]
    limit = " OPTIONS (max_rows_contributed = 1)" if table.parent is not None else ""
    rows = f"FROM {quoted(table.name)} AS t {' '.join(joins)}"
    return (
        f"CREATE SYNTHETIC TABLE {quoted(table.name + ' of a schema')} AS"
        f" SELECT {', '.join(items)} {rows} USING {quoted(method)}{limit}"
    )


def _count_children(
    table: SchemaTable, tables: Sequence[SchemaTable], alias: str, items: list[str]
) -> Iterator[str]:
    """Yields the joins that count each child table's rows, and adds the counts to the items."""
    for i, child in enumerate(children_of(table, tables)):
        assert child.link is not None
        name, column = f"{alias}{i}", quoted(child.link.column)
        counts = f"SELECT {column}, count(*) AS n FROM {quoted(child.name)} GROUP BY {column}"
        items.append(f"coalesce({name}.n, 0) AS {quoted(child.children_column)}")
        key = f"{alias}.{quoted(child.link.parent)}"
        yield f"LEFT JOIN ({counts}) AS {name} ON {name}.{column} = {key}"
