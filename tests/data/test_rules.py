"""Parts that other rules have made are not taken up: the rules are changed in a copy of the code, between two runs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from common.code import code_hash
from common.rules import RULES
from data.benchmark import BenchmarkSentence
from data.corpus import CorpusSettings, _unit_work
from data.decontaminate.matcher import Decontaminator

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from pathlib import Path
from data import corpus
if sys.argv[2] == "stop":
    def assemble(*arguments):
        raise SystemExit(0)
    corpus.assemble = assemble
if __name__ == "__main__":
    inputs, rules = [str(Path("in"))], {"enabled": False}
    settings = {"inputs": inputs, "decontaminate": rules, "pii": rules, "workers": 1}
    corpus.build_corpus(corpus.CorpusSettings.model_validate(settings), Path(sys.argv[1]))
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in ("common", "data"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.jsonl").write_text(
        json.dumps({"text": "오늘은 날씨 이야기를 한다. #날씨 #비"}) + "\n", encoding="utf-8"
    )
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    return tmp_path


def build(copy: Path, stop: bool = False) -> None:
    command = [sys.executable, "program.py", "out", "stop" if stop else "go"]
    subprocess.run(command, cwd=copy, env={**os.environ, "PYTHONPATH": str(copy)}, check=True, timeout=120)


def parts(copy: Path) -> dict[str, int]:
    return {str(path.relative_to(copy)): path.stat().st_ino for path in copy.glob("out/.work/*/part-*.parquet")}


@pytest.mark.slow
def test_parts_of_older_rules_are_not_taken_up(copy: Path) -> None:
    build(copy, stop=True)
    before = parts(copy)
    assert len(before) == 1
    rules = copy / "data/cleaning/marks.py"
    source = rules.read_text(encoding="utf-8")
    rules.write_text(source.replace("_HASHTAGS", "_TAGS"), encoding="utf-8")
    build(copy, stop=True)
    assert parts(copy) == before, "another name, the same rules"
    mended = source.replace("_HASHTAGS.sub(_without_hashtags, text)", "text")
    assert mended != source
    rules.write_text(mended, encoding="utf-8")
    numbers = copy / "common/rules.py"
    text = numbers.read_text(encoding="utf-8")
    numbers.write_text(text.replace('"corpus": {', '"corpus": {99: "hashtags stay", '), encoding="utf-8")
    build(copy)
    rows = pq.read_table(next(copy.glob("out/shards/*.parquet"))).to_pylist()
    assert [row["sentences"] for row in rows] == [["오늘은 날씨 이야기를 한다.", "#날씨 #비"]]


MODULE = '''"""A module."""

LIMIT = 10  # a number
TEXT = """
# no comment

"""


def f(x: int) -> int:
    """Say what it does."""
    return x + LIMIT
'''


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ('"""A module."""', '"""A module\n\nof two lines."""', True),
        ('"""Say what it does."""', "# says what it does", True),
        ("\n\n\ndef", "\n\n\n\n# f\ndef", True),
        ("x + LIMIT", "x - LIMIT", False),
        ("# no comment", "# another text", False),
        ("LIMIT = 10", "LIMIT = 11", False),
    ],
)
def test_a_hash_covers_what_is_done_and_nothing_that_is_said_of_it(
    old: str, new: str, same: bool, tmp_path: Path
) -> None:
    (tmp_path / "before").mkdir()
    (tmp_path / "after").mkdir()
    (tmp_path / "before/m.py").write_text(MODULE, encoding="utf-8")
    assert old in MODULE
    (tmp_path / "after/m.py").write_text(MODULE.replace(old, new), encoding="utf-8")
    assert (code_hash(tmp_path / "before/m.py") == code_hash(tmp_path / "after/m.py")) is same


def test_a_folder_is_all_of_its_modules(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "p/q").mkdir(parents=True)
        (tmp_path / name / "p/q/m.py").write_text("x = 1\n")
    assert code_hash(tmp_path / "one/p") == code_hash(tmp_path / "two/p")
    (tmp_path / "two/p/n.py").write_text("")
    code_hash.cache_clear()
    assert code_hash(tmp_path / "one/p") != code_hash(tmp_path / "two/p")


def test_parts_do_not_depend_on_where_the_benchmark_lies(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "오늘은 날씨 이야기를 한다."}) + "\n", encoding="utf-8")
    row = {"text": "시험에 나오는 문장은 이것이다.", "guid": "1"}
    folders = []
    for place in ("first", "second"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "b.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
        tree = {"inputs": ["a"], "decontaminate": {"benchmark": str(tmp_path / place)}, "pii": {"enabled": False}}
        (work := tmp_path / f"work-{place}").mkdir()
        folders.append(_unit_work(CorpusSettings.model_validate(tree), None, work, ()).folder.name)
        row["text"] = "시험에 나오는 문장은 이것이 아니다."
        (tmp_path / place / "b.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
        (work := tmp_path / f"other-{place}").mkdir()
        folders.append(_unit_work(CorpusSettings.model_validate(tree), None, work, ()).folder.name)
        row["text"] = "시험에 나오는 문장은 이것이다."
    assert folders[:2] == folders[2:] and folders[0] != folders[1]


def test_the_index_of_a_benchmark_is_built_anew_when_what_it_is_of_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    builds: list[int] = []
    build = Decontaminator.build

    def counted(benchmark: list[BenchmarkSentence], *arguments: object, **options: object) -> Decontaminator:
        builds.append(len(benchmark))
        return build(benchmark, *arguments, **options)

    monkeypatch.setattr("data.decontaminate.stored.Decontaminator.build", counted)
    sentence = "시험에 나오는 문장은 이것이고, 전화는 010-1234-5678 번이다."

    def is_built(
        key: bytes | None = None, own: str = "", row: dict[str, str] | None = None, place: str = "a", **more: object
    ) -> bool:
        (tmp_path / place).mkdir(exist_ok=True)
        rows = [{"text": sentence, "guid": "1", **(row or {})}]
        (tmp_path / place / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        tree = {"inputs": ["a"], "decontaminate": {"benchmark": str(tmp_path / place)}, **more}
        (work := tmp_path / "work").mkdir(exist_ok=True)
        kept_out = [BenchmarkSentence("own", "1", own)] if own else []
        before = len(builds)
        function = _unit_work(CorpusSettings.model_validate(tree), key, work, kept_out)
        assert function.decontaminator is not None
        hit, miss = function.decontaminator.match([rows[0]["text"], "아무 데에도 없는 문장이다."])
        assert hit and hit.task == rows[0].get("task", "b") and miss is None
        assert (hit.text == rows[0]["text"]) is (key is None), "a list shows no personal data"
        return len(builds) > before

    changes: list[dict[str, Any]] = [
        *({}, {"key": b"a" * 32}, {"key": b"b" * 32}, {"own": "나만 아는 문장이 여기에 있다."}),
        *({"row": {"guid": "2"}}, {"row": {"task": "t"}}, {"row": {"text": sentence + " 끝."}}),
        *({"clean": {"hashtags": False}}, {"pii": {"types": ["EMAIL", "TEL"]}}),
    ]
    for change in changes:
        assert is_built(**change), change
        assert not is_built(**change, shard_mb=7, workers=1, place="elsewhere"), change
    for version in (1, 2):
        monkeypatch.setattr("data.decontaminate.stored.source_hash", lambda version=version: str(version))
        assert is_built() and not is_built()
    monkeypatch.setitem(RULES["corpus"], 99, "another rule")
    assert is_built() and not is_built()
