"""ALTER TABLE … PRIVACY … and CREATE PU TABLE: what an owner says of tables, and its effect."""

from __future__ import annotations

from sqlpriv.dialect import commands as cmd
from sqlpriv.dialect import tree as t
from sqlpriv.errors import DeclarationError, Refused
from sqlpriv.kernel.sql.quoting import name
from sqlpriv.session.access.context import Access
from sqlpriv.session.access.owner_engine import beyond_bound, outside
from sqlpriv.session.access.result import Result
from sqlpriv.session.commands.declare import declare


def alter_table(alter: cmd.AlterPrivacy, access: Access) -> Result:
    """Declares what an ALTER TABLE says; tells how many rows a new domain leaves out.

    Raises:
        PermissionDenied: It is no owner who asks.
        Refused, DeclarationError: There is no such table, or the declaration does not fit it.
    """
    access.needs_owner("declare what protects a table", alter.pos)
    contract = access.tables.contracts().get(alter.table.lower())
    if contract is None:
        message = f'there is no table "{alter.table}"'
        raise Refused.at(alter.pos, message, access.sql.tables_hint())
    message = declare(access.kernel, alter.action, contract, access.principal)
    access.kernel.verify()
    return Result(message=message + _rows_left_out(alter, access))


def create_unit_table(create: cmd.CreateUnitTable, access: Access) -> Result:
    """Creates a table and declares what its CREATE PU TABLE says; both happen or neither.

    Raises:
        PermissionDenied: It is no owner who asks.
        DeclarationError: A declaration does not fit the table.
    """
    access.needs_owner("create a table", t.Pos())
    assert access.owner is not None
    table = create.table.lower()
    existed = table in access.tables.contracts()
    access.owner.run(create.create)
    try:
        for action in create.actions:
            contract = access.tables.contracts()[table]
            declare(access.kernel, action, contract, access.principal)
    except DeclarationError:
        if not existed:
            access.owner.run(f"DROP TABLE {name(create.table)}")
        raise
    access.kernel.verify()
    return Result(message=f"created {create.table}; each of its units is protected")


def _rows_left_out(alter: cmd.AlterPrivacy, access: Access) -> str:
    """Returns, in words for the owner, how many rows a domain, a bound or a link leaves out."""
    action = alter.action
    if isinstance(action, cmd.AddPrivacyLink | cmd.SetBound | cmd.SetUnit):
        assert access.owner is not None
        contract = access.tables.contracts()[alter.table.lower()]
        words = beyond_bound(access.owner, contract)
        access.tables.settle()
        linked = isinstance(action, cmd.AddPrivacyLink) and words
        table = contract.table
        ask = f"; say how many count: ALTER TABLE {table} SET PRIVACY BOUND (rows_per_unit = …)"
        return f"{words}{ask}" if linked else words
    if not isinstance(action, cmd.SetDomainIn | cmd.SetDomainBetween | cmd.SetDomainReferences):
        return ""
    assert access.owner is not None
    contract = access.tables.contracts()[alter.table.lower()]
    column = contract.column(action.column)
    words = outside(access.owner, contract, column) if column else ""
    access.tables.settle()
    return words
