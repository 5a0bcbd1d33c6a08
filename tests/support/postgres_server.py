"""A PostgreSQL server of our own, on a socket in a temporary folder."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
FOUND = shutil.which("initdb") or next((str(p / "initdb") for p in PROGRAMS), None)
PATIENCE = 60.0


def as_other_user(folder):
    """Returns how a program is run that does not run as root, and has the folder be its user's."""
    if os.geteuid() != 0:
        return {}
    os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
    return {"user": "nobody"}


@contextmanager
def serving(syncs=False):
    """Yields the URI of a server, which is ended afterwards; with `syncs` it waits for its disk."""
    folder = tempfile.mkdtemp(prefix="sqlpriv-pg-")
    user = as_other_user(folder)
    binaries, data = Path(FOUND).parent, f"{folder}/data"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, **user}
    make = [binaries / "initdb", "-D", data, "-A", "trust", "-U", "bi", "-E", "UTF8", "--no-sync"]
    subprocess.run(make, check=True, timeout=60, **quiet)
    command = [binaries / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses="]
    command += [] if syncs else ["-F"]
    process = subprocess.Popen(command, **quiet)
    try:
        uri = f"postgresql://bi:secret@/postgres?host={folder}"
        wait_for(uri)
        yield uri
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
        shutil.rmtree(folder)


def wait_for(uri):
    """Returns when the server answers."""
    from adbc_driver_postgresql import dbapi

    end = time.monotonic() + PATIENCE
    while True:
        try:
            dbapi.connect(uri).close()
            return
        except dbapi.Error:
            assert time.monotonic() < end
            time.sleep(0.1)


def run(uri, *statements):
    """Runs statements; returns the rows of the last."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []
