"""Attacks meet the program as it is: its reads are delayed."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _reads_are_delayed(delayed: None) -> None:
    """Has every read end later by a random time."""
