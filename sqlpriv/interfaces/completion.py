"""Completion in the shell: what may come next after the word before the cursor."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from sqlpriv.interfaces.formats import FORMATS
from sqlpriv.session import Catalog

KEYWORDS = (
    "ALTER TABLE", "AND", "AS", "ASC", "BETWEEN", "CASE", "CREATE",
    "CREATE OR REPLACE SYNTHETIC TABLE", "CREATE SYNTHETIC TABLE", "CREATE TABLE", "DESC",
    "DESCRIBE", "DISTINCT", "DROP SYNTHETIC TABLE", "ELSE", "END",
    "EVALUATE SYNTHETIC TABLE", "AGAINST", "EXPLAIN PRIVACY", "FROM", "GROUP BY",
    "HAVING", "IN", "IS NULL", "LIMIT", "NOT", "NULL", "OFFSET",
    "OPTIONS (epsilon = ", "OR", "ORDER BY", "PUBLISH", "SELECT", "SET privacy_epsilon = ",
    "SHOW PRIVACY BUDGET", "SHOW PRIVACY RELEASES", "SHOW PRIVACY TABLES", "SHOW SYNTHESIZERS",
    "STRATIFY BY", "THEN", "USING", "WEIGHTS FROM", "WHEN", "WHERE",
    "WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = ",
)  # fmt: skip
DECLARATIONS = (
    "ADD PRIVACY_KEY (", "ADD PRIVACY_LINK (", "ALTER COLUMN",
    "SET PRIVACY BOUND (rows_per_unit = ", "SET PRIVACY BUDGET (epsilon = ", "SET PU",
    "SET PUBLIC", "UNSET PU",
)  # fmt: skip
DOMAINS = (
    "SET PRIVACY DOMAIN BETWEEN (", "SET PRIVACY DOMAIN IN (", "SET PRIVACY DOMAIN REFERENCES ",
    "DROP PRIVACY DOMAIN",
)  # fmt: skip
SCALARS = (
    "ABS", "CEIL", "COALESCE", "DATE_PART", "FLOOR", "GREATEST", "GROUPING", "IF", "LEAST",
    "NULLIF", "ROUND",
)  # fmt: skip
OF_TABLES = (".schema", ".synth", "\\d")
"""Commands behind which the name of a table may stand."""

_WORD = re.compile(r"[.\\]?[\w$]*$")
_NAME = r'("[^"]+"|[\w$]+)'


@cache
def functions() -> tuple[str, ...]:
    """The functions of private queries; asked late, because the planner takes a while to load."""
    from sqlpriv.plan.aggregates import KINDS

    return tuple(sorted(f"{n.upper()}(" for n in (*KINDS, *SCALARS) if n != "count_star"))


@cache
def methods() -> tuple[str, ...]:
    """What may stand after USING; asked late, because the synthesizers take a while to load."""
    from sqlpriv.synth.registry import REGISTRY

    return tuple(sorted(REGISTRY))


class SqlCompleter(Completer):
    """Offers tables after FROM, columns of the tables in use, phrases and dot commands.

    Args:
        catalog: Gives the names as they are now.
        commands: The shell's own commands, each beginning with a dot.
    """

    def __init__(self, catalog: Callable[[], Catalog], commands: Iterable[str]) -> None:
        self._catalog, self._commands = catalog, tuple(commands)

    def get_completions(self, document: Document, _event: CompleteEvent) -> Iterator[Completion]:
        """Yields what begins with the word before the cursor, whatever its case."""
        before = document.text_before_cursor
        word = _word(before)
        for offer in self._offers(before[: len(before) - len(word)], document.text, word):
            if offer.lower().startswith(word.lower()) and offer.lower() != word.lower():
                yield Completion(offer, start_position=-len(word))

    def _offers(self, before: str, text: str, word: str) -> tuple[str, ...]:
        if word.startswith((".", "\\")):
            return () if before.strip() else self._commands
        if before.strip() == ".mode":
            return FORMATS
        catalog = self._catalog()
        tables = {**catalog.released, **catalog.tables}
        if before.strip() in OF_TABLES:
            return tuple(sorted(map(_quoted, tables)))
        match _last_words(before):
            case [*_, "FROM" | "JOIN" | "TABLE" | "DESCRIBE" | "REFERENCES"]:
                return tuple(sorted(map(_quoted, tables)))
            case ["PUBLISH"]:
                return tuple(sorted(map(_quoted, catalog.released)))
            case [*_, "USING"]:
                return methods()
            case [*_, "ALTER", "TABLE", _]:
                return DECLARATIONS
            case [*_, "ALTER", "COLUMN", _]:
                return DOMAINS
            case _ if not word:
                return ()
        return (*_columns(tables, text), *functions(), *KEYWORDS)


def _word(before: str) -> str:
    found = _WORD.search(before)
    word = found.group() if found else ""
    # `t.col`: the dot of a qualifier belongs to no word; `.help` begins a line.
    qualifies = word.startswith(".") and before[: len(before) - len(word)].strip()
    return word[1:] if qualifies else word


def _last_words(before: str) -> list[str]:
    return [word.upper() for word in re.findall(r'"[^"]+"|[\w$]+', before)[-3:]]


def _columns(tables: Mapping[str, tuple[str, ...]], text: str) -> list[str]:
    """Returns the columns of the tables that the text names after FROM; of all if it names none."""
    pattern = rf"\b(?:from|table|join)\s+{_NAME}"
    named = {name.strip('"').lower() for name in re.findall(pattern, text, re.IGNORECASE)}
    used = [cols for table, cols in tables.items() if table.lower() in named] or tables.values()
    return sorted({_quoted(column) for columns in used for column in columns}, key=str.lower)


def _quoted(name: str) -> str:
    """A name as SQL has to have it: in quotes where it is no plain word."""
    plain = re.fullmatch(r"[A-Za-z_]\w*", name) and name.upper() != "STRATIFY"
    return name if plain else '"' + name.replace('"', '""') + '"'
