"""Who may log in to a server: names, roles, limits and hashed secrets, in the ledger's file.

Like everything there, records are only added: the latest of a name counts, and removing somebody is
a record, too. A secret is stored as its scrypt hash (RFC 7914) under a salt of its own. Whoever
asks in vain learns nothing: a wrong name, a wrong secret, an expired and a removed one are refused
in the same words after the same work.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import sqlite3
import threading
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sqlpriv.errors import DataError, InterfaceError, OperationalError, PermissionDenied
from sqlpriv.kernel.ledger.file import BUSY_SECONDS, insert
from sqlpriv.kernel.ledger.records import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator

ROLES = ("analyst", "owner")
_NONE = "none"  # the role of somebody who was removed
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,62}")
_SHORTEST = 12
_HASHING = threading.BoundedSemaphore(2)
"""Each hash takes 16 MiB and tens of milliseconds: strangers may not fill memory with them."""
DENIED = "the name, password or token is wrong, expired or revoked"


@dataclass(frozen=True)
class User:
    """Somebody who may log in.

    Args:
        id: Of the record: another one of the same name is another secret.
        name: The principal whose name charges are recorded under.
        role: "analyst" or "owner".
        expires: When the secret stops working; None for never.
        timeout: Seconds that a statement may take; None for the server's own limit.
        concurrency: How many statements may run at once; None for the server's own limit.
    """

    id: int
    name: str
    role: str
    expires: datetime | None = None
    timeout: float | None = None
    concurrency: int | None = None


def add(
    ledger: Path,
    name: str,
    role: str,
    by: str,
    *,
    expires: datetime | None = None,
    secret: str | None = None,
    timeout: float | None = None,
    concurrency: int | None = None,
) -> str:
    """Lets somebody log in, or gives them another secret, role or limits; returns the secret.

    Args:
        ledger: The ledger's file; made if there is none.
        name: Letters, digits, `_` and `-`, not beginning with a digit.
        role: "analyst" or "owner".
        by: Who says so, for the record.
        expires: When the secret stops working.
        secret: A password of one's own; by default 256 random bits.
        timeout, concurrency: See `User`.

    Raises:
        InterfaceError: The name, the role or a limit is none.
        DataError: The password is shorter than 12 characters.
    """
    if not _NAME.fullmatch(name):
        raise InterfaceError("a name has letters, digits, _ and -, at most 63, no digit first")
    if role not in ROLES:
        raise InterfaceError(f'the role is "analyst" or "owner", not "{role}"')
    if (timeout is not None and not timeout > 0) or (concurrency is not None and concurrency < 1):
        raise InterfaceError("limits are positive numbers")
    if secret is not None and len(secret) < _SHORTEST:
        raise DataError(f"a password has {_SHORTEST} characters or more")
    secret, salt = secret or secrets.token_urlsafe(32), secrets.token_bytes(16)
    record = {"name": name, "role": role, "salt": salt, "hash": _hash(secret, salt)}
    limits = {"timeout": timeout, "concurrency": concurrency}
    until = expires and expires.astimezone(UTC).isoformat()
    with _opened(ledger) as db:
        insert(db, "login", principal=by, expires=until, **record, **limits)
    return secret


def remove(ledger: Path, name: str, by: str) -> None:
    """Revokes what somebody logs in with, at once; their charges stay.

    Raises:
        InterfaceError: There is nobody of that name.
    """
    if name not in {user.name for user in listed(ledger)}:
        raise InterfaceError(f'there is no user "{name}"; `sqlpriv user list` shows them')
    with _opened(ledger) as db:
        insert(db, "login", principal=by, name=name, role=_NONE, salt=b"", hash=b"")


def listed(ledger: Path) -> list[User]:
    """Returns everybody who was let in and not removed, by name; secrets that expired included."""
    with _opened(ledger) as db:
        found = db.execute("SELECT * FROM user ORDER BY name").fetchall()
    return [_user(row) for row in found if row[2] != _NONE]


class Doorkeeper:
    """Tells who somebody is by what they show; threads may share it.

    Args:
        ledger: The ledger's file; made if there is none.
    """

    def __init__(self, ledger: Path) -> None:
        self._lock, self._key = threading.Lock(), secrets.token_bytes(32)
        with _opened(ledger):
            pass
        self._db = _connect(ledger)
        self._known: dict[int, bytes] = {}  # keyed digests of secrets that were right before

    def close(self) -> None:
        """Lets go of the ledger."""
        self._db.close()

    def user(self, name: str, secret: str) -> User:
        """Returns who has that name and that secret.

        The first time a secret is right its keyed digest is kept in memory, so that scrypt is not
        run for every call; that the record is still in force is looked up each time.

        Raises:
            PermissionDenied: Nobody has, or no longer.
        """
        row = self._row(name)
        user, salt, expected = (None, bytes(16), bytes(32)) if row is None else row
        shown = hmac.digest(self._key, secret.encode(), "sha256")
        if user and hmac.compare_digest(self._known.get(user.id, b""), shown):
            return self._in_force(user)
        with _HASHING:
            right = hmac.compare_digest(_hash(secret, salt), expected)
        if user is None or not right:
            raise PermissionDenied(DENIED)
        self._known[user.id] = shown
        return self._in_force(user)

    def pass_for(self, user: User, until: datetime) -> str:
        """Returns a bearer token that stands for a user until then, and in this process alone."""
        claim = f"{user.name}.{user.id}.{int(until.timestamp())}"
        return f"{claim}.{self._sign(claim)}"

    def bearer(self, token: str) -> User:
        """Returns whom a bearer token stands for: `name.secret`, or one from `pass_for`.

        Raises:
            PermissionDenied: Nobody, or no longer.
        """
        claim, _, signature = token.rpartition(".")
        if claim.count(".") != 2:
            name, _, secret = token.partition(".")
            return self.user(name, secret)
        signed = hmac.compare_digest(self._sign(claim).encode(), signature.encode())
        name, number, until = claim.split(".")
        row = self._row(name)
        if not signed or row is None or row[0].id != int(number):
            raise PermissionDenied(DENIED)
        if int(until) < datetime.now(UTC).timestamp():
            raise PermissionDenied(DENIED)
        return self._in_force(row[0])

    def _row(self, name: str) -> tuple[User, bytes, bytes] | None:
        with self._lock:
            found = self._db.execute("SELECT * FROM user WHERE name = ?", (name,)).fetchone()
        return None if found is None or found[2] == _NONE else (_user(found), found[3], found[4])

    def _in_force(self, user: User) -> User:
        if user.expires is not None and user.expires <= datetime.now(UTC):
            raise PermissionDenied(DENIED)
        return user

    def _sign(self, claim: str) -> str:
        return hmac.new(self._key, claim.encode(), "sha256").hexdigest()


def _hash(secret: str, salt: bytes) -> bytes:
    """scrypt at 16 MiB (n = 2^14, r = 8): some 50 ms."""
    return hashlib.scrypt(secret.encode(), salt=salt, n=2**14, r=8, p=1, dklen=32)


def _user(row: tuple[int, str, str, bytes, bytes, str | None, float | None, int | None]) -> User:
    number, name, role, _, _, expires, timeout, concurrency = row
    until = datetime.fromisoformat(expires) if expires else None
    return User(number, name, role, until, timeout, concurrency)


def _connect(ledger: Path) -> sqlite3.Connection:
    db = sqlite3.connect(ledger, BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA synchronous = FULL")
    return db


@contextmanager
def _opened(ledger: Path) -> Iterator[sqlite3.Connection]:
    """Opens the file once the kernel has found it to be a whole ledger, or has made one."""
    with closing(Ledger(ledger)):
        pass
    try:
        with closing(_connect(ledger)) as db:
            yield db
    except sqlite3.Error as error:
        raise OperationalError("the ledger cannot be used just now") from error
