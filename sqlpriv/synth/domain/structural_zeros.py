"""Structural zeros: rows that cannot exist, `OPTIONS (zeros = 'age < 15 AND married')`.

The predicate's alternatives (what its outermost ORs join) are constraints, each over the columns
that it names. Where all values of those columns can be listed, a constraint says of every cell
whether all of it is impossible; a method whose models are junction trees gives such a cell the
probability 0, if the constraint's columns fit into one clique. What a constraint cuts through (a
bin) or leaves out (reals, too many cells) is rejected when rows are drawn: `drawing`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv import dialect
from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.plan import outputs
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.statements import quote_name, sql
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import operands, walk
from sqlpriv.synth.domain.decode import MOST_VALUES, values_of
from sqlpriv.synth.domain.domain import Attribute, Domain
from sqlpriv.synth.graph.junction_tree import Clique, Graph, mask_of
from sqlpriv.system import arrow
from sqlpriv.system.quiet_engine import open_engine

Masks = Mapping[Clique, NDArray[np.bool_]]


@dataclass(frozen=True)
class Zeros:
    """What is impossible.

    Args:
        sql: The predicate over the published table.
        parts: Its alternatives, likewise, and the names in each.
    """

    sql: str
    parts: tuple[tuple[str, frozenset[str]], ...]


@dataclass(frozen=True, eq=False)
class Kept:
    """What a model can keep to by itself.

    Args:
        masks: By clique (ascending; strata columns after the others) which cells are impossible.
        whole: How many constraints these are the whole of.
    """

    masks: Masks
    whole: int


def impossible(text: str | None, contract: TableContract, domain: Domain) -> Zeros | None:
    """Returns the predicate of `zeros`; None without one.

    Raises:
        Refused: It is no predicate over published columns, or one that could fail on a row.
    """
    if text is None:
        return None
    where = read_predicate(text, contract.table, "the option zeros")
    outputs.bind_where(where, Binder.of(contract), {})
    check_published(where, domain, 'zeros is about published columns, and "{}" is none')
    return Zeros(sql(where), tuple((sql(x), _names(x)) for x in operands("or", where)))


def read_predicate(text: str, table: str, what: str) -> t.Node:
    """Returns the one predicate that the text is, which `what` has. Raises Refused for another."""
    read = dialect.read(f"SELECT COUNT(*) FROM {quote_name(table)} WHERE (\n{text}\n)")
    statement = read[0] if len(read) == 1 else None
    if isinstance(statement, t.Select) and statement.where is not None:
        others = (
            statement.group_by,
            statement.group_all,
            statement.sets,
            statement.stratify,
            statement.having,
        )
        if not any((*others, statement.order_by, statement.limit, statement.offset)):
            return statement.where
    raise Refused(f"{what} is one predicate", hint="'age < 15 AND married'")


def check_published(where: t.Node, domain: Domain, message: str) -> None:
    """Raises Refused with the message, which has a name put in, for another column."""
    published = {name.lower() for name in domain.output}
    for node in walk(where):
        if isinstance(node, t.Name) and node.name.lower() not in published:
            raise Refused(message.format(node.name), hint=f"one of: {', '.join(domain.output)}")


def _names(node: t.Node) -> frozenset[str]:
    return frozenset(x.name.lower() for x in walk(node) if isinstance(x, t.Name))


def zeros_to_keep(domain: Domain, zeros: Zeros, cells: int) -> Kept:
    """Returns what a junction tree of at most that many cells can keep to: constraints are taken
    one after the other, those of few cells first, for as long as the tree is small enough."""
    columns = (*domain.attributes, *domain.strata)
    graph = Graph([column.size for column in columns])
    ones = [mask_of([c]) for c in range(len(columns))]
    masks: dict[Clique, NDArray[np.bool_]] = {}
    whole = 0
    sums = {one.column.name.lower() for one in domain.composed}
    named = [
        (part, tuple(i for i, c in enumerate(columns) if c.column.name.lower() in names))
        for part, names in zeros.parts
        if not names & sums  # a sum's values are no levels
    ]
    for part, clique in sorted(named, key=lambda x: graph.cells(mask_of(x[1]))):
        if graph.size([*ones, *map(mask_of, (*masks, clique))]) > cells:
            continue
        mask_and_cut = _cells([columns[c] for c in clique], part)
        if mask_and_cut is not None:
            mask, cut = mask_and_cut
            masks[clique] = mask | masks.get(clique, False)
            whole += not cut
    several = {c: tuple(i for i in c if columns[i].size > 1) for c in masks}
    squeezed = {several[c]: mask.squeeze() for c, mask in masks.items() if several[c]}
    return Kept(squeezed, whole)


def _cells(columns: list[Attribute], sql: str) -> tuple[NDArray[np.bool_], bool] | None:
    """Returns which cells of these columns are impossible, and whether some are in part; None
    where that cannot be found out, or nothing would be possible."""
    values = [values_of(column) for column in columns]
    listed = [v for v in values if v is not None]
    if len(listed) < len(values) or math.prod(len(v[0]) for v in listed) > MOST_VALUES:
        return None
    mark = "_" * (1 + max((len(c.column.name) for c in columns), default=0))  # no column's name
    with open_engine() as engine:
        for i, (column, (all_of, levels)) in enumerate(zip(columns, listed, strict=True)):
            table = pa.table({column.column.name: all_of, f"{mark}{i}": arrow.numbers(levels)})
            engine.register(f"values{i}", table)
        at = "".join(f"{mark}{i}, " for i in range(len(columns)))
        wrong = f"coalesce({sql}, false)"
        of = ", ".join(f"values{i}" for i in range(len(columns))) or "(SELECT 1)"
        text = (
            f"SELECT {at}bool_and({wrong}) AS no, bool_or({wrong}) AS some FROM {of} GROUP BY ALL"
        )
        try:
            impossible = engine.execute(text).fetchnumpy()
        except duckdb.Error:
            raise Refused("zeros cannot be computed of the published columns") from None
    mask = np.zeros([column.size for column in columns], dtype=np.bool_)
    none = np.asarray(impossible["no"], dtype=np.bool_)
    mask[tuple(np.asarray(impossible[f"{mark}{i}"]) for i in range(len(columns)))] = none
    return None if mask.all() else (mask, bool((np.asarray(impossible["some"]) != none).any()))
