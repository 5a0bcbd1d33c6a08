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

from collections.abc import Callable

from sqlglot import exp

from sqlpriv.dialect.common_tables import common_table, sources_of
from sqlpriv.dialect.division.grouped_select import KEYS, GroupedSelect
from sqlpriv.dialect.division.neighbour_rows import with_neighbours_joined
from sqlpriv.dialect.division.outer_keys import with_outer_tables_named
from sqlpriv.dialect.division.public_rows import with_public_rows
from sqlpriv.dialect.division.row_sets import (
    needs_keys_of_rows,
    select_keys_alone,
    with_rows_grouped,
)
from sqlpriv.dialect.division.terms.named_terms import column_names, name_outputs, output_names
from sqlpriv.dialect.division.terms.parts import NotDivisible, own_nodes, pivot_parts, stored_tables
from sqlpriv.dialect.division.terms.price_marks import (
    PRICE,
    price_at,
    price_mark,
    query_key,
    with_surroundings,
)
from sqlpriv.dialect.division.terms.stored_tables import StoredTables
from sqlpriv.dialect.division.unit_windows import with_windows_joined
from sqlpriv.dialect.marks import clauses_mark, duckdb_text, marked_name
from sqlpriv.dialect.reading.parsed_query import ParsedQuery
from sqlpriv.errors import Refused
from sqlpriv.statements.aliases import distinct_names
from sqlpriv.statements.divided_query import Attempt, Division, PrivateQuery
from sqlpriv.statements.tree import Origin

_WAYS = ((False, False), (True, False), (False, True))
"""How a SELECT is parted: `ends` and `counted` of `GroupedSelect`, in the order in which tried."""
Rewrite = Callable[[exp.Expr, StoredTables], Refused | None]
"""Rewrites a query; returns why a form was left as it is, if one was."""
MOST = 100
"""Queries that are tried for one statement."""


def divide(
    query: Origin,
    tables: StoredTables,
    attempt: Attempt,
    whole: Refused | None,
    rewrite: Rewrite,
    write_rows: Rewrite,
) -> Division | Refused | None:
    """Returns a statement in parts.

    Args:
        query: One query, which cannot be answered as a whole, as it was parsed.
        tables: What is known of stored tables.
        attempt: Tried on every query that might be answered privately.
        whole: What an attempt at the whole statement came to; None where there was none.
        rewrite: Writes forms of SQL in the query as others, before it is parted.
        write_rows: The same of rows that the query writes, after public rows are written out.

    Returns:
        The parts; why a part of the right form was refused; None where there is no such form.
    """
    assert isinstance(query, ParsedQuery)
    if not isinstance(query.tree, exp.Query | exp.Pivot) or _joins_nothing(query.tree):
        return None
    divider = _Divider(query, tables, attempt)
    if whole is not None:
        divider.note_refusal(whole)
    root = divider.root
    with_outer_tables_named(root, tables)
    unchanged = rewrite(root, tables)
    with_rows_grouped(root, tables)
    with_neighbours_joined(root, tables)
    with_public_rows(root, tables)
    overlapping = write_rows(root, tables)
    missing_row = with_windows_joined(root, tables)
    divider.refusal = unchanged or overlapping or missing_row
    try:
        return divider.division()
    except NotDivisible:
        return divider.refusal
    except RecursionError:
        return None


def _joins_nothing(tree: exp.Expr) -> bool:
    """Returns whether a query has a JOIN and no FROM, which sqlglot reads and DuckDB does not."""
    selects = tree.find_all(exp.Select)
    return any(s.args.get("joins") and not s.args.get("from_") for s in selects)


class _Divider:
    """The work on one statement; `root` holds the query, which becomes the tail.

    Args:
        query: The statement.
        tables, attempt: See `divide`.
    """

    def __init__(self, query: ParsedQuery, tables: StoredTables, attempt: Attempt) -> None:
        self.query, self.clauses = query, dict(query.clauses)
        self.root = root = exp.Subquery(this=query.tree.copy())
        self.tables, self.attempt = tables, attempt
        self.refusal: Refused | None = None
        for select in root.find_all(exp.Select, exp.Pivot):
            select.meta[PRICE] = price_mark(select, self.clauses)
        self._queries: dict[str, PrivateQuery] = {}  # by text
        self._refusals: dict[tuple[str, bool], Refused] = {}  # by text, and whether keys alone
        self._tried = 0

    def note_refusal(self, refusal: Refused) -> None:
        """Notes that the statement, as it stands now, was refused: it is not tried again."""
        if isinstance(whole := self.root.this, exp.Select):
            written, _ = with_surroundings(whole, whole, self.clauses)
            self._refusals[query_key(written, self.clauses), False] = refusal

    def division(self) -> Division:
        """Returns the parts.

        Raises:
            NotDivisible: There is no way to part it, or none was answerable.
        """
        self._process(self.root.this)
        tail = self.root.this
        self._drop_unused(tail)
        self._drop_clauses(tail)
        name_outputs(tail)
        if self.tables.reads_private(tail):
            raise NotDivisible("a private table is outside of every private query")
        queries = tuple(self._queries.values())
        answers = {query.name for query in queries}
        tables = tuple(sorted(set(stored_tables(tail)) - answers))
        names = {mark[2:] for column in tail.find_all(exp.Column) if (mark := marked_name(column))}
        values = self.query.values()
        parameters = {name: value for name, value in values.items() if name in names}
        return Division(queries, duckdb_text(tail), parameters, tables)

    # --- the three ways ---

    def _process(self, query: exp.Expr) -> None:
        """Turns a query into plain SQL over answers, in its place."""
        if not self.tables.reads_private(query):
            return
        match query:
            case exp.Select():
                answered = self._answer(query, query) or any(
                    self._answer_grouped(query, ends, counted or needs_keys_of_rows(query))
                    for ends, counted in _WAYS
                )
                if not answered:
                    self._descend(query)
            case exp.Pivot():
                self._process_pivot(query)
            case exp.SetOperation():
                for side in (query.left, query.right):
                    select_keys_alone(side)
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
            names = output_names(place) or []
            own = distinct_names(names)
            columns = zip(own, names, strict=True) if own != names else ()
            outputs = [exp.alias_(exp.column(x, quoted=True), y, quoted=True) for x, y in columns]
            place.replace(exp.select(*(outputs or "*")).from_(exp.to_table(name)))
        return bool(name)

    def _answer_grouped(self, select: exp.Select, ends: bool, counted: bool) -> bool:
        """Leaves to the tail what is computed of a SELECT's keys and aggregates."""
        sources = [column_names(source, self.tables) or () for source in sources_of(select)]
        columns = {name.lower() for names_of_one in sources for name in names_of_one}
        grouped = GroupedSelect(select, self.clauses, columns, ends, counted)
        try:
            private, tail = grouped.divide()
        except NotDivisible:
            return False
        before = dict(self._queries)
        names = [self._answer_name(select, counts) for counts in grouped.counts]
        if grouped.asks_for_rows:
            names.append(self._answer_name(select, private, grouped.keys_alone))
            answer = exp.to_table(names[-1]) if names[-1] else None
            if answer is not None and grouped.names_keys:
                answer.set("alias", exp.TableAlias(this=exp.to_identifier(KEYS)))
            tail = tail if answer is None else tail.from_(answer, copy=False)
        if not all(names):
            self._queries = before  # what was answered for this alone is not asked
            return False
        for counts, name in zip(grouped.counts, names, strict=False):
            counts.replace(exp.select("*").from_(exp.to_table(name)))
        tail.set("with_", select.args.get("with_"))
        tail.meta[PRICE] = price_at(select)
        select.replace(tail)
        self._descend(tail)
        return True

    def _descend(self, query: exp.Expr) -> None:
        """Turns what a query reads into answers: the query itself is then plain SQL."""
        for node in own_nodes(query):
            if isinstance(node, exp.Table):
                cte = common_table(node)
                if cte is not None:
                    self._process(cte.this)
                elif self.tables.reads_private(node):
                    raise NotDivisible("raw columns never leave")
            elif isinstance(node, exp.Query) and node is not query:
                select_keys_alone(node)
                self._process(node)

    def _process_pivot(self, pivot: exp.Pivot) -> None:
        """Turns PIVOT into one over an answer: its aggregates are asked for first."""
        source = pivot.this
        if isinstance(source, exp.Subquery) or (
            isinstance(source, exp.Table) and common_table(source) is not None
        ):
            try:
                self._descend(pivot)
                return
            except NotDivisible:
                pass
        private, firsts = pivot_parts(pivot)
        pivot.set("this", exp.Subquery(this=private))
        name = self._answer_name(private, private)
        if not name:
            raise NotDivisible("the aggregates of a PIVOT are refused")
        pivot.set("this", exp.to_table(name))
        pivot.set("using", firsts)

    # --- one private query ---

    def _answer_name(self, place: exp.Expr, private: exp.Select, keys_alone: bool = False) -> str:
        """Returns what the answer of a query is called; '' where it cannot be answered."""
        self._tried += 1
        if self._tried > MOST:
            raise NotDivisible(f"more than {MOST} queries")
        written, price = with_surroundings(place, private, self.clauses)
        key = query_key(written, self.clauses)
        if key in self._queries:
            return self._queries[key].name
        if (refusal := self._refusals.get((key, keys_alone))) is not None:
            self.refusal = self.refusal or refusal
            return ""
        answers = {query.name for query in self._queries.values()}
        if any(table.name in answers for table in written.find_all(exp.Table)):
            return ""  # it reads an answer: plain SQL does
        name = f"__answer{len(self._queries) + 1}"
        try:
            select = self.query.lower_part(written, self.clauses)
        except Refused:
            return ""  # what the grammar says of a part helps nobody who wrote the whole
        query = PrivateQuery(name, select, price, keys_alone)
        refusal = self.attempt(query)
        if refusal is not None:
            self._refusals[key, keys_alone] = refusal
            self.refusal = self.refusal or refusal
            return ""
        self._queries[key] = query
        return name

    def _drop_clauses(self, tail: exp.Expr) -> None:
        """Takes our clauses out of SELECTs that became plain SQL.

        Raises:
            NotDivisible: STRATIFY BY stands in one.
        """
        for column in list(tail.find_all(exp.Column)):
            clauses = self.clauses.get(clauses_mark(column))
            if clauses is not None:
                if clauses.strata is not None:
                    raise NotDivisible("STRATIFY BY is of private rows")
                column.pop()

    def _drop_unused(self, tail: exp.Expr) -> None:
        """Takes queries of WITH out that only private queries used; each uses those before it."""
        for cte in reversed(list(tail.find_all(exp.CTE))):
            is_used = any(common_table(table) is cte for table in tail.find_all(exp.Table))
            if not is_used and self.tables.reads_private(cte.this):
                with_ = cte.parent
                cte.pop()
                if isinstance(with_, exp.With) and not with_.expressions:
                    with_.pop()
