"""Rows that a statement makes, kept by LEFT JOIN with private ones: each with what its key has.

    SELECT m.month, COUNT(b.id) AS n
    FROM (SELECT unnest(generate_series(…)) AS month) m
    LEFT JOIN bookings b ON date_trunc('month', b.arrival) = m.month GROUP BY m.month
    ──► SELECT m.month, CAST(coalesce(SUM(k.value0), 0) AS BIGINT) AS n
        FROM (SELECT unnest(generate_series(…)) AS month) m
        LEFT JOIN (SELECT date_trunc('month', arrival) AS key0, COUNT(id) AS value0
                   FROM bookings GROUP BY 1) k ON k.key0 = m.month GROUP BY m.month

A row that is made is kept whether it has private rows or not, and its private columns are NULL
where it has none. So an aggregate over a private column is that over the rows of all keys that the
group's rows have. COUNT, SUM and AVG are made of counts and sums by key. Other aggregates, and
rows that are found by a range, are asked for by the group's own keys, where the rows that the
statement makes can be written out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from sqlpriv.dialect.common_tables import common_table, used_common_tables
from sqlpriv.dialect.division.named_terms import common_text, is_aggregate
from sqlpriv.dialect.division.outer_keys import ColumnsOf
from sqlpriv.dialect.division.parts import NotDivisible, stored_tables
from sqlpriv.dialect.division.public_rows import RunPublic, rows_as_values
from sqlpriv.dialect.division.rewrites.column_owners import (
    alias_of,
    column_names,
    columns_in,
    conjuncts_of,
)
from sqlpriv.dialect.division.written_rows import MOST
from sqlpriv.dialect.marks import (
    MARK,
    SHOWN_NAME,
    clauses_mark,
    duckdb_call,
    duckdb_name,
    duckdb_text,
    function_name,
    marked_name,
)
from sqlpriv.errors import Refused

KEPT, ROWS = "__kept", "__rows"
ROW_WITHOUT_PARTNER = Refused(
    "a written row without a private one would count here, and which these are is private",
    hint="group by the written column, aggregate private ones (COUNT(t.id)), and filter in ON",
)
_NULL_OF_NULL = (exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Cast, exp.Literal)
_SHOWN = ("expressions", "having", "qualify", "order", "windows")


def with_kept_periods(
    root: exp.Expr,
    reads_private: Callable[[exp.Expr], bool],
    columns_of: ColumnsOf,
    run: RunPublic,
) -> Refused | None:
    """Rewrites queries that keep rows which the statement makes.

    Args:
        root: Holds the query.
        reads_private: Whether a part reads private rows.
        columns_of: The columns of a stored table.
        run: Runs a query over public tables.

    Returns:
        Why such a query was left as it is; None where there is none.
    """
    refusal = None
    for select in list(root.find_all(exp.Select)):
        joins = select.args.get("joins") or []
        if select.args.get("from_") is None or not joins:
            continue
        _turn_right_join(select, reads_private)
        sources = [select.args["from_"].this, *(join.this for join in joins)]
        private = [source for source in sources if reads_private(source)]
        side = str(joins[-1].args.get("side") or "").upper()
        if private != [sources[-1]] or side != "LEFT" or all(map(_is_stored, sources[:-1])):
            continue
        try:
            _KeptRows(select, columns_of, run).rewrite()
        except NotDivisible:
            continue
        except Refused as reason:
            refusal = reason
    return refusal


def _turn_right_join(select: exp.Select, reads_private: Callable[[exp.Expr], bool]) -> None:
    """Writes `private RIGHT JOIN spine` as `spine LEFT JOIN private`."""
    first, joins = select.args["from_"], select.args["joins"]
    is_right = str(joins[0].args.get("side") or "").upper() == "RIGHT"
    if len(joins) == 1 and is_right and reads_private(first.this):
        left, right = joins[0].this.copy(), first.this.copy()
        if not reads_private(left) and not _is_stored(joins[0].this):
            first.set("this", left)
            joins[0].set("this", right)
            joins[0].set("side", "LEFT")


def _is_stored(source: exp.Expr) -> bool:
    """Returns whether a part of FROM is a stored table, which the planner joins by itself."""
    is_name = isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier)
    return is_name and common_table(source) is None  # type: ignore[arg-type]  # a table


@dataclass
class _KeptRows:
    """One query that keeps rows which the statement makes.

    Args:
        select: The query; `rewrite` changes it.
        columns_of: The columns of a stored table.
        run: Runs a query over public tables.
        values: By the text of an aggregate over private rows, the name of its column.
    """

    select: exp.Select
    columns_of: ColumnsOf
    run: RunPublic
    values: dict[str, tuple[str, exp.Expr]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.join: exp.Join = self.select.args["joins"][-1]
        self.source: exp.Expr = self.join.this
        private = column_names(self.source, self.columns_of)
        parts = [self.select.args["from_"].this, *(x.this for x in self.select.args["joins"][:-1])]
        self.spine = {alias_of(part): column_names(part, self.columns_of) for part in parts}
        if private is None:
            raise NotDivisible("columns of unknown names")
        self.private: Collection[str] = private

    def rewrite(self) -> None:
        """Writes the private side as what each key has.

        Raises:
            NotDivisible: It is no query of groups that rows of the spine tell.
            Refused: A row without a partner would count.
        """
        select = self.select
        keys = self._group_keys()
        where = select.args.get("where")
        if where is not None and self._reads_private(where):
            raise NotDivisible("WHERE drops rows without a partner")
        pairs, own, around = self._conditions()
        aggregates = self._aggregates()
        alone = bool(pairs) and self._has_one_row_a_group(keys)
        if pairs and (alone or all(map(_adds_up, aggregates))):
            inner_keys = [inner for inner, _ in pairs]
            rows = self._inner(self.source.copy(), None, inner_keys, own, aggregates, alone)
            tests = [
                exp.EQ(this=exp.column(f"key{i}", table=KEPT), expression=outer.copy())
                for i, (_, outer) in enumerate(pairs)
            ]
            self._replace(rows, [*tests, *around], alone)
        else:
            self._ask_by_group(keys, aggregates)

    # --- what the query says ---

    def _group_keys(self) -> list[exp.Expr]:
        """Returns the keys of GROUP BY, which are of the spine alone."""
        group, items = self.select.args.get("group"), self.select.expressions
        items = [item for item in items if not clauses_mark(item)]
        if group is None or any(self.select.args.get(x) for x in ("distinct", "laterals")):
            raise NotDivisible("no groups")
        if {name for name, value in group.args.items() if value} - {"expressions", "all"}:
            raise NotDivisible("several groupings")
        if group.args.get("all"):
            keys = [x.unalias() for x in items if not any(map(is_aggregate, x.walk()))]
        else:
            keys = [self._key(term, items) for term in group.expressions]
        if not keys or any(self._reads_private(key) for key in keys):
            raise NotDivisible("keys of private rows")
        return keys

    def _key(self, term: exp.Expr, items: list[exp.Expr]) -> exp.Expr:
        if isinstance(term, exp.Literal) and not term.is_string and term.name.isdecimal():
            if not 1 <= int(term.name) <= len(items):
                raise NotDivisible("no such output")
            return items[int(term.name) - 1].unalias()
        if isinstance(term, exp.Column) and not term.table and not self._is_spine(term):
            named = [x for x in items if isinstance(x, exp.Alias) and x.alias == term.name]
            if len(named) == 1:
                return named[0].unalias()
        return term

    def _conditions(
        self,
    ) -> tuple[list[tuple[exp.Expr, exp.Expr]], list[exp.Expr], list[exp.Expr]]:
        """Returns equalities of private and spine rows, what is of private rows, and of the spine.
        No equality where ON says more than that."""
        pairs: list[tuple[exp.Expr, exp.Expr]] = []
        own: list[exp.Expr] = []
        around: list[exp.Expr] = []
        for name in self.join.args.get("using") or []:
            holders = [alias for alias, names in self.spine.items() if self._has(names, name.name)]
            if len(holders) != 1:
                raise NotDivisible("USING of several tables")
            aliases = (alias_of(self.source), holders[0])
            columns = [exp.column(name.name, table=alias, quoted=True) for alias in aliases]
            pairs.append((columns[0], columns[1]))
        for test in conjuncts_of(self.join.args.get("on")):
            sides = [test.this, test.expression] if isinstance(test, exp.EQ) else []
            inner_sides = [side for side in sides if self._is_private(side)]
            outer_sides = [side for side in sides if self._is_of_spine(side)]
            if self._is_private(test):
                own.append(test)
            elif self._is_of_spine(test):
                around.append(test)
            elif len(inner_sides) == len(outer_sides) == 1:
                pairs.append((inner_sides[0], outer_sides[0]))
            else:
                return [], [], []
        return pairs, own, around

    def _aggregates(self) -> list[exp.Expr]:
        """Returns the outermost aggregates of what is shown, each once."""
        aggregates: dict[str, exp.Expr] = {}
        for part in _SHOWN:
            for node in _nodes_of(self.select.args.get(part)):
                if clauses_mark(node):
                    continue
                for one in node.walk(prune=_is_outermost_aggregate):
                    if _is_outermost_aggregate(one):
                        aggregates.setdefault(common_text(one), one)
                    elif isinstance(one, exp.Query) or (
                        isinstance(one, exp.Column) and not marked_name(one) and self._is_own(one)
                    ):
                        raise NotDivisible("a query, or a private column, outside of aggregates")
        for one in aggregates.values():
            if not self._is_nothing_without_partner(one):
                raise ROW_WITHOUT_PARTNER
        self.values = {
            text: (f"value{i}", one.copy()) for i, (text, one) in enumerate(aggregates.items())
        }
        return list(aggregates.values())

    def _is_nothing_without_partner(self, aggregate: exp.Expr) -> bool:
        """Returns whether a row without a partner adds nothing to an aggregate, or 0 to a sum."""
        if not all(map(self._is_private, _parts_with_columns(aggregate))):
            return False
        if isinstance(aggregate, exp.Filter):
            test = aggregate.expression.this
            if self._is_private(test) and _is_not_true_of_null(test):
                return True
        arguments = _arguments(aggregate)
        if not arguments or not columns_in(arguments[0]):
            return False
        if function_name(_call_of(aggregate)) == "error":
            return is_aggregate(arguments[0]) and self._is_nothing_without_partner(arguments[0])
        return _is_null_of_null(arguments[0]) or _is_zero_in_sum(aggregate)

    # --- whose a column is ---

    def _is_private(self, node: exp.Expr) -> bool:
        columns = columns_in(node)
        return bool(columns) and not node.find(exp.Query) and all(map(self._is_own, columns))

    def _is_of_spine(self, node: exp.Expr) -> bool:
        return not node.find(exp.Query) and all(map(self._is_spine, columns_in(node)))

    def _reads_private(self, node: exp.Expr) -> bool:
        return not self._is_of_spine(node)

    def _is_own(self, column: exp.Column) -> bool:
        if column.table:
            return column.table.lower() == alias_of(self.source)
        return self._has(self.private, column.name) and not self._is_spine(column)

    def _is_spine(self, column: exp.Column) -> bool:
        if column.table:
            return column.table.lower() in self.spine
        return any(self._has(names, column.name) for names in self.spine.values())

    @staticmethod
    def _has(names: Collection[str] | None, name: str) -> bool:
        return name.partition(MARK)[0].lower() in (names or ())

    # --- what is written ---

    def _inner(
        self,
        source: exp.Expr,
        join: exp.Join | None,
        keys: list[exp.Expr],
        tests: list[exp.Expr],
        aggregates: list[exp.Expr],
        alone: bool,
    ) -> exp.Subquery:
        """Returns the private query behind an alias: keys, and what each has."""
        outputs = [exp.alias_(key.copy(), f"key{i}") for i, key in enumerate(keys)]
        for one in aggregates:
            name = self.values[common_text(one)][0]
            parts = {"": one.copy()} if alone else _addends(one)
            outputs += [exp.alias_(part, f"{name}{end}") for end, part in parts.items()]
        price = [item.copy() for item in self.select.expressions if clauses_mark(item)]
        inner = exp.Select(expressions=[*price, *outputs]).from_(source, copy=False)
        if join is not None:
            inner.set("joins", [join])
        for test in tests:
            inner.where(test.copy(), copy=False)
        inner.set("group", exp.Group(expressions=[key.copy() for key in keys]))
        return exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier(KEPT)))

    def _replace(self, rows: exp.Subquery, tests: list[exp.Expr], alone: bool) -> None:
        """Joins the answer in place of the private side."""
        select = self.select
        items = [item for item in select.expressions if not clauses_mark(item)]
        for item in items:
            if not isinstance(item, exp.Alias | exp.Column):
                item.meta[SHOWN_NAME] = item.meta.get(SHOWN_NAME) or duckdb_name(item)
        for part in _SHOWN:
            for node in _nodes_of(select.args.get(part)):
                for one in list(node.walk(prune=_is_outermost_aggregate)):
                    if _is_outermost_aggregate(one):
                        name = self.values[common_text(one)][0]
                        written = _alone(one, name) if alone else _added_up(one, name)
                        if one.meta.get(SHOWN_NAME):
                            written.meta[SHOWN_NAME] = one.meta[SHOWN_NAME]
                        one.replace(written)
        on = exp.and_(*(test.copy() for test in tests))
        self.join.replace(exp.Join(this=rows, side="LEFT", on=on))

    def _ask_by_group(self, keys: list[exp.Expr], aggregates: list[exp.Expr]) -> None:
        """Writes the spine into the private query, and asks for the group's own keys."""
        self.run_text = ""
        answer = self._run_over_spine(lambda spine: spine.select("*"))
        if answer is None or len(answer[1]) > MOST or len(self.spine) != 1:
            raise NotDivisible("rows that cannot be written")
        written = rows_as_values(*answer)
        if written is None:
            raise NotDivisible("rows that cannot be written")
        (alias,) = self.spine
        columns = [exp.to_identifier(name, quoted=True) for name in answer[0]]
        named = exp.TableAlias(this=exp.to_identifier(alias), columns=columns)
        spine = exp.Subquery(this=written, alias=named)
        on, using = self.join.args.get("on"), self.join.args.get("using")
        join = exp.Join(this=spine, on=on and on.copy(), using=using and [x.copy() for x in using])
        rows = self._inner(self.source.copy(), join, keys, [], aggregates, alone=True)
        tests: list[exp.Expr] = [
            exp.NullSafeEQ(this=exp.column(f"key{i}", table=KEPT), expression=key.copy())
            for i, key in enumerate(keys)
        ]
        self._replace(rows, tests, alone=True)

    def _run_over_spine(
        self, write: Callable[[exp.Select], exp.Select]
    ) -> tuple[Sequence[str], Sequence[tuple[Any, ...]]] | None:
        """Returns what a query over the spine gives; None where it cannot be run."""
        select = self.select
        spine = exp.Select().from_(select.args["from_"].this.copy(), copy=False)
        spine.set("joins", [join.copy() for join in select.args["joins"][:-1]])
        if (where := select.args.get("where")) is not None:
            spine.set("where", where.copy())
        query = write(spine)
        tables = [cte.copy() for cte in used_common_tables(select, query)]
        root = select.root()
        recursive = any(with_.args.get("recursive") for with_ in root.find_all(exp.With))
        if tables:
            query.set("with_", exp.With(expressions=tables, recursive=recursive))
        if any(marked_name(column) for column in query.find_all(exp.Column)):
            return None
        return self.run(duckdb_text(query.copy()), sorted({*stored_tables(query)}))

    def _has_one_row_a_group(self, keys: list[exp.Expr]) -> bool:
        """Returns whether each group is of one of the rows that are spine."""
        rows = exp.alias_(duckdb_call("count", exp.Star()), ROWS)
        answer = self._run_over_spine(
            lambda spine: spine.select(rows).group_by(*(key.copy() for key in keys))
        )
        return answer is not None and all(row == (1,) for row in answer[1])


def _nodes_of(value: object) -> list[exp.Expr]:
    return value if isinstance(value, list) else [value] if isinstance(value, exp.Expr) else []


def _is_outermost_aggregate(node: exp.Expr) -> bool:
    """Returns whether a node is an aggregate over rows, and not a window's over groups."""
    return is_aggregate(node) and not isinstance(node.parent, exp.Window)


def _parts_with_columns(aggregate: exp.Expr) -> list[exp.Expr]:
    """Returns the parts of an aggregate that have columns: its arguments, and its filter."""
    parts = [aggregate.this, aggregate.expression] if isinstance(aggregate, exp.Filter) else []
    return [part for part in parts or [aggregate] if columns_in(part)]


def _is_null_of_null(node: exp.Expr) -> bool:
    """Returns whether an expression is NULL where all its columns are."""
    if isinstance(node, exp.Column):
        return True
    if isinstance(node, exp.Case):
        return _falls_to_default(node) and node.args.get("default") is None
    return isinstance(node, _NULL_OF_NULL) and all(
        _is_null_of_null(child)
        for child in node.iter_expressions()
        if not isinstance(child, exp.DataType)
    )


def _is_not_true_of_null(test: exp.Expr) -> bool:
    """Returns whether a condition is not true where all its columns are NULL."""
    match test:
        case exp.Paren():
            return _is_not_true_of_null(test.this)
        case exp.And():
            return any(map(_is_not_true_of_null, (test.left, test.right)))
        case exp.Or():
            return all(map(_is_not_true_of_null, (test.left, test.right)))
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE() | exp.Like():
            return any(_is_null_of_null(x) and columns_in(x) for x in (test.left, test.right))
        case exp.Between() | exp.In():
            return _is_null_of_null(test.this) and bool(columns_in(test.this))
    return isinstance(test, exp.Column) and not marked_name(test)


def _is_zero_in_sum(aggregate: exp.Expr) -> bool:
    """Returns whether an aggregate is SUM(CASE WHEN … THEN … ELSE 0 END), ELSE being of NULLs."""
    arguments = _arguments(aggregate)
    case = arguments[0] if arguments else None
    if function_name(_call_of(aggregate)) != "sum" or not isinstance(case, exp.Case):
        return False
    default = case.args.get("default")
    return _falls_to_default(case) and default is not None and default.name == "0"


def _falls_to_default(case: exp.Case) -> bool:
    tests = [branch.this for branch in case.args["ifs"]]
    return case.this is None and all(map(_is_not_true_of_null, tests))


def _arguments(aggregate: exp.Expr) -> list[exp.Expr]:
    call = _call_of(aggregate)
    return [
        x.expressions[0] if isinstance(x, exp.Distinct) and x.expressions else x
        for x in (call.expressions if function_name(call) else [])
    ]


def _call_of(aggregate: exp.Expr) -> exp.Expr:
    call = aggregate.this if isinstance(aggregate, exp.Filter) else aggregate
    assert isinstance(call, exp.Expr)
    return call


def _adds_up(aggregate: exp.Expr) -> bool:
    """Returns whether what two keys have together follows from what each has."""
    call = _call_of(aggregate)
    plain = len(call.expressions) == 1 and not isinstance(call.expressions[0], exp.Distinct)
    return plain and function_name(call) in ("count", "sum", "avg", "mean")


def _addends(aggregate: exp.Expr) -> dict[str, exp.Expr]:
    """Returns what is asked for of each key, by the end of its column's name."""
    if function_name(_call_of(aggregate)) not in ("avg", "mean"):
        return {"": aggregate.copy()}
    return {end: _call_named(aggregate, name) for end, name in (("s", "sum"), ("n", "count"))}


def _call_named(aggregate: exp.Expr, name: str) -> exp.Expr:
    written = aggregate.copy()
    _call_of(written).set("this", name)
    return written


def _added_up(aggregate: exp.Expr, name: str) -> exp.Expr:
    """Returns an aggregate over all keys of a group."""

    def total(column: str) -> exp.Expr:
        return duckdb_call("sum", exp.column(column, table=KEPT))

    function = function_name(_call_of(aggregate))
    if function == "count":
        return _whole(total(name))
    if function == "sum":
        return _or_zero(total(name)) if _is_zero_in_sum(aggregate) else total(name)
    count = total(f"{name}n")
    mean = exp.Div(this=total(f"{name}s"), expression=count.copy())
    is_positive = exp.GT(this=count, expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=is_positive, true=mean)])


def _alone(aggregate: exp.Expr, name: str) -> exp.Expr:
    """Returns an aggregate of the one key that a group has."""
    value = duckdb_call("any_value", exp.column(name, table=KEPT))
    if function_name(_call_of(aggregate)) == "count":
        return _whole(value)
    return _or_zero(value) if _is_zero_in_sum(aggregate) else value


def _whole(count: exp.Expr) -> exp.Expr:
    """Returns a count, which is 0 where there are no rows."""
    return exp.Cast(this=_or_zero(count), to=exp.DataType(this=exp.DType.BIGINT))


def _or_zero(value: exp.Expr) -> exp.Expr:
    return duckdb_call("coalesce", value, exp.Literal.number(0))
