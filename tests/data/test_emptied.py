"""A source or an input that leaves no document is told at the end, by name and by the rule that took most."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from common.errors import UserError
from data.statistics.report import warnings_of
from hunmin.commands.corpus import app

from .building import OFF, build, settings
from .readers.test_warc import record
from .test_kinds_of_inputs import TEXTS

KEPT = "\n".join(TEXTS)


def emptied(folder: Path, files: dict[str, str | bytes], **changes: Any) -> dict[str, dict[str, int]]:
    """Build a corpus of some files beside one that is kept; return what is told of those that leave nothing."""
    (folder / "kept.txt").write_text(KEPT, encoding="utf-8")
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    inputs = [folder / "kept.txt", *(folder / name for name in files)]
    build(settings(*inputs, **{"pii": OFF, "unit_mb": 1, "max_reject_share": 0.9, **changes}), folder / "out")
    statistics = json.loads((folder / "out" / "statistics.json").read_bytes())
    warnings = warnings_of(statistics)
    assert len(warnings) == len(statistics["emptied"])
    assert all(
        f"no document is left of '{name}'" in line for name, line in zip(statistics["emptied"], warnings, strict=True)
    )
    reasons: dict[str, dict[str, int]] = statistics["emptied"]
    return reasons


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        ("a.txt", "No Hangul here.\nNor in this line.\n", {"a": {"cleaning min_hangul_share": 2}}),
        ("a.txt", "\u200b\n\u200b\n", {"a": {"cleaning no text": 2}}),
        ("a.txt", KEPT, {"a": {"duplicates": 12}}),
        ("a.jsonl", '{"text": null}\n{"text": null}\n', None),
        ("a.jsonl", "no json\nat all\n", None),
        ("a.txt", "", None),
        ("a.warc", record(b"x", "request"), None),
    ],
)
def test_what_takes_all_of_a_source_is_told(tmp_path, name, content, rule):
    others = {
        "a.jsonl": {name: {"no text": 2}} if b"null" in str(content).encode() else {name: {"not JSON": 2}},
        "a.txt": {name: {"no record in it": 1}},
        "a.warc": {name: {"request record": 1}},
    }
    assert emptied(tmp_path, {name: content}) == (rule or others[name])


def test_filters_and_the_mixture_are_named(tmp_path):
    short = {"a.jsonl": "\n".join(json.dumps({"text": f"짧은 글 {n}이다.", "source": "talk"}) for n in range(4))}
    assert emptied(tmp_path, short, filters=[{"length": {"min_chars": 20}}]) == {"talk": {"filter length": 4}}
    (tmp_path / "more").mkdir()
    mixture = {"sources": {"talk": {"epochs": 0}}}
    assert emptied(tmp_path / "more", short, mixture=mixture) == {"talk": {"mixture": 4}}


def test_the_rule_that_took_most_documents_comes_first(tmp_path):
    lines = ["Latin only.", "More of it.", "And more.", *TEXTS[:2]]
    emptied(tmp_path, {"a.txt": "\n".join(lines)})
    (line,) = warnings_of(json.loads((tmp_path / "out" / "statistics.json").read_bytes()))
    assert "(cleaning min_hangul_share: 3, duplicates: 2)" in line


def test_a_named_input_is_told_by_its_name_and_one_with_a_document_is_not(tmp_path):
    (tmp_path / "in").mkdir()
    for number in range(2):
        (tmp_path / "in" / f"{number}.txt").write_text("")
    (tmp_path / "kept.txt").write_text(KEPT, encoding="utf-8")
    source = {"path": str(tmp_path / "in"), "name": "편지"}
    build(settings(tmp_path / "kept.txt", source, pii=OFF), tmp_path / "out")
    statistics = json.loads((tmp_path / "out" / "statistics.json").read_bytes())
    assert statistics["emptied"] == {"편지": {"no record in it": 1}}
    (tmp_path / "in" / "0.txt").write_text("편지의 글을 여기에 적었다.\n", encoding="utf-8")
    build(settings(tmp_path / "kept.txt", source, pii=OFF), tmp_path / "again")
    assert json.loads((tmp_path / "again" / "statistics.json").read_bytes())["emptied"] == {}


def test_a_source_lost_to_the_benchmark_is_told(tmp_path):
    texts = [f"아주 긴 {number}번째 기사의 제목은 오늘도 새로운 소식을 멀리 전한다." for number in range(3)]
    gold = [json.dumps({"text": text, "task": "ynat", "guid": f"g{n}"}) for n, text in enumerate(texts)]
    (tmp_path / "bench.jsonl").write_text("\n".join(gold), encoding="utf-8")
    reasons = emptied(tmp_path, {"a.txt": "\n".join(texts)}, decontaminate={"benchmark": str(tmp_path / "bench.jsonl")})
    assert reasons == {"a": {"only benchmark sentences": 3}}


def test_an_empty_corpus_says_what_was_passed_over(tmp_path):
    (tmp_path / "a.warc").write_bytes(record(b"x", "metadata"))
    with pytest.raises(UserError, match=r"no document was read .*passed over: metadata record: 1"):
        build(settings(tmp_path / "a.warc", pii=OFF), tmp_path / "out")


def test_the_statistics_of_a_corpus_say_so_again(tmp_path):
    emptied(tmp_path, {"a.txt": "No Hangul here.\n"})
    shown = CliRunner().invoke(app, ["stats", str(tmp_path / "out")])
    assert shown.exit_code == 0 and "no document is left of 'a'" in " ".join(shown.output.split())
