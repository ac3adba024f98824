"""The eight layouts, their partial and renamed forms, what is passed over, and what is refused."""

import gzip
import json
import os
from pathlib import Path

import pytest

from common.errors import UserError
from data.benchmark import BenchmarkSentence, load_benchmark, strip_entity_marks

SHARED = Path(os.environ.get("HUNMIN_SHARED_DATA") or Path(__file__).parents[3] / "shared" / "data")

RECORDS = {
    "ynat": [{"guid": "ynat_0", "title": "새 역 개통", "label": "사회"}],
    "klue-sts": [{"guid": "sts_0", "sentence1": "방이 넓다.", "sentence2": "방이 크다.", "labels": {"label": 4.0}}],
    "klue-nli": [{"guid": "nli_0", "premise": "문이 열렸다.", "hypothesis": "문이 닫혔다.", "gold_label": "neutral"}],
    "klue-re": [{"guid": "re_0", "sentence": "갑은 을의 아들이다.", "subject_entity": {}, "object_entity": {}}],
    "wos": [{"guid": "wos_0", "dialogue": [{"role": "user", "text": "예약할게요."}, {"role": "sys", "text": "네."}]}],
}
CONTEXT = "첫째 문장은 여기서 끝납니다. 둘째 문장도 여기서 끝납니다."
DP = "## 칼럼명 : INDEX\tWORD_FORM\tLEMMA\tPOS\tHEAD\tDEPREL\n## dp_0\t갑이 왔다.\n1\t갑이\t갑 이\tNNP+JKS\t2\tNP_SBJ\n"
NER = "## 컬럼명 : CHAR\tNE_TAG\n## ner_0\t<갑:PS>이 <3시:TI>에 1<2라고 했다.\n갑\tB-PS\n이\tO\n"


def write(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return path


@pytest.mark.parametrize("task", RECORDS)
def test_a_json_task_is_told_by_its_fields_whatever_its_name(tmp_path: Path, task: str) -> None:
    sentences = load_benchmark(write(tmp_path / "renamed.part1.json", RECORDS[task]))
    record = RECORDS[task][0]
    turns = [turn["text"] for turn in record.get("dialogue", [])]  # type: ignore[attr-defined]
    fields = [record[key] for key in ("title", "sentence1", "sentence2", "premise", "hypothesis") if key in record]
    texts = turns or fields or [record["sentence"]]
    assert sentences == [BenchmarkSentence(task, str(record["guid"]), str(text), bool(turns)) for text in texts]


def test_a_tsv_of_a_test_set_is_told_by_its_guids(tmp_path: Path) -> None:
    write(tmp_path / "ner_test.tsv", "## klue-ner-v1_test_0\t갑이 3시에 왔다.\n갑\n이\n")
    write(tmp_path / "dp_test.tsv", "## klue-dp-v1_test_0\t을이 왔다.\n1\t을이\t을 이\tNNP+JKS\n")
    assert [s.task for s in load_benchmark(tmp_path)] == ["klue-dp", "klue-ner"]


def test_mrc_gives_questions_and_each_context_once_by_sentence(tmp_path: Path) -> None:
    flat = [{"guid": f"mrc_{i}", "question": f"{i}째는?", "context": CONTEXT, "answers": []} for i in range(2)]
    qas = [{"guid": f"mrc_{i}", "question": f"{i}째는?"} for i in range(2)]
    squad = {"version": "1", "data": [{"title": "t", "paragraphs": [{"context": CONTEXT, "qas": qas}]}]}
    expected = [
        ("mrc_0", "0째는?", False),
        ("mrc_0", "첫째 문장은 여기서 끝납니다.", True),
        ("mrc_0", "둘째 문장도 여기서 끝납니다.", True),
        ("mrc_1", "1째는?", False),
    ]
    for number, layout in enumerate([flat, squad]):
        sentences = load_benchmark(write(tmp_path / f"{number}.json", layout))
        assert [(s.guid, s.text, s.passage) for s in sentences] == expected
        assert {s.task for s in sentences} == {"klue-mrc"}


@pytest.mark.parametrize(
    ("record", "texts", "passage"),
    [
        ({"paragraph": "글이다. 둘째다.", "question": "맞는가?", "label": 1}, ["맞는가?"], ["글이다.", "둘째다."]),
        (
            {
                "premise": "비가 왔다.",
                "question": "결과",
                "alternative_1": "젖었다.",
                "alternative_2": "말랐다.",
                "label": 0,
            },
            ["비가 왔다.", "젖었다.", "말랐다."],
            [],
        ),
        (
            {"question": "옳은 것은?", "answer": 2, "A": "빛이 하늘에서 퍼진다", "B": "서울", "Category": "법"},
            ["옳은 것은?", "빛이 하늘에서 퍼진다"],  # 서울 is everywhere
            [],
        ),
        ({"question": "왜?", "choices": {"text": ["빛이 하늘에서 퍼진다", "네"], "label": ["A", "B"]}, "uid": "q 1"},
         ["왜?", "빛이 하늘에서 퍼진다"], []),
        ({"question": "왜?", "choices": {"A": "빛이 하늘에서 퍼진다", "B": "물결이 바다로 밀려온다"}},
         ["왜?", "빛이 하늘에서 퍼진다", "물결이 바다로 밀려온다"], []),
        ({"question": "왜?", "candidates": [{"label": 1, "text": "빛이 하늘에서 퍼진다"}], "answerKey": "1"},
         ["왜?", "빛이 하늘에서 퍼진다"], []),
        ({"question": "주제는?", "paragraph": "글이다.", "passage": "또 있다.", "answer": 1, "name": "2020"},
         ["주제는?"], ["글이다.", "또 있다."]),
        (  # CSAT-QA
            {"question": "왜?", "context": "글이다.", "option#1": "빛이 하늘에서 퍼진다", "gold": "1"},
            ["왜?", "빛이 하늘에서 퍼진다"],
            ["글이다."],
        ),
        (
            {
                "question": "왜?",
                "answer_choices": ["빛이 하늘에서 퍼진다"],
                "Context": "글이다.",
                "explanation": "풀이다.",
            },
            ["왜?", "빛이 하늘에서 퍼진다"],
            ["글이다.", "풀이다."],
        ),
        ({"question": "왜?", "context": "글이다.", "raw_html": "<p>글 이다 정말로 길다</p>"}, ["왜?"], ["글이다."]),
        ({"title": "제목", "comment": "댓글이다."}, ["제목", "댓글이다."], []),
        ({"question": "물음만?", "answer": "답"}, ["물음만?"], []),
    ],
)  # fmt: skip
def test_a_question_comes_with_its_choices_and_its_passage(
    tmp_path: Path, record: dict[str, object], texts: list[str], passage: list[str]
) -> None:
    sentences = load_benchmark(write(tmp_path / "set.json", [record]))
    assert [sentence.text for sentence in sentences if not sentence.passage] == texts
    assert [sentence.text for sentence in sentences if sentence.passage] == passage


def test_tsv_headers_give_the_sentence_and_ner_loses_its_marks(tmp_path: Path) -> None:
    write(tmp_path / "a.tsv", DP)
    write(tmp_path / "b.tsv", NER)
    assert load_benchmark(tmp_path) == [
        BenchmarkSentence("klue-dp", "dp_0", "갑이 왔다."),
        BenchmarkSentence("klue-ner", "ner_0", "갑이 3시에 1<2라고 했다."),
    ]


def test_only_entity_marks_are_stripped() -> None:
    assert strip_entity_marks("<한 곳:LC>과 <a:b:OG>, <그대로:XX> <빈칸>") == "한 곳과 a:b, <그대로:XX> <빈칸>"


def test_json_lines_take_guid_or_id_or_the_place(tmp_path: Path) -> None:
    lines = [{"text": "하나", "guid": "g"}, {"text": "둘", "id": 7, "task": "t"}, {"text": "셋"}, {"text": " "}]
    path = tmp_path / "mine.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(json.dumps(line) for line in lines).encode()))
    sentences = load_benchmark(path)
    assert [(s.task, s.guid, s.text) for s in sentences] == [
        ("mine", "g", "하나"),
        ("t", "7", "둘"),
        ("mine", "mine:2", "셋"),
    ]


def test_the_hub_layout_in_parquet(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    ner = {"sentence": "<갑:PS>이 왔다.", "tokens": ["갑"], "ner_tags": [0]}
    dp = {"sentence": "을이 왔다.", "head": [2, 0], "deprel": ["NP_SBJ", "VP"]}
    for name, record in (("ner", ner), ("dp", dp)):
        pq.write_table(pa.Table.from_pylist([record]), tmp_path / f"{name}.parquet")
    assert [(s.task, s.guid, s.text) for s in load_benchmark(tmp_path)] == [
        ("klue-dp", "dp:0", "을이 왔다."),
        ("klue-ner", "ner:0", "갑이 왔다."),
    ]


def test_auxiliary_files_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "LICENSE.KLUE.md", "licence")
    write(tmp_path / "readme.txt", "read me")
    write(tmp_path / "wos" / "ontology.json", {"숙소-지역": ["none", "서울"]})
    write(tmp_path / "re" / "relation_list.json", {"relations": ["no_relation"]})
    write(tmp_path / ".hidden.json", "broken")
    write(tmp_path / "ynat.json", RECORDS["ynat"])
    assert len(load_benchmark(tmp_path)) == 1


@pytest.mark.parametrize(
    "content",
    [
        "plain words",
        '[{"guid": 1, "foo": "bar"}]',
        "[1, 2]",
        '[{"title": 5}]',
        '[{"title": "a"',
        '{"text": "a"}\n{"text": ',
        '{"relations": [1]}',
        '[{"dialogue": [{}]}]',
        "## nothing but a comment\n",
        b"\xff\xfe\x00\xd8",
        '{"a":' * 100_000,
        '{"text": "a", "n": ' + "1" * 5000 + "}",
        '{"data": [{"paragraphs": ["x"]}]}',
        '{"data": [{"paragraphs": [{"qas": ["q"]}]}]}',
        '{"data": [{"paragraphs": [{"qas": null}]}]}',
        '{"question": "q", "context": ["a"]}',
        '{"question": "q", "context": 5}',
        '{"question": "q", "note": "어떤 글이 여기에 더 있다"}',
        '{"question": "q", "context_preview": 5}',
        '{"sentence": 5, "ner_tags": []}',
        b"PAR1 and no table",
    ],
)
def test_a_file_of_no_known_layout_is_named(tmp_path: Path, content: str | bytes) -> None:
    path = tmp_path / "odd.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UserError, match=r"odd\.json"):
        load_benchmark(tmp_path)


def test_half_an_emoji_is_read_as_a_mark_of_its_place(tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text('{"text": "첫째 글입니다 \\ud800", "guid": "b"}')
    assert [sentence.text for sentence in load_benchmark(tmp_path)] == ["첫째 글입니다 \ufffd"]


def test_nothing_there_and_nothing_in_it(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing found"):
        load_benchmark(tmp_path / "missing")
    write(tmp_path / "empty.json", [])
    with pytest.raises(UserError, match="no benchmark sentence"):
        load_benchmark(tmp_path)


def test_a_truncated_archive_is_named(tmp_path: Path) -> None:
    whole = gzip.compress(json.dumps(RECORDS["ynat"] * 50).encode())
    (tmp_path / "cut.json.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match=r"cut\.json\.gz"):
        load_benchmark(tmp_path)


@pytest.mark.skipif(not (SHARED / "klue").is_dir(), reason="the benchmark's files are not at hand")
def test_the_real_files_load() -> None:
    sentences = load_benchmark(SHARED / "klue")
    assert {s.task for s in sentences} == {*RECORDS, "klue-ner", "klue-dp", "klue-mrc"}
    assert len(sentences) > 100_000
    assert not any(s.task == "klue-ner" and ":PS>" in s.text for s in sentences)
