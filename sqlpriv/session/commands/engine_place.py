"""Which engine reads a vault's tables of files: DuckDB here, or Apache Spark on many machines."""

from __future__ import annotations

import re
from pathlib import Path

from sqlpriv.errors import OperationalError
from sqlpriv.kernel.ledger.pointer import pointer_of

_SPARK = re.compile(r"spark://[\w.-]+:\d{1,5}")


def keep_engine_at(vault: Path, url: str) -> None:
    """Has a vault's tables of files read by a Spark Connect server from now on, or by DuckDB again.

    Equal questions are new after a change, because the two engines may keep other rows of a unit
    beyond its bound.

    Args:
        vault: The DuckDB file.
        url: spark://host:port, or "duckdb".

    Raises:
        OperationalError: The URL is none, or the file beside the vault cannot be written.
    """
    path = vault.with_suffix(".engine")
    if url != "duckdb" and not _SPARK.fullmatch(url):
        raise OperationalError(f'an engine is "duckdb" or "spark://host:15002", not "{url}"')
    if pointer_of(path, b"spark://") == url.removeprefix("duckdb"):
        return
    try:
        if url == "duckdb":
            path.unlink()
        else:
            path.write_text(url, "utf-8")
    except OSError as error:
        raise OperationalError(f"{path} cannot be written: {error.strerror}") from error
