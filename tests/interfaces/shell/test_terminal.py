"""The shell at a terminal: a real process behind a pseudo-terminal, typed at and read from."""

import fcntl
import os
import pty
import re
import select
import stat
import struct
import subprocess
import sys
import termios
import time

import pytest

ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r")
TAKE_THE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"""
"""Not a preexec_fn: that forks this process, and libraries of other tests do not survive a fork."""
PATIENCE = 60.0
"""Seconds to wait for a text: loading the engine on a busy machine takes some."""


class Terminal:
    """A shell on a pseudo-terminal of 100 columns and 40 lines."""

    def __init__(self, vault, home, **environment):
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        environment = {
            **os.environ,
            "TERM": "xterm",
            "NO_COLOR": "1",
            "PROMPT_TOOLKIT_NO_CPR": "1",
            "XDG_STATE_HOME": str(home),
            **environment,
        }
        shell = ["-m", "sqlpriv", "shell", str(vault), "--principal", "ada"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", TAKE_THE_TERMINAL, *shell],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment,
            start_new_session=True,
        )
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

    @property
    def raw(self):
        """What was written since the last typing, escape sequences and all."""
        return self._read

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
    terminal.wait_for(r"This spends ε 0\.50 of 3\.00 left\. Run\? \[y/N\]")
    terminal.type("\r")
    terminal.wait_for(r"Not run; nothing was charged\.\s+people ε 3.00/3.00>")
    terminal.type("\x12STRAT")  # Ctrl-R finds what was entered before
    terminal.wait_for("OPTIONS")
    terminal.type("\r\r")  # takes it, and runs it
    terminal.wait_for(r"Run\? \[y/N\]")
    terminal.type("y\r")
    after = terminal.wait_for(r"±(?s:.*)ε 0.5 spent\s+people ε (\d\.\d\d)/3.00>")
    assert 2.5 <= float(after[1]) < 3

    terminal.type("\x04")  # Ctrl-D on an empty line leaves
    assert terminal.process.wait(PATIENCE) == 0

    history = tmp_path / "state" / "sqlpriv" / "history"
    assert "STRATIFY BY SEX" in history.read_text()
    assert "nonsense" not in history.read_text()
    assert "\n+y\n" not in history.read_text()  # answers are not entries
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


def test_tab_completes(terminal):
    terminal.wait_for("people ε")
    terminal.type("EXPLAIN PRIVACY SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1) SEX,")
    terminal.type(" COUNT(*) FROM people STR")
    terminal.wait_for("STRATIFY BY")  # the menu
    terminal.type("\t SEX;\r")
    terminal.wait_for("too narrow to show")


SLOW = (
    "CREATE SYNTHETIC TABLE s AS SELECT SEX, RAC1P, AGEP, SCHL, ESR, WKHP, PINCP FROM people"
    " STRATIFY BY SEX, RAC1P USING mst OPTIONS (epsilon = 1, rows = 20000000);\r"
)


@pytest.mark.whole
def test_ctrl_c_cancels_a_synthesis_and_not_the_shell(terminal, vault):
    """What was charged stays charged, and the release file is what it was."""
    terminal.wait_for("people ε 3.00/3.00>")
    terminal.type(".confirm off\r")
    terminal.wait_for("people ε 3.00/3.00>")
    terminal.type(SLOW)
    terminal.wait_for(r"(fitting strata|drawing rows)\W+\d+/\d+")
    terminal.type("\x03")
    after = terminal.wait_for(
        r"Interrupted\. What was charged stays charged(?s:.*)people ε (\d\.\d\d)/3.00>"
    )
    assert float(after[1]) < 2.9
    assert list(vault.parent.glob("*.tmp*")) == []
    assert not vault.with_suffix(".release.duckdb").exists()
    terminal.type("SHOW PRIVACY TABLES;\r")
    terminal.wait_for("1 row")


def test_a_terminal_with_a_pager_an_editor_and_colours(vault, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/TABLES/RELEASES/ "$1"\n')
    editor.chmod(0o755)
    environment = {"NO_COLOR": "", "PAGER": "sed s/^/paged:/", "EDITOR": str(editor)}
    terminal = Terminal(vault, tmp_path / "state", **environment)
    try:
        terminal.wait_for("people ε")
        terminal.type("SHOW PRIVACY TABLES;\r")
        terminal.wait_for(r"1 row · no charge")
        assert b"\x1b[1m" in terminal.raw  # the head is bold
        assert "paged:" not in terminal.screen()
        terminal.type("\\e\r")
        terminal.wait_for(r"SHOW PRIVACY RELEASES\s(?s:.*)0 rows")
        terminal.type("\\x\r")
        terminal.wait_for("mode vertical")
        terminal.type(
            ".explain SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) SEX, AVG(AGEP)"
            " FROM people STRATIFY BY SEX\r"
        )
        terminal.wait_for(r"paged:─\[ row 1 \](?s:.*)paged:measurement +│ total(?s:.*)people ε")
        terminal.type("\\s\r")
        terminal.wait_for(r"SHOW PRIVACY TABLES;\s(?s:.*)\\s\s")
    finally:
        terminal.close()


def test_less_is_told_to_show_colours_where_nobody_set_it(vault, tmp_path):
    """`less` without -R shows escape sequences as ESC[1m."""
    less = tmp_path / "less"
    less.write_text('#!/bin/sh\ncat > /dev/null\necho "less was given <$LESS>"\n')
    less.chmod(0o755)
    terminal = Terminal(vault, tmp_path / "state", NO_COLOR="", PAGER=str(less), LESS="")
    try:
        terminal.wait_for("people ε")
        terminal.type(".maxrows 200\rSELECT * FROM (VALUES " + _many_rows(60) + ") t;\r")
        terminal.wait_for("less was given <-R>")
    finally:
        terminal.close()


def _many_rows(count):
    return ", ".join(f"({number})" for number in range(count))


def test_a_dumb_terminal_gets_no_escape_sequences(vault, tmp_path):
    terminal = Terminal(vault, tmp_path / "state", TERM="dumb", NO_COLOR="")
    try:
        terminal.wait_for("people ε")
        terminal.type("SHOW PRIVACY BUDGET;\r")
        terminal.wait_for("1 row · no charge")
        assert b"\x1b" not in terminal.raw
    finally:
        terminal.close()


TO_THE_PROMPT = """
import sys, time
sys.modules["sklearn"] = sys.modules["polars"] = None  # OpenDP loads them where they are installed
from sqlpriv.interfaces.cli.connecting import ChosenVault
from sqlpriv.interfaces.configuration.config_file import ConnectionSettings
from sqlpriv.interfaces.shell.prompt import Prompt
from sqlpriv.interfaces.shell.shell import Shell
def asked(self, message):
    heavy = [name for name in ("jax", "mbi") if name in sys.modules]
    print(message, time.process_time(), *heavy)
    raise EOFError
Prompt.ask = asked
vault = ChosenVault(ConnectionSettings(sys.argv[1], "analyst", "ada"), "").open()
Shell(vault, sys.stdout, sys.stderr)._at_terminal()
"""


def to_the_prompt(vault):
    """Returns the processor's seconds up to the prompt, and what of the heavy is loaded by then."""
    done = subprocess.run(
        [sys.executable, "-c", TO_THE_PROMPT, str(vault)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    prompt, _, told = done.stdout.splitlines()[-1].partition("> ")
    assert prompt == "people ε 3.00/3.00"
    seconds, *heavy = told.split()
    return float(seconds), heavy


def test_the_prompt_waits_for_no_synthesizer(vault):
    assert to_the_prompt(vault)[1] == []


@pytest.mark.slow
def test_the_prompt_is_there_within_a_second(vault):
    """On an idle machine: of the processor's time, with all that is loaded and read before it."""
    assert min(to_the_prompt(vault)[0] for _ in range(3)) < 1.0
