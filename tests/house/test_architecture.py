"""The shape of the house: which way imports point, what is light, how much an auditor reads."""

import os
import shutil
import subprocess
import sys

import pytest
from mutants import MUTANTS
from support.places import ROOT

import sqlpriv

PACKAGE = ROOT / "sqlpriv"
HEAVY = {
    "duckdb",
    "numpy",
    "opendp",
    "jax",
    "mbi",
    "pandas",
    "pyarrow",
    "polars",
    "sqlglot",
    "rich",
    "click",
    "prompt_toolkit",
    "scipy",
}


def lint(root):
    """Returns the exit code and the words of import-linter on the package under a root."""
    program = "from importlinter.cli import lint_imports_command as lint; lint()"
    config = str(ROOT / "pyproject.toml")
    done = subprocess.run(
        [sys.executable, "-c", program, "--config", config, "--no-cache"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def test_imports_point_one_way():
    code, words = lint(ROOT)
    assert code == 0, words


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("kernel/terms/algebra.py", "import pandas", "The kernel stays small enough to audit"),
        ("kernel/terms/budget.py", "import sqlpriv.plan", "Imports point one way"),
        ("plan/planner.py", "import sqlpriv.kernel.reader", "Only the gate reads"),
        ("kernel/gate.py", "import sqlpriv.kernel.engine", "Only the reader attaches"),
        ("kernel/sql/queries.py", "import sqlpriv.kernel.proof.noise", "Only the gate reads"),
        ("plan/planner.py", "import sqlglot", "Only the dialect knows sqlglot"),
        ("answer/rows.py", "def late():\n    import jax", "Only the synthesizers load jax"),
    ],
)
def test_a_forbidden_import_is_noticed(tmp_path, module, line, broken):
    shutil.copytree(PACKAGE, tmp_path / "sqlpriv", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "sqlpriv" / module).open("a") as file:
        file.write(f"\n{line}\n")
    code, words = lint(tmp_path)
    assert code == 1
    assert any(broken in row and "BROKEN" in row for row in words.splitlines()), words


def modules(statement):
    """Returns the names of all modules that a statement loads, in a process of its own."""
    program = f"import sys\n{statement}\nprint(*sys.modules, sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def imported(statement):
    """Returns the heavy packages that a statement loads."""
    return HEAVY & {name.split(".")[0] for name in modules(statement)}


def test_importing_sqlpriv_loads_nothing_heavy():
    assert imported("import sqlpriv") == set()
    assert imported("import sqlpriv; sqlpriv.connect; sqlpriv.Refused('x')") == set()


def test_the_check_for_weight_can_fail():
    assert "numpy" in imported("import sqlpriv, numpy")


def test_an_open_vault_has_loaded_nothing_that_only_synthesizers_use(tmp_path):
    vault = str(tmp_path / "x.duckdb")
    loaded = modules(
        f"import sqlpriv; sqlpriv.connect({vault!r}, role='owner').execute('SELECT 1')"
    )
    assert "duckdb" in loaded
    assert not loaded & {"jax", "mbi", "pandas", "scipy"}
    assert not loaded & {"sqlpriv.synth.registry", "sqlpriv.evaluate.evaluation"}


def test_help_is_shown_without_the_engine():
    assert imported("import sqlpriv.interfaces.cli.main") == {"click"}


def test_importing_takes_a_moment():
    """At most 0.5 s of a processor more than Python itself, in the best of three tries."""

    def seconds(program):
        begun = os.times()
        subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
        ended = os.times()
        return sum(ended[2:4]) - sum(begun[2:4])  # of children

    assert min(seconds("import sqlpriv") - seconds("pass") for _ in range(3)) < 0.5


def test_the_public_names_are_sorted_and_there():
    assert sqlpriv.__all__ == sorted(sqlpriv.__all__)
    for name in sqlpriv.__all__:
        assert getattr(sqlpriv, name) is not None, name
    public = {name for name in vars(sqlpriv) if name[0] != "_" and name[0].isupper()}
    assert public <= set(sqlpriv.__all__) | {"TYPE_CHECKING", "Any"}


def test_every_error_of_the_tree_is_public():
    from sqlpriv import errors

    tree = {name for name, kind in vars(errors).items() if isinstance(kind, type)}
    assert tree == {name for name in sqlpriv.__all__ if hasattr(errors, name)}


def test_every_mutant_is_of_the_code_that_is():
    """Code that was moved or written anew takes its mutant along: a lost one tests nothing."""
    counts = {m.what: (ROOT / m.file).read_text().count(m.old) for m in MUTANTS}
    assert {what: n for what, n in counts.items() if n != 1} == {}


def test_the_top_level_is_as_designed():
    """Only what git knows counts: whoever works here may have files of their own."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("this is no git checkout")
    found = {name.split("/")[0] for name in listed.stdout.split("\n") if name}
    dotfiles = {name for name in found if name.startswith(".")}
    assert found - dotfiles == {
        "CHANGELOG.md",
        "CITATION.cff",
        "CONTRIBUTING.md",
        "LICENSE",
        "README.md",
        "SECURITY.md",
        "docs",
        "examples",
        "pyproject.toml",
        "sqlpriv",
        "tests",
        "udfs",
    }
    assert dotfiles <= {".ci", ".gitignore", ".pre-commit-config.yaml"}
