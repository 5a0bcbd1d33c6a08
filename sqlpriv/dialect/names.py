"""Every name among tokens: what a statement could be about, where nothing tells more."""

from __future__ import annotations

from collections.abc import Iterable

from sqlpriv.dialect.keywords import RESERVED
from sqlpriv.dialect.tokens import Kind, Token


def names(tokens: Iterable[Token]) -> tuple[str, ...]:
    """Returns everything among the tokens that could be the name of a table."""
    return ordered(
        f"'{token.value}'" if token.kind is Kind.STRING else token.value.lower()
        for token in tokens
        if token.kind in (Kind.QUOTED, Kind.STRING)
        or (token.kind is Kind.WORD and token.upper not in RESERVED)
    )


def ordered(found: Iterable[str]) -> tuple[str, ...]:
    """Returns what was found, each once, in its order."""
    return tuple(dict.fromkeys(found))
