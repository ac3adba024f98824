"""Examples of all that a corpus leaves out, each with its rule and its text, and no personal data among them."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from data.dropped.replay import listed_examples, with_texts
from data.statistics.table import load_statistics

from ..building import build, settings

BODY = "이 글은 남아 있어야 하는 충분히 긴 글이고 번호는"
QUOTED = "어제 저녁 작은 마을 도서관 앞에서 즐거운 음악회가 열렸다."
LIKE = "박물관은 월요일마다 문을 닫고 나머지 날에는 아침 아홉 시부터 저녁 여섯 시까지 누구나 볼 수 있게 문을 연다. " * 3
TELEPHONE, HIDDEN = "010-1234-5678", "010-<b>87</b>65-<i>43</i>21"
DOCUMENTS = {
    **{f"k{n}": f"{BODY} {n}번이다." for n in range(20)},
    "html": "<p>앞 문단이다.</p><p>연락처는 010-1234-5678 번이다.</p>",
    "hidden": f"<p>연락처는 {HIDDEN} 번이다.</p>",
    "blank": "낱말   사이가 넓다.",
    "han": "漢字로만 쓴 文章은 讀者가 읽기 어렵다고 하니 漢字混用文 全體를 除外한다. 이 문장은 남는다.",
    "english": "There is nothing Korean in here at all, not a word.",
    "emptied": "This is only English. And so is this one, call 010-1234-5678.",
    "tags": "<script>var telephone = 1;</script>",
    "twin": f"{BODY} 3번이다.",
    "like": LIKE,
    "like2": LIKE.replace("월요일", "화요일", 1),
    "quote": f"앞에 있는 문장이다. {QUOTED} 뒤에 있는 문장이다.",
    "short": "짧다.",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    folder = tmp_path_factory.mktemp("dropped")
    lines = [json.dumps({"id": id, "text": text}) for id, text in DOCUMENTS.items()]
    (folder / "web.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "bench.jsonl").write_text(json.dumps({"task": "toy", "guid": "g1", "text": QUOTED}), encoding="utf-8")
    chosen = settings(
        folder / "web.jsonl",
        clean={"max_han_kana": 10},
        filters=[{"length": {"min_chars": 5}}],
        decontaminate={"benchmark": str(folder / "bench.jsonl")},
        deduplicate={"near": True},
    )
    build(chosen, folder / "out")
    return chosen, folder / "out"


def shown(made: tuple[Any, Path], most: int = 3) -> list[dict[str, Any]]:
    chosen, out = made
    return list(with_texts(listed_examples(out, most), chosen, load_statistics(out), most))


def test_each_kind_is_shown_with_its_rule(made) -> None:
    rows = {(row["kind"], row["rule"], row["id"]): row for row in shown(made)}
    assert set(rows) == {
        ("cleaning", "html", "html"),
        ("cleaning", "html", "tags"),
        ("cleaning", "html_hidden", "tags"),
        *(("cleaning", "blanks", id) for id in ("html", "hidden", "blank")),
        ("cleaning", "max_han_kana", "han"),
        ("cleaning", "min_hangul_share", "english"),
        ("cleaning", "min_hangul_share", "emptied"),
        ("emptied", "min_hangul_share", "english"),
        ("emptied", "min_hangul_share", "emptied"),
        ("emptied", "html_hidden", "tags"),
        ("filter", "length characters", "short"),
        ("duplicate", "documents", "twin"),
        ("duplicate", "near", "like2"),
        ("benchmark", "toy exact", "quote"),
    }
    assert rows["cleaning", "html", "html"]["text"].startswith("[-<p>-]{+\\n+}앞 문단이다.")
    assert rows["cleaning", "blanks", "blank"]["text"] == "낱말 [-  -]사이가 넓다."
    assert rows["cleaning", "max_han_kana", "han"]["text"].endswith("除外한다.")
    assert rows["emptied", "min_hangul_share", "english"]["text"] == DOCUMENTS["english"]
    assert rows["emptied", "html_hidden", "tags"]["text"] == DOCUMENTS["tags"]
    assert rows["filter", "length characters", "short"]["text"] == "짧다."
    twin, like = rows["duplicate", "documents", "twin"], rows["duplicate", "near", "like2"]
    assert (twin["kept"], twin["text"]) == ("k3", DOCUMENTS["twin"])
    assert (like["kept"], like["text"], like["kept_text"]) == ("like", DOCUMENTS["like2"].strip(), LIKE.strip())
    hit = rows["benchmark", "toy exact", "quote"]
    assert (hit["benchmark_guid"], hit["text"], hit["benchmark_text"]) == ("g1", QUOTED, QUOTED)


def test_no_personal_data_is_shown(made) -> None:
    rows = shown(made, 50)
    of_html = {row["id"] for row in rows if (row["kind"], row["rule"]) == ("cleaning", "html")}
    assert of_html == {"html", "tags"}  # in "hidden" the tags hide a number from the detectors
    written = json.dumps(rows, ensure_ascii=False)
    assert TELEPHONE not in written and HIDDEN not in written and "연락처는 010-" in written


def test_there_are_at_most_so_many_of_a_rule_and_always_the_same(made) -> None:
    rows = shown(made, 1)
    assert max(Counter((row["kind"], row["rule"]) for row in rows).values()) == 1
    assert {(row["kind"], row["rule"]) for row in rows} == {(row["kind"], row["rule"]) for row in shown(made)}
    assert rows == shown(made, 1)


def test_documents_of_one_id_are_told_apart_by_their_texts_or_named_so(tmp_path: Path) -> None:
    for name, text in (("a", "봄에는 꽃이 핀다"), ("b", "가을에는 낙엽이 진다")):
        lines = [{"id": 1, "text": text}, {"id": name, "text": f"{text} 마바"}, {"id": 2, "text": f"{text} 사아"}]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    filtered = [{"kind": "filter", "rule": "r", "source": "news", "id": id} for id in ("1", "b", "z")]
    copy = {"kind": "duplicate", "rule": "near", "id": "2", "kept": "b"}
    statistics = {"cleaning": {}, "dropped": {}}
    chosen = settings({"path": str(tmp_path), "name": "news"})
    unknown, two, three, four = with_texts([*filtered, copy], chosen, statistics, 5)
    assert unknown["text"] == "[2 documents of news have this id, so the dropped one is not known]"
    assert (two["text"], three["text"]) == ("가을에는 낙엽이 진다 마바", None)
    assert (four["text"], four["kept_text"]) == ("가을에는 낙엽이 진다 사아", "가을에는 낙엽이 진다 마바")


def test_a_folder_that_is_no_corpus_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no finished corpus"):
        listed_examples(tmp_path, 3)
