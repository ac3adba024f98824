"""Exact size, order of entries, continuation pieces, determinism, and corpora that cannot give what is asked."""

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from transformers import AutoTokenizer

import tokenizer.counting as counting_module
import tokenizer.wordpiece as wordpiece_module
import tokenizer.words as words_module
from common.errors import UserError
from common.settings import parse_settings
from data.shards import read_shards
from tokenizer.counting import count_corpus
from tokenizer.save import load_tokenizer
from tokenizer.settings import SPECIAL_TOKENS, TokenizerSettings
from tokenizer.train import train_tokenizer
from tokenizer.wordpiece import learn_entries, train_vocabulary

SMALL = TokenizerSettings(vocab_size=240, min_character_count=2, workers=1)
FILES = ("README.md", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


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
    monkeypatch.setattr(counting_module, "PARTITION_BYTES", 30_000)
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
    limit, wordpiece_module.FEED_LIMIT = wordpiece_module.FEED_LIMIT, 200
    try:
        first = train_vocabulary([pieces], alphabet, 25, 2, seed=5)
        assert first == train_vocabulary([pieces], alphabet, 25, 2, seed=5)
    finally:
        wordpiece_module.FEED_LIMIT = limit
    assert len(first) == 25
    assert "##에서" in first


def test_merges_come_in_order_of_frequency() -> None:
    pieces = [{"가나": 5, "##가나": 9, "나가": 7}]
    entries = train_vocabulary(pieces, ["가", "나"], 7, 2, seed=0)
    assert entries == ["가", "나", "##가", "##나", "##가나", "나가", "가나"]
    rest = train_vocabulary(pieces, ["가", "나"], 7, 2, seed=0, taken=["나", "나가"])
    assert rest == ["가", "##가", "##나", "##가나", "가나"]


@pytest.mark.parametrize("least", [1, 1000, 1001])
def test_a_pair_is_merged_that_occurs_as_often_as_is_asked(least: int) -> None:
    pieces = [{"가나": least, "다라": least - 1}]
    assert learn_entries(pieces, [*"가나다라"], 20, least, seed=0)[8:] == ["가나"]


def test_corpus_too_small_says_which_size_it_reaches(text_file: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"vocabulary of 9000: it yields (\d+) entries") as caught:
        train_tokenizer(SMALL.model_copy(update={"vocab_size": 9000}), text_file, tmp_path)
    reachable = int(caught.value.problem.split("yields ")[1].split()[0])
    train_tokenizer(SMALL.model_copy(update={"vocab_size": reachable}), text_file, tmp_path)
    assert len(entries(tmp_path)) == reachable


@pytest.mark.parametrize(
    ("content", "change", "said"),
    [
        (None, {"vocab_size": 100}, r"too small for \d+ characters"),
        *((content, {}, "no words") for content in (b"", b"\n\n", b"\x00\x01\n")),
        ("학교에서 음악을 봤어요.\n".encode("cp949"), {}, r"lines of .* are not UTF-8"),
        (None, {"sample_mb": 1e-6}, r"(?s)holds no words: it is 0 of.*fix: .*sample_mb"),
    ],
)
def test_a_text_that_gives_no_such_vocabulary_is_refused(
    content: bytes | None, change: dict[str, Any], said: str, text_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "t.txt").write_bytes(text_file.read_bytes() if content is None else content)
    with pytest.raises(UserError, match=said):
        train_tokenizer(SMALL.model_copy(update=change), tmp_path / "t.txt", tmp_path)


def test_corpus_folder_gives_a_vocabulary(corpus_folder: Path, tmp_path: Path) -> None:
    """The same with any number of workers."""
    counts_by_workers = []
    for workers in (1, 2):
        (tmp_path / str(workers)).mkdir()
        settings = SMALL.model_copy(update={"vocab_size": 220, "workers": workers})
        counts_by_workers.append(train_tokenizer(settings, corpus_folder, tmp_path / str(workers)))
    assert counts_by_workers[0] == counts_by_workers[1]
    for name in FILES:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()
    counts = counts_by_workers[0]
    assert counts["sources"] == 2 and counts["broken_lines"] == 0
    texts = [text for batch in read_shards(corpus_folder, ["sentences"]) for text in batch.column(0).to_pylist()]
    assert "words" not in counts  # those are of the corpus, by blanks; these are cut at punctuation
    eojeols = [eojeol for text in texts for sentence in text for eojeol in sentence.split()]
    pieces = [piece for eojeol in eojeols for piece in re.findall(r"\w+|[^\w\s]", eojeol)]
    assert 0.95 * len(pieces) < counts["pre_tokens"] < len(pieces) and len(pieces) > len(eojeols)
    assert counts["distinct_pre_tokens"] <= len(set(pieces))
    assert counts["corpus_bytes"] == sum(len(sentence.encode()) for text in texts for sentence in text)
    assert 0.95 < counts["sampled_bytes"] / counts["corpus_bytes"] < 1  # one document in a hundred is held out


@pytest.mark.slow
@pytest.mark.parametrize(("module", "name"), [(words_module, "count_words"), (counting_module, "count_pieces")])
def test_a_killed_training_goes_on_to_the_same_bytes(
    module: ModuleType, name: str, text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    monkeypatch.setattr(words_module, "TEXT_PIECE", 50_000)
    monkeypatch.setattr(counting_module, "PARTITION_BYTES", 30_000)
    real, calls, killed_at = getattr(module, name), [], 0

    def counted(*args, **kwargs):  # type: ignore[no-untyped-def]
        calls.append(1)
        if len(calls) == killed_at:
            raise Killed
        return real(*args, **kwargs)

    monkeypatch.setattr(module, name, counted)
    for folder in ("whole", "killed"):
        (tmp_path / folder).mkdir()
    train_tokenizer(SMALL, text_file, tmp_path / "whole")
    tasks = len(calls)
    assert tasks > 3
    calls.clear()
    killed_at = 3
    with pytest.raises(Killed):
        train_tokenizer(SMALL, text_file, tmp_path / "killed")
    train_tokenizer(SMALL, text_file, tmp_path / "killed")
    assert len(calls) == tasks + 1
    for file in FILES:
        assert (tmp_path / "killed" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()
    assert not (tmp_path / "killed/.work").exists()


def test_what_was_counted_of_another_text_is_not_used(text_file: Path, tmp_path: Path) -> None:
    text = tmp_path / "t.txt"
    text.write_bytes(text_file.read_bytes())
    with pytest.raises(UserError, match="too small"):
        train_tokenizer(SMALL.model_copy(update={"vocab_size": 9000}), text, tmp_path)
    text.write_text("바다 나라 바다 나라 " * 50, encoding="utf-8")
    train_tokenizer(SMALL.model_copy(update={"vocab_size": 15}), text, tmp_path)
    assert set(entries(tmp_path)[13:]) == {"바다", "나라"}


def test_what_was_counted_waits_for_its_settings_to_come_back(
    text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes: list[dict[str, Any]] = [
        {}, {"seed": 9}, {"sample_mb": 0.01}, {"user_tokens": ("학교",)}, {"pretokenizer": "none"},
        {"pretokenizer": "none", "model": "unigram"},
    ]  # fmt: skip
    every = [SMALL.model_copy(update=change) for change in changes]
    counts = [count_corpus(settings, text_file, tmp_path) for settings in every]
    assert counts[0].facts["sampled_bytes"] > counts[2].facts["sampled_bytes"] > 0
    assert len({counted.held_out[0].parent for counted in counts}) == len(changes)
    monkeypatch.setattr(words_module, "count_words", None)  # nothing is counted, and nothing cut again
    monkeypatch.setattr(counting_module, "count_pieces", None)
    every.append(SMALL.model_copy(update={"vocab_size": 200, "min_character_count": 9, "unused": 3}))
    for settings, counted in zip(every, [*counts, counts[0]], strict=True):
        again = count_corpus(settings, text_file, tmp_path)
        assert (again.facts, again.characters, again.corpus) == (counted.facts, counted.characters, counted.corpus)
        assert list(again.pieces) == list(counted.pieces) and again.held_out == counted.held_out


def test_user_tokens_are_never_cut(text_file: Path, tmp_path: Path) -> None:
    train_tokenizer(SMALL.model_copy(update={"user_tokens": ["<URL>"], "unused": 1}), text_file, tmp_path)
    assert entries(tmp_path)[5:7] == ["[unused0]", "<URL>"]
    assert load_tokenizer(tmp_path).encode("학교<URL>에서", add_special_tokens=False).tokens[1] == "<URL>"
    loaded = AutoTokenizer.from_pretrained(str(tmp_path))
    assert "<URL>" in loaded.tokenize("학교 <URL> 에서")


def test_user_tokens_that_would_be_learnt_leave_no_gap(text_file: Path, tmp_path: Path) -> None:
    """A word and a character of the text among them: one id each, and the size is reached all the same."""
    counts = train_tokenizer(SMALL.model_copy(update={"user_tokens": ["학교", "."]}), text_file, tmp_path)
    assert counts["vocab_size"] == 240 and len(set(entries(tmp_path))) == 240
    ids = load_tokenizer(tmp_path).get_vocab()
    assert sorted(ids.values()) == list(range(240)) and (ids["학교"], ids["."]) == (5, 6)
    assert load_tokenizer(tmp_path).encode("바다.학교", add_special_tokens=False).ids[-2:] == [6, 5]


@pytest.mark.parametrize(
    "tree",
    [
        {"unused": 5000, "vocab_size": 4000},
        {"base": "x", "special": "bert"},
        {"base": "x", "max_seq_len": 128},
        {"base": "x", "unused": 1},
    ],
)
def test_settings_that_contradict_each_other_are_refused(tree: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="leave"):
        parse_settings(TokenizerSettings, tree, "a test")


@pytest.mark.parametrize("tokens", [["a b"], [""], ["[MASK]"], ["[unused0]"], ["##은"], ["<A>", "<A>"]])
def test_tokens_that_cannot_be_are_refused(tokens: list[str]) -> None:
    with pytest.raises(UserError, match="user_tokens"):
        parse_settings(TokenizerSettings, {"user_tokens": tokens}, "a test")


def test_a_unigram_vocabulary_to_compare_with(text_file: Path, tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    settings = SMALL.model_copy(update={"model": "unigram", "pretokenizer": "none", "vocab_size": 130})
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        train_tokenizer(settings, text_file, tmp_path / name)
    assert (tmp_path / "a/tokenizer.json").read_bytes() == (tmp_path / "b/tokenizer.json").read_bytes()
    assert entries(tmp_path / "a")[:5] == list(SPECIAL_TOKENS["roberta"])
    assert len(entries(tmp_path / "a")) == 130
    loaded = AutoTokenizer.from_pretrained(str(tmp_path / "a"))
    text = "학교에서 음악을 봤어요."
    assert loaded.decode(loaded(text)["input_ids"], skip_special_tokens=True) == text
    with pytest.raises(UserError, match="no unigram vocabulary of 9000 entries"):
        train_tokenizer(settings.model_copy(update={"vocab_size": 9000}), text_file, tmp_path)
    with pytest.raises(UserError, match="pretokenizer=none"):
        parse_settings(TokenizerSettings, {"model": "unigram"}, "a test")


def test_the_card_tells_corpus_settings_and_figures(tokenizer_folder: Path) -> None:
    card = (tokenizer_folder / "README.md").read_text(encoding="utf-8")
    assert "240 entries" in card and "vocab_size: 240" in card and "| fertility |" in card
    assert "subwords) of documents that were held out" in card and "Pre-tokens are the sample's words" in card
    # 1% of 3,000 short lines: most of any vocabulary is unused there
    assert "| unused ratio |" not in card and "No unused ratio: the text has" in card
