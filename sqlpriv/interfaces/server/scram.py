"""SCRAM-SHA-256 (RFC 5802, RFC 7677), the server's side: the secret itself never travels.

There is no channel binding: a client that requires it (`p=`) is refused, as is one that would act
as somebody else (`a=`).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets

from sqlpriv.errors import PermissionDenied
from sqlpriv.interfaces.server.secret_hashes import ScramVerifier
from sqlpriv.interfaces.server.users import DENIED

MECHANISM = "SCRAM-SHA-256"
_FIRST = re.compile(r"([ny],,)(n=([^,]*),r=([!-+\--~]{8,256})(?:,.*)?)", re.ASCII)
_FINAL = re.compile(r"(c=([A-Za-z0-9+/=]+),r=([!-+\--~]+)),p=([A-Za-z0-9+/=]+)", re.ASCII)


class ScramExchange:
    """One login, from the client's first message to the server's last.

    Args:
        verifier: What the proof is checked against.
        nonce: The server's part of the nonce; random by default.
    """

    def __init__(self, verifier: ScramVerifier, nonce: str = "") -> None:
        self._verifier = verifier
        self._own_nonce = nonce or secrets.token_urlsafe(18)
        self._header = self._first_bare = self._server_first = self._nonce = ""

    def challenge(self, client_first: bytes) -> bytes:
        """Returns the server's first message: nonce, salt and iterations.

        Raises:
            PermissionDenied: The client's message is none, or asks for channel binding, or to act
                as somebody else.
        """
        parts = _FIRST.fullmatch(_text(client_first))
        if parts is None:
            raise PermissionDenied(DENIED)
        self._header, self._first_bare = parts[1], parts[2]
        self._nonce = parts[4] + self._own_nonce
        salt = base64.b64encode(self._verifier.salt).decode()
        self._server_first = f"r={self._nonce},s={salt},i={self._verifier.iterations}"
        return self._server_first.encode()

    def finish(self, client_final: bytes) -> bytes:
        """Returns the server's last message, which proves the server to the client.

        Raises:
            PermissionDenied: The client does not know the secret.
        """
        parts = _FINAL.fullmatch(_text(client_final))
        if parts is None or not self._server_first:
            raise PermissionDenied(DENIED)
        without_proof, binding, nonce, shown_proof = parts.groups()
        agreed = f"{self._first_bare},{self._server_first},{without_proof}".encode()
        signature = hmac.digest(self._verifier.stored_key, agreed, "sha256")
        proof = _decode(shown_proof)
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=False))
        is_right = hmac.compare_digest(
            hashlib.sha256(client_key).digest(), self._verifier.stored_key
        )
        is_same = hmac.compare_digest(nonce.encode(), self._nonce.encode())
        if not (is_right and is_same and _decode(binding) == self._header.encode()):
            raise PermissionDenied(DENIED)
        own_proof = hmac.digest(self._verifier.server_key, agreed, "sha256")
        return b"v=" + base64.b64encode(own_proof)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise PermissionDenied(DENIED) from None


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise PermissionDenied(DENIED) from None
