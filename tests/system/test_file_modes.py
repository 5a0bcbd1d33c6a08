"""Masks of files: of several at a time, and gone afterwards."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sqlpriv.system.file_modes import as_private_as


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    before = os.umask(0o002)
    yield
    assert os.umask(before) == 0o002


def mode_of_a_new(path: Path) -> int:
    path.touch()
    return stat.S_IMODE(path.stat().st_mode)


def test_while_several_are_held_the_strictest_of_each_bit_holds(tmp_path: Path) -> None:
    """In whatever order they end, as threads do."""
    group, others = tmp_path / "group", tmp_path / "others"
    for path, mode in ((group, 0o660), (others, 0o606)):
        path.touch()
        path.chmod(mode)
    first, second = as_private_as(group), as_private_as(others)
    first.__enter__()
    assert mode_of_a_new(tmp_path / "a") == 0o660
    second.__enter__()
    assert mode_of_a_new(tmp_path / "b") == 0o600
    first.__exit__(None, None, None)
    assert mode_of_a_new(tmp_path / "c") == 0o604  # what was masked before stays so
    second.__exit__(None, None, None)
    assert mode_of_a_new(tmp_path / "d") == 0o664


def test_beside_a_file_that_is_not_there_all_is_the_owners(tmp_path: Path) -> None:
    with suppress(ZeroDivisionError), as_private_as(tmp_path / "new"):
        assert mode_of_a_new(tmp_path / "a") == 0o600
        raise ZeroDivisionError
    assert mode_of_a_new(tmp_path / "b") == 0o664
