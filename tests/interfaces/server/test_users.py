"""Who may log in: what is stored of them, and what is not."""

import hashlib
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

import sqlpriv
from sqlpriv.interfaces.server import users


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "people.ledger"


@pytest.fixture
def keeper(ledger):
    with closing(users.Doorkeeper(ledger)) as keeper:
        yield keeper


def test_a_secret_is_stored_as_its_scrypt_hash_alone(ledger):
    first, second = (users.add(ledger, name, "analyst", "o") for name in ("ada", "bob"))
    assert min(len(first), len(second)) >= 43  # 256 bits in base64
    assert first != second
    with closing(sqlite3.connect(ledger)) as db:
        rows = db.execute("SELECT name, salt, hash FROM login ORDER BY id").fetchall()
    for (_, salt, stored), secret in zip(rows, (first, second), strict=True):
        assert stored == hashlib.scrypt(secret.encode(), salt=salt, n=2**14, r=8, p=1, dklen=32)
        assert secret.encode() not in ledger.read_bytes()
    assert rows[0][1] != rows[1][1]
    assert ledger.stat().st_mode & 0o777 == 0o600


def test_the_latest_record_of_a_name_counts(ledger, keeper):
    old = users.add(ledger, "ada", "analyst", "o")
    assert keeper.user("ada", old).role == "analyst"
    new = users.add(ledger, "ada", "owner", "o", timeout=5.0, concurrency=2)
    with pytest.raises(sqlpriv.PermissionDenied):
        keeper.user("ada", old)
    found = keeper.user("ada", new)
    assert (found.role, found.timeout, found.concurrency) == ("owner", 5.0, 2)
    assert users.listed(ledger) == [found]
    users.remove(ledger, "ada", "o")
    with pytest.raises(sqlpriv.PermissionDenied):
        keeper.user("ada", new)
    assert users.listed(ledger) == []
    with pytest.raises(sqlpriv.InterfaceError, match="no user"):
        users.remove(ledger, "ada", "o")


def test_a_secret_expires_also_where_it_was_right_before(ledger, keeper, monkeypatch):
    until = datetime.now(UTC) + timedelta(hours=1)
    secret = users.add(ledger, "ada", "analyst", "o", expires=until)
    user = keeper.user("ada", secret)
    token = keeper.pass_for(user, until + timedelta(hours=1))
    short = keeper.pass_for(user, datetime.now(UTC) - timedelta(seconds=2))
    assert keeper.bearer(token) == keeper.bearer(f"ada.{secret}") == user
    with pytest.raises(sqlpriv.PermissionDenied):
        keeper.bearer(short)

    class Later(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(minutes=61)

    monkeypatch.setattr(users, "datetime", Later)
    for shown in (token, f"ada.{secret}"):
        with pytest.raises(sqlpriv.PermissionDenied):
            keeper.bearer(shown)


def test_a_pass_is_of_one_process_and_cannot_be_altered(ledger, keeper):
    users.add(ledger, "olga", "owner", "o")
    user = keeper.user("ada", users.add(ledger, "ada", "analyst", "o"))
    until = datetime.now(UTC) + timedelta(hours=1)
    token = keeper.pass_for(user, until)
    name, number, when, signature = token.split(".")
    with closing(users.Doorkeeper(ledger)) as another, pytest.raises(sqlpriv.PermissionDenied):
        another.bearer(token)
    for shown in (
        f"olga.{number}.{when}.{signature}", f"{name}.{number}.{int(when) + 1}.{signature}",
        f"{name}.1.{when}.{signature}", f"{name}.{number}.{when}.", f"{name}.x.{when}.{signature}",
    ):  # fmt: skip
        with pytest.raises(sqlpriv.PermissionDenied):
            keeper.bearer(shown)


@pytest.mark.parametrize("shown", ["wrong", "", "\u00e4", "x" * 10_000])
def test_in_vain_costs_the_same_work_and_says_the_same(ledger, keeper, monkeypatch, shown):
    """One hash each, of a known and an unknown name: timing tells nobody which names there are."""
    users.add(ledger, "ada", "analyst", "o")
    hashed, told = [], set()
    real = users._hash
    monkeypatch.setattr(users, "_hash", lambda *args: hashed.append(1) or real(*args))
    for name in ("ada", "nobody", ""):
        with pytest.raises(sqlpriv.PermissionDenied) as refused:
            keeper.user(name, shown)
        told.add(str(refused.value))
    assert (len(hashed), told) == (3, {users.DENIED})


def test_the_hash_is_not_run_again_for_a_secret_that_was_right(ledger, keeper, monkeypatch):
    secret = users.add(ledger, "ada", "analyst", "o")
    keeper.user("ada", secret)
    monkeypatch.setattr(users, "_hash", None)
    assert keeper.user("ada", secret).name == "ada"


@pytest.mark.parametrize(
    ("name", "role", "more"),
    [
        ("a b", "analyst", {}), ("a.b", "analyst", {}), ("", "analyst", {}),
        ("1a", "analyst", {}), ("a" * 64, "analyst", {}), ("ada", "none", {}),
        ("ada", "analyst", {"secret": "short"}), ("ada", "analyst", {"timeout": 0.0}),
        ("ada", "analyst", {"concurrency": 0}),
    ],
)  # fmt: skip
def test_what_is_no_user_is_not_stored(ledger, name, role, more):
    with pytest.raises(sqlpriv.Error):
        users.add(ledger, name, role, "o", **more)
    assert users.listed(ledger) == []


def command(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "sqlpriv", *map(str, words)], capture_output=True, text=True,
        timeout=120, **options,
    )  # fmt: skip


@pytest.mark.whole
def test_the_command_line_lets_in_and_out(tmp_path):
    vault = tmp_path / "people.duckdb"
    assert "no vault" in command("user", "add", vault, "ada").stderr
    with sqlpriv.connect(vault, role="owner"):
        pass
    added = command("user", "add", vault, "ada", "--expires", "2h", "--timeout", 9)
    assert (added.returncode, added.stdout.startswith("ada.")) == (0, True)
    assert "not shown again" in added.stderr
    shown = command("user", "list", vault).stdout
    assert shown.split()[:3] == ["ada", "analyst", "until"]
    assert "9 s a statement" in shown
    assert added.stdout.strip().partition(".")[2] not in shown
    assert command("user", "remove", vault, "ada").returncode == 0
    assert command("user", "remove", vault, "ada").returncode == 1
    assert command("user", "list", vault).stdout == ""
    for words, said in (
        (("--listen", "grpc+tls://127.0.0.1:0"), "openssl req"),
        (("--listen", "grpc://0.0.0.0:0"), "passwords in clear"),
        (("--listen", "http://127.0.0.1:0"), "grpc+tls://HOST:PORT"),
        (("--key", vault), "both --certificate and --key"),
    ):
        refused = command("serve", vault, *words)
        assert refused.returncode in (1, 2)
        assert said in refused.stderr
