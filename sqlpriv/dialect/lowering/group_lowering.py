"""GROUP BY, with ROLLUP, CUBE and GROUPING SETS, as DuckDB reads it.

ROLLUP (a, b) is (a, b), (a), (); CUBE has every subset; the elements of GROUP BY are combined, each
set of one with each of the others; in GROUPING SETS they stand beside each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from sqlglot import exp

from sqlpriv.dialect.lowering.node_lowering import Glot, NodeLowering
from sqlpriv.dialect.marks import function_name
from sqlpriv.errors import Refused
from sqlpriv.statements.tree import Node

MAX_SETS = 128
"""Sets of keys of one statement: CUBE of seven keys."""
_Keys = tuple[Node, ...]


def has_plain_distinct(select: Glot) -> bool:
    """Returns whether SELECT DISTINCT is GROUP BY ALL: of columns by name, without other groups."""
    distinct = select.args.get("distinct")
    if distinct is None or distinct.args.get("on") is not None or select.args.get("group"):
        return False
    return not any(
        item.find(exp.Star, exp.Window) for item in select.expressions if isinstance(item, exp.Expr)
    )


def lower_group_by(
    nodes: NodeLowering, group: Glot | None, *, every: bool = False
) -> tuple[_Keys, bool, tuple[tuple[int, ...], ...]]:
    """Returns every key once, whether ALL was written, and the positions of each set's keys;
    no sets where all keys are the one set. `every`: each output is a key."""
    if group is None:
        return (), every, ()
    nodes.check_arguments(group, ("expressions", "all"))
    if group.args.get("all"):
        return (), True, ()
    plain, sets = True, [()]  # type: tuple[bool, list[_Keys]]
    for element in group.expressions:
        alone, more = _grouping(nodes, element)
        plain, sets = plain and alone, [(*one, *other) for one in sets for other in more]
        _check_sets(nodes, len(sets), element)
    if plain:
        return sets[0], False, ()
    by = tuple(dict.fromkeys(key for one in sets for key in one))
    return by, False, tuple(tuple(dict.fromkeys(map(by.index, one))) for one in sets)


def _grouping(nodes: NodeLowering, node: Glot) -> tuple[bool, list[_Keys]]:
    """Returns whether an element of GROUP BY is a key as it is, and its sets."""
    kind = function_name(node)
    if kind in ("grouping sets", "rollup", "cube") and not node.expressions:
        raise nodes.cannot(node)
    if kind == "grouping sets":
        sets = []
        for part in node.expressions:
            sets += _grouping(nodes, part)[1]
            _check_sets(nodes, len(sets), part)
        return False, sets
    if kind in ("rollup", "cube"):
        parts = [_keys(nodes, part) for part in node.expressions]
        if kind == "rollup":
            return False, [_flat(parts[:n]) for n in range(len(parts), -1, -1)]
        _check_sets(nodes, 2 ** min(len(parts), 60), node, past=True)
        sizes = range(len(parts), -1, -1)
        return False, [_flat(some) for size in sizes for some in combinations(parts, size)]
    return not isinstance(node, exp.Tuple), [_keys(nodes, node)]


def _keys(nodes: NodeLowering, node: Glot) -> _Keys:
    if isinstance(node, exp.Tuple):
        return nodes.expressions(node.expressions)
    return (nodes.expression(node),)


def _check_sets(nodes: NodeLowering, sets: int, node: Glot, *, past: bool = False) -> None:
    if sets > MAX_SETS:
        at = nodes.index(node, last=True) + (2 if past else 1)
        token = nodes.tokens[min(at, len(nodes.tokens) - 1)]
        hint = "ask for fewer at once: each is measured and paid for"
        raise Refused.at(token, f"GROUP BY has more than {MAX_SETS} sets of keys", hint)


def _flat(parts: Iterable[_Keys]) -> _Keys:
    return tuple(key for part in parts for key in part)
