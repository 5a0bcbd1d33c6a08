"""COPY (query) TO STDOUT: rows as text, CSV or PostgreSQL's binary form."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlpriv.errors import NotSupportedError
from sqlpriv.interfaces.server.postgresql.encoding import wire
from sqlpriv.interfaces.server.postgresql.encoding import wire_values as v
from sqlpriv.interfaces.server.postgresql.encoding.sqlstate import SqlStateError
from sqlpriv.interfaces.server.postgresql.reading.sql_scan import StatementScan

_BINARY_HEAD = b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0)
_ESCAPES = str.maketrans(
    {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f", "\v": "\\v"}
)


@dataclass(frozen=True)
class CopyOut:
    """A COPY to the client.

    Args:
        query: Whose rows.
        form: text, csv or binary.
        header: Whether the names of the columns come first.
        delimiter: Between two values.
        null: What stands for NULL.
    """

    query: str
    form: str = "text"
    header: bool = False
    delimiter: str = "\t"
    null: str = "\\N"

    def start(self, columns: int) -> bytes:
        """Returns CopyOutResponse."""
        form = int(self.form == "binary")
        return wire.message(b"H", struct.pack(f"!bh{columns}h", form, columns, *[form] * columns))

    def head(self, fields: Sequence[wire.Field]) -> bytes:
        """Returns what comes before the rows."""
        if self.form == "binary":
            return _BINARY_HEAD
        if not self.header:
            return b""
        return self._line([field.name for field in fields])

    def rows(self, fields: Sequence[wire.Field], rows: Sequence[Sequence[Any]]) -> Iterator[bytes]:
        """Yields each row as one CopyData holds it."""
        for row in rows:
            if self.form == "binary":
                parts = [struct.pack("!h", len(row))]
                for value, field in zip(row, fields, strict=True):
                    data = v.encode(value, field.oid, 1)
                    parts.append(struct.pack("!i", -1 if data is None else len(data)))
                    parts.append(data or b"")
                yield b"".join(parts)
            else:
                texts = [
                    None if value is None else v.as_text(value, field.oid)
                    for value, field in zip(row, fields, strict=True)
                ]
                yield self._line(texts)

    def tail(self) -> bytes:
        """Returns what comes behind the rows."""
        return struct.pack("!h", -1) if self.form == "binary" else b""

    def _line(self, texts: Sequence[str | None]) -> bytes:
        cells = (self.null if text is None else self._cell(text) for text in texts)
        return (self.delimiter.join(cells) + "\n").encode("utf-8", "replace")

    def _cell(self, text: str) -> str:
        if self.form == "text":
            return (
                text.translate(_ESCAPES).replace(self.delimiter, "\\" + self.delimiter)
                if self.delimiter != "\t"
                else text.translate(_ESCAPES)
            )
        if text == self.null or any(sign in text for sign in (self.delimiter, '"', "\n", "\r")):
            return '"' + text.replace('"', '""') + '"'
        return text


def parse_copy(scan: StatementScan) -> CopyOut | None:
    """Returns the COPY that a statement is; None where it is another statement.

    >>> parse_copy(StatementScan("COPY (SELECT 1) TO STDOUT WITH (FORMAT csv, HEADER)"))
    CopyOut(query='SELECT 1', form='csv', header=True, delimiter=',', null='')

    Raises:
        NotSupportedError: It reads from the client, or it writes elsewhere.
        SqlStateError: An option is unknown.
    """
    if not scan.starts("COPY"):
        return None
    words = scan.words
    if "STDOUT" not in words or "TO" not in words:
        raise NotSupportedError("COPY goes TO STDOUT here, and takes nothing FROM a client")
    to = max(at for at, word in enumerate(words) if word == "TO")
    source = scan.sql[scan.tokens[1].start : scan.tokens[to].start].strip()
    if source.startswith("("):
        query = source[1:-1].strip()
    else:
        name, _, columns = source.partition("(")
        query = f"SELECT {columns.rstrip(') ') or '*'} FROM {name}"
    options = _options(scan, to + 2)
    form = options.pop("format", "text")
    header = options.pop("header", "off") in ("on", "true", "1", "")
    delimiter = options.pop("delimiter", "," if form == "csv" else "\t")
    null = options.pop("null", "" if form == "csv" else "\\N")
    options.pop("encoding", "")
    if options or form not in ("text", "csv", "binary") or len(delimiter) != 1:
        wrong = next(iter(options), form)
        raise SqlStateError(
            "42601",
            f"COPY takes FORMAT text, csv or binary, HEADER, DELIMITER and NULL, not {wrong}",
        )
    return CopyOut(query, form, header, delimiter, null)


def _options(scan: StatementScan, start: int) -> dict[str, str]:
    """Returns the options behind STDOUT, in the form with brackets or the older one without."""
    tokens = [token for token in scan.tokens[start:] if token.text not in ("(", ")", ",")]
    names = {"format", "header", "delimiter", "null", "encoding"}
    options: dict[str, str] = {}
    last = ""
    for token in tokens:
        name = token.name
        if name in ("with", "as"):
            continue
        if name in ("csv", "binary", "text") and last in ("", "format"):
            options["format"] = name
        elif name in names:
            options[name] = ""
        elif last in names:
            options[last] = token.text.removeprefix("E")[1:-1] if token.kind == "string" else name
            options[last] = options[last].replace("\\t", "\t")
        else:
            options[token.text] = ""
        last = name if name in names else ""
    return options
