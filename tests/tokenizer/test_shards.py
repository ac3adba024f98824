"""Token shards: what is written comes back, mapped; damage is noticed."""

from pathlib import Path

import numpy as np
import pytest

from common.errors import HunminError, UserError
from tokenizer.shards import TokenShards, token_dtype, write_meta, write_shard

SPECIAL = {"cls": 0, "pad": 1, "sep": 2, "unk": 3, "mask": 4}


def write(folder: Path, vocab_size: int = 100) -> list[np.ndarray]:
    arrays = [np.arange(count, dtype=token_dtype(vocab_size)) for count in (10, 7)]
    entries = [
        write_shard(folder, i, tokens, [0, 4, len(tokens)], [0, 2, 4, len(tokens)]) for i, tokens in enumerate(arrays)
    ]
    write_meta(folder, vocab_size, SPECIAL, entries, unk=2)
    return arrays


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    arrays = write(tmp_path)
    shards = TokenShards(tmp_path)
    assert (shards.total_tokens, shards.total_documents, shards.total_sentences, shards.total_unk) == (17, 4, 6, 2)
    assert shards.special_ids == SPECIAL
    for index, tokens in enumerate(arrays):
        assert isinstance(shards.tokens(index), np.memmap)
        assert np.array_equal(shards.tokens(index), tokens)
        assert shards.documents(index).tolist() == [0, 4, len(tokens)]
        assert shards.sentences(index).tolist() == [0, 2, 4, len(tokens)]


@pytest.mark.parametrize(("vocab_size", "name"), [(65_536, "uint16"), (65_537, "uint32")])
def test_dtype_holds_every_id(vocab_size: int, name: str, tmp_path: Path) -> None:
    assert token_dtype(vocab_size).name == name
    assert vocab_size - 1 <= np.iinfo(token_dtype(vocab_size)).max
    write(tmp_path, vocab_size)
    assert TokenShards(tmp_path).tokens(0).dtype.name == name


@pytest.mark.parametrize("offsets", [[], [0, 3], [1, 10], [0, 5, 5, 10]])
def test_offsets_must_rise_from_the_first_to_the_last_token(offsets: list[int], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="offsets"):
        write_shard(tmp_path, 0, np.arange(10, dtype="<u2"), [0, 10], offsets)


def test_missing_and_damaged_folders_are_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no tokens\.json"):
        TokenShards(tmp_path)
    write(tmp_path)
    (tmp_path / "tokens-00001.bin").write_bytes(b"12")
    with pytest.raises(HunminError, match=r"tokens-00001\.bin has 2 bytes"):
        TokenShards(tmp_path)
    (tmp_path / "tokens.json").write_text("{")
    with pytest.raises(HunminError, match="damaged"):
        TokenShards(tmp_path)


@pytest.mark.parametrize(
    "offsets",
    [[0, 2, 4, 99], [0, 2, -4, 10], [0, 4, 2, 10], [0, 2, 10], [1, 2, 4, 10], [0.0, 2.0, 4.0, 10.0], [[0, 2, 4, 10]]],
)
def test_offsets_outside_of_the_tokens_are_refused_when_they_are_opened(offsets: list[object], tmp_path: Path) -> None:
    """Compiled code that goes by them ends the process by a signal, without a word."""
    write(tmp_path)
    np.save(tmp_path / "sentences-00000.npy", np.array(offsets))
    shards = TokenShards(tmp_path)
    with pytest.raises(HunminError, match=r"sentences-00000\.npy holds offsets that do not fit its tokens"):
        shards.sentences(0)
    assert shards.sentences(1).tolist() == [0, 2, 4, 7]
    (tmp_path / "documents-00001.npy").write_bytes(b"\x93NUMPY\x01")
    with pytest.raises(HunminError, match="is damaged"):
        shards.documents(1)


def test_ids_outside_of_the_vocabulary_are_refused(tmp_path: Path) -> None:
    write(tmp_path)
    TokenShards(tmp_path).check_ids()
    (tmp_path / "tokens-00001.bin").write_bytes(np.array([1, 2, 3, 4, 5, 6, 100], dtype="<u2").tobytes())
    with pytest.raises(HunminError, match=r"tokens-00001\.bin holds the id 100"):
        TokenShards(tmp_path).check_ids()
