"""What README, the tour and the examples show is what happens: every command and block is run."""

import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from support.forked_program import forked_program
from support.places import ROOT

README = (ROOT / "README.md").read_text()
TOUR = (ROOT / "docs" / "tour.md").read_text()
SQL = (ROOT / "docs" / "reference" / "sql.md").read_text()
DATA = ROOT.parent / "shared" / "data" / "acs2018_ny_income.parquet"

needs_data = pytest.mark.skipif(
    not DATA.exists(), reason="the census rows lie in ../shared/data, which is not here"
)


def blocks(page, language):
    """Returns the fenced blocks of a page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def commands(page):
    """Returns (command, the lines that the page shows below it) for every `$ ` in it."""
    parts = (re.split(r"^\$ ", block, flags=re.MULTILINE)[1:] for block in blocks(page, "console"))
    return [parted(part.replace("\\\n", "").splitlines()) for block in parts for part in block]


def parted(lines):
    """Parts a command, over as many lines as its quotes need, from the output below it."""
    for count in range(1, len(lines) + 1):
        command = "\n".join(lines[:count])
        if command.count('"') % 2 == 0:
            return command, lines[count:]
    raise AssertionError(f"a quote is open: {lines[0]}")


def shape(line):
    """A line without what noise and the clock change."""
    line = re.sub(r"-?\b\d[\d.,]*(e-?\d+)?|NULL", "#", line)
    line = line.replace("±#", "")  # a mean of nobody is NULL and has no half-width
    return re.sub(r"[─━]+", "─", " ".join(line.split()))


def run(command, cwd, stdin=""):
    words = shlex.split(command)
    assert words[0] == "sqlpriv", f"a page shows a command that this test cannot run: {command}"
    is_first = words == ["sqlpriv", "demo"]
    program = [sys.executable, "-m", "sqlpriv"] if is_first else [forked_program()]
    return subprocess.run(
        [*program, *words[1:]],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def finished_demo(tmp_path_factory):
    """What `sqlpriv demo` printed, and the directory in which it ran; it takes four seconds."""
    directory = tmp_path_factory.mktemp("demo")
    return run("sqlpriv demo", directory), directory


def agree(shown, found):
    """Tells whether the lines found have the shape of those shown; `…` stands for any lines."""

    def text(lines):
        return [f"{line}\n" for line in map(shape, lines) if line]

    parts = (r"(?:[^\n]*\n)*?" if line == "…\n" else re.escape(line) for line in text(shown))
    return re.fullmatch("".join(parts), "".join(text(found))) is not None


@pytest.mark.whole
def test_readme_and_the_tour(finished_demo, tmp_path):
    steps = commands(README), commands(TOUR)
    assert [len(each) >= 3 for each in steps] == [True, True]
    made, *asked = steps[0]  # one demo, of which both pages show a part
    made_again, *toured = steps[1]
    assert made[0] == made_again[0] == "sqlpriv demo"
    demo, directory = finished_demo
    shutil.copytree(directory, tmp_path, dirs_exist_ok=True)
    for command, shown in [made_again, *asked, *toured]:
        ran = demo if command == "sqlpriv demo" else run(command, tmp_path)
        refused = any(line.startswith("Refused: ") for line in shown)
        assert ran.returncode == int(refused), (command, ran.stderr)
        found = (ran.stdout + ran.stderr).splitlines()
        assert agree(shown, found), (command, "\n".join(found))
    for program in blocks(TOUR, "python"):
        ran = subprocess.run(
            [sys.executable, "-W", "error", "-c", program],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, ran.stderr
    for text in blocks(SQL, "sql"):
        ran = run("sqlpriv query sqlpriv-demo/people.duckdb --role owner", tmp_path, stdin=text)
        assert ran.returncode == 0, (text, ran.stderr)


def test_shapes_forgive_noise_and_nothing_else():
    assert agree(["n  ±", "───", " 12.5 ±3", "…"], ["n ±", "─", "-3 ±1.25", "more", "and more"])
    assert not agree(["n  ±"], ["m  ±"])
    assert not agree(["1 row"], ["1 row", "another"])


def test_the_two_commands_and_the_four_verbs_are_there():
    assert "pip install . && sqlpriv demo" in README
    assert 'pip install ".[test]" && pytest' in README
    for verb in ("check", "test", "slow", "mutants"):
        script = ROOT / "tests" / "verbs" / verb
        assert f"tests/verbs/{verb}" in README
        assert os.access(script, os.X_OK)
        subprocess.run(["bash", "-n", str(script)], check=True)
    ci = (ROOT / ".ci" / "run").read_text()
    assert 'pip install --quiet --disable-pip-version-check ".[test]"\npytest\n' in ci


PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/**/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_exist(page):
    for name in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / name).exists(), name


def test_the_architecture_page_names_every_folder():
    text = (ROOT / "docs" / "architecture.md").read_text()
    folders = {p.name for p in (ROOT / "sqlpriv").iterdir() if p.is_dir() and p.name[0] != "_"}
    assert folders == set(re.findall(r"`sqlpriv/(\w+)/`", text)) | {"kernel"}
    for folder in (ROOT / "sqlpriv" / "kernel").iterdir():
        if folder.is_dir() and folder.name[0] != "_":
            assert f"`{folder.name}/`" in text, folder.name


@pytest.mark.whole
def test_the_quickstart_runs():
    ran = example("quickstart.py")
    assert "again: epsilon 0.000" in ran


def test_the_dbapi_example_runs():
    shown = example("dbapi.py")
    assert "loaded 12000 visits" in shown
    assert "('n', 'BIGINT')" in shown
    assert 'the column "patient" is neither a key' in shown


@pytest.mark.whole
def test_the_tour_of_the_shell_runs(finished_demo, tmp_path):
    demo, directory = finished_demo
    assert demo.returncode == 0
    shutil.copytree(directory, tmp_path, dirs_exist_ok=True)
    tour = ROOT / "examples" / "shell_tour.sql"
    assert f"sqlpriv-demo/people.duckdb -f examples/{tour.name}" in TOUR
    ran = run(f"sqlpriv shell sqlpriv-demo/people.duckdb -f '{tour}'", tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.count("answered before, no charge") == 1
    assert "| SEX | n | hours |" in ran.stdout
    assert "Method: mst" in ran.stdout


@needs_data
@pytest.mark.whole
def test_the_census_example_runs(tmp_path):
    shown = example("ny_census.py", str(tmp_path))
    assert "synthetic rows" in shown
    assert (tmp_path / "ny.release.duckdb").exists()


@needs_data
@pytest.mark.whole
def test_the_census_example_runs_from_its_files(tmp_path):
    vault = tmp_path / "ny.duckdb"
    for arguments in (
        ["--role", "owner", "-f", "examples/ny_census_vault.sql"],
        ["-f", "examples/ny_census.sql"],
    ):
        ran = subprocess.run(
            [sys.executable, "-m", "sqlpriv", "query", str(vault), *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, ran.stderr
    assert "above_50k" in ran.stdout


@pytest.mark.whole
def test_the_client_example_asks_with_both_clients():
    pytest.importorskip("google.protobuf")
    shown = example("flight_client.py")
    assert "everybody: " in shown
    assert "neither a key nor in an aggregate" in shown
    pytest.importorskip("adbc_driver_flightsql")
    assert "'principal': 'ada', 'epsilon_left': 0.5" in shown


def example(name, *arguments):
    ran = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
