"""Each use's layout: small invented files, and the items and rows that they give, written by hand."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from data.instruct.build import Part, _read
from data.instruct.files import files_of
from data.instruct.items import Item, row_of_item
from data.instruct.rows import Row
from data.instruct.settings import InstructSettings
from data.instruct.spec import USES, use_of


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8"))


def table(*rows: tuple[object, ...], delimiter: str = "\t", end: str = "\n") -> str:
    return "".join(delimiter.join(map(str, row)) + end for row in rows)


def read(data: Path, name: str, **settings: object) -> Part:
    part = Part(name)
    located = files_of(name, use_of(name), str(data))
    assert located is not None
    _read(part, InstructSettings.model_validate({"data": str(data), "max_reject_share": 1.0, **settings}), *located)
    part.left.sort(key=lambda item: item.number)
    return part


def rows(name: str, items: list[Item], template: int = 0) -> list[Row]:
    return [row_of_item(name, use_of(name), item, template) for item in items]


def answers(name: str, items: list[Item], template: int = 0) -> list[tuple[str, tuple[str, ...] | None]]:
    return [(row.output, row.choices) for row in rows(name, items, template)]


def test_apeach_spoiled_is_hateful_and_line_ends_in_quotes_stay(tmp_path: Path) -> None:
    head = "text,user_age,user_gender,text_topic,class,age,text_topic_eng\n"
    write(
        tmp_path / "apeach/APEACH/test.csv",
        head + '"첫째 줄,\n둘째 ""줄""",30,female,주제,Default,30,Topic\n나쁜 말,30,male,주제,Spoiled,30,Topic\n',
    )
    part = read(tmp_path, "apeach")
    assert [item.fields for item in part.left] == [{"text": '첫째 줄,\n둘째 "줄"'}, {"text": "나쁜 말"}]
    assert answers("apeach", part.left, 1) == [("아니요", ("예", "아니요")), ("예", ("예", "아니요"))]
    assert [item.place for item in part.left] == [("apeach/APEACH/test.csv", 2), ("apeach/APEACH/test.csv", 4)]
    assert rows("apeach", part.left)[0].split == "test"


def test_unsmile_kinds_are_joined_and_clean_is_none_of_them(tmp_path: Path) -> None:
    kinds = ("여성/가족", "남성", "성소수자", "인종/국적", "연령", "지역", "종교", "기타 혐오", "악플/욕설")
    names = ("문장", *kinds, "clean", "개인지칭")
    lines = [
        ("한 문장", 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1),
        ("맑은 문장", 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0),
        ("둘 다", 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0),
        ("지칭만", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1),
    ]
    write(tmp_path / "unsmile/unsmile_train_v1.0.tsv", table(names, *lines))
    write(tmp_path / "unsmile/unsmile_valid_v1.0.tsv", table(names, ("검증", *lines[1][1:])))
    part = read(tmp_path, "unsmile")
    assert answers("unsmile", part.left) == [("여성/가족, 지역", None), ("해당 없음", None)]
    assert [line for _, line, _ in part.rejects] == [4, 5]


PAIRS = [("배고파", "배고프다", 0), ("배고파", "졸려", 1)]
QUESTIONS = ("question1", "question2", "is_duplicate")
ENTAILED = ("sentence1", "sentence2", "gold_label")
SENSES = ("ID", "Target", "SENTENCE1", "Dictionary 1", "Link 1", "SENTENCE2", "Dictionary 2", "Link2", "ANSWER")
SAID = ("TRUE", "True", "FALSE", "False")
YES, WORDS = ("예", "아니요"), ("일반", "혐오 발언", "단순 악플")
KINDS, SIGNS = ("함의", "중립", "모순"), ("긍정", "부정")
# what a set has of its own → files, answers, choices, (line, reason) of rejects, and the number and fields of an item
SMALL: dict[str, tuple[Any, ...]] = {
    "hatescore: three labels": (
        {"HateScore.csv": table(("", "comment", "macrolabel", "microlabel", "source"), (0, "가", "Clean", "x", "y"),
                                (1, "나", "혐오발언", "x", "y"), (2, "다", "단순 악플", "x", "y"), delimiter=",")},
        [*WORDS], WORDS, [], (0, {"text": "가"}),
    ),
    "boolq: answers in any case": (
        {"BoolQ/train.tsv": table(("ID", "Text", "Question", "Answer"), *(
            (n, f"글 {n}.", f"질문 {n}?", said) for n, said in enumerate(SAID, 1)), end="\r\n")},
        ["예", "예", "아니요", "아니요"], YES, [], (2, {"passage": "글 3.", "question": "질문 3?"}),
    ),
    "kornli: two files, quotes that are text": (
        {"multinli.train.ko.tsv": table(ENTAILED, ('"전제" 1', "가설", "entailment"), ("전제 2", "ㄱ", "neutral")),
         "snli_1.0_train.ko.tsv": table(ENTAILED, ("전제 3", "ㄴ", "contradiction"))},
        [*KINDS], KINDS, [], (0, {"premise": '"전제" 1', "hypothesis": "가설"}),
    ),
    "pawsx: rows without a translation": (
        {"translated_train.tsv": table(("id", "sentence1", "sentence2", "label"), (1, "가", "나", 1),
                                       (2, "NS", "나", 0), (3, "다", "라", 0))},
        ["예", "아니요"], YES, [(3, "'sentence1' is missing")], (0, {"sentence1": "가", "sentence2": "나"}),
    ),
    "stylekqc: one is the same, and other folders": (
        {"act/train.tsv": table(("act", "sentence"), (0, "가")),
         "topic/train.tsv": table(("topic", "sentence"), (0, "가")),
         "sts/train.tsv": table(("similarity", "sentence1", "sentence2"), (1, "가요", "갑니다"),
                                (0, "와요", "먹어요"))},
        ["예", "아니요"], YES, [], (0, {"sentence1": "갑니다", "sentence2": "가요"}),
    ),
    "question-pair: zero is the same": (
        {"train.txt": table(QUESTIONS, *PAIRS)},
        ["예", "아니요"], YES, [], (0, {"question1": "배고파", "question2": "배고프다"}),
    ),
    "question-pair: with an index": (
        {"train.txt": table(*((n or "", *line) for n, line in enumerate((QUESTIONS, *PAIRS))))},
        ["예", "아니요"], YES, [], (0, {"question1": "배고파", "question2": "배고프다"}),
    ),
    "nsmc: one is positive, quotes are text, empty documents are rejected": (
        {"ratings_train.txt": table(("id", "document", "label"), (1, '"좋다', 1), (2, "", 0),
                                     (3, "별로다", 0), (4, "끊긴"))},
        [*SIGNS], SIGNS, [(3, "'document' is empty"), (5, "2 columns instead of 3")], (0, {"review": '"좋다'}),
    ),
    "wic: the marks of the word": (
        {"train.tsv": table(SENSES, (1, "배", "[배]를 탔다. ", 1, "x", "[배]가 달다.", 2, "y", "FALSE"),
                            (2, "눈", "[눈]이 온다.", 1, "x", "첫눈이 왔다.", 1, "y", "True"), end="\r\n")},
        ["아니요", "예"], YES, [], (0, {"word": "배", "sentence1": "[배]를 탔다.", "sentence2": "[배]가 달다."}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SMALL)
def test_a_small_set(tmp_path: Path, case: str) -> None:
    name, (files, outputs, choices, rejects, (number, fields)) = case.partition(":")[0], SMALL[case]
    for file, content in files.items():
        write(tmp_path / name / file, content)
    part = read(tmp_path, name)
    assert answers(name, part.left) == [(output, choices) for output in outputs]
    assert [(line, reason) for _, line, reason in part.rejects] == rejects
    assert part.left[number].fields == fields


def test_copa_blanks_are_stripped_and_the_number_names_the_shown_choice(tmp_path: Path) -> None:
    head = ("ID", "sentence", "question", "1", "2", "Answer")
    lines: list[tuple[object, ...]] = []
    for n in range(1, 21):
        lines.append((n, f"일 {n}.", "원인 " if n % 2 else "결과", f"가 {n}.", f" 나 {n}.", 1 + n % 2))
    lines += [(21, "일.", "원인", "같다.", "같다.", 1), (22, "일.", "이유", "가.", "나.", 1)]
    lines += [
        (23, "일 23.", "원인", "가.", "나.", 3),
        (24, "일 24.", "원인", "가.", "나.", "1.5"),
        (25, "일.", "결과", "가."),
    ]
    write(tmp_path / "copa/COPA/train.tsv", table(head, *lines, end="\r\n"))
    part = read(tmp_path, "copa")
    assert [(line, reason) for _, line, reason in part.rejects] == [
        (22, "two choices are equal"),
        (23, "unknown label: 'question' is none of 원인, 결과"),
        (24, "'Answer' is beyond 1 to 2"),
        (25, "'Answer' is beyond 1 to 2"),
        (26, "4 columns instead of 6"),
    ]
    right = [f"나 {n}." if n % 2 else f"가 {n}." for n in range(1, 21)]
    assert [row.output for row in rows("copa", part.left)] == right
    numbers = rows("copa", part.left, 1)
    for row, answer in zip(numbers, right, strict=True):
        assert row.choices == ("1", "2") and f"\n{row.output}. {answer}" in row.instruction
    assert {row.output for row in numbers} == {"1", "2"}
    assert part.left[0].fields["asked"] == "원인" and part.left[1].fields["asked"] == "결과"


def test_hellaswag_counts_from_zero_and_lists_all_choices_once(tmp_path: Path) -> None:
    head = ("context", "choice1", "choice2", "choice3", "choice4", "label")
    write(
        tmp_path / "hellaswag/train.tsv",
        table(head, ("글.", "가.", "나.", "다.", "라.", 0), ("글 2.", "가.", "나.", "다.", "라.", 3)),
    )
    part = read(tmp_path, "hellaswag")
    assert [row.output for row in rows("hellaswag", part.left, 1)] == ["가.", "라."]
    for row in rows("hellaswag", part.left):
        assert sorted(row.choices or ()) == ["가.", "나.", "다.", "라."]
        assert row.input == f"글: {row.input[3:].partition(chr(10))[0]}\n보기:\n" + "\n".join(
            f"{n}. {choice}" for n, choice in enumerate(row.choices or (), 1)
        )
    assert "가." not in rows("hellaswag", part.left, 1)[0].input


WIKI = """\

 = 가람시 =

 가람시(加藍市)는 남쪽 바닷가에 있는 도시이다. 인구는 십만 명이다. 배를 만드는 공장이 많다.

 = = 역사 = =

 제목 아래의 긴 글은 읽지 않는다. 읽지 않는 둘째 문장이다.

 = 나루 (동음이의) =

 나루는 배를 타고 내리는 곳을 말한다.

 = 다솜 =

 1990년에 다솜이 처음 나왔다.
"""


def test_wiki_text_continues_the_first_paragraph(tmp_path: Path) -> None:
    write(tmp_path / "kowikitext/train/kowikitext.train.txt", WIKI)  # a folder's name fits, too
    part = read(tmp_path, "wiki-text")
    assert [(item.fields, item.answer) for item in part.left] == [
        (
            {"title": "가람시", "beginning": "가람시(加藍市)는 남쪽 바닷가에 있는 도시이다."},
            "인구는 십만 명이다. 배를 만드는 공장이 많다.",
        )
    ]
    assert part.table["passed_over"] == {"no paragraph of several sentences": 2} and not part.rejects
    assert part.left[0].place == ("kowikitext/train/kowikitext.train.txt", 2)


def test_wiki_qa_takes_definitions_of_titles_alone(tmp_path: Path) -> None:
    write(tmp_path / "kowikitext/kowikitext.train.txt", WIKI)
    part = read(tmp_path, "wiki-qa")
    assert [(item.fields["title"], item.answer) for item in part.left] == [
        ("가람시", "가람시(加藍市)는 남쪽 바닷가에 있는 도시이다."),
        ("나루", "나루는 배를 타고 내리는 곳을 말한다."),
    ]
    assert rows("wiki-qa", part.left)[1].instruction == "'나루', 무엇을 가리키는 말입니까? 한 문장으로 설명하세요."


def test_korsts_is_similar_from_three_on(tmp_path: Path) -> None:
    head = ("genre", "filename", "year", "id", "score", "sentence1", "sentence2")
    scores = ("0.000", "2.999", "3.0", "5.00")
    lines = [("g", "f", "y", n, score, f'"왼쪽 {n}', f"오른쪽 {n}") for n, score in enumerate(scores)]
    lines += [("g", "f", "y", 9, "5.1", "가", "나"), ("g", "f", "y", 10, "왼쪽", "가", "나")]
    write(tmp_path / "korsts/sts-train.tsv", table(head, *lines))
    part = read(tmp_path, "korsts")
    assert [output for output, _ in answers("korsts", part.left)] == ["아니요", "아니요", "예", "예"]
    assert answers("korsts", part.left, 1) == [("0.0", None), ("3.0", None), ("3.0", None), ("5.0", None)]
    assert [set(item.fields.values()) - {"0.0", "3.0", "5.0"} for item in part.left] == [
        {f'"왼쪽 {n}', f"오른쪽 {n}"} for n in range(4)
    ]
    assert [reason for *_, reason in part.rejects] == ["'score' is beyond 0 to 5", "'score' is no number"]


def parakqc(lines: int) -> str:
    return table(*((n // 40, n % 40 // 20, f"발화 {n // 10}-{n % 10}") for n in range(lines)), end="\r\n")


def test_parakqc_pairs_within_a_group_and_with_others_of_the_same_topic_and_act(tmp_path: Path) -> None:
    write(tmp_path / "parakqc/data/paraKQC_v1.txt", parakqc(160))
    part = read(tmp_path, "parakqc")
    assert {item.label for item in part.left} == {"0", "1"}
    for item in part.left:
        first, second = (int(text.split()[1].split("-")[0]) for text in item.texts)
        assert (first == second) == (item.label == "1")
        assert first // 2 == second // 2, "groups 2k and 2k + 1 are of one topic and act"
    same = [item for item in part.left if item.label == "1"]
    assert 0 < len({frozenset(item.texts) for item in same}) == len(same) <= 160
    assert answers("parakqc", same[:1]) == [("예", ("예", "아니요"))]


@pytest.mark.parametrize(
    "text", [parakqc(155), parakqc(160).replace("발화 3-3", "", 1).replace("0\t1\t\r\n", ""), "0\t0\r\n"]
)
def test_parakqc_with_lost_lines_is_refused(tmp_path: Path, text: str) -> None:
    write(tmp_path / "parakqc/paraKQC_v1.txt", text)
    with pytest.raises(UserError, match="a group of sentences that mean the same"):
        read(tmp_path, "parakqc")


@pytest.mark.parametrize("version", [1, 2])
def test_sae4k_has_no_header_and_a_mark_before_its_first_line(tmp_path: Path, version: int) -> None:
    lines: list[tuple[str, ...]] = [
        ("창문 닫아 줘", "창문 닫기", "4"),
        ("지금 몇 시니", "현재 시각", "2"),
        ("뛰지 마", "뛰지 않기", "6"),
    ]
    if version == 2:
        lines = [(label, *texts) for *texts, label in lines]
    write(tmp_path / f"sae4k/data/sae4k_v{version}.txt", "\ufeff" + table(*lines, end="\r\n"))
    part = read(tmp_path, "sae4k")
    assert [(item.fields["sentence"], item.fields["kind"], item.answer) for item in part.left] == [
        ("창문 닫아 줘", "요구", "창문 닫기"),
        ("지금 몇 시니", "의문사 질문", "현재 시각"),
    ]
    assert part.rejects == [
        (f"sae4k/data/sae4k_v{version}.txt", 3, "unknown label: 'label' is none of 0, 1, 2, 3, 4, 5")
    ]


def test_petitions_are_json_lines_or_csv(tmp_path: Path) -> None:
    record = {"category": "기타", "content": "첫 줄.\n둘째 줄.", "num_agree": 3, "title": "다리를 놓아 주세요"}
    write(tmp_path / "a/petitions/petitions_2017-08", json.dumps(record, ensure_ascii=False) + "\n{\n")
    write(tmp_path / "b/petitions/petition.csv", 'article_id,title,content\n1,다리를 놓아 주세요,"첫 줄.\n둘째 줄."\n')
    for folder in ("a", "b"):
        part = read(tmp_path / folder, "petitions")
        assert [(item.fields["content"], item.answer) for item in part.left] == [
            ("첫 줄.\n둘째 줄.", "다리를 놓아 주세요")
        ]
    assert read(tmp_path / "a", "petitions").rejects == [("petitions/petitions_2017-08", 2, "not JSON")]


def test_math_is_one_object_with_a_mark(tmp_path: Path) -> None:
    records = {"1": {"class": "크기비교", "question": "더 큰 수는?", "answer": "9", "equation": "none"}}
    records["2"] = {"class": "순서정하기", "question": "누구입니까?", "answer": "다솜", "equation": "none"}
    records["3"] = {"class": "순서정하기", "question": "셋째는?", "answer": "nan", "equation": "none"}
    write(tmp_path / "math/public_mwp_data.json", "\ufeff" + json.dumps(records, ensure_ascii=False))
    part = read(tmp_path, "math")
    assert answers("math", part.left) == [("9", None), ("다솜", None)]
    assert part.left[0].texts == ("더 큰 수는?",) and len(part.rejects) == 1


def test_lbox_summaries_from_a_compressed_file(tmp_path: Path) -> None:
    line = json.dumps({"id": 1, "precedent": "긴 판결이다.", "summary": "짧은 요지"}, ensure_ascii=False)
    path = tmp_path / "lbox/summarization/train.jsonl.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(line.encode() + b"\n"))
    assert rows("lbox", read(tmp_path, "lbox").left)[0][5:8] == (
        "다음 판결문을 요약하세요.",
        "긴 판결이다.",
        "짧은 요지",
    )


def test_every_use_has_a_reader_test() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    small = {case.partition(":")[0] for case in SMALL} | {"petitions"}
    assert len(USES) == 20 and all(f'read(tmp_path, "{name}"' in source for name in {*USES} - small)


def test_cut_and_unreadable_files(tmp_path: Path) -> None:
    write(tmp_path / "apeach/APEACH/test.csv", 'text,class\n좋다,Default\n"끝나지 않는,Default\n또 한 줄,Default\n')
    part = read(tmp_path, "apeach")
    assert [item.fields["text"] for item in part.left] == ["좋다"]
    assert part.rejects == [("apeach/APEACH/test.csv", 3, "quotes that are not closed (2 lines)")]
    path = tmp_path / "nsmc/ratings_train.txt"
    write(path, "")
    path.write_bytes("id\tdocument\tlabel\n1\t좋다\t1\n2\t나쁘다\t0\n".encode("cp949"))
    assert {reason for *_, reason in read(tmp_path, "nsmc").rejects} == {"not UTF-8"}
    path.write_text("id\ttext\tlabel\n1\t좋다\t1\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"has 0 columns 'document'"):
        read(tmp_path, "nsmc")
    write(tmp_path / "math/public_mwp_data.json", '{"1": {"class"')
    with pytest.raises(UserError, match="is not JSON"):
        read(tmp_path, "math")
    path = tmp_path / "lbox/train.jsonl.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(b'{"precedent": "x", "summary": "y"}\n' * 1000)[:-20])
    with pytest.raises(UserError, match="damaged or cut short"):
        read(tmp_path, "lbox")
