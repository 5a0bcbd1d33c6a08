"""A query that cannot be answered as a whole: its private queries, and the tail over their answers.

Working on numbers that are noised already is free, so the rule is: private queries first, then
DuckDB, which sees nothing private, over their answers. Each SELECT over private rows is tried

1. as it stands;
2. with windows and the like left to the tail (`grouped_select`);
3. as plain SQL over the queries inside it: subqueries of FROM, WITH, scalar subqueries, the sides
   of UNION, INTERSECT and EXCEPT, the source of PIVOT; each of these is tried in turn.

What is tried must be answerable by itself. A private table that none of these covers refuses the
whole statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqlpriv.dialect.division.grouped_select import GroupedSelect, NotDivisible, own_nodes
from sqlpriv.dialect.division.markers import PRICE, STRATA, Marks, is_mark, mark_clauses
from sqlpriv.dialect.syntax import check_clause_order
from sqlpriv.dialect.tokens import lex
from sqlpriv.errors import Refused

MOST = 100
"""Queries that are tried for one statement."""
_TABLE_FUNCTIONS = (exp.GenerateSeries, exp.Unnest)
"""Table functions that a tail may call: they read nothing."""


class Attempt(Protocol):
    """Says why a query cannot be answered privately; None where it can."""

    def __call__(
        self, text: str, values: Mapping[str, object], keys_alone: bool
    ) -> Refused | None: ...


@dataclass(frozen=True)
class PrivateQuery:
    """A query that is answered under the budget.

    Args:
        name: What its answer is called in the tail.
        text: The query, our clauses in it.
        parameters: Its values, by name.
        price: The mark of the price that is written for it; queries of one mark share that price.
        keys_alone: Nothing but its keys is used.
    """

    name: str
    text: str
    parameters: Mapping[str, object]
    price: str
    keys_alone: bool


@dataclass(frozen=True)
class Division:
    """A statement in parts.

    Args:
        queries: The private queries, in the order in which the tail was read.
        tail: Plain SQL over their answers.
        parameters: Values for the tail, by name.
        tables: Stored tables that the tail reads besides the answers, in lower case.
    """

    queries: tuple[PrivateQuery, ...]
    tail: str
    parameters: Mapping[str, object]
    tables: tuple[str, ...]


def divide(
    text: str,
    parameters: Sequence[object] | Mapping[str, object],
    is_private: Callable[[str], bool],
    attempt: Attempt,
) -> Division | Refused | None:
    """Returns a statement in parts.

    Args:
        text: One query, which cannot be answered as a whole.
        parameters: Values for `?` as a sequence, for `$1` and `$name` as a mapping.
        is_private: Whether a stored table, by its lower-case name, has rows to protect.
        attempt: Tried on every query that might be answered privately.

    Returns:
        The parts; why a part of the right form was refused; None where there is no such form.
    """
    try:
        check_clause_order(lex(text))
    except Refused:
        return None  # what reads the whole statement says so, with the place
    try:
        marked, marks = mark_clauses(text, parameters)
        (tree,) = sqlglot.parse(marked, read="duckdb")
    except (SqlglotError, RecursionError, ValueError):
        return None
    if not isinstance(tree, exp.Query | exp.Pivot):
        return None
    divider = _Divider(exp.Subquery(this=tree), marks, is_private, attempt)
    try:
        return divider.division()
    except NotDivisible:
        return divider.refusal
    except RecursionError:
        return None


class _Divider:
    """The work on one statement; `root` holds the query, which becomes the tail.

    Args:
        root: The query in parentheses.
        marks: Our clauses in it.
        is_private, attempt: See `divide`.
    """

    def __init__(
        self, root: exp.Subquery, marks: Marks, is_private: Callable[[str], bool], attempt: Attempt
    ) -> None:
        self.root, self.marks = root, marks
        self.is_private, self.attempt = is_private, attempt
        self.refusal: Refused | None = None
        selects = root.find_all(exp.Select, exp.Pivot)
        self._prices = {id(select): (select, _price_mark(select)) for select in selects}
        self._queries: dict[str, PrivateQuery] = {}  # by text
        self._tried = 0

    def division(self) -> Division:
        """Returns the parts.

        Raises:
            NotDivisible: There is no way to part it, or none was answerable.
        """
        self._process(self.root.this)
        tail = self.root.this
        self._drop_unused(tail)
        _drop_prices(tail)
        if self._reads_private(tail):
            raise NotDivisible("a private table is outside of every private query")
        written = tail.sql("duckdb", comments=False)
        queries = tuple(self._queries.values())
        answers = {query.name for query in queries}
        tables = tuple(sorted(set(_stored_tables(tail)) - answers))
        return Division(queries, written, self.marks.values_of(written), tables)

    # --- the three ways ---

    def _process(self, query: exp.Expr) -> None:
        """Turns a query into plain SQL over answers, in its place."""
        if not self._reads_private(query):
            return
        match query:
            case exp.Select():
                if not self._answer(query, query) and not self._answer_grouped(query):
                    self._descend(query)
            case exp.Pivot():
                self._process_pivot(query)
            case exp.SetOperation():
                self._process(query.left)
                self._process(query.right)
            case exp.Subquery():
                self._process(query.this)
                self._descend(query)
            case _:
                raise NotDivisible(f"{type(query).__name__} over private rows")

    def _answer(self, place: exp.Select, private: exp.Select) -> bool:
        """Puts the answer of a query into its place, if it can be answered by itself."""
        name = self._answer_name(place, private)
        if name:
            place.replace(exp.select("*").from_(exp.to_table(name)))
        return bool(name)

    def _answer_grouped(self, select: exp.Select) -> bool:
        """Leaves to the tail what is computed of a SELECT's keys and aggregates."""
        grouped = GroupedSelect(select, self.marks)
        try:
            private, tail = grouped.divide()
        except NotDivisible:
            return False
        name = self._answer_name(select, private, grouped.keys_alone)
        if not name:
            return False
        tail = tail.from_(exp.to_table(name))
        tail.set("with_", select.args.get("with_"))
        self._prices[id(tail)] = (tail, self._price(select))
        select.replace(tail)
        self._descend(tail)
        return True

    def _descend(self, query: exp.Expr) -> None:
        """Turns what a query reads into answers: the query itself is then plain SQL."""
        for node in own_nodes(query):
            if isinstance(node, exp.Table):
                cte = _common_table(node)
                if cte is not None:
                    self._process(cte.this)
                elif self._reads_private(node):
                    raise NotDivisible("raw columns never leave")
            elif isinstance(node, exp.Query) and node is not query:
                self._process(node)

    def _process_pivot(self, pivot: exp.Pivot) -> None:
        """Turns PIVOT into one over an answer: its aggregates are asked for first."""
        source, group = pivot.this, pivot.args.get("group")
        if isinstance(source, exp.Subquery) or (
            isinstance(source, exp.Table) and _common_table(source) is not None
        ):
            try:
                self._descend(pivot)
                return
            except NotDivisible:
                pass
        using = pivot.args.get("using") or []
        if group is None or not using or not isinstance(source, exp.Table | exp.Subquery):
            raise NotDivisible("PIVOT over private rows without GROUP BY")
        keys = [*group.expressions, *pivot.expressions]
        values = [item.unalias() for item in using]
        outputs = [exp.alias_(v.copy(), f"value{i}", quoted=True) for i, v in enumerate(values)]
        select = exp.select(*[key.copy() for key in keys], *outputs).from_(source.copy())
        private = select.group_by(*[key.copy() for key in keys])
        pivot.set("this", exp.Subquery(this=private))
        name = self._answer_name(private, private)
        if not name:
            raise NotDivisible("the aggregates of a PIVOT are refused")
        pivot.set("this", exp.to_table(name))
        firsts = []
        for i, item in enumerate(using):
            column = exp.Anonymous(this="first", expressions=[exp.column(f"value{i}")])
            title = item.alias if isinstance(item, exp.Alias) else ""
            firsts.append(exp.alias_(column, title, quoted=True) if title else column)
        pivot.set("using", firsts)

    # --- one private query ---

    def _answer_name(self, place: exp.Expr, private: exp.Select, keys_alone: bool = False) -> str:
        """Returns what the answer of a query is called; '' where it cannot be answered."""
        self._tried += 1
        if self._tried > MOST:
            raise NotDivisible(f"more than {MOST} queries")
        text, price = self._text(place, private)
        if text in self._queries:
            return self._queries[text].name
        if any(query.name in text for query in self._queries.values()):
            return ""  # it reads an answer: plain SQL does
        values = self.marks.values_of(text)
        refusal = self.attempt(text, values, keys_alone)
        if refusal is not None:
            if refusal.message:
                self.refusal = self.refusal or refusal
            return ""
        name = f"__answer{len(self._queries) + 1}"
        self._queries[text] = PrivateQuery(name, text, values, price, keys_alone)
        return name

    def _text(self, place: exp.Expr, private: exp.Select) -> tuple[str, str]:
        """Returns a query with the price and the WITH that hold for it, and the price's mark."""
        written = private.copy()
        price = self._price(place)
        first = written.expressions[0] if written.expressions else None
        if price and not (isinstance(first, exp.Column) and is_mark(first.name, PRICE)):
            written.set("expressions", [exp.column(price), *written.expressions])
        common = _visible_common_tables(place, private)
        own = private.args.get("with_")
        tables = [cte.copy() for cte in (*common, *(own.expressions if own else ()))]
        recursive = any(with_.args.get("recursive") for with_ in self.root.find_all(exp.With))
        with_ = exp.With(expressions=tables, recursive=recursive) if tables else None
        written.set("with_", with_)
        return self.marks.restore(written.sql("duckdb", comments=False)), price

    def _price(self, place: exp.Expr | None) -> str:
        """Returns the mark of the price that holds at a place; '' where none is written."""
        while place is not None:
            if id(place) in self._prices:
                return self._prices[id(place)][1]
            place = place.parent
        return ""

    # --- what is read ---

    def _reads_private(self, query: exp.Expr, inside: frozenset[int] = frozenset()) -> bool:
        return any(self._is_private(table, inside) for table in query.find_all(exp.Table))

    def _is_private(self, table: exp.Table, inside: frozenset[int]) -> bool:
        if not isinstance(table.this, exp.Identifier):
            return False
        cte = _common_table(table)
        if cte is None:
            return self.is_private(table.name.lower())
        if id(cte) in inside:
            return False  # a recursive query reads itself
        return self._reads_private(cte.this, inside | {id(cte)})

    def _drop_unused(self, tail: exp.Expr) -> None:
        """Takes queries of WITH out that only private queries used."""
        while True:
            used = {id(_common_table(table)) for table in tail.find_all(exp.Table)}
            unused = [
                cte
                for cte in tail.find_all(exp.CTE)
                if id(cte) not in used and self._reads_private(cte.this)
            ]
            if not unused:
                return
            for cte in unused:
                with_ = cte.parent
                cte.pop()
                if isinstance(with_, exp.With) and not with_.expressions:
                    with_.pop()


def _common_table(table: exp.Table) -> exp.CTE | None:
    """Returns the query of WITH that a table's name means where it stands.

    Inside WITH those written before it are in scope, a recursive one in itself too.
    """
    if table.args.get("db"):
        return None
    inside: exp.Expr = table
    while (outer := inside.parent) is not None:
        for cte in _tables_of_with(outer, inside):
            if cte.alias.lower() == table.name.lower():
                return cte
        inside = outer
    return None


def _tables_of_with(outer: exp.Expr, inside: exp.Expr) -> Iterator[exp.CTE]:
    """Yields the queries of WITH that `outer` brings into the scope of its part `inside`."""
    if isinstance(outer, exp.With):
        for cte in outer.expressions:
            if cte is inside and not outer.args.get("recursive"):
                return
            yield cte
            if cte is inside:
                return
    with_ = outer.args.get("with_")
    if with_ is not None and with_ is not inside:
        yield from with_.expressions


def _visible_common_tables(place: exp.Expr, private: exp.Select) -> list[exp.CTE]:
    """Returns the queries of WITH around a query that it uses, those that they use before them."""
    visible: list[exp.CTE] = []
    inside = place
    while (outer := inside.parent) is not None:
        visible = [*_tables_of_with(outer, inside), *visible]
        inside = outer
    names = {table.name.lower() for table in private.find_all(exp.Table)}
    used: list[exp.CTE] = []
    for cte in reversed(visible):
        if cte.alias.lower() in names:
            names |= {table.name.lower() for table in cte.find_all(exp.Table)}
            used.insert(0, cte)
    return used


def _price_mark(place: exp.Expr) -> str:
    """Returns the mark of the price that holds for a query; '' where none is written.

    It is the query's own, or that of the SELECT around it; the first SELECT of a UNION has the
    price of all of them.
    """
    node: exp.Expr | None = place
    while node is not None:
        first = node
        while isinstance(first, exp.SetOperation):
            first = first.left
        first = first.unnest() if isinstance(first, exp.Subquery) else first
        if isinstance(first, exp.Select) and first.expressions:
            item = first.expressions[0]
            if isinstance(item, exp.Column) and is_mark(item.name, PRICE):
                return str(item.name)
        node = node.parent
    return ""


def _drop_prices(tail: exp.Expr) -> None:
    """Takes the prices out of SELECTs that became plain SQL.

    Raises:
        NotDivisible: STRATIFY BY stands in one.
    """
    for column in list(tail.find_all(exp.Column)):
        if is_mark(column.name, STRATA):
            raise NotDivisible("STRATIFY BY is of private rows")
        if is_mark(column.name, PRICE):
            column.pop()


def _stored_tables(tail: exp.Expr) -> Iterator[str]:
    """Yields the stored tables that plain SQL names.

    Raises:
        NotDivisible: It calls a table function that may read something.
    """
    for table in tail.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier):
            if not isinstance(table.this, _TABLE_FUNCTIONS):
                raise NotDivisible("table functions are out of reach")
        elif table.args.get("db") or table.args.get("catalog"):
            raise NotDivisible("a schema of its own")
        elif _common_table(table) is None:
            yield table.name.lower()
