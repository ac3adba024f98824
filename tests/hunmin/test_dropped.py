"""`hunmin corpus stats RUN --dropped`: what each filter dropped, by id, and with --text as it stands in the inputs."""

import json
from pathlib import Path

import pytest
from mini import write_recipe

from hunmin.main import run_command

KEPT = "이것은 충분히 길고 멀쩡한 한국어 문장입니다."


@pytest.fixture
def run(tmp_path: Path) -> Path:
    lines = [{"id": f"k{n}", "text": f"{KEPT} {n}"} for n in range(30)]
    lines += [{"id": f"s{n}", "text": f"<b>짧다</b> {n}"} for n in range(9)]
    lines += [{"id": f"e{n}", "text": f"This one is English and long enough, number {n}."} for n in range(4)]
    (tmp_path / "web.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    filters = [{"length": {"min_chars": 10}}, {"language": None}]
    recipe = write_recipe(tmp_path, tmp_path / "web.jsonl", filters=filters)
    assert run_command(["corpus", "build", str(recipe)]) == 0
    return tmp_path / "run"


def test_ids_alone_unless_texts_are_asked_for(run, capsys):
    capsys.readouterr()
    assert run_command(["corpus", "stats", str(run), "--dropped", "5"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in shown] == [["language", "hangul"]] * 4 + [["length", "characters"]] * 5
    assert all("English" not in line and "짧다" not in line for line in shown)
    assert run_command(["corpus", "stats", str(run), "--dropped", "5"]) == 0
    assert capsys.readouterr().out.splitlines() == shown  # the same ones again

    assert run_command(["corpus", "stats", str(run), "--dropped", "5", "--text", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in rows] == [line.split()[-1] for line in shown]
    for row in rows:
        number = row["id"][1:]
        wanted = f"짧다 {number}" if row["id"][0] == "s" else f"This one is English and long enough, number {number}."
        assert row["text"] == wanted
    assert run_command(["corpus", "stats", str(run), "--dropped", "1", "--text"]) == 0
    assert "This one is English" in capsys.readouterr().out


def test_mistakes_are_told(run, tmp_path, capsys):
    assert run_command(["corpus", "stats", str(run), "--text"]) == 2
    assert "--dropped 5 --text" in capsys.readouterr().err
    (run / "corpus/filtered.jsonl").unlink()
    assert run_command(["corpus", "stats", str(run), "--dropped", "5"]) == 2
    assert "no filtered.jsonl" in capsys.readouterr().err
