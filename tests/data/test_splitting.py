"""Sentence splitting: hard cases, no loss, determinism."""

import os
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.splitting.endings import FINAL, LEANS
from data.splitting.scan import split_sentences

SHARED = Path(os.environ.get("HUNMIN_SHARED_DATA") or Path(__file__).parents[3] / "shared" / "data")
CASES = [
    line.replace("⏎", "\n").split("¦")
    for line in (Path(__file__).parent / "splitting_cases.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("# ")
]


@pytest.mark.parametrize("parts", CASES, ids="¦".join)
def test_hard_cases(parts):
    assert split_sentences("".join(parts)) == [part.strip() for part in parts]


@pytest.mark.parametrize(("treebank", "least"), [("ko_gsd-ud-dev.conllu", 0.95), ("ko_kaist-ud-dev.conllu", 0.998)])
def test_agreement_with_a_treebank(treebank, least):
    """Guards boundary F1 over sentences joined twenty at a time by single blanks."""
    path = SHARED / "raw" / "ud" / treebank
    if not path.exists():
        pytest.skip("shared data not there")
    lines = path.read_text(encoding="utf-8").splitlines()
    gold = [line[9:].strip() for line in lines if line.startswith("# text = ")]
    hits = predicted = true = 0
    for first in range(0, len(gold), 20):
        group = gold[first : first + 20]
        expected, got = _ends(group), _ends(split_sentences(" ".join(group)))
        hits, predicted, true = hits + len(expected & got), predicted + len(got), true + len(expected)
    assert 2 * hits / (predicted + true) > least


def _ends(sentences: list[str]) -> set[int]:
    return set(list(accumulate(len("".join(sentence.split())) for sentence in sentences))[:-1])


def test_links_are_not_cut_where_no_blank_follows():
    assert split_sentences("한국.com 과 www.example.org 를 본다.") == ["한국.com 과 www.example.org 를 본다."]


def test_a_remark_in_brackets_stays_with_its_sentence_but_a_list_mark_does_not():
    assert split_sentences("모두 웃었다. (일동 박수) 막이 내렸다.") == ["모두 웃었다. (일동 박수)", "막이 내렸다."]
    assert split_sentences("물을 끓인다. (2) 면을 넣는다.") == ["물을 끓인다.", "(2) 면을 넣는다."]
    assert split_sentences("갔다. (그는 울었다.) 밤이었다.") == ["갔다.", "(그는 울었다.)", "밤이었다."]


@pytest.mark.parametrize("blank", [" ", "  ", "\t", "\u00a0", "\u3000"])
def test_every_kind_of_blank_parts_sentences(blank):
    assert split_sentences(f"좋네요{blank}또 올게요.{blank}끝") == ["좋네요", "또 올게요.", "끝"]


@pytest.mark.parametrize("last", FINAL)
def test_every_ending_is_led_on_by_a_quoting_word(last):
    assert LEANS[last].match("라고 했다")
    assert not LEANS[last].match("그리고 갔다")


@given(
    st.text(alphabet="가다요죠까네어줘ㅋㅠ닼.!?… \n\t\u3000\u00a0\x85\u2028\"'“”()[]1A^~;,p", max_size=80)
    | st.text(max_size=60)
)
def test_no_character_is_lost(text):
    sentences = split_sentences(text)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert all(s and s == s.strip() for s in sentences)
    assert sentences == split_sentences(text)


@given(st.lists(st.sampled_from(["밥을 먹었다.", "정말요?", "(그렇다.)", "“가자.”", "3.14 이다.", "끝"]), max_size=6))
def test_lines_are_split_apart_from_each_other(lines):
    assert split_sentences("\n".join(lines)) == [s for line in lines for s in split_sentences(line)]
