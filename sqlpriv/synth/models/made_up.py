"""Columns whose values are made up, of nobody's row: new UUIDs, and text by a pattern.

`OPTIONS (patterns = 'plate = AA-###; phone = 0## ####')` gives text columns values of a pattern, in
which # is a digit, A a capital letter, a a small one, and any other character itself; a backslash
before one of the three makes it itself, too.
"""

from __future__ import annotations

import string
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.contract import Column, Type
from sqlpriv.system import arrow

_DRAWN = {"#": string.digits, "A": string.ascii_uppercase, "a": string.ascii_lowercase}
MOST_LENGTH = 100


@dataclass(frozen=True)
class MadeUp:
    """A column of made-up values.

    Args:
        name: As published.
        sql_type: Of the column.
        pattern: Of text; None for a new UUID in every row.
    """

    name: str
    sql_type: str
    pattern: str | None = None


def read_patterns(text: str | None) -> dict[str, str]:
    """Returns the pattern of each column, by lower-case name.

    Raises:
        Refused: It is no list of `column = pattern`.

    >>> read_patterns("plate = AA-###; Phone = 0## ####")
    {'plate': 'AA-###', 'phone': '0## ####'}
    """
    hint = "patterns = 'plate = AA-###; phone = 0## ####': # is a digit, A and a letters"
    return read_assignments(text, "patterns", hint)


def read_assignments(text: str | None, option: str, hint: str) -> dict[str, str]:
    """Returns what an option says of each column, `'column = value; …'`, by lower-case name.

    Raises:
        Refused: It is no such list.
    """
    assigned: dict[str, str] = {}
    for part in (text or "").split(";"):
        name, equal, value = part.partition("=")
        if text is None or (not part.strip() and assigned):
            continue
        if not equal or not name.strip() or not 0 < len(value.strip()) <= MOST_LENGTH:
            raise Refused(f"the option {option} is a list of columns and {option}", hint=hint)
        assigned[name.strip().strip('"').lower()] = value.strip()
    return assigned


def column_of_values(column: Column, patterns: Mapping[str, str]) -> MadeUp | None:
    """Returns a column as one of made-up values; None where it is measured as declared.

    Raises:
        Refused: There is a pattern for a column that is no text.
    """
    pattern = patterns.get(column.name.lower())
    if pattern is not None:
        if column.type is not Type.TEXT or column.sql_type.upper() != "VARCHAR":
            raise Refused(f'a pattern makes text, and "{column.name}" is a {column.sql_type}')
        return MadeUp(column.name, column.sql_type, pattern)
    is_new = column.domain is None and column.sql_type.upper() == "UUID"
    return MadeUp(column.name, column.sql_type) if is_new else None


def draw_values(column: MadeUp, rows: int, rng: np.random.Generator) -> Any:
    """Returns made-up values, shape (rows,), as an Arrow array of text.

    >>> draw_values(MadeUp("x", "VARCHAR", "no 7"), 2, np.random.default_rng(0)).to_pylist()
    ['no 7', 'no 7']
    """
    if column.pattern is None:
        drawn = rng.bytes(16 * rows)
        new = [uuid.UUID(bytes=drawn[i : i + 16], version=4) for i in range(0, 16 * rows, 16)]
        return arrow.array([str(one) for one in new], pa.string())
    parts: list[np.ndarray[Any, Any]] = []
    literal = False
    for character in column.pattern:
        if character == "\\" and not literal:
            literal = True
            continue
        letters = character if literal else _DRAWN.get(character, character)
        parts.append(np.array(list(letters))[rng.integers(0, len(letters), rows)])
        literal = False
    text = ["".join(row) for row in zip(*(part.tolist() for part in parts), strict=True)]
    return arrow.array(text if parts else [""] * rows, pa.string())
