"""`hunmin corpus stats RUN --dropped`: what a corpus left out, by rule and id, and with --text its texts."""

import json
import unicodedata
from pathlib import Path

import pytest
from mini import write_recipe

from hunmin.main import run_command

KEPT = "이것은 충분히 길고 멀쩡한 한국어 문장입니다."
QUOTED = "어제 저녁 작은 마을 도서관 앞에서 즐거운 음악회가 열렸다."
TELEPHONE = "010-1234-5678"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    lines = [{"id": f"k{n}", "text": f"{KEPT} {n}"} for n in range(30)]
    lines += [{"id": f"s{n}", "text": f"<b>짧다</b> {n}"} for n in range(9)]
    lines += [{"id": f"e{n}", "text": f"This one is English and long enough, number {n}."} for n in range(4)]
    lines += [
        {"id": "copy", "text": f"{KEPT} 7"},
        {"id": "quote", "text": f"전화는 {TELEPHONE} 번이다. {QUOTED} 끝이다."},
    ]
    lines += [{"id": "emptied", "text": "<script>var one = 1;</script>"}]
    (tmp_path / "web.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    (tmp_path / "bench.jsonl").write_text(json.dumps({"task": "toy", "guid": "g1", "text": QUOTED}), encoding="utf-8")
    changes = {
        "filters": [{"length": {"min_chars": 10}}, {"language": None}],
        "decontaminate": {"benchmark": str(tmp_path / "bench.jsonl")},
        "pii": {"key": "a key for tests only, 32 letters"},
    }
    assert run_command(["corpus", "build", str(write_recipe(tmp_path, tmp_path / "web.jsonl", **changes))]) == 0
    return tmp_path / "run"


LISTED = [
    *["filter  language hangul"] * 4,
    *["filter  length characters"] * 5,
    "duplicate  documents",
    "benchmark  toy exact",
]


def test_ids_alone_unless_texts_are_asked_for(run, capsys):
    capsys.readouterr()
    assert run_command(["corpus", "stats", str(run), "--dropped", "5"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert ["  ".join(line.split("  ")[:2]) for line in shown] == LISTED
    assert shown[-2].endswith("1  copy = k7") and shown[-1].endswith("1  quote:1 = g1")
    assert all("English" not in line and "짧다" not in line and "음악회" not in line for line in shown)
    assert run_command(["corpus", "stats", str(run), "--dropped", "5"]) == 0
    assert capsys.readouterr().out.splitlines() == shown  # the same ones again
    assert run_command(["corpus", "stats", str(run), "--dropped", "5", "--json"]) == 0
    assert "음악회" not in capsys.readouterr().out


def test_every_kind_is_shown_with_its_text(run, capsys):
    capsys.readouterr()
    assert run_command(["corpus", "stats", str(run), "--dropped", "5", "--text", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    titles = [f"{row['kind']}  {row['rule']}" for row in rows]
    of_cleaning = [*["cleaning  html"] * 5, "cleaning  html_hidden", *["cleaning  min_hangul_share"] * 5]
    assert titles == [*of_cleaning, "emptied  html_hidden", *LISTED]
    for row in rows[12:21]:
        number = row["id"][1:]
        expected = f"짧다 {number}" if row["id"][0] == "s" else f"This one is English and long enough, number {number}."
        assert row["text"] == expected
    assert run_command(["corpus", "stats", str(run), "--dropped", "1", "--text"]) == 0
    shown, message = capsys.readouterr()
    assert "HUNMIN_PII_KEY does not hold its key" in message  # a finished run holds no key
    for text in (
        "cleaning  html  web  s0\n  [-<b>-]짧다[-</b>-] 0\n",
        "cleaning  min_hangul_share  web  k0\n  0\n",
        "emptied  html_hidden  web  emptied\n  <script>var one = 1;</script>\n",
        f"duplicate  documents  1  copy = k7\n  {KEPT} 7\n",
        f"benchmark  toy exact  1  quote:1 = g1\n  {QUOTED}\n  = {QUOTED}\n",
    ):
        assert text in shown
    assert TELEPHONE not in shown


def test_mistakes_are_told(run, capsys):
    assert run_command(["corpus", "stats", str(run), "--text"]) == 2
    assert "--dropped 5 --text" in capsys.readouterr().err
    (run / "corpus/statistics.json").unlink()
    assert run_command(["corpus", "stats", str(run), "--dropped", "5"]) == 1
    assert "statistics.json is missing" in capsys.readouterr().err
    assert run_command(["corpus", "stats", str(run.parent), "--dropped", "5"]) == 2
    assert "no finished corpus" in capsys.readouterr().err


def test_letters_that_are_composed_are_told_apart(run, capsys, tmp_path):
    """A decomposed syllable looks like the composed one that it becomes."""
    decomposed = unicodedata.normalize("NFD", "각")
    with (tmp_path / "web.jsonl").open("a", encoding="utf-8") as stream:
        stream.write("\n" + json.dumps({"id": "nfd", "text": f"{KEPT} 지하철은 {decomposed} 역에 선다."}))
    assert run_command(["corpus", "build", str(tmp_path / "recipe.yaml")]) == 0
    capsys.readouterr()
    assert run_command(["corpus", "stats", str(run), "--dropped", "5", "--text"]) == 0
    assert "[-U+1100 U+1161 U+11A8-]{+각+} 역에" in capsys.readouterr().out
