"""SQL text → statements: told apart by their first words, and read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from sqlpriv.dialect.bracket_parts import TooDeep
from sqlpriv.dialect.clauses import inside_parentheses
from sqlpriv.dialect.constructs import PRICED, QUERY_HEADS
from sqlpriv.dialect.parameters import Parameters, bind
from sqlpriv.dialect.reading import ddl, plain
from sqlpriv.dialect.reading.alter_actions import alter
from sqlpriv.dialect.reading.parsed_query import ParsedQuery, parse_query
from sqlpriv.dialect.reading.statement_examples import near_declaration, with_example
from sqlpriv.dialect.reading.statement_texts import check_text, statement_parts
from sqlpriv.dialect.reading.synthetic_statements import (
    create_synthetic,
    drop_synthetic,
    is_create_synthetic,
)
from sqlpriv.dialect.syntax import check_nesting, misplaced_clause
from sqlpriv.dialect.token_cursor import TokenCursor
from sqlpriv.dialect.tokens import Kind, Token
from sqlpriv.errors import Refused, meant_among
from sqlpriv.statements import commands as cmd
from sqlpriv.statements.keywords import words
from sqlpriv.statements.tree import Select

_ALONE = "write the SELECT alone, or EXPLAIN PRIVACY or CREATE SYNTHETIC TABLE"
_ANYWHERE = QUERY_HEADS | words(
    "( BEGIN START COMMIT END ROLLBACK ABORT SHOW DESCRIBE DESC EVALUATE PUBLISH SET RESET GRANT"
    " REVOKE"
)
"""First words of statements that are read alike in every dialect."""
_HEADS = (
    *("SELECT", "WITH", "FROM", "CREATE", "ALTER", "SHOW"),
    *("DESCRIBE", "EXPLAIN", "PUBLISH", "GRANT", "REVOKE", "EVALUATE"),
)
"""First words that a wrong one may have been meant for."""
_OURS = words("PRIVACY PRIVACY_KEY PRIVACY_LINK PU PUBLIC SYNTHETIC")
"""Words that make statements ours whose first word is DuckDB's."""


def read(
    sql: str, parameters: Parameters = None, dialect: str = "duckdb"
) -> tuple[cmd.Statement, ...]:
    """Returns every statement of the text, in order; none for blanks and comments.

    Args:
        sql: One or more statements, separated by semicolons.
        parameters: Values of `?` and `$1` as a sequence, of `$name` and `:name` as a mapping.
        dialect: The dialect in which the text begins, one of DIALECTS.

    Raises:
        Refused: A statement is private and cannot be answered, or cannot be read at all; the
            line and column are those of the whole text.
        ProgrammingError: The parameters do not fit the text.
        DataError: A parameter's type is none that literals have.
    """
    statements = []
    for statement in _statements(sql, parameters, dialect):
        query = statement.statement if isinstance(statement, cmd.Explain) else statement
        if isinstance(query, cmd.Unanswerable) and query.asks:
            raise query.why
        statements.append(statement)
    return tuple(statements)


def read_parts(
    sql: str, parameters: Parameters = None, dialect: str = "duckdb"
) -> tuple[cmd.Statement, ...]:
    """Returns every statement as `read` does, those that are private and cannot be answered as a
    whole, too: `divide` may find parts of them that can."""
    return tuple(_statements(sql, parameters, dialect))


def _statements(sql: str, parameters: Parameters, dialect: str) -> Iterator[cmd.Statement]:
    check_text(sql)
    parts = list(statement_parts(sql, dialect))
    tokens = [token for part, _ in parts for token in part]
    for token in tokens:
        if token.kind is Kind.BAD:
            raise Refused.at(token, f"a {token.value} is opened here and never closed")
    binding = bind(tokens, parameters)
    marks = [token.start for token in tokens if token.kind is Kind.PARAMETER]
    numbers = {start: number for number, start in enumerate(marks, 1)}
    try:
        for part, name in parts:
            cursor = TokenCursor(part, sql, binding, name, numbers)
            try:
                statement = _statement(cursor)
            except Refused as refused:
                raise with_example(cursor, refused) from refused.__cause__
            yield statement
    except RecursionError:  # Only where the caller's own stack was nearly full.
        raise Refused("the text nests too deeply to be read here") from None


def _statement(c: TokenCursor) -> cmd.Statement:
    word = c.peek().upper
    if c.dialect != "duckdb" and not _is_read_in_other_dialects(c):
        if (denied := plain.denied_elsewhere(c)) is not None:
            raise denied
        meant = "" if word in _HEADS else meant_among(word, _HEADS)
        hint = meant + "write DuckDB's SQL after SET privacy_dialect = 'duckdb'"
        raise c.refuse(
            f"{c.peek().shown} is not read in {c.dialect}: "
            "queries and sqlpriv's own statements are",
            "write EXPLAIN PRIVACY SELECT …" if word == "EXPLAIN" else hint,
        )
    if c.at("EXPLAIN", "PRIVACY"):
        return _explain(c)
    if word in QUERY_HEADS or c.at("("):
        return _query(c)
    ours = _ours(c)
    if ours is not None:
        return ours
    c.index = 0
    if (misspelt := near_declaration(c)) is not None:
        raise misspelt
    if (at := _private_at(c.tokens)) is not None:
        message = f"a private SELECT cannot be a part of {word}"
        if word == "COPY":
            raise c.refuse(message, plain.SAVE)
        raise _private_refusal(c.tokens, at, c.refuse(message, _ALONE))
    if word == "EXPLAIN":
        return plain.explain(c)
    if word in plain.DESCRIBES:
        return plain.describe(c)
    if word in plain.CHANGES:
        return plain.change(c)
    hint = meant_among(word, _HEADS) + "SELECT, CREATE, ALTER, SHOW, EXPLAIN and PUBLISH do"
    raise c.refuse(f"{c.peek().shown} does not begin a statement", hint)


def _is_read_in_other_dialects(c: TokenCursor) -> bool:
    if c.at("CREATE"):
        return is_create_synthetic(c)
    ours = c.peek().upper in ("ALTER", "DROP") and any(t.upper in _OURS for t in c.tokens)
    return ours or c.peek().upper in _ANYWHERE or c.at("EXPLAIN", "PRIVACY")


def _ours(c: TokenCursor) -> cmd.Statement | None:
    """Reads the statements that are not DuckDB's; None where it is one of DuckDB's."""
    second = c.peek(1).upper
    if c.at("SHOW", "SYNTHESIZERS") or c.at("SHOW", "GRANTS"):
        return ddl.show(c)
    if c.at("SHOW", "PRIVACY") and c.peek(2).kind is not Kind.END:
        return ddl.show(c)
    if c.at("GRANT") or c.at("REVOKE"):
        return ddl.grant_select(c)
    if c.at("PRAGMA", "TABLE_INFO"):
        return ddl.table_info(c)
    if c.at("EVALUATE"):
        return ddl.evaluate(c)
    if c.at("ALTER", "TABLE"):
        return alter(c)
    if c.at("DROP", "SYNTHETIC"):
        return drop_synthetic(c)
    if c.at("PUBLISH"):
        return ddl.publish(c)
    if c.at("CREATE"):
        if is_create_synthetic(c):
            return create_synthetic(c)
        is_of_units = (c.peek(3).upper if second == "OR" else second) == "PU"
        return ddl.create_unit_table(c) if is_of_units else ddl.create_file_table(c)
    if c.peek().upper in ("SET", "RESET"):
        scoped = second in ("SESSION", "GLOBAL", "LOCAL")
        name = c.peek(2).upper if scoped else second
        return ddl.set_option(c) if name.startswith("PRIVACY_") else None
    return None


def _query(c: TokenCursor) -> Select | cmd.Unanswerable:
    """Reads a query: in the form that can be answered, or else as DuckDB's own."""
    check_nesting(c.tokens)
    start, query, why = c.index, None, misplaced_clause(c.tokens)
    is_misplaced = why is not None
    try:
        query, other_why = parse_query(c)
        why = why or other_why
        if why is not None and c.dialect != "duckdb":
            raise why
        if why is None:
            return query.lower()
    except TooDeep:
        raise
    except Refused as refused:
        if c.dialect != "duckdb" and (query is None or why is not None):
            raise
        why = why or refused
    return _unanswerable(c, start, None if is_misplaced else query, why)


def _unanswerable(
    c: TokenCursor, start: int, query: ParsedQuery | None, why: Refused
) -> cmd.Unanswerable:
    """Returns a query, from its first token on, that cannot be answered as a whole."""
    if query is not None and (staged := query.lower_stages()) is not None:
        return cmd.Unanswerable(staged, why, origin=query)
    c.index = start
    private_at = _private_at(c.tokens)
    if private_at is not None:
        why = _private_refusal(c.tokens, private_at, why)
    return plain.unanswerable_query(c, why, query, private_at is not None)


def _explain(c: TokenCursor) -> cmd.Explain:
    first = c.peek()
    c.expect("EXPLAIN", "PRIVACY")
    if c.peek().upper in QUERY_HEADS or c.at("("):
        return cmd.Explain(_query(c), first.pos)
    if is_create_synthetic(c):
        statement = create_synthetic(c)
        if isinstance(statement, cmd.DrawFromModel):
            raise Refused.at(
                first, "rows of a kept model cost nothing", "leave out EXPLAIN PRIVACY"
            )
        return cmd.Explain(statement, first.pos)
    if c.at("ALTER", "TABLE") and (declaration := alter(c)) is not None:
        return cmd.Explain(declaration, first.pos)
    hint = "write it before a SELECT, a CREATE SYNTHETIC TABLE or a declaration with AUTO"
    raise c.refuse(f"EXPLAIN PRIVACY cannot explain {c.peek().shown}", hint)


def _private_at(tokens: Sequence[Token]) -> int | None:
    """Returns the index of STRATIFY BY or WITH DIFFERENTIAL_PRIVACY, wherever it stands."""
    words = [token.upper for token in tokens]
    for i, pair in enumerate(pairwise(words)):
        if pair == ("STRATIFY", "BY") and "INTO" not in words[max(0, i - 1) : i]:
            return i
        if pair[0] == "WITH" and pair[1] in PRICED and words[i + 2] not in ("AS", "("):
            return i
    return None


def _private_refusal(tokens: Sequence[Token], at: int, why: Refused) -> Refused:
    """Returns the refusal of a query that asks to be answered privately and cannot be: for the
    reason given, or because the clause stands inside parentheses."""
    if sum((t.upper == "(") - (t.upper == ")") for t in tokens[:at]) <= 0:
        return why
    return inside_parentheses(tokens[at], tokens[at].upper)
