"""Files that are there whole or not at all: built aside, synced, renamed into their place.

Whoever holds the old file open keeps reading the old one; a crash leaves the old or the new one. A
publisher holds a lock that the system lets go when its process dies; what a dead one left behind is
removed by the next.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def building(path: Path) -> Path:
    """Returns where a file is built before it is moved to its place: hidden, in the same folder."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def clear(folder: Path, name: str) -> None:
    """Removes what dead publishers left in a folder; `name` is the file's, `*` for every file.

    Only the holder of the folder's (or the file's) lock may do so.
    """
    for leftover in folder.glob(f".{name}.*.tmp*"):
        leftover.unlink(missing_ok=True)


def into_place(built: Path, path: Path) -> None:
    """Syncs a file, renames it, syncs the directory: in this order nothing half can be seen."""
    sync(built)
    os.replace(built, path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Returns when a file's contents, or a directory's names, would survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def lock_folder(path: Path) -> Iterator[None]:
    """Holds the lock file at `path`, made if there is none, against other publishers."""
    with open(path, "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
