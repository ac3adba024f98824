"""`hunmin corpus plan`: its arithmetic worked out by hand, what it says of files, and what it refuses."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from common.errors import UserError
from data.deduplicate import limits
from data.deduplicate.limits import near_bytes, refuse_beyond, sentence_bytes
from data.deduplicate.settings import DeduplicateSettings
from hunmin.corpus_plan import Archive, Rates, Volume, corpus_plan, estimate
from hunmin.main import run_command
from hunmin.recipe import load_recipe

HOUR = 3600
RATES = Rates(
    unit=1e6,
    look=1e9,
    shards=10e6,
    serial={".gz": 4e6},
    keys=1e-6,
    twins=2e-6,
    report=3e-6,
    sign=20e6,
    bands=4e-6,
    like=5e-6,
    clusters=1e-7,
    leader=0.01,
    key_disk=30,
    near_disk=1000,
)


def hours(found, step):
    [one] = [one for one in found["steps"] if one["step"].startswith(step)]
    return one["hours"]


def test_hours_by_hand():
    volume = Volume(stored=36e9, text=36e9, units=4500, documents=14_400_000, ranged=36e9)
    found = estimate(volume, RATES, (1, 10))
    assert hours(found, "line") == pytest.approx({1: 36 / HOUR, 10: 3.6 / HOUR})
    assert hours(found, "units") == pytest.approx({1: 10.0, 10: 1.0})
    assert hours(found, "keys") == pytest.approx({1: 14.4 / HOUR, 10: 1.44 / HOUR})  # 36 groups of 128 parts
    assert found["partitions"] == 4  # 14.4 million in partitions of 4.19 million
    assert hours(found, "equal") == pytest.approx({1: 28.8 / HOUR, 10: 7.2 / HOUR})  # four cores at most
    assert hours(found, "report") == pytest.approx({1: 43.2 / HOUR, 10: 4.32 / HOUR})
    assert hours(found, "what one") == pytest.approx({1: 45 / HOUR, 10: 45 / HOUR})
    assert hours(found, "shards") == pytest.approx({1: 1.0, 10: 0.1})
    assert found["hours"][10] == pytest.approx(1.1 + (3.6 + 1.44 + 7.2 + 4.32 + 45) / HOUR)
    # text of 36 GB: a half in parts, a third in shards; 30 bytes of keys a document
    assert found["disk_bytes"] == pytest.approx(18e9 + 12e9 + 432e6)
    assert found["leader_bytes"] == pytest.approx(700e6 + 9e6 + 28.8e6)


def test_files_that_are_read_from_their_beginning_bound_the_time():
    one = Archive(".gz", 10e9, 40e9)
    volume = Volume(stored=10e9, text=40e9, units=5000, documents=1e6, archives=(one,))
    found = hours(estimate(volume, RATES, (1, 100)), "units")
    # 40 GB at 1 MB/s and 4 MB/s: 50,000 s; one reader gives 4 MB/s: 10,000 s
    assert found == pytest.approx({1: 50_000 / HOUR, 100: 10_000 / HOUR})
    many = Volume(10e9, 40e9, 5000, 1e6, archives=(Archive(".gz", 1e8, 4e8),) * 100)
    found = hours(estimate(many, RATES, (10, 1000)), "units")
    # a core's share is 1 GB: each is one task, all are shared; of 1,000 cores' share each is too large
    assert found == pytest.approx({10: 5_000 / HOUR, 1000: 10_000 / HOUR})


def test_near_copies_by_hand():
    volume = Volume(stored=36e9, text=36e9, units=4500, documents=14_400_000, ranged=36e9)
    found = estimate(volume, RATES, (1, 100), near=0.8)
    assert hours(found, "signatures, in") == pytest.approx({1: 0.5, 100: 0.005})
    assert hours(found, "signatures by") == pytest.approx({1: 57.6 / HOUR, 100: 57.6 / 36 / HOUR})  # 36 groups
    assert hours(found, "like") == pytest.approx({1: 72 / HOUR, 100: 72 / 72 / HOUR})  # 18 bands in 4 ranges each
    assert hours(found, "clusters") == pytest.approx({1: 1.44 / HOUR, 100: 1.44 / HOUR})
    assert found["disk_bytes"] == pytest.approx(18e9 + 12e9 + 432e6 + 14.4e9)
    # 2 bytes a document and 70 for each second one, beside what a task takes
    assert near_bytes(100e6) == pytest.approx(1.2e9 + 3.7e9)
    chosen = DeduplicateSettings(near=True)
    refuse_beyond(chosen, 100e6, 1e15, 5e9)
    with pytest.raises(UserError, match=r"100,000,000 documents take 4\.9 GB of memory"):
        refuse_beyond(chosen, 100e6, 1e15, 4.8e9)


def test_sentences_by_hand():
    assert sentence_bytes(165e9) == pytest.approx(1.2e9 + 4e9)
    for kind in ("sentences", "paragraphs"):
        chosen = DeduplicateSettings.model_validate({kind: True})
        refuse_beyond(chosen, None, 165e9, 5.3e9)
        with pytest.raises(UserError, match=rf"{kind} of 165 GB of text takes 5\.2 GB of memory"):
            refuse_beyond(chosen, None, 165e9, 5.1e9)
    refuse_beyond(DeduplicateSettings(), 1e12, 1e15, 1e9)


RECIPE = """
name: planned
out: OUT
corpus: {inputs: [INPUTS], unit_mb: 0.1, pii: {enabled: false}, decontaminate: {enabled: false}}
klue: {data: klue-benchmark}
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    lines = [json.dumps({"text": f"{n:05d}번 문서에 적힌 글이다."}, ensure_ascii=False) for n in range(10_000)]
    text = "\n".join(lines).encode()
    (folder / "a.jsonl").write_bytes(text)
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(text))
    (folder / "c.txt").write_text("짧은 파일이다.\n", encoding="utf-8")
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE.replace("OUT", str(tmp_path / "run")).replace("INPUTS", str(folder)), encoding="utf-8")
    return path


def test_a_recipe(recipe: Path):
    plan = corpus_plan(load_recipe(str(recipe), []), (4,))
    size = (recipe.parent / "in" / "a.jsonl").stat().st_size
    packed = (recipe.parent / "in" / "b.jsonl.gz").stat().st_size
    assert plan["files"] == 3
    assert plan["ways"]["ranges"] == {"files": 1, "stored_bytes": size}
    assert plan["ways"]["beginning"]["files"] == 2
    assert plan["not_sought"] == [{"path": str(recipe.parent / "in" / "b.jsonl.gz"), "stored_bytes": packed}]
    assert plan["text_bytes"] == pytest.approx(2 * size, rel=0.05)
    assert plan["units"] == pytest.approx(2 * size / 1e5, abs=2)
    assert plan["document_bytes"] == pytest.approx(35, abs=3)
    assert 20_000 <= plan["documents"] < 30_000  # JSON around the texts counts as text
    assert any("only be read from their beginning" in advice for advice in plan["advice"])


def test_the_command(recipe: Path, capsys: pytest.CaptureFixture[str]):
    assert run_command(["corpus", "plan", str(recipe)]) == 0
    shown = capsys.readouterr().out
    assert "units: cleaning to parts" in shown and "b.jsonl.gz" in shown
    assert run_command(["corpus", "plan", str(recipe), "--cores", "64", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["hours"]) == ["64"]
    assert not (recipe.parent / "run").exists()


def test_near_copies_among_too_many_are_refused_before_anything_is_built(recipe, capsys, monkeypatch):
    monkeypatch.setattr(limits, "BYTES_PER_DOCUMENT", 1e9)
    for command in ("plan", "build"):
        assert run_command(["corpus", command, str(recipe), "corpus.deduplicate.near=true"]) == 2
        assert "near copies among about" in capsys.readouterr().err
    assert not list((recipe.parent / "run").rglob("part-*"))
