"""Work that is divided among threads: all of it is done, by whomever."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from sqlpriv.system import daemon_thread
from sqlpriv.system.daemon_thread import run_in_parts

ITEMS = 10_001


@pytest.fixture(autouse=True)
def _four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon_thread, "CORES", 4)
    monkeypatch.setattr(daemon_thread, "LEAST", 1_000)


def test_all_items_are_given_by_as_many_threads_at_once_as_there_are_cores() -> None:
    together = threading.Barrier(4, timeout=20)

    def give_sizes(part: int) -> list[int]:
        together.wait()
        return [part] * part

    sizes = run_in_parts(give_sizes, ITEMS)
    assert len(sizes) == ITEMS
    assert set(sizes) == {2_500, 2_501}


@pytest.mark.parametrize("items", [0, 1, 1_999])
def test_few_items_are_the_callers(items: int) -> None:
    threads = run_in_parts(lambda part: [threading.get_ident()] * part, items)
    assert threads == [threading.get_ident()] * items


def test_the_caller_does_what_no_thread_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, start = [], daemon_thread.start_daemon

    def start_one(run: Callable[[], object]) -> None:
        if begun:
            raise RuntimeError("no thread began")
        begun.append(run)
        start(run)

    monkeypatch.setattr(daemon_thread, "start_daemon", start_one)
    threads = run_in_parts(lambda part: [threading.get_ident()] * part, ITEMS)
    assert threads.count(threading.get_ident()) == 7_501
    assert len(threads) == ITEMS


def test_an_error_of_a_thread_is_the_callers() -> None:
    caller = threading.get_ident()

    def fail_elsewhere(part: int) -> list[int]:
        if threading.get_ident() != caller:
            raise ValueError("elsewhere")
        return [part]

    with pytest.raises(ValueError, match="elsewhere"):
        run_in_parts(fail_elsewhere, ITEMS)
