"""Walks over surface expressions: their parts, their rebuilding, their comparison."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sqlpriv.dialect.tree import Literal, Name, Node, Unary

Change = Callable[[Node], Node | None]


def parts(node: Node) -> Iterator[Node]:
    """Yields the direct sub-expressions in the order written."""
    for field in dataclasses.fields(node):
        yield from _nodes(getattr(node, field.name))


def everything(node: Node) -> Iterator[Node]:
    """Yields the expression itself and all below it, parents first."""
    yield node
    for part in parts(node):
        yield from everything(part)


def rebuild(node: Node, change: Change) -> Node:
    """Returns the expression with every topmost part that `change` answers for replaced.

    What `change` returns is put in as it is and not looked into; where it returns None, the walk
    goes on below.
    """
    changed = change(node)
    if changed is not None:
        return changed
    fields = {f.name: _rebuilt(getattr(node, f.name), change) for f in dataclasses.fields(node)}
    return dataclasses.replace(node, **fields)


def normal(node: Node) -> Node:
    """Returns the expression with names in lower case and unqualified: one table is in scope."""

    def lower(part: Node) -> Node | None:
        return Name(part.name.lower(), "", part.pos) if isinstance(part, Name) else None

    return rebuild(node, lower)


def with_aliases(node: Node, aliases: Mapping[str, Node]) -> Node:
    """Returns the expression with unqualified names found in `aliases` (lower case) replaced."""

    def replace(part: Node) -> Node | None:
        known = isinstance(part, Name) and not part.table and part.name.lower() in aliases
        return aliases[part.name.lower()] if known and isinstance(part, Name) else None

    return rebuild(node, replace)


def literal(node: Node) -> Literal | None:
    """Returns the literal that the expression is, a minus sign taken in; else None."""
    if isinstance(node, Literal):
        return node
    if isinstance(node, Unary) and node.op == "-":
        inner = literal(node.arg)
        if inner and isinstance(inner.value, int | float) and not isinstance(inner.value, bool):
            return Literal(-inner.value, node.pos)
    return None


def _nodes(value: Any) -> Iterator[Node]:
    if isinstance(value, tuple):
        for entry in value:
            yield from _nodes(entry)
    elif isinstance(value, Node):
        yield value


def _rebuilt(value: Any, change: Change) -> Any:
    if isinstance(value, tuple):
        return tuple(_rebuilt(entry, change) for entry in value)
    return rebuild(value, change) if isinstance(value, Node) else value
