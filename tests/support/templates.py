"""Vaults that many tests begin with: each is made once in a process, and copied.

Making one takes half a second of processor time (two engines are started, rows are verified, every
declaration is a synced record), copying one takes two milliseconds.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from sqlpriv.session.session import Session


def vault_of(sql: str, path: Path, principal: str = "olga") -> Path:
    """Makes a vault of what an owner runs, as a copy where it was made before; returns its path."""
    shutil.copytree(_template(sql, path.name, principal), path.parent, dirs_exist_ok=True)
    return path


@cache
def _template(sql: str, name: str, principal: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="sqlpriv-template-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with Session(folder / name, role="owner", principal=principal) as owner:
        owner.run(sql)
    return folder
