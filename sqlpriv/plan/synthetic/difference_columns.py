"""Constraints between columns of a synthetic table: `OPTIONS (constraints = 'end >= start')`.

The synthesizer models the difference `end - start` in place of the larger column. The difference's
domain begins at 0, or at 1 for `end > start`. The published column is the sum `start + difference`.

- Every published row keeps to the constraint.
- The distance between the columns is modelled as well as any column. From the two columns' own
  values the distance could hardly be told.
- A private row that breaks the constraint counts as one with the least difference.
- Where the smaller column is NULL there is no difference, and the larger column is NULL as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.contract import Categories, Column, Interval, Type, Value
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.synthetic.synthetic_columns import SyntheticColumns
from sqlpriv.statements import default_name
from sqlpriv.statements import tree as t

_NAME = r'"(?:[^"]|"")+"|\w+'
_CONSTRAINT = re.compile(rf"\s*({_NAME})\s*(>=|<=|>|<)\s*({_NAME})\s*")
_KINDS = {Type.INTEGER: "number", Type.REAL: "number"}


@dataclass(frozen=True)
class Constraint:
    """A column that is never below another one.

    Args:
        larger, smaller: Names, as written.
        strict: Whether they are never equal: whole numbers then differ by 1 at least, dates by a
            day, timestamps by a second.
    """

    larger: str
    smaller: str
    strict: bool = False


@dataclass(frozen=True)
class Difference:
    """A column that is modelled as a difference.

    Args:
        column: As it is published, with its own domain.
        smaller: The published column that the difference is added to.
    """

    column: Column
    smaller: str


def read_constraints(text: Value) -> tuple[Constraint, ...]:
    """Returns the constraints, each after those of its smaller column.

    Raises:
        Refused: The text is no list of comparisons of two columns, a column is the larger one
            twice, or columns are above each other in a circle.

    >>> [(c.larger, c.smaller) for c in read_constraints("paid > sent; sent >= ordered")]
    [('sent', 'ordered'), ('paid', 'sent')]
    """
    hint = "constraints = 'end_date >= start_date; paid > sent'"
    if text is None:
        return ()
    waiting: dict[str, Constraint] = {}
    for part in str(text).split(";"):
        match = _CONSTRAINT.fullmatch(part)
        if match is None:
            raise Refused(
                "the option constraints compares two columns, and again after ;", hint=hint
            )
        left, sign, right = _plain(match[1]), match[2], _plain(match[3])
        larger, smaller = (left, right) if sign[0] == ">" else (right, left)
        if larger.lower() in waiting:
            more = "leave one out, or rule rows out by OPTIONS (zeros = 'a < b')"
            raise Refused(f'constraints put "{larger}" above two columns', hint=more)
        waiting[larger.lower()] = Constraint(larger, smaller, len(sign) == 1)
    ordered: list[Constraint] = []
    while waiting:
        ready = [c for c in waiting.values() if c.smaller.lower() not in waiting]
        if not ready:
            raise Refused("constraints put columns above each other in a circle", hint=hint)
        ordered += ready
        for constraint in ready:
            del waiting[constraint.larger.lower()]
    return tuple(ordered)


def with_differences(
    select: t.Select, read: SyntheticColumns, constraints: Sequence[Constraint]
) -> tuple[t.Select, tuple[Difference, ...]]:
    """Returns the SELECT with differences in the place of larger columns, and what they are of.

    Args:
        select: As written.
        read: Its columns, without the constraints.
        constraints: From `read_constraints`.

    Raises:
        Refused: A column is none of the table's, or has no interval; see `_check_kinds`.
    """
    items = {(item.alias or default_name(item)).lower(): item for item in select.items}
    nodes = {
        name.lower(): items[name.lower()].expr if name.lower() in items else t.Name(name)
        for name in read.columns
    }
    of_place: dict[str, t.Node] = {}
    differences = []
    for constraint in constraints:
        larger = _column_of(constraint.larger, read)
        smaller = _column_of(constraint.smaller, read)
        place = nodes[larger.name.lower()] if larger.name in read.columns else t.Literal(None)
        if larger.name in read.strata:
            what = f'"{larger.name}" is a stratum: it cannot be the larger column of a constraint'
            raise refuse(place, what, "OPTIONS (zeros = …) rules rows out")
        _check_kinds(larger, smaller, place)
        below = nodes.get(smaller.name.lower(), t.Name(smaller.name))
        if larger.type is Type.TIMESTAMP:
            apart: t.Node = t.FunctionCall("date_diff", (t.Literal("second"), below, place))
        else:
            apart = t.Binary("-", place, below)
        of_place[larger.name.lower()] = apart
        differences.append(Difference(larger, smaller.name))
    rewritten = tuple(
        t.Item(of_place.get(name.lower(), nodes[name.lower()]), alias=name) for name in read.columns
    )
    return replace(select, items=rewritten), tuple(differences)


def with_domains(read: SyntheticColumns, constraints: Sequence[Constraint]) -> SyntheticColumns:
    """Returns the columns of the rewritten SELECT, differences from 0 or 1 on."""
    least = {c.larger.lower(): int(c.strict) for c in constraints}
    columns = tuple(
        replace(c, domain=_from(c, least[c.name.lower()])) if c.name.lower() in least else c
        for c in read.contract.columns
    )
    return replace(read, contract=replace(read.contract, columns=columns))


def _from(column: Column, least: int) -> Interval:
    """Returns the interval of a difference.

    Args:
        column: The difference, with the domain that follows from the two columns' own.
        least: The least difference that the constraint allows; 0 for numbers with fractions, which
            have no least distance.
    """
    domain = column.domain
    if isinstance(domain, Categories):
        ends = [v for v in domain.labels if isinstance(v, int | float)]
        domain = Interval(min(ends), max(ends), None in domain.labels)
    assert isinstance(domain, Interval)
    assert isinstance(domain.lower, int | float)
    assert isinstance(domain.upper, int | float)
    lower = max(domain.lower, least if column.type is Type.INTEGER else 0)
    if domain.upper <= lower:
        raise Refused(f'no value of "{column.name}" keeps to the constraints')
    return replace(domain, lower=lower)


def _plain(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _column_of(name: str, read: SyntheticColumns) -> Column:
    column = read.contract.column(name)
    if column is None:
        names = ", ".join(read.columns)
        raise Refused(f'constraints name "{name}", which is no column', hint=f"one of: {names}")
    return column


def _check_kinds(larger: Column, smaller: Column, place: t.Node) -> None:
    """Refuses columns that have no difference, and a larger one without an interval."""
    kinds = {_KINDS.get(c.type, c.type) if c.type else None for c in (larger, smaller)}
    zoned = any("TIME ZONE" in c.sql_type.upper() for c in (larger, smaller))
    if len(kinds) > 1 or zoned or not kinds <= {"number", Type.DATE, Type.TIMESTAMP}:
        what = f'constraints compare numbers, dates or timestamps: "{larger.name}" and'
        raise refuse(place, f'{what} "{smaller.name}" are not of one of these kinds', "CAST one")
    if not isinstance(larger.domain, Interval):
        what = f'"{larger.name}" has a list of values, and a sum need not be one of them'
        raise refuse(place, what, "declare BETWEEN (low, high), or write OPTIONS (zeros = …)")
