"""`hunmin corpus plan`: its arithmetic worked out by hand, what it says of files, and what it refuses."""

import gzip
import json
from pathlib import Path

import pytest

from common.errors import UserError
from data.deduplicate import limits
from data.deduplicate.limits import near_bytes, refuse_beyond, sentence_bytes
from data.deduplicate.settings import DeduplicateSettings
from data.estimate import MOST_UNITS, Archive, Volume, _advice, estimate
from hunmin.main import run_command

HOUR = 3600
RATES = {
    "unit": 1e6, "look": 1e9, "shards": 10e6, "sign": 20e6, ".gz": 4e6,
    "keys": 1e-6, "twins": 2e-6, "report": 3e-6, "bands": 4e-6, "like": 5e-6, "clusters": 1e-7, "end": 0.01,
}  # fmt: skip
LARGE = Volume(text=36e9, units=4500, documents=14_400_000, ranged=36e9)


def hours(plan, step):
    [row] = [row for row in plan["steps"] if row["step"].startswith(step)]
    return [value * HOUR for value in row["hours"].values()]


def test_hours_by_hand():
    plan = estimate(LARGE, (1, 10, 100), near=0.8, rates=RATES)
    for step, seconds in {
        "line": (36, 3.6, 0.36),
        "units": (36_000, 3600, 360),
        "keys": (14.4, 1.44, 14.4 / 36),  # 36 groups of 128 parts
        "equal": (28.8, 7.2, 7.2),  # 14.4 million in 4 partitions of 4.19 million
        "signatures, in": (1800, 180, 18),
        "signatures by": (57.6, 5.76, 57.6 / 36),
        "like": (72, 7.2, 1),  # 18 bands in 4 ranges each
        "clusters": (1.44, 1.44, 1.44),
        "report": (43.2, 4.32, 43.2 / 36),
        "single-process": (45, 45, 45),
        "shards": (3600, 360, 36),
    }.items():
        assert hours(plan, step) == pytest.approx(seconds), step
    assert plan["hours"][10] * HOUR == pytest.approx(sum(hours(plan, row["step"])[1] for row in plan["steps"]))
    # text of 36 GB: a half in parts, a third in shards; 30 and 1,260 bytes a document
    assert plan["disk_bytes"] == pytest.approx(18e9 + 12e9 + 432e6 + 18.144e9)
    # 2,000 bytes a unit, 2 a document; of near copies 1.2 GB, 2 bytes a document and 70 for each second one
    assert plan["leader_bytes"] == pytest.approx(700e6 + 9e6 + 28.8e6 + 1.2e9 + 37 * 14.4e6)
    exact = estimate(LARGE, (1,), rates=RATES)
    assert len(exact["steps"]) == 7 and exact["disk_bytes"] == pytest.approx(30e9 + 432e6)
    neither = estimate(LARGE, (1,), exact=False, rates=RATES)
    assert len(neither["steps"]) == 4 and neither["disk_bytes"] == pytest.approx(30e9)


@pytest.mark.parametrize(
    ("archives", "seconds"),
    [
        # 40 GB at 1 MB/s and 4 MB/s: 50,000 s; one reader gives 4 MB/s: 10,000 s
        ((Archive(".gz", 10e9, 40e9),), (50_000, 10_000, 10_000)),
        # a hundredth of it is one task of 500 s to ten cores; to a thousand it is larger than half a share
        ((Archive(".gz", 1e8, 4e8),) * 100, (50_000, 5_000, 10_000)),
        # 38 GB in one file, 2 GB in 200: one core works 12.5 s on each of these
        ((Archive(".gz", 9.5e9, 38e9), *[Archive("", 1e7, 1e7)] * 200), (49_500, 9_500, 9_500)),
    ],
)
def test_files_that_are_read_from_their_beginning_bound_the_time(archives, seconds):
    volume = Volume(text=40e9, units=5000, documents=1e6, archives=archives)
    assert hours(estimate(volume, (1, 10, 1000), rates=RATES), "units") == pytest.approx(seconds)


def test_memory_that_is_not_there_is_refused():
    assert near_bytes(100e6) == pytest.approx(1.2e9 + 3.7e9)
    assert sentence_bytes(165e9) == pytest.approx(1.2e9 + 4e9)
    for kind, documents, text, said in (
        ("near", 100e6, 1e15, r"100,000,000 documents take 4\.9 GB of memory"),
        ("sentences", None, 165e9, r"sentences of 165 GB of text takes 5\.2 GB of memory"),
        ("paragraphs", None, 165e9, r"paragraphs of 165 GB of text takes 5\.2 GB of memory"),
    ):
        chosen = DeduplicateSettings.model_validate({kind: True})
        refuse_beyond(chosen, documents, text, 5.3e9)
        with pytest.raises(UserError, match=said):
            refuse_beyond(chosen, documents, text, 4.8e9)
    refuse_beyond(DeduplicateSettings(), 1e12, 1e15, 1e9)


def test_too_many_units_are_advised_against():
    assert "set corpus.unit_mb=16" in _advice(Volume(1e12, MOST_UNITS + 1, 1.0), 8_000_000, 1)[0]


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    lines = [json.dumps({"text": f"{n:05d}번 문서에 적힌 글이다."}, ensure_ascii=False) for n in range(10_000)]
    text = "\n".join(lines).encode()
    (folder / "a.jsonl").write_bytes(text)
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(text))
    (folder / "c.txt").write_text("짧은 파일이다.\n", encoding="utf-8")
    corpus = {"inputs": [str(folder)], "unit_mb": 0.1, "pii": {"enabled": False}, "decontaminate": {"enabled": False}}
    path = tmp_path / "recipe.yaml"
    path.write_text(json.dumps({"name": "planned", "out": str(tmp_path / "run"), "corpus": corpus}), encoding="utf-8")
    return path


def test_the_command(recipe: Path, capsys: pytest.CaptureFixture[str]):
    assert run_command(["corpus", "plan", str(recipe)]) == 0
    shown = capsys.readouterr().out
    assert "units: cleaning to parts" in shown and "b.jsonl.gz" in shown
    assert run_command(["corpus", "plan", str(recipe), "--cores", "4", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    size, packed = ((recipe.parent / "in" / name).stat().st_size for name in ("a.jsonl", "b.jsonl.gz"))
    assert (plan["files"], list(plan["hours"])) == (3, ["4"])
    assert plan["ways"]["ranges"] == {"files": 1, "stored_bytes": size}
    assert plan["ways"]["beginning"]["files"] == 2
    assert plan["not_sought"] == [{"path": str(recipe.parent / "in" / "b.jsonl.gz"), "stored_bytes": packed}]
    assert plan["text_bytes"] == pytest.approx(2 * size, rel=0.05)
    assert plan["units"] == pytest.approx(2 * size / 1e5, abs=2)
    assert plan["document_bytes"] == pytest.approx(35, abs=3)
    assert 20_000 <= plan["documents"] < 30_000  # JSON around the texts counts as text
    assert any("only be read from their beginning" in advice for advice in plan["advice"])
    assert not (recipe.parent / "run").exists()


def test_near_copies_among_too_many_are_refused_before_anything_is_built(recipe, capsys, monkeypatch):
    monkeypatch.setattr(limits, "BYTES_PER_DOCUMENT", 1e9)
    for command in ("plan", "build"):
        assert run_command(["corpus", command, str(recipe), "corpus.deduplicate.near=true"]) == 2
        assert "near copies among about" in capsys.readouterr().err
    assert not list((recipe.parent / "run").rglob("part-*"))
