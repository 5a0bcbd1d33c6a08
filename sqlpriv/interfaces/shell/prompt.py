"""The line editor of the shell: history, completion, colours, lines up to the semicolon."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession, prompt
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.shortcuts import CompleteStyle
from prompt_toolkit.styles import Style
from pygments.lexers.sql import SqlLexer
from pygments.token import Keyword, Name

from sqlpriv.interfaces.shell.completion import SqlCompleter
from sqlpriv.interfaces.shell.shell import is_finished
from sqlpriv.session.session import Catalog

OURS = {
    "BOUND",
    "BUDGET",
    "DIFFERENTIAL_PRIVACY",
    "DOMAIN",
    "OPTIONS",
    "PRIVACY",
    "PRIVACY_KEY",
    "PRIVACY_LINK",
    "PU",
    "PUBLISH",
    "STRATIFY",
    "SYNTHETIC",
    "SYNTHESIZERS",
    "WEIGHTS",
    "WINDOWS",
}
"""Words of our own in SQL."""
STYLE = Style.from_dict({"pygments.literal.number": "ansicyan", "pygments.operator": ""})
"""Readable on dark and on light; the usual grey is neither."""


class PrivateSqlLexer(SqlLexer):  # type: ignore[misc]  # pygments has no types
    """SQL with our own words among its keywords."""

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        """Yields place, kind and text of each token."""
        for at, kind, value in super().get_tokens_unprocessed(text):
            yield at, Keyword if kind in Name and value.upper() in OURS else kind, value


class Prompt:
    """Asks for one entry after the other.

    Args:
        catalog: Gives the names to complete.
        commands: The dot commands.
        dialect: Gives the SQL dialect of the entries.
    """

    def __init__(
        self,
        catalog: Callable[[], Catalog],
        commands: tuple[str, ...],
        dialect: Callable[[], str] = lambda: "duckdb",
    ) -> None:
        self._fresh: Catalog | None = None
        self._catalog = catalog
        self._session: PromptSession[str] = PromptSession(
            history=FileHistory(history_file()),
            auto_suggest=AutoSuggestFromHistory(),
            completer=SqlCompleter(self._names, commands),
            complete_style=CompleteStyle.MULTI_COLUMN,
            complete_in_thread=True,
            lexer=PygmentsLexer(PrivateSqlLexer) if _colours() else None,
            style=STYLE,
            # Of the entry: while Ctrl-R searches, the current buffer is what is searched for.
            multiline=Condition(
                lambda: not is_finished(self._session.default_buffer.text, dialect())
            ),
            prompt_continuation=lambda width, _line, _wrapped: " " * (width - 2) + "… ",
        )

    def ask(self, message: str) -> str:
        """Returns the next entry.

        Raises:
            KeyboardInterrupt: Ctrl-C: the entry is dropped.
            EOFError: Ctrl-D on an empty line.
        """
        self._fresh = None
        return self._session.prompt(message)

    def answer(self, question: str) -> str:
        """Returns the answer to a question; '' for Ctrl-C and Ctrl-D. It is not remembered."""
        try:
            return prompt(question)
        except (KeyboardInterrupt, EOFError):
            return ""

    def _names(self) -> Catalog:
        """The catalog, read once an entry: not at every key."""
        if self._fresh is None:
            self._fresh = self._catalog()
        return self._fresh


def history_file() -> Path:
    """Returns the file of earlier entries, made for its owner's eyes alone (0600)."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    path = Path(state).expanduser() / "sqlpriv" / "history"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_APPEND, 0o600))
    path.chmod(0o600)
    return path


def earlier_entries() -> list[str]:
    """Returns what was entered before, oldest first."""
    return [*FileHistory(history_file()).load_history_strings()][::-1]


def _colours() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
