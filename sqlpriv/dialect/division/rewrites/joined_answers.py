"""Whole groups of a query, joined as answers with the one group each that they meet.

SELECT c.month, n, COUNT(*) / MAX(s.users) FROM c JOIN (SELECT month, COUNT(*) AS users
FROM signups GROUP BY month) s ON s.month = c.month GROUP BY c.month, n
──► SELECT month, n, __term0 / users FROM
        (SELECT c.month, n, COUNT(*) AS __term0 FROM c GROUP BY c.month, n) g
    JOIN (SELECT month, COUNT(*) AS users …) s ON s.month = g.month
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlpriv.dialect.division.joins.column_owners import (
    SidesOfJoin,
    columns_in,
    identifier_names,
)
from sqlpriv.dialect.division.joins.joins_taken_out import write_values
from sqlpriv.dialect.division.row_sets import subquery_of
from sqlpriv.dialect.division.terms.named_terms import (
    common_text,
    conjuncts_of,
    group_terms,
    is_aggregate,
    output_name,
)
from sqlpriv.dialect.division.terms.parts import NotDivisible, own_nodes
from sqlpriv.dialect.marks import call_of, clauses_mark, copied_clauses, function_name, outputs_of
from sqlpriv.statements.keywords import words

_GROUPS = "__groups"
_OF_ALL_GROUPS = ("distinct", "qualify", "windows")
_OF_ONE_VALUE = words("max min avg mean median any_value arbitrary first last")
"""Aggregates of a value that all rows of a group have, which give that value."""


def has_keys(select: exp.Select, keys: list[exp.Expr]) -> bool:
    """Returns whether a query groups by expressions, so that each group meets one group or none."""
    if select.args.get("group") is None or any(map(select.args.get, _OF_ALL_GROUPS)):
        return False
    if any(isinstance(node, exp.Window) for node in own_nodes(select)):
        return False
    terms = group_terms(select)
    return all(any(_is_same(key, term) for term in terms) for key in keys)


def _is_same(one: exp.Expr, other: exp.Expr) -> bool:
    """Returns whether two expressions are one; a column may be written without its table."""
    if isinstance(one, exp.Column) and isinstance(other, exp.Column):
        tables = {one.table.lower(), other.table.lower()} - {""}
        return one.name.lower() == other.name.lower() and len(tables) < 2
    return common_text(one) == common_text(other)


def join_answers(
    select: exp.Select,
    join: exp.Join,
    sides: SidesOfJoin,
    pairs: list[tuple[str, exp.Expr, bool]],
) -> None:
    """Writes a query as one over its own groups, joined with the first groups."""
    marks = copied_clauses(select)
    joined = join.copy()
    inner = select.copy()
    for clause in ("with_", "order", "limit", "offset"):
        inner.set(clause, None)
    keys = {name: outer for name, outer, _ in pairs}
    place = next(i for i, one in enumerate(select.args["joins"]) if one is join)
    terms = group_terms(select)
    inner.set("group", exp.Group(expressions=[x.copy() for x in terms]))
    joined_numbers = _NumbersOfGroups(sides, {} if join.side else keys)
    joined_outputs, conditions = _drop_columns_of_groups(inner, joined_numbers)
    take_join_out(inner, inner.args["joins"][place], sides, keys)
    outputs = outputs_of(inner)
    names = list(map(output_name, outputs))
    if len({*map(str.lower, names)}) != len(names):
        raise NotDivisible("two outputs of one name")
    hidden: list[exp.Expr] = []

    def column(term: exp.Expr) -> exp.Expr:
        """Returns the column of the groups that an expression of the query's is."""
        of_hidden = [item.alias for item in hidden]
        for name, item in zip([*names, *of_hidden], [*outputs, *hidden], strict=True):
            if _is_same(term, item.unalias()):
                return exp.column(name, table=_GROUPS, quoted=True)
        hidden.append(exp.alias_(term.copy(), f"__term{len(hidden)}", quoted=True))
        return exp.column(hidden[-1].alias, table=_GROUPS, quoted=True)

    def expression_of_answers(node: exp.Expr) -> exp.Expr:
        return joined_numbers.expression_of_answers(node, terms, column)

    tests = [
        (exp.NullSafeEQ if is_null_safe else exp.EQ)(
            this=column(outer), expression=exp.column(name, table=sides.alias, quoted=True)
        )
        for name, outer, is_null_safe in pairs
    ]
    order = select.args.get("order")
    for term in order.expressions if order is not None else ():
        of_output = isinstance(term.this, exp.Column) and not term.this.table
        is_named = of_output and term.this.name.lower() in map(
            str.lower, [*names, *(item.alias for _, item in joined_outputs)]
        )
        if not (isinstance(term.this, exp.Literal) or is_named):
            term.set("this", expression_of_answers(term.this))
    of_groups: list[exp.Expr] = [exp.column(name, _GROUPS, quoted=True) for name in names]
    for at, item in joined_outputs:
        of_groups.insert(
            at, exp.alias_(expression_of_answers(item.unalias()), output_name(item), quoted=True)
        )
    kept = [expression_of_answers(condition) for condition in conditions]
    inner.set("expressions", [*_with_names(outputs, names), *hidden])
    joined.set("using", None)
    joined.set("on", exp.and_(*tests))
    select.set("expressions", [*marks, *of_groups])
    select.set("from_", exp.From(this=subquery_of(inner, _GROUPS)))
    select.set("joins", [joined])
    for clause in ("where", "group", "having", "laterals"):
        select.set(clause, None)
    if kept:
        select.where(*kept, copy=False)


@dataclass(frozen=True)
class _NumbersOfGroups:
    """Columns of joined groups: their keys tell them, so that a group of the query has one value.

    Args:
        sides: Whose columns are the joined groups'.
        keys: Names of those that are written as the query's own columns.
    """

    sides: SidesOfJoin
    keys: Collection[str]

    def has(self, column: exp.Expr) -> bool:
        is_of_groups = isinstance(column, exp.Column) and self.sides.is_private_column(column)
        return is_of_groups and column.name.lower() not in self.keys

    def are_in(self, node: exp.Expr) -> bool:
        return any(map(self.has, columns_in(node)))

    def are_all_of(self, node: exp.Expr) -> bool:
        """Returns whether an expression has columns, all of them such, and no aggregate."""
        columns = columns_in(node)
        plain = not any(map(is_aggregate, node.walk())) and node.find(exp.Query) is None
        return bool(columns) and plain and all(map(self.has, columns))

    def expression_of_answers(
        self, node: exp.Expr, terms: Sequence[exp.Expr], column: Callable[[exp.Expr], exp.Expr]
    ) -> exp.Expr:
        """Returns an expression over the joined answers.

        Args:
            node: An output, a condition of HAVING or a term of ORDER BY.
            terms: The query's keys.
            column: Returns the column of the query's groups that a key or an aggregate is.
        """

        def write(part: exp.Expr) -> exp.Expr:
            if self.has(part):
                return exp.column(part.name, table=self.sides.alias, quoted=True)
            if is_aggregate(part):
                call = call_of(part)
                if not self.are_in(part):
                    return column(part)
                if part is not call or function_name(call) not in _OF_ONE_VALUE:
                    raise NotDivisible("an aggregate of what groups have as a whole")
                (value,) = call.expressions if len(call.expressions) == 1 else (call,)
                if not self.are_all_of(value):
                    raise NotDivisible("an aggregate of rows and groups together")
                return value.transform(write)
            if not self.are_in(part) and any(_is_same(part, term) for term in terms):
                return column(part)
            if isinstance(part, exp.Query):
                raise NotDivisible("a subquery beside joined answers")
            return part

        return node.copy().transform(write)


def _drop_columns_of_groups(
    select: exp.Select, joined_numbers: _NumbersOfGroups
) -> tuple[list[tuple[int, exp.Expr]], list[exp.Expr]]:
    """Takes what has numbers of the joined groups out of a query's outputs, keys and HAVING;
    returns the outputs with their places, and the conditions."""
    numbers = [
        (at, item.copy())
        for at, item in enumerate(outputs_of(select))
        if joined_numbers.are_in(item)
    ]
    kept = [
        item for item in select.expressions if clauses_mark(item) or not joined_numbers.are_in(item)
    ]
    select.set("expressions", kept)
    group, having = select.args["group"], select.args.get("having")
    group.set(
        "expressions",
        [term for term in group.expressions if not joined_numbers.are_all_of(term)],
    )
    conditions = conjuncts_of(having.this) if having is not None else []
    if any(map(joined_numbers.are_in, conditions)):
        select.set("having", None)
    else:
        conditions = []
    rest = [group, *(x for x in (select.args.get("where"),) if x is not None)]
    if any(map(joined_numbers.are_in, rest)):
        raise NotDivisible("rows are compared with groups")
    return numbers, [condition.copy() for condition in conditions]


def _with_names(outputs: list[exp.Expr], names: list[str]) -> list[exp.Expr]:
    return [
        exp.alias_(item.unalias().copy(), name, quoted=True)
        for item, name in zip(outputs, names, strict=True)
    ]


def take_join_out(
    select: exp.Select, join: exp.Join, sides: SidesOfJoin, keys: dict[str, exp.Expr]
) -> None:
    """Takes a join out of a query; columns of its keys become those that they are equal to."""
    using = {*identifier_names(join.args.get("using") or ())}
    values = {name: outer for name, outer in keys.items() if name not in using}
    write_values(select, join, sides.alias, values, names_of_spine(sides), [])


def names_of_spine(sides: SidesOfJoin) -> set[str] | None:
    """Returns the names of the other columns of FROM; None where they cannot be told."""
    names = [*sides.spine.values()]
    return None if None in names else {name for of_one in names for name in of_one or ()}
