"""GRANT SELECT and REVOKE SELECT, as an owner says them; `table_grants` tells what they mean."""

from __future__ import annotations

from sqlpriv.errors import Refused
from sqlpriv.session.access.context import Access
from sqlpriv.session.access.result import Result
from sqlpriv.session.access.table_grants import changed_grants, text_of_grants
from sqlpriv.statements import commands as cmd


def grant_tables(statement: cmd.GrantSelect, access: Access) -> Result:
    """Records who may use some tables, all of it or nothing; tells who may use each now.

    Sealed answers stay good: asking again what was asked before is free for those who may.

    Raises:
        PermissionDenied: It is no owner who asks.
        Refused: There is no such table.
    """
    verb = "grant" if statement.allowed else "revoke"
    access.needs_owner(f"{verb} the use of a table", statement.pos)
    contracts = access.tables.contracts()
    for table in statement.tables:
        if table.lower() in contracts:
            continue
        if access.tables.is_released(table):
            message = f'"{table}" is released: everybody may use it'
            hint = "DROP SYNTHETIC TABLE takes it away from all"
            raise Refused.at(statement.pos, message, hint)
        message = f'there is no table "{table}"'
        raise Refused.at(statement.pos, message, access.sql.tables_hint(table))
    tables = dict.fromkeys(map(str.lower, statement.tables)) or contracts
    lines = []
    with access.kernel.ledger.begin("IMMEDIATE"):
        for table in tables:
            grants = dict(contracts[table].grants)
            for principal in statement.principals:
                grants = changed_grants(grants, principal, statement.allowed)
            access.kernel.ledger.declare(table, access.principal, grants=grants)
            lines.append(text_of_grants(contracts[table].table, grants))
    return Result(message="\n".join(lines) or "there is no table yet")
