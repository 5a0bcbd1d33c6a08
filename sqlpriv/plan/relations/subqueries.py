"""Scalar subqueries `(SELECT …)`: found, and replaced by the values that they have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar, get_args

from sqlpriv.statements import tree as t

_Kind = TypeVar("_Kind", t.Subquery, t.InQuery)


def scalar_subqueries(part: object) -> Iterator[t.Subquery]:
    """Yields the scalar subqueries of a statement, those in subqueries of FROM and WHERE too, but
    not those inside others."""
    return _outermost(part, t.Subquery)


def membership_subqueries(part: object) -> Iterator[t.InQuery]:
    """Yields the conditions `x IN (SELECT …)` of a statement, outermost ones."""
    return _outermost(part, t.InQuery)


def _outermost(whole: object, kind: type[_Kind]) -> Iterator[_Kind]:
    """Yields them in the order in which they are written; a statement is walked six times."""
    waiting = [whole]
    while waiting:
        part = waiting.pop()
        if isinstance(part, kind):
            yield part
        elif isinstance(part, tuple):
            waiting.extend(part[::-1])
        elif type(part) in _WITH_PARTS:
            waiting.extend(reversed(vars(part).values()))


def with_values(part: Any, values: Mapping[t.Node, t.Node]) -> Any:
    """Returns the statement with other nodes in the place of these, such as a subquery's value."""
    if not values:
        return part
    if isinstance(part, t.Subquery | t.InQuery) and part in values:
        return values[part]
    if isinstance(part, tuple):
        return tuple(with_values(entry, values) for entry in part)
    if type(part) not in _WITH_PARTS:
        return part
    changed = {f.name: with_values(getattr(part, f.name), values) for f in fields(part)}
    return replace(part, **changed)


_WITH_PARTS = frozenset(
    {*get_args(t.Node), t.Select, t.UnionAll, t.Derived, t.Joined, t.Item, t.Order}
) - {t.Literal, t.Name}
