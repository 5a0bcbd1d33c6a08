"""A thread begins, or whoever starts it is told, and it runs nothing later."""

import _thread
import threading

import pytest

from sqlpriv.system import daemon_thread


def test_a_thread_runs():
    ran = threading.Event()
    daemon_thread.start_daemon(ran.set)
    assert ran.wait(10)


@pytest.mark.parametrize("late", [False, True])
def test_a_thread_that_does_not_begin_is_told_and_runs_nothing_later(monkeypatch, late):
    """Python's own start waits for it for ever."""
    ran, begun = threading.Event(), []
    monkeypatch.setattr(daemon_thread, "BEGINS_WITHIN", 0.05)
    monkeypatch.setattr(_thread, "start_new_thread", lambda begin, _: begun.append(begin))
    with pytest.raises(RuntimeError, match="no thread began"):
        daemon_thread.start_daemon(ran.set)
    if late:
        begun[0]()
    assert not ran.is_set()
