"""What a statement gave, and the tag that CommandComplete says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from sqlpriv.interfaces.server.postgresql.reading.sql_scan import StatementScan
from sqlpriv.interfaces.server.protocol.unread_answers import HeldAnswer


@dataclass(frozen=True)
class StatementAnswer:
    """What a statement gave.

    Args:
        table: Its rows; None for a statement without rows.
        tag: What CommandComplete says; a count of rows is put behind SELECT.
        notices: What the client is told beside the rows.
        changed: A setting whose new value the client has to be told.
        held: Counts the rows among those that are not read, for as long as it is there.
    """

    table: pa.Table | None = None
    tag: str = "SELECT"
    notices: Sequence[str] = ()
    changed: tuple[str, str] | None = None
    held: HeldAnswer | None = None


def command_tag(scan: StatementScan, changed: int) -> str:
    first = scan.words[0] if scan.words else ""
    count = max(changed, 0)
    if first == "INSERT":
        return f"INSERT 0 {count}"
    return f"{first} {count}" if first in ("UPDATE", "DELETE") else " ".join(scan.words[:2])
