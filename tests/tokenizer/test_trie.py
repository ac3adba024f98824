"""The trie gives a plain word the ids that the WordPiece model of HF tokenizers gives it, whatever the vocabulary."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from tokenizer.trie import WordPieceTrie

WORD = st.text(alphabet="가나힣a1Z", min_size=1, max_size=8)
ENTRIES = st.lists(st.tuples(st.booleans(), st.text(alphabet="가나힣a1Z", min_size=1, max_size=4)), max_size=30)


def encode(trie: WordPieceTrie, words: list[str], allowed: list[bool] | None = None) -> list[list[int]]:
    encoded = [word.encode() for word in words]
    ends = np.concatenate(([0], np.cumsum([len(word) for word in encoded], dtype=np.int64))).astype(np.int64)
    chosen = np.ones(len(words), bool) if allowed is None else np.array(allowed, bool)
    ids_T, counts_R = trie.encode(np.frombuffer(b"".join(encoded), np.uint8), ends, chosen)
    assert counts_R.sum() == len(ids_T)
    return [part.tolist() for part in np.split(ids_T, np.cumsum(counts_R)[:-1])]


@settings(max_examples=400)
@given(entries=ENTRIES, words=st.lists(WORD, min_size=1, max_size=10), longest=st.integers(1, 9))
def test_ids_equal_hf_for_any_vocabulary(entries: list[tuple[bool, str]], words: list[str], longest: int) -> None:
    names = dict.fromkeys(["[UNK]", *("##" * continued + text for continued, text in entries)])
    vocabulary = {name: index for index, name in enumerate(names)}
    model = models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=longest)
    trie = WordPieceTrie(vocabulary, "##", 0, longest)
    assert encode(trie, words) == [Tokenizer(model).encode(word).ids for word in words]


@pytest.mark.parametrize("name", ["##", "#", "", "[UNK]", "########가"])
def test_odd_entries_do_no_harm(name: str) -> None:
    vocabulary = {"[UNK]": 0, "가": 1, "##나": 2} | {name: 3 if name != "[UNK]" else 0}
    model = models.WordPiece(vocabulary, unk_token="[UNK]")
    words = ["가나", "#", "나", "가가", "가"]
    assert encode(WordPieceTrie(vocabulary, "##", 0, 100), words) == [Tokenizer(model).encode(w).ids for w in words]


def test_words_that_are_not_wanted_have_no_ids() -> None:
    trie = WordPieceTrie({"[UNK]": 0, "가": 1}, "##", 0, 100)
    assert encode(trie, ["가", "가", "나"], [True, False, True]) == [[1], [], [0]]
