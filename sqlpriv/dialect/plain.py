"""Statements that only DuckDB can run: what they name, and who may run them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlpriv.dialect.commands import Describe, Plain
from sqlpriv.dialect.cursor import Cursor, refusal
from sqlpriv.dialect.keywords import QUERY_HEADS, words
from sqlpriv.dialect.names import names
from sqlpriv.dialect.tokens import Kind, Token
from sqlpriv.errors import PermissionDenied, Refused

_ASK = "SELECT … FROM t STRATIFY BY … is what analysts can ask"
_STORED = words(
    "INSERT UPDATE DELETE MERGE CREATE DROP ALTER TRUNCATE COMMENT VACUUM ANALYZE ANALYSE "
    "CHECKPOINT REINDEX FORCE"
)
CHANGES: dict[str, str] = {
    **dict.fromkeys(_STORED, "change what is stored"),
    **dict.fromkeys(("COPY", "EXPORT", "IMPORT"), "read and write files"),
    **dict.fromkeys(("ATTACH", "DETACH", "USE"), "attach and change databases"),
    **dict.fromkeys(("INSTALL", "LOAD"), "load extensions"),
    **dict.fromkeys(("PRAGMA", "SET", "RESET"), "change settings of the engine"),
    "CALL": "call table functions",
    **dict.fromkeys(("PREPARE", "EXECUTE", "DEALLOCATE"), "prepare statements"),
    **dict.fromkeys(("BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT"),
                    "begin and end transactions"),
    **dict.fromkeys(("KILL", "GRANT", "REVOKE"), "administer the database"),
}  # fmt: skip
"""First word → what it would do; these are the statements of DuckDB that are no queries."""

DESCRIBES = ("DESCRIBE", "DESC", "SUMMARIZE", "SHOW")


@dataclass(frozen=True)
class _Source:
    """A query inside a statement: its tables, and whether it reads only."""

    tables: tuple[str, ...]
    reads_only: bool


def query(c: Cursor, why: Refused) -> Plain:
    """Returns the query that begins at `c` and cannot be answered privately, for that reason."""
    first, source = c.peek(), _query(c)
    return _plain(c, first, source, why)


def change(c: Cursor) -> Plain:
    """Returns a statement that is no query: it is an owner's to run."""
    word = c.peek().upper
    denied = _denied(c.peek(), f"only an owner can run {word}: it may {CHANGES[word]}")
    return _plain(c, c.peek(), _Source(names(c.tokens[1:]), False), denied)


def describe(c: Cursor) -> Plain | Describe:
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
    why = refusal(first, f"{word} {does}",
                  "write DESCRIBE t, SHOW PRIVACY TABLES or aggregates of your own")  # fmt: skip
    return _plain(c, first, source, why)


def explain(c: Cursor) -> Plain:
    """Returns EXPLAIN without PRIVACY: DuckDB's own plan."""
    first = c.next()
    while c.accept("ANALYZE") or c.accept("ANALYSE"):
        pass
    source = _Source(names(c.tokens[c.index :]), False)
    if c.peek().upper in QUERY_HEADS:
        source = _query(c)
    why = refusal(first, "EXPLAIN shows the engine's plan, which depends on private rows",
                  "write EXPLAIN PRIVACY SELECT … for the price")  # fmt: skip
    if not source.reads_only:
        why = _denied(first, "only an owner can explain a statement that may change something")
    return _plain(c, first, source, why)


def _query(c: Cursor) -> _Source:
    rest = c.tokens[c.index :]
    text = c.text[rest[0].start : rest[-2].end] if len(rest) > 1 else ""
    from sqlpriv.dialect.tables import of_query  # sqlglot: loaded where it is needed, and late

    return _Source(*of_query(text, rest))


def _denied(token: Token, message: str) -> PermissionDenied:
    return PermissionDenied(message, hint=_ASK, line=token.pos.line, column=token.pos.column)


def _plain(c: Cursor, first: Token, source: _Source, why: Refused) -> Plain:
    bound = c.binding.share(c.tokens)
    return Plain(runnable(c, first), source.tables, source.reads_only, why, bound)


def runnable(c: Cursor, first: Token) -> str:
    """Returns the statement from `first` on as DuckDB takes it: `:name` is written `$name`."""
    text = c.text[first.start : c.tokens[-2].end]
    for token in reversed(c.tokens):
        at = token.start - first.start
        if at >= 0 and token.text.startswith(":") and token.kind is Kind.PARAMETER:
            text = f"{text[:at]}${text[at + 1 :]}"
    return text
