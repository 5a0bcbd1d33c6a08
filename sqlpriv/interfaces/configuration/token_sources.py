"""Where the token for a server comes from: a file, or the environment.

A command line is seen by everybody on the machine and is kept in the shell's history, so no command
takes a token there.
"""

from __future__ import annotations

import os
from pathlib import Path

from sqlpriv.errors import InterfaceError

VARIABLE, FILE_VARIABLE = "SQLPRIV_TOKEN", "SQLPRIV_TOKEN_FILE"


def find_token(token_file: Path | None = None) -> str:
    """Returns the token that is kept in a file, or in the environment.

    Args:
        token_file: The file that was named for this connection; it counts before the environment.

    Raises:
        InterfaceError: There is none, or the file cannot be used.
    """
    if token_file is not None:
        return read_token(token_file)
    if token := os.environ.get(VARIABLE, "").strip():
        return token
    if path := os.environ.get(FILE_VARIABLE):
        return read_token(Path(path).expanduser())
    raise InterfaceError(
        f"a server asks for a token: set {VARIABLE}, or name a file that holds it"
        f" (--token-file, {FILE_VARIABLE}, token_file in sqlpriv.toml); in Python,"
        " connect(url, token=…)"
    )


def read_token(path: Path) -> str:
    """Returns the token that a file holds.

    Raises:
        InterfaceError: The file cannot be read, is empty, or others may read it.
    """
    try:
        if path.stat().st_mode & 0o077:
            raise InterfaceError(f"others may read the token in {path}: chmod 600 {path}")
        token = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise InterfaceError(f"the token in {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        token = ""
    if not token or any(letter.isspace() for letter in token):
        raise InterfaceError(f"{path} holds no token: one line, as `sqlpriv user add` showed it")
    return token
