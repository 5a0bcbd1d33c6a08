"""Errors on their way over the network: ours, in our words, and nothing of the server's.

pyarrow sends the whole traceback of any exception that is not Flight's own, chain, paths and source
lines included. So nothing but a FlightError leaves a handler: `guarded` sees to that. For GetSchema
pyarrow sends even that one's traceback; it shows a frame of no file and no source. Of an error that
is not sqlpriv's only a fixed text leaves. Flight has few statuses in Python: there is none for
a bad argument, so a refused statement arrives as Flight's plain "Failed" (gRPC's UNKNOWN), with our
class's name before the text, and as a small JSON beside it, from which our own client makes the
very same exception.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from pyarrow import ArrowException, flight

from sqlpriv import errors

_Handler = TypeVar("_Handler", bound=Callable[..., Any])
_LONGEST = 1_000
"""Characters of a message: an error travels in HTTP/2 headers, which hold some kilobytes."""
_WITHHELD = "an internal error of the server; its text is withheld, what was charged stays charged"
_OUT_OF_MEMORY = (
    "Out of Memory Error: the server may take no more just now; what was charged stays charged."
    " Asked again, what was read and kept is free"
)
_log = logging.getLogger("sqlpriv.server")


class Cancelled(errors.OperationalError):
    """The client gave the statement up."""


class TimedOut(errors.OperationalError):
    """The statement took longer than it may."""


_STATUS: tuple[tuple[type[errors.Error], type[flight.FlightError]], ...] = (
    (errors.PermissionDenied, flight.FlightUnauthorizedError),
    (errors.VaultBusy, flight.FlightUnavailableError),
    (Cancelled, flight.FlightCancelledError),
    (TimedOut, flight.FlightTimedOutError),
    (errors.InternalError, flight.FlightInternalError),
    (errors.IntegrityError, flight.FlightInternalError),
    (errors.Error, flight.FlightServerError),
)


def guard_handler(handler: _Handler) -> _Handler:
    """Lets nothing but a FlightError out of a handler of the server."""

    def safe(*args: Any) -> Any:
        try:
            return handler(*args)
        except Exception as error:  # none may leave as it is: its text could quote a row
            fault = to_flight(error)
        raise fault  # out here, with no context

    safe.__code__ = safe.__code__.replace(co_filename="<sqlpriv>")
    return cast(_Handler, wraps(handler)(safe))


def with_own_words(error: Exception) -> Exception:
    """Returns an error of ours for want of memory, which numpy and Arrow raise, too; any other
    error as it is.

    >>> str(with_own_words(MemoryError()))[:19], with_own_words(ValueError("x"))
    ('Out of Memory Error', ValueError('x'))
    """
    return errors.OperationalError(_OUT_OF_MEMORY) if isinstance(error, MemoryError) else error


def to_flight(error: Exception) -> flight.FlightError:
    """Returns what to tell a client of an error."""
    if isinstance(error, flight.FlightError):
        return error
    error = with_own_words(error)
    if not isinstance(error, errors.Error):
        _log.error("a handler failed", exc_info=error)
        return flight.FlightInternalError(_WITHHELD)
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    kind = _public(error).__name__
    details: dict[str, Any] = {"error": kind, "message": str(error)[:_LONGEST]}
    if isinstance(error, errors.Refused):
        details |= {"message": error.message[:_LONGEST], "hint": (error.hint or "")[:_LONGEST]}
        details |= {"line": error.line, "column": error.column}
    return status(f"{kind}: {error}"[:_LONGEST], json.dumps(details, ensure_ascii=False).encode())


def from_flight(error: ArrowException | OSError) -> errors.Error:
    """Returns, for our own client, the error that the server told of."""
    try:
        details = json.loads(getattr(error, "extra_info", b"") or b"{}")
        kind: type[errors.Error] = getattr(errors, details["error"])
        if issubclass(kind, errors.Refused):
            place = {key: details[key] for key in ("line", "column")}
            return kind(details["message"], hint=details["hint"] or None, **place)
        if issubclass(kind, errors.Error):
            return kind(details["message"])
    except (ValueError, KeyError, AttributeError, TypeError):
        pass  # not one of ours: a proxy's, or gRPC's own
    text = re.split(r"\. (?:Detail|gRPC client debug context): ", str(error), maxsplit=1)[0]
    return errors.OperationalError(_connection_failure(text) or text)


def _connection_failure(text: str) -> str:
    """Says in our words why gRPC reached no server; '' where it is about something else.

    >>> _connection_failure("failed to connect to all addresses; last error: "
    ...                     "UNKNOWN: ipv4:127.0.0.1:9: Connection refused")
    'the server cannot be reached: Connection refused'
    """
    if "failed to connect" not in text:
        return ""
    if "certificate verify failed" in text:
        return (
            "the server's certificate is signed by nobody who is trusted here: name the file of who"
            " signed it (ca, in PEM)"
        )
    if "TSI_PROTOCOL_FAILURE" in text or "Ssl handshake" in text:
        return "the server does not speak TLS there, or not for that name"
    return f"the server cannot be reached: {text.rsplit(': ', 1)[-1]}"


def _public(error: errors.Error) -> type[errors.Error]:
    """Returns the class that a client knows: those of this file are the server's own."""
    kinds = (kind for kind in type(error).__mro__ if issubclass(kind, errors.Error))
    public_class: type[errors.Error] = next(
        k for k in kinds if getattr(errors, k.__name__, None) is k
    )
    return public_class
