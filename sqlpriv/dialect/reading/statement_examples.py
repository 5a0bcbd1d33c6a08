"""Examples of sqlpriv's own statements: the hints of what was meant for one and cannot be read."""

from __future__ import annotations

from collections.abc import Iterator

from sqlpriv.dialect.token_cursor import TokenCursor
from sqlpriv.errors import Refused

_KEY = "ALTER TABLE {table} SET PRIVACY (KEY (id), BOUND (rows_per_unit = 1))"
_DECLARATIONS = {
    "BUDGET": "ALTER TABLE {table} SET PRIVACY BUDGET (epsilon = 3, delta = 1e-9)",
    "BOUND": "ALTER TABLE {table} SET PRIVACY BOUND (rows_per_unit = 1)",
    "DOMAIN": "ALTER TABLE {table} ALTER COLUMN c SET PRIVACY DOMAIN BETWEEN (0, 99)",
    "WINDOW": "ALTER TABLE {table} SET PRIVACY WINDOW (day, closed_before = DATE '2026-11-01')",
    "LINK": "ALTER TABLE {table} SET PRIVACY (LINK (person) REFERENCES people(id),"
    " BOUND (rows_per_unit = 5))",
    "PUBLIC": "ALTER TABLE {table} SET PUBLIC",
}
"""By a word of a declaration, the declaration. Any other word is taken for the privacy unit's."""
_STATEMENTS = {
    "ALTER TABLE": _KEY,
    "CREATE SYNTHETIC SCHEMA": "CREATE SYNTHETIC SCHEMA s AS TABLES people, visits USING aim"
    " OPTIONS (epsilon = 1)",
    "CREATE SYNTHETIC FROM MODEL": "CREATE SYNTHETIC TABLE more FROM MODEL s ROWS 10000",
    "CREATE SYNTHETIC": "CREATE SYNTHETIC TABLE s AS SELECT a, b FROM t STRATIFY BY c USING aim"
    " OPTIONS (epsilon = 1)",
    "CREATE PU": "CREATE PU TABLE people (id INTEGER, age INTEGER, PRIVACY_KEY (id))",
    "CREATE ICEBERG": "CREATE TABLE t FROM ICEBERG 'warehouse/t' SNAPSHOT 4711",
    "CREATE DUCKDB": "CREATE TABLE t FROM DUCKDB 'other.duckdb' TABLE t",
    "CREATE PARQUET": "CREATE TABLE t FROM PARQUET 'folder/*.parquet'",
    "DROP SYNTHETIC": "DROP SYNTHETIC TABLE IF EXISTS s",
    "EVALUATE": "EVALUATE SYNTHETIC TABLE s AGAINST t STRATIFY BY sex",
    "GRANT": "GRANT SELECT ON t TO 'ada'",
    "REVOKE": "REVOKE SELECT ON t FROM 'ada'",
    "PUBLISH": "PUBLISH s TO 'folder/*.parquet'",
    "SHOW PRIVACY": "SHOW PRIVACY BUDGET",
    "SET": "SET privacy_epsilon = 0.1",
}
"""By words of a statement, the first of which begins it, a statement."""


def with_example(c: TokenCursor, refused: Refused) -> Refused:
    """Returns the refusal of one of sqlpriv's own statements, with an example of such a statement
    for its hint where it has none.

    >>> from sqlpriv.dialect.reading.parse import read
    >>> read("EVALUATE SYNTHETIC TABLE s")
    Traceback (most recent call last):
    sqlpriv.errors.Refused: line 1, column 27: expected AGAINST, found the end of the statement
    Hint: write EVALUATE SYNTHETIC TABLE s AGAINST t STRATIFY BY sex
    """
    if refused.hint is not None or type(refused) is not Refused:
        return refused
    words = [token.upper for token in c.tokens]
    words = words[2:] if words[:2] == ["EXPLAIN", "PRIVACY"] else words
    for key, example in _STATEMENTS.items():
        first, *others = key.split()
        if words[:1] == [first] and set(others) <= set(words):
            if first == "ALTER":
                example = next(_declarations(words), example).format(table="t")
            place = {"line": refused.line, "column": refused.column}
            return Refused(refused.message, hint=f"write {example}", **place)
    return refused


def near_declaration(c: TokenCursor) -> Refused | None:
    """Returns the refusal of a statement of DuckDB's first words that DuckDB cannot read, because
    a declaration was meant: its hint is the declaration. None of any other statement.

    >>> from sqlpriv.dialect.reading.parse import read
    >>> read("SET PRIVACY BUDGET (epsilon = 1)")
    Traceback (most recent call last):
    sqlpriv.errors.Refused: line 1, column 1: a declaration is of a table, and none is named
    Hint: write ALTER TABLE t SET PRIVACY BUDGET (epsilon = 3, delta = 1e-9)
    """
    words = [token.upper for token in c.tokens]
    match words:
        case ["SET", "PRIVACY", sign, *_] if sign not in ("=", "TO"):
            return c.refuse("a declaration is of a table, and none is named", _hint(words, "t"))
        case ["DROP", "PRIVACY", *_]:
            hint = "write ALTER TABLE t DROP PRIVACY_KEY, or t ALTER COLUMN c DROP PRIVACY DOMAIN"
            return c.refuse("a declaration is of a table, and none is named", hint)
        case ["CREATE", "PRIVATE" | "PRIVACY" | "PROTECTED", "TABLE", *_]:
            hint = "write CREATE PU TABLE people (id INTEGER, age INTEGER, PRIVACY_KEY (id))"
            return c.refuse("a table of protected rows is a PU TABLE", hint)
        case ["ALTER", "TABLE", *rest]:
            at = 2 + 2 * (rest[:2] == ["IF", "EXISTS"])
            at += 2 * (words[at + 1 : at + 2] == ["."])
            table = c.tokens[at].text if at < len(words) else "t"
            if words[at + 1 :] and _is_meant(words[at + 1 :]):
                c.index = at + 1
                return c.refuse(f"{table} is not declared in this way", _hint(words, table))
    return None


def _is_meant(action: list[str]) -> bool:
    """Whether an action that DuckDB does not have was meant to declare something."""
    match action:
        case ["ALTER", "COLUMN", _, *rest] | ["ALTER", _, *rest]:
            return rest[:2] == ["SET", "DOMAIN"] or rest[:1] == ["PRIVACY"]
        case ["SET", word, *_]:
            return word.startswith("PRIVA") or word in ("BUDGET", "BOUND", "DOMAIN", "UNIT", "KEY")
        case ["ADD" | "DROP", word, "UNIT" | "KEY" | "LINK" | "(" | "BUDGET" | "DOMAIN", *_]:
            return word.startswith("PRIVACY")
        case [word, *_]:
            return word.startswith("PRIVACY")
    return False


def _hint(words: list[str], table: str) -> str:
    return "write " + next(_declarations(words), _KEY).format(table=table)


def _declarations(words: list[str]) -> Iterator[str]:
    for word in words[1:]:
        for part in word.removeprefix("PRIVACY_").split("_"):
            if part in _DECLARATIONS:
                yield _DECLARATIONS[part]
