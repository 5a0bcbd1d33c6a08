"""The names of a SELECT's outputs, and what they stand for in the rest of the statement."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from sqlpriv.errors import Refused
from sqlpriv.statements import default_name
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import walk, with_aliases

MOST_TERMS = 8_000
"""Of earlier outputs, in place of their names: `a + a AS b, b + b AS c` doubles with each."""


def output_aliases(select: t.Select) -> dict[str, t.Node]:
    """Returns alias, lower case → its expression, in which earlier aliases are written out.

    Of an alias that is given twice the first expression counts.

    Raises:
        Refused: What is written out is longer than `MOST_TERMS`.
    """
    aliases: dict[str, t.Node] = {}
    sizes: dict[str, int] = {}
    written_out = 0
    for item in select.items:
        parts = list(walk(item.expr))
        size = sum(sizes.get(part.name.lower(), 0) for part in parts if isinstance(part, t.Name))
        written_out += size
        if written_out > MOST_TERMS:
            message = f"names of earlier outputs stand for more than {MOST_TERMS:,} terms"
            raise Refused.at(select.pos, message, "compute with them in a query around this one")
        if item.alias:
            alias = item.alias.lower()
            sizes.setdefault(alias, size + len(parts))
            others = aliases_in(item.expr, aliases)
            others.pop(alias, None)
            aliases.setdefault(alias, with_aliases(item.expr, others))
    return aliases


def aliases_in(node: t.Node, aliases: Mapping[str, t.Node]) -> dict[str, t.Node]:
    """Returns those of the aliases that an expression names: few, where there are a thousand."""
    names = {part.name.lower() for part in walk(node) if isinstance(part, t.Name)}
    return {name: aliases[name] for name in names if name in aliases}


def distinct_names(names: Iterable[str]) -> list[str]:
    """Returns names of columns told apart as in DuckDB: by `_1` and so on behind the later ones.

    >>> distinct_names(["n", "N", "a", "n"])
    ['n', 'N_1', 'a', 'n_2']
    """
    taken_names: set[str] = set()
    told_apart = []
    for name in names:
        ways = (f"{name}_{number}" if number else name for number in itertools.count())
        own = next(way for way in ways if way.lower() not in taken_names)
        taken_names.add(own.lower())
        told_apart.append(own)
    return told_apart


def output_names(select: t.Select) -> tuple[str, ...]:
    """Returns the names of the result's columns: aliases, else DuckDB's default ones."""
    return tuple(item.alias or default_name(item) for item in select.items)
