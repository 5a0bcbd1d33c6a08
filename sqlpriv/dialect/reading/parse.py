"""SQL text → statements: cut into statements, told apart by their first words, read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import Token as GlotToken
from sqlglot.tokenizer_core import TokenType as Type

from sqlpriv.dialect import syntax
from sqlpriv.dialect.bracket_parts import TooDeep
from sqlpriv.dialect.clauses import Cut, cut_clauses
from sqlpriv.dialect.constants import refusal
from sqlpriv.dialect.constructs import PRICED, QUERY_HEADS
from sqlpriv.dialect.foreign.translate import split_tokens, statement_parts
from sqlpriv.dialect.parameters import Parameters, bind
from sqlpriv.dialect.reading import ddl, plain
from sqlpriv.dialect.reading.lower_query import QueryLowering, body_index
from sqlpriv.dialect.token_cursor import TokenCursor
from sqlpriv.dialect.tokens import Kind, Token, lex, replacement_token
from sqlpriv.errors import Refused
from sqlpriv.statements.commands import (
    CreateSynthetic,
    DrawFromModel,
    Explain,
    Statement,
    Unanswerable,
)
from sqlpriv.statements.tree import Name, Select

MAX_BYTES = 1_000_000
_ALONE = "write the SELECT alone, or EXPLAIN PRIVACY or CREATE SYNTHETIC TABLE"


def read(sql: str, parameters: Parameters = None) -> tuple[Statement, ...]:
    """Returns every statement of the text, in order; none for blanks and comments.

    Args:
        sql: One or more statements, separated by semicolons.
        parameters: Values of `?` and `$1` as a sequence, of `$name` and `:name` as a mapping.

    Raises:
        Refused: A statement is private and cannot be answered, or cannot be read at all; the
            line and column are those of the whole text.
        ProgrammingError: The parameters do not fit the text.
        DataError: A parameter's type is none that literals have.
    """
    _check_text(sql)
    tokens = lex(sql)
    for token in tokens:
        if token.kind is Kind.BAD:
            raise refusal(token, f"a {token.value} is opened here and never closed")
    binding = bind(tokens, parameters)
    try:
        return tuple(_statement(TokenCursor(part, sql, binding)) for part in split_tokens(tokens))
    except RecursionError:  # Only where the caller's own stack was nearly full.
        raise Refused("the text nests too deeply to be read here") from None


def split(sql: str, dialect: str = "duckdb") -> tuple[str, ...]:
    """Returns the texts of the statements, without semicolons and the comments around them.

    What is inside quotes, dollar quotes and comments does not separate; an open one reaches to the
    end of the text.
    """
    parts = (part for part, _ in statement_parts(sql, dialect))
    return tuple(sql[part[0].start : part[-2].end] for part in parts)


def split_with_parameters(
    sql: str, parameters: Parameters = None, dialect: str = "duckdb"
) -> tuple[tuple[str, Parameters], ...]:
    """Returns the statements of a text, each with its share of the values, to be read one by one.

    Before each stand as many blank lines and blanks as put it in its own place of the text.

    Raises:
        Refused, ProgrammingError: The text is too long, or the parameters do not fit it.
    """
    _check_text(sql)
    parts = [part for part, _ in statement_parts(sql, dialect)]
    values = bind([token for part in parts for token in part], parameters).by_start
    statements = []
    for part in parts:
        pos, text = part[0].pos, sql[part[0].start : part[-2].end]
        marks = [token for token in part if token.kind is Kind.PARAMETER]
        share: Parameters = [values[mark.start] for mark in marks if not mark.value]
        if marks and marks[0].value:
            numbered = marks[0].value.isdecimal()
            names = {mark.value: values[mark.start] for mark in marks}
            share = list(parameters or ())[: max(map(int, names))] if numbered else names
        statements.append(("\n" * (pos.line - 1) + " " * (pos.column - 1) + text, share or None))
    return tuple(statements)


def complete(sql: str, dialect: str = "duckdb") -> bool:
    """Whether the text needs no further line: it is empty, or ends with a semicolon (comments may
    follow) outside all quotes and comments."""
    tokens = lex(sql, dialect)[:-1]
    return not tokens or tokens[-1].upper == ";"


def _check_text(sql: str) -> None:
    try:
        size = len(sql.encode())
    except UnicodeEncodeError:
        raise Refused("the text holds half a character (a lone surrogate)") from None
    if size > MAX_BYTES:
        raise Refused(f"the text is longer than {MAX_BYTES} bytes",
                      hint="load data with COPY or INSERT … SELECT, as an owner")  # fmt: skip
    if "\x00" in sql:
        raise Refused("the text holds a NUL character")


def _statement(c: TokenCursor) -> Statement:
    word = c.peek().upper
    if c.at("EXPLAIN", "PRIVACY"):
        return _explain(c)
    if word in QUERY_HEADS or c.at("("):
        return _query(c)
    ours = _ours(c)
    if ours is not None:
        return ours
    c.index = 0
    _refuse_private(c.tokens, c.refuse(f"a private SELECT cannot be a part of {word}", _ALONE))
    if word == "EXPLAIN":
        return plain.explain(c)
    if word in plain.DESCRIBES:
        return plain.describe(c)
    if word in plain.CHANGES:
        return plain.change(c)
    raise c.refuse(f"{c.peek().shown} does not begin a statement",
                   "as SELECT, CREATE, ALTER, SHOW, EXPLAIN and PUBLISH do")  # fmt: skip


def _ours(c: TokenCursor) -> Statement | None:
    """Reads the statements that are not DuckDB's; None where it is one of DuckDB's."""
    second = c.peek(1).upper
    if c.at("SHOW", "SYNTHESIZERS") or (c.at("SHOW", "PRIVACY") and c.peek(2).kind is not Kind.END):
        return ddl.show(c)
    if c.at("PRAGMA", "TABLE_INFO"):
        return ddl.table_info(c)
    if c.at("EVALUATE"):
        return ddl.evaluate(c)
    if c.at("ALTER", "TABLE"):
        return ddl.alter(c)
    if c.at("DROP", "SYNTHETIC"):
        return ddl.drop_synthetic(c)
    if c.at("PUBLISH"):
        return ddl.publish(c)
    if c.at("CREATE"):
        kind = c.peek(3).upper if second == "OR" else second
        if kind == "SYNTHETIC":
            return _synthetic(c)
        return ddl.create_unit_table(c) if kind == "PU" else ddl.create_file_table(c)
    if c.peek().upper in ("SET", "RESET"):
        scoped = second in ("SESSION", "GLOBAL", "LOCAL")
        name = c.peek(2).upper if scoped else second
        return ddl.set_option(c) if name.startswith("PRIVACY_") else None
    return None


def _query(c: TokenCursor) -> Select | Unanswerable:
    """Reads a query: in the form that can be answered, or else as DuckDB's own."""
    syntax.check_nesting(c.tokens)
    start, tree, clauses = c.index, None, Cut()
    try:
        syntax.check_clause_order(c.tokens)
        clauses = cut_clauses(c)
        c.index = start
        tree = syntax.tree(clauses.glots, c)
        select = QueryLowering(c, clauses, _strata(clauses, c)).statement(tree)
    except TooDeep:
        raise
    except Refused as why:
        c.index = start
        if tree is not None and (staged := _select_of_stages(c, clauses, tree)) is not None:
            return Unanswerable(_add_texts(staged, c, start), why)
        _refuse_private(c.tokens, why)
        c.index = start
        return plain.query(c, why, tree)
    return _add_texts(select, c, start)


def _strata(clauses: Cut, c: TokenCursor) -> list[exp.Expr]:
    """Returns the columns of STRATIFY BY as sqlglot reads them: as outputs of a SELECT."""
    if clauses.strata is None or clauses.strata.glot is None:
        return []
    head: GlotToken = replacement_token(clauses.strata.glot, Type.SELECT, "SELECT")
    outputs = syntax.tree([head, *clauses.by], c)
    return list(outputs.expressions)


def _select_of_stages(c: TokenCursor, clauses: Cut, tree: exp.Expr) -> Select | None:
    """Returns a statement whose rest behind WITH cannot be answered; None where WITH asks for
    nothing private."""
    first = c.peek()
    try:
        stages = QueryLowering(c, clauses).stages(tree)
    except Refused:
        return None
    if not any(isinstance(stage, Select) and stage.private for _, stage in stages):
        return None
    return Select((), stages[0][0], stages=stages, pos=first.pos)


def _add_texts(select: Select, c: TokenCursor, start: int) -> Select:
    """Returns the statement with its own text, that behind WITH, and what DuckDB is to be given."""
    last, body = c.tokens[-2].end, ""
    if select.stages:
        body = c.text[c.tokens[body_index(c.tokens, start)].start : last]
    return replace(
        select, body=body, text=plain.runnable(c, c.tokens[start]),
        parameters=c.binding.share(c.tokens), start=c.tokens[start].pos,
    )  # fmt: skip


def _synthetic(c: TokenCursor) -> CreateSynthetic | DrawFromModel:
    """Returns `CREATE [OR REPLACE] SYNTHETIC TABLE name AS SELECT … USING method [OPTIONS (…)]`.

    Raises:
        Refused: Another shape; outputs that are not bare columns; a clause that rows do not have.
    """
    first = c.next()
    or_replace = c.accept("OR", "REPLACE")
    c.expect("SYNTHETIC", "TABLE")
    if c.at("IF"):
        raise c.refuse("IF NOT EXISTS is not understood here", "write CREATE OR REPLACE SYNTHETIC")
    name = c.name("the name of the new table")
    if c.at("FROM"):
        return _from_model(c, name, or_replace, first)
    c.expect("AS")
    start, head = c.index, c.peek()
    if head.upper != "SELECT":
        raise c.refuse_unexpected("SELECT")
    syntax.check_nesting(c.tokens)
    clauses = cut_clauses(c, of_synthetic_table=True)
    end, c.index = c.index, start
    tree = syntax.tree(clauses.glots, c)
    select = QueryLowering(c, clauses, _strata(clauses, c)).statement(tree)
    c.index = end
    _check_synthetic(c, head, select)
    if not c.accept("USING"):
        raise c.refuse(f"expected USING and a method, found {c.peek().shown}",
                       "write USING mst or USING independent after the SELECT")  # fmt: skip
    text = c.text[head.start : c.tokens[end - 1].end]
    method = c.name("the name of a method").lower()
    options = c.options() if c.accept("OPTIONS") else ()
    c.end()
    select = replace(select, text=text, parameters=c.binding.share(c.tokens))
    return CreateSynthetic(name, select, method, options, or_replace, c.since(first), first.pos)


def _from_model(c: TokenCursor, name: str, or_replace: bool, first: Token) -> DrawFromModel:
    """Returns `… FROM MODEL model ROWS rows [WHERE predicate] [OPTIONS (…)]`."""
    c.expect("FROM", "MODEL")
    model = c.name("the name of a synthetic table")
    c.expect("ROWS")
    rows = c.constant()
    if isinstance(rows, bool) or not isinstance(rows, int):
        raise c.refuse("ROWS is a whole number", "FROM MODEL s ROWS 100000")
    where = None
    if c.accept("WHERE"):
        begin = c.peek()
        depth, last = 0, begin
        while c.peek().kind is not Kind.END and not (depth == 0 and c.at("OPTIONS", "(")):
            last = c.next()
            depth += (last.text == "(") - (last.text == ")")
        where = c.text[begin.start : last.end]
    options = c.options() if c.accept("OPTIONS") else ()
    c.end()
    return DrawFromModel(name, model, rows, where, options, or_replace, c.since(first), first.pos)


def _check_synthetic(c: TokenCursor, head: Token, select: Select) -> None:
    for item in select.items:
        if not isinstance(item.expr, Name) or item.alias:
            raise refusal(head, f"a synthetic table has the columns of its table, not {item.text}",
                          "list bare columns: SELECT sex, race, income FROM …")  # fmt: skip
    grouped = select.group_by or select.group_all or select.sets
    if grouped or select.having or select.order_by or select.limit or select.offset:
        raise c.refuse("a synthetic table is of rows: it has no GROUP BY, HAVING, ORDER BY, LIMIT",
                       "WHERE and STRATIFY BY can; OPTIONS (rows = …) sets its size")  # fmt: skip
    if select.options or (select.private and select.stratify is None):
        raise refusal(head, "the price of a synthetic table stands at its end",
                      "write USING mst OPTIONS (epsilon = 1)")  # fmt: skip


def _explain(c: TokenCursor) -> Explain:
    first = c.peek()
    c.expect("EXPLAIN", "PRIVACY")
    if c.peek().upper in QUERY_HEADS or c.at("("):
        return Explain(_query(c), first.pos)
    if c.at("CREATE") and c.peek(3 if c.peek(1).upper == "OR" else 1).upper == "SYNTHETIC":
        statement = _synthetic(c)
        if isinstance(statement, DrawFromModel):
            raise refusal(first, "rows of a kept model cost nothing", "leave out EXPLAIN PRIVACY")
        return Explain(statement, first.pos)
    raise c.refuse(f"EXPLAIN PRIVACY cannot explain {c.peek().shown}",
                   "write it before a SELECT or a CREATE SYNTHETIC TABLE")  # fmt: skip


def _private_at(tokens: Sequence[Token]) -> int | None:
    """Returns the index of STRATIFY BY or WITH DIFFERENTIAL_PRIVACY, wherever it stands."""
    words = [token.upper for token in tokens]
    for i, pair in enumerate(pairwise(words)):
        if pair == ("STRATIFY", "BY") and "INTO" not in words[max(0, i - 1) : i]:
            return i
        if pair[0] == "WITH" and pair[1] in PRICED and words[i + 2] not in ("AS", "("):
            return i
    return None


def _refuse_private(tokens: Sequence[Token], why: Refused) -> None:
    """Raises the refusal of a query that asks to be answered privately and cannot be.

    Raises:
        Refused: For the reason given, or because the clause stands inside parentheses.
    """
    at = _private_at(tokens)
    if at is None:
        return
    opened = sum((t.upper == "(") - (t.upper == ")") for t in tokens[:at])
    if opened > 0:
        raise refusal(
            tokens[at],
            f"{tokens[at].upper} … stands inside parentheses",
            "write it in the outermost SELECT, which is over one table",
        ) from why
    raise why
