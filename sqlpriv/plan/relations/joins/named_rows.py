"""Rows of a relation as SQL sees them: what names mean, and what is known to be of one unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.kernel.terms.operations import conjuncts
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.facts.conditions import whole_identities

YES: a.Expr = a.Lit(True, Type.BOOLEAN)


@dataclass(frozen=True)
class Rows:
    """A relation, and how it is seen.

    Args:
        relation: What the kernel reads.
        binder: What names mean in it.
        leaves: Column, lower case → the number of its private part; none for public columns.
        joined: Pairs of private parts that are known to be of one unit.
        keeps_public: Whether SQL has public rows without a private one, too.
    """

    relation: a.Relation
    binder: Binder
    leaves: Mapping[str, int] = field(default_factory=dict)
    joined: frozenset[tuple[int, int]] = frozenset()
    keeps_public: bool = False

    @property
    def identities(self) -> Mapping[str, frozenset[str]]:
        """What columns identify: see `Binder.named`."""
        return self.binder.named

    @property
    def private(self) -> bool:
        """Whether its rows belong to units."""
        return bool(self.leaves)


@dataclass
class Naming:
    """Names and parts of one statement: no two of its columns, or of its private parts, are one.

    Args:
        taken: Prefixes and columns in use.
        parts: How many parts there are so far.
    """

    taken: set[str] = field(default_factory=set)
    parts: int = 0

    def new_part(self) -> int:
        """Returns the number of a new part."""
        self.parts += 1
        return self.parts

    def free_name(self, name: str) -> str:
        """Returns a name that no other part of the statement has.

        A prefix, which ends with a point, is free where no name begins with it; a column `t.age` of
        a query called t gets another head where the columns of a table called t begin with `t.`.
        """
        head, point, rest = name.partition(".")
        stem, number = head, 1
        while rest and f"{stem}." in self.taken:
            number += 1
            stem = f"{head}{number}"
        candidate, number = stem + point + rest, 1
        is_prefix = bool(point) and not rest
        while candidate in self.taken or (is_prefix and self._begins_a_name(candidate)):
            number += 1
            candidate = f"{stem}{number}." if is_prefix else f"{stem}{point}{rest}{number}"
        self.taken.add(candidate)
        return candidate

    def _begins_a_name(self, prefix: str) -> bool:
        return any(name.startswith(prefix) for name in self.taken)


def combine_sides(left: Rows, right: Rows, kind: str, shadow: bool = False) -> Rows:
    """Returns the columns of two sides together; with `shadow` the left ones hide the right's."""
    one, other = left.binder, right.binder
    lost = kind == "left"
    scope = {
        **one.scope,
        **{
            c: replace(
                s,
                nullable=True,
                values=s.values and (s.values if None in s.values else (*s.values, None)),
            )
            if lost
            else s
            for c, s in other.scope.items()
        },
    }
    both = set() if shadow else set(one.names) & set(other.names)
    binder = Binder(
        one.table,
        one.alias,
        {**other.names, **one.names},
        scope,
        one.required | (frozenset() if lost else other.required),
        {**(other.qualified or {}), **(one.qualified or {})},
        frozenset(both | one.twice | (other.twice - (set(one.names) if shadow else set()))),
        {**other.homes, **one.homes},
        {**({} if lost else other.listed), **one.listed},
        {**other.named, **one.named},
        excluded={**({} if lost else other.excluded), **one.excluded},
        conditions=(*one.conditions, *(() if lost else other.conditions)),
        unread={**other.unread, **one.unread},
        infinite={**({} if lost else other.infinite), **one.infinite},
    )
    return Rows(left.relation, binder, {**left.leaves, **right.leaves}, left.joined | right.joined)


def with_unit_equalities(rows: Rows, predicate: a.Expr) -> Rows:
    """Returns the rows with what a condition shows to be of one unit."""
    shared: dict[tuple[int, int], frozenset[str]] = {}
    for part in conjuncts(predicate):
        match part:
            case a.Call("=", (a.Col(x), a.Col(y))):
                one, other = (rows.identities.get(n.lower(), frozenset()) for n in (x, y))
                if one & other:
                    leaves = [rows.leaves[column.lower()] for column in (x, y)]
                    pair = min(leaves), max(leaves)
                    shared[pair] = shared.get(pair, frozenset()) | (one & other)
    pairs = {pair for pair, identified in shared.items() if whole_identities(identified)}
    return replace(rows, joined=rows.joined | pairs)


def rename_columns(binder: Binder, names: Mapping[str, str], alias: str) -> Binder:
    """Returns what the names mean that a query in FROM gives its columns."""
    qualified = {(alias.lower(), n): column for n, column in names.items()}
    return replace(
        binder,
        table=alias or binder.table,
        alias=alias,
        names=dict(names),
        qualified=qualified,
        twice=frozenset(),
    )


def conjunction(tests: tuple[a.Expr, ...]) -> a.Expr:
    """Returns the conjunction; true where there is no test."""
    return YES if not tests else tests[0] if len(tests) == 1 else a.Call("and", tests)
