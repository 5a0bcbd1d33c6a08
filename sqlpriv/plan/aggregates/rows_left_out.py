"""`OPTIONS (left_out = true)`: what is measured, and charged, to tell which share of the rows lies
beyond the bound; `answer.bounds.share_left_out` tells it.
The same counts choose the bound under `OPTIONS (max_rows_contributed = auto)`.

Bounding keeps m rows of a unit, and ± knows nothing of the rest. How many rows a unit has is
private, so it is asked as anything else is: units are counted by how many rows they have, on a grid
of growing steps. A unit is in one cell of it, whatever it has: the noise is that of one row.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlpriv.errors import Refused
from sqlpriv.kernel.proof.sensitivity import bound_of
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.statements.tree import Pos

_STEP, _BEYOND = 1.2, 256
"""Cells grow by a fifth, up to 256 times the rows that are kept."""
_ROWS = "sqlpriv_rows"


def units_by_rows(
    source: a.Relation,
    contract: TableContract,
    strata: int,
    pos: Pos,
    chooses: bool = False,
) -> a.Count:
    """Returns the count of units by how many rows of the relation they have.

    Args:
        source: What a statement counts, bounded further or not.
        contract: Of any of its private tables, with those of the others in it.
        strata: How many the statement has.
        pos: Of the statement.
        chooses: Whether the counts choose how many rows of a unit are kept. They are then the same
            whatever was chosen: cells are fine up to the owner's bound.

    Raises:
        Refused: The relation joins or unites tables; or it has one row of a unit, of which none
            need be chosen.
    """
    inner = source.source if isinstance(source, a.Bounded) else source
    most = kept_rows(inner if chooses else source, contract, strata)
    if chooses and most == 1:
        hint = "leave max_rows_contributed out"
        raise Refused.at(pos, "one row of a unit counts by the owner's bound", hint)
    if not Scope(inner, contract).of_one_table:
        hint = "ask SELECT … OPTIONS (left_out = true) COUNT(*) of each of the joined tables"
        what = "left_out is told"
        if chooses:
            what, hint = "max_rows_contributed = auto is chosen", "write a number of rows"
        raise Refused.at(pos, f"{what} of the rows of one table", hint)
    edges = [2]
    while edges[-1] < min(10**6, _BEYOND * most):
        edges.append(max(edges[-1] + 1, round(edges[-1] * _STEP)))
    edges = sorted({*edges, most + 1})
    if chooses:
        edges = few_edges(most)
    return count_units(inner, edges, reach=min(10**6, edges[-1] + 1))


def count_units(source: a.Relation, edges: Sequence[int], reach: int) -> a.Count:
    """Returns the count of units by how many rows of a relation they have.

    Args:
        source: What has the rows.
        edges: Numbers of rows at which cells begin, ascending; the first cell is what lies below.
        reach: The number of rows that a unit of more is counted as: in the last cell.
    """
    counted = a.PerUnit(source, (), (a.Fold(_ROWS, "count", reach=reach),))
    key = a.Key(a.Bin(a.Col(_ROWS), tuple(edges)), tuple(range(len(edges) + 1)))
    return a.Count(counted, keys=(key,))


def cell_ends(most: int) -> list[int]:
    """Returns the last numbers of rows of cells that are few and growing.

    >>> cell_ends(16)
    [1, 2, 3, 4, 6, 8, 12, 16]
    """
    powers = range(most.bit_length())
    return sorted({1, *(end for i in powers for end in (2 << i, 3 << i) if end <= most)})


def few_edges(most: int) -> list[int]:
    """Returns where cells begin that noise hides less of, as they are few: 2, 3, 4, 5, 7, 9, 13, …
    up to the owner's bound, and of four times the rows each beyond.

    >>> few_edges(10)
    [2, 3, 4, 5, 7, 9, 11, 41, 161, 641, 2561]
    """
    beyond = [most * 4**i for i in range(5) if most * 4**i < 10**6]
    return sorted({end + 1 for end in (*cell_ends(most), *beyond)})


def kept_rows(source: a.Relation, contract: TableContract, strata: int) -> int:
    """Returns how many rows of a unit count at most, in all of its strata together."""
    bound = bound_of(source, contract)
    return bound.rows_per_unit * min(bound.groups_per_unit, strata)
