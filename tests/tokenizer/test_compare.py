"""The figures of Table 35, by hand on a small vocabulary and in their directions on trained ones."""

from pathlib import Path

import pytest

from common.errors import UserError
from tokenizer.compare import compare
from tokenizer.save import build_tokenizer, save_tokenizer
from tokenizer.settings import SPECIAL_TOKENS


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
    assert row["unused_ratio"] == pytest.approx(1 - 6 / 10)


def test_directions_of_table_35(tokenizer_folder: Path, baseline_folder: Path, text_file: Path) -> None:
    ours, baseline = compare([tokenizer_folder, baseline_folder], text_file)
    assert ours["fertility"] > baseline["fertility"]
    assert ours["continued_word_ratio"] > baseline["continued_word_ratio"]
    assert ours["unk_ratio"] <= baseline["unk_ratio"]
    assert ours["morpheme_boundary_f1"] > baseline["morpheme_boundary_f1"]


def test_empty_text_is_refused(tokenizer_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text(" \n")
    with pytest.raises(UserError, match="no words"):
        compare([tokenizer_folder], tmp_path / "empty.txt")
