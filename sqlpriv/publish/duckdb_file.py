"""Released tables into a DuckDB file that DuckDB 1.2 and later read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlpriv.errors import OperationalError, Refused
from sqlpriv.publish.release_file import ReleaseStore


def write(store: ReleaseStore, names: Sequence[str], path: Path, vault: Path) -> None:
    """Puts tables into the file at `path`, by rename; its other tables stay.

    Raises:
        Refused: The file is a vault or the release file itself, or holds a table of one of the
            names that was not released.
        VaultBusy, OperationalError: As `ReleaseStore.publish`.
    """
    _check_place(store, path, vault)
    try:
        ReleaseStore(path).take(store, names)
    except OSError as error:
        raise OperationalError(f"{path} cannot be written: {error.strerror}") from None


def _check_place(store: ReleaseStore, path: Path, vault: Path) -> None:
    place = path.resolve()
    if place == store.path.resolve():
        raise Refused(
            f"{path} is the release file itself: all that was released is there already",
            hint="hand it out as it is, or name another file",
        )
    if place == vault.resolve() or place.with_suffix(".ledger").exists():
        raise Refused(
            f"{path} is a vault: it holds private tables and is not for publishing",
            hint="publish to a file of another name",
        )
