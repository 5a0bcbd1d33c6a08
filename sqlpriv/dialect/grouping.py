"""GROUP BY: its keys, and the sets of them that are asked for.

    grouping ::= ALL | element {, element}
    element  ::= expression | part | ROLLUP ( parts ) | CUBE ( parts )
               | GROUPING SETS ( element {, element} )
    part     ::= expression | ( ) | ( expression {, expression} )

As in DuckDB: ROLLUP (a, b) is (a, b), (a), (); CUBE has every subset; the elements of GROUP BY are
combined, each set of one with each of the others; in GROUPING SETS they stand beside each other.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

from sqlpriv.dialect.cursor import Cursor
from sqlpriv.dialect.expression import expression
from sqlpriv.dialect.tree import Node

MAX_SETS = 128
"""Sets of one statement: CUBE of seven keys."""
_Keys = tuple[Node, ...]


class Grouping(NamedTuple):
    """What GROUP BY says.

    Args:
        by: Every key once.
        all: GROUP BY ALL.
        sets: The positions in `by` of each set's keys; none where all keys are the one set.
    """

    by: _Keys = ()
    all: bool = False
    sets: tuple[tuple[int, ...], ...] = ()


def group_by(c: Cursor) -> Grouping:
    """Returns what stands behind GROUP BY.

    Raises:
        Refused: No grouping, or more than MAX_SETS sets.
    """
    if c.accept("ALL"):
        return Grouping(all=True)
    plain, sets = _element(c)
    while c.accept(","):
        alone, more = _element(c)
        plain, sets = plain and alone, [(*one, *other) for one in sets for other in more]
        _check(c, len(sets))
    by = tuple(dict.fromkeys(key for one in sets for key in one))
    if plain:
        return Grouping(sets[0])
    return Grouping(by, sets=tuple(tuple(dict.fromkeys(map(by.index, one))) for one in sets))


def _element(c: Cursor) -> tuple[bool, list[_Keys]]:
    """Returns whether an element is a key as it is, and its sets."""
    if c.accept("GROUPING", "SETS", "("):
        sets = _element(c)[1]
        while c.accept(","):
            sets += _element(c)[1]
            _check(c, len(sets))
        c.expect(")")
        return False, sets
    if c.accept("ROLLUP", "("):
        parts = _parts(c)
        return False, [_joined(parts[:n]) for n in range(len(parts), -1, -1)]
    if c.accept("CUBE", "("):
        parts = _parts(c)
        _check(c, 2 ** min(len(parts), 60))
        sizes = range(len(parts), -1, -1)
        return False, [_joined(some) for size in sizes for some in combinations(parts, size)]
    composite = _composite(c)
    return (True, [(expression(c),)]) if composite is None else (False, [composite])


def _parts(c: Cursor) -> list[_Keys]:
    found = [_part(c)]
    while c.accept(","):
        found.append(_part(c))
    c.expect(")")
    return found


def _part(c: Cursor) -> _Keys:
    composite = _composite(c)
    return (expression(c),) if composite is None else composite


def _composite(c: Cursor) -> _Keys | None:
    """Returns the keys of `(a, b)` or `()`; None where an expression stands, as in (a + b) * 2."""
    at = c.index
    if not c.accept("("):
        return None
    if c.accept(")"):
        return ()
    found = [expression(c)]
    while c.accept(","):
        found.append(expression(c))
    if len(found) == 1 or not c.accept(")"):
        c.index = at
        return None
    return tuple(found)


def _joined(parts: tuple[_Keys, ...] | list[_Keys]) -> _Keys:
    return tuple(key for part in parts for key in part)


def _check(c: Cursor, sets: int) -> None:
    if sets > MAX_SETS:
        raise c.refuse(f"GROUP BY has more than {MAX_SETS} sets of keys",
                       "ask for fewer at once: each is measured and paid for")  # fmt: skip
