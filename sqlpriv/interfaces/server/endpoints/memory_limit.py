"""How much memory a server may take: a statement that would take more fails by itself.

DuckDB's functions of texts and lists make their values outside of its own limit of memory, so one
free statement of an analyst could take all that a machine has, and the server with it.

DuckDB's limit, beyond which a read spills, has to be well below the process's: a read that meets
the process's fails, and its charge stays.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

GIB = 2**30
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


def limit_memory(gib: float | None = None) -> int | None:
    """Limits the private memory that this process may take to write in (RLIMIT_DATA), on Linux, and
    has the DuckDB engines that it opens from now on take that for the machine's memory.

    What it holds already is not counted. A lower limit that the process was started with
    (`ulimit -d`, soft or hard) stays.

    Args:
        gib: GiB beyond what it holds now; None for three quarters of the machine's memory, or of
            its control group's.

    Returns:
        The bytes that it may take beyond what it holds; None where the system sets no limit.
    """
    if sys.platform != "linux":
        return None
    import resource

    more = int(gib * GIB) if gib is not None else int(_SHARE * machine_bytes())
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    held = _held_bytes()
    total = held + more if soft == resource.RLIM_INFINITY else min(held + more, soft)
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
