"""How rows of two relations meet: rows that meet are of one unit, and neither side's rows decide
how much work the other side makes.

Claim: where the condition equates two columns that name the same thing, rows that meet are of one
unit, and their units need not be compared. A column names something if each of its values names one
row of a table, or one unit (`RelationRows.named`). All rows that hold the value, in whichever
relation, belong to one unit, that of the named row, because each row of a relation is made of rows
of its own unit. Only whole numbers and text name something: their equality is the same wherever
they are compared. Text in a table with a collation, timestamps (whose equality hangs on a time
zone) and numbers that are compared as doubles name nothing. So the unit of either side is the unit
of the joined row. Where nobody reads that unit, the row's link, which is not NULL, stands in its
place (`BoundedRows.bound_rows`).

Claim: whether one side of a join has rows decides nothing about the work on the other side. The
engine builds a hash table of the right side and then reads the left one: it never swaps them, drops
a side or filters one side by the other's values (`engine.CONFIG`). It skips the left side only if
an inner or semi join builds an empty table. So a private right side gets one row of NULLs more.
That row meets no left row, whose unit is never NULL. It stays in the table, because units and
equated values are compared by IS NOT DISTINCT FROM. No filter reaches it, because a predicate that
does not compare the two sides also reads the left side's unit (`RelationRows.hide`). Predicates are
applied where the algebra has them: the planner places them before joins.
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
    """Reads the rows of two relations that meet. Their text is written later (`_write_join`), when
    it is known whether anybody reads the units of the joined rows."""
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
        # The text reads both sides, so that no filter that contains it moves to the right side.
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
    # Right columns are NULL in a left row without a partner, so they vary inside a unit.
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
        of_one_unit: Rows that meet are of one unit, so that their units are not compared.
        from_right: The unit of a joined row is read from the right row.
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
