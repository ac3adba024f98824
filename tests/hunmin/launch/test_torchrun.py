"""What the commands that torchrun gets say, beyond the golden files."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs import job_of

from hunmin.launch.cluster import Cluster
from hunmin.launch.torchrun import idle_seconds

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize(("restarts", "minutes"), [(3, 16), (0, 6)])
def test_a_node_that_is_cut_off_ends_as_the_documents_say(restarts: int, minutes: int) -> None:
    job = job_of(Cluster(2, 8, address="n0:29500", hosts=("n0", "n1"), restarts=restarts))
    assert idle_seconds(job) == minutes * 60
    english, korean = (" ".join((DOCS / name).read_text("utf-8").split()) for name in ("cluster.md", "cluster.ko.md"))
    said = {
        3: ("it is ended 16 minutes after its processes have", "프로세스가 모두 끝나고 16분이 지나면"),
        0: ("six with `--restarts 0`", "`--restarts 0`이면 6분"),
    }
    assert said[restarts][0] in english and said[restarts][1] in korean
