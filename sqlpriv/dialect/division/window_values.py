"""Values of windows inside a unit, as aggregates over the rows s of the unit of a row r."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlpriv.dialect.division.parts import NotDivisible
from sqlpriv.dialect.marks import MARK, function_name

_AGGREGATES = ("count", "sum", "min", "max", "avg", "mean")
_ENDS = {False: ("max", "min"), True: ("min", "max")}
"""By whether ORDER BY descends: the aggregate that gives the last value before, and the first."""


@dataclass(frozen=True)
class OrderedRows:
    """Windows of one PARTITION BY and ORDER BY.

    Args:
        keys: Of PARTITION BY.
        order: Of ORDER BY: each expression, and whether it descends.
        row: The column that tells rows apart; '' where nothing is ordered.
    """

    keys: Sequence[exp.Expr]
    order: Sequence[tuple[exp.Expr, bool]]
    row: str

    def value(self, window: exp.Window) -> exp.Expr:
        """Returns a window's value as an aggregate over the rows s of a row r.

        Raises:
            NotDivisible: The function, or its frame, is not of these.
        """
        call, kept = window.this, None
        if isinstance(call, exp.Filter):
            call, kept = call.this, call.expression.this
        name, args = function_name(call), call.expressions
        if kept is not None and name not in _AGGREGATES:
            raise NotDivisible("FILTER of a window function")
        by_rows = _is_running_by_rows(window.args.get("spec"))
        if name in _AGGREGATES:
            of = call.copy()
            of.set("expressions", [of_row(x, "s") for x in args])
            tests = [of_row(kept, "s")] if kept is not None else []
            if self.order:
                tests.append(self.not_after() if by_rows else self.not_behind_peers())
            return _with_filter(of, *tests)
        if not self.order or by_rows:
            raise NotDivisible("a window function without an order")
        if name == "row_number" and not args:
            return _with_filter(_count(), self.not_after())
        if name == "rank" and not args:
            return exp.Add(this=_with_filter(_count(), self.before()), expression=_number(1))
        first, descends = self.order[0]
        if name == "dense_rank" and not args and len(self.order) == 1:
            distinct = exp.Distinct(expressions=[of_row(first, "s")])
            count = exp.Anonymous(this="count", expressions=[distinct])
            return exp.Add(this=_with_filter(count, self.before()), expression=_number(1))
        if len(args) == 1 and _same(args[0], first):
            last, least = _ENDS[descends]
            there = of_row(first, "s")
            if name == "lag":
                null = exp.and_(self.before(whole=True), there.is_(exp.null()))
                none = exp.EQ(this=_with_filter(_count(), null), expression=_number(0))
                value = _with_filter(_call(last, there.copy()), self.before(whole=True))
                return exp.Case(ifs=[exp.If(this=none, true=value)])
            if name == "lead":
                return _with_filter(_call(least, there), self.before(turned=True, whole=True))
            if name == "first_value":
                return _call(least, there)
        raise NotDivisible(f"{name} inside a unit")

    def not_after(self) -> exp.Expr:
        """Returns whether s is r or comes before it."""
        same = exp.EQ(this=column_of("s", self.row), expression=column_of("r", self.row))
        return exp.paren(exp.or_(same, self.before(whole=True)))

    def not_behind_peers(self) -> exp.Expr:
        """Returns whether s comes before r, or ORDER BY does not tell them apart."""
        pairs = [(of_row(node, "s"), of_row(node, "r")) for node, _ in self.order]
        same = [exp.NullSafeEQ(this=mine, expression=theirs) for mine, theirs in pairs]
        return exp.paren(exp.or_(self.before(), exp.and_(*same)))

    def before(self, *, turned: bool = False, whole: bool = False) -> exp.Expr:
        """Returns whether s comes before r, or, turned, behind it: true, or else false or NULL.

        Args:
            turned: r comes before s.
            whole: Rows that ORDER BY does not tell apart are ordered, too.
        """
        one, other = ("r", "s") if turned else ("s", "r")
        terms = [*self.order, *([(exp.column(self.row, quoted=True), False)] if whole else [])]
        tests: list[exp.Expr] = []
        equal: list[exp.Expr] = []
        for node, descends in terms:
            mine, theirs = of_row(node, one), of_row(node, other)
            type_ = exp.GT if descends else exp.LT
            less: exp.Expr = type_(this=mine, expression=theirs)
            null = exp.and_(mine.is_(exp.null()).not_(), theirs.is_(exp.null()))
            tests.append(exp.and_(*(x.copy() for x in equal), exp.paren(exp.or_(less, null))))
            equal.append(exp.NullSafeEQ(this=mine.copy(), expression=theirs.copy()))
        return exp.paren(exp.or_(*tests))


def _is_running_by_rows(spec: exp.Expr | None) -> bool:
    """Returns whether a frame is ROWS up to the current one; without one it is up to its peers."""
    if spec is None:
        return False
    words = [str(spec.args.get(name) or "") for name in ("kind", "start", "start_side", "end")]
    if [word.upper() for word in words] != ["ROWS", "UNBOUNDED", "PRECEDING", "CURRENT ROW"]:
        raise NotDivisible("a frame of its own")
    return True


def _with_filter(call: exp.Expr, *tests: exp.Expr) -> exp.Expr:
    if not tests:
        return call
    return exp.Filter(this=call, expression=exp.Where(this=exp.and_(*tests)))


def _count() -> exp.Expr:
    return exp.Anonymous(this="count", expressions=[exp.Star()])


def _call(name: str, arg: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=[arg])


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def column_of(table: str, name: str) -> exp.Column:
    return exp.column(name, table=table, quoted=True)


def of_row(node: exp.Expr, table: str) -> exp.Expr:
    """Returns an expression over the table's columns as one of the row of that name."""
    if node.find(exp.Query) is not None:
        raise NotDivisible("a subquery beside a window")

    def qualify(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Column) and not str(part.name).startswith(MARK):
            return column_of(table, part.name)  # without its place in the text: it is another now
        return part

    return node.copy().transform(qualify)


def _same(one: exp.Expr, other: exp.Expr) -> bool:
    return text_of(one) == text_of(other)


def text_of(node: exp.Expr) -> str:
    return node.sql("duckdb").lower()
