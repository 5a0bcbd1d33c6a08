"""PostgreSQL's frames: a letter, a length, a body. What is read is bounded, what is sent is built.

Names of messages and fields are those of the protocol's documentation
(postgresql.org/docs/current/protocol-message-formats.html).
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from sqlpriv.errors import OperationalError

PROTOCOL = 196_608
CANCEL_REQUEST, SSL_REQUEST, GSS_REQUEST = 80_877_102, 80_877_103, 80_877_104
LONGEST_STARTUP = 10_000
"""Bytes of any message from somebody who has not proved who they are."""
LONGEST_MESSAGE = 16_000_000
"""Bytes of a message, parameters included."""
MESSAGE_SECONDS = 60.0
"""How long a client may take to send the rest of a message, or to read what it was sent."""


class ProtocolViolation(OperationalError):
    """The client sent what the protocol does not allow: the connection ends."""


@dataclass(frozen=True)
class Field:
    """A column of a result, as RowDescription tells it.

    Args:
        name: The column's.
        oid: The number of its type in PostgreSQL.
        size: Bytes of a value; -1 where they vary.
        modifier: A decimal's digits and scale; -1 where there are none.
    """

    name: str
    oid: int
    size: int = -1
    modifier: int = -1


class Body:
    """The body of a message, read from front to back.

    >>> body = Body(b"ab\\0" + struct.pack("!h", 7))
    >>> body.text(), body.int16(), body.rest()
    ('ab', 7, b'')
    """

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, count: int) -> bytes:
        """Returns the next bytes.

        Raises:
            ProtocolViolation: There are fewer.
        """
        if count < 0 or self._at + count > len(self._data):
            raise ProtocolViolation("a message is shorter than it says")
        self._at += count
        return self._data[self._at - count : self._at]

    def text(self) -> str:
        """Returns the text up to the next zero byte.

        Raises:
            ProtocolViolation: There is no zero byte, or the text is not UTF-8.
        """
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise ProtocolViolation("a text in a message has no end")
        raw = self.take(end - self._at)
        self._at += 1
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise ProtocolViolation("a text in a message is not UTF-8") from None

    def byte(self) -> bytes:
        """Returns the next byte."""
        return self.take(1)

    def int16(self) -> int:
        """Returns the next two bytes as a signed number."""
        return int(struct.unpack("!h", self.take(2))[0])

    def int32(self) -> int:
        """Returns the next four bytes as a signed number."""
        return int(struct.unpack("!i", self.take(4))[0])

    def int16s(self) -> list[int]:
        """Returns an array of two-byte numbers, which its length stands before."""
        return [self.int16() for _ in range(self._count())]

    def int32s(self) -> list[int]:
        """Returns an array of four-byte numbers, which its length stands before."""
        return [self.int32() for _ in range(self._count())]

    def values(self) -> list[bytes | None]:
        """Returns an array of values, each behind its length; None for NULL."""
        return [
            self.take(size) if (size := self.int32()) >= 0 else None for _ in range(self._count())
        ]

    def rest(self) -> bytes:
        """Returns what was not read."""
        return self.take(len(self._data) - self._at)

    def _count(self) -> int:
        count = self.int16()
        if count < 0:
            raise ProtocolViolation("a message holds fewer than no values")
        return count


async def read_startup(reader: asyncio.StreamReader) -> tuple[int, Body]:
    """Returns the code and the body of the first message, which has no letter.

    Raises:
        ProtocolViolation: It is too long or too short.
        asyncio.IncompleteReadError: The client hung up.
    """
    size = int(struct.unpack("!i", await reader.readexactly(4))[0])
    if not 8 <= size <= LONGEST_STARTUP:
        raise ProtocolViolation("this is no startup message of PostgreSQL's protocol 3")
    body = Body(await reader.readexactly(size - 4))
    return body.int32(), body


async def read_message(reader: asyncio.StreamReader, longest: int) -> tuple[bytes, Body]:
    """Returns the letter and the body of the next message; waits for its first byte for ever.

    Raises:
        ProtocolViolation: It says that it is longer than `longest`; nothing of it is read then.
        TimeoutError: The rest of it did not come in time.
        asyncio.IncompleteReadError: The client hung up.
    """
    letter = await reader.readexactly(1)
    async with asyncio.timeout(MESSAGE_SECONDS):
        size = int(struct.unpack("!i", await reader.readexactly(4))[0])
        if not 4 <= size <= longest:
            raise ProtocolViolation(f"a message has 4 to {longest} bytes, not {size}")
        return letter, Body(await reader.readexactly(size - 4))


def message(letter: bytes, *parts: bytes) -> bytes:
    """Returns a message of that letter with a body of those parts.

    >>> message(b"Z", b"I")
    b'Z\\x00\\x00\\x00\\x05I'
    """
    body = b"".join(parts)
    return letter + struct.pack("!i", len(body) + 4) + body


def text(value: str) -> bytes:
    """Returns a text as the protocol writes it: with a zero byte behind it, and none inside."""
    return value.replace("\0", "").encode("utf-8", "replace") + b"\0"


def authentication(code: int, data: bytes = b"") -> bytes:
    """Returns an Authentication message: 0 is Ok, 10 SASL, 11 SASLContinue, 12 SASLFinal."""
    return message(b"R", struct.pack("!i", code), data)


def parameter_status(name: str, value: str) -> bytes:
    """Returns ParameterStatus."""
    return message(b"S", text(name), text(value))


def backend_key(number: int, secret: bytes) -> bytes:
    """Returns BackendKeyData: what a CancelRequest has to show."""
    return message(b"K", struct.pack("!i", number), secret)


def ready(status: str) -> bytes:
    """Returns ReadyForQuery: I outside a transaction, T inside, E inside a failed one."""
    return message(b"Z", status.encode())


def row_description(fields: Sequence[Field], formats: Sequence[int]) -> bytes:
    """Returns RowDescription; a format is 0 for text and 1 for binary."""
    parts = [struct.pack("!h", len(fields))]
    for field, form in zip(fields, formats, strict=True):
        numbers = struct.pack("!ihihih", 0, 0, field.oid, field.size, field.modifier, form)
        parts += [text(field.name), numbers]
    return message(b"T", *parts)


def data_row(values: Sequence[bytes | None]) -> bytes:
    """Returns DataRow; None is NULL."""
    parts = [struct.pack("!h", len(values))]
    for value in values:
        parts.append(struct.pack("!i", -1 if value is None else len(value)))
        parts.append(value or b"")
    return message(b"D", *parts)


def parameter_description(oids: Sequence[int]) -> bytes:
    """Returns ParameterDescription."""
    return message(b"t", struct.pack(f"!h{len(oids)}i", len(oids), *oids))


def command_complete(tag: str) -> bytes:
    """Returns CommandComplete."""
    return message(b"C", text(tag))


def notice(words: str, severity: str = "NOTICE", hint: str = "") -> bytes:
    """Returns NoticeResponse."""
    return message(b"N", _report(severity, "00000", words, hint), b"\0")


def error(severity: str, state: str, words: str, hint: str = "", position: int = 0) -> bytes:
    """Returns ErrorResponse.

    Args:
        severity: ERROR, or FATAL where the connection ends.
        state: SQLSTATE.
        words: What is wrong.
        hint: What to write instead.
        position: Of the place in the statement, in characters from 1; 0 where there is none.
    """
    place = b"P" + text(str(position)) if position else b""
    return message(b"E", _report(severity, state, words, hint), place, b"\0")


def _report(severity: str, state: str, words: str, hint: str) -> bytes:
    fields = [("S", severity), ("V", severity), ("C", state), ("M", words), ("H", hint)]
    return b"".join(key.encode() + text(value) for key, value in fields if value)


PARSE_COMPLETE, BIND_COMPLETE, CLOSE_COMPLETE = message(b"1"), message(b"2"), message(b"3")
NO_DATA, EMPTY_QUERY, PORTAL_SUSPENDED = message(b"n"), message(b"I"), message(b"s")
COPY_DONE = message(b"c")


def copy_data(data: bytes) -> bytes:
    """Returns CopyData."""
    return message(b"d", data)
