"""`sqlpriv.toml`: where it is found, what it sets, and what is said of one that is wrong."""

import os

import pytest

import sqlpriv
from sqlpriv.interfaces.configuration.config_file import ConnectionSettings, load_config


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes a config file into an empty current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("SQLPRIV_CONFIG", raising=False)

    def to(text, path="sqlpriv.toml"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
        return tmp_path / path

    return to


@pytest.mark.usefixtures("write")
def test_without_a_file_there_is_nothing():
    config = load_config()
    assert dict(config.connections) == {}
    assert config.settings_of("people.duckdb") == ConnectionSettings("people.duckdb")


def test_connections_take_what_they_do_not_say_from_the_defaults(write, tmp_path):
    write(
        '[defaults]\nprivacy_epsilon = 1\nformat = "csv"\nca = "all.pem"\n'
        '[connections.a]\nurl = "grpc+tls://h:1"\nca = "own.pem"\ntoken_file = "/t"\n'
        '[connections.b]\nvault = "data/b.duckdb"\nrole = "owner"\nprivacy_epsilon = 0.5\n'
    )
    config = load_config()
    assert config.form == "csv"
    a, b = config.settings_of("a"), config.settings_of("b")
    assert (a.vault, a.ca, a.privacy_epsilon) == ("grpc+tls://h:1", tmp_path / "own.pem", 1.0)
    assert str(a.token_file) == "/t"
    assert (b.vault, b.role, b.privacy_epsilon) == (str(tmp_path / "data/b.duckdb"), "owner", 0.5)
    assert b.ca == tmp_path / "all.pem"
    assert config.settings_of("c.duckdb").privacy_epsilon == 1.0


def test_the_file_that_counts(write, tmp_path, monkeypatch):
    write('[connections.c]\nvault = "user"\n', "config/sqlpriv/sqlpriv.toml")
    assert load_config().settings_of("c").vault == str(tmp_path / "config/sqlpriv/user")
    write('[connections.c]\nvault = "here"\n')
    assert load_config().settings_of("c").vault == str(tmp_path / "here")
    write('[connections.c]\nvault = "named"\n', "other/any.toml")
    monkeypatch.setenv("SQLPRIV_CONFIG", str(tmp_path / "other/any.toml"))
    assert load_config().settings_of("c").vault == str(tmp_path / "other/named")
    monkeypatch.setenv("SQLPRIV_CONFIG", str(tmp_path / "missing.toml"))
    with pytest.raises(sqlpriv.InterfaceError, match="cannot be read"):
        load_config()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[connections", "is no TOML"),
        ("[other]", "has no other; it has defaults, connections"),
        ("[connections.a]", 'needs vault = "FILE" or url'),
        ('[connections.a]\nvault = "x"\nurl = "y"', 'needs vault = "FILE" or url'),
        ('[connections.a]\nvault = "x"\ntoken = "secret"', "has no token; it has vault, url"),
        ("[connections.a]\nvault = 3", "vault is a text"),
        ('[connections."a.b"]\nvault = "x"', "no plain word"),
        ('[defaults]\nprivacy_epsilon = "much"', "privacy_epsilon is a number"),
        ("[defaults]\nprivacy_epsilon = true", "privacy_epsilon is a number"),
        ("defaults = 3", "write \\[defaults\\]"),
        ("[defaults]\nformat = 1", "format is a text"),
    ],
)
def test_a_file_that_is_wrong_says_what_to_write(write, text, words):
    write(text)
    with pytest.raises(sqlpriv.InterfaceError, match=words):
        load_config()


def test_a_file_that_others_may_write_is_not_read(write):
    path = write('[connections.c]\nvault = "c"\n')
    path.chmod(0o666)
    with pytest.raises(sqlpriv.InterfaceError, match="says where tokens are sent"):
        load_config()
    if os.geteuid() == 0:
        path.chmod(0o644)
        os.chown(path, 12345, 12345)
        with pytest.raises(sqlpriv.InterfaceError, match="belongs to somebody else"):
            load_config()
