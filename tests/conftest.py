"""Shared fixtures; the builders themselves are in vaults.py."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from support.vaults import Engine, declare, write

from sqlpriv.kernel.vault import Kernel

# Children import the installed package, as we do, and not the sources in the working directory.
os.environ["PYTHONSAFEPATH"] = "1"

settings.register_profile("sqlpriv", deadline=None, print_blob=True)
# Children import the installed package, as we do, and not the sources in the working directory.
os.environ["PYTHONSAFEPATH"] = "1"

settings.register_profile("mutants", deadline=None, phases=[Phase.explicit, Phase.generate])
settings.load_profile(os.environ.get("SQLPRIV_HYPOTHESIS", "sqlpriv"))  # mutants.py: no shrinking

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
