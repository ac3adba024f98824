"""What cleaning changes is told from the texts alone, counted by rule and source, and drawn evenly."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from check_cleaning import Piece, Seen, document_changes, only, sentence_changes
from text_changes import Change, changes_between

from common.errors import HunminError
from data.cleaning import DOCUMENT_RULES, CleanSettings, clean

SCRIPT = Path(__file__).parents[2] / "scripts/check_cleaning.py"


def rebuilt(before: str, changes: list[Change]) -> str:
    kept, position = [], 0
    for start, end, put in changes:
        assert position <= start <= end and (start < end or put)
        kept += [before[position:start], put]
        position = end
    return "".join([*kept, before[position:]])


@given(st.text("가나ab \n", max_size=60), st.text("가나ab \n", max_size=60))
def test_changes_turn_one_text_into_the_other(before, after):
    assert rebuilt(before, changes_between(before, after)) == after


@given(st.lists(st.sampled_from(["", "<b>", "\u200b", "#x1", "<a href='y'>", "<!-- --><p>"]), max_size=40))
def test_of_pieces_taken_out_no_character_more_is_counted(pieces):
    before = "".join(f"{number}번째 낱말이 있다{piece}" for number, piece in enumerate(pieces))
    after = "".join(f"{number}번째 낱말이 있다" for number in range(len(pieces)))
    changes = changes_between(before, after)
    assert rebuilt(before, changes) == after
    assert [before[start:end] for start, end, _ in changes] == [piece for piece in pieces if piece]
    assert not any(put for _, _, put in changes)


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ("같다", "같다", []),
        ("앞 <b>뒤</b>다", "앞 뒤다", [(2, 5, ""), (6, 10, "")]),
        ("가<br>나", "가\n나", [(1, 5, "\n")]),
        ("&lt;가", "<가", [(0, 4, "<")]),
        ("끝\n끝", "끝", [(1, 3, "")]),
        ("첫 줄\n같은 줄 하나\n같은 줄\n", "첫 줄\n같은 줄\n", [(4, 12, "")]),
        ("", "새", [(0, 0, "새")]),
    ],
)
def test_changes_are_what_a_person_would_mark(before, after, changes):
    assert changes_between(before, after) == changes


def test_a_long_piece_is_found_whole():
    draw = random.Random(1)
    words = ["".join(chr(draw.randrange(0xAC00, 0xD7A4)) for _ in range(3)) for _ in range(4000)]
    before, after = " ".join(words), " ".join([*words[:100], *words[3000:]])
    (change,) = changes_between(before, after)
    assert len(before) - len(after) == change.end - change.start and change.put == ""


def test_every_rule_is_seen_alone_and_in_order():
    text = "<i>오늘</i>\u200b  이야기()를 한다. #날씨" + "\n되풀이되는 긴 제목" * 13
    steps = list(document_changes(text, CleanSettings(), context=2))
    assert [rule for rule, _, _ in steps] == [
        "html", "control", "hashtags", "empty_brackets", "blanks", "repeated_lines"
    ]  # fmt: skip
    taken = {rule: [piece.taken for piece in pieces] for rule, pieces, _ in steps}
    assert taken["html"] == ["<i>", "</i>"]
    assert taken["control"] == ["\u200b"]
    assert taken["hashtags"] == ["#날씨"]
    assert taken["empty_brackets"] == ["()"]
    assert taken["blanks"] == [" ", " "]
    assert taken["repeated_lines"] == ["\n되풀이되는 긴 제목"]
    assert steps[0][1][0] == Piece("", "<i>", "", "오늘")
    assert steps[-1][2] == "오늘 이야기를 한다." + "\n되풀이되는 긴 제목" * 12


def test_rules_that_do_not_come_to_the_whole_are_refused(monkeypatch):
    monkeypatch.setattr("check_cleaning.DOCUMENT_RULES", DOCUMENT_RULES[::-1])
    with pytest.raises(HunminError, match="another text than cleaning at once"):
        list(document_changes("가 <i> </i> 나", CleanSettings()))


def test_rules_are_all_the_switches_of_the_settings():
    switches = {name for name, field in CleanSettings.model_fields.items() if field.annotation is bool}
    assert set(DOCUMENT_RULES) == switches - {"news"}
    assert only(CleanSettings(), "html").html and not only(CleanSettings(), "html").news_image


def test_sentences_are_counted_under_the_first_rule_that_drops_them():
    sentences = ["한글 문장이다.", "漢字漢字漢字漢字漢字漢字", "print(x)", "끝 문장이다."]
    assert list(sentence_changes(sentences, CleanSettings(max_han_kana=10))) == [
        ("max_han_kana", [Piece("한글 문장이다.", "漢字漢字漢字漢字漢字漢字", "", "print(x)")]),
        ("min_hangul_share", [Piece("한글 문장이다.", "print(x)", "", "끝 문장이다.")]),
    ]


def test_samples_are_even_over_sources_and_different():
    seen = Seen(["html"], samples=6, seed=1)
    for number in range(300):
        seen.add("html", "큰 출처", [Piece("", f"<a{number}>", "", "")])
        seen.add("html", "작은 출처", [Piece("", f"<b{number % 2}>", "", "")])
        seen.add("blanks", "다른 규칙", [Piece("", "  ", " ", "")])
    samples = seen.samples("html")
    assert [source for source, _ in samples].count("작은 출처") == 2
    assert len(samples) == len({piece.taken for _, piece in samples}) == 6
    assert seen.taken["html"]["작은 출처"] == 300 * 4 and seen.put["blanks"]["다른 규칙"] == 300
    drawn = [{piece.taken for _, piece in seen_of(seed)} for seed in range(300)]
    often = [sum(f"<a{number}>" in some for some in drawn) for number in (0, 25, 49)]
    assert all(10 <= count <= 60 for count in often)  # 30 expected: 5 of 50, 300 times


def seen_of(seed: int) -> list[tuple[str, Piece]]:
    seen = Seen(["html"], samples=5, seed=seed)
    for number in range(50):
        seen.add("html", "출처", [Piece("", f"<a{number}>", "", "")])
    return seen.samples("html")


def test_tables_and_samples_of_a_corpus(tmp_path: Path) -> None:
    texts = ["<b>굵은</b> 글이다.", "아무 일도 없는 글이다.", "비었다() 그리고 <i>기울었다</i>."]
    lines = [json.dumps({"text": text, "source": "가"}, ensure_ascii=False) for text in texts]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    program = [sys.executable, str(SCRIPT), str(tmp_path / "a.jsonl")]
    size = sum(map(len, texts))
    table = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    assert f"| `html` | 2 | 66.67% | 14 | 0 | {14 / size:.3%} | 가 100% |" in table
    assert f"| `empty_brackets` | 1 | 33.33% | 2 | 0 | {2 / size:.3%} | 가 100% |" in table
    assert f"| 가 | 3 | {size} | {14 / size:.2%} | {2 / size:.2%} |" in table
    samples = subprocess.run([*program, "--rule", "empty_brackets"], capture_output=True, text=True, check=True).stdout
    assert samples == table + "\nempty_brackets: 1 of the changes\n  1 가  비었다⟦()⟧ 그리고 기울었다.\n"
    assert clean(texts[2], CleanSettings(), {}) == "비었다 그리고 기울었다."
