"""What is stored of a secret: its scrypt hash, and the verifier that SCRAM-SHA-256 needs.

Flight SQL's clients send the secret itself, so a slow and memory-hard hash can be kept of it
(scrypt, RFC 7914). PostgreSQL's clients never send it: they prove by SCRAM (RFC 5802, RFC 7677)
that they know it, and the server needs PBKDF2 values of the very same secret for that. Neither the
hash nor the verifier lets anybody log in who reads the file.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import stringprep
import threading
import unicodedata
from dataclasses import dataclass

from sqlpriv.errors import OperationalError

TOKEN_ITERATIONS = 4_096
"""PBKDF2 rounds for a token. It has 256 random bits, which no number of guesses finds; 4,096 is
RFC 7677's least and PostgreSQL's default."""
PASSWORD_ITERATIONS = 200_000
"""PBKDF2 rounds for a password that a person chose: each guess of a thief costs so many."""
_HASHING = threading.BoundedSemaphore(2)
"""Each scrypt hash takes 16 MiB and tens of milliseconds: strangers may not fill memory."""
_VERIFIER = re.compile(r"SCRAM-SHA-256\$([1-9][0-9]{0,8}):([A-Za-z0-9+/=]+)\$([^:]+):(.+)")


def scrypt_hash(secret: str, salt: bytes) -> bytes:
    """Returns 32 bytes of scrypt with n = 2^14 and r = 8: 16 MiB and some 50 ms.

    Raises:
        OperationalError: There is no memory for it just now, which says nothing of a secret.
    """
    encoded = secret.encode()
    with _HASHING:
        try:
            return hashlib.scrypt(encoded, salt=salt, n=2**14, r=8, p=1, dklen=32)
        except (ValueError, MemoryError):  # OpenSSL's failure to allocate is a ValueError
            raise OperationalError(
                "logins cannot be checked just now, because memory is short: try again"
            ) from None


@dataclass(frozen=True)
class ScramVerifier:
    """What a server keeps to check SCRAM proofs; PostgreSQL stores the same four values.

    Args:
        iterations: Rounds of PBKDF2.
        salt: Of the PBKDF2 key.
        stored_key: SHA-256 of the client key: what a proof is checked against.
        server_key: What the server proves itself with.
    """

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    def __str__(self) -> str:
        salt, stored, server = (
            base64.b64encode(part).decode()
            for part in (self.salt, self.stored_key, self.server_key)
        )
        return f"SCRAM-SHA-256${self.iterations}:{salt}${stored}:{server}"


def make_verifier(password: str, iterations: int) -> ScramVerifier:
    """Returns a verifier of a password, under a new salt."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", normalize_password(password), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    server_key = hmac.digest(salted, b"Server Key", "sha256")
    return ScramVerifier(iterations, salt, hashlib.sha256(client_key).digest(), server_key)


def parse_verifier(text: str) -> ScramVerifier:
    """Returns the verifier that `str` wrote.

    Raises:
        ValueError: The text is none.
    """
    parts = _VERIFIER.fullmatch(text)
    if parts is None:
        raise ValueError("this is no SCRAM-SHA-256 verifier")
    salt, stored, server = (base64.b64decode(part, validate=True) for part in parts.groups()[1:])
    return ScramVerifier(int(parts[1]), salt, stored, server)


def normalize_password(password: str) -> bytes:
    """Returns the bytes that SCRAM hashes: SASLprep (RFC 4013), where the password allows it.

    Like PostgreSQL, a password that SASLprep forbids is taken as its UTF-8 bytes.

    >>> normalize_password("I\\u00adX"), normalize_password("\\u00aa")
    (b'IX', b'a')
    """
    mapped = "".join(
        " " if stringprep.in_table_c12(letter) else letter
        for letter in password
        if not stringprep.in_table_b1(letter)
    )
    prepared = unicodedata.normalize("NFKC", mapped)
    if not prepared or any(map(_is_prohibited, prepared)) or _mixes_directions(prepared):
        return password.encode("utf-8", "surrogatepass")
    return prepared.encode()


_PROHIBITED = (
    stringprep.in_table_a1,
    stringprep.in_table_c12,
    stringprep.in_table_c21_c22,
    stringprep.in_table_c3,
    stringprep.in_table_c4,
    stringprep.in_table_c5,
    stringprep.in_table_c6,
    stringprep.in_table_c7,
    stringprep.in_table_c8,
    stringprep.in_table_c9,
)


def _is_prohibited(letter: str) -> bool:
    return any(in_table(letter) for in_table in _PROHIBITED)


def _mixes_directions(text: str) -> bool:
    """Tells whether a text breaks RFC 3454's section 6: right-to-left stands at both ends alone."""
    right_to_left = [stringprep.in_table_d1(letter) for letter in text]
    if not any(right_to_left):
        return False
    ends = right_to_left[0] and right_to_left[-1]
    return not ends or any(stringprep.in_table_d2(letter) for letter in text)
