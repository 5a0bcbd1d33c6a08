"""Where a token comes from when nobody gives it."""

from pathlib import Path

import pytest

import sqlpriv
from sqlpriv.interfaces.configuration.token_sources import find_token, read_token


@pytest.fixture
def token_file(tmp_path, monkeypatch):
    monkeypatch.delenv("SQLPRIV_TOKEN", raising=False)
    monkeypatch.delenv("SQLPRIV_TOKEN_FILE", raising=False)
    path = tmp_path / "ada.token"
    path.write_text("ada.file\n")
    path.chmod(0o600)
    return path


def test_a_named_file_counts_before_the_environment(token_file, monkeypatch):
    with pytest.raises(sqlpriv.InterfaceError, match="set SQLPRIV_TOKEN, or name a file"):
        find_token()
    monkeypatch.setenv("SQLPRIV_TOKEN_FILE", str(token_file))
    assert find_token() == "ada.file"
    monkeypatch.setenv("SQLPRIV_TOKEN", " ada.variable\n")
    assert find_token() == "ada.variable"
    assert find_token(token_file) == "ada.file"


def test_a_file_that_is_no_token(token_file):
    for mode in (0o640, 0o604):
        token_file.chmod(mode)
        with pytest.raises(sqlpriv.InterfaceError, match="chmod 600"):
            read_token(token_file)
    token_file.chmod(0o600)
    for content in (b"", b"two words", b"\xff\xfe"):
        token_file.write_bytes(content)
        with pytest.raises(sqlpriv.InterfaceError, match="holds no token"):
            read_token(token_file)
    with pytest.raises(sqlpriv.InterfaceError, match="cannot be read"):
        read_token(Path("missing.token"))
