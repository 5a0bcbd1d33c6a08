"""The names of the columns that outputs are computed from: keys, aggregates and half-widths."""

from __future__ import annotations

from collections.abc import Iterable

from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import walk

STRATUM, GROUP, AGGREGATE, POPULATION = "stratum_", "group_", "aggregate_", "is_population"
HALF, SUMMED = "half_", "summed_"
PLAIN, OWN_WEIGHT = "plain_", "own_weight_"
"""Columns of an aggregate whose strata are pooled: the estimate from a stratum's own rows alone,
and the weight of that estimate in the number that is shown."""
SHIFTS = {"n": "shift_n_", "s": "shift_s_", "r": "shift_r_", "q": "shift_q_", "rest": "shift_rest_"}
"""How far, and in which direction, an aggregate moves if one release that it is computed from is
off by the half-width of that release's 95 % interval: the count, the plain sum, the sum of the
rounds, the sum of squares. `rest` is the part of the aggregate's half-width that these do not
explain."""
END, PART = "end_", "part_"
"""An output whose aggregates are moved, or are not: what half-widths are computed from; and what
such an output repeats of itself."""
LIST = "list_value"
"""DuckDB's function for `[a, b]`. A call with several quantiles becomes such a list."""


def aggregates_in(node: t.Node) -> list[int]:
    """Returns the numbers of the aggregate columns in an output, ascending.

    >>> aggregates_in(t.Binary("/", t.Name("aggregate_2"), t.Name("aggregate_0")))
    [0, 2]
    """
    return sorted(_numbers_in([node], AGGREGATE))


def half_widths_in(nodes: Iterable[t.Node]) -> frozenset[int]:
    """Returns the numbers of the aggregates whose half-widths outputs are made of."""
    listed = list(nodes)
    return _numbers_in(listed, HALF) | _numbers_in(listed, SHIFTS["rest"])


def needs_shifts(node: t.Node) -> bool:
    """Whether the half-width of an output may be computed from `SHIFTS`: it has several
    aggregates."""
    return len(aggregates_in(node)) > 1


def _numbers_in(nodes: Iterable[t.Node], prefix: str) -> frozenset[int]:
    names = {part.name for node in nodes for part in walk(node) if isinstance(part, t.Name)}
    return frozenset(int(name.removeprefix(prefix)) for name in names if name.startswith(prefix))
