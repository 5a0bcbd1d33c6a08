"""One query as sqlglot reads it: what it is lowered from, divided from, and written from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token as GlotToken
from sqlglot.tokenizer_core import TokenType as Type

from sqlpriv.dialect import syntax
from sqlpriv.dialect.clauses import Clauses, Cut, cut_clauses
from sqlpriv.dialect.common_tables import bare_name
from sqlpriv.dialect.foreign.same_meaning import in_duckdb
from sqlpriv.dialect.lowering.output_lowering import text_of_output
from sqlpriv.dialect.lowering.query_lowering import QueryLowering
from sqlpriv.dialect.marks import (
    MARK,
    SHOWN_NAME,
    duckdb_name,
    duckdb_text,
    function_name,
    name_of_text,
)
from sqlpriv.dialect.pipes.pipe_operators import without_pipes
from sqlpriv.dialect.pipes.token_lists import in_parentheses, outside_brackets, sign
from sqlpriv.dialect.reading.generated_rows import write_rows
from sqlpriv.dialect.reading.keyword_calls import write_with_commas
from sqlpriv.dialect.token_cursor import TokenCursor
from sqlpriv.dialect.tokens import Kind, replacement_token
from sqlpriv.errors import PermissionDenied, Refused
from sqlpriv.statements.tree import Bound, Pos, Select

NO_TABLES = (
    "an analyst makes no tables, temporary ones neither: write the query of the table in WITH, or"
    " as a subquery"
)
"""What to write instead of CREATE TEMPORARY TABLE and SELECT … INTO, which BI tools try."""


@dataclass(frozen=True, eq=False)
class ParsedQuery:
    """A query without our clauses.

    Args:
        cursor: The statement's tokens; they begin at `start` and end before `end`.
        clauses: What was cut out, by mark.
        tree: The rest as sqlglot reads it, in DuckDB's form.
        start, end: The query's first token, and the one behind its last.
    """

    cursor: TokenCursor
    clauses: Mapping[str, Clauses]
    tree: exp.Expr
    start: int
    end: int

    def lower(self, *, of_rows: bool = False) -> Select:
        """Returns the query in our own form, with what DuckDB would be given to run it.

        Raises:
            Refused: It is not of the form that can be answered, at the first place where it is not.
        """
        self.cursor.index = self.start
        lowering = QueryLowering(self.cursor, self.clauses, of_rows=of_rows)
        return self._with_text(lowering.statement(self.tree))

    def lower_part(self, part: exp.Expr, clauses: Mapping[str, Clauses]) -> Select:
        """Returns a query that was made of parts of this one, and that has its own clauses."""
        self.cursor.index = self.start
        select = QueryLowering(self.cursor, clauses).statement(part)
        start = self.cursor.tokens[self.start].pos
        return replace(select, text=duckdb_text(part), parameters=self.values(), start=start)

    def lower_stages(self) -> Select | None:
        """Returns a SELECT of which only the queries of WITH are read; None where none of them
        asks for a private answer."""
        self.cursor.index = self.start
        try:
            stages = QueryLowering(self.cursor, self.clauses).stages(self.tree)
        except Refused:
            return None
        if not any(isinstance(stage, Select) and stage.private for _, stage in stages):
            return None
        place = self.cursor.tokens[self.start].pos
        return self._with_text(Select((), stages[0][0], stages=stages, pos=place), True)

    def _with_text(self, select: Select, asks: bool = False) -> Select:
        c, tokens = self.cursor, self.cursor.tokens
        text = c.text[tokens[self.start].start : tokens[self.end - 1].end]
        is_private = bool(self.clauses)  # those of a query inside another make both private
        return replace(
            select,
            private=is_private,
            text=text if asks or is_private else self.text,
            parameters=self.parameters,
            start=tokens[self.start].pos,
            origin=self,
        )

    @property
    def text(self) -> str:
        """The query as DuckDB takes it."""
        c = self.cursor
        if c.dialect == "duckdb":
            return c.runnable(c.tokens[self.start : self.end])
        return duckdb_text(self.tree)

    def place_of(self, name: str) -> Pos:
        """Returns where a name stands: the outermost place, and of these the first."""
        depth, places = 0, []
        for token in self.cursor.tokens[self.start : self.end]:
            depth += (token.upper == "(") - (token.upper == ")")
            if token.kind in (Kind.WORD, Kind.QUOTED) and token.value.lower() == name.lower():
                places.append((depth, token.start, token.pos))
        return min(places, default=(0, 0, Pos()), key=lambda place: place[:2])[2]

    def values(self) -> dict[str, object]:
        """Returns the values of the parameters by the names that they have in DuckDB's text."""
        c = self.cursor
        marks = [x for x in c.tokens[self.start : self.end] if x.kind is Kind.PARAMETER]
        return {c.parameter_text(mark)[1:]: c.binding.by_start[mark.start] for mark in marks}

    @property
    def parameters(self) -> Bound:
        """The values to bind beside `text`."""
        return self.cursor.share(self.cursor.tokens[self.start : self.end])


def parse_query(
    c: TokenCursor, *, of_synthetic_table: bool = False
) -> tuple[ParsedQuery, Refused | None]:
    """Returns the query that begins at `c`, and why it cannot be answered as a whole; the cursor
    stands behind the query afterwards.

    Raises:
        Refused: It cannot be read; or it is not known to mean the same in DuckDB.
    """
    start = c.index
    cut = cut_clauses(c, of_synthetic_table=of_synthetic_table)
    end = c.index if of_synthetic_table else len(c.tokens) - 1
    c.index = start
    try:
        tree = _as_duckdb_reads(syntax.tree(_with_pivot_inside(without_pipes(cut.glots, c)), c), c)
        _read_strata(cut, c)
    except Refused as refusal:
        raise cut.refusal or refusal from None
    c.index = end
    return ParsedQuery(c, cut.clauses, tree, start, end), cut.refusal


def _read_strata(cut: Cut, c: TokenCursor) -> None:
    for clauses in cut.clauses.values():
        if clauses.strata is not None and clauses.strata.glot is not None:
            head = replacement_token(clauses.strata.glot, Type.SELECT, "SELECT")
            columns = _as_duckdb_reads(syntax.tree([head, *clauses.by], c), c)
            clauses.columns = list(columns.expressions)


def _as_duckdb_reads(tree: exp.Expr, c: TokenCursor) -> exp.Expr:
    if tree.find(exp.Into) is not None:
        place = next((token for token in c.tokens if token.upper == "INTO"), c.tokens[0])
        hint = f"{NO_TABLES}; an owner writes CREATE TABLE … AS SELECT"
        raise PermissionDenied.at(place, "SELECT … INTO makes a table", hint)
    _clean_names(tree)
    _drop_main_schema(tree)
    for cte in tree.find_all(exp.CTE) if c.dialect in ("tsql", "oracle") else ():
        own = [x for x in cte.this.find_all(exp.Table) if bare_name(x) == bare_name(cte)]
        if own and isinstance(cte.parent, exp.With):
            cte.parent.set("recursive", True)  # which they do not say
    write_with_commas(tree)
    write_rows(tree, c.dialect, c.tokens[0])
    is_duckdbs = c.dialect == "duckdb"
    written = [output.copy() for output in _outputs(tree)]
    tree = tree if is_duckdbs else in_duckdb(tree, c)
    for before, after in zip(written, _outputs(tree), strict=False):
        if any(function_name(part) == "columns" for part in before.walk()):
            continue  # DuckDB names each of the columns
        if before.find(exp.Kwarg) is not None:
            continue  # bounds of contributions are no part of a name
        if before != after or not isinstance(after, exp.Alias | exp.Column | exp.Star):
            text = text_of_output(before, c.tokens, c.text) if is_duckdbs else ""
            named = _with_windows(before, after.parent_select)
            after.meta[SHOWN_NAME] = name_of_text(text) or duckdb_name(named)
    return tree


def _with_windows(output: exp.Expr, select: exp.Select | None) -> exp.Expr:
    """Returns an output with `OVER w` as WINDOW has it, which DuckDB shows."""
    windows = (select and select.args.get("windows")) or ()
    named = {window.name.lower(): window.copy() for window in windows}
    for call in output.find_all(exp.Window):
        if (window := named.get(call.alias.lower())) is not None:
            parts = {name: part for name, part in window.args.items() if name != "this"}
            for name, part in {**parts, **call.args, "alias": None}.items():
                call.set(name, part or parts.get(name))
    return output


def _with_pivot_inside(glots: Sequence[GlotToken]) -> Sequence[GlotToken]:
    """Returns `PIVOT … ORDER BY x LIMIT 1`, which sqlglot does not read, as a query over it:
    `SELECT * FROM (PIVOT …) ORDER BY x LIMIT 1`."""
    first = glots[0]
    if first.token_type not in (Type.PIVOT, Type.UNPIVOT):
        return glots
    at = 0
    for part in outside_brackets(glots):
        if part[0].token_type in (Type.ORDER_BY, Type.LIMIT, Type.OFFSET):
            head = [sign(first, type_) for type_ in (Type.SELECT, Type.STAR, Type.FROM)]
            return [*head, *in_parentheses(first, list(glots[:at])), *glots[at:]]
        at += len(part)
    return glots


def _outputs(tree: exp.Expr) -> list[exp.Expr]:
    """Returns what the outermost SELECT gives; of UNION the first one names the columns."""
    while isinstance(tree, exp.SetOperation | exp.Subquery):
        tree = tree.this
    return tree.expressions if isinstance(tree, exp.Select) else []


def _clean_names(tree: exp.Expr) -> None:
    """Takes marks from names that are no functions': `w (a)` of WITH looks like a call."""
    for name in tree.find_all(exp.Identifier):
        if not isinstance(name.parent, exp.Anonymous):
            name.set("this", str(name.this).partition(MARK)[0] or name.this)


def _drop_main_schema(tree: exp.Expr) -> None:
    """Names tables and columns without `main.` and `database.main.`, in which all tables are.

    `main.people` stays where a query of WITH has the name: it is the table beside that query.
    """
    common = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for node in tree.find_all(exp.Table, exp.Column):
        schema = node.args.get("db")
        if isinstance(schema, exp.Identifier) and schema.name.lower() == "main":
            if isinstance(node, exp.Column) or node.name.lower() not in common:
                node.set("db", None)
            node.set("catalog", None)
