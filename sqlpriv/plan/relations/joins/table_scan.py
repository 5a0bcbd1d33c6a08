"""One stored table of FROM: its rows, and what is known of its columns in public."""

from __future__ import annotations

from sqlpriv.errors import meant_among
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.facts.conditions import identities
from sqlpriv.plan.expressions.facts.value_facts import present_columns, scope_of, unread_columns
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.relations.joins.named_rows import Naming, Rows
from sqlpriv.plan.relations.joins.relation_columns import Contracts
from sqlpriv.statements import tree as t


def read_table(table: t.Table, contracts: Contracts, naming: Naming) -> Rows:
    """Returns the rows of one stored table, and what the names of its columns mean.

    Args:
        table: As FROM names it.
        contracts: Of all tables, by lower-case name.
        naming: Names and parts in use; those of this table are added.

    Raises:
        Refused: There is no such table, or nobody declared whom it protects.
    """
    place = t.Literal(None, table.pos)
    contract = contracts.get(table.name.lower())
    if contract is None or contract.hidden:
        raise refuse(
            place,
            f'there is no table "{table.name}" in this vault',
            f"{meant_among(table.name, [c.table for c in contracts.values() if not c.hidden])}"
            "SHOW PRIVACY TABLES lists those that can be joined; a released table is asked alone,"
            " at no cost",
        )
    if contract.unit is None and not contract.public:
        raise refuse(
            place,
            f'nobody declared whom "{table.name}" protects',
            "the owner gives it a PRIVACY_KEY, one PRIVACY_LINK to a PRIMARY KEY or "
            "UNIQUE column, or SET PUBLIC",
        )
    alias = table.alias or table.name
    first = not (naming.parts or naming.taken)
    prefix = "" if first else naming.free_name(f"{alias.lower()}.")
    if not prefix:
        naming.taken.add("")
    columns = {c.name.lower(): prefix + c.name for c in contract.columns}
    scope = {prefix + n: shape for n, shape in scope_of(contract).items()}
    required = frozenset(prefix + name for name in present_columns(contract))
    binder = Binder(
        contract.table,
        alias,
        columns,
        scope,
        required,
        {(alias.lower(), n): column for n, column in columns.items()},
        homes={v.lower(): (contract.table, v.removeprefix(prefix)) for v in columns.values()},
        named={prefix + c: x for c, x in identities(contract).items()},
        unread=unread_columns(contract, prefix),
    )
    part = naming.new_part()
    mine = {c.lower(): part for c in columns.values()} if contract.unit else {}
    return Rows(a.Scan(contract.table, prefix), binder, mine)
