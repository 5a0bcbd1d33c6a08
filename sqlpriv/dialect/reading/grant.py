"""GRANT and REVOKE: who may use which tables."""

from __future__ import annotations

from sqlpriv.dialect.token_cursor import TokenCursor
from sqlpriv.dialect.tokens import Kind
from sqlpriv.errors import Refused
from sqlpriv.statements import commands as cmd

_FORM = "write GRANT SELECT ON t TO 'ada', or REVOKE SELECT ON t FROM 'ada'"


def grant_select(c: TokenCursor) -> cmd.GrantSelect:
    """Returns `GRANT SELECT ON t, u | ALL TABLES TO 'ada', PUBLIC`, or `REVOKE SELECT … FROM …`.

    Raises:
        Refused: Another right than SELECT, or one on less than a table.
    """
    first = c.next()
    if not c.accept("SELECT"):
        raise c.refuse(f"{c.peek().shown} is no right here: SELECT is the only one", _FORM)
    if c.at("("):
        raise c.refuse("a right is on whole tables", _FORM)
    c.expect("ON")
    tables: tuple[str, ...] = ()
    if c.accept("ALL", "TABLES"):
        c.accept("IN", "SCHEMA", "MAIN")
    else:
        c.accept("TABLE")
        tables = c.read_list(c.table)
    allowed = first.upper == "GRANT"
    c.expect("TO" if allowed else "FROM")
    principals = c.read_list(lambda: _principal(c))
    if c.at("WITH"):
        raise c.refuse("a right cannot be passed on: owners alone grant", _FORM)
    c.end()
    return cmd.GrantSelect(tables, principals, allowed, first.pos)


def _principal(c: TokenCursor) -> str:
    """Reads `'ada'`, `ada` or PUBLIC, which is returned as `*`."""
    token = c.peek()
    if token.kind is Kind.WORD and c.accept("PUBLIC"):
        return "*"
    name = c.constant() if token.kind is Kind.STRING else c.name("a principal, such as 'ada'")
    if not isinstance(name, str) or not name or name == "*" or name.lower() == "public":
        raise Refused.at(token, "this is no principal", "write 'ada'; for everybody, PUBLIC")
    return name
