"""Who may log in to a server: names, roles, limits and hashed secrets, in a file of their own.

The file (users_file.py) only grows: the latest record of a name counts, and removing somebody is a
record, too. A secret is stored as hashes alone (secret_hashes.py). A stranger learns nothing from
being refused: a wrong name, a wrong secret, an expired and a removed one are refused in the same
words after the same work.
"""

from __future__ import annotations

import hmac
import re
import secrets
import sqlite3
import threading
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlpriv.errors import DataError, InterfaceError, OperationalError, PermissionDenied
from sqlpriv.interfaces.server.secret_hashes import (
    PASSWORD_ITERATIONS,
    TOKEN_ITERATIONS,
    ScramVerifier,
    make_verifier,
    parse_verifier,
    scrypt_hash,
)
from sqlpriv.interfaces.server.spending_rules import SpendingRules
from sqlpriv.interfaces.server.users_file import connect_users, users_file
from sqlpriv.system.interruptible_call import LONGEST_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

ROLES = ("analyst", "owner")
_REVOKED = "none"  # the role of somebody who was removed
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,62}")
_SHORTEST = 12
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
        rules: How they may spend.
    """

    id: int
    name: str
    role: str
    expires: datetime | None = None
    timeout: float | None = None
    concurrency: int | None = None
    rules: SpendingRules = field(default_factory=SpendingRules)


def add_user(
    vault: Path,
    name: str,
    role: str,
    by: str,
    *,
    expires: datetime | None = None,
    secret: str | None = None,
    timeout: float | None = None,
    concurrency: int | None = None,
    rules: SpendingRules | None = None,
) -> str:
    """Lets somebody log in, or gives them another secret, role or limits; returns the secret.

    Args:
        vault: The DuckDB file; its users stand beside it, in a file that is made if there is none.
        name: Letters, digits, `_` and `-`, not beginning with a digit.
        role: "analyst" or "owner".
        by: Who says so, for the record.
        expires: When the secret stops working.
        secret: A password of one's own; by default 256 random bits, used as the token
            `name.secret`.
        timeout, concurrency, rules: See `User`.

    Raises:
        InterfaceError: The name, the role or a limit is none; or there is a user whose name differs
            from this one only in case, with whom a ceiling would be shared.
        DataError: The password is shorter than 12 characters.
    """
    if not _NAME.fullmatch(name):
        raise InterfaceError("a name has letters, digits, _ and -, at most 63, no digit first")
    if role not in ROLES:
        raise InterfaceError(f'the role is "analyst" or "owner", not "{role}"')
    wrong = timeout is not None and not 0 < timeout <= LONGEST_SECONDS
    if wrong or (concurrency is not None and concurrency < 1):
        raise InterfaceError(
            f"limits are positive numbers, of seconds {LONGEST_SECONDS:,.0f} at most"
        )
    if secret is not None and len(secret) < _SHORTEST:
        raise DataError(f"a password has {_SHORTEST} characters or more")
    for user in list_users(vault):
        if user.name != name and user.name.lower() == name.lower():
            raise InterfaceError(f'there is a user "{user.name}": take that name, or another one')
    if secret is None:
        secret = secrets.token_urlsafe(32)
        verifier = make_verifier(f"{name}.{secret}", TOKEN_ITERATIONS)
    else:
        verifier = make_verifier(secret, PASSWORD_ITERATIONS)
    salt = secrets.token_bytes(16)
    _append(
        vault,
        principal=by,
        name=name,
        role=role,
        salt=salt,
        hash=scrypt_hash(secret, salt),
        expires=expires and expires.astimezone(UTC).isoformat(),
        timeout=timeout,
        concurrency=concurrency,
        scram=str(verifier),
        **asdict(rules or SpendingRules()),
    )
    return secret


def remove_user(vault: Path, name: str, by: str) -> None:
    """Revokes what somebody logs in with, at once; their charges stay.

    Raises:
        InterfaceError: There is nobody of that name.
    """
    if name not in {user.name for user in list_users(vault)}:
        raise InterfaceError(f'there is no user "{name}"; `sqlpriv user list` shows them')
    _append(vault, principal=by, name=name, role=_REVOKED, salt=b"", hash=b"")


def list_users(vault: Path) -> list[User]:
    """Returns everybody who was let in and not removed, by name; secrets that expired included."""
    with users_file(vault) as db:
        rows = db.execute('SELECT * FROM "user" ORDER BY name').fetchall()
    return [login.user for row in rows if (login := _login(row))]


@dataclass(frozen=True)
class _Login:
    """A record in force: the user, and what their secret is checked against."""

    user: User
    salt: bytes
    hash: bytes
    scram: ScramVerifier | None


class Doorkeeper:
    """Tells who somebody is by what they show; threads may share it.

    Args:
        vault: The DuckDB file whose users they are.
        key: 32 bytes that sign what is given for a password, and that all servers behind one
            address have in common; random ones by default.
    """

    def __init__(self, vault: Path, key: bytes | None = None) -> None:
        self._lock, self._key = threading.Lock(), key or secrets.token_bytes(32)
        self._db = connect_users(vault)
        self._digests: dict[int, bytes] = {}  # keyed digests of secrets that were right before

    def close(self) -> None:
        """Closes the file of users."""
        self._db.close()

    def user(self, name: str, secret: str) -> User:
        """Returns who has that name and that secret.

        The first time a secret is right its keyed digest is kept in memory, so that scrypt is not
        run for every call; that the record is still in force is looked up each time.

        Raises:
            PermissionDenied: Nobody has, or no longer.
        """
        login = self._find_login(name)
        digest = hmac.digest(self._key, secret.encode(), "sha256")
        if login and hmac.compare_digest(self._digests.get(login.user.id, b""), digest):
            return _in_force(login.user)
        salt, expected = (login.salt, login.hash) if login else (bytes(16), bytes(32))
        is_right = hmac.compare_digest(scrypt_hash(secret, salt), expected)
        if login is None or not is_right:
            raise PermissionDenied(DENIED)
        self._digests[login.user.id] = digest
        return _in_force(login.user)

    def scram_verifier(self, name: str) -> tuple[User | None, ScramVerifier]:
        """Returns the user of a name, and what a SCRAM proof of theirs is checked against.

        For a name that nobody has, or that has no verifier, the user is None and the verifier is
        one that no password meets: its salt is the same each time, as a user's would be, and its
        iterations are those of a token or of a password, so that the first message of the exchange
        does not tell which names there are. Neither changes when the server starts again. Both
        lookups are made for every name: where they go over a network, one less is seen by time.
        """
        login, mock_key = self._find_login(name), self._mock_key()
        if login is not None and login.scram is not None:
            return login.user, login.scram
        digest = hmac.digest(mock_key, name.encode("utf-8", "replace"), "sha256")
        iterations = PASSWORD_ITERATIONS if digest[-1] % 2 else TOKEN_ITERATIONS
        parts = secrets.token_bytes(32), secrets.token_bytes(32)
        return None, ScramVerifier(iterations, digest[:16], *parts)

    def _mock_key(self) -> bytes:
        """Returns a secret that outlives the server: the hash of the first login's."""
        with self._lock, _translate_errors():
            row = self._db.execute("SELECT hash FROM login ORDER BY id LIMIT 1").fetchone()
        return bytes(row[0]) if row else self._key

    def refresh(self, user: User) -> User:
        """Returns the same user, if their record still counts: for connections that stay open.

        Raises:
            PermissionDenied: They were removed, got another secret, or theirs expired.
        """
        login = self._find_login(user.name)
        if login is None or login.user.id != user.id:
            raise PermissionDenied(DENIED)
        return _in_force(login.user)

    def pass_for(self, user: User, until: datetime) -> str:
        """Returns a bearer token for a user, good until that time on every server with the key."""
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
        is_signed = hmac.compare_digest(self._sign(claim).encode(), signature.encode())
        name, number, until = claim.split(".")
        login = self._find_login(name)
        if not is_signed or login is None or login.user.id != int(number):
            raise PermissionDenied(DENIED)
        if int(until) < datetime.now(UTC).timestamp():
            raise PermissionDenied(DENIED)
        return _in_force(login.user)

    def _find_login(self, name: str) -> _Login | None:
        with self._lock, _translate_errors():
            row = self._db.execute('SELECT * FROM "user" WHERE name = ?', (name,)).fetchone()
        return row and _login(row)

    def _sign(self, claim: str) -> str:
        return hmac.new(self._key, claim.encode(), "sha256").hexdigest()


def _in_force(user: User) -> User:
    if user.expires is not None and user.expires <= datetime.now(UTC):
        raise PermissionDenied(DENIED)
    return user


def _login(row: tuple[Any, ...]) -> _Login | None:
    """Returns a row of the view `user` as a login; None for somebody who was removed."""
    number, name, role, salt, digest, expires, timeout, concurrency, scram, *spending = row
    if role == _REVOKED:
        return None
    until = datetime.fromisoformat(expires) if expires else None
    epsilon, daily_epsilon, only_asked_before, error_columns = spending
    rules = SpendingRules(epsilon, daily_epsilon, bool(only_asked_before), bool(error_columns))
    user = User(number, name, role, until, timeout, concurrency, rules)
    return _Login(user, salt, digest, parse_verifier(scram) if scram else None)


def _append(vault: Path, **row: Any) -> None:
    """Appends a record, with the time in UTC."""
    row["at"] = datetime.now(UTC).isoformat(timespec="milliseconds")
    marks = ", ".join("?" * len(row))
    with users_file(vault) as db:
        db.execute(f"INSERT INTO login ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise OperationalError("the file of users cannot be used just now") from error
