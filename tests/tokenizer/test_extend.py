"""Extended vocabularies keep every id, take what was named or learnt, and load in transformers."""

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from transformers import AutoTokenizer, BertTokenizer

from common.errors import HunminError, UserError
from tokenizer.extend import continue_tokenizer, extend_tokenizer
from tokenizer.save import entries, load_tokenizer, read_tokenizer
from tokenizer.settings import TokenizerSettings

LEARN = TokenizerSettings(vocab_size=260, min_character_count=2, workers=1)


@pytest.fixture
def base(tokenizer_folder: Path, tmp_path: Path) -> Callable[..., Path]:
    """Make a tokenizer folder of that one, with other parts of the tree or other entries."""

    def make(vocabulary: dict[str, int | None] | None = None, **parts: object) -> Path:
        tree = json.loads((tokenizer_folder / "tokenizer.json").read_text(encoding="utf-8")) | parts
        for word, number in (vocabulary or {}).items():
            tree["model"]["vocab"][word] = number
            if number is None:
                del tree["model"]["vocab"][word]
                tree["added_tokens"] = [token for token in tree["added_tokens"] if token["content"] != word]
        (tmp_path / "base").mkdir()
        (tmp_path / "base" / "tokenizer.json").write_text(json.dumps(tree), encoding="utf-8")
        return tmp_path / "base"

    return make


def normaliser(lowercase: bool, strip_accents: bool | None) -> dict[str, object]:
    fixed = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True}
    return {**fixed, "strip_accents": strip_accents, "lowercase": lowercase}


def test_named_words_come_after_the_old_entries(tokenizer_folder: Path, tmp_path: Path) -> None:
    counts = extend_tokenizer(tokenizer_folder, tmp_path, ["초전도체", "##학파", "초전도체", "학교"])
    card = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert f"base: {tokenizer_folder.name}\nvocab_size: 242\n```" in card
    before, after = entries(read_tokenizer(tokenizer_folder)), entries(read_tokenizer(tmp_path))
    assert after == [*before, "초전도체", "##학파"]
    assert counts == {"vocab_size": 242, "entries_before": 240, "named": 2, "learnt": 0}
    assert (tmp_path / "vocab.txt").read_text(encoding="utf-8").splitlines() == after
    for tokenizer in (load_tokenizer(tmp_path), AutoTokenizer.from_pretrained(str(tmp_path)).backend_tokenizer):
        assert tokenizer.encode("초전도체학파", add_special_tokens=False).tokens == ["초전도체", "##학파"]
        assert tokenizer.encode("초전도체", add_special_tokens=False).ids == [240]


def test_entries_are_learnt_from_a_corpus_up_to_the_size(tokenizer_folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "law.txt"
    text.write_text("항소심에서 원고의 항소를 기각한다. 피고는 원고에게 배상한다.\n" * 300, encoding="utf-8")
    out = tmp_path / "out"
    out.mkdir()
    counts = extend_tokenizer(tokenizer_folder, out, ["초전도체"], text, LEARN)
    assert (counts["vocab_size"], counts["named"], counts["learnt"]) == (260, 1, 19)
    held_out = counts["held_out"]
    assert held_out["figures"]["fertility"] == held_out["subwords"] / held_out["words"] > 1 and held_out["bytes"] > 0
    before, after = entries(read_tokenizer(tokenizer_folder)), entries(read_tokenizer(out))
    assert after[:241] == [*before, "초전도체"] and len(set(after)) == 260
    assert {"항", "##항"} <= set(after)  # a character the old vocabulary did not cover
    assert 3 not in load_tokenizer(out).encode("원고의 항소를").ids
    assert sorted(path.name for path in out.iterdir()) == [
        "README.md", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt",
    ]  # fmt: skip


@pytest.mark.parametrize("files", [("tokenizer.json", "tokenizer_config.json"), ("vocab.txt", "tokenizer_config.json")])
def test_a_bert_folder_of_another_project_is_taken_as_it_is(files: tuple[str, ...], tmp_path: Path) -> None:
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "학교", "##에서", "##은", "음악", "A", "a"]
    (tmp_path / "vocab.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
    BertTokenizer(vocab=str(tmp_path / "vocab.txt"), do_lower_case=False).save_pretrained(tmp_path / "saved")
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "saved/vocab.txt").write_bytes((tmp_path / "vocab.txt").read_bytes())
    for name in files:
        (folder / name).write_bytes((tmp_path / "saved" / name).read_bytes())
    out = tmp_path / "out"
    out.mkdir()
    extend_tokenizer(folder, out, ["음악회"])
    assert entries(read_tokenizer(out)) == [*names, "음악회"]
    loaded = AutoTokenizer.from_pretrained(str(out))
    assert loaded.tokenize("학교에서 음악회 A") == ["학교", "##에서", "음악회", "A"]
    assert loaded("음악회")["input_ids"] == [2, 11, 3]


@pytest.mark.parametrize("word", ["인공 지능", "A.I", "", "##"])
def test_a_word_that_is_none_is_refused(word: str, tokenizer_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no word to the tokenizer"):
        extend_tokenizer(tokenizer_folder, tmp_path, [word])


def test_nothing_to_add_and_sizes_that_cannot_be(tokenizer_folder: Path, text_file: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing to add"):
        extend_tokenizer(tokenizer_folder, tmp_path, ["학교"])
    with pytest.raises(UserError, match="leaves no room"):
        extend_tokenizer(tokenizer_folder, tmp_path, [], text_file, LEARN.model_copy(update={"vocab_size": 240}))
    with pytest.raises(UserError, match=r"too small for a vocabulary of 9000: it reaches \d+"):
        extend_tokenizer(tokenizer_folder, tmp_path, [], text_file, LEARN.model_copy(update={"vocab_size": 9000}))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"vocabulary": {"학교생활": 999}}, "have gaps"),
        ({"vocabulary": {"초전도체": 239}}, "share an id"),
        ({"vocabulary": {"[UNK]": None}}, r"lacks \[UNK\]"),
        (
            {
                "model": {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"},
                "added_tokens": [],
                "post_processor": None,
            },
            "is WordLevel",
        ),
    ],
)
def test_a_vocabulary_that_cannot_be_extended_is_refused(base, change: dict, said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=said):
        extend_tokenizer(base(**change), tmp_path, ["학파"])


def test_a_base_that_changes_words_takes_only_named_ones(base, text_file: Path, tmp_path: Path) -> None:
    folder = base(normalizer=normaliser(lowercase=True, strip_accents=None))
    with pytest.raises(UserError, match="changes words"):
        extend_tokenizer(folder, tmp_path, [], text_file, LEARN)
    extend_tokenizer(folder, tmp_path, ["azure"])
    assert load_tokenizer(tmp_path).encode("AZURE", add_special_tokens=False).tokens == ["azure"]


def test_a_word_of_decomposed_letters_is_that_of_corpora(base, tmp_path: Path) -> None:
    folder = base(normalizer=normaliser(lowercase=False, strip_accents=False))
    extend_tokenizer(folder, tmp_path, [unicodedata.normalize("NFD", "뇌졸중")])
    assert load_tokenizer(tmp_path).encode("뇌졸중", add_special_tokens=False).tokens == ["뇌졸중"]


def test_a_base_is_taken_as_it_is_or_extended_to_the_size(tokenizer_folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "law.txt"
    text.write_text("항소심에서 원고의 항소를 기각한다. 피고는 원고에게 배상한다.\n" * 300, encoding="utf-8")
    before = entries(read_tokenizer(tokenizer_folder))
    for size in (240, 260):
        out = tmp_path / str(size)
        out.mkdir()
        counts = continue_tokenizer(
            LEARN.model_copy(update={"base": str(tokenizer_folder), "vocab_size": size}), text, out
        )
        after = entries(load_tokenizer(out))
        assert after[:240] == before and len(after) == counts["vocab_size"] == size and counts["learnt"] == size - 240
        card = (out / "README.md").read_text(encoding="utf-8")
        assert f"vocabulary of {size} entries" in card and f"continues from `{tokenizer_folder.name}`" in card
        assert AutoTokenizer.from_pretrained(str(out)).get_vocab() == {
            entry: index for index, entry in enumerate(after)
        }
    with pytest.raises(UserError, match="vocab_size 239 is below the 240 entries"):
        continue_tokenizer(LEARN.model_copy(update={"base": str(tokenizer_folder), "vocab_size": 239}), text, out)
    with pytest.raises(UserError, match="none"):
        continue_tokenizer(LEARN.model_copy(update={"base": str(tmp_path / "none")}), text, out)


@pytest.mark.parametrize(
    "change", [{"unused": 3}, {"user_tokens": ["<URL>"]}, {"model": "unigram", "pretokenizer": "none"}]
)
def test_a_base_brings_its_own_tokens(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="its own tokens"):
        TokenizerSettings.model_validate({"base": "some/folder", **change})


def test_tokens_that_were_added_later_keep_their_ids(tokenizer_folder: Path, tmp_path: Path) -> None:
    """They stand beside the model's vocabulary, and the library numbers them after its last entry."""
    base, out = tmp_path / "base", tmp_path / "out"
    out.mkdir()
    loaded = AutoTokenizer.from_pretrained(str(tokenizer_folder))
    loaded.add_tokens(["<URL>", "‹개인정보>"])
    loaded.add_special_tokens({"additional_special_tokens": ["[화자]"]})
    loaded.save_pretrained(base)
    extend_tokenizer(base, out, ["초전도체", "##학파"])
    after = AutoTokenizer.from_pretrained(str(out))
    assert loaded.get_vocab().items() <= after.get_vocab().items()
    assert sorted(after.get_vocab().values()) == list(range(245))
    text = "초전도체학파 <URL> ‹개인정보> [화자]"
    assert after(text, add_special_tokens=False)["input_ids"] == [243, 244, 240, 241, 242]


def test_characters_alone_that_do_not_fit_are_refused(tokenizer_folder: Path, tmp_path: Path) -> None:
    """Taken up to the room, they would be the first by code point, without their forms inside words."""
    text = tmp_path / "rare.txt"
    text.write_text("걡곂괣궄귥깆꺧둖뛟쀍 메타버스플랫폼\n" * 100, encoding="utf-8")
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(UserError, match="needed for the characters alone"):
        extend_tokenizer(tokenizer_folder, out, [], text, LEARN)


def test_a_damaged_configuration_beside_vocab_txt_is_named(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n", encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text("{", encoding="utf-8")
    with pytest.raises(HunminError, match="damaged"):
        read_tokenizer(tmp_path)
