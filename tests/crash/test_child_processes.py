"""Forked children stand for new Pythons: they are processes like those."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.child_processes import ChildPython

TELL = """
import json, os, random, sys, threading
tasks = len(os.listdir("/proc/self/task"))
print(json.dumps([sys.argv, os.getcwd(), os.environ.get("OF_THE_TEST"), os.getpid(), tasks]))
print(sys.stdin.read(), random.random())
"""


def test_a_child_is_what_a_new_python_would_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its arguments, folder and environment are those of now; nothing runs beside its script."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OF_THE_TEST", "seen")
    children = [ChildPython(TELL, "a", 1) for _ in range(2)]
    told = [child.communicate("read")[0].splitlines() for child in children]
    for child, (line, _) in zip(children, told, strict=True):
        of_child = f'[["-c", "a", "1"], "{tmp_path}", "seen", {child.pid}, 1]'
        assert line == of_child.replace(str(tmp_path), os.path.realpath(tmp_path))
    new = subprocess.run(
        [sys.executable, "-c", TELL, "a", "1"], input="read", capture_output=True, text=True
    )
    assert new.stdout.split(', "seen"')[0] == told[0][0].split(', "seen"')[0]
    assert {child.pid for child in children}.isdisjoint({os.getpid(), os.getppid()})
    assert told[0][1] != told[1][1], "two children draw the same random numbers"


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("", 0),
        ("import sys; sys.exit(3)", 3),
        ("1 / 0", 1),
        ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL),
    ],
)
def test_its_end_is_told(script: str, code: int) -> None:
    assert ChildPython(script).wait() == code


def test_a_child_that_does_not_end_is_killed() -> None:
    child = ChildPython("print('there', flush=True)\nwhile True: pass")
    assert child.stdout.readline() == "there\n"
    assert child.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.05)
    assert child.poll() == -signal.SIGKILL
    child.kill()  # of nobody
