"""A release file with two tables, made anew by every test."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa

from sqlpriv.publish.release_file import MARK, ReleaseStore, beside

PEOPLE = "people_synth"
ODD = '../odd "näme".'
"""A name that no file, and no identifier without quotes, can have."""


def rows(n: int, shift: int = 0) -> pa.Table:
    """Rows of every type that a synthetic table can have, NULLs among them."""
    day = dt.date(2020, 1, 1)
    return pa.table(
        {
            "id": pa.array(range(shift, shift + n), pa.int64()),
            "tiny": pa.array([i % 100 for i in range(n)], pa.uint8()),
            "big": pa.array([2**64 - 1 if i % 2 else None for i in range(n)], pa.uint64()),
            "text": pa.array([f"é'\\{i}" for i in range(n)]),
            "day": pa.array([day + dt.timedelta(i % 9) for i in range(n)]),
            "real": pa.array([i / 3 for i in range(n)]),
            "yes": pa.array([i % 3 == 0 if i % 4 else None for i in range(n)]),
            "size": pa.array(["it's" if i % 2 else "L" for i in range(n)]),
        }
    )


TYPES = {
    "id": "BIGINT",
    "tiny": "UTINYINT",
    "big": "UBIGINT",
    "text": "VARCHAR",
    "day": "DATE",
    "real": "DOUBLE",
    "yes": "BOOLEAN",
    "size": "ENUM('L', 'it''s')",
}


def comment(name: str) -> str:
    return f"Synthetic rows, {MARK}. epsilon = 1. It's \\ {name}"


def release(vault: Path, n: int = 5, shift: int = 0, name: str = PEOPLE) -> ReleaseStore:
    """Releases n rows under a name, replacing those of before."""
    store = beside(vault)
    store.publish(name, rows(n, shift), comment(name), TYPES, replace=True)
    return store
