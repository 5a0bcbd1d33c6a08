"""Where a vault's ledger is kept: beside it, or in PostgreSQL for servers on many machines."""

from __future__ import annotations

from pathlib import Path

from sqlpriv.errors import OperationalError
from sqlpriv.kernel.ledger.pointer import pointer_of, write_pointer


def keep_ledger_at(vault: Path, url: str) -> None:
    """Makes a vault without a ledger use the one in PostgreSQL; a new one is made if there is none.

    Raises:
        OperationalError: The vault has another ledger, or the URL is none of PostgreSQL's.
    """
    path = vault.with_suffix(".ledger")
    if not path.exists():
        write_pointer(path, url)
    elif pointer_of(path) != url:
        there = pointer_of(path) or f"the file {path.name}"
        raise OperationalError(
            f"the ledger of {vault.name} is {there}; to move a file into PostgreSQL run"
            f" sqlpriv ledger move {vault} --to {url}"
        )


def move_ledger_to(vault: Path, url: str) -> int:
    """Moves a vault's ledger from its file into PostgreSQL: see `kernel.ledger.moving`.

    Returns:
        How many charges, budgets and declarations there are.

    Raises:
        OperationalError: There is no vault, its ledger was moved before, the database holds another
            one, or psycopg is not installed.
    """
    if not vault.exists():
        raise OperationalError(f"there is no vault at {vault}")
    try:
        from sqlpriv.kernel.ledger.moving import move_ledger
    except ImportError:
        needs = "a ledger in PostgreSQL needs pip install 'sqlpriv[postgresql-ledger]'"
        raise OperationalError(needs) from None
    return move_ledger(vault.with_suffix(".ledger"), url)


def refuse_pointer(vault: Path, doing: str) -> None:
    """Raises OperationalError where a vault's ledger is in PostgreSQL, beyond what files can do."""
    if url := pointer_of(vault.with_suffix(".ledger")):
        raise OperationalError(
            f"the ledger of {vault.name} is {url}: {doing} it with PostgreSQL's own tools"
            " (pg_dump --schema=sqlpriv_ledger), and copy the vault while nobody writes it"
        )
