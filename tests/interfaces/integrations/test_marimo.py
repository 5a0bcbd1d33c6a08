"""The marimo notebook of the examples: as a program, and as the page that people see."""

import json
import shutil
import subprocess
import sys

import pytest
from support.places import ROOT

pytest.importorskip("marimo", reason="pip install marimo")

NOTEBOOK = ROOT / "examples" / "notebook.py"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The notebook as one HTML file, with what every cell showed."""
    to = tmp_path_factory.mktemp("page") / "notebook.html"
    notebook = shutil.copy(NOTEBOOK, to.parent)  # marimo keeps a session's outputs beside it
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "marimo",
            "export",
            "html",
            str(notebook),
            "-o",
            str(to),
            "--no-sandbox",
        ],
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert ran.returncode == 0, ran.stderr
    return to.read_text()


@pytest.mark.whole
def test_the_cells_run_in_order():
    program = f"""
import runpy
outputs, found = runpy.run_path({str(NOTEBOOK)!r})["app"].run()
assert [row[0] for row in found["answer"].fetchall()] == ["north", "south", "islands", None]
assert list(found["by_region"].columns) == ["region", "people", "salary"]
assert found["by_region"]["region"].to_list() == ["north", "south", "islands"]
assert 0.19 < found["answer"].result.epsilon <= 0.2
assert 0 < found["left"] < found["total"] < 2.0001
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.whole
def test_the_page_shows_error_bars_the_price_and_the_rest(page):
    for words in ("± 95 % · ε 0.2 spent", "is left.", "islands"):
        assert json.dumps(words)[1:-1] in page  # cells' outputs are in it as JSON
    assert "Traceback" not in page
