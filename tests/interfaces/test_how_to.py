"""The how-tos and the page of dialects: each block of SQL, Python, commands or settings runs.

What a block cannot have here is left out by name: a server that runs on, a PostgreSQL, Java. The
logins in PostgreSQL of operations.md run in `tests/interfaces/server/test_server_database.py`.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.places import ROOT, copy_vault

import sqlpriv
from sqlpriv import dialect
from sqlpriv.interfaces.configuration.config_file import load_config
from sqlpriv.session.session import Session

DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.glob("how-to/*.md")), DOCS / "dialects.md"]
BLOCK = re.compile(r"^```(sh|python|sql|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ELSEWHERE = {
    "bi": ("ibis.",),
    "fairness": ("EVALUATE",),
    "operations": ("ROLE", "GRANT", "search_path"),
    "public-release": ("postgresql://", "CREATE OR REPLACE"),
    "server": ("pip install", "sqlpriv serve"),
    "spark": ("apt-get", "pip install", "serve.sh", "spark://"),
}
"""Page → what a line of a shell, a statement or a program has in it that only runs elsewhere: in
test_ibis.py, tests/engines, the server's tests, and the tutorials, which make and evaluate
synthetic tables."""
VAULT = """
CREATE TABLE people AS SELECT range AS id, 1 + range % 2 AS SEX, 1 + range % 9 AS RAC1P,
    1 + range % 6 AS ESR, range % 90 AS AGEP, range % 80 AS WKHP, (range % 700) * 100.0 AS PINCP
FROM range(900);
ALTER TABLE people SET PRIVACY (KEY (id), BOUND (rows_per_unit = 1), COLUMN SEX IN (1, 2) NOT NULL,
    COLUMN RAC1P BETWEEN (1, 9) NOT NULL, COLUMN ESR BETWEEN (1, 6), COLUMN AGEP BETWEEN (0, 99),
    COLUMN WKHP BETWEEN (0, 99), COLUMN PINCP BETWEEN (0, 100000));
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 9, delta = 1e-9);
CREATE TABLE visits AS SELECT range AS patient, DATE '2026-01-01' + (range % 300)::INTEGER AS day
FROM range(900);
ALTER TABLE visits SET PRIVACY (KEY (patient), BOUND (rows_per_unit = 1),
    COLUMN day BETWEEN (DATE '2026-01-01', DATE '2026-12-31'));
ALTER TABLE visits SET PRIVACY BUDGET (epsilon = 3, delta = 1e-9);
CREATE TABLE salaries AS FROM visits;
CREATE SYNTHETIC TABLE people_synth AS SELECT SEX, RAC1P, ESR FROM people
    USING independent OPTIONS (epsilon = 1);
"""


@pytest.fixture(scope="module")
def declared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("how-to")
    with Session(folder / "people.duckdb", role="owner") as owner:
        owner.execute(VAULT)
    return folder


@pytest.mark.whole
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_runs(
    declared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: Path
) -> None:
    copy_vault(declared, tmp_path)
    monkeypatch.chdir(tmp_path)
    for language, text in BLOCK.findall(page.read_text()):
        match language:
            case "sql":
                with Session(Path("people.duckdb"), role="owner") as owner:
                    for statement in runnable(page, dialect.split(text)):
                        owner.execute(statement)
            case "python":
                for program in runnable(page, [text]):
                    exec(program, {"sqlpriv": sqlpriv})
            case "sh":
                run_commands("\n".join(runnable(page, text.splitlines())), tmp_path)
            case _:
                Path("sqlpriv.toml").write_text(text)
                assert load_config().connections


def runnable(page: Path, parts: list[str]) -> list[str]:
    """Returns the parts of a block that run here."""
    elsewhere = ELSEWHERE.get(page.stem, ())
    return [part for part in parts if not any(word in part for word in elsewhere)]


def run_commands(text: str, folder: Path) -> None:
    """Runs lines of a shell in which `sqlpriv` is this one."""
    program = folder / "bin" / "sqlpriv"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m sqlpriv "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-e", "-c", text],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"{text}\n{done.stderr}"
