"""Who calls: every call says so in its headers, or is turned away before anything else is done.

`authorization` holds `Basic` name and password, or a `Bearer` token: the one that `sqlpriv user
add` showed, or the one that a handshake gave for a password. `cookie` may name the session.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from http.cookies import CookieError, SimpleCookie

from pyarrow import flight

from sqlpriv.errors import Error, OperationalError, PermissionDenied
from sqlpriv.interfaces.server.audit_log import Audit
from sqlpriv.interfaces.server.protocol.wire_errors import guard_handler
from sqlpriv.interfaces.server.users import DENIED, Doorkeeper, User

COOKIE = "arrow_flight_session_id"
PASS_HOURS = 12
"""For so long the token of a handshake is good, or until the server ends."""
Headers = Mapping[str, Sequence[str | bytes]]


class Caller(flight.ServerMiddleware):  # type: ignore[misc]  # pyarrow ships no types
    """Who makes one call, and which session it names.

    Args:
        user: Who.
        cookie: The name of the session that was sent, or None.
        token: A bearer token to give back, or ''.
    """

    def __init__(self, user: User, cookie: str | None, token: str) -> None:
        self.user, self.cookie, self._token = user, cookie, token
        self.fresh = secrets.token_urlsafe(16)

    def sending_headers(self) -> dict[str, str]:
        """Gives a token for a password; else a name for the session to who sent none."""
        if self._token:  # of a handshake, which opens no session
            return {"authorization": f"Bearer {self._token}"}
        return {} if self.cookie else {"set-cookie": f"{COOKIE}={self.fresh}"}


class Door(flight.ServerMiddlewareFactory):  # type: ignore[misc]  # pyarrow ships no types
    """Lets in who proves who they are.

    Args:
        keeper: Knows the users.
        audit: Is told of whoever was turned away.
    """

    def __init__(self, keeper: Doorkeeper, audit: Audit) -> None:
        self._keeper, self._audit = keeper, audit

    @guard_handler
    def start_call(self, info: flight.CallInfo, headers: Headers) -> Caller:
        """Returns who calls. Raises FlightUnauthenticatedError where that is nobody, and
        FlightServerError where it cannot be looked up just now."""
        try:
            return self._caller(info.method == flight.FlightMethod.HANDSHAKE, headers)
        except OperationalError:
            raise
        except (Error, ValueError) as error:
            is_denied = isinstance(error, PermissionDenied)
            self._audit.write(
                "denied", reason=DENIED if is_denied else "the headers cannot be read"
            )
        raise flight.FlightUnauthenticatedError(DENIED)  # out here, with no context

    def _caller(self, handshake: bool, headers: Headers) -> Caller:
        scheme, _, credentials = _text(headers, "authorization").partition(" ")
        token = ""
        match scheme.lower():
            case "basic":
                user = self._keeper.user(*_basic(credentials))
                token = self._pass(user) if handshake else ""
            case "bearer":
                user = self._keeper.bearer(credentials.strip())
            case _:
                raise PermissionDenied(DENIED)
        return Caller(user, _cookie(_text(headers, "cookie")), token)

    def _pass(self, user: User) -> str:
        return self._keeper.pass_for(user, datetime.now(UTC) + timedelta(hours=PASS_HOURS))


class NoHandshake(flight.ServerAuthHandler):  # type: ignore[misc]  # pyarrow ships no types
    """Flight asks for one, or refuses handshakes; what counts is said in the headers."""

    def authenticate(self, _outgoing: object, _incoming: object) -> None:
        """Has nothing to ask: the door let the call in."""

    def is_valid(self, _token: bytes) -> bytes:
        """Has nothing to check: the door does."""
        return b""


def _text(headers: Headers, name: str) -> str:
    values = headers.get(name) or [""]
    value = values[0]
    return value.decode("ascii") if isinstance(value, bytes) else value


def _basic(shown: str) -> tuple[str, str]:
    try:
        name, _, password = base64.b64decode(shown + "==", validate=False).decode().partition(":")
    except (binascii.Error, ValueError):
        raise PermissionDenied(DENIED) from None
    return name, password


def _cookie(text: str) -> str | None:
    try:
        cookie = SimpleCookie(text).get(COOKIE)
    except CookieError:
        return None
    return cookie.value if cookie and len(cookie.value) <= 64 else None
