"""Plots: the font that lacks characters is named once, matplotlib is asked for before work begins."""

from pathlib import Path

import pytest

from common import plots
from common.errors import UserError
from hunmin.main import run_command
from klue.watched import write_scores


def labelled(text: str) -> object:
    figure = plots.new_figure(2, 2)
    figure.subplots(1, 2)[0].set_title(text)
    return figure


def test_a_plot_without_hangul_says_so_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = plots.hangul_font()
    for font in (None, installed):
        monkeypatch.setattr(plots, "hangul_font", lambda font=font: font)
        plots.save_figure(labelled("가나"), tmp_path / "new" / "a.png")
        assert capfd.readouterr().err.count("no font with Hangul") == (font is None)


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_figure_is_the_same_bytes_again(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path / f"{name}.{suffix}" for name in ("a", "b")]
    for seconds, path in zip(("1", "2000000000"), paths, strict=True):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", seconds)
        plots.save_figure(labelled("title"), path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_without_matplotlib_plots_that_are_asked_for_are_refused_and_others_left_out(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("common.plots.find_spec", lambda _: None)
    monkeypatch.setattr("common.extras.find_spec", lambda _: None)
    with pytest.raises(UserError, match="--plot needs matplotlib"):
        plots.plot_file(Path("a.png"), "--plot")
    for command in (
        ["tokenizer", "compare", "missing", "--text", "missing.txt", "--plot", "a.png"],
        ["corpus", "stats", "-", "--plots", "plots"],
    ):
        assert run_command(command) == 2
        assert "needs matplotlib" in capfd.readouterr().err
    write_scores(tmp_path, [{"step": 1, "task": "klue-nli", "init": "pretrained"}])
    assert "pip install" in capfd.readouterr().err and (tmp_path / "scores.jsonl").is_file()
