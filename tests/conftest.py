"""Shared fixtures; the builders themselves are in vaults.py."""

from __future__ import annotations

import os

# Before numpy is loaded: OpenBLAS starts a thread for each core in each worker. They wait for one
# another by spinning, so that systems of a hundred equations took seven times the processor time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# OpenMP's threads, scikit-learn's among them, wait likewise: a classifier took four times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import atexit
import datetime as dt
import gc
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from support import exact_people, postgres_server
from support.delays import WIDTH, end_reads_at_once
from support.vaults import Engine, declare, write

from sqlpriv.interfaces.server.shared.server_database import NAME as SERVERS
from sqlpriv.kernel.ledger.database import NAME
from sqlpriv.kernel.proof import delay
from sqlpriv.kernel.vault import Kernel
from sqlpriv.plan.aggregates import estimators

# Children import the installed package, as we do, and not the sources in the working directory.
os.environ["PYTHONSAFEPATH"] = "1"

# A machine under load draws slowly, which says nothing of what is drawn.
_PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("sqlpriv", **_PATIENT, print_blob=True)
settings.register_profile("mutants", **_PATIENT, phases=[Phase.explicit, Phase.generate])
settings.load_profile(os.environ.get("SQLPRIV_HYPOTHESIS", "sqlpriv"))  # mutants.py: no shrinking


def _close_stderr() -> None:
    """Sends what C++ libraries print while the interpreter ends to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


if "PYTEST_XDIST_WORKER" in os.environ:
    # A worker of pytest-xdist ends with its last test's frames alive, so DuckDB's binding lists
    # every function as leaked. All that tests print was captured before.
    atexit.register(_close_stderr)


MEMORY, ENOUGH = "/dev/shm", 4 << 30
"""Linux's folder in memory, and how many bytes must be free there before tests write to it."""


def _write_to_memory() -> None:
    """Has temporary files of tests lie in memory, unless TMPDIR says where they are to lie.

    The ledger and released tables wait for the disk at every commit, 3 ms each time: a test of a
    few statements waited longer than it computed. What is written is the same; a process that is
    killed loses nothing of it, and no test cuts the machine's power.
    """
    with suppress(OSError):
        if not os.environ.get("TMPDIR") and shutil.disk_usage(MEMORY).free >= ENOUGH:
            os.environ["TMPDIR"] = MEMORY
            tempfile.tempdir = None  # so that it is looked up again


def _hear_ctrl_c() -> None:
    """Has this process, and its children, hear SIGINT where they were started to ignore it.

    A shell without a terminal starts what it puts behind `&` so: tests that press Ctrl-C would wait
    for ever.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Has workers, children and later runs share what JAX and Python compile.

    JAX compiles for most of mbi's time. Where PYTHONDONTWRITEBYTECODE is set, each of some hundred
    children would compile the package anew, half a second of processor time. Both lie in pytest's
    own cache, `.pytest_cache`; without one every process compiles for itself.
    """
    _write_to_memory()
    _hear_ctrl_c()
    end_reads_at_once()
    if "PYTEST_XDIST_WORKER" not in os.environ and (cache := getattr(config, "cache", None)):
        if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
            os.environ.setdefault("PYTHONPYCACHEPREFIX", str(cache.mkdir("bytecode")))
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache.mkdir("jax")))
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """A worker more than there are cores, unless PYTEST_XDIST_AUTO_NUM_WORKERS says how many.

    Tests of servers, processes and limits of time wait, and meanwhile a core has nothing to do
    where each has one worker.
    """
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else None


def pytest_collection_finish() -> None:
    """Leaves what modules and the list of tests hold out of the garbage collector's rounds: to go
    through it again and again took 6.5 % of the tests' processor time, and takes 4.6 %; 3 % where
    a round comes with 20,000 new objects instead of 700."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)


@pytest.fixture
def delayed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has private reads end later by a random time, as they do outside of the tests."""
    monkeypatch.setattr(delay, "WIDTH", WIDTH)


@pytest.fixture
def one_day() -> None:
    """Waits past a midnight (UTC) that is a minute away: it would part what a test spends."""
    in_a_minute = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=1)
    if in_a_minute.hour == in_a_minute.minute == 0:
        time.sleep(60)


@pytest.fixture(scope="module")
def narrow_means_are_plain() -> Iterator[None]:
    """AVG of a narrow column is one sum again: for tests of the way from SQL to rows.

    Their answers are exact, so that they can be compared with DuckDB's; what is measured in rounds
    is estimated, and has tests of its own.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimators, "LEAST_GAIN", 12.0)
        yield


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a PostgreSQL server of this test run's own."""
    if postgres_server.FOUND is None:
        pytest.skip("no PostgreSQL server is installed")
    with postgres_server.serving() as uri:
        yield uri.replace("bi:secret@", "bi@")


@pytest.fixture
def url(server: str) -> str:
    """The URL of a database without a ledger."""
    with psycopg.connect(server, autocommit=True) as db:
        for schema in (NAME, SERVERS):
            db.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
    return server


@pytest.fixture(scope="module")
def people() -> Iterator[duckdb.DuckDBPyConnection]:
    """An engine with the table of `exact_people`: what plans and answers are compared with."""
    connection = exact_people.engine()
    yield connection
    connection.close()


MakeKernel = Callable[..., Kernel]


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """DuckDB in memory; every test makes its own tables in it."""
    made = Engine()
    yield made
    made.duckdb.close()


@pytest.fixture
def make_kernel(tmp_path: Path) -> Iterator[MakeKernel]:
    """Makes a vault of SQL, declares it (`vaults.declare`'s arguments), opens its kernel."""
    opened: list[Kernel] = []

    def make(sql: str, vault: str = "people.duckdb", **declared: Any) -> Kernel:
        write(tmp_path / vault, sql)
        kernel = Kernel(tmp_path / vault)
        opened.append(kernel)
        declare(kernel, **declared)
        return kernel

    yield make
    for kernel in opened:
        with closing(kernel):
            pass
