"""The line editor of the shell: history, completion, colours, lines up to the semicolon."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.shortcuts import CompleteStyle
from pygments.lexers.sql import SqlLexer

from sqlpriv.dialect import complete
from sqlpriv.interfaces.completion import SqlCompleter
from sqlpriv.session import Catalog


class Prompt:
    """Asks for one entry after the other.

    Args:
        catalog: Gives the names to complete.
        commands: The dot commands.
    """

    def __init__(self, catalog: Callable[[], Catalog], commands: tuple[str, ...]) -> None:
        self._fresh: Catalog | None = None
        self._catalog = catalog
        self._session: PromptSession[str] = PromptSession(
            history=FileHistory(history_file()),
            auto_suggest=AutoSuggestFromHistory(),
            completer=SqlCompleter(self._names, commands),
            complete_style=CompleteStyle.MULTI_COLUMN,
            lexer=PygmentsLexer(SqlLexer) if _colours() else None,
            multiline=Condition(lambda: not finished(get_app().current_buffer.text)),
            prompt_continuation=lambda width, _line, _wrapped: " " * (width - 2) + "… ",
        )

    def ask(self, prompt: str) -> str:
        """Returns the next entry.

        Raises:
            KeyboardInterrupt: Ctrl-C: the entry is dropped.
            EOFError: Ctrl-D on an empty line.
        """
        self._fresh = None
        return self._session.prompt(prompt)

    def _names(self) -> Catalog:
        """The catalog, read once an entry: not at every key."""
        if self._fresh is None:
            self._fresh = self._catalog()
        return self._fresh


def finished(text: str) -> bool:
    """Tells whether Enter ends the entry: a dot command, nothing at all, or whole statements."""
    return not text.strip() or text.lstrip().startswith(".") or complete(text)


def history_file() -> Path:
    """Returns the file of earlier entries, made for its owner's eyes alone (0600)."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    path = Path(state).expanduser() / "sqlpriv" / "history"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_APPEND, 0o600))
    path.chmod(0o600)
    return path


def _colours() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
