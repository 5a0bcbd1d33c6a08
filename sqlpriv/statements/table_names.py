"""Which tables a query reads."""

from __future__ import annotations

from types import NoneType

from sqlpriv.statements.tree import (
    Derived,
    Item,
    Joined,
    Literal,
    Name,
    Node,
    Pos,
    Query,
    Select,
    Source,
    Table,
    UnionAll,
)


def tables(query: Query | Source) -> tuple[str, ...]:
    """Returns every table that is read, lower case, in the order written, subqueries included."""
    names: dict[str, None] = {}
    for table in _tables(query):
        names.setdefault(table.lower())
    return tuple(names)


def _tables(part: object) -> list[str]:
    match part:
        case Table(name):
            return [name]
        case Select():
            below = part.source or Table(part.table)
            rest = (value for name, value in vars(part).items() if name != "source")
            return _tables(below) + [x for value in rest for x in _inside(value)]
        case Derived() | Joined() | UnionAll():
            return [x for value in vars(part).values() for x in _inside(value)]
    return []


def _inside(value: object) -> list[str]:
    if isinstance(value, _LEAVES):
        return []
    if isinstance(value, tuple):
        return [x for entry in value for x in _inside(entry)]
    if isinstance(value, Table | Select | Derived | Joined | UnionAll):
        return _tables(value)
    if isinstance(value, Item | Node) or hasattr(value, "descending"):
        return [x for part in vars(value).values() for x in _inside(part)]
    return []


_LEAVES = (Literal, Name, Pos, str, int, NoneType)
"""Most parts of a query are these, an IN's thousands of values among them."""
