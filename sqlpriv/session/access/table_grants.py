"""Who may use which tables: what GRANT SELECT and REVOKE SELECT say, and what follows from them.

* A table of which neither was ever said is for everybody.
* The first GRANT to somebody closes a table for all others; the first REVOKE from somebody leaves
  it open for all others. `PUBLIC` is everybody of whom nothing was said by name.
* What was said by name holds until the contrary is said by name: REVOKE … FROM 'bob' keeps bob out
  though everybody may use the table.
* An owner may use every table. A name is compared without case, as that of a ceiling is.

Whoever may not use a table is answered as if there were none of that name, wherever tables are
named or listed. Privacy does not rest on it: budgets and noise are the same for everybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sqlpriv.kernel.terms.contract import TableContract

PUBLIC = "*"
"""Stands in a table's grants for everybody of whom nothing is said by name."""
Grants = Mapping[str, bool]
"""Lower-case principal, or PUBLIC → whether they may use the table."""


def may_use(grants: Grants, principal: str) -> bool:
    """Returns whether somebody may use a table.

    >>> may_use({}, "ada"), may_use({"*": False, "ada": True}, "Ada")
    (True, True)
    >>> may_use({"*": False, "ada": True}, "bob"), may_use({"*": True, "bob": False}, "bob")
    (False, False)
    """
    return grants.get(principal.lower(), grants.get(PUBLIC, True))


def changed_grants(grants: Grants, principal: str, allowed: bool) -> dict[str, bool]:
    """Returns a table's grants after one GRANT (allowed) or REVOKE.

    >>> changed_grants({}, "Ada", True)
    {'*': False, 'ada': True}
    >>> changed_grants({}, "bob", False)
    {'*': True, 'bob': False}
    >>> changed_grants({"*": False, "ada": True}, "*", True)
    {'*': True, 'ada': True}
    """
    return {PUBLIC: not allowed, **grants, principal.lower(): allowed}


def usable_contracts(
    contracts: Mapping[str, TableContract], principal: str
) -> dict[str, TableContract]:
    """Returns the contracts of the tables that somebody may use, by lower-case name.

    In what these know of each other, all others are hidden: the planner finds no table of that
    name, and the kernel reads one only on the way from a table to its unit.
    """
    usable = {n for n, c in contracts.items() if may_use(dict(c.grants), principal)}
    if len(usable) == len(contracts):
        return dict(contracts)
    others = {n: c if n in usable else replace(c, hidden=True) for n, c in contracts.items()}
    return {n: replace(c, others=others) for n, c in others.items() if n in usable}


def paying_contracts(contracts: Mapping[str, TableContract]) -> list[TableContract]:
    """Returns these contracts, and those of unit tables whose budgets pay for their rows."""
    elsewhere = {
        c.unit.table: c.others[c.unit.table]
        for c in contracts.values()
        if c.unit is not None and c.unit.table not in contracts
    }
    return [*contracts.values(), *elsewhere.values()]


def text_of_grants(table: str, grants: Grants) -> str:
    """Returns who may use a table, in words for the owner.

    >>> text_of_grants("people", {"*": False, "ada": True})
    'people: only ada may use it'
    >>> text_of_grants("people", {"*": True, "bob": False})
    'people: everybody but bob may use it'
    """
    everybody = grants.get(PUBLIC, True)
    named = ", ".join(n for n, allowed in grants.items() if n != PUBLIC and allowed != everybody)
    if everybody:
        return f"{table}: everybody{f' but {named}' if named else ''} may use it"
    return f"{table}: only {named} may use it" if named else f"{table}: only owners may use it"


def grant_lines(written_table: str, grants: Grants) -> Iterable[str]:
    """Yields the statements that give a table these grants; `written_table` as SQL has it."""
    for principal, allowed in sorted(grants.items()):  # PUBLIC, which is `*`, comes first
        name = "PUBLIC" if principal == PUBLIC else "'" + principal.replace("'", "''") + "'"
        if allowed:
            yield f"GRANT SELECT ON {written_table} TO {name};"
        else:
            yield f"REVOKE SELECT ON {written_table} FROM {name};"
