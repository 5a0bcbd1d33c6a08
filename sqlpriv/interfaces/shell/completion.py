"""Completion in the shell: what may come next after the word before the cursor."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from sqlpriv.interfaces.display.formats import FORMATS
from sqlpriv.interfaces.display.vocabulary import (
    DECLARATIONS,
    DOMAINS,
    KEYWORDS,
    functions,
    methods,
)
from sqlpriv.session.session import Catalog

OF_TABLES = (".schema", ".synth", "\\d")
"""Commands behind which the name of a table may stand."""

_WORD = re.compile(r"[.\\]?[\w$]*$")
_NAME = r'("[^"]+"|[\w$]+)'


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
            return tuple(sorted(map(_quote_name, tables)))
        match _last_words(before):
            case [*_, "FROM" | "JOIN" | "TABLE" | "DESCRIBE" | "REFERENCES"]:
                return tuple(sorted(map(_quote_name, tables)))
            case ["PUBLISH"]:
                return tuple(sorted(map(_quote_name, catalog.released)))
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
    match = _WORD.search(before)
    word = match.group() if match else ""
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
    return sorted({_quote_name(column) for columns in used for column in columns}, key=str.lower)


def _quote_name(name: str) -> str:
    """A name as SQL has to have it: in quotes where it is no plain word."""
    plain = re.fullmatch(r"[A-Za-z_]\w*", name) and name.upper() != "STRATIFY"
    return name if plain else '"' + name.replace('"', '""') + '"'
