"""The address that PostgreSQL's protocol listens on, as an owner writes it."""

from __future__ import annotations

import ipaddress
import socket

from sqlpriv.errors import InterfaceError


def parse_address(listen: str, is_encrypted: bool) -> tuple[str, int]:
    """Returns host and port of HOST:PORT, or of [HOST]:PORT for IPv6.

    >>> parse_address("[::1]:5432", False)
    ('::1', 5432)

    Raises:
        InterfaceError: It is none; or it is not encrypted and can be reached from elsewhere.
    """
    host, _, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise InterfaceError(f"listen on HOST:PORT, as in 127.0.0.1:5432, not on {listen}")
    if not is_encrypted and not _is_loopback(host):
        raise InterfaceError(
            f"without a certificate answers travel in clear, so {host} must be this machine"
            " (127.0.0.1); give --certificate and --key"
        )
    return host, int(port)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def address_family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
