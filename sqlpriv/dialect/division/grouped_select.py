"""One SELECT over private rows, parted: keys and aggregates first, what is made of them behind.

    SELECT educ, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM people GROUP BY educ
    ──► private: SELECT educ AS "__group0:educ", COUNT(*) AS "count_star()"
                 FROM people GROUP BY educ
        tail:    SELECT "__group0:educ" AS educ,
                        "count_star()" / SUM("count_star()") OVER () AS share
                 FROM __answer1

Windows, QUALIFY, DISTINCT, ORDER BY, LIMIT and any function of DuckDB may stand in the tail. HAVING
becomes the tail's WHERE: it comes before windows in both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from sqlpriv.dialect.clauses import Clauses
from sqlpriv.dialect.common_tables import alias_of, sources_of
from sqlpriv.dialect.division.answer_keys import AnswerKeys
from sqlpriv.dialect.division.outer_keys import look_up, without_outer_equalities
from sqlpriv.dialect.division.terms.named_terms import (
    common_text,
    is_aggregate,
    is_same_name,
    output_name,
    with_alias,
)
from sqlpriv.dialect.division.terms.parts import NotDivisible, own_nodes
from sqlpriv.dialect.division.terms.value_frequencies import (
    frequency_subquery,
    is_of_frequencies,
    key_that_is_given,
)
from sqlpriv.dialect.marks import (
    copied_clauses,
    duckdb_call,
    duckdb_name,
    marked_name,
    outputs_of,
    row_count,
)
from sqlpriv.statements.keywords import ROWS_ERROR

_TAIL_CLAUSES = ("qualify", "order", "limit", "offset", "distinct", "windows")
KEYS = "__keys"
"""The alias of the answer whose keys a query inside the tail looks at."""
ANY_ROWS = "__any_rows"
"""The column of a private query for keys alone that counts rows, which nobody asked for."""
MOST_NAMES = 1_000
"""Names of earlier outputs that are written out: `a + a AS b, b + b AS c` doubles with each."""
_WRAPPERS = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)
"""What may stand between a window and its function."""


@dataclass
class GroupedSelect:
    """A SELECT with aggregates or GROUP BY, and what of it the private query gives.

    Args:
        select: The SELECT; `tail` changes it.
        clauses: Our clauses of the whole statement, by mark.
        columns: See `AnswerKeys`.
        values: The aggregates by `common_text`, each with its name in the answer.
        keys_alone: Nothing is asked for but which keys there are; set by `divide`.
        ends: MIN and MAX are made of how often each value occurs (`value_frequencies`).
        counted: Which keys there are is told by their counts, above the counts' half-widths, and
            not by a list.
        asks_for_rows: The tail reads the private query's answer; set by `divide`.
        names_keys: The tail has queries that look at its keys, under the alias `KEYS`.
        counts: Queries in the tail that are private by themselves; filled by `divide`.
    """

    select: exp.Select
    clauses: Mapping[str, Clauses]
    columns: Collection[str] = ()
    ends: bool = False
    counted: bool = False
    values: dict[str, exp.Expr] = field(default_factory=dict)
    keys_alone: bool = False
    asks_for_rows: bool = True
    names_keys: bool = False
    counts: list[exp.Select] = field(default_factory=list)
    keys: AnswerKeys = field(init=False)
    _names_written: int = 0

    def divide(self) -> tuple[exp.Select, exp.Select]:
        """Returns the private query, and the tail without its FROM.

        Raises:
            NotDivisible: It has neither keys nor aggregates, or raw columns outside of them.
        """
        self.select, pairs = without_outer_equalities(self.select)
        select = self.select
        self.keys = AnswerKeys(select, self.clauses, self.columns)
        group = self.keys.resolve_group()
        grouped = group is not None
        if pairs:
            group = group or exp.Group(expressions=[])
            group.set("expressions", [*group.expressions, *(self.keys.add(x) for x, _ in pairs)])
        tail = exp.Select(expressions=list(map(self._output, outputs_of(select))))
        self.columns = ()  # behind the outputs their names come first
        if (having := select.args.get("having")) is not None:
            tail.set("where", exp.Where(this=self._write(having.this)))
        for clause in _TAIL_CLAUSES:
            self._write_clause(tail, clause)
        if pairs:
            columns = [(self.keys.column(inner), outer) for inner, outer in pairs]
            look_up(tail, columns, () if grouped else [*self.values.values()])
        private = select.copy()
        if self.counts and not self.values and not self.keys.named:
            self.asks_for_rows = False
        elif not self.values and not self.counts:
            self._ask_for_keys(private, tail)
        for clause in (*_TAIL_CLAUSES, "having"):
            private.set(clause, None)
        if group is not None:
            private.set("group", group)
        keys = [with_alias(key, name) for key, name in self.keys.named]
        values = [*self.values.values()] or [with_alias(row_count(), ANY_ROWS)]
        if self.counted and self.keys_alone:
            values.append(with_alias(duckdb_call("error", row_count()), ROWS_ERROR))
            tail.where(exp.column(ANY_ROWS) > exp.column(ROWS_ERROR), copy=False)
            self.keys_alone = False
        private.set("expressions", [*copied_clauses(select), *keys, *values])
        return private, tail

    # --- keys ---

    def _ask_for_keys(self, private: exp.Select, tail: exp.Select) -> None:
        """Makes a query of keys alone: a condition on keys is for the tail to test on the list.

        Raises:
            NotDivisible: There are no keys either.
        """
        if not self.keys.named:
            raise NotDivisible("it has neither keys nor aggregates")
        self.keys_alone = True
        if (where := private.args.get("where")) is None:
            return
        columns = [node for node in where.find_all(exp.Column) if not marked_name(node)]
        nested = where.find(exp.Query) is not None
        if nested or any(self.keys.column(column) is None for column in columns):
            return  # it depends on rows which levels there are
        conditions = [self._write(where.this)]
        if (having := tail.args.get("where")) is not None:
            conditions.append(having.this)
        tail.set("where", exp.Where(this=exp.and_(*conditions)))
        private.set("where", None)

    # --- the tail ---

    def _output(self, item: exp.Expr) -> exp.Expr:
        node = self._write(item.unalias())
        return exp.alias_(node, output_name(item), quoted=True, copy=False)

    def _write_clause(self, tail: exp.Select, clause: str) -> None:
        parts = self.select.args.get(clause)
        if isinstance(parts, exp.Order):
            terms = list(map(self._write_order, parts.expressions))
            tail.set(clause, exp.Order(expressions=terms))
        elif parts:
            tail.set(clause, self._write_argument(parts))

    def _write_order(self, term: exp.Expr) -> exp.Expr:
        """Returns a term of ORDER BY: a number, ALL and an output's name stay what they are."""
        node = term.this
        names = [output_name(item).lower() for item in self.select.expressions]
        bare = isinstance(node, exp.Column) and not node.table
        is_output = bare and node.name.lower() in names
        if is_output or isinstance(node, exp.Literal | exp.Var):
            return term.copy()
        written = term.copy()
        written.set("this", self._write(node))
        return written

    def _write(self, node: exp.Expr) -> exp.Expr:
        """Returns an expression over the answer's columns."""
        if (key := self.keys.column(node)) is not None:
            return key
        if marked_name(node):
            return node.copy()
        if isinstance(node, exp.Query):
            return self._write_query(node)
        if isinstance(node, exp.Window):
            return self._write_window(node)
        if (arg := key_that_is_given(node)) is not None and self.keys.column(arg):
            return self._write(arg)
        if is_of_frequencies(node, ends=self.ends):
            return self._frequency_subquery(node)
        if is_aggregate(node):
            return self._value_column(node)
        if isinstance(node, exp.Star):
            raise NotDivisible("raw columns never leave")
        if isinstance(node, exp.Column):
            return self._output_by_name(node)
        return self._write_children(node)

    def _write_query(self, query: exp.Expr) -> exp.Expr:
        """Returns a query inside the tail, which may look at keys of the row around it."""
        written = query.copy()
        own = {alias_of(table) for part in query.find_all(exp.Select) for table in sources_of(part)}
        around = set(map(alias_of, sources_of(self.select))) - own
        for column in list(written.find_all(exp.Column)):
            key = self.keys.column(column) if column.table.lower() in around else None
            if key is not None:
                key.set("table", exp.to_identifier(KEYS))
                column.replace(key)
                self.names_keys = True
        return written

    def _write_children(self, node: exp.Expr, but: str = "") -> exp.Expr:
        """Returns a node whose parts are over the answer's columns, `but` one, which is copied."""
        written = type(node)()  # a copy of all that is below each node takes quadratic time
        written.comments = node.comments
        written.meta.update(node.meta)
        for name, value in node.args.items():
            written.set(name, value.copy() if name == but else self._write_argument(value))
        return written

    def _write_argument(self, value: Any) -> Any:
        if isinstance(value, list):
            return list(map(self._write_argument, value))
        return self._write(value) if isinstance(value, exp.Expr) else value

    def _write_window(self, window: exp.Window) -> exp.Expr:
        """Returns a window over the answer: its own function runs there, what is inside before."""
        written = self._write_children(window, but="this")
        if not isinstance(window.this, exp.Identifier):  # the name of one in the WINDOW clause
            written.set("this", self._write_window_function(window.this))
        return written

    def _write_window_function(self, function: exp.Expr) -> exp.Expr:
        if not isinstance(function, _WRAPPERS):
            return self._write_children(function)
        written = self._write_children(function, but="this")
        written.set("this", self._write_window_function(function.this))
        return written

    def _frequency_subquery(self, node: exp.Expr) -> exp.Expr:
        """Returns an aggregate over the counts of its values, a query that is divided in turn."""
        if self.keys.strata:
            raise NotDivisible("counts of values are for groups without strata")
        keys = [(key, exp.column(name, quoted=True)) for key, name in self.keys.named]
        value, counts = frequency_subquery(node, self.select, keys)
        self.counts.append(counts)
        return value

    def _value_column(self, node: exp.Expr) -> exp.Column:
        text = common_text(node)
        if text not in self.values:
            name, taken = duckdb_name(node), {one.alias.lower() for one in self.values.values()}
            while name.lower() in taken:  # texts that differ in case alone
                name += "_"
            self.values[text] = with_alias(node, name)
        return exp.column(self.values[text].alias, quoted=True)

    def _output_by_name(self, column: exp.Column) -> exp.Expr:
        """Returns what an earlier output's name stands for."""
        for item in self.select.expressions:
            named = isinstance(item, exp.Alias) and is_same_name(item.alias, column.name)
            is_bare = not column.table and column.name.lower() not in self.columns
            if named and is_bare and column not in own_nodes(item.this):
                self._names_written += 1
                if self._names_written > MOST_NAMES:
                    raise NotDivisible("names of outputs stand for too many others")
                return exp.paren(self._write(item.this), copy=False)
        raise NotDivisible(f'the column "{column.name}" is neither a key nor in an aggregate')
