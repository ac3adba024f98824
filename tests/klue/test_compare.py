"""Models compared on the same examples, and scores taken apart: against numpy, scikit-learn, seqeval and by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from seqeval.metrics import classification_report
from seqeval.scheme import IOB2
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from hunmin.main import run_command
from klue.breakdown import confusion, details, errors_of, has_labels, scores_by_group
from klue.compare import compare, comparison_grids, read_models, systems_of
from klue.grid import latex_grid, markdown_grid
from klue.metrics.confidence import drawn_scores, paired_p_value, repeated
from klue.metrics.sentence import accuracy
from klue.result_rows import read_rows
from klue.results import metrics_of
from klue.tasks import TASKS
from klue.tasks.klue.ner import LABELS as NER_LABELS
from klue.tasks.klue.wos import SLOTS

N = 200
NLI = TASKS["klue-nli"].labels
DRAW = np.random.default_rng(7)
GOLD = [NLI[i] for i in DRAW.integers(3, size=N)]


def guesses(share: float, seed: int) -> list[str]:
    """Return predictions that are right with a chance of `share`, else one of three."""
    draw = np.random.default_rng(seed)
    return [g if draw.random() < share else NLI[draw.integers(3)] for g in GOLD]


def leave(folder: Path, model: str, share: float, gold: list[str] = GOLD, seeds: int = 2) -> Path:
    """Write a klue folder of a model, as fine-tuning does."""
    rows = []
    for seed in range(seeds):
        job = f"klue-nli-pretrained-{seed}"
        found = guesses(share, 100 * seed + int(100 * share))
        (folder / "jobs" / job).mkdir(parents=True)
        lines = [json.dumps({"guid": f"g{i}", "prediction": p}) + "\n" for i, p in enumerate(found)]
        (folder / "jobs" / job / "predictions.jsonl").write_text("".join(lines[::-1]))
        scores = {name: accuracy(gold, found) for name in metrics_of("klue-nli")}
        rows.append(
            {"model": model, "task": "klue-nli", "init": "pretrained", "seed": seed, "job": job, "data_hash": "d" * 64,
             "best": scores, "last": scores, "data_note": "", "examples": {"train": 9, "dev": 3000},
             "settings": {"learning_rate": 5e-5, "warmup_share": 0.1, "weight_decay": 0.0, "global_batch": 32,
                          "epochs": 5, "evaluations_per_epoch": 4}}
        )  # fmt: skip
    (folder / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "gold" / f"klue-nli-{'d' * 12}").mkdir(parents=True)
    labels = [json.dumps({"guid": f"g{i}", "label": g}) + "\n" for i, g in enumerate(gold)]
    (folder / "gold" / f"klue-nli-{'d' * 12}" / "dev.jsonl").write_text("".join(labels))
    return folder


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("models")
    return [leave(root / name, name, share) for name, share in (("good", 0.9), ("fair", 0.5), ("same", 0.9))]


def rows_of(folders: list[Path]):
    return read_models([(folder.name, folder) for folder in folders], read_rows)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["/a/runs/33/plain/klue", "/a/runs/33/masked/klue"], ["plain", "masked"]),
        (["runs/1/x/klue", "runs/2/y/klue", "runs/2/x/klue"], ["1/x", "2/y", "2/x"]),
        (["runs/a", "runs/a/b"], ["runs/a", "runs/a/b"]),  # one is where the other begins
        (["a", "b"], ["a", "b"]),
    ],
)
def test_runs_of_one_model_are_told_apart_by_what_differs_in_their_paths(given: list[str], told: list[str]) -> None:
    rows = read_models([(name, Path(name)) for name in given], lambda _: [{"model": "quickstart"}])
    assert [row["model"] for row in rows] == [f"quickstart ({name})" for name in told]


def test_draws_are_those_of_numpy() -> None:
    systems = [[guesses(0.8, 1), guesses(0.8, 2)], [guesses(0.4, 3)]]
    scores = drawn_scores(repeated(lambda g, p: {"accuracy": accuracy(g, p)}), GOLD, systems, draws=50)["accuracy"]
    right = [np.mean([[g == p for g, p in zip(GOLD, one, strict=True)] for one in s], axis=0) for s in systems]
    generator = np.random.default_rng(0)
    for found in scores:
        chosen = generator.integers(N, size=N)
        assert found == pytest.approx([100 * one[chosen].mean() for one in right])


def test_chance() -> None:
    assert paired_p_value(np.array([1.0] * 99)) == pytest.approx(2 / 100)
    assert paired_p_value(np.zeros(99)) == 1 and np.isnan(paired_p_value(np.array([np.nan])))
    assert paired_p_value(np.array([1.0] * 89 + [-1.0] * 10)) == pytest.approx(22 / 100)


def test_the_paired_interval_is_near_the_one_of_the_mean_difference(models: list[Path]) -> None:
    found = compare(rows_of(models), draws=1000)
    by = {(row["first"], row["second"]): row for row in found["differences"]}
    assert list(by) == [
        (f"{a}, pretrained", f"{b}, pretrained") for a, b in (("good", "fair"), ("good", "same"), ("fair", "same"))
    ]
    apart = by["good, pretrained", "fair, pretrained"]
    each = [
        np.mean(
            [[g == p for g, p in zip(GOLD, guesses(s, 100 * seed + int(100 * s)), strict=True)] for seed in (0, 1)],
            axis=0,
        )
        for s in (0.9, 0.5)
    ]
    mean, error = 100 * (each[0] - each[1]).mean(), 100 * (each[0] - each[1]).std(ddof=1) / N**0.5
    assert apart["difference"] == pytest.approx(mean)
    assert (apart["low"], apart["high"]) == pytest.approx((mean - 1.96 * error, mean + 1.96 * error), abs=1.0)
    assert apart["p"] == pytest.approx(2 / 1001)
    equal = by["good, pretrained", "same, pretrained"]
    assert (equal["difference"], equal["low"], equal["high"], equal["p"]) == (0, 0, 0, 1)
    first = found["intervals"][0]
    assert first["low"] < first["score"] < first["high"] and (first["seeds"], first["examples"]) == (2, N)
    assert "not corrected" in found["how"] and found["not_compared"] == {}
    for form in (markdown_grid, latex_grid):
        text = "".join(form(grid) for grid in comparison_grids(found))
        assert f"{mean:+.2f}" in text and "0.002" in text


def test_models_of_one_name_are_told_apart_and_other_examples_are_not_compared(
    models: list[Path], tmp_path: Path
) -> None:
    other = leave(tmp_path / "b", "good", 0.9, gold=GOLD[::-1])
    rows = rows_of([models[0], other])
    assert {row["model"] for row in rows} == {"good (good)", "good (b)"}
    found = compare(rows, draws=20)
    assert found["differences"] == [] and "good (b), pretrained" in found["not_compared"]["klue-nli"]
    (tmp_path / "b" / "jobs" / "klue-nli-pretrained-1" / "predictions.jsonl").unlink()
    systems, missing = systems_of(rows)
    assert len(systems) == 1 and "run klue finetune again" in missing["klue-nli"]


def test_the_first_model_alone_was_scored_on_other_examples(models: list[Path], tmp_path: Path) -> None:
    other = leave(tmp_path / "other", "other", 0.9, gold=GOLD[::-1])
    found = compare(rows_of([other, *models[:2]]), draws=20)
    assert [row["model"] for row in found["intervals"]] == ["other", "good", "fair"]
    assert [(row["first"], row["second"]) for row in found["differences"]] == [("good, pretrained", "fair, pretrained")]
    assert found["not_compared"] == {
        "klue-nli": "not scored on the same examples: other, pretrained | good, pretrained and fair, pretrained"
    }


def test_systems_whose_labels_stand_in_another_order_are_scored_against_their_own(tmp_path: Path) -> None:
    rows = rows_of([leave(tmp_path / name, name, 0.9) for name in ("a", "b")])
    wanted = compare(rows, draws=50)
    [gold] = (tmp_path / "b" / "gold").glob("*/dev.jsonl")
    gold.write_text("".join(gold.read_text().splitlines(keepends=True)[::-1]))
    found = compare(rows, draws=50)
    assert found["not_compared"] == {} and found["intervals"] == wanted["intervals"]
    assert found["differences"] == wanted["differences"] and found["differences"][0]["p"] == 1


def test_all_folders_that_lack_predictions_are_named(tmp_path: Path) -> None:
    folders = [leave(tmp_path / name, name, 0.9) for name in ("a", "b", "c")]
    for folder in folders[:2]:
        (folder / "jobs" / "klue-nli-pretrained-1" / "predictions.jsonl").unlink()
    systems, missing = systems_of(rows_of(folders))
    assert [system.model for system in systems] == ["c"]
    assert missing["klue-nli"].startswith(f"{folders[0]}, {folders[1]}: gold labels or predictions are missing")


def test_classes_are_scikit_learns() -> None:
    seeds = [guesses(0.6, 1), guesses(0.6, 2)]
    found = details("klue-nli", GOLD, seeds)
    assert [row["group"] for row in found] == list(NLI)
    wanted = [precision_recall_fscore_support(GOLD, one, labels=NLI, zero_division=0) for one in seeds]
    for number, row in enumerate(found):
        assert row["count"] == GOLD.count(NLI[number])
        for place, name in enumerate(("precision", "recall", "f1")):
            assert row[name]["mean"] == pytest.approx(100 * np.mean([one[place][number] for one in wanted]))


def test_entities_are_seqevals() -> None:
    draw = np.random.default_rng(1)
    gold, found = ([[NER_LABELS[i] for i in draw.integers(13, size=30)] for _ in range(20)] for _ in range(2))
    gold[0], found[0] = (["B-PS", "I-PS", *row[2:]] for row in (gold[0], found[0]))
    wanted = classification_report(gold, found, mode="strict", scheme=IOB2, output_dict=True, zero_division=0)
    for kind, row in scores_by_group("klue-ner", gold, found).items():
        assert row == pytest.approx(
            {"count": wanted[kind]["support"], **{
                ours: 100 * wanted[kind][theirs]
                for ours, theirs in (("precision", "precision"), ("recall", "recall"), ("f1", "f1-score"))
            }}
        )  # fmt: skip


def test_the_others_by_hand() -> None:
    gold = [{"heads": [2, 0, 2], "labels": ["NP_SBJ", "VP", "NP_OBJ"]}]
    found = [{"heads": [2, 0, 1], "labels": ["NP_OBJ", "VP", "NP_OBJ"]}]
    arcs = scores_by_group("klue-dp", gold, found)
    assert arcs["NP_SBJ"] == {"count": 1, "head": 100, "head and label": 0} and arcs["NP_OBJ"]["head"] == 0
    long = [{"heads": [2, 0, 1, 8, 1, 14, 1, 1], "labels": ["NP"] * 8}]
    by_length = scores_by_group("klue-dp", long, [{"heads": [2, 0, 1, 8, 1, 14, 1, 2], "labels": ["NP"] * 8}])
    assert {group: row["count"] for group, row in by_length.items() if group != "NP"} == {
        "arc of 1": 1, "root": 1, "arc of 2–3": 1, "arc of 4–7": 4, "arc of 8+": 1
    }  # fmt: skip
    assert by_length["arc of 4–7"]["head"] == 75 and by_length["arc of 8+"]["head"] == 100
    mrc = scores_by_group("klue-mrc", [["가나"], [], []], ["가", "", "다"])
    assert mrc["answerable"] == {"count": 1, "EM": 0, "ROUGE-W": pytest.approx(200 / 3), "answered": 100}
    assert mrc["no answer"] == {"count": 2, "EM": 50, "ROUGE-W": 50, "answered": 50}
    a, b = f"{SLOTS[0]}-값-하나", f"{SLOTS[1]}-예"
    states = scores_by_group("wos", [[a, b], [b]], [[a], [f"{SLOTS[1]}-"]])
    assert states[SLOTS[0]]["f1"] == 100 and states[SLOTS[1]] == {"count": 2, "precision": 0, "recall": 0, "f1": 0}
    relations = [{"label": "per:title", "probabilities": []}]
    assert scores_by_group("klue-re", ["per:title"], relations)["per:title"]["f1"] == 100
    assert scores_by_group("korsts", [0.5, 4.0, 5.0], [1.0, 4.0, 3.0]) == {
        "0 to 1": {"count": 1, "mean error": 0.5},
        "4 to 5": {"count": 2, "mean error": 1.0},
    }
    assert scores_by_group("korquad", [["책"]], ["책"]) == {"1–5 characters": {"count": 1, "EM": 100, "F1": 100}}
    assert errors_of("klue-dp", gold[0], found[0]) == 2 and errors_of("wos", [a, b], [a]) == 1
    assert errors_of("klue-ner", ["O", "O"], ["O", "B-PS"]) == 1 and errors_of("klue-mrc", [], "다") == 1
    assert errors_of("klue-re", "per:title", relations[0]) == 0 and errors_of("korsts", 1.0, 3.5) == 2.5


def test_confusion_is_scikit_learns() -> None:
    seeds = [guesses(0.6, 1), guesses(0.6, 2)]
    names, counts = confusion("klue-nli", GOLD, seeds)
    assert names == list(NLI)
    assert counts == pytest.approx(sum(confusion_matrix(GOLD, one, labels=NLI) for one in seeds) / 2)
    parse = {"heads": [2, 0], "labels": ["NP_SBJ", "VP"]}, {"heads": [2, 0], "labels": ["NP_OBJ", "VP"]}
    names, counts = confusion("klue-dp", [parse[0]], [[parse[1]]])
    assert {(names[i], names[j]) for i, j in np.argwhere(counts)} == {("NP_SBJ", "NP_OBJ"), ("VP", "VP")}
    names, counts = confusion("klue-ner", [["B-PS", "I-PS", "O"]], [[["B-PS", "B-LC", "O"]]])
    assert {(names[i], names[j]): counts[i, j] for i, j in np.argwhere(counts)} == {
        ("PS", "PS"): 1, ("PS", "LC"): 1, ("O", "O"): 1
    }  # fmt: skip
    names, counts = confusion("klue-re", ["per:title"], [[{"label": "no_relation", "probabilities": []}]])
    assert names == ["no_relation", "per:title"] and counts.tolist() == [[0, 0], [1, 0]]
    assert [name for name in TASKS if not has_labels(name)] == ["klue-sts", "klue-mrc", "wos", "korsts", "korquad"]
    with pytest.raises(ValueError, match="are no labels"):
        confusion("klue-mrc", [[]], [[""]])


def test_pictures_of_scores_and_confusion(
    models: list[Path], tmp_path: Path, capfd: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    import matplotlib.figure

    drawn: list[Any] = []
    save = matplotlib.figure.Figure.savefig
    monkeypatch.setattr(
        matplotlib.figure.Figure, "savefig", lambda self, *a, **k: (drawn.append(self), save(self, *a, **k))[1]
    )
    command = ["klue", "report", *map(str, models), "--breakdown", "nli", "--plot", str(tmp_path / "scores.png")]
    assert run_command([*command, "--no-published"]) == 0
    assert str(tmp_path / "scores-klue-nli.png") in capfd.readouterr().err.replace("\n", "")
    assert all((tmp_path / name).read_bytes()[:4] == b"\x89PNG" for name in ("scores.png", "scores-klue-nli.png"))
    scores, confusions = drawn
    bars = [patch.get_facecolor() for patch in scores.axes[0].patches]
    assert len(bars) == len(set(bars)) == 3  # each model in a colour of its own
    titles = [panel.get_title() for panel in confusions.axes if panel.get_visible()]
    assert titles == [f"{name}, pretrained" for name in ("good", "fair", "same")]
    shown = [int(text.get_text()) for text in confusions.axes[1].texts]
    found = [guesses(0.5, 50), guesses(0.5, 150)]
    rows = sum(confusion_matrix(GOLD, one, labels=NLI, normalize=None) for one in found)
    assert np.array(shown).reshape(3, 3) == pytest.approx(100 * rows / rows.sum(axis=1, keepdims=True), abs=0.51)


def test_every_task_can_be_taken_apart_and_faultless_predictions_have_no_errors(sample_benchmark: Path) -> None:
    from klue.examples import load_splits
    from tests.klue.names import KLUE_TASKS

    for name, task in KLUE_TASKS.items():
        gold = [example.label for example in load_splits(task, sample_benchmark).dev]
        right = {"klue-re": lambda g: {"label": g, "probabilities": []}, "klue-mrc": lambda g: g[0] if g else ""}
        found = [right.get(name, lambda g: g)(g) for g in gold]
        assert all(errors_of(name, g, p) == 0 for g, p in zip(gold, found, strict=True))
        rows = details(name, gold, [found])
        assert rows and sum(row["count"] for row in rows) > 0


@pytest.mark.parametrize("form", ["table", "markdown", "latex", "json"])
def test_report_of_several_models(form: str, models: list[Path], tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    folders = [str(folder) for folder in models[:2]]
    extra = ["--interval", "--breakdown", "nli", "--format", form, "--no-published"]
    assert run_command(["klue", "report", *folders, *extra]) == 0
    out = capfd.readouterr().out
    if form == "json":
        tree = json.loads(out)
        assert len(tree["summary"]) == 2 and len(tree["comparison"]["differences"]) == 1
        assert {row["model"] for row in tree["details"]["klue-nli"]} == {"good", "fair"}
    else:
        words = " ".join(out.split())
        assert "good, pretrained" in words and "entailment" in words and "not corrected" in words
    assert "g0" not in out.replace("gold", "")  # no example is shown unless it is asked for


def test_worst_examples_show_texts_only_when_asked(
    models: list[Path], tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    folder = tmp_path / "klue-nli-v1.1"
    folder.mkdir()
    records = [
        {"guid": f"g{i}", "premise": f"전제 {i}", "hypothesis": "가정", "gold_label": g} for i, g in enumerate(GOLD)
    ]
    (folder / "klue-nli-v1.1_dev.json").write_text(json.dumps(records))
    command = ["klue", "report", str(models[1]), "--breakdown", "klue-nli", "--no-published"]
    assert run_command([*command, "--worst", "3", "--data", str(tmp_path), "--json"]) == 0
    rows = json.loads(capfd.readouterr().out)["worst"]["klue-nli"]
    assert len(rows) == 3 and all(row["error"] == 1.0 and row["texts"][0].startswith("전제") for row in rows)
    assert all(p != row["gold"] for row in rows for p in row["predictions"])
    assert run_command([*command, "--worst", "3", "--data", str(tmp_path), "--format", "markdown"]) == 0
    assert capfd.readouterr().out.count("전제") == 3
    assert run_command(command) == 0 and "전제" not in capfd.readouterr().out
    assert run_command([*command, "--worst", "3"]) == 2
    assert "without --data" in capfd.readouterr().err
    assert run_command([*command, "--worst", "3", "--data", "hf:klue/klue@main"]) == 2
    assert "not in the hub's cache" in capfd.readouterr().err  # a name of the hub is one here, too
    assert run_command(["klue", "report", str(models[0]), "--breakdown", "ynat"]) == 2
    assert "no predictions of ynat" in capfd.readouterr().err
