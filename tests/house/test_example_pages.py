"""Commands that pages show of the examples: each script is there and takes the options shown.

Short examples run in `test_docs.py`, Superset in a test of its own; of the papers' experiments,
which take hours, the one on means runs here with few people.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.places import ROOT, SHARED

EXAMPLES = ROOT / "examples"
PAGES = [
    ROOT / "README.md",
    *sorted(EXAMPLES.glob("**/README.md")),
    *(ROOT / "docs").glob("**/*.md"),
]
COMMAND = re.compile(r"^\s*(?:\S*python |marimo edit )?(examples/\S+\.(?:py|sh)\b.*?)(?: #.*)?$")
CODE = re.compile(r"^```sh\n(.*?)^```|`([^`\n]+)`", re.MULTILINE | re.DOTALL)
WIDEST = 80
"""Characters of a command in a tutorial: a page on a laptop shows about so many."""


def example_commands(page: Path) -> list[list[str]]:
    """Returns the words of each command of a page that runs an example, script first."""
    lines = [
        line
        for block, inline in CODE.findall(page.read_text())
        for line in (block or inline).replace("\\\n", " ").splitlines()
    ]
    return [shlex.split(match[1]) for line in lines if (match := COMMAND.match(line))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_script_is_there_and_takes_the_options_shown(page: Path) -> None:
    for script, *words in example_commands(page):
        text = (ROOT / script).read_text()
        for option in (word for word in words if word.startswith("--")):
            assert f'"{option.partition("=")[0]}"' in text, (script, option)


def test_the_index_names_every_example() -> None:
    index = (EXAMPLES / "README.md").read_text()
    scripts = [path for path in EXAMPLES.glob("*") if path.suffix == ".py"]
    runs = [*scripts, *EXAMPLES.glob("*/*.sh"), *EXAMPLES.glob("papers/*/run.py")]
    assert len(runs) > 9
    for path in (*runs, *EXAMPLES.glob("spark/*.py")):
        assert str(path.relative_to(ROOT)) in index, path


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "tutorials").glob("*.md")))
def test_commands_of_a_tutorial_are_seen_whole(page: Path) -> None:
    for block, _ in CODE.findall(page.read_text()):
        assert max(map(len, block.splitlines()), default=0) <= WIDEST, block


def run_example(script: str, *options: str) -> str:
    """Returns what an example prints, run from the repository's root as its page shows."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONSAFEPATH", None)  # a script finds the modules beside it
    done = subprocess.run(
        [sys.executable, script, *options],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_theorems_are_printed() -> None:
    assert "of the way from worst case to best" in run_example("examples/papers/strata/theorems.py")


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.exists(), reason="the reference files are not here")
def test_the_experiments_on_means_run_with_few_people(tmp_path: Path) -> None:
    small = "--rows 3000 --repetitions 1 --only SEX --mixture 1 --border 1 --jobs 1"
    folders = ["--parts", str(tmp_path / "parts"), "--out", str(tmp_path / "out")]
    run_example("examples/papers/means/run.py", *small.split(), *folders)
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"census.parquet", "numbers.txt", "figure2.svg", "figure8.svg"} <= written
