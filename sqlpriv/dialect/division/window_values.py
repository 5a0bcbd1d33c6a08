"""Values of windows inside a unit, as aggregates over the rows s of the unit of a row r."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlpriv.dialect.division.terms.parts import NotDivisible
from sqlpriv.dialect.marks import MARK, duckdb_call, function_name, row_count
from sqlpriv.errors import Refused

_AGGREGATES = ("count", "sum", "min", "max", "avg", "mean")
_OF_OTHER_ROWS = ("lag", "lead", "first_value")
_RANKS = {
    "row_number": "",
    "dense_rank": "",
    "rank": "before + 1",
    "percent_rank": 'CASE WHEN "all" > 1 THEN before / ("all" - 1) ELSE 0.0 END',
    "cume_dist": 'peers / "all"',
    "ntile": 'CASE WHEN place <= "all" % {n} * ("all" // {n} + 1) '
    'THEN (place - 1) // ("all" // {n} + 1) + 1 '
    'ELSE "all" % {n} + (place - 1 - "all" % {n} * ("all" // {n} + 1)) '
    '// ("all" // {n}) + 1 END',
}
"""Window functions of how many rows come before: {n} is an argument, names are of counts."""
_BY_NUMBER = (
    "number the rows, and pick by number: SELECT person, MAX(ward) FILTER (WHERE i = 1) AS first, "
    "MAX(ward) FILTER (WHERE i = 2) AS second FROM (SELECT person, ward, ROW_NUMBER() OVER "
    "(PARTITION BY person ORDER BY day) AS i FROM stays) GROUP BY person"
)
_ENDS = {False: ("max", "min"), True: ("min", "max")}
"""By whether ORDER BY descends: the aggregate that gives the last value before, and the first."""


@dataclass(frozen=True)
class OrderedRows:
    """A window over the rows s that are joined to a row r.

    Args:
        keys: Of PARTITION BY.
        order: Of ORDER BY: each expression, and whether it descends.
        row: The column that tells rows apart; '' where nothing is ordered.
        compared: Those of the keys that the join does not compare: FILTER does.
        nulls_first: Positions in `order` whose NULLs come before all values.
    """

    keys: Sequence[exp.Expr]
    order: Sequence[tuple[exp.Expr, bool]]
    row: str
    compared: Sequence[exp.Expr] = ()
    nulls_first: frozenset[int] = frozenset()

    def value(self, window: exp.Window) -> exp.Expr:
        """Returns a window's value as an aggregate over the rows s of a row r.

        Raises:
            NotDivisible: The function, or its frame, is not of these.
            Refused: It would give a column that ORDER BY does not begin with.
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
            of.set("expressions", [qualify_columns(x, "s") for x in args])
            tests = [qualify_columns(kept, "s")] if kept is not None else []
            if self.order:
                tests.append(self.not_after() if by_rows else self.not_behind_peers())
            return self._aggregate_of_rows(of, *tests)
        if not self.order or by_rows:
            raise NotDivisible("a window function without an order")
        if 0 in self.nulls_first and name in ("dense_rank", *_OF_OTHER_ROWS):
            raise NotDivisible("what comes first is NULL")
        if name in _RANKS and len(args) == (name == "ntile"):
            return self._rank(name, args)
        first, descends = self.order[0]
        if name in _OF_OTHER_ROWS and args and text_of(args[0]) != text_of(first):
            raise Refused(
                f"{name.upper()} inside a unit gives what ORDER BY begins with", hint=_BY_NUMBER
            )
        if len(args) == 1 and name in _OF_OTHER_ROWS:
            last, least = _ENDS[descends]
            there = qualify_columns(first, "s")
            if name == "lag":
                null = exp.and_(self.before(whole=True), there.is_(exp.null()))
                none = exp.EQ(
                    this=self._aggregate_of_rows(row_count(), null),
                    expression=exp.Literal.number(0),
                )
                value = self._aggregate_of_rows(
                    duckdb_call(last, there.copy()), self.before(whole=True)
                )
                return exp.Case(ifs=[exp.If(this=none, true=value)])
            if name == "lead":
                return self._aggregate_of_rows(
                    duckdb_call(least, there), self.before(turned=True, whole=True)
                )
            return self._aggregate_of_rows(duckdb_call(least, there))
        raise NotDivisible(f"{name} inside a unit")

    def _rank(self, name: str, args: Sequence[exp.Expr]) -> exp.Expr:
        """Returns the place of a row r, or one that follows from it and from how many rows there
        are, as an expression over counts."""
        if name == "row_number":  # r itself counts, which the filter does not tell
            place = self._aggregate_of_rows(row_count(), self.not_after())
            return duckdb_call("greatest", exp.Literal.number(1), place)
        if name == "dense_rank":
            if len(self.order) > 1:
                raise NotDivisible("dense_rank by several columns")
            distinct = exp.Distinct(expressions=[qualify_columns(self.order[0][0], "s")])
            count = duckdb_call("count", distinct)
            return exp.Add(
                this=self._aggregate_of_rows(count, self.before()), expression=exp.Literal.number(1)
            )
        counts = {
            "place": self._aggregate_of_rows(row_count(), self.not_after()),
            "before": self._aggregate_of_rows(row_count(), self.before()),
            "peers": self._aggregate_of_rows(row_count(), self.not_behind_peers()),
            "all": self._aggregate_of_rows(row_count()),
        }
        if name == "ntile" and not (isinstance(args[0], exp.Literal) and args[0].is_int):
            raise NotDivisible("ntile of no number")
        number = args[0].name if args else ""
        written: exp.Expr = exp.maybe_parse(_RANKS[name].format(n=number), dialect="duckdb")
        value = exp.paren(
            written.transform(lambda x: counts[x.name].copy() if isinstance(x, exp.Column) else x)
        )
        if name != "ntile":
            return value
        capped = duckdb_call("least", exp.Literal.number(int(number)), value)
        return duckdb_call("greatest", exp.Literal.number(1), capped)

    def _aggregate_of_rows(self, call: exp.Expr, *tests: exp.Expr) -> exp.Expr:
        """Returns an aggregate over the rows s of the window's own part that pass the tests."""
        same = [
            exp.NullSafeEQ(this=qualify_columns(k, "s"), expression=qualify_columns(k, "r"))
            for k in self.compared
        ]
        return _with_filter(call, *same, *tests)

    def not_after(self) -> exp.Expr:
        """Returns whether s is r or comes before it."""
        same = exp.EQ(this=column_of("s", self.row), expression=column_of("r", self.row))
        return exp.paren(exp.or_(same, self.before(whole=True)))

    def not_behind_peers(self) -> exp.Expr:
        """Returns whether s comes before r, or ORDER BY does not tell them apart."""
        pairs = [(qualify_columns(node, "s"), qualify_columns(node, "r")) for node, _ in self.order]
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
        for place, (node, descends) in enumerate(terms):
            mine, theirs = qualify_columns(node, one), qualify_columns(node, other)
            type_ = exp.GT if descends else exp.LT
            less: exp.Expr = type_(this=mine, expression=theirs)
            some, none = (theirs, mine) if place in self.nulls_first else (mine, theirs)
            null = exp.and_(some.is_(exp.null()).not_(), none.is_(exp.null()))
            tests.append(exp.and_(*(x.copy() for x in equal), exp.paren(exp.or_(less, null))))
            equal.append(exp.NullSafeEQ(this=mine.copy(), expression=theirs.copy()))
        return exp.paren(exp.or_(*tests))


def _is_running_by_rows(spec: exp.Expr | None) -> bool:
    """Returns whether a frame is ROWS up to the current one; without one it is up to its peers."""
    if spec is None:
        return False
    words = [str(spec.args.get(name) or "") for name in ("kind", "start", "start_side")]
    end = str(spec.args.get("end") or "CURRENT ROW").upper()
    if [*map(str.upper, words), end] != ["ROWS", "UNBOUNDED", "PRECEDING", "CURRENT ROW"]:
        raise NotDivisible("a frame of its own")
    return True


def _with_filter(call: exp.Expr, *tests: exp.Expr) -> exp.Expr:
    if not tests:
        return call
    return exp.Filter(this=call, expression=exp.Where(this=exp.and_(*tests)))


def column_of(table: str, name: str) -> exp.Column:
    return exp.column(name, table=table, quoted=True)


def qualify_columns(node: exp.Expr, table: str) -> exp.Expr:
    """Returns an expression over the table's columns as one of the row of that name."""
    if node.find(exp.Query) is not None:
        raise NotDivisible("a subquery beside a window")

    def qualify(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Column) and not str(part.name).startswith(MARK):
            return column_of(table, part.name)  # without its place in the text: it is another now
        return part

    return node.copy().transform(qualify)


def text_of(node: exp.Expr) -> str:
    return node.sql("duckdb").lower()
