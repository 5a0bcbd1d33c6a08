"""Whether a file is a database: told by its first bytes, which another process reads.

POSIX gives up all locks of a process on a file when the process closes any descriptor of the file,
and the file may be the vault that this process has open.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from sqlpriv.errors import InterfaceError, OperationalError

BESIDE_A_VAULT = (".ledger", ".mark", ".intents", ".users", ".audit")
"""Suffixes of the files beside a vault that no result is written over."""
RELEASE = ".release.duckdb"
"""How the name of a file of released tables ends."""


def refuse_database(path: Path) -> None:
    """Refuses a path that a result must not be written to; one where no file is may be written.

    Raises:
        InterfaceError: It holds a DuckDB or SQLite database, or belongs to a vault.
    """
    if not path.is_file():
        return
    head = _first_bytes(path)
    if _is_duckdb(head) or head.startswith(b"SQLite format 3") or path.suffix in BESIDE_A_VAULT:
        raise InterfaceError(
            f"{path} holds a database, or belongs to one, and is not overwritten: name another file"
        )


def refuse_other_file(vault: Path) -> None:
    """Refuses a path that names no vault. A vault is a DuckDB file, or an empty file, or a path
    where no file is yet.

    A published file of synthetic tables is no vault: whoever opened one as a vault began a ledger
    for rows that protect nobody. A file with a ledger beside it was a vault before, and stays one.

    Raises:
        OperationalError: It is a folder, another file, or a file of released tables.
    """
    if vault.is_dir():
        raise OperationalError(f"{vault} is a folder: name the DuckDB file in it")
    if vault.is_file() and vault.stat().st_size and not _is_duckdb(_first_bytes(vault)):
        raise OperationalError(f"{vault} is no DuckDB file, which a vault is")
    if vault.name.endswith(RELEASE) and not vault.with_suffix(".ledger").exists():
        its_vault = vault.with_name(vault.name.removesuffix(RELEASE) + ".duckdb")
        raise OperationalError(
            f"{vault} is a file of released tables, which hold nothing private: read it with"
            f" DuckDB, duckdb {vault}, or name the vault that it was published from, {its_vault}"
        )


def _first_bytes(path: Path) -> bytes:
    command = ["head", "-c", "16", "--", str(path)]
    return subprocess.run(command, capture_output=True, check=False).stdout


def _is_duckdb(head: bytes) -> bool:
    return head[8:12] == b"DUCK"
