"""How much memory a server may take: a statement that would take more fails by itself.

DuckDB's functions of texts and lists make their values outside of its own limit of memory, so one
free statement of an analyst could take all that a machine has, and the server with it.

DuckDB's limit, beyond which a read spills, has to be well below the process's: a read that meets
the process's fails, and its charge stays. So as many private statements run at once as the rest has
room for, and a server that has room for none does not start. Both depend on the limit alone, never
on what is taken at the moment: that depends on private rows.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np

from sqlpriv.errors import OperationalError

GIB = 2**30
LEAST_GIB = 1.0
"""What a server needs beyond what it holds at its start."""
_READER_GIB = 0.5
"""For each private statement under way, half of it for DuckDB: what is made of a read takes up to
0.1 GiB for an answer of 3,000 cells, and its thread, and DuckDB's threads, have stacks."""
_MOST_READERS = 16
_BLAS_SIZE = 700
"""Rows of a matrix whose square takes long enough for several threads to make it at once."""
_SHARE = 0.75
"""Of the machine's memory, what a server may take by default."""
_DUCKDB_MEGABYTES = "SLURM_MEM_PER_NODE"
"""The variable by which DuckDB is told how many megabytes the machine has. Its limits are shares of
that: half for reads of private rows. In a process that serves nobody and may take 0.6 GiB they sum
up 7,000,000 rows of 3,000,000 units; with two thirds they fail. A server needs 1 GiB for that."""
_ALLOCATORS = {
    "DUCKDB_JE_MALLOC_CONF": "retain:false",
    "MIMALLOC_ARENA_RESERVE": "65536",  # KiB; Arrow's first array takes a whole GiB without it
}
"""How DuckDB's and Arrow's allocators are told to hold no address space that they do not use: it
counts as taken, and only the allocator that holds it can use it. One statement that met the limit
left the server without memory for the next ones, for as long as it ran."""
_CGROUP_FILES = ("memory.max", "memory.limit_in_bytes")
_CGROUPS = Path("/sys/fs/cgroup")


def return_freed_memory() -> None:
    """Has DuckDB and Arrow give freed memory back at once. It is called before either is loaded:
    their allocators read their settings once. What somebody has set stays."""
    for name, value in _ALLOCATORS.items():
        os.environ.setdefault(name, value)


def room_for(gib: float | None) -> int:
    """Returns how many bytes a server may take beyond what it holds now.

    A lower limit that the process was started with (`ulimit -d`, soft or hard) stays.

    Args:
        gib: What was asked for; None for three quarters of the machine's memory, or of its control
            group's.

    Raises:
        OperationalError: They are fewer than a server needs.
    """
    wanted = int(gib * GIB) if gib is not None else int(_SHARE * machine_bytes())
    if sys.platform != "linux":
        return wanted
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
    held = _held_bytes()
    room = wanted if soft == resource.RLIM_INFINITY else max(min(wanted, soft - held), 0)
    if room < LEAST_GIB * GIB:
        most = LEAST_GIB + held / GIB
        raise OperationalError(
            f"the server may take {room / GIB:.2f} GiB beyond the {held / GIB:.2f} GiB that it"
            f" holds, and needs {LEAST_GIB:g}: write --memory {LEAST_GIB:g} or more, and give the"
            f" process a limit (ulimit -d) of {most:.2f} GiB or more, or none"
        )
    return room


def readers_within(room: int) -> int:
    """Returns how many private statements may run at once in so many bytes.

    >>> [readers_within(int(gib * GIB)) for gib in (1, 2, 4, 16)]
    [2, 4, 8, 16]
    """
    return max(1, min(_MOST_READERS, int(room / GIB / _READER_GIB)))


def fill_blas(at_once: int) -> None:
    """Has OpenBLAS allocate the buffers that so many threads take at once. It keeps them."""
    start = threading.Barrier(at_once)

    def multiply() -> None:
        matrix = np.ones((_BLAS_SIZE, _BLAS_SIZE))
        start.wait()
        matrix @ matrix

    threads = [threading.Thread(target=multiply) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def limit_memory(room: int) -> int | None:
    """Limits the private memory that this process may take to write in (RLIMIT_DATA), on Linux, and
    has the DuckDB engines that it opens from now on take that for the machine's memory.

    Args:
        room: Bytes beyond what it holds now; a lower limit of the process stays.

    Returns:
        The bytes that it may take beyond what it holds; None where the system sets no limit.
    """
    if sys.platform != "linux":
        return None
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    held = _held_bytes()
    total = held + room if soft == resource.RLIM_INFINITY else min(held + room, soft)
    resource.setrlimit(resource.RLIMIT_DATA, (total, hard))
    room = max(total - held, 0)
    of_slurm = os.environ.get(_DUCKDB_MEGABYTES, "")
    # Slurm's 0 stands for all that the machine has
    megabytes = min([room // 10**6, *([int(of_slurm)] if of_slurm.strip("0").isdecimal() else [])])
    os.environ[_DUCKDB_MEGABYTES] = str(max(megabytes, 1))
    return room


def machine_bytes() -> int:
    """Returns the memory of the machine, or of the control group of this process, if less."""
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers in ("", "memory"):
                sizes += _group_limits(_CGROUPS / controllers, path)
    return min(sizes)


def _group_limits(root: Path, path: str) -> list[int]:
    """Returns the limits, in bytes, of a control group and of those that it is part of."""
    limits = []
    parts = [part for part in path.split("/") if part]
    for depth in range(len(parts) + 1):
        for name in _CGROUP_FILES:
            with suppress(OSError, ValueError):  # "max" is no number
                limits.append(int(root.joinpath(*parts[:depth], name).read_text()))
    return limits


def _held_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) * 1024
    return 0
