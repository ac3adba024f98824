"""What `hunmin run` would refuse is refused before a job stands in a queue."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from jobs import job_of

from common.errors import UserError
from hunmin.launch.checks import check_run, refusal, warnings
from hunmin.launch.cluster import Cluster
from hunmin.launch.start import emit, start

KEY = "HUNMIN_PII_KEY"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(KEY, raising=False)


def test_inputs_that_are_not_there_are_refused_where_they_can_be_known() -> None:
    asked = Cluster(image="a", claim="x:/y")
    job = job_of(Cluster())
    for launcher in ("slurm", "torchrun", "deepspeed", "xla", "local"):
        with pytest.raises(UserError, match="nothing found at a"):
            check_run(launcher, job)
        with pytest.raises(UserError, match="nothing found at a"):
            start(launcher, job, emit(launcher, job))
    assert not Path("runs").exists()
    check_run("kubernetes", job_of(asked))  # pods see other files
    Path("a").write_text("가")
    Path("klue").mkdir()
    assert "klue" in refusal("slurm", job)  # no file in it
    (Path("klue") / "x.json").write_text("{}")
    assert refusal("slurm", job) == ""
    assert "keys.env: no such file" in refusal("slurm", job_of(Cluster(environment="keys.env")))


def test_of_inputs_elsewhere_nothing_is_known_and_of_those_here_all_the_same() -> None:
    Path("klue").mkdir()
    (Path("klue") / "x.json").write_text("{}")
    for far in ("https://text.example.com/a.jsonl", "hf:me/texts"):
        job = job_of(Cluster())
        job.recipe.corpus.inputs[:] = [far]
        assert refusal("slurm", job) == ""
        job.recipe.corpus.inputs[:] = [far, "b.jsonl"]
        assert "nothing found at b.jsonl" in refusal("slurm", job)
    (Path("klue") / "x.json").unlink()
    job.recipe.corpus.inputs[:] = [far]
    assert "klue" in refusal("slurm", job)


def test_a_key_that_does_not_reach_the_run_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pods, named = Cluster(image="a", claim="x:/y"), Cluster(environment="keys.env")
    for launcher, cluster, remedy in (
        ("slurm", Cluster(), "--environment"),
        ("torchrun", Cluster(), "export it"),
        ("kubernetes", pods, "a Secret"),
    ):
        (warning,) = warnings(launcher, job_of(cluster))
        assert KEY in warning and remedy in warning
    Path("keys.env").write_text(f"# {KEY}=x\nOTHER=1\n{KEY}=\n")
    assert warnings("slurm", job_of(named))
    Path("keys.env").write_text(f"OTHER=1\nexport {KEY}='{'0' * 32}'\n")
    assert not warnings("slurm", job_of(named))
    assert not warnings("kubernetes", job_of(replace(pods, environment="keys")))  # what a Secret holds is not asked
    monkeypatch.setenv(KEY, "0" * 32)
    assert not warnings("slurm", job_of(Cluster())) and warnings("kubernetes", job_of(pods))
