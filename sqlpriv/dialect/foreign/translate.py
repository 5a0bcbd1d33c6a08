"""A text of another dialect as DuckDB's SQL with our clauses, statement by statement.

Queries are read by sqlglot's parser for the dialect, checked node by node (`same_meaning`) and
written for DuckDB. Statements of our own have one grammar in every dialect: only their quotes are
changed. Whatever else there is (INSERT, CREATE TABLE, COPY …) is DuckDB's SQL alone and is refused.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType as Type

from sqlpriv.dialect import syntax
from sqlpriv.dialect.clauses import MARK, Cut, cut_clauses
from sqlpriv.dialect.constants import refusal
from sqlpriv.dialect.constructs import QUERY_HEADS
from sqlpriv.dialect.foreign.function_names import BY_DIALECT
from sqlpriv.dialect.foreign.place_alignment import original_place
from sqlpriv.dialect.foreign.same_meaning import SameMeaning
from sqlpriv.dialect.parameters import Binding
from sqlpriv.dialect.token_cursor import TokenCursor
from sqlpriv.dialect.tokens import Kind, Token, lex, replacement_token
from sqlpriv.errors import Refused
from sqlpriv.statements.printer import literal, quote_name

DIALECTS = ("duckdb", *BY_DIALECT)
SETTING = "privacy_dialect"
_STRATA = f"{MARK}strata"
_ANYWHERE = ("BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SHOW", "DESCRIBE", "DESC",
             "EVALUATE", "PUBLISH", "SET", "RESET")  # fmt: skip
"""First words of statements that are read alike in every dialect."""
_OURS = ("PRIVACY", "PRIVACY_KEY", "PRIVACY_LINK", "PU", "PUBLIC", "SYNTHETIC")
"""Words that make ALTER and DROP statements of ours."""


@dataclass(frozen=True)
class Translation:
    """A text in DuckDB's SQL, and the user's own.

    Args:
        sql: In DuckDB's SQL with our clauses.
        text: What the user wrote.
        dialect: Its dialect.
    """

    sql: str
    text: str
    dialect: str

    def relocate(self, error: Refused) -> Refused:
        """Returns a refusal about `sql` with the place that it has in the user's text."""
        if self.sql == self.text or not error.line:
            return error
        place = original_place(error.line, error.column, self.sql, self.text, self.dialect)
        return type(error).at(place, error.message, error.hint)


def translate(text: str, dialect: str = "duckdb") -> Translation:
    """Returns a text in DuckDB's SQL.

    Args:
        text: One or more statements; `SET privacy_dialect` changes how those behind it are read.
        dialect: The dialect in which it begins, one of DIALECTS.

    Raises:
        Refused: Something is not known to mean the same in DuckDB, at its place in the text.

    >>> translate("SELECT IF(`a b` > 1, 1, 0) FROM t LIMIT 5, 10", "mysql").sql
    'SELECT CASE WHEN "a b" > 1 THEN 1 ELSE 0 END FROM t LIMIT 10 OFFSET 5'
    """
    if dialect == "duckdb" and SETTING not in text.lower():
        return Translation(text, text, dialect)
    written: list[str] = []
    numbers: dict[int, int] = {}
    last = dialect
    for part, last in statement_parts(text, dialect):
        for token in part:
            if token.kind is Kind.BAD:
                raise refusal(token, f"a {token.value} is opened here and never closed")
        marks = [token.start for token in part if token.kind is Kind.PARAMETER and not token.value]
        numbers |= {start: len(numbers) + i for i, start in enumerate(marks, 1)}
        if last == "duckdb":
            written.append(_with_numbers(text, part, numbers))
        else:
            cursor = TokenCursor(part, text, Binding(defaultdict(int)), last, numbers)
            written.append(_statement_in_duckdb(cursor))
    return Translation(";\n".join(written), text, last)


def statement_parts(text: str, dialect: str) -> Iterator[tuple[tuple[Token, ...], str]]:
    """Yields each statement's tokens, and the dialect that it is read in."""
    start = 0
    while start < len(text):
        blank = re.sub(r"[^\n\r]", " ", text[:start]) + text[start:]
        tokens = lex(blank, dialect)
        start = len(text)
        for part in split_tokens(tokens):
            yield part, dialect
            following = _dialect_after(part, dialect)
            if following != dialect:
                dialect, start = following, part[-1].start + 1
                break


def _with_numbers(text: str, part: Sequence[Token], numbers: Mapping[int, int]) -> str:
    """Returns the text of a statement of DuckDB's, with `?` numbered."""
    first = part[0].start
    written = text[first : part[-2].end]
    for token in reversed(part):
        if token.start in numbers:
            at = token.start - first
            written = f"{written[:at]}${numbers[token.start]}{written[at + 1 :]}"
    return written


def split_tokens(tokens: Sequence[Token]) -> Iterator[tuple[Token, ...]]:
    """Yields the tokens of each statement that has any, each with an END behind them."""
    part: list[Token] = []
    for token in tokens:
        if token.upper != ";" and token.kind is not Kind.END:
            part.append(token)
        elif part:
            yield (*part, Token(Kind.END, "", "", token.start, token.pos))
            part = []


def _dialect_after(part: Sequence[Token], dialect: str) -> str:
    """Returns the dialect of the statements behind one: SET privacy_dialect changes it."""
    words = [token.value.lower() for token in part[:-1]]
    words = [word for word in words if word not in ("session", "global", "local", "=", "to")]
    match words:
        case ["set", "privacy_dialect", name] if name in DIALECTS:
            return name
        case ["reset", "privacy_dialect"]:
            return "duckdb"
    return dialect


def _statement_in_duckdb(c: TokenCursor) -> str:
    try:
        return _statement(c)
    except RecursionError:
        raise Refused("the text nests too deeply to be read here") from None


def _statement(c: TokenCursor) -> str:
    """Returns one statement in DuckDB's SQL."""
    if c.peek().upper in QUERY_HEADS or c.at("("):
        return _query(c)
    if c.at("EXPLAIN", "PRIVACY") or (c.at("CREATE") and _names_synthetic_table(c)):
        head: list[Token] = []
        while c.peek().kind is not Kind.END and not _begins_query(c):
            head.append(c.next())
        of_table = head[0].upper == "CREATE" or any(token.upper == "CREATE" for token in head)
        query = _query(c, of_synthetic_table=of_table) if _begins_query(c) else ""
        parts = (_retell(c, head), query, _retell(c, c.tokens[c.index : -1]))
        return " ".join(part for part in parts if part)
    ours = c.peek().upper in ("ALTER", "DROP") and any(t.upper in _OURS for t in c.tokens)
    if ours or c.peek().upper in _ANYWHERE:
        return _retell(c, c.tokens[:-1])
    raise c.refuse(
        f"{c.peek().shown} is not read in {c.dialect}: queries and sqlpriv's own statements are",
        "write DuckDB's SQL after SET privacy_dialect = 'duckdb'",
    )


def _names_synthetic_table(c: TokenCursor) -> bool:
    return (c.peek(3) if c.peek(1).upper == "OR" else c.peek(1)).upper == "SYNTHETIC"


def _begins_query(c: TokenCursor) -> bool:
    return c.peek().upper in QUERY_HEADS - {"TABLE"} or c.at("(")


def _query(c: TokenCursor, *, of_synthetic_table: bool = False) -> str:
    """Returns the query that begins here in DuckDB's SQL; `c` stands behind it afterwards."""
    syntax.check_nesting(c.tokens)
    syntax.check_clause_order(c.tokens)
    _check_comments(c)
    start = c.index
    cut = cut_clauses(c, of_synthetic_table=of_synthetic_table)
    end, c.index = c.index, start
    tree = SameMeaning(c).rewrite(syntax.tree(cut.glots, c))
    c.index = start
    strata = _mark_strata(c, tree, cut)
    written = tree.sql("duckdb", comments=False)
    written = written.replace(f"GROUP BY {_STRATA}", strata).replace(f", {_STRATA}", f" {strata}")
    for mark, (first, last) in cut.price_places.items():
        clause = _retell(c, c.tokens[first:last])
        written = written.replace(f"{mark}, ", f"{clause} ")
    c.index = end
    return written


def _mark_strata(c: TokenCursor, tree: exp.Expr, cut: Cut) -> str:
    """Puts a mark behind the keys of GROUP BY, and returns the clause that is to stand there."""
    if cut.strata is None or cut.strata.glot is None:
        return ""
    head = replacement_token(cut.strata.glot, Type.SELECT, "SELECT")
    columns = SameMeaning(c).rewrite(syntax.tree([head, *cut.by], c)).expressions
    clause = "STRATIFY BY " + ", ".join(x.sql("duckdb", comments=False) for x in columns)
    if cut.weights:
        clause += f" WEIGHTS FROM {quote_name(cut.weights)}"
    group = tree.args.get("group") or exp.Group()
    if not isinstance(tree, exp.Select) or group.args.get("all"):
        raise refusal(cut.strata, "STRATIFY BY stands behind the keys of one SELECT")
    group.append("expressions", exp.Var(this=_STRATA))
    tree.set("group", group)
    return clause


def _check_comments(c: TokenCursor) -> None:
    """Refuses comments that the dialect runs: MySQL's /*! … */, and hints."""
    for token in c.tokens:
        if token.glot is not None and any(text.startswith("!") for text in token.glot.comments):
            raise refusal(token, "a comment that is run, /*! … */, is not read", "leave it out")


def _retell(c: TokenCursor, tokens: Sequence[Token]) -> str:
    """Returns tokens as DuckDB writes them: names and texts in its own quotes."""
    written = []
    for token in tokens:
        match token.kind:
            case Kind.STRING:
                written.append(literal(token.value))
            case Kind.QUOTED:
                written.append(quote_name(token.value))
            case Kind.PARAMETER:
                written.append(c.parameter_text(token))
            case _:
                written.append(token.text)
    return " ".join(written)
