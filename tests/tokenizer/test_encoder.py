"""The eojeol table gives HF's ids for any text; special tokens spelt in text stay text."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

import tokenizer.encoder as encoder_module
from common.errors import UserError
from tokenizer.encoder import Encoder
from tokenizer.save import load_tokenizer

# plain Unicode, and the places where cutting at whitespace could go wrong
TRICKY = st.text(
    alphabet=st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from(
            list("가나ᄀ ᅡᆨ\u0301\u0338\t\n\r\x0b\x0c\x1c\x85\u00a0\u2000\u2028\u3000\u200b\ufeff漢.[]MASK학교은")
        ),
    ),
    max_size=40,
)
SPELT = st.sampled_from(["[MASK]", "[CLS]", "[SEP]", "[PAD]", "[UNK]", "[unused0]", "##은", "학교에서", "한글"])
SENTENCE = st.lists(st.one_of(TRICKY, SPELT), max_size=6).map("".join)


def lists(documents: list[list[str]]) -> pa.ListArray:
    return pa.array(documents, pa.list_(pa.string()))


@pytest.fixture(scope="module")
def encoder(tokenizer_folder: Path) -> Encoder:
    return Encoder(load_tokenizer(tokenizer_folder), tokenizer_folder)


@settings(max_examples=400)
@given(documents=st.lists(st.lists(SENTENCE, max_size=4), max_size=4))
def test_ids_and_boundaries_equal_hf_on_any_text(encoder: Encoder, documents: list[list[str]]) -> None:
    batch = encoder.encode(lists(documents))
    tokens, document_starts, sentence_starts = [], [], []
    for sentences in documents:
        ids = [encoder.tokenizer.encode(sentence, add_special_tokens=False).ids for sentence in sentences]
        if any(ids):
            document_starts.append(len(tokens))
            for word_ids in filter(None, ids):
                sentence_starts.append(len(tokens))
                tokens += word_ids
            tokens.append(encoder.special_ids["sep"])
    assert batch.tokens_T.tolist() == tokens
    assert batch.documents.tolist() == [*document_starts, len(tokens)]
    assert batch.sentences.tolist() == [*sentence_starts, len(tokens)]


def test_long_and_short_documents_in_turn_keep_their_ids(encoder: Encoder) -> None:
    sentence = "학교에서 [공부]를 하였다."
    sizes = [1, 5000, 1, 1, 0, 900, 20_000, 2]  # times 37 bytes: below and beyond what is cut together
    batch = encoder.encode(lists([[sentence] * size for size in sizes]))
    ids = encoder.tokenizer.encode(sentence, add_special_tokens=False).ids
    assert batch.tokens_T.tolist() == [token for size in sizes if size for token in [*ids * size, 2]]
    assert np.diff(batch.documents).tolist() == [size * len(ids) + 1 for size in sizes if size]
    assert len(batch.sentences) - 1 == sum(sizes)


def test_threads_share_an_encoder(encoder: Encoder) -> None:
    documents = [[[f"{word}{n} 학교에서 한글을 {n}"] for n in range(2000)] for word in ("가", "나", "다", "라")]
    with ThreadPoolExecutor(4) as pool:
        batches = list(pool.map(encoder.encode, map(lists, documents)))
    for batch, texts in zip(batches, documents, strict=True):
        assert batch.tokens_T.tolist() == encoder.encode(lists(texts)).tokens_T.tolist()


@settings(max_examples=200)
@given(sentence=SENTENCE)
def test_text_never_gives_a_special_id_but_unk(encoder: Encoder, sentence: str) -> None:
    batch = encoder.encode(lists([[sentence]]))
    special = set(encoder.special_ids.values()) - {encoder.special_ids["unk"]}
    assert not special & set(batch.tokens_T[:-1].tolist())


def test_table_that_starts_anew_gives_the_same_ids(
    tokenizer_folder: Path, monkeypatch: pytest.MonkeyPatch, text_file: Path
) -> None:
    lines = text_file.read_text(encoding="utf-8").splitlines()[:300]
    loaded = load_tokenizer(tokenizer_folder)
    whole = Encoder(loaded, "").encode(lists([[line] for line in lines])).tokens_T
    monkeypatch.setattr(encoder_module, "TABLE_UNITS", 10)
    monkeypatch.setattr(encoder_module, "FILL_GROUP", 3)
    small = Encoder(loaded, "")
    parts = [small.encode(lists([[line]])).tokens_T for line in lines]
    assert np.array_equal(np.concatenate(parts), whole)


def test_a_vocabulary_without_a_special_token_is_refused() -> None:
    lacking = Tokenizer(models.WordPiece({"[UNK]": 0, "[CLS]": 1}, unk_token="[UNK]"))
    lacking.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    with pytest.raises(UserError, match=r"lacks \[PAD\], \[SEP\], \[MASK\]"):
        Encoder(lacking, "folder")


def test_another_pipeline_is_refused() -> None:
    with pytest.raises(UserError, match="not WordPiece"):
        Encoder(Tokenizer(models.BPE()), "folder")


def test_slices_of_an_arrow_array_are_read_at_their_place(encoder: Encoder) -> None:
    documents = lists([["앞 문서."], ["학교에서 봤다.", "바다의 음악."], [], None, ["뒤 문서."]])  # type: ignore[list-item]
    assert (
        encoder.encode(documents.slice(1, 3)).tokens_T.tolist()
        == encoder.encode(lists([documents[1].as_py()])).tokens_T.tolist()
    )
    large = documents.cast(pa.large_list(pa.large_string())).cast(pa.list_(pa.large_string()))
    assert encoder.encode(large.slice(1)).tokens_T.tolist() == encoder.encode(documents.slice(1)).tokens_T.tolist()


def test_added_tokens_with_punctuation_keep_hf_ids(tokenizer_folder: Path) -> None:
    loaded = load_tokenizer(tokenizer_folder)
    loaded.add_tokens(["C++", "학교-A"])
    text = "C++은 학교-A에서 (C++) 봤다."
    assert (
        Encoder(loaded, "").encode(lists([[text]])).tokens_T[:-1].tolist()
        == loaded.encode(text, add_special_tokens=False).ids
    )


def test_a_failure_between_units_and_their_ids_leaves_no_unit_without_ids(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = lists([["처음 보는 낱말들 홑따옴표‘안’ 글"]])
    with monkeypatch.context() as patch:
        patch.setattr(encoder, "_ids", lambda *_: (_ for _ in ()).throw(MemoryError))
        with pytest.raises(MemoryError):
            encoder.encode(documents)
    expected = encoder.tokenizer.encode("처음 보는 낱말들 홑따옴표‘안’ 글", add_special_tokens=False).ids
    assert encoder.encode(documents).tokens_T.tolist() == [*expected, encoder.special_ids["sep"]]


def test_ids_above_65535_take_four_bytes(tokenizer_folder: Path) -> None:
    """The width follows the vocabulary, for words of the trie and for all others."""
    tree = json.loads((tokenizer_folder / "tokenizer.json").read_text(encoding="utf-8"))
    entries = tree["model"]["vocab"]
    entries.update({f"x{n}": n for n in range(len(entries), 70_000)})
    entries |= {"초전도체": 70_000, "é漢": 70_001, "ñ": 70_002}
    wide = Encoder(Tokenizer.from_str(json.dumps(tree)), "wide")
    batch = wide.encode(lists([["초전도체 x69999 ñ 학교"]]))
    assert wide.dtype == batch.tokens_T.dtype == np.uint32
    assert batch.tokens_T.tolist() == [70_000, 69_999, 70_002, entries["학교"], 2]


def test_gaps_between_ids_are_refused(tokenizer_folder: Path) -> None:
    """The model would have no row for the last ids, and two bytes no room for them."""
    tree = json.loads((tokenizer_folder / "tokenizer.json").read_text(encoding="utf-8"))
    tree["model"]["vocab"]["초전도체"] = 70_000
    with pytest.raises(UserError, match=r"have gaps: 241 entries, the last with id 70,000"):
        Encoder(Tokenizer.from_str(json.dumps(tree)), "gaps")
