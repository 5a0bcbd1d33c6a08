"""Where things lie in a checkout: the repository, its tests and the tables beside it."""

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The repository."""
TESTS = ROOT / "tests"
SHARED = ROOT.parent / "shared"
"""Real tables and the papers' numbers; tests that need them are skipped where they are not."""


def copy_vault(folder: Path, to: Path) -> None:
    """Copies a vault named people and all that lies beside it, kept models among it."""
    for path in folder.glob("people.*"):
        if path.is_dir():
            shutil.copytree(path, to / path.name)
        else:
            shutil.copy2(path, to / path.name)
