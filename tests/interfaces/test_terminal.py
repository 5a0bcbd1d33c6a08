"""The shell at a terminal: a real process behind a pseudo-terminal, typed at and read from."""

import os
import pty
import re
import select
import stat
import subprocess
import sys
import time

import pytest

ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r")
PATIENCE = 30.0
"""Seconds to wait for a text: loading the engine on a busy machine takes some."""


class Terminal:
    """A shell on a pseudo-terminal of 100 columns."""

    def __init__(self, vault, home):
        self._ours, theirs = pty.openpty()
        environment = {
            **os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40", "NO_COLOR": "1",
            "PROMPT_TOOLKIT_NO_CPR": "1", "XDG_STATE_HOME": str(home),
        }  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sqlpriv", "shell", str(vault), "--principal", "ada"],
            stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self._read = b""

    def type(self, keys):
        self._read = b""
        os.write(self._ours, keys.encode())

    def wait_for(self, pattern):
        """Reads until what was written since the last typing has the pattern; returns its match."""
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.screen())):
            ready, _, _ = select.select([self._ours], [], [], max(0, end - time.monotonic()))
            assert ready, f"waited for {pattern!r}; there is only:\n{self.screen()}"
            try:
                self._read += os.read(self._ours, 65536)
            except OSError:  # the process is gone
                raise AssertionError(f"the shell ended:\n{self.screen()}") from None
        return found

    def screen(self):
        return ESCAPES.sub(b"", self._read).decode(errors="ignore")

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)


@pytest.fixture
def terminal(vault, tmp_path):
    terminal = Terminal(vault, tmp_path / "state")
    yield terminal
    terminal.close()


def test_a_session_at_the_terminal(terminal, tmp_path):
    terminal.wait_for("people ε 3.00/3.00>")

    terminal.type("SELECT SEX\r")  # no semicolon yet: the statement goes on
    terminal.wait_for("…")
    terminal.type("FROM people;\r")
    terminal.wait_for(r"1 │ SELECT SEX\n +│ +\^\nHint: .*\n\s*people ε 3.00/3.00>")

    terminal.type("SELECT nonsense")
    terminal.type("\x03")  # Ctrl-C drops the line, not the shell
    terminal.wait_for("people ε 3.00/3.00>")

    terminal.type(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) SEX, COUNT(*) AS n"
        " FROM people STRATIFY BY SEX;\r"
    )
    after = terminal.wait_for(r"±(?s:.*)ε 0.5 spent\s+people ε (\d\.\d\d)/3.00>")
    assert 2.5 <= float(after[1]) < 3

    terminal.type("\x04")  # Ctrl-D on an empty line leaves
    assert terminal.process.wait(PATIENCE) == 0

    history = tmp_path / "state" / "sqlpriv" / "history"
    assert "STRATIFY BY SEX" in history.read_text()
    assert "nonsense" not in history.read_text()
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


def test_tab_completes(terminal):
    terminal.wait_for("people ε")
    terminal.type("EXPLAIN PRIVACY SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1) SEX,")
    terminal.type(" COUNT(*) FROM people STR")
    terminal.wait_for("STRATIFY BY")  # the menu
    terminal.type("\t SEX;\r")
    terminal.wait_for("too narrow to show")
