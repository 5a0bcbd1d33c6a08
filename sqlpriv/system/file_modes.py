"""Files that a library makes for us, for the same eyes as another file.

DuckDB makes its log and its temporary files for all to read, whatever the database's mode. A mask
is of the whole process, its threads among them: while several need one, that of all of them holds.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OTHERS = 0o066
"""Reading and writing, of the group and of all others."""
_LOCK = threading.Lock()
_MASKS: list[int] = []
_before = 0


@contextmanager
def as_private_as(file: Path) -> Iterator[None]:
    """What is made inside may be read and written by nobody who may not do so with `file`; by its
    owner alone if there is no such file yet."""
    mask = OTHERS & ~(file.stat().st_mode if file.exists() else 0)
    with _LOCK:
        _mask_modes([*_MASKS, mask])
    try:
        yield
    finally:
        with _LOCK:
            left = list(_MASKS)
            left.remove(mask)
            _mask_modes(left)


def _mask_modes(masks: list[int]) -> None:
    global _before
    if not _MASKS:
        _before = os.umask(OTHERS)
    together = _before
    for mask in masks:
        together |= mask
    os.umask(together)
    _MASKS[:] = masks
