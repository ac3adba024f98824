"""What of a text a tokenizer reads: shares worked out by hand, and the rule on them."""

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from common.errors import UserError
from tokenizer.coverage import check_share, check_tokenizer, fitting_count, sample

TEXT = ["가나 다라", "가나 2026"]  # 10 characters that are no space


def wordpiece(entries: str, lower: bool = False) -> Tokenizer:
    vocabulary = ["[UNK]", *entries, *(f"##{entry}" for entry in entries)]
    made = Tokenizer(models.WordPiece({entry: i for i, entry in enumerate(vocabulary)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=lower, strip_accents=lower)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return made


def told(made: Tokenizer, capsys: pytest.CaptureFixture[str]) -> str:
    check_tokenizer(made, TEXT * 20, "T", "the text")
    return capsys.readouterr().err


def test_a_vocabulary_that_knows_every_character_goes_through(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(wordpiece("가나다라026"), capsys) == ""


def test_a_share_below_the_bound_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    # 다라 is one unknown word: 2 of the 10 characters; each of the two stands 20 times in the text
    said = told(wordpiece("가나026"), capsys)
    assert "T cannot read 20.0% of the characters of the text" in said
    assert "set tokenizer.min_character_count=20 " in said


@pytest.mark.parametrize(
    ("texts", "count"),
    [
        (["가" * 97, "나", "나", "다"], 2),  # 다 is 1% of the characters, 나 2%: at 3 both are unread
        (["가" * 98, "나", "나"], 98),  # 2% may be unread
        (["가나", *["가" * 10] * 8], 1),  # 가나 is one word, 2 of 82 characters
        ([], 1),
    ],
)
def test_the_count_that_leaves_enough_of_a_text(texts: list[str], count: int) -> None:
    assert fitting_count(texts) == count


@pytest.mark.parametrize(
    ("made", "share"),
    [
        (wordpiece("026"), "60%"),  # 6 of 10
        (wordpiece("가나다라026", lower=True), "60%"),  # Hangul falls apart into jamo, of which it has none
        (Tokenizer(models.BPE(vocab={"2": 0, "0": 1, "6": 2}, merges=[])), "60%"),  # no unknown token: the rest is lost
        (Tokenizer(models.Unigram([("<unk>", 0.0), ("2", -1.0), ("0", -1.0), ("6", -1.0)], unk_id=0)), "60%"),
        (Tokenizer(models.WordLevel({"<unk>": 0, "2026": 1}, unk_token="<unk>")), "60%"),
    ],
)
def test_a_tokenizer_that_knows_hardly_any_korean_is_refused(made: Tokenizer, share: str) -> None:
    with pytest.raises(UserError, match=f"T cannot read {share} of the characters of the text"):
        check_tokenizer(made, TEXT, "T", "the text")


def test_bytes_read_everything(capsys: pytest.CaptureFixture[str]) -> None:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(alphabet)}, merges=[]))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    assert told(made, capsys) == ""


def test_the_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    check_share(0.02, "T", "it", "do this")
    assert not capsys.readouterr().err
    check_share(0.30, "T", "it", "do this")
    assert "30.0% of the characters of it; fix: do this" in capsys.readouterr().err
    with pytest.raises(UserError):
        check_share(0.31, "T", "it", "do this")


def test_a_sample_is_spread_over_the_texts() -> None:
    texts = [str(n) * 1000 for n in range(10)] * 100
    taken = sample(texts)
    assert len(set(taken)) > 1 and sum(map(len, taken)) <= 300_000
