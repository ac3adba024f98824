"""Ends of processes."""

import os
import signal

import pytest

from common.process import Terminated, end_on_sigterm


def test_sigterm_unwinds_as_ctrl_c_does():
    before = signal.getsignal(signal.SIGTERM)
    undone = []
    try:
        end_on_sigterm()
        with pytest.raises(Terminated):
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                signal.pause()
            except Exception:
                undone.append("taken for a fault")
            finally:
                undone.append("undone")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert undone == ["undone"]
