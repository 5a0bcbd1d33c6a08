"""A join is taken out of a query: an expression stands where each column of what is joined stood.

    SELECT AVG(x.total) FROM bookings b, LATERAL (SELECT b.adults + b.children AS total) x
    total ──► (b.adults + b.children)
    ──► SELECT AVG((b.adults + b.children)) FROM bookings b

`lateral_rows`, `joined_averages` and `public_partners` say which joins, and what stands for their
columns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from sqlglot import exp

from sqlpriv.dialect.division.terms.named_terms import common_text, output_name
from sqlpriv.dialect.division.terms.parts import NotDivisible
from sqlpriv.dialect.division.terms.stored_tables import StoredTables
from sqlpriv.dialect.marks import clauses_mark, marked_name, outputs_of

TakeOut = Callable[[exp.Select, exp.Join, StoredTables], None]
_PARTS = ("expressions", "joins", "where", "group", "having", "qualify", "order", "windows")


def take_joins_out(root: exp.Expr, tables: StoredTables, write: TakeOut) -> None:
    """Takes joins out of all queries in a tree.

    Args:
        root: Holds the queries.
        tables: What is known of stored tables.
        write: Takes one join out of its query; it raises NotDivisible, and changes nothing, where
            the join has to stay.
    """
    for select in list(root.find_all(exp.Select)):
        left = 0
        while left < len(select.args.get("joins") or ()):
            try:
                write(select, select.args["joins"][left], tables)
            except NotDivisible:
                left += 1


def write_values(
    select: exp.Select,
    join: exp.Join,
    alias: str,
    values: Mapping[str, exp.Expr],
    hidden: Collection[str] | None,
    tests: Sequence[exp.Expr],
) -> None:
    """Takes a join out of a query, with an expression where each of its columns stands.

    Args:
        select: The query; it is changed as a whole, or not at all.
        join: One of its joins.
        alias: That of what is joined.
        values: What stands for each column, by its lower-case name.
        hidden: Names that columns of other parts of FROM have, too; None where they are unknown.
        tests: What WHERE tests besides.

    Raises:
        NotDivisible: A name may be that of another part's column.
    """
    if any(item.is_star for item in select.expressions):
        raise NotDivisible("* has its columns")

    def value(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or marked_name(node):
            return node
        name, table = node.name.lower(), node.table.lower()
        if table == alias and name not in values:
            raise NotDivisible("a column that is not told")
        if name not in values or table not in ("", alias):
            return node
        in_subquery = node.find_ancestor(exp.Select) is not None  # whose own column it may be
        if not table and (hidden is None or name in hidden or in_subquery):
            raise NotDivisible("a name that may be of another part of FROM")
        return values[name].copy()

    written = select.copy()
    at = next(i for i, one in enumerate(select.args["joins"]) if one is join)
    replace_columns(written, written.args["joins"][at], value)
    for test in tests:
        written.where(test.transform(value), copy=False)
    _number_subquery_keys(select, written)
    for part in _PARTS:
        select.set(part, written.args.get(part))


def replace_columns(
    select: exp.Select, join: exp.Join, value: Callable[[exp.Expr], exp.Expr]
) -> None:
    """Takes a join out of a query, in place, with what `value` returns for each node in its place.

    An output keeps the name of its column."""
    join.pop()
    for part in _PARTS:
        held = select.args.get(part)
        if part == "expressions":
            select.set(part, [_output(item, value) for item in select.expressions])
        elif isinstance(held, list):
            select.set(part, [node.transform(value) for node in held] or None)
        elif held is not None:
            select.set(part, held.transform(value))


def _number_subquery_keys(select: exp.Select, written: exp.Select) -> None:
    """Writes keys of GROUP BY that became subqueries as the numbers of the outputs that they are:
    the planner joins the subqueries of outputs. (A name may be that of a column, too.)"""
    numbers = {common_text(x.unalias()): at for at, x in enumerate(outputs_of(select), start=1)}
    before, after = select.args.get("group"), written.args.get("group")
    if before is None or after is None:
        return
    for old, new in zip(before.expressions, list(after.expressions), strict=True):
        if new.find(exp.Query) and not old.find(exp.Query) and common_text(old) in numbers:
            new.replace(exp.Literal.number(numbers[common_text(old)]))


def _output(item: exp.Expr, value: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    changed = item.transform(value)
    if clauses_mark(item) or isinstance(item, exp.Alias) or changed == item:
        return changed
    return exp.Alias(this=changed, alias=exp.to_identifier(output_name(item), quoted=True))
