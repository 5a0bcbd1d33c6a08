"""Scalar subqueries `(SELECT …)`: found, and replaced by the values that they have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from sqlpriv.dialect import tree as t


def scalars(part: object) -> Iterator[t.Subquery]:
    """Yields the scalar subqueries of a statement, those in subqueries of FROM and WHERE too, but
    not those inside others."""
    if isinstance(part, t.Subquery):
        yield part
    elif isinstance(part, tuple):
        for entry in part:
            yield from scalars(entry)
    elif _walked(part):
        for field in fields(part):  # type: ignore[arg-type]  # a dataclass, just seen
            yield from scalars(getattr(part, field.name))


def memberships(part: object) -> Iterator[t.InQuery]:
    """Yields the conditions `x IN (SELECT …)` of a statement, outermost ones."""
    if isinstance(part, t.InQuery):
        yield part
    elif isinstance(part, tuple):
        for entry in part:
            yield from memberships(entry)
    elif _walked(part):
        for field in fields(part):  # type: ignore[arg-type]  # a dataclass, just seen
            yield from memberships(getattr(part, field.name))


def with_values(part: Any, values: Mapping[t.Node, t.Node]) -> Any:
    """Returns the statement with other nodes in the place of these, such as a subquery's value."""
    if isinstance(part, t.Subquery | t.InQuery) and part in values:
        return values[part]
    if isinstance(part, tuple):
        return tuple(with_values(entry, values) for entry in part)
    if not _walked(part):
        return part
    changed = {f.name: with_values(getattr(part, f.name), values) for f in fields(part)}
    return replace(part, **changed)


def _walked(part: object) -> bool:
    kinds = t.Node | t.Select | t.Union | t.Derived | t.Joined | t.Item | t.Order
    return isinstance(part, kinds) and not isinstance(part, t.Literal | t.Name)
