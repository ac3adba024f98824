"""`hunmin corpus train-perplexity` and `train-quality`: from folders to models that a corpus is filtered by."""

import json
import random
from pathlib import Path

import pytest

from data.corpus import CorpusSettings, build_corpus
from data.filter_models.texts import cleaned_texts
from data.shards import read_shards
from hunmin.main import run_command

WORDS = ["우리는", "어제", "학교에서", "밥을", "먹었다.", "그리고", "책을", "읽었다.", "친구가", "왔다."]
SPAM = ["무료쿠폰", "지금", "클릭", "대박할인", "선착순", "증정"]


def write(folder: Path, words: list[str], count: int, seed: int) -> Path:
    folder.mkdir(exist_ok=True)
    draw = random.Random(seed)
    texts = [" ".join(draw.choices(words, k=draw.randrange(20, 40))) for _ in range(count)]
    (folder / "texts.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts), encoding="utf-8")
    return folder


def test_models_are_trained_from_folders_and_filter_a_corpus(tmp_path, capsys):
    good, bad = write(tmp_path / "good", WORDS, 300, 1), write(tmp_path / "bad", SPAM, 200, 2)
    assert run_command(["corpus", "train-perplexity", str(good), "--out", str(tmp_path / "p"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["documents"] == 285
    pytest.importorskip("sklearn")
    command = ["corpus", "train-quality", "--good", str(good), "--bad", str(bad), "--out", str(tmp_path / "q")]
    assert run_command(command) == 0
    assert "roc_auc: 1.0" in capsys.readouterr().err
    new = write(tmp_path / "new", WORDS, 20, 3)
    with (new / "texts.jsonl").open("a", encoding="utf-8") as stream:
        draw = random.Random(4)
        stream.writelines("\n" + json.dumps({"text": " ".join(draw.choices(SPAM, k=30))}) for _ in range(5))
    for filters in ([{"perplexity": {"model": str(tmp_path / "p")}}], [{"quality": {"model": str(tmp_path / "q")}}]):
        out = tmp_path / next(iter(filters[0]))
        out.mkdir()
        tree = {
            "inputs": [str(new)], "filters": filters, "keep_scores": True, "workers": 1,
            "pii": {"enabled": False}, "decontaminate": {"enabled": False},
        }  # fmt: skip
        build_corpus(CorpusSettings.model_validate(tree), out)
        assert sum(batch.num_rows for batch in read_shards(out)) == 20
        assert len((out / "filtered.jsonl").read_text().splitlines()) == 5


def test_texts_are_cleaned_and_each_comes_once(tmp_path):
    (tmp_path / "a.txt").write_text("<b>글</b>이 있다.\n글이 있다.\n \n다른 글.\n", encoding="utf-8")
    assert cleaned_texts([str(tmp_path)]) == ["글이 있다.", "다른 글."]


def test_mistakes_are_told_without_a_traceback(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("글\n", encoding="utf-8")
    assert run_command(["corpus", "train-perplexity", str(tmp_path / "none"), "--out", str(tmp_path / "p")]) == 2
    assert run_command(["corpus", "train-perplexity", str(tmp_path / "a.txt"), "--out", str(tmp_path / "p")]) == 2
    assert "too few" in capsys.readouterr().err and not (tmp_path / "p").exists()
    assert run_command(["corpus", "train-perplexity", str(tmp_path / "a.txt"), "--out", str(tmp_path / "a.txt")]) == 2
    assert "is no filter model" in capsys.readouterr().err and (tmp_path / "a.txt").read_text("utf-8") == "글\n"
