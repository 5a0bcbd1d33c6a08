"""How rows meet, so that they are of one unit and no side spares the other any work.

Claim: where columns are equated that name one thing, nobody need ask for the units of the rows that
meet: they are one unit's. All rows that hold a value which names a row or a unit
(`RelationRows.named`), in whichever relations, are of one unit, that of the one row that is named,
as each row of a relation is made of rows of its own unit. Whole numbers and text are equal by one
rule wherever they are compared. Text of a collation names nothing, nor do moments, which have
clocks, and numbers that are compared as doubles. So either side's unit is that of the row, and
where nobody reads it, the link of a row, which is not NULL, stands for it
(`BoundedRows.bound_rows`).

Claim: whether a side of a join has rows decides nothing about the work on the other side. The
engine builds a hash table of the right side and then reads the left one: it never swaps them, drops
a side or filters one side by the other's values (`engine.CONFIG`). It skips the left side only if
the table that an inner or semi join builds is empty. So a private right side has one row of NULLs
more. That row meets no left row, whose unit is never NULL; it stays in the table because units and
equated values are compared by IS NOT DISTINCT FROM; and no filter reaches it, because a predicate
that does not compare the two sides reads the left side's unit, too (`RelationRows.hide`).
Predicates are applied where the algebra has them: whoever plans a query places them before its
joins.
"""

from dataclasses import replace
from functools import partial

from sqlpriv.kernel.proof.unit_rows import equated_columns
from sqlpriv.kernel.sql.bounded_rows import BoundedRows
from sqlpriv.kernel.sql.relation_rows import UNIT, has_collation
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms import operations as ops

LEFT, RIGHT = "sqlpriv_left", "sqlpriv_right"


def read_join(joined: BoundedRows, join: a.Join, left: BoundedRows, right: BoundedRows) -> None:
    """Reads the rows of two relations that meet; their text is written later (`_write_join`)."""
    of_one_unit = not has_collation(joined.contract) and any(
        mine in left.named and left.named[mine] == right.named.get(theirs)
        for mine, theirs in equated_columns(join.on)
    )
    from_right = of_one_unit and join.kind == "inner" and right.hops < left.hops
    joined.add_columns(left.exports(), LEFT)
    left_alone = joined.columns.copy(), joined.types.copy()
    joined.add_columns(right.exports(), RIGHT)
    ops.one([joined.type(join.on)], ops.BOOLEANS, "ON")
    if right.owner:
        left.check_same_unit(right)
    joined.owner, joined.owner_type = left.owner and f"{LEFT}.{UNIT}", left.owner_type
    if from_right:
        # a text that reads both sides: no filter that it hides reaches the right one
        joined.owner = f"CASE WHEN {joined.owner} IS NOT NULL THEN {RIGHT}.{UNIT} END"
    tests = (
        [_join_test(test, joined, left, right) for test in ops.conjuncts(join.on)]
        if joined.owner and join.kind in ("inner", "semi")
        else [joined.value(join.on)]
    )
    joined.write_base = partial(
        _write_join, joined, join.kind, left, right, of_one_unit, from_right, " AND ".join(tests)
    )
    joined.hops = right.hops if from_right else left.hops
    joined.row_names = left.row_names + (() if join.kind in ("semi", "anti") else right.row_names)
    if join.kind in ("semi", "anti"):
        joined.columns, joined.types = left_alone
    joined.named = {
        column: named
        for column, named in (left.named | right.named).items()
        if column in joined.columns
    }
    # of a left row without a partner the right columns are NULL
    joined.facts = replace(
        joined.facts,
        constant=left.facts.constant
        | (right.facts.constant if join.kind == "inner" else frozenset()),
    )


def _write_join(
    joined: BoundedRows,
    kind: str,
    left: BoundedRows,
    right: BoundedRows,
    of_one_unit: bool,
    from_right: bool,
    on: str,
) -> str:
    """Returns the text of a join, once it is known whether its rows' units are read.

    Args:
        joined: The rows of the join.
        kind, left, right: Of the join.
        of_one_unit: Rows that meet are of one unit, and nobody need ask which.
        from_right: The unit of a row is the right row's.
        on: The text of the condition.
    """
    compared, pairwise = bool(right.owner) and not of_one_unit, kind in ("inner", "semi")
    left.keep_units = compared or (joined.keep_units and not from_right)
    right.keep_units = compared or (joined.keep_units and from_right)
    units = f"{LEFT}.{UNIT} {'IS NOT DISTINCT FROM' if pairwise else '='} {RIGHT}.{UNIT} AND "
    partners = right.never_empty() if right.owner and pairwise else right.as_select()
    return (
        f"({left.as_select()}) AS {LEFT} {joined.dialect.forms[kind]} ({partners}) AS {RIGHT}"
        f" ON {units if compared else ''}{on}"
    )


def _join_test(test: a.Expr, joined: BoundedRows, left: BoundedRows, right: BoundedRows) -> str:
    """Returns a conjunct of the ON of an inner or semi join: see the claims at the top.

    Each side of the comparison reads columns, all of them of one side of the join: to compare
    with a literal is to filter.
    """
    match test:
        case a.Call("=" | "<" | "<=" | ">" | ">=" as op, (one_side, other_side)):
            if ops.columns_read(one_side) <= right.names:
                one_side, other_side = other_side, one_side
            reads = ops.columns_read(one_side), ops.columns_read(other_side)
            two_sided = all(reads) and reads[0] <= left.names and reads[1] <= right.names
            if two_sided and not right.owner:
                return joined.value(test)
            if two_sided and op == "=":
                mine, theirs = joined.stored_text(one_side), joined.stored_text(other_side)
                return f"{mine} IS NOT DISTINCT FROM {theirs} AND {mine} IS NOT NULL"
    return joined.hide(joined.value(test))
