"""Exact size, order of entries, continuation pieces, determinism, and corpora that cannot give what is asked."""

from pathlib import Path

import pytest

import tokenizer.train as train_module
import tokenizer.words as words_module
from common.errors import UserError
from tokenizer.save import load_tokenizer
from tokenizer.settings import SPECIAL_TOKENS, TokenizerSettings
from tokenizer.train import train_tokenizer, train_vocabulary

SMALL = TokenizerSettings(vocab_size=240, min_character_count=2, workers=1)
FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


def entries(folder: Path) -> list[str]:
    return (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("size", [200, 233, 240])
@pytest.mark.parametrize("pretokenizer", ["morpheme", "none"])
def test_size_is_exact_and_entries_are_distinct(size: int, pretokenizer: str, text_file: Path, tmp_path: Path) -> None:
    settings = TokenizerSettings(vocab_size=size, pretokenizer=pretokenizer, min_character_count=2, workers=1)
    counts = train_tokenizer(settings, text_file, tmp_path)
    assert len(entries(tmp_path)) == len(set(entries(tmp_path))) == counts["vocab_size"] == size
    assert load_tokenizer(tmp_path).get_vocab_size() == size


@pytest.mark.parametrize("preset", ["roberta", "bert"])
def test_special_tokens_come_first_in_the_preset_order(preset: str, text_file: Path, tmp_path: Path) -> None:
    train_tokenizer(SMALL.model_copy(update={"special": preset, "unused": 2}), text_file, tmp_path)
    assert entries(tmp_path)[:7] == [*SPECIAL_TOKENS[preset], "[unused0]", "[unused1]"]


def test_every_covered_character_has_both_forms(tokenizer_folder: Path) -> None:
    vocabulary = set(entries(tokenizer_folder))
    assert {"은", "##은", "漢", "##漢", "é", "##é", ".", "##."} <= vocabulary
    ids = load_tokenizer(tokenizer_folder).encode("켂학교").ids
    assert 3 in ids  # a character never seen makes its word [UNK]


def test_josa_continue_words_as_in_the_paper(tokenizer_folder: Path, baseline_folder: Path) -> None:
    def cut(folder: Path, text: str) -> list[str]:
        return load_tokenizer(folder).encode(text, add_special_tokens=False).tokens

    assert {"##에서", "##으로", "##에게", "##까지"} <= set(entries(tokenizer_folder))
    for josa in "은는을의":
        assert cut(tokenizer_folder, "분야" + josa) == ["분야", "##" + josa]
    assert cut(tokenizer_folder, "인공지능에서 연구자으로") == ["인공지능", "##에서", "연구자", "##으로"]
    assert cut(tokenizer_folder, "학교은") == ["학교", "##은"]
    assert cut(baseline_folder, "학교은") == ["학교은"]


def test_same_bytes_with_one_and_two_workers(text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words_module, "TEXT_PIECE", 50_000)
    monkeypatch.setattr(train_module, "SEGMENT_WORDS", 100)
    folders = []
    for workers in (1, 2):
        folders.append(tmp_path / str(workers))
        folders[-1].mkdir()
        train_tokenizer(SMALL.model_copy(update={"workers": workers}), text_file, folders[-1])
    for name in FILES:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()


def test_scaled_counts_are_deterministic_and_keep_the_size() -> None:
    pieces = {"##에서": 900, "학교": 500, "도서관": 450, "##으로": 440, "바다": 3}
    alphabet = sorted({character for piece in pieces for character in piece.strip("#")})
    limit, train_module.FEED_LIMIT = train_module.FEED_LIMIT, 200
    try:
        first = train_vocabulary(pieces, alphabet, 25, 2, seed=5)
        assert first == train_vocabulary(pieces, alphabet, 25, 2, seed=5)
    finally:
        train_module.FEED_LIMIT = limit
    assert len(first) == 25
    assert "##에서" in first


def test_merges_come_in_order_of_frequency() -> None:
    found = train_vocabulary({"가나": 5, "##가나": 9, "나가": 7}, ["가", "나"], 7, 2, seed=0)
    assert found == ["가", "나", "##가", "##나", "##가나", "나가", "가나"]


def test_corpus_too_small_says_which_size_it_reaches(text_file: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"vocabulary of 9000: it yields (\d+) entries") as caught:
        train_tokenizer(SMALL.model_copy(update={"vocab_size": 9000}), text_file, tmp_path)
    reachable = int(caught.value.problem.split("yields ")[1].split()[0])
    train_tokenizer(SMALL.model_copy(update={"vocab_size": reachable}), text_file, tmp_path)
    assert len(entries(tmp_path)) == reachable


def test_size_smaller_than_the_alphabet_is_refused(text_file: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"too small for \d+ characters"):
        train_tokenizer(SMALL.model_copy(update={"vocab_size": 100}), text_file, tmp_path)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\x00\x01\n"])
def test_a_corpus_without_words_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_bytes(content)
    with pytest.raises(UserError, match="no words"):
        train_tokenizer(SMALL, tmp_path / "empty.txt", tmp_path)


def test_corpus_folder_gives_a_vocabulary(corpus_folder: Path, tmp_path: Path) -> None:
    counts = train_tokenizer(SMALL.model_copy(update={"vocab_size": 220}), corpus_folder, tmp_path)
    assert counts["sources"] == 2
    assert counts["sampled_bytes"] == counts["corpus_bytes"]
