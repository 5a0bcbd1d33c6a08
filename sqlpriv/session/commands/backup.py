"""A vault and all that belongs to it, copied together, and put back together.

A vault without its ledger is undeclared, and a ledger of an earlier day forgets what was spent
since. So they are copied in one go, and an older ledger is not put over a newer one unless the
owner says so.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb

from sqlpriv.errors import OperationalError, VaultBusy
from sqlpriv.kernel.rows_in_files import files_of
from sqlpriv.kernel.sql.quoting import literal
from sqlpriv.session.commands.ledger_place import close_for_good, refuse_pointer
from sqlpriv.system.count_text import count_text
from sqlpriv.system.database_files import refuse_other_file
from sqlpriv.system.quiet_engine import open_engine
from sqlpriv.system.whole_files import into_place, sync

MANIFEST = "manifest.json"
LEDGER, MARK = ".ledger", ".ledger.mark"
SQLITE = (LEDGER, ".users")
"""Suffixes of files that SQLite writes; it may hold a part of them in a log."""
ENGINE = ".engine"
"""Suffix of the file that names the engine of the vault's tables of files."""
PLAIN = (".release.duckdb", ".audit", ENGINE)
"""Suffixes of files that are whole at any moment, or only grow."""
MODELS = ".models"
"""Suffix of the folder of models that CREATE SYNTHETIC TABLE … FROM MODEL draws from."""
_COUNT = "SELECT coalesce(max(id), 0) FROM {}"


def back_up(vault: Path, folder: Path) -> tuple[str, ...]:
    """Copies a vault, its ledger, users, releases, models, audit log and the name of its engine
    into a new folder. The files of its tables of files stay where they are.

    Nobody can write the vault meanwhile. The ledger is copied last, so that it holds every charge
    for what the copy of the vault was asked.

    Returns:
        The names of the files.

    Raises:
        OperationalError: There is no vault, or the file is none; the folder has files; or a file
            cannot be copied.
        VaultBusy: An owner writes the vault.
    """
    if not vault.exists():
        raise OperationalError(f"there is no vault at {vault}")
    refuse_other_file(vault)
    if folder.exists() and any(folder.iterdir()):
        raise OperationalError(f"{folder} is not empty; name a new folder for each backup")
    refuse_pointer(vault, "back it up")
    with _as_operational("copied"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _nobody_writes(vault):
            for name in (vault.name, f"{vault.name}.wal"):
                if vault.with_name(name).exists():
                    _copy_elsewhere(vault.with_name(name), folder / name)
            for suffix in PLAIN:
                if vault.with_suffix(suffix).exists():
                    _copy(vault.with_suffix(suffix), folder / vault.with_suffix(suffix).name)
            _copy_models(vault.with_suffix(MODELS), folder / vault.with_suffix(MODELS).name)
            for suffix in SQLITE:
                if vault.with_suffix(suffix).exists():
                    _copy_sqlite(vault.with_suffix(suffix), folder / vault.with_suffix(suffix).name)
        ledger = folder / vault.with_suffix(LEDGER).name
        records = ledger_records(ledger) if ledger.exists() else 0
        copies = sorted(f for f in folder.rglob("*") if f.is_file() and f.name != MANIFEST)
        files = {str(f.relative_to(folder)): _checksum(f) for f in copies}
        manifest = {"vault": vault.name, "records": records, "files": files}
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        sync(folder / MANIFEST)
        sync(folder)
    return tuple(files)


def folders_of_files(vault: Path) -> tuple[str, ...]:
    """Returns the folders of the files that tables of a vault read in place: a backup of the vault
    does not hold them."""
    with closing(open_engine()) as engine:
        engine.execute(f"ATTACH {literal(str(vault))} AS vault (READ_ONLY)")
        paths = [path for listed in files_of(engine).values() for path in listed.paths]
    return tuple(dict.fromkeys(str(Path(path).parent) for path in paths))


def restore(folder: Path, vault: Path, older: bool = False) -> tuple[str, ...]:
    """Puts a backup back at a path, whatever name the vault had.

    The ledger that was there sells nothing from then on: a session that has it open, a server's
    say, would go on charging it, beside those who charge the one that was put back. Sessions that
    open the vault later sell from that one, those of a running server, too. A restore that was cut
    off leaves a vault of which nothing is sold; the same call finishes it.

    Args:
        older: Whether to forget what was declared and charged since the backup.

    Returns:
        The names of the files.

    Raises:
        OperationalError: The folder is no whole backup, the path is of another file or in no
            folder, or what is there has seen more charges.
    """
    manifest = _manifest(folder)
    refuse_other_file(vault)
    refuse_pointer(vault, "restore it")
    if not vault.parent.is_dir():
        raise OperationalError(
            f"there is no folder {vault.parent}: make it first, with mkdir -p {vault.parent}"
        )
    ledger = vault.with_suffix(LEDGER)

    def refuse_to_forget(seen: int) -> None:
        if (lost := seen - manifest["records"]) > 0 and not older:
            raise OperationalError(
                f"the ledger at {ledger} has {count_text(lost, 'record')} that this backup has not:"
                " budget spent since would be forgotten, and could be spent again; say --older to"
                " do it"
            )

    refuse_to_forget(max(ledger_records(ledger) if ledger.exists() else 0, _read_mark(vault)))
    old = Path(manifest["vault"])
    with _as_operational("put back"):
        if vault.exists():
            with _nobody_writes(vault):
                pass
        if ledger.exists():
            close_for_good(ledger, refuse_to_forget)  # a server may have sold meanwhile
        names = []
        models = vault.with_suffix(MODELS)
        _remove_models(models)
        if old.with_suffix(ENGINE).name not in manifest["files"]:  # DuckDB read it
            vault.with_suffix(ENGINE).unlink(missing_ok=True)
        for name in sorted(manifest["files"], key=lambda n: n == old.name):  # the vault comes last
            target = vault.parent / (vault.stem + name.removeprefix(old.stem))
            if name.startswith(old.name):
                target = vault.with_name(vault.name + name.removeprefix(old.name))
            if target.parent == models:
                models.mkdir(mode=0o700, exist_ok=True)
            draft = target.with_name(f".{target.name}.restored")
            _copy(folder / name, draft)
            for log in ("-wal", "-shm"):
                Path(f"{target}{log}").unlink(missing_ok=True)
            into_place(draft, target)
            names.append(target.name)
        _write_mark(vault, manifest["records"])
        if f"{old.name}.wal" not in manifest["files"]:
            vault.with_name(f"{vault.name}.wal").unlink(missing_ok=True)
    return tuple(names)


def ledger_records(ledger: Path) -> int:
    """Returns how many charges, budgets and declarations a ledger holds.

    Raises:
        OperationalError: It is no ledger.
    """
    uri = f"file:{ledger}?mode=ro"
    with _as_operational("read"), closing(sqlite3.connect(uri, uri=True)) as db:
        tables = ("charge", "budget", "declaration")
        return sum(int(db.execute(_COUNT.format(table)).fetchone()[0]) for table in tables)


def _manifest(folder: Path) -> dict[str, Any]:
    """Returns what a backup says of itself, after every file was compared with its checksum."""
    if not (folder / MANIFEST).exists():
        raise OperationalError(
            f"{folder} is no backup, or not whole: it has no {MANIFEST}; name the folder that"
            " `sqlpriv backup VAULT FOLDER` made"
        )
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        files: dict[str, str] = manifest["files"]
        if any(".." in Path(name).parts or Path(name).is_absolute() for name in files):
            raise ValueError("a name of a file that is elsewhere")
        broken = [name for name, sum_ in files.items() if _checksum(folder / name) != sum_]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OperationalError(f"{folder} is no whole backup: {type(error).__name__}") from error
    if broken:
        raise OperationalError(f"{folder} is damaged: {', '.join(broken)} differ from the manifest")
    result: dict[str, Any] = manifest
    return result


def _read_mark(vault: Path) -> int:
    """Returns the number of records that the mark beside a ledger has seen; 0 without one."""
    with suppress(OSError, ValueError):
        return int(vault.with_suffix(MARK).read_text() or 0)
    return 0


def _write_mark(vault: Path, records: int) -> None:
    draft = vault.with_name(f".{vault.stem}{MARK}.restored")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(f"{records:020}")
    into_place(draft, vault.with_suffix(MARK))


def _copy(source: Path, target: Path) -> None:
    """Copies a file for its owner's eyes alone, and syncs it; a release stays readable for all."""
    mode = 0o600 | (source.stat().st_mode & 0o044)
    with open(source, "rb") as read, open(os.open(target, _NEW, mode), "wb") as write:
        shutil.copyfileobj(read, write)
    sync(target)


def _copy_models(source: Path, target: Path) -> None:
    """Copies the kept models: each is a file that is whole at any moment."""
    for model in sorted(source.glob("*.model")):
        target.mkdir(mode=0o700, exist_ok=True)
        _copy(model, target / model.name)


def _remove_models(folder: Path) -> None:
    """Removes the models of tables that a backup may not have, before its own are put back."""
    for model in folder.glob("*.model"):
        model.unlink(missing_ok=True)


def _copy_elsewhere(source: Path, target: Path) -> None:
    """Copies a file in another process. POSIX gives up all locks of a process on a file when the
    process closes any descriptor of the file, and DuckDB's lock has to outlast the copy."""
    os.close(os.open(target, _NEW, 0o600))
    subprocess.run(["cp", "--", str(source), str(target)], check=True, capture_output=True)
    sync(target)


_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def _copy_sqlite(source: Path, target: Path) -> None:
    """Copies a database as of one moment, whatever is in its log."""
    os.close(os.open(target, _NEW, 0o600))
    with (
        closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as read,
        closing(sqlite3.connect(target)) as write,
    ):
        read.backup(write)
        write.execute("PRAGMA journal_mode = DELETE")
    sync(target)


def _checksum(file: Path) -> str:
    with open(file, "rb") as read:
        return hashlib.file_digest(read, "sha256").hexdigest()


@contextmanager
def _nobody_writes(vault: Path) -> Iterator[None]:
    """Holds DuckDB's lock on the vault, which keeps other processes from writing it."""
    try:
        lock = duckdb.connect(str(vault), read_only=True)
    except duckdb.Error as error:
        raise VaultBusy(
            f"the vault {vault.name} is in use; close the other sessions first"
        ) from error
    with closing(lock):
        yield


@contextmanager
def _as_operational(what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error, subprocess.CalledProcessError) as error:
        words = error.strerror if isinstance(error, OSError) else type(error).__name__
        raise OperationalError(f"a file cannot be {what}: {words}") from error
