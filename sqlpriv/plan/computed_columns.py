"""The names of the columns that outputs are computed from: keys, aggregates and half-widths."""

from __future__ import annotations

from collections.abc import Iterable

from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import walk

STRATUM, GROUP, AGGREGATE, POPULATION = "stratum_", "group_", "aggregate_", "is_population"
HALF, SUMMED = "half_", "summed_"
LIST = "list_value"
"""The function that `[a, b]` is: what several quantiles of one call become."""


def aggregates_in(node: t.Node) -> list[int]:
    """Returns the numbers of the aggregate columns in an output, ascending.

    >>> aggregates_in(t.Binary("/", t.Name("aggregate_2"), t.Name("aggregate_0")))
    [0, 2]
    """
    return sorted(_numbers_in([node], AGGREGATE))


def half_widths_in(nodes: Iterable[t.Node]) -> frozenset[int]:
    """Returns the numbers of the aggregates whose half-widths outputs are made of."""
    return _numbers_in(nodes, HALF)


def _numbers_in(nodes: Iterable[t.Node], prefix: str) -> frozenset[int]:
    names = {part.name for node in nodes for part in walk(node) if isinstance(part, t.Name)}
    return frozenset(int(name.removeprefix(prefix)) for name in names if name.startswith(prefix))
