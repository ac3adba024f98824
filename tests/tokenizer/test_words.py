"""Words are those of the saved pipeline; pieces cover every line once."""

import gzip
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokenizer.words as words_module
from common.errors import UserError
from tests.data.readers.reading import write_rows
from tests.tokenizer.conftest import write_corpus
from tokenizer.counts import Counts
from tokenizer.pipeline import normalizer, pre_tokenizer, split_eojeols, split_known_words, split_words
from tokenizer.sampling import Sample
from tokenizer.words import (
    Piece,
    Seen,
    WordsTask,
    WordsWork,
    corpus_pieces,
    count_characters,
    count_words,
    source_sizes,
)


def counted(piece: Piece, share: float = 1.0, user_tokens: tuple[str, ...] = ()) -> Counter[str]:
    return total(count_words(piece, Sample({piece.path: share}, 0.0, 3), split_words, user_tokens, Seen()))


def total(parts: Iterable[dict[str, int]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(part)
    return counts


@settings(max_examples=300)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=50))
def test_words_are_those_of_the_whole_pipeline(text: str) -> None:
    whole = [word for word, _ in pre_tokenizer().pre_tokenize_str(normalizer().normalize_str(text))]
    assert [word for eojeol in split_eojeols(text) for word in split_words(eojeol)] == whole


def test_every_split_character_is_whitespace_to_the_pipeline() -> None:
    for code in [*range(0x3100), 0xFEFF]:
        if len(split_eojeols(f"a{chr(code)}b")) == 2:
            assert normalizer().normalize_str(f"a{chr(code)}b").split() == ["a", "b"], hex(code)


@pytest.mark.parametrize("size", [7, 64, 1 << 20])
def test_pieces_of_any_size_cover_every_line_once(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words_module, "TEXT_PIECE", size)
    lines = [f"줄{number} " + "가나 " * (number % 5) for number in range(50)]
    (tmp_path / "t.txt").write_text("\n".join(lines), encoding="utf-8")
    pieces = corpus_pieces(tmp_path / "t.txt")
    counts = total(counted(piece) for piece in pieces)
    assert counts == Counter(word for line in lines for word in line.split())
    assert total(map(source_sizes, pieces)) == {str(tmp_path / "t.txt"): (tmp_path / "t.txt").stat().st_size}


def test_a_sample_does_not_depend_on_the_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(f"줄{number}" for number in range(400)) + "\n"
    (tmp_path / "t.txt").write_text(text, encoding="utf-8")
    totals = []
    for size in (100, 1 << 20):
        monkeypatch.setattr(words_module, "TEXT_PIECE", size)
        totals.append(total(counted(piece, 0.5) for piece in corpus_pieces(tmp_path / "t.txt")))
    assert totals[0] == totals[1]
    assert 120 < len(totals[0]) < 280


def test_truncated_archive_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "t.txt.gz").write_bytes(gzip.compress("학교 ".encode() * 1000)[:-12])
    with pytest.raises(UserError, match="damaged or cut short"):
        counted(Piece(str(tmp_path / "t.txt.gz")))


def test_a_line_that_is_not_utf8_is_counted_and_its_bytes_replaced(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_bytes(b"\xff\xfe \xea\xb0\x80\n" + "나\n".encode() * 2)
    [piece] = corpus_pieces(tmp_path / "t.txt")
    seen = Seen()
    counts = total(count_words(piece, Sample({piece.path: 1.0}, 0.0, 3), split_words, (), seen))
    assert counts == {"가": 1, "나": 2}
    assert (seen.lines, seen.broken_lines) == (3, 1)


@pytest.mark.parametrize("most", [1, 3, 10**6])
def test_counts_of_any_number_of_words_fit_into_bounded_memory(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compressed file cannot be cut into pieces: its words go to the disk when there are too many."""
    monkeypatch.setattr(words_module, "MOST_DISTINCT", most)
    lines = [f"낱말{number % 7} 낱말{number % 5}" for number in range(40)]
    (tmp_path / "t.txt.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    [piece] = corpus_pieces(tmp_path / "t.txt.gz")
    tally, files = WordsWork(tmp_path, Sample({piece.path: 1.0}, 0.0, 3), split_words, (), 2)(WordsTask(piece, 0))
    assert (len(files) > 1) == (most < 10)
    assert total(Counts(files, 2)) == Counter(" ".join(lines).split())
    assert tally.words == 80 and tally.sampled_bytes == sum(len(line.encode()) + 1 for line in lines) - 1


def test_user_tokens_are_no_words(tmp_path: Path) -> None:
    """They can never come out of WordPiece, so what stands in them must not be learnt."""
    (tmp_path / "t.txt").write_text("학교<URL>에서 <URL><URLS> 봄", encoding="utf-8")
    [piece] = corpus_pieces(tmp_path / "t.txt")
    assert counted(piece, user_tokens=("<URL>", "<URLS>")) == {"학교": 1, "에서": 1, "봄": 1}
    assert counted(piece)["URL"] == 2


@pytest.mark.parametrize("name", ["t.jsonl.zst", "t.jsonl", "T.JSONL.GZ", "t.csv", "t.parquet", "t.json"])
def test_formats_of_the_corpus_are_read_as_the_corpus_reads_them(tmp_path: Path, name: str) -> None:
    write_rows(tmp_path / name, [{"text": "학교 봄"}, {"text": "봄\n여름"}])
    [piece] = corpus_pieces(tmp_path / name)
    assert counted(piece) == {"학교": 1, "봄": 2, "여름": 1}
    assert source_sizes(piece) == {piece.path: len("학교 봄봄\n여름".encode())}


def test_files_without_the_field_and_missing_paths_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"body": "a"}')
    with pytest.raises(UserError, match="has no column 'text'"):
        corpus_pieces(tmp_path / "t.jsonl")
    with pytest.raises(UserError, match="nothing found"):
        corpus_pieces(tmp_path / "absent")
    (tmp_path / "shards").mkdir()
    with pytest.raises(UserError, match="no text shards"):
        corpus_pieces(tmp_path)


def test_corpus_folder_sizes_and_words(corpus_folder: Path) -> None:
    pieces = corpus_pieces(corpus_folder)
    sizes = total(map(source_sizes, pieces))
    assert set(sizes) == {"a", "b"}
    both, only_a = (
        total(part for piece in pieces for part in count_words(piece, Sample(shares, 0, 0), split_words, (), Seen()))
        for shares in ({"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 0.0})
    )
    assert 0 < sum(only_a.values()) < sum(both.values())


def test_a_shard_is_learnt_from_once_in_any_copies_and_never_where_it_is_held_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("data.shards.ROW_GROUP_BYTES", 1)  # a document a row group, and a row group a piece
    monkeypatch.setattr(words_module, "GROUPS_PIECE", 1)
    shards = [[["봄비"], ["봄"]], [["여름"], ["여름 비"]], [["가을 해"]]]
    pieces = corpus_pieces(write_corpus(tmp_path / "c", shards, copies=(0, 3, 1)))
    every = Sample({"a": 1.0, "b": 1.0}, 0, 0)
    words = total(part for piece in pieces for part in count_words(piece, every, split_words, (), Seen()))
    assert len(pieces) == 3 and words == {"여름": 2, "비": 1, "가을": 1, "해": 1}
    assert total(map(source_sizes, pieces)) == {"a": len("여름가을 해".encode()), "b": len("여름 비".encode())}


def test_characters_are_weighed_by_words() -> None:
    assert count_characters({"가나": 3, "가": 2}) == {"가": 5, "나": 3}


def test_words_that_are_always_unknown_are_not_learnt_from() -> None:
    assert split_known_words("가" * 100) == ["가" * 100] and split_known_words("가" * 101) == []
    assert split_known_words("나" * 101 + "(가)") == ["(", "가", ")"]
