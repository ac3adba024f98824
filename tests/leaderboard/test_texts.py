"""Texts of the suites' test rows, for contamination checks."""

from __future__ import annotations

from pathlib import Path

from leaderboard.texts import test_files as files_of
from leaderboard.texts import test_texts as texts_of


def test_texts_of_kit19(kit: Path) -> None:
    texts = texts_of("kit19", kit)
    by_task = {text.task: [other.text for other in texts if other.task == text.task] for text in texts}
    assert by_task["kobest_copa"][:3] == ["비가 왔다.", "우산을 썼다.", "해가 떴다."]
    assert by_task["kobest_boolq"][:2] == ["서울에 비가 왔다.", "비가 왔나요?"]
    assert len(by_task["kobest_hellaswag"]) == 4 * 5 and "경제 새 소식" in by_task["klue_ynat"]
    assert {text.guid for text in texts if text.task == "klue_sts"} == {f"s{n}" for n in range(5)}
    assert len(files_of("kit19", kit)) == 6


def test_passages_are_cut_into_sentences(nine: Path, tmp_path: Path) -> None:
    texts = texts_of("leaderboard2", nine)
    assert {text.task for text in texts} == {path.stem for path in nine.iterdir()}
    (tmp_path / "kobest_boolq.csv").write_text(
        "paragraph,question,label\n비가 왔다. 눈도 왔다.,그런가요?,1\n", encoding="utf-8"
    )
    assert [(text.text, text.passage) for text in texts_of("kit19", tmp_path)] == [
        ("비가 왔다.", True), ("눈도 왔다.", True), ("그런가요?", False),
    ]  # fmt: skip


def test_what_is_absent_has_no_texts(tmp_path: Path) -> None:
    assert texts_of("kit19", tmp_path) == [] and files_of("leaderboard2", tmp_path) == []
    assert texts_of("instruct", tmp_path) == []
