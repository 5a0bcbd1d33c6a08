"""The server's certificate and key: read once, so that what is wrong with them is said plainly."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path

from sqlpriv.errors import InterfaceError


def tls_context(tls: tuple[bytes, bytes]) -> ssl.SSLContext:
    """Returns a TLS context of a certificate chain and its private key, both in PEM.

    Python reads certificates from files alone, so both are written to a folder that nobody else can
    read, and are gone when this returns.

    Raises:
        InterfaceError: They are no certificate and key, or do not belong together.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("certificate.pem", "key.pem")]
        for path, pem in zip(paths, tls, strict=True):
            path.touch(0o600)
            path.write_bytes(pem)
        try:
            context.load_cert_chain(paths[0], paths[1], password="")
        except (ssl.SSLError, OSError, ValueError) as error:
            raise InterfaceError(_reason(tls, error)) from None
    return context


def _reason(tls: tuple[bytes, bytes], error: Exception) -> str:
    certificate, key = tls
    if b"BEGIN CERTIFICATE" not in certificate:
        return "the certificate's file holds no certificate in PEM (-----BEGIN CERTIFICATE-----)"
    if b"PRIVATE KEY" not in key:
        return "the key's file holds no private key in PEM (-----BEGIN PRIVATE KEY-----)"
    if b"ENCRYPTED" in key:
        return "the private key is encrypted: openssl pkey -in key.pem -out plain.pem"
    reason = getattr(error, "reason", None) or ""
    if reason == "KEY_VALUES_MISMATCH":
        return "the certificate and the key do not belong together"
    if reason in ("EE_KEY_TOO_SMALL", "CA_KEY_TOO_SMALL"):
        return (
            "the key is too short for TLS: openssl req -x509 -newkey rsa:3072 … makes a longer one"
        )
    if reason in ("CA_MD_TOO_WEAK", "EE_MD_TOO_WEAK"):
        return (
            "the certificate is signed with a weak hash: openssl req -x509 -sha256 makes one anew"
        )
    return "the certificate or the key cannot be read: their PEM is damaged"
