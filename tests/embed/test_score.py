"""Scores are mteb's: its values, its statistics, its files; and what stands beside them."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from common.errors import HunminError, UserError
from common.message import Message, as_tree
from common.results import encoded

pytest.importorskip("mteb")
pytest.importorskip("sentence_transformers")
import mteb
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.results import TaskResult
from tiny_encoders import PLACES, THINGS, embedding_folder, write_lines, write_sts

from embed.base import load_model
from embed.card import facts_of
from embed.score import NGRAMS, as_markdown, heading, model_revision, published, score_models
from embed.scored import SCORED, read_scored
from embed.sets import Leaks
from embed.settings import EmbedSettings
from embed.tables import read_table
from embed.tasks import differences, get_task, local_task, task_texts
from pretrain.export.sentence_embeddings import write_embedding_files


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """KLUE-STS's and KLUE-MRC's dev parts, invented."""
    folder = tmp_path_factory.mktemp("sets")
    asked = [
        {"context": f"{PLACES[n]}에서는 {THINGS[n]}를 판다.", "qas": [
            {"guid": f"q{n}", "question": f"{THINGS[n]}는 어디?", "is_impossible": n == 9,
             "answers": [] if n == 9 else [{"text": PLACES[n], "answer_start": 0}]}]}
        for n in range(10)
    ]  # fmt: skip
    (folder / "klue-mrc-v1.1").mkdir()
    tree = {"data": [{"title": "x", "paragraphs": asked}]}
    path = folder / "klue-mrc-v1.1" / "klue-mrc-v1.1_dev.json"
    path.write_text(json.dumps(tree, ensure_ascii=False), encoding="utf-8")
    return write_sts(folder)


@pytest.fixture(scope="module")
def model(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = EmbedSettings(data=[{"use": "korsts"}], max_seq_len=32)
    return embedding_folder(base, tmp_path_factory.mktemp("models") / "tiny", settings)


def test_the_table_holds_mtebs_own_scores(model: Path, base: Path, sets: Path, tmp_path: Path) -> None:
    settings = EmbedSettings(data=[{"use": "klue-sts"}, {"path": "0-x.jsonl"}], max_seq_len=32)
    row = {"split": "train", "licence": "", "rows": 1, "shape": "scored"}
    trained = [{"set": "klue-sts", **row}, {"set": "0-x.jsonl", "origins": ["klue-mrc"], **row}]
    facts = facts_of(settings, base, []) | {"trained_on": trained}
    shutil.copytree(model, tmp_path / "tuned")
    (tmp_path / "tuned" / "hunmin-embed.json").write_bytes(encoded(facts))
    table = score_models(tmp_path / "tuned", [sets], tmp_path / "out", base=base)
    assert [row["model"] for row in table["rows"]] == ["tuned", "tuned, untuned", "tuned, random weights", NGRAMS]
    assert list(table["tasks"]) == ["KLUE-STS", "HunminKlueMrcRetrieval"] and "KorNLI" in table["absent"]
    tuned, untuned, random, _ = (row["scores"] for row in table["rows"])
    assert tuned == untuned != random
    for name, score in tuned.items():
        task = local_task(name, [sets])
        found = mteb.evaluate(load_model(model), task, cache=None, co2_tracker=False, show_progress_bar=False)
        assert score == pytest.approx(100 * found.task_results[0].get_score(), abs=1e-3)  # mteb writes six digits
    written = sorted(
        path.relative_to(tmp_path / "out" / "mteb" / "results") for path in tmp_path.rglob("KLUE-STS.json")
    )
    assert len({path.parts[0] for path in written}) == 4  # each model has a name of its own
    text = as_markdown(table)
    assert text.startswith("1 of 20 tasks of MTEB(kor, v2)") and "MTEB(kor, v2), percent" in text
    assert table["rows"][0]["trained_on"] == ["HunminKlueMrcRetrieval", "KLUE-STS"]
    assert "*" in text.split("| tuned |")[1].split("|")[0] and "KLUE-STS: validation: 12 rows, mteb has 519" in text

    def results() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "mteb").rglob("*.json")}

    before = results()
    assert score_models(tmp_path / "tuned", [sets], tmp_path / "out", base=base)["rows"] == table["rows"]
    assert results() == before
    path = tmp_path / "out" / table["rows"][0]["results"]["KLUE-STS"]
    assert TaskResult.from_disk(path).get_score() == table["rows"][0]["scores"]["KLUE-STS"] / 100
    models = mteb.ResultCache(tmp_path / "out" / "mteb").load_results()
    assert len(models.model_results) == 8  # a folder for each row and task, which mteb's own tools read
    short = score_models(tmp_path / "tuned", [sets], tmp_path / "out", ["KLUE-STS"], truncate=4)
    assert short["rows"][0]["scores"]["KLUE-STS"] != tuned["KLUE-STS"]
    assert "| tuned, 4 entries |" in as_markdown(short) and "| tuned |" not in as_markdown(short)
    assert {*before.items()} <= {*results().items()}  # others stand beside, and count again
    again = results()
    assert (
        score_models(tmp_path / "tuned", [sets], tmp_path / "out", base=base) == read_table(tmp_path / "out") == table
    )
    assert results() == again


@pytest.fixture(scope="module")
def scores(model: Path, sets: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("scores")
    score_models(model, [sets], out, ["KLUE-STS"])
    return out


@pytest.mark.parametrize("damage", ["cut", "score", "of another task", "no score"])
def test_a_damaged_result_is_refused_and_stays(
    damage: str, scores: Path, model: Path, sets: Path, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(scores, tmp_path / "out"))
    path = out / read_table(out)["rows"][0]["results"]["KLUE-STS"]
    text = path.read_text()
    score = f'"main_score": {json.loads(text)["scores"]["validation"][0]["main_score"]}'
    other = out / read_table(out)["rows"][1]["results"]["KLUE-STS"]
    held = {"cut": text[:40], "score": text.replace(score, '"main_score": 0.99'), "of another task": other.read_text(),
            "no score": text.replace(score, '"main_score": NaN')}[damage]  # fmt: skip
    assert held != text
    path.write_text(held)
    with pytest.raises(HunminError, match=r"KLUE-STS\.json is"):
        score_models(model, [sets], out, ["KLUE-STS"])
    assert path.read_text() == held
    path.unlink()
    score_models(model, [sets], out, ["KLUE-STS"])
    assert read_table(out) == read_table(scores)


def test_an_edited_table_is_told_and_stays(scores: Path, model: Path, sets: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(scores, tmp_path / "out"))
    text = (out / "table.json").read_text()
    edited = re.sub(r'("KLUE-STS": -?)(\d)', r"\g<1>9\g<2>", text, count=1)
    (out / "table.json").write_text(edited)
    for use in (lambda: read_table(out), lambda: score_models(model, [sets], out, ["KLUE-STS"])):
        with pytest.raises(HunminError, match=r"table\.json is damaged or was changed"):
            use()
    assert (out / "table.json").read_text() == edited


def test_a_part_of_a_task_is_never_taken_for_the_whole(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """mteb writes its result after each of the task's three subsets; the command is killed within the second."""
    name, subsets = "BelebeleRetrieval", []
    folders, evaluate = [write_own(tmp_path, name)], AbsTaskRetrieval._evaluate_subset

    def stopped(self: Any, *given: Any, hf_subset: str, **more: Any) -> Any:
        subsets.append(hf_subset)
        if len(subsets) == 2:
            raise KeyboardInterrupt
        return evaluate(self, *given, hf_subset=hf_subset, **more)

    monkeypatch.setattr(AbsTaskRetrieval, "_evaluate_subset", stopped)
    with pytest.raises(KeyboardInterrupt):
        score_models(model, folders, tmp_path / "out", [name])
    assert not [*(tmp_path / "out").rglob(f"{name}.json")]
    found = score_models(model, folders, tmp_path / "out", [name])["rows"][0]
    assert len(subsets) == 2 + 3 * 3
    result = TaskResult.from_disk(tmp_path / "out" / found["results"][name])
    assert len(result.scores["test"]) == 3 and result.get_score() == found["scores"][name] / 100


@pytest.mark.parametrize(
    ("file", "counts"),
    [("1_Pooling/config.json", True), ("sentence_bert_config.json", True), ("config_sentence_transformers.json", True),
     ("tokenizer.json", True), ("pytorch_model.bin", True), ("scores/table.json", False), ("LICENSE", False),
     ("README.md", False), ("manifest.json", False), ("hunmin-embed.json", False), ("onnx/encoder.onnx", False)],
)  # fmt: skip
def test_a_revision_counts_all_that_decides_a_vector(file: str, counts: bool, model: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(model, tmp_path / "other"))
    assert model_revision(other) == model_revision(model) != model_revision(model, 4)
    (other / file).parent.mkdir(exist_ok=True)
    (other / file).write_text("{}")
    assert (model_revision(other) != model_revision(model)) == counts


def test_scores_of_another_pooling_are_made_anew(model: Path, base: Path, sets: Path, tmp_path: Path) -> None:
    """The same weights and folder of scores; the base's rows are pooled as the model is."""
    tuned = Path(shutil.copytree(model, tmp_path / "tuned"))
    found = []
    for pooling in ("mean", "cls"):
        write_embedding_files(tuned, 32, 32, pooling)
        found.append(score_models(tuned, [sets], tmp_path / "out", ["KLUE-STS"], base=base)["rows"])
    for before, after in zip(*found, strict=True):
        assert (before["scores"] == after["scores"]) == (before["model"] == NGRAMS), before["model"]


def test_wrong_uses(model: Path, base: Path, sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"tasks": ["KorSTS"]}, "no test file of KorSTS"),
        ({"tasks": ["STS18"]}, "no task 'STS18'.*did you mean 'STS17'"),
        ({"truncate": 33}, "more than the 32 entries"), ({"folders": [tmp_path]}, "no dev file of YNAT"),
        ({"model": base}, "is no model of sentence embeddings"), ({"hub": True}, "HF_HUB_OFFLINE is set"),
        ({"tasks": ["MrTidyRetrieval"]}, "no MrTidyRetrieval/corpus.jsonl in"),
    ]  # fmt: skip
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for changes, message in cases:
        with pytest.raises(UserError, match=message):
            score_models(**{"model": model, "folders": [sets], "out": tmp_path / "out", **changes})
    monkeypatch.setattr(sys, "version_info", (3, 10, 9, "final", 0))
    with pytest.raises(UserError, match=r"needs Python 3.11; this is 3.10"):
        score_models(model, [sets], tmp_path / "out")


class Planted:
    """Vectors by which pairs are as close as they are rated, and a question is its passage."""

    def __init__(self, vectors: dict[str, Any]) -> None:
        from mteb.models.model_meta import ModelMeta

        self.vectors, self.mteb_model_meta = vectors, ModelMeta.create_empty()

    def encode(self, inputs: Any, **_: Any) -> Any:
        return np.stack([self.vectors[text] for batch in inputs for text in batch["text"]])

    def similarity(self, a: Any, b: Any) -> Any:
        return np.asarray(a) @ np.asarray(b).T

    def similarity_pairwise(self, a: Any, b: Any) -> Any:
        return (np.asarray(a) * np.asarray(b)).sum(1)


def test_planted_vectors_score_1(sets: Path) -> None:
    vectors: dict[str, Any] = {}
    for row in json.loads((sets / "klue-sts-v1.1" / "klue-sts-v1.1_dev.json").read_bytes()):
        cosine = row["labels"]["label"] / 5
        vectors[row["sentence1"]] = np.array([1.0, 0.0])
        vectors[row["sentence2"]] = np.array([cosine, (1 - cosine**2) ** 0.5])
    tree = json.loads((sets / "klue-mrc-v1.1" / "klue-mrc-v1.1_dev.json").read_bytes())
    for number, one in enumerate(tree["data"][0]["paragraphs"]):
        for text in (one["context"], one["qas"][0]["question"]):
            vectors[text] = np.eye(10)[number]
    for name in ("KLUE-STS", "HunminKlueMrcRetrieval"):
        found = mteb.evaluate(Planted(vectors), local_task(name, [sets]), cache=None, co2_tracker=False)
        assert found.task_results[0].get_score() == pytest.approx(1.0)


OWN = [name for name, task in SCORED.items() if not task.set]
"""Tasks without a built-in set."""


def write_own(folder: Path, name: str) -> Path:
    """Write a task's files: ten rows a split, or ten queries and their documents."""
    both = [(f"{thing} 어디", f"{thing}는 {place}에서 판다") for place, thing in zip(PLACES[:10], THINGS, strict=False)]
    rows = {
        "SIB200ClusteringS2S": [{"text": one, "category": f"c{n % 3}"} for n, (one, _) in enumerate(both)],
        "STS17": [{"sentence1": a, "sentence2": b, "score": n / 2} for n, (a, b) in enumerate(both)],
    }.get(name, [{"sentences": [one for pair in both for one in pair], "labels": [n % 4 for n in range(20)]}])
    contents: dict[str, list[Any]] = {
        "corpus.jsonl": [{"_id": f"d{n}", "title": "", "text": b} for n, (_, b) in enumerate(both)],
        "queries.jsonl": [{"id": f"q{n}", "text": a} for n, (a, _) in enumerate(both)],
        "top_ranked.jsonl": [{"query-id": f"q{n}", "corpus-ids": [f"d{n}", f"d{9 - n}"]} for n in range(10)],
    }
    for file in SCORED[name].files:
        if file.endswith(".tsv"):
            lines = ["query-id\tcorpus-id\tscore", *(f"q{n}\td{n}\t1" for n in range(9))]  # the last query has none
            (folder / name / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / name / file).write_text("\n".join(lines) + "\n", encoding="utf-8")
        else:
            write_lines(folder / name / file, contents.get(Path(file).name, rows))
    return folder


@pytest.mark.parametrize("name", OWN)
def test_tasks_from_their_own_files(name: str, tmp_path: Path) -> None:
    """Each has mteb's splits and subsets, and its data are scored by mteb."""
    task, leaks = local_task(name, [write_own(tmp_path, name)]), Leaks([name], [tmp_path])
    published = {one.metadata.name: one for one in mteb.get_benchmark("MTEB(kor, v2)").tasks}[name]
    assert [*task.hf_subsets] == [*published.hf_subsets] and type(task) is type(published)
    assert {*task.eval_splits} <= {*SCORED[name].splits} and differences(task)
    pair = ("사과 어디", "사과는 서울에서 판다")
    single = not SCORED[name].columns or name == "STS17"
    assert leaks.of(pair) == ("pair" if single else "text") and leaks.of(["없는 글"]) == ""
    assert pair[1] in task_texts(task) or name == "SIB200ClusteringS2S"
    if name in ("MIRACLReranking", "MultiLongDocRetrieval", "BelebeleRetrieval", "STS17", "KlueMrcDomainClustering"):
        ten = np.eye(10)
        vectors = {
            text: ten[THINGS.index(text[:2])] for text in (*task_texts(task), *(f"{t} 어디" for t in THINGS[:10]))
        }
        found = mteb.evaluate(Planted(vectors), task, cache=None, co2_tracker=False, show_progress_bar=False)
        scores = found.task_results[0].scores
        assert {*scores} == {*task.eval_splits}
        if SCORED[name].columns == ():
            assert [one["main_score"] for rows in scores.values() for one in rows] == pytest.approx(
                [1.0] * len(task.hf_subsets) * len(scores)
            )


BROKEN = [
    ("LawIRKo/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td99\t1\n", "document 'd99' of query 'q1' is absent"),
    ("LawIRKo/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq99\td1\t1\n", "query 'q99' is absent"),
    ("LawIRKo/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\thigh\n", "no table of relevant documents"),
    ("LawIRKo/qrels/test.tsv", "query\tdocument\nq1\td1\n", "no table of relevant documents: 'score'"),
    ("LawIRKo/corpus.jsonl", '{"id": "d1"}\n', "line 1: text: Field required"),
    ("LawIRKo/corpus.jsonl", '{"id": "d1", "text": 7}\n', "line 1: text: Input should be a valid string"),
    ("LawIRKo/corpus.jsonl", '{"id": 1, "text": "가"}\n{"_id": "1", "text": "나"}\n', "line 2: id '1' again"),
    ("LawIRKo/queries.jsonl", '{"id": "q1", "text": ""}\n', "line 1: text: String should have at least 1 character"),
    ("MIRACLReranking/top_ranked.jsonl", '{"query-id": "q1", "corpus-ids": ["d77"]}\n', "document 'd77' of query"),
    ("STS17/test.jsonl", '{"sentence1": "가", "sentence2": "나"}\n', "line 1: score: Field required"),
    (
        "STS17/test.jsonl",
        '{"sentence1": "가", "sentence2": "나", "score": "3.5"}\n',
        "score: Input should be a valid num",
    ),
    ("STS17/test.jsonl", "[1]\n", "line 1: sentence1: Field required"),
    ("KlueMrcDomainClustering/test.jsonl", '{"sentences": ["가", 2], "labels": [1, 2]}\n', "sentences: Input should"),
    ("STS17/test.jsonl", "", "holds no rows"),
    (
        "STS17/test.jsonl",
        '{"sentence1": "가", "sentence2": "나", "score": 1.0}\n' * 3,
        "STS17 test cannot be scored: its 3 rows have the same label: 1.0",
    ),
    ("SIB200ClusteringS2S/test.jsonl", '{"text": "가", "category": "c"}\n', "its 1 rows have the same label: c"),
    ("KlueMrcDomainClustering/test.jsonl", '{"sentences": ["가", "나"], "labels": [1, 1]}\n', "the same label: 1"),
    (
        "LawIRKo/qrels/test.tsv",
        "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t0\nq3\td3\t0\n",
        "LawIRKo test cannot be scored: 2 queries have no relevant document, 'q2' the first",
    ),
    ("LawIRKo/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t-1\n", "score -1 of query 'q1'"),
    ("LawIRKo/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t0\nq1\td1\t1\n", "two scores of query 'q1'"),
    (
        "MIRACLReranking/top_ranked.jsonl",
        '{"query-id": "q1", "corpus-ids": ["d1"]}\n',
        "MIRACLReranking dev cannot be scored: 8 queries have no documents to rank, 'q0' the first",
    ),
]


@pytest.mark.parametrize(("file", "content", "message"), BROKEN, ids=range(len(BROKEN)))
def test_a_wrong_file_of_a_task_is_one_clear_error(file: str, content: str, message: str, tmp_path: Path) -> None:
    name = file.split("/")[0]
    (write_own(tmp_path, name) / file).write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        local_task(name, [tmp_path])


def test_passages_without_an_answerable_question_are_refused(sets: Path, tmp_path: Path) -> None:
    path = Path("klue-mrc-v1.1", "klue-mrc-v1.1_dev.json")
    tree = json.loads((sets / path).read_bytes())
    tree["data"][0]["paragraphs"] = tree["data"][0]["paragraphs"][-1:]
    (tmp_path / path).parent.mkdir()
    (tmp_path / path).write_text(json.dumps(tree))
    with pytest.raises(UserError, match="cannot be scored: no query has a relevant document"):
        local_task("HunminKlueMrcRetrieval", [tmp_path])


def test_a_score_that_is_no_number_is_an_error(model: Path, sets: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """Of vectors that are all alike: no rank correlation exists."""
    alike: Any = Planted(defaultdict(lambda: np.ones(4)))
    alike.figures = {}
    monkeypatch.setattr("embed.index.measured_encoder", lambda *_: alike)
    with pytest.raises(HunminError, match="KLUE-STS has the score nan"):
        score_models(model, [sets], tmp_path / "out", ["KLUE-STS"])


def test_ids_and_titles_may_be_numbers(tmp_path: Path) -> None:
    files = {
        "corpus.jsonl": [{"id": 1, "title": 2024, "text": "가"}], "queries.jsonl": [{"id": 7, "text": "나"}],
        "top_ranked.jsonl": [{"query-id": 7, "corpus-ids": [1]}],
    }  # fmt: skip
    folder = write_own(tmp_path, "MIRACLReranking") / "MIRACLReranking"
    for name, rows in files.items():
        write_lines(folder / name, rows)
    (folder / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\n7\t1\t1\n")
    (read,) = read_scored("MIRACLReranking", [tmp_path]).values()
    assert read == ({"7": "나"}, {"1": ("2024", "가")}, {"7": {"1": 1}}, {"7": ["1"]})


def test_old_published_rows_are_dated() -> None:
    assert [name for name in published()["models"] if name.startswith("ko-sroberta")] == [
        "ko-sroberta-multitask (mteb 1.19, 2024)"
    ]


def test_the_benchmarks_name_stands_over_all_twenty_alone() -> None:
    names = [one.metadata.name for one in mteb.get_benchmark("MTEB(kor, v2)").tasks]
    assert len(names) == 20 and {*SCORED} == {*names, "HunminKlueMrcRetrieval"}
    assert heading(SCORED) == "MTEB(kor, v2)"
    assert heading(names[1:]) == heading([*names[1:], "HunminKlueMrcRetrieval"]) == "19 of 20 tasks of MTEB(kor, v2)"
    assert get_task("HunminKlueMrcRetrieval").metadata.name not in names


@pytest.mark.slow
@pytest.mark.parametrize("name", ["KLUE-STS", "KorSTS", "KLUE-NLI", "KorNLI", "PawsXPairClassification",
                                  "SQuADKorV1Retrieval"])  # fmt: skip
def test_rows_and_characters_are_those_of_mtebs_statistics(name: str, shared: list[str]) -> None:
    task = local_task(name, shared)
    assert task.metadata.descriptive_stats and differences(task) == []


@pytest.mark.slow
def test_a_smaller_train_part_is_told(shared: list[str]) -> None:
    """YNAT's public train part is smaller, so other examples are drawn; the scored rows are as many."""
    assert "train: 36,547 rows, mteb has 45,678" in differences(local_task("KLUE-TC", shared))


def test_differences_are_told(sets: Path) -> None:
    assert differences(local_task("KLUE-STS", [sets]))[0] == "validation: 12 rows, mteb has 519"
    assert differences(local_task("HunminKlueMrcRetrieval", [sets])) == []


CUT = Message("{name}, {width} entries", name="mini", width=64)
DIFFERS = [
    Message("{where}: {here} rows, mteb has {there}", where="validation", here=12, there=519),
    Message(
        "{where}: {here} characters, mteb has {there}", here=1234, there=5,
        where="ko test",
    ),
]  # fmt: skip
ROWS = [
    "mini", CUT, Message("{name}, {backend}", name=CUT, backend="int8"), Message("{name}, untuned", name="mini"),
    Message("{name}, random weights", name="mini"),
]  # fmt: skip
HEADING = Message("{count} of {all} tasks of {name}", count=1, all=20, name="MTEB(kor, v2)")
TABLE = {
    "heading": str(HEADING),
    "messages": {text: as_tree(text) for text in (HEADING, *DIFFERS, *ROWS[1:])},
    "tasks": {
        "KLUE-STS": {"differs": ["validation: 12 rows, mteb has 519", "ko test: 1,234 characters, mteb has 5"]}
    },
    "absent": {"KorSTS": "no test file of KorSTS in /home/someone/data"},
    "rows": [
        {"model": str(name), "scores": {"KLUE-STS": 50.0}, "trained_on": ["KLUE-STS"] if name == "mini" else []}
        for name in ROWS
    ] + [{"model": NGRAMS, "scores": {"KLUE-STS": 39.99}, "trained_on": []}],
}  # fmt: skip


def test_a_korean_card_has_a_korean_table() -> None:
    text = as_markdown(TABLE, "ko")
    for said in (
        "MTEB(kor, v2)의 과제 20개 중 1개, 단위 %", "| 모델 | KLUE-STS |", "| mini | 50.00* |", "| mini, 64차원 |",
        "| mini, 64차원, int8 |", "| mini, 미세조정 전 |", "| mini, 무작위 가중치 |", "| 문자 n-그램 | 39.99 |",
        "KLUE-STS: validation 12행(mteb는 519행); ko test 1,234자(mteb는 5자)", "채점하지 않은 과제: KorSTS.",
    ):  # fmt: skip
        assert said in text, said
    beside = as_markdown({**TABLE, "tasks": {"KLUE-STS": {"differs": []}}}, "ko")  # published rows, too
    assert "문자 n-그램 아래의 모델: embeddings-benchmark/results, 2026년 8월 20일 기준" in beside
    english = re.compile(r"\b(of|the|percent|model|models|scored|trained|has|as|or|entries|weights|older)\b")
    assert not english.search(text + beside) and english.search(as_markdown(TABLE, "en"))


def test_a_card_names_no_folder_of_this_machine() -> None:
    for language in ("en", "ko"):
        assert "/home/someone" not in as_markdown(TABLE, language)
    assert "KorSTS: not scored, no test file of KorSTS in /home/someone/data" in as_markdown(TABLE)
