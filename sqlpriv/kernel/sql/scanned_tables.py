"""The rows of one table, and where a row's unit comes from.

A column of the table names it, or a link leads to the one row of another table whose unit it is.
"""

from dataclasses import replace

from sqlpriv.errors import Refused
from sqlpriv.kernel.sql.dialect import Dialect
from sqlpriv.kernel.sql.expressions import ROW
from sqlpriv.kernel.sql.relation_rows import RelationRows
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Link, PrivacyUnit, TableContract, TableFacts, Type


def read_scan(rows: RelationRows, scan: a.Scan) -> None:
    """Reads one table, whose links are followed up to the table that names the units."""
    table, row = rows.contract.contract_of(scan.table), ROW
    for column in table.columns:
        rows.add_column(
            replace(column, name=scan.prefix + column.name),
            f"{ROW}.{rows.dialect.identifier(column.name)}",
        )
    rows.base, rows.of_one_table, rows.scanned = rows.table(table, ROW), True, table
    if table.unit is None and table.public:
        return
    if table.unit is None:
        raise Refused(f'the table "{table.table}" has no privacy unit')
    if rows.contract.unit is None or table.unit.table != rows.contract.unit.table:
        raise Refused("one query is about the units of one table, which has their budget")
    rows.row_names = tuple((scan.prefix + c).lower() for c in sorted(table.unique))
    rows.facts = TableFacts(
        table.facts.bounded, frozenset(scan.prefix + c for c in table.facts.constant)
    )
    rows.outer = rows.base
    led = table.via or Link(table.unit.column, table.unit.table, "")
    names = {c: (table.table.lower(), c) for c in table.unique} | (
        {led.column.lower(): (led.table.lower(), led.parent.lower())}
        if table.via or not table.unit.further  # one column of a key of several names nobody
        else {}
    )
    rows.named = {
        (scan.prefix + c.name).lower(): names[c.name.lower()]
        for c in table.columns
        if c.type in (Type.INTEGER, Type.TEXT) and c.name.lower() in names
    }
    while link := table.via:  # up to the table that names the unit
        up, above = (
            rows.contract.contract_of(link.table, on_the_way=True),
            f"sqlpriv_up{rows.hops}",
        )
        mine, kind = key_of(table, link.column, row, rows.dialect)
        theirs, other = key_of(up, link.parent, above, rows.dialect)
        if kind != other or link.parent.lower() not in up.unique:
            raise Refused(f'"{link.column}" does not lead to one row of "{link.table}"')
        met = f"JOIN {rows.table(up, above)} ON {mine} = {theirs}"
        rows.base, rows.outer = f"{rows.base} {met}", f"{rows.outer} LEFT {met}"
        rows.link, rows.hops = rows.link or mine, rows.hops + 1
        table, row = up, above
    assert table.unit is not None  # `contract.contracts_in_force` found the way
    rows.owner, rows.owner_type = unit_of(table, table.unit, row, rows.dialect)
    rows.link = rows.link or rows.owner


def key_of(contract: TableContract, column: str, row: str, dialect: Dialect) -> tuple[str, str]:
    """Returns what names a row's unit, or its parent, and how: text byte by byte, any collation.

    Claim: two of one kind are equal where they name one thing, by no clock. The engine compares a
    moment with a time zone and one without by the zone that it is in, where the hour that summer
    time leaves out equals the hour after it: one link would lead to the rows of two units.
    """
    declared, text = contract.column(column), f"{row}.{dialect.identifier(column)}"
    if declared is None or declared.type is None or declared.type is Type.REAL:
        raise Refused(f'"{column}" cannot name a unit: its values have no one equality')
    if declared.type is Type.TEXT:
        text = dialect.form("bytes", text)
    return text, declared.sql_type if declared.type is Type.TIMESTAMP else declared.type


def unit_of(
    contract: TableContract, unit: PrivacyUnit, row: str, dialect: Dialect
) -> tuple[str, str]:
    """Returns what names a row's unit in a table with its key, and how; NULL where it has none.

    Claim: a key of several columns is one text, which tells any two combinations apart: before the
    bytes of each stands how many they are. The cast of what is no text loses nothing. Texts of
    other types may differ where the values are equal (a day, and the timestamp of its midnight), so
    that relations meet only if their units are named by columns of the same kinds.
    """
    keys = [key_of(contract, column, row, dialect) for column in unit.columns]
    if len(keys) == 1:
        return keys[0]
    texts = (text if kind is Type.TEXT else dialect.form("bytes", text) for text, kind in keys)
    kinds = f"{Type.TEXT} of {[str(kind) for _, kind in keys]}"
    return " || ".join(dialect.form("counted", text) for text in texts), kinds
