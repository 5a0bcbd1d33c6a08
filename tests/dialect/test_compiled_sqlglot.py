"""The tests of this folder pass with sqlglot's compiled build, too: it refuses subclasses, takes no
frames of Python's stack, and would end the process where it recursed out."""

import os
import subprocess
import sys
import venv
from importlib.metadata import version
from pathlib import Path

import pytest
from support.places import ROOT

pytestmark = pytest.mark.slow
HERE = Path(__file__)


def test_every_test_of_the_dialect_passes_with_the_compiled_build(tmp_path):
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    (site,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    (site / "ours.pth").write_text("\n".join(x for x in sys.path if "site-packages" in x))
    wanted = f"sqlglot[c]=={version('sqlglot')}"
    pip = [python, "-m", "pip", "install", "-q", "--ignore-installed", wanted]
    if subprocess.run(pip, capture_output=True, check=False).returncode:
        pytest.skip("no package index can be reached")
    where = "import sqlglot.parser; print(sqlglot.parser.__file__)"
    built = subprocess.run([python, "-c", where], capture_output=True, text=True, check=True)
    assert built.stdout.strip().endswith((".so", ".pyd"))
    tests = [path for path in HERE.parent.glob("test_*.py") if path != HERE]
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *tests],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout[-3000:]
