"""The saved folder in transformers: same ids, cased, NFC, right special tokens, whatever model lies beside it."""

import json
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import HunminError, UserError
from tokenizer.encoder import Encoder
from tokenizer.pipeline import normalizer, pre_tokenizer
from tokenizer.save import build_tokenizer, load_tokenizer, save_tokenizer
from tokenizer.settings import SPECIAL_TOKENS


@pytest.fixture(scope="module")
def auto(tokenizer_folder: Path):  # type: ignore[no-untyped-def]
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tokenizer_folder)


ANY = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60)
COVERED = "학교에서음악을봤어요고양이는기차로간다.3kg()GPUéㅋ漢字"
"""Characters that the vocabulary covers, and one that is composed."""
KNOWN = st.lists(
    st.sampled_from(["학교", "에서", "인공지능", "(GPU)", "漢字", "cafe\u0301", " ", ".", *COVERED]), max_size=25
)
"""Text without [UNK]."""


@settings(max_examples=300)
@given(text=ANY | KNOWN.map("".join) | st.lists(KNOWN.map("".join) | ANY, max_size=4).map("".join))
def test_auto_tokenizer_gives_the_encoders_ids_on_any_text(auto, tokenizer_folder: Path, text: str) -> None:  # type: ignore[no-untyped-def]
    encoder = Encoder(load_tokenizer(tokenizer_folder), tokenizer_folder)
    ours = encoder.encode(pa.array([[text]], pa.list_(pa.string()))).tokens_T.tolist()
    theirs = auto(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    assert ours == [*theirs, auto.sep_token_id] or (not ours and not theirs)


@settings(max_examples=200)
@given(text=ANY | KNOWN.map("".join) | st.text("학교에서 e\u0301漢\u1112\u1161\u11ab.\u200b", max_size=30))
def test_offsets_rise_and_cover_all_that_is_not_taken_out(tokenizer_folder: Path, text: str) -> None:
    """Of composed text: where NFC joins characters, the library's offsets name the first of them."""
    text = unicodedata.normalize("NFC", text)
    encoding = load_tokenizer(tokenizer_folder).encode(text, add_special_tokens=False)
    ends = 0
    for start, end in encoding.offsets:
        assert ends <= start < end <= len(text)
        ends = end
    covered = {place for start, end in encoding.offsets for place in range(start, end)}
    left = "".join(character for place, character in enumerate(text) if place not in covered)
    assert not normalizer().normalize_str(left).split()


@settings(max_examples=300)
@given(text=KNOWN.map("".join))
def test_decoding_gives_back_the_words_of_the_normalised_text(auto, text: str) -> None:  # type: ignore[no-untyped-def]
    """Exactly: the words that the pipeline sees, a blank between them."""
    ids = auto(text, add_special_tokens=False)["input_ids"]
    words = [word for word, _ in pre_tokenizer().pre_tokenize_str(normalizer().normalize_str(text))]
    assert auto.unk_token_id not in ids
    assert auto.decode(ids) == " ".join(words)


def test_auto_tokenizer_knows_its_parts(auto) -> None:  # type: ignore[no-untyped-def]
    assert auto.is_fast
    assert [auto.cls_token_id, auto.pad_token_id, auto.sep_token_id, auto.unk_token_id, auto.mask_token_id] == [
        0, 1, 2, 3, 4,
    ]  # fmt: skip
    assert auto.model_max_length == 512
    pair = auto("학교", "바다")
    assert set(pair) == {"input_ids", "attention_mask"}
    assert pair["input_ids"].count(2) == 2
    assert auto("[MASK]", add_special_tokens=False)["input_ids"] == [4]  # for people who fill masks


def test_cased_and_nfc(auto) -> None:  # type: ignore[no-untyped-def]
    assert auto.tokenize("GPU") != auto.tokenize("gpu")
    assert auto.tokenize("한글 cafe\u0301") == auto.tokenize("한글 café")
    assert auto.tokenize("학교") == auto.tokenize("학교")


@pytest.mark.parametrize("model_type", ["bert", "roberta"])
def test_a_model_beside_it_does_not_change_the_ids(
    auto, model_type: str, tokenizer_folder: Path, tmp_path: Path
) -> None:  # type: ignore[no-untyped-def]
    from transformers import AutoTokenizer

    shutil.copytree(tokenizer_folder, tmp_path / "model")
    (tmp_path / "model" / "config.json").write_text(json.dumps({"model_type": model_type}))
    text = "학교에서 GPU를 봤다, cafe\u0301."
    assert AutoTokenizer.from_pretrained(tmp_path / "model")(text)["input_ids"] == auto(text)["input_ids"]


def test_bert_preset_gives_token_types(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    save_tokenizer(build_tokenizer([*SPECIAL_TOKENS["bert"], "가", "##가"], "bert"), "bert", 128, tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert loaded("가가", "가")["token_type_ids"] == [0, 0, 0, 0, 1, 1]
    assert (loaded.pad_token_id, loaded.mask_token_id, loaded.model_max_length) == (0, 4, 128)


def test_missing_and_damaged_folders_are_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds no tokenizer\.json"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(HunminError, match="damaged"):
        load_tokenizer(tmp_path)


def test_the_stage_needs_neither_torch_nor_transformers() -> None:
    code = (
        "import sys, tokenizer.train, tokenizer.encode, tokenizer.compare, tokenizer.show\n"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
