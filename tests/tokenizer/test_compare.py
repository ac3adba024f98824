"""The figures of Table 35, by hand on a small vocabulary and in their directions on trained ones."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from common.errors import UserError
from hunmin.main import run_command
from tokenizer.compare import compare, shown
from tokenizer.save import build_tokenizer, save_tokenizer
from tokenizer.settings import SPECIAL_TOKENS

sys.path.insert(0, str(Path(__file__).parent))
from made_up_text import made_up_lines


def test_figures_by_hand(tmp_path: Path) -> None:
    vocabulary = [*SPECIAL_TOKENS["roberta"], "분야", "##의", "인공", "##지능", "."]
    save_tokenizer(build_tokenizer(vocabulary, "roberta"), "roberta", 512, tmp_path / "t")
    (tmp_path / "text.txt").write_text("분야의 인공지능.\n분야 없음\n", encoding="utf-8")
    [row] = compare([tmp_path / "t"], tmp_path / "text.txt")
    assert row["tokenizer"] == str(tmp_path / "t")
    assert row["vocab_size"] == 10
    # 분야 ##의 / 인공 ##지능 . / 분야 / [UNK]
    assert row["fertility"] == pytest.approx(7 / 4)
    assert row["continued_word_ratio"] == pytest.approx(2 / 4)
    assert row["unk_ratio"] == pytest.approx(1 / 7)
    # morphemes: 분야 의 / 인공지능 . / 분야 / 없 음: found 분야|의 and 인공|지능, true 분야|의 and 없|음
    assert row["morpheme_boundary_f1"] == pytest.approx(2 * 1 / (2 + 2))
    assert row["morpheme_boundary_precision"] == row["morpheme_boundary_recall"] == pytest.approx(1 / 2)
    # josa: 의, one subword; ending: 음, none
    assert (row["josa_coverage"], row["ending_coverage"]) == (1.0, 0.0)
    assert row["tokens_per_byte"] == pytest.approx(7 / (9 + 13 + 6 + 6))
    assert (row["words"], row["subwords"]) == (4, 7)


@pytest.mark.parametrize(("times", "unused"), [(1, None), (14, None), (15, 4 / 10)])
def test_unused_entries_are_counted_on_ten_subwords_an_entry(
    times: int, unused: float | None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A shorter text leaves most of any vocabulary unused: 98 subwords are too few for 10 entries, 105 are enough."""
    vocabulary = [*SPECIAL_TOKENS["roberta"], "분야", "##의", "인공", "##지능", "."]
    save_tokenizer(build_tokenizer(vocabulary, "roberta"), "roberta", 512, tmp_path / "t")
    (tmp_path / "text.txt").write_text("분야의 인공지능.\n분야 없음\n" * times, encoding="utf-8")
    [row] = compare([tmp_path / "t"], tmp_path / "text.txt")
    assert row["unused_ratio"] == (None if unused is None else pytest.approx(unused))
    assert run_command(["tokenizer", "compare", str(tmp_path / "t"), "--text", str(tmp_path / "text.txt"),
                        "--plot", str(tmp_path / "plot.png")]) == 0  # fmt: skip
    printed = capfd.readouterr()
    why = f"no unused ratio: the text has {7 * times} subwords; 100 are needed, 10 per entry"
    assert (why in " ".join(printed.err.split())) is (unused is None)
    assert ("–" in printed.out) is (unused is None) and (tmp_path / "plot.png").is_file()


def test_directions_of_table_35(tokenizer_folder: Path, baseline_folder: Path, tmp_path: Path) -> None:
    """On text that they were not built from. That unknowns are fewer shows on real text only: characters decide."""
    (tmp_path / "other.txt").write_text("\n".join(made_up_lines(300, seed=9)), encoding="utf-8")
    ours, baseline = compare([tokenizer_folder, baseline_folder], tmp_path / "other.txt")
    assert ours["fertility"] > baseline["fertility"]
    assert ours["continued_word_ratio"] > baseline["continued_word_ratio"]
    assert ours["morpheme_boundary_f1"] > baseline["morpheme_boundary_f1"]


def _byte_level() -> Tokenizer:
    built = Tokenizer(models.BPE())
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    built.post_processor = processors.ByteLevel()
    built.train_from_iterator(
        made_up_lines(500),
        trainers.BpeTrainer(vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False),
    )
    return built


def _metaspace() -> Tokenizer:
    built = Tokenizer(models.BPE(unk_token="[unk]"))
    built.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=250, special_tokens=["[unk]"], show_progress=False)
    built.train_from_iterator([line.replace("바", "") for line in made_up_lines(500)], trainer)
    return built


@pytest.mark.parametrize("make", [_byte_level, _metaspace])
def test_vocabularies_that_hold_blanks_are_measured_as_in_running_text(
    make: Callable[[], Tokenizer], tmp_path: Path
) -> None:
    """Their words begin with the blank before them, which an eojeol by itself does not have."""
    tokenizer = make()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    lines = ["가 " + line for line in made_up_lines(2000, seed=3)]
    (tmp_path / "t.txt").write_text("\n".join(lines), encoding="utf-8")
    [row] = compare([tmp_path], tmp_path / "t.txt")
    first = len(tokenizer.encode("가", add_special_tokens=False).ids)
    again = len(tokenizer.encode("가 가", add_special_tokens=False).ids) - first
    encoded = [tokenizer.encode(line, add_special_tokens=False) for line in lines]
    subwords = sum(len(encoding.ids) - first + again for encoding in encoded)
    assert row["fertility"] == pytest.approx(subwords / sum(len(line.split()) for line in lines))
    unknown = sum(encoding.tokens.count("[unk]") for encoding in encoded)
    assert row["unk_ratio"] == pytest.approx(unknown / subwords)
    assert (unknown > 0) == (make is _metaspace)
    used = {index for encoding in encoded for index in encoding.ids}
    assert row["unused_ratio"] == pytest.approx(1 - len(used) / tokenizer.get_vocab_size(), abs=0.01)


def test_a_folder_that_is_none_is_refused_before_the_text_is_read(tokenizer_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere"):
        compare([tokenizer_folder, tmp_path / "nowhere"], tmp_path / "text-that-is-not-there.txt")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("학교에서 음악을 봤어요.\n".encode("cp949"), r"1 of 1 lines of .* are not UTF-8"),
        (b" \n", "no words"),
        (None, "read twice"),  # a pipe, of which nothing would be left at the second reading
    ],
)
def test_a_text_that_gives_no_figures_is_refused(
    content: bytes | None, said: str, tokenizer_folder: Path, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "t.txt") if content is None else (tmp_path / "t.txt").write_bytes(content)
    with pytest.raises(UserError, match=said):
        compare([tokenizer_folder], tmp_path / "t.txt")


def test_small_figures_are_told_apart() -> None:
    assert [shown(figure) for figure in (0.0, 0.000364, 0.000441, 0.01, 2.0245)] == [
        "0.0000", "0.000364", "0.000441", "0.0100", "2.0245",
    ]  # fmt: skip


def test_what_stops_the_analyser_stops_no_figures(tokenizer_folder: Path, tmp_path: Path) -> None:
    """mecab-ko ends at a NUL byte, and takes time by the square of a word's length."""
    lines = made_up_lines(50, 3)
    (tmp_path / "plain.txt").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "nul.txt").write_text("\n".join("\0" + line for line in lines), encoding="utf-8")
    plain, nul = (compare([tokenizer_folder], tmp_path / name)[0] for name in ("plain.txt", "nul.txt"))
    assert nul["josa_coverage"] == plain["josa_coverage"] > 0
    (tmp_path / "long.txt").write_text("\n".join([*lines, "학교에서" * 50_000]), encoding="utf-8")
    assert compare([tokenizer_folder], tmp_path / "long.txt")[0]["josa_coverage"] == plain["josa_coverage"]
