"""Each predicate moved to the input of a join whose columns it reads.

The renderer hides from the engine's optimizer which predicates are about the right side of a join
(`Scope.hidden`), so the optimizer cannot move them there. This file does.

Claim: `push_down` returns a relation of the same rows, of the same units. A row of an inner join
is a pair, and a semi join keeps a left row that has a partner, so a predicate that reads one side
alone may drop that side's rows beforehand. A row of a left or anti join exists for each left row,
so a predicate on left columns above it may drop left rows beforehand, and nothing else moves.
Naming, deriving and `Bounded` work row by row.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from sqlpriv.kernel.proof.unit_rows import reach_of
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract, Type


def push_down(
    relation: a.Relation, contract: TableContract, predicates: Sequence[a.Expr] = ()
) -> a.Relation:
    """Returns the rows of a relation for which all predicates are true.

    >>> people = a.Join(a.Scan("t", "l."), a.Scan("t", "r."), a.Lit(True, Type.BOOLEAN))
    >>> adult = a.Call(">", (a.Col("l.age"), a.Lit(17, Type.INTEGER)))
    >>> from sqlpriv.kernel.terms.contract import Column
    >>> contract = TableContract("t", (Column("age", Type.INTEGER, "INTEGER"),))
    >>> push_down(a.Where(people, adult), contract).left.predicate == adult
    True
    """
    match relation:
        case a.Where(source, predicate):
            return push_down(source, contract, [*conjuncts(predicate), *predicates])
        case a.Bounded(source):
            return replace(relation, source=push_down(source, contract, predicates))
        case a.Derive(source, new, _):
            above = [p for p in predicates if new.lower() in columns_read(p)]
            below = [p for p in predicates if p not in above]
            return _where(replace(relation, source=push_down(source, contract, below)), above)
        case a.Join():
            return _push_into_sides(relation, contract, predicates)
        case a.Union(_, parts):
            pushed = tuple((push_down(part, contract), exprs) for part, exprs in parts)
            return _where(replace(relation, parts=pushed), predicates)
    return _where(relation, predicates)


def conjuncts(predicate: a.Expr) -> list[a.Expr]:
    """Returns the predicates that are all true exactly where this one is."""
    match predicate:
        case a.Call("and", args):
            return [part for arg in args for part in conjuncts(arg)]
    return [predicate]


def columns_read(expr: object) -> frozenset[str]:
    """Returns the lower-case names of the columns that an expression reads.

    >>> sorted(columns_read(a.Call("+", (a.Col("Age"), a.Col("years")))))
    ['age', 'years']
    """
    if isinstance(expr, a.Col):
        return frozenset({expr.name.lower()})
    named = vars(expr) if hasattr(expr, "__dataclass_fields__") else {}  # an enum's lead in circles
    parts = expr if isinstance(expr, tuple) else named.values()
    return frozenset().union(*map(columns_read, parts))


def _push_into_sides(
    join: a.Join, contract: TableContract, predicates: Sequence[a.Expr]
) -> a.Relation:
    pairwise = join.kind in ("inner", "semi")
    tests = [*predicates, *(conjuncts(join.on) if pairwise else ())]
    to_left = _tests_of(join.left, contract, tests)
    to_right = _tests_of(join.right, contract, tests) if pairwise else []
    left, right = (
        push_down(side, contract, moved)
        for side, moved in ((join.left, to_left), (join.right, to_right))
    )
    kept = [test for test in tests if test not in to_left and test not in to_right]
    if pairwise:
        return replace(join, left=left, right=right, on=_all_of(kept))
    return _where(replace(join, left=left, right=right), kept)


def _tests_of(side: a.Relation, contract: TableContract, tests: Iterable[a.Expr]) -> list[a.Expr]:
    """Returns the tests that read columns of this side, and no others."""
    columns: Collection[str] = reach_of(side, contract, lambda *_: 1).types
    read = ((test, columns_read(test)) for test in tests)
    return [test for test, names in read if names and all(name in columns for name in names)]


def _where(relation: a.Relation, predicates: Sequence[a.Expr]) -> a.Relation:
    return a.Where(relation, _all_of(predicates)) if predicates else relation


def _all_of(predicates: Sequence[a.Expr]) -> a.Expr:
    if len(predicates) == 1:
        return predicates[0]
    return a.Call("and", tuple(predicates)) if predicates else a.Lit(True, Type.BOOLEAN)
