"""Prepared statements and portals of one connection: texts, parameters, and rows half sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from sqlpriv.errors import DataError
from sqlpriv.interfaces.server.postgresql.encoding import far_moments, wire
from sqlpriv.interfaces.server.postgresql.encoding import type_numbers as types
from sqlpriv.interfaces.server.postgresql.encoding.sqlstate import SqlStateError
from sqlpriv.interfaces.server.postgresql.encoding.wire_parameters import decode
from sqlpriv.interfaces.server.protocol.unread_answers import HeldAnswer

MOST = 1_000
"""Prepared statements of one connection, and portals."""
_SAMPLES: dict[int, Any] = {
    types.BOOL: True,
    types.INT2: 1,
    types.INT4: 1,
    types.INT8: 1,
    types.OID: 1,
    types.FLOAT4: 1.0,
    types.FLOAT8: 1.0,
    types.NUMERIC: 1.0,
}
SAMPLE_TEXT = "x"
_SAMPLE_TEXTS = {
    types.DATE: "2000-01-01",
    types.TIME: "00:00:00",
    types.TIMESTAMP: "2000-01-01 00:00:00",
    types.TIMESTAMPTZ: "2000-01-01 00:00:00+00:00",
    types.UUID: "00000000-0000-0000-0000-000000000000",
}


@dataclass
class PreparedStatement:
    """A statement that Parse kept.

    Args:
        sql: The text; '' for an empty one.
        oids: The types of its parameters.
        fields: Its columns, once they were described; None before that.
        start: Where it begins in the text that the client sent, in characters from 0: places of
            errors are told in that text.
    """

    sql: str
    oids: Sequence[int] = ()
    fields: Sequence[wire.Field] | None = None
    start: int = 0

    def sample_values(self) -> list[Any]:
        """Returns a value of each parameter's type: columns are told before values are bound."""
        return [_sample_value(oid) for oid in self.oids]


def _sample_value(oid: int) -> Any:
    if oid in types.ARRAYS:
        return [_sample_value(types.ARRAYS[oid])]
    text = _SAMPLE_TEXTS.get(oid)
    return _SAMPLES.get(oid, SAMPLE_TEXT) if text is None else decode(text.encode(), oid, 0)


@dataclass
class Portal:
    """A statement with its values bound, and how much of its rows was sent.

    Args:
        statement: What is run.
        values: Of its parameters.
        formats: Of its columns, as Bind gave them: none, one for all, or one for each.
        held: Counts its rows among those that are not read, while the portal stands.
    """

    statement: PreparedStatement
    values: Sequence[Any]
    formats: Sequence[int]
    table: pa.Table | None = None
    position: int = 0
    tag: str = ""
    notices: Sequence[str] = field(default_factory=tuple)
    has_run: bool = False
    held: HeldAnswer | None = None

    def column_formats(self, count: int) -> list[int]:
        """Returns 0 (text) or 1 (binary) for each of that many columns.

        Raises:
            ProtocolViolation: As many were not given.
        """
        if len(self.formats) <= 1:
            return [*(self.formats or [0])] * count
        if len(self.formats) != count:
            raise wire.ProtocolViolation(f"{len(self.formats)} formats for {count} columns")
        return list(self.formats)

    def take_rows(self, count: int) -> list[tuple[Any, ...]]:
        """Returns the next rows, that many at most."""
        assert self.table is not None
        rows = far_moments.rows(self.table, self.position, count)
        self.position += len(rows)
        return rows

    @property
    def is_done(self) -> bool:
        """Whether every row was sent."""
        return self.table is None or self.position >= self.table.num_rows


def bind(statement: PreparedStatement, body: wire.Body) -> Portal:
    """Returns the portal that a Bind makes; what stands before in the body are the names.

    Raises:
        SqlStateError: The number of values is not that of the parameters.
        DataError: A value is none of its parameter's type.
    """
    formats, raw = body.int16s(), body.values()
    result_formats = body.int16s()
    if not set(formats) | set(result_formats) <= {0, 1}:
        raise wire.ProtocolViolation("a format is 0 for text or 1 for binary")
    if len(raw) != len(statement.oids):
        raise SqlStateError(
            "08P01", f"{len(raw)} values for {len(statement.oids)} parameters: bind one to each"
        )
    if len(formats) <= 1:
        formats = [*(formats or [0])] * len(raw)
    if len(formats) != len(raw):
        raise wire.ProtocolViolation(f"{len(formats)} formats for {len(raw)} values")
    pairs = zip(raw, statement.oids, formats, strict=True)
    values = [decode(data, oid, form) for data, oid, form in pairs]
    if any(isinstance(value, str) and "\0" in value for value in values):
        raise DataError("a text holds a zero byte")
    return Portal(statement, values, result_formats)
