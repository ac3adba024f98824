"""Locks between open files of one process behave as those between processes."""

import pytest

from common.errors import UserError
from common.lock import locked


def test_one_at_a_time_or_all_that_share(tmp_path):
    folder = tmp_path / "new" / "folder"
    with locked(folder), pytest.raises(UserError, match=r"another command is at work in .*folder"), locked(folder):
        pass
    with locked(folder, share=True), locked(folder, share=True), pytest.raises(UserError), locked(folder):
        pass
    with locked(folder):  # given back, also after an error
        assert (folder / ".lock").read_bytes() == b""


def test_a_file_system_without_locks_is_said(tmp_path, monkeypatch, capfd):
    def refuse(*_):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("common.lock.fcntl.flock", refuse)
    with locked(tmp_path):
        assert "knows no locks" in capfd.readouterr().err
