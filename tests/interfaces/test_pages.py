"""The pages for users: tutorials run as they are written, errors are named, pages build."""

import os
import re
import subprocess
import sys

import pytest
from support.places import ROOT

import sqlpriv

DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.whole
@pytest.mark.parametrize("page", ["analyst", "owner"])
def test_a_tutorial_runs_as_it_is_written(page, tmp_path):
    blocks = BLOCK.findall((DOCS / "tutorials" / f"{page}.md").read_text())
    assert len(blocks) >= 6
    program = tmp_path / "bin" / "sqlpriv"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m sqlpriv "$@"\n')
    program.chmod(0o755)
    environment = {
        **os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)
    }  # fmt: skip
    for language, text in blocks:
        command = ["sh", "-e", "-c", text] if language == "sh" else [sys.executable, "-c", text]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, f"{text}\n{done.stderr}"
        assert done.stdout + done.stderr


def test_every_error_has_its_line():
    text = (DOCS / "errors.md").read_text()
    named = set(re.findall(r"^\| `(\w+)`", text, re.MULTILINE))
    abstract = {"Error", "DatabaseError", "IntegrityError", "InternalError", "ProgrammingError"}
    every = {
        name for name in sqlpriv.__all__
        if isinstance(kind := getattr(sqlpriv, name), type) and issubclass(kind, sqlpriv.Error)
    }  # fmt: skip
    assert named == every - abstract


@pytest.mark.slow
def test_the_pages_build_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs", reason='pip install "sqlpriv[docs]"')
    pytest.importorskip("mkdocstrings", reason='pip install "sqlpriv[docs]"')
    command = [sys.executable, "-m", "mkdocs", "build", "-f", ".ci/mkdocs.yml", "--strict"]
    command += ["-d", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "half_widths" in (tmp_path / "site" / "api" / "index.html").read_text()
