"""The statements of a text, each with the line on which it starts, for messages about it."""

from __future__ import annotations

from collections.abc import Iterator

from sqlpriv import errors
from sqlpriv.interfaces.display.error_caret import explain_error
from sqlpriv.session.session_like import SessionLike


class StatementFailed(errors.DatabaseError):
    """A statement failed; the message is complete, with its place in the user's text."""


def located_statements(session: SessionLike, text: str) -> Iterator[tuple[str, int]]:
    """Yields each statement of a text with the line on which it starts.

    Raises:
        StatementFailed: The text cannot be parted into statements.
    """
    try:
        statements = session.statements(text)
    except errors.Error as error:
        raise StatementFailed(explain_error(error, text)) from error
    at = 0
    for statement in statements:
        place = text.find(statement, at)
        start = max(place, at)
        at = start + len(statement) if place >= 0 else at
        yield statement, text.count("\n", 0, start) + 1
