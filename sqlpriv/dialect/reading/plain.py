"""Statements that only DuckDB can run: what they name, and who may run them.

Where sqlglot does not read a statement, every name of its text is given: too many tables refuse a
statement, too few would let one through.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

from sqlglot import exp

from sqlpriv.dialect.constants import refusal
from sqlpriv.dialect.constructs import QUERY_HEADS
from sqlpriv.dialect.marks import MARK
from sqlpriv.dialect.reading.parsed_query import ParsedQuery, parse_query
from sqlpriv.dialect.syntax import check_nesting
from sqlpriv.dialect.token_cursor import TokenCursor
from sqlpriv.dialect.tokens import Kind, Token
from sqlpriv.errors import PermissionDenied, Refused
from sqlpriv.statements.commands import Describe, Plain, Unanswerable
from sqlpriv.statements.keywords import RESERVED, words

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
    denied = _denial(c.peek(), f"only an owner can run {word}: it may {CHANGES[word]}")
    return _plain(c, c.peek(), _Source(names(c.tokens[1:]), False), denied)


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
    why = refusal(first, f"{word} {does}",
                  "write DESCRIBE t, SHOW PRIVACY TABLES or aggregates of your own")  # fmt: skip
    return _plain(c, first, source, why)


def explain(c: TokenCursor) -> Unanswerable:
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


def _denial(token: Token, message: str) -> PermissionDenied:
    return PermissionDenied(message, hint=_ASK, line=token.pos.line, column=token.pos.column)


def _plain(c: TokenCursor, first: Token, source: _Source, why: Refused) -> Unanswerable:
    tokens = c.tokens[c.tokens.index(first) : -1]
    bound = c.share(c.tokens)
    plain = Plain(c.runnable(tokens), source.tables, source.reads_only, bound, first.pos)
    return Unanswerable(plain, why)


# --- the tables of a query ---

_WRITES = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop, exp.Copy,
           exp.Alter, exp.Command, exp.Set, exp.Pragma, exp.Attach, exp.Detach,
           exp.TruncateTable)  # fmt: skip


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


def _bare(name: str) -> str:
    return name.split(MARK)[0]


def _tables(tree: exp.Expr, text: str) -> Iterable[str]:
    for table in tree.find_all(exp.Table):
        source = table.this
        if not isinstance(source, exp.Identifier):
            yield f"{_function_name(source, text)}()"
        elif text[source.meta.get("start", 0)] == "'":
            yield f"'{_bare(source.name)}'"
        elif table.args.get("db") or not _is_common(table, _bare(source.name).lower()):
            yield _bare(source.name).lower()


def _function_name(function: exp.Expr, text: str) -> str:
    """Returns a table function's name as the user wrote it: sqlglot has its own for some."""
    if "start" in function.meta:
        return text[function.meta["start"] : function.meta["end"] + 1].lower()
    return function.sql_name().lower() if isinstance(function, exp.Func) else "?"


def _is_common(table: exp.Table, name: str) -> bool:
    """Whether the name means a common table expression that is in scope where it stands.

    Inside the WITH itself those written before are in scope; a recursive one also in the second
    half of its own UNION. Elsewhere, DuckDB reads the stored table of that name.
    """
    inside: exp.Expr = table
    while (outer := inside.parent) is not None:
        if any(_bare(cte.alias).lower() == name for cte in _in_scope(outer, inside)):
            return True
        if isinstance(outer, exp.SetOperation) and inside is outer.expression:
            cte = outer.parent
            if isinstance(cte, exp.CTE) and _bare(cte.alias).lower() == name and _recursive(cte):
                return True
        inside = outer
    return False


def _in_scope(outer: exp.Expr, inside: exp.Expr) -> Iterable[exp.Expr]:
    """Returns the common table expressions that `outer` brings to its part `inside`."""
    if isinstance(outer, exp.With):
        return takewhile(lambda cte: cte is not inside, outer.expressions)
    with_ = outer.args.get("with_")
    return with_.expressions if with_ is not None and with_ is not inside else ()


def _recursive(cte: exp.CTE) -> bool:
    return isinstance(cte.parent, exp.With) and bool(cte.parent.args.get("recursive"))
