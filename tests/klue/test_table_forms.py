import io
import json
import re

import pytest
from rich.console import Console

from common.errors import UserError
from hunmin.main import run_command
from hunmin.recipes.recipe import Recipe, save_recipe
from klue.plot import draw_scores
from klue.result_rows import read_rows
from klue.results import metrics_of
from klue.table_forms import as_tree, latex, markdown, results_table
from klue.tables import published_rows, tabulate
from tests.klue.names import KLUE_TASKS as TASKS

VALUES = {"learning_rate": 5e-5, "warmup_share": 0.1, "weight_decay": 0.0, "global_batch": 32, "epochs": 4}


def result(task, init, seed, value, model="ours", last=1.0, **values):
    metrics = metrics_of(task)
    return {
        "model": model,
        "task": task,
        "init": init,
        "seed": seed,
        "best": dict.fromkeys(metrics, value),
        "last": dict.fromkeys(metrics, last),
        "data_note": "split of dev: no train file, 7 trained on" if task == "klue-sts" else "",
        "examples": {"train": TASKS[task].sizes.train, "dev": TASKS[task].sizes.dev},
        "settings": {**VALUES, **values},
    }


ROWS = [
    result(task, init, seed, base + seed - 42)
    for task in TASKS
    for init, base in (("pretrained", 70.0), ("random", 40.0))
    for seed in (42, 44)
]


def test_columns_are_those_of_the_paper_and_lines_ours_then_published():
    scores = tabulate(ROWS, published_rows())
    assert len(scores.columns) == 14 + 6
    assert scores.columns[:8] == [
        "YNAT macro F1",
        "KLUE-STS Pearson r (split of dev)¹",
        "KLUE-STS F1 (split of dev)¹",
        "KLUE-NLI accuracy",
        "KLUE-NER entity F1",
        "KLUE-NER char F1",
        "KLUE-NER entity F1, as published",
        "KLUE-NER char F1, as published",
    ]
    assert scores.lines[0].title == "ours, pretrained" and scores.lines[0].cells == ["71.00 ± 1.41"] * 20
    assert scores.lines[1].title == "ours, random initialisation" and scores.lines[1].cells == ["41.00 ± 1.41"] * 20
    base = next(line for line in scores.lines if line.title == "published: KLUE-RoBERTa-base")
    # nothing beside the split task, and where the authors' code scores in another way beside that only
    assert base.cells[:8] == ["86.03", "–", "–", "85.50", "–", "–", "85.18", "91.81"] and base.seeds == ""
    assert len(scores.lines) == 2 + 9
    assert any("Table 36 (dev)" in note for note in scores.notes)
    assert any(note.startswith("¹ KLUE-STS: split of dev") for note in scores.notes)
    assert "No published scores beside KLUE-STS (dev is split)." in scores.notes
    assert scores.extra[0][0] == "KLUE-NER char F1 without O"
    assert scores.best(0) == 87.30  # XLM-R-large
    assert scores.best(1) is None and scores.best(2) is None


def test_every_published_score_stands_in_one_column():
    rows = [result(task, "pretrained", 42, 70.0) | {"data_note": ""} for task in TASKS]
    scores = tabulate(rows, published_rows())
    for model, line in zip(published_rows()["rows"], scores.lines[1:], strict=True):
        wanted = [value for values in model["scores"].values() for value in values.values()]
        assert sorted(value for value in line.values if value is not None) == sorted(wanted)
    assert not any("No published" in note for note in scores.notes)


def test_damaged_published_scores_have_a_footnote_and_are_never_the_best():
    published = published_rows()
    for model in published["rows"]:
        if model["model"] == "XLM-R-base":
            model["scores"]["klue-mrc"]["exact_match"] = 99.0
    rows = [result("klue-mrc", "pretrained", 42, 70.0)]
    scores = tabulate(rows, published)
    at = scores.columns.index("KLUE-MRC EM, as published")
    cells = {line.title.removeprefix("published: "): line.cells[at] for line in scores.lines}
    assert (cells["mBERT-base"], cells["XLM-R-base"], cells["KLUE-RoBERTa-base"]) == ("49.96", "99.00†", "69.65")
    assert scores.best(at) == 76.46
    assert any(note.startswith("† looks damaged: exact match far below ROUGE-W") for note in scores.notes)
    text = markdown(rows, published)
    assert "99.00†" in text and "**99.00†**" not in text and "**76.46**" in text
    assert "99.00$^\\dagger$" in latex(rows, published)


def test_published_scores_of_another_split_have_another_mark():
    published = published_rows()
    published["rows"] = published["rows"][:2]  # mBERT, XLM-R
    published["rows"][0]["flags"] = {"ynat": {"macro_f1": "other split"}}
    scores = tabulate([result(task, "pretrained", 42, 70.0) for task in ("ynat", "klue-mrc")], published)
    assert scores.lines[1].cells[0] == "82.64†" and scores.lines[2].cells[3] == "26.76‡"
    assert [note[0] for note in scores.notes if note[0] in "†‡"] == ["†", "‡"]
    assert "† scored on another split." in scores.notes and scores.best(0) == 84.52


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"data_note": "split of dev: no train file, 9 dev examples to train on and the other 8 scored"},
            "dev is split",
        ),
        ({"examples": {"train": 45678, "dev": 8}}, "8 of 9,107 dev examples"),
        ({"examples": {"train": 45675, "dev": 9107, "train_cut": 3}}, "train is cut"),
        ({"examples": {"train": 100, "dev": 9107, "train_in_dev": 7}}, "107 of at least 45,678 train examples"),
        ({"data_note": "train from ynat_train.labelled_part.json"}, "train is cut"),
    ],
)
def test_no_published_score_and_no_best_beside_a_split_or_cut_task(changes, why):
    """ "71.43" from eight examples is not above 87.30."""
    cut, whole = result("ynat", "pretrained", 42, 99.0) | changes, result("klue-nli", "pretrained", 42, 99.0)
    scores = tabulate([cut, whole], published_rows())
    assert all(line.values[0] is None for line in scores.lines[1:]) and scores.lines[1].values[1] == 72.90
    assert f"No published scores beside YNAT ({why})." in scores.notes and "¹" in scores.columns[0]
    text = markdown([cut, whole], published_rows())
    assert text.count("**99.00**") == 1 and text.count("99.00") == 2
    alone = tabulate([cut], published_rows())
    assert len(alone.lines) == 1 and "No published scores: no task was" in " ".join(alone.notes)


@pytest.mark.parametrize("order", [("whole", "cut"), ("cut", "whole")])
def test_what_is_said_of_the_data_names_the_model_where_models_differ(order):
    """Whichever comes last, and the column is not called a split's where one model was scored on all of it."""
    notes = {"whole": "", "cut": "split of dev: no train file, 9 dev examples to train on and the other 8 scored"}
    rows = [result("ynat", "pretrained", 42, 70.0, model=name) | {"data_note": notes[name]} for name in order]
    scores = tabulate(rows, published_rows())
    assert scores.columns == ["YNAT macro F1¹"]
    said = {"whole": "whole, pretrained: all of the data", "cut": f"cut, pretrained: {notes['cut']}"}
    assert f"¹ YNAT: {said[order[0]]}; {said[order[1]]}." in scores.notes
    alone = tabulate([row for row in rows if row["model"] == "cut"])
    assert alone.columns == ["YNAT macro F1 (split of dev)¹"]


def test_a_metric_that_evaluations_were_chosen_by_instead_is_named():
    rows = [
        result("klue-sts", init, 42, 70.0, metric_for_best_model="f1") | {"data_note": ""}
        for init in ("pretrained", "random")
    ]
    assert tabulate(rows).notes.count("KLUE-STS: evaluations chosen by F1.") == 1
    assert not any("chosen by" in note for note in tabulate(ROWS).notes)


def test_how_many_evaluations_looked_at_dev_is_at_most_so_many_where_training_ends_early():
    values = {"evaluations_per_epoch": 4, "patience": 5}
    rows = [result("ynat", "pretrained", 42, 70.0, evaluations_per_epoch=4, patience=0)]
    rows.append(result("klue-nli", "pretrained", 42, 70.0, **values))
    [note] = [note for note in tabulate(rows).notes if "dev evaluations" in note]
    epochs = VALUES["epochs"]
    assert note == (
        f"Each score is the best of this number of dev evaluations: YNAT {4 * epochs}, KLUE-NLI at most {4 * epochs}."
    )


def test_without_published_rows_and_with_gaps():
    rows = [row for row in ROWS if row["task"] == "ynat"] + [result("klue-nli", "pretrained", 42, 70.0)]
    scores = tabulate(rows)
    assert scores.columns == ["YNAT macro F1", "KLUE-NLI accuracy"]
    assert [(line.title, line.seeds, line.cells) for line in scores.lines] == [
        ("ours, pretrained", "1–2", ["71.00 ± 1.41", "70.00"]),
        ("ours, random initialisation", "2", ["41.00 ± 1.41", "–"]),
    ]
    assert not any("published" in note for note in scores.notes)


def test_undefined_score():
    row = {**result("klue-sts", "pretrained", 42, 0.0), "best": {"pearsonr": None, "f1": 0.0}}
    assert tabulate([row]).lines[0].cells == ["undefined", "0.00"]


def test_markdown_has_the_best_in_bold():
    text = markdown(ROWS, published_rows())
    assert text.startswith("| model | seeds | YNAT macro F1 |")
    assert "| published: mBERT-base |  | 82.64 | – | – | 72.90 | – | – | 75.14 |" in text
    assert "| published: XLM-R-large |  | **87.30** |" in text
    assert text.count("**") == 2 * (20 - 2)
    assert "| KLUE-DP UAS, plain accuracy | 71.00 ± 1.41 | 41.00 ± 1.41 |" in text


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"settings": {"epochs": 9}}, "epochs"),
        ({"settings": {"global_batch": 99, "max_seq_len": 9}}, "global_batch, max_seq_len"),
        ({"settings": {"precision": "bfloat16"}}, "precision"),
        ({"data_hash": "other"}, "data"),
        ({"examples": {"train": 45678, "dev": 9107, "left_out": 1}}, "data"),
    ],
)
def test_no_score_is_the_best_of_rows_that_were_not_measured_alike(changed, named):
    """A's 99.00 with other settings is no better than B's 70.00; of the task that was measured alike the best is."""
    first, second = (result("ynat", "pretrained", 42, value, model=name) for value, name in ((99.0, "a"), (70.0, "b")))
    alike = [result("klue-nli", "pretrained", 42, value, model=name) for value, name in ((98.0, "a"), (70.0, "b"))]
    first |= changed | {"settings": first["settings"] | changed.get("settings", {})}
    for published in (None, published_rows()):
        text, scores = markdown([first, second, *alike], published), tabulate([first, second, *alike], published)
        assert "99.00" in text and "**99.00**" not in text and "**87.30**" not in text and "**98.00**" in text
        assert f"No score is marked as the best of YNAT: rows differ in {named}." in scores.notes
    assert "**99.00**" in markdown([result("ynat", "pretrained", 42, 99.0, model="a"), second])


def test_seeds_are_counted_and_threads_are_not():
    one = result("ynat", "pretrained", 42, 70.0, model="a", threads=8)
    two = [result("ynat", "pretrained", seed, 80.0, model="b", threads=1) for seed in (42, 43)]
    assert "**80.00**" in markdown([one, two[0]])
    assert "rows differ in seeds" in " ".join(tabulate([one, *two]).notes) and "**" not in markdown([one, *two])


def test_values_that_equal_searches_chose_are_no_difference():
    def searched(model, rates, value):
        return [result("ynat", "pretrained", 42, value - n, model=model, learning_rate=r) for n, r in enumerate(rates)]

    first = searched("a", (1e-5, 5e-5), 70.0)
    assert "**80.00**" in markdown([*first, *searched("b", (5e-5, 1e-5), 80.0)])
    notes = tabulate([*first, *searched("b", (5e-5, 1e-5, 2e-5), 80.0)]).notes
    assert any("rows differ in learning_rate, search." in note for note in notes)


def test_published_scores_are_beaten_by_the_authors_way_alone():
    """Without gold parts of speech a score stands beside published ones, as its note says; it is not above them."""
    for pos_tags, bold in ((True, "**99.00**"), (False, None)):
        rows = [result("klue-dp", "pretrained", 42, 99.0, pos_tags=pos_tags)]
        text = markdown(rows, published_rows())
        assert (bold in text) if bold else "**" not in text
        assert "**99.00**" in markdown(rows)


def test_published_scores_stand_with_their_source_and_date(tmp_path, monkeypatch):
    """In every form and on the picture; the newest are older than five years."""
    figures = []
    monkeypatch.setattr("klue.plot.save_figure", lambda figure, path: figures.append(figure))
    korsts = {"task": "korsts", "examples": {"train": 5749, "dev": 1500, "test": 1379}} | {
        which: {"spearmanr": 80.0, "pearsonr": 80.0} for which in ("best", "last", "test")
    }
    for changed, source in (
        ({}, "KLUE paper, Table 36 (dev), May 2021"),
        (korsts, "KoELECTRA's README, October 2020"),
    ):
        rows = [result("ynat", "pretrained", 42, 70.0) | changed]
        for brief in (False, True):
            console = Console(width=200, record=True, file=io.StringIO())
            console.print(results_table(rows, published_rows(), 200, brief=brief))
            assert f"published: {source}" in " ".join(console.export_text().split())
        assert f"published: {source}" in markdown(rows, published_rows())
        assert f"published: {source}" in latex(rows, published_rows())
        draw_scores(rows, published_rows(), tmp_path / "x.png")
        assert f"published: {source}" in figures[-1].get_supxlabel()
        draw_scores(rows, None, tmp_path / "x.png")
        assert figures[-1].get_supxlabel() == ""


def test_terminal_fits_100_columns_and_names_what_it_leaves_out():
    console = Console(width=110, record=True, file=io.StringIO())
    console.print(results_table(ROWS, published_rows()))
    text = console.export_text()
    assert "71.00 ± 1.41" in text and "…" not in text
    assert "5 more published models" in text
    assert re.search(r"KLUE-NLI accuracy +│ +71.00 ± 1.41 +│ +41.00 ± 1.41 +│ +79.87", text)


def test_latex_is_a_whole_table():
    text = latex(ROWS, published_rows())
    assert text.count("\\begin{") == text.count("\\end{") == 2
    widths = {line.count("&") for line in text.splitlines() if line.endswith("\\\\")}
    assert widths == {21}
    assert "\\textbf{87.30}" in text and "71.00 $\\pm$ 1.41" in text
    assert not re.search(r"(?<!\\)[%#_]", text)


def test_a_search_says_how_many_were_tried_and_on_what_they_were_chosen():
    rows = [result("ynat", "pretrained", 42, rate * 1e6, learning_rate=rate) for rate in (1e-5, 5e-5, 3e-5)]
    scores = tabulate(rows)
    assert scores.lines[0].cells == ["50.00"] and scores.lines[0].seeds == "1"
    assert scores.notes[-1] == (
        "YNAT, pretrained: the best of 3 sets of training values, chosen on dev, as in the paper: "
        "learning rate 5e-05, warm-up 0.1, weight decay 0, batch 32, 4 epochs."
    )
    assert not any("sets of training values" in note for note in tabulate(ROWS).notes)


def test_two_models_can_be_told_apart():
    first, second = (tabulate([result("ynat", "pretrained", 42, 70.0, model=name)]).lines[0] for name in ("a|b", "[b]"))
    assert (first.title, second.title) == ("a|b, pretrained", "[b], pretrained")
    row = result("ynat", "pretrained", 42, 70.0, model="[b]|c")
    console = Console(width=110, record=True, file=io.StringIO())
    console.print(results_table([row]))
    assert "[b]|c," in console.export_text() and "| \\[b\\]\\|c, pretrained | 1 |" in markdown([row])


def test_examples_that_were_cut_are_said_beside_the_scores():
    note = "trained on 20 of 70 examples"
    rows = [{**result("ynat", init, 42, 70.0), "data_note": note} for init in ("pretrained", "random")]
    scores = tabulate(rows, published_rows())
    assert scores.columns == ["YNAT macro F1¹"] and f"¹ YNAT: {note}." in scores.notes
    assert len(scores.lines) == 2
    rows[0]["data_note"] = ""
    wanted = f"¹ YNAT: pretrained: all of the data; random initialisation: {note}."
    assert wanted in tabulate(rows).notes


def test_what_the_corpus_held_of_each_task_stands_in_all_forms():
    held, text = {"ynat": 1200, "wos": 3}, "equal, resemble or contain one of its: YNAT 1,200, WoS 3."
    console = Console(width=400, record=True, file=io.StringIO())
    console.print(results_table(ROWS, None, 110, held))
    for shown in (console.export_text(), markdown(ROWS, None, held), latex(ROWS, None, held)):
        assert text in re.sub(r"\s+", " ", shown)
    assert as_tree(ROWS, None, held)["contamination"] == held
    assert not any("Sentences" in note for note in tabulate(ROWS).notes)


@pytest.mark.parametrize("line", ['{"task": "ynat"}', "1", '"x"', "{", '{"task": "no-task"}', "[]", "null"])
def test_damaged_results(line, tmp_path, capfd):
    whole = json.dumps(result("ynat", "pretrained", 42, 70.0))
    (tmp_path / "results.jsonl").write_text(f"{whole}\n{line}\n")
    with pytest.raises(UserError, match=r"results.jsonl is damaged"):
        read_rows(tmp_path)
    assert run_command(["klue", "report", str(tmp_path)]) == 2 and "is damaged" in capfd.readouterr().err


def test_report_from_the_command_line(tmp_path, capfd):
    (tmp_path / "run" / "klue").mkdir(parents=True)
    (tmp_path / "run" / "klue" / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "run" / "corpus").mkdir()
    (tmp_path / "run" / "corpus" / "hits.jsonl").write_text('{"task": "klue-nli"}\n' * 2 + '{"task": "ynat"}\n')
    for folder in (tmp_path / "run", tmp_path / "run" / "klue"):
        assert run_command(["klue", "report", str(folder), "--format", "json"]) == 0
        tree = json.loads(capfd.readouterr().out)
        assert tree["rows"] == ROWS and tree["published"] == published_rows()
        assert tree["summary"][0]["best"]["macro_f1"] == {"mean": 71.0, "sd": pytest.approx(2**0.5), "n": 2}
        assert tree["summary"][0]["tried"] == 1 and tree["contamination"] == {"ynat": 1, "klue-nli": 2}
        for form in ("table", "markdown", "latex"):
            assert run_command(["klue", "report", str(folder), "--format", form]) == 0
            assert "YNAT 1, KLUE-NLI 2" in re.sub(r"\s+", " ", capfd.readouterr().out)
    assert run_command(["klue", "report", str(tmp_path / "run"), "--no-published", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["published"] is None


@pytest.mark.parametrize(
    ("task", "as_the_authors", "otherwise", "said"),
    [
        ("klue-dp", {"pos_tags": True}, {"pos_tags": False}, "KLUE-DP: without gold parts of speech"),
        ("klue-dp", {"parser_width": 768}, {"parser_width": 192}, "KLUE-DP: a parser 192 wide; the authors' is 768"),
        ("wos", {"texts_only": False}, {"texts_only": True}, "learned the values of slots with a text alone"),
    ],
)
def test_what_was_fine_tuned_in_another_way_than_the_authors_is_told_apart(task, as_the_authors, otherwise, said):
    for values in ({}, as_the_authors):
        assert said not in markdown([result(task, "pretrained", 42, 60.0, **values)], published_rows())
    other = result(task, "pretrained", 42, 60.0, **otherwise)
    assert said in markdown([other], published_rows())
    both = [other, result(task, "pretrained", 42, 60.0, model="b")]
    assert re.search(f"{said}.* \\(ours, pretrained\\)\\.", markdown(both, published_rows()))


def test_a_run_on_other_data_stays_away_from_published_rows(tmp_path, capfd):
    tree = {"name": "t", "out": str(tmp_path), "corpus": {"inputs": ["x"]}}
    (tmp_path / "klue").mkdir()
    (tmp_path / "klue" / "results.jsonl").write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS), encoding="utf-8"
    )
    for published in (True, False):
        recipe = Recipe.model_validate({**tree, "klue": {"data": "y", "published": published}})
        save_recipe(recipe, tmp_path / "recipe.yaml")
        for folder in (tmp_path, tmp_path / "klue"):
            assert run_command(["klue", "report", str(folder), "--format", "markdown"]) == 0
            assert ("mBERT-base" in capfd.readouterr().out) == published
    assert run_command(["klue", "report", str(tmp_path), "--published", "--format", "markdown"]) == 0
    assert "mBERT-base" in capfd.readouterr().out


EVIL = "[/x]<b>|`$\\input{x}^~\x1b[2J"


def test_a_models_name_is_text_in_every_form():
    row = result("ynat", "pretrained", 42, 70.0, model=EVIL)
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(results_table([row]))  # any console: an unknown end of a style is an error of rich
    assert "[/x]<b>|`$" in console.export_text()
    line = next(line for line in markdown([row]).splitlines() if "pretrained" in line)
    assert line.startswith("| \\[/x\\]\\<b\\>\\|\\`\\$\\\\input{x}^\\~") and "\x1b" not in line
    assert "[/x]<b>|`\\$\\textbackslash{}input\\{x\\}\\textasciicircum{}\\textasciitilde{}" in latex([row])


def test_a_short_table_has_the_footnotes_of_its_marks() -> None:
    """Marks without their notes tell nobody what they mean."""
    cut = result("ynat", "pretrained", 42, 60.0) | {"data_note": "trained on 200 of 45,678 examples"}
    for rows in ([cut], ROWS):
        console = Console(record=True, width=200, file=io.StringIO())
        console.print(results_table(rows, published_rows(), 200, brief=True))
        text = console.export_text()
        body, notes = text.rsplit("└", 1)
        marks = set(re.findall("[¹²³⁴⁵⁶⁷⁸⁹]+|[†‡§¶]", body))
        assert marks == set(re.findall("^ *([¹²³⁴⁵⁶⁷⁸⁹]+|[†‡§¶]) ", notes, re.MULTILINE))
        assert rows == ROWS or (
            marks == {"¹"} and "¹ YNAT: trained on 200 of 45,678 examples." in " ".join(notes.split())
        )
