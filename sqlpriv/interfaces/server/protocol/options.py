"""A session's options, as Flight's session actions set and tell them."""

from __future__ import annotations

from typing import Any

from sqlpriv.errors import Error
from sqlpriv.interfaces.server.protocol import messages as m
from sqlpriv.session.session_like import SessionLike
from sqlpriv.statements.keywords import NUMBER_SETTINGS

CANCEL_RUNNING = "sqlpriv.CancelRunning"
"""The action that gives up what runs in the caller's session; its body is empty."""
_INVALID_NAME, _INVALID_VALUE, _CLOSED = 1, 2, 1


def set_options(session: SessionLike, body: bytes) -> bytes:
    """Sets options as SET does; returns which of them could not be.

    Raises:
        ValueError: The bytes hold no request.
    """
    failed = m.message("SetSessionOptionsResult", m.FLIGHT)
    for option in m.parse("SetSessionOptionsRequest", body).session_options:
        if option.key not in NUMBER_SETTINGS:
            failed.errors.add(key=option.key).value.value = _INVALID_NAME
            continue
        values = [value for _, value in option.value.ListFields()]
        try:
            to = f"SET {option.key} = {float(values[0])!r}" if values else f"RESET {option.key}"
            session.execute(to)
        except (Error, ValueError):
            failed.errors.add(key=option.key).value.value = _INVALID_VALUE
    written: bytes = failed.SerializeToString()
    return written


def get_options(session: SessionLike) -> bytes:
    """Returns who the session is of, what they may do, and what was set in it."""
    answer = m.message("GetSessionOptionsResult", m.FLIGHT)
    texts: dict[str, Any] = {"principal": session.principal, "role": session.role}
    texts |= {"vault": session.vault.name, "dialect": session.dialect}
    for key, text in texts.items():
        answer.session_options.add(key=key).value.string_value = text
    for key, number in session.settings.items():
        answer.session_options.add(key=key).value.double_value = number
    written: bytes = answer.SerializeToString()
    return written


def session_closed_message() -> bytes:
    """Returns what is said of a session that was closed."""
    written: bytes = m.message("CloseSessionResult", m.FLIGHT, status=_CLOSED).SerializeToString()
    return written
