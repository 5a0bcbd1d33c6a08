"""Where things lie in a checkout: the repository, its tests and the tables beside it."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The repository."""
TESTS = ROOT / "tests"
SHARED = ROOT.parent / "shared"
"""Real tables and the papers' numbers; tests that need them are skipped where they are not."""
