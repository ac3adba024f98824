"""A job run by hand: `python -m klue.job`."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from klue.job import main
from tests.klue.test_finetune import make_jobs

ROOT = Path(__file__).parents[2]


@pytest.fixture
def job(benchmark, tiny_roberta, tmp_path):
    (job,) = make_jobs(benchmark, tiny_roberta, tmp_path, tasks=["ynat"])
    path = tmp_path / "job.json"
    path.write_text(job.model_dump_json())
    return job, path


def test_a_job_by_hand(job):
    job, path = job
    assert main([str(path)]) == 0
    assert json.loads((Path(job.out) / "result.json").read_bytes())["fingerprint"] == job.fingerprint


def test_a_job_whose_features_are_gone(job, capfd):
    """They go when the stage ends; its job files stay."""
    job, path = job
    shutil.rmtree(job.features)
    assert main([str(path)]) == 2
    said = capfd.readouterr().err
    assert "are gone" in said and "hunmin klue finetune" in said and "Traceback" not in said


@pytest.mark.parametrize(
    ("content", "message"), [("{", "describes no job"), ("[]", "describes no job"), (None, "No such")]
)
def test_no_job(content, message, tmp_path, capfd):
    path = tmp_path / "job.json"
    if content is not None:
        path.write_text(content)
    assert main([str(path)]) == 2
    assert message in capfd.readouterr().err


def test_without_a_file_there_is_one_message():
    done = subprocess.run([sys.executable, "-m", "klue.job"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "it takes one, the file of a job" in done.stderr
    assert "Traceback" not in done.stderr
