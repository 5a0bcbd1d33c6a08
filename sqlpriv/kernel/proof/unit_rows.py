"""How many rows of one unit a relation can have, and how many its operators handle, in public.

Bounding at the top of a query limits what a unit changes, not what it costs: k copies of
`WHERE id = 42`, joined d times inside the unit, are k^d rows if 42 exists, and the time tells it.

**Claim.** While a query is read, the operators of its relation handle at most `Reach.work` rows of
any one unit, and no relation in it has more than `Reach.rows` of them; both follow from the
declared bounds, the relation and public tables alone. `check_work` refuses more than a small
multiple of the largest declared bound.

**Proof**, operator by operator, over the relation as `sql.relations` writes it. Let m g be what is
declared of a table: m rows in each of g strata. At an input of a join or of a union the renderer
keeps at most `rows` rows of a unit (`BoundedRows.bound_rows`), so a table's rows count as m g
there; the rows that are kept depend on that unit's rows alone, so a relation stays
unit-partitioned.
WHERE, derived columns and grouping inside a unit add no row. A unit has no more groups than rows
of a private side of joins that has all columns among the keys (of a left join the left side alone:
the right one's are NULL, too, where there is no partner); where one of them is unique there, no two
groups share it. The parts of a union add up. A join
inside the unit compares each left row with each right row of the unit: l r pairs. Where the
condition equates a column of which no two rows of a side share a value, a row of the other side
has one partner at most. A public side has at most as many partners for a row as rows of it share
the equated columns, which is counted in public tables. Where each unit satisfies its bound,
nothing is left out.

Rows that a table holds beyond its bound are still scanned: that time grows with the table.

A scan that gives its first row costs more than a row: whatever takes its rows (the table of a join,
a window, a group) then sets up memory of its own, about 40 µs. So scans of private tables are
counted, too, and a query reads `MAX_SCANS` of them at most, however few rows of a unit they give.
"""

from collections.abc import Callable
from typing import NamedTuple

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract, Type
from sqlpriv.kernel.terms.operations import TRUNCATED

MAX_FACTOR = 512
"""The most by which rows of a unit may multiply: 512 more rows take less than 0.1 ms."""
MAX_WORK, LEAST_FACTOR, MAX_SCANS = 2**16, 8, 8
"""A unit of a large bound may have 2^16 rows handled, or eight times its bound where that is more:
2^16 rows take about 2 ms (`tests/attacks/test_time.py` measures both). Eight scans take about
0.3 ms more if each gives a first row."""

Partners = Callable[[TableContract, a.Relation, tuple[str, ...]], int]
"""Returns the largest number of rows of a public relation that agree in these columns; all of its
rows where no columns are given. The contract is that of `reach_of`."""


class Reach(NamedTuple):
    """Bounds on one unit in a relation.

    Attributes:
        rows: The most rows of the unit; 0 in a public relation.
        work: The most rows of the unit that operators handle.
        scans: How many private tables are scanned.
        bound: The largest declared bound of the relation's tables.
        limited: The renderer enforces `rows` inside the relation, so that a join which reads it
            need not.
        types: By lower-case name, the type of each stored column. None for a computed column, with
            three exceptions: a key keeps the type of its column, a column of a union that of the
            columns which it is in each part (the renderer casts them exactly), and the day of a
            timestamp is a DATE, which equals no other day. None also for text with a collation, on
            whichever side of a join: one such text may equal several texts of a UNIQUE column. None
            also for moments of nanoseconds: several of a UNIQUE column are one moment of
            microseconds.
        alone: The columns in which no two rows share a value.
        sides: The sides of joins, private and public, such that each row of the relation contains
            one row of the side.
    """

    rows: int
    work: int
    scans: int
    bound: int
    limited: bool
    types: dict[str, Type | None]
    alone: frozenset[str] = frozenset()
    sides: tuple["Reach", ...] = ()


def reach_of(relation: a.Relation, contract: TableContract, partners: Partners) -> Reach:
    """Returns the bounds proved above.

    Args:
        relation: What is read.
        contract: Of any of its private tables, with those of the others in it.
        partners: Counts rows of a public relation; it may refuse, or read public tables.
    """
    match relation:
        case a.Scan():
            return _reach_of_scan(relation, contract)
        case a.Derive(source, new, expr):
            below = reach_of(source, contract, partners)
            is_day = isinstance(expr, a.Call) and expr.op == "date"
            type_ = Type.DATE if is_day else None
            return below._replace(types={**below.types, new.lower(): type_})
        case a.Join(left, right):
            first, second = (reach_of(side, contract, partners) for side in (left, right))
            return _reach_of_join(relation, first, second, contract, partners)
        case a.Union(_, parts):
            each = [reach_of(part, contract, partners) for part, _ in parts]
            rows, work, scans = map(sum, zip(*(part[:3] for part in each), strict=True))
            bound, types = max(part.bound for part in each), _types_of_union(relation, each)
            return Reach(rows, rows + work, scans, bound, True, types)
        case a.PerUnit(source, keys, folds, unit):
            below = reach_of(source, contract, partners)
            read = {key.lower(): x.name.lower() if isinstance(x, a.Col) else "" for key, x in keys}
            wholes = [x for x in below.sides if x.rows and {*read.values()} <= x.types.keys()]
            of = min([below, *wholes], key=lambda side: side.rows)
            aggregated = dict.fromkeys(
                name.lower() for name in (*(fold.name for fold in folds), unit)
            )
            return below._replace(
                rows=of.rows if keys else 1,
                limited=below.limited or not keys,
                types=aggregated | {key: below.types.get(column) for key, column in read.items()},
                alone=frozenset(key for key, column in read.items() if column in of.alone),
                sides=(),
            )
    return reach_of(relation.source, contract, partners)


def check_work(relation: a.Relation, contract: TableContract, partners: Partners) -> int:
    """Returns the number of scans of private tables; raises Refused where rows of one unit may
    multiply further than is read."""
    reach = reach_of(relation, contract, partners)
    allowed = min(MAX_FACTOR, max(LEAST_FACTOR, MAX_WORK // reach.bound))
    factor = -(-reach.work // reach.bound)
    if factor > allowed or reach.scans > MAX_SCANS:
        raise Refused(
            f"rows of one unit may multiply {factor}-fold in the joins and unions of this query,"
            f" over {reach.scans} scans, and at most {allowed}-fold over {MAX_SCANS} is read;"
            " nothing was read",
            hint="join on a PRIMARY KEY or UNIQUE column, or aggregate inside the unit first",
        )
    return reach.scans


def equated_columns(on: a.Expr) -> list[tuple[str, str]]:
    """Returns pairs of columns that are equal wherever a condition is true, in lower case.

    >>> equated_columns(a.Call("=", (a.Col("ID"), a.Col("r.person"))))
    [('id', 'r.person'), ('r.person', 'id')]
    """
    match on:
        case a.Call("and", args):
            return [pair for arg in args for pair in equated_columns(arg)]
        case a.Call("=", (a.Col(one), a.Col(other))):
            return [(one.lower(), other.lower()), (other.lower(), one.lower())]
    return []


def _reach_of_scan(scan: a.Scan, contract: TableContract) -> Reach:
    table = contract.contract_of(scan.table)
    types = {
        (scan.prefix + c.name).lower(): None
        if (table.collated and c.type is Type.TEXT) or c.sql_type.upper() in TRUNCATED
        else c.type
        for c in table.columns
    }
    bound = table.unit.rows_per_unit * table.unit.groups_per_unit if table.unit else 0
    return Reach(
        rows=bound,
        work=bound,
        scans=int(bound > 0),
        bound=bound,
        limited=False,
        types=types,
        alone=frozenset((scan.prefix + column).lower() for column in table.unique),
    )


def _types_of_union(union: a.Union, each: list[Reach]) -> dict[str, Type | None]:
    """Returns the types of a union's columns that are stored columns of one type in each part.

    Claim: a value of such a column equals one value at most of a UNIQUE column of its type. It is a
    stored value, cast exactly: whole numbers to HUGEINT, any other type to the one of its kind.
    """
    types = dict[str, Type | None]()
    for i, name in enumerate(union.names):
        columns = [(exprs[i], part) for (_, exprs), part in zip(union.parts, each, strict=True)]
        of = {p.types.get(x.name.lower()) if isinstance(x, a.Col) else None for x, p in columns}
        types[name.lower()] = of.pop() if len(of) == 1 else None
    return types


def _reach_of_join(
    join: a.Join, left: Reach, right: Reach, contract: TableContract, partners: Partners
) -> Reach:
    pairs = [
        (mine, theirs)
        for mine, theirs in equated_columns(join.on)
        if mine in left.types
        and theirs in right.types
        and left.types[mine] is right.types[theirs]
        and left.types[mine] not in (None, Type.REAL)
    ]
    one_right = any(theirs in right.alone for _, theirs in pairs)
    one_left = any(mine in left.alone for mine, _ in pairs)
    if right.bound or not left.bound:  # of private rows, or of none
        met = left.rows if one_right else right.rows if one_left else left.rows * right.rows
    else:
        same = tuple(sorted({theirs for _, theirs in pairs}))
        met = left.rows * (1 if one_right else partners(contract, join.right, same))
    work, scans = left.work + right.work + met, left.scans + right.scans
    bound = max(left.bound, right.bound)
    sides = (left, *left.sides, *((right, *right.sides) if join.kind == "inner" else ()))
    if join.kind in ("semi", "anti"):
        return Reach(left.rows, work, scans, bound, True, left.types, left.alone, sides)
    return Reach(
        rows=met + (left.rows if join.kind == "left" and not one_right else 0),
        work=work,
        scans=scans,
        bound=bound,
        limited=True,
        types={**left.types, **right.types},
        alone=frozenset([*(left.alone if one_right else ()), *(right.alone if one_left else ())]),
        sides=sides,
    )
