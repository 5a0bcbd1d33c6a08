"""Statements that only DuckDB can run: what they name, and who may run them.

Where sqlglot does not read a statement, every name of its text is given: too many tables refuse a
statement, too few would let one through.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from sqlpriv.dialect.common_tables import bare_name, common_table
from sqlpriv.dialect.constructs import QUERY_HEADS
from sqlpriv.dialect.reading.parsed_query import NO_TABLES, ParsedQuery, parse_query
from sqlpriv.dialect.syntax import check_nesting
from sqlpriv.dialect.token_cursor import TokenCursor
from sqlpriv.dialect.tokens import Kind, Token
from sqlpriv.errors import PermissionDenied, Refused, meant_among
from sqlpriv.statements.commands import Describe, Plain, Unanswerable
from sqlpriv.statements.keywords import DIALECT, NUMBER_SETTINGS, RESERVED

_ASK = "SELECT … FROM t STRATIFY BY … is what analysts can ask"
SAVE = (
    "write the SELECT alone; .output FILE in the shell, sqlpriv query --format csv -o FILE, or"
    " Python's df().to_csv(FILE) keeps its rows"
)
"""What to write instead of COPY (SELECT …) TO a file."""
_STORED = "change what is stored"
_CHANGES = """
INSERT UPDATE DELETE MERGE CREATE DROP ALTER TRUNCATE: change what is stored
COMMENT VACUUM ANALYZE ANALYSE CHECKPOINT REINDEX FORCE: change what is stored
COPY EXPORT IMPORT: read and write files
ATTACH DETACH USE: attach and change databases
INSTALL LOAD: load extensions
PRAGMA SET RESET: change settings of the engine
CALL: call table functions
PREPARE EXECUTE DEALLOCATE: prepare statements
BEGIN START COMMIT END ROLLBACK ABORT: begin and end transactions
KILL: administer the database
"""
CHANGES = {
    word: what
    for heads, _, what in (line.partition(": ") for line in _CHANGES.strip().splitlines())
    for word in heads.split()
}
"""First word → what it would do; these are the statements of DuckDB that are no queries."""

DESCRIBES = ("DESCRIBE", "DESC", "SUMMARIZE", "SHOW")


@dataclass(frozen=True)
class _Source:
    """A query inside a statement: its tables, and whether it reads only."""

    tables: tuple[str, ...]
    reads_only: bool


def unanswerable_query(
    c: TokenCursor, why: Refused, query: ParsedQuery | None, asks: bool
) -> Unanswerable:
    """Returns the query that begins at `c` and cannot be answered privately as a whole.

    Args:
        c: Where it begins.
        why: The reason.
        query: The query as it is parsed, where it can be.
        asks: A clause of ours asks for a private answer.
    """
    source = _Source(names(c.tokens[c.index :]), False) if query is None else _source(query)
    text = c.runnable(c.tokens[c.index : -1]) if query is None else query.text
    start, bound = c.peek().pos, c.share(c.tokens)
    plain = Plain(text, source.tables, source.reads_only, bound, start)
    return Unanswerable(plain, why, asks, query)


def change(c: TokenCursor) -> Unanswerable:
    """Returns a statement that is no query: it is an owner's to run."""
    word = c.peek().upper
    instead = NO_TABLES if _makes_a_table(c) else SAVE if c.at("COPY", "(") else _ASK
    hint = meant_among(c.peek(1).value, (*NUMBER_SETTINGS, DIALECT)) + instead
    denied = _denial(c.peek(), f"only an owner can run {word}: it may {CHANGES[word]}", hint)
    return _plain(c, c.peek(), _Source(names(c.tokens[1:]), False), denied)


def denied_elsewhere(c: TokenCursor) -> PermissionDenied | None:
    """Returns why a statement of another dialect that would change what is stored is not run; None
    of any other statement. BI tools fall back to queries when they have no right to make a table.
    """
    if CHANGES.get(c.peek().upper) != _STORED:
        return None
    message = f"{c.peek().shown} is an owner's to run, and read in DuckDB's dialect alone"
    instead = NO_TABLES if _makes_a_table(c) else _ASK
    return _denial(c.peek(), message, f"{instead}; for an owner, SET privacy_dialect = 'duckdb'")


def _makes_a_table(c: TokenCursor) -> bool:
    return c.peek().upper == "CREATE" and any(
        token.upper in ("TEMP", "TEMPORARY", "UNLOGGED") for token in c.tokens[1:4]
    )


def describe(c: TokenCursor) -> Unanswerable | Describe:
    """Returns DESCRIBE t, or DESCRIBE, SUMMARIZE and SHOW of anything else."""
    first = c.next()
    word = first.upper
    if c.accept("TABLE") or c.at_name():
        after = c.peek(1)
        if word in ("DESCRIBE", "DESC") and c.at_name() and after.kind is Kind.END:
            name = c.name("the name of a table")
            return Describe(name, c.since(first), first.pos)
    source = _Source(names(c.tokens[c.index :]), True)
    if c.peek().upper in QUERY_HEADS or c.at("("):
        source = _query(c)
    does = "reads every row" if word == "SUMMARIZE" else "shows more than is public"
    hint = "write DESCRIBE t, SHOW PRIVACY TABLES or aggregates of your own"
    why = Refused.at(first, f"{word} {does}", hint)
    return _plain(c, first, source, why)


def explain(c: TokenCursor) -> Unanswerable:
    """Returns EXPLAIN without PRIVACY: DuckDB's own plan."""
    first = c.next()
    while c.accept("ANALYZE") or c.accept("ANALYSE"):
        pass
    source = _Source(names(c.tokens[c.index :]), False)
    if c.peek().upper in QUERY_HEADS:
        source = _query(c)
    message = "EXPLAIN shows the engine's plan, which depends on private rows"
    why = Refused.at(first, message, "write EXPLAIN PRIVACY SELECT … for the price")
    if not source.reads_only:
        why = _denial(first, "only an owner can explain a statement that may change something")
    return _plain(c, first, source, why)


def _query(c: TokenCursor) -> _Source:
    """Returns what the query that begins here reads."""
    rest = c.tokens[c.index :]
    try:
        check_nesting(rest)
        return _source(parse_query(c)[0])
    except Refused:
        return _Source(names(rest), False)


def _source(query: ParsedQuery) -> _Source:
    tree = query.tree
    reads = isinstance(tree, exp.Query | exp.Pivot | exp.Values | exp.Subquery)
    reads_only = reads and tree.find(*_WRITES) is None
    return _Source(_distinct_names(_tables(tree, query.cursor.text)), reads_only)


def _denial(token: Token, message: str, hint: str = _ASK) -> PermissionDenied:
    return PermissionDenied.at(token, message, hint)


def _plain(c: TokenCursor, first: Token, source: _Source, why: Refused) -> Unanswerable:
    tokens = c.tokens[c.tokens.index(first) : -1]
    bound = c.share(c.tokens)
    plain = Plain(c.runnable(tokens), source.tables, source.reads_only, bound, first.pos)
    return Unanswerable(plain, why)


# --- the tables of a query ---

_WRITE_NAMES = (
    "Insert Update Delete Merge Create Drop Copy Alter Command Set Pragma Attach Detach "
    "TruncateTable"
)
_WRITES = tuple(getattr(exp, name) for name in _WRITE_NAMES.split())


def names(tokens: Iterable[Token]) -> tuple[str, ...]:
    """Returns everything among the tokens that could be the name of a table."""
    return _distinct_names(
        f"'{token.value}'" if token.kind is Kind.STRING else token.value.lower()
        for token in tokens
        if token.kind in (Kind.QUOTED, Kind.STRING)
        or (token.kind is Kind.WORD and token.upper not in RESERVED)
    )


def _distinct_names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _tables(tree: exp.Expr, text: str) -> Iterable[str]:
    for table in tree.find_all(exp.Table):
        source = table.this
        if not isinstance(source, exp.Identifier):
            yield f"{_function_name(source, text)}()"
        elif text[source.meta.get("start", 0)] == "'":
            yield f"'{source.name}'"
        elif common_table(table) is None:
            yield bare_name(table)


def _function_name(function: exp.Expr, text: str) -> str:
    """Returns a table function's name as the user wrote it: sqlglot has its own for some."""
    if "start" in function.meta:
        return text[function.meta["start"] : function.meta["end"] + 1].lower()
    return function.sql_name().lower() if isinstance(function, exp.Func) else "?"
