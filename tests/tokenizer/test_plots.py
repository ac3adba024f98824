"""The picture of a comparison is drawn, and names tokenizers by what tells them apart."""

from pathlib import Path

from tokenizer.compare import compare
from tokenizer.show import FIGURES, _short_names, draw_comparison


def test_a_comparison_is_drawn_alike_every_time(
    tokenizer_folder: Path, baseline_folder: Path, text_file: Path, tmp_path: Path
) -> None:
    rows = compare([tokenizer_folder, baseline_folder], text_file)
    assert set(FIGURES) < set(rows[0])
    for name in ("a", "b"):
        draw_comparison(rows, tmp_path / "plots" / f"{name}.png")
    drawn = (tmp_path / "plots/a.png").read_bytes()
    assert drawn.startswith(b"\x89PNG") and drawn == (tmp_path / "plots/b.png").read_bytes()


def test_names_are_as_short_as_they_can_be() -> None:
    assert _short_names(["runs/a/tokenizer", "runs/b/tokenizer"]) == ["a/tokenizer", "b/tokenizer"]
    assert _short_names(["x/t", "x/u"]) == ["t", "u"]
    assert _short_names(["x/t", "x/t"]) == ["t", "t"]
