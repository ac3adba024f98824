"""The hub's layout of the benchmark gives the very examples of the official one."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from common.errors import UserError
from data.benchmark import load_benchmark
from klue.examples import find_file, load_splits, read_examples
from klue.metrics.entities import LABELS as ENTITY_LABELS
from klue.score_file import score
from klue.tasks.files import HUB_SPLITS
from klue.tasks.klue.relation import RelationExtraction
from tests.klue.faultless import ceilings
from tests.klue.names import KLUE_TASKS as TASKS


def features_of(name):
    """Return the features of the hub's dataset, as its card lists them."""
    from datasets import ClassLabel, Features, Sequence, Value

    text, number = Value("string"), Value("int32")
    entity = {"word": text, "start_idx": number, "end_idx": number, "type": text}
    labels = {"label": Value("float64"), "real-label": Value("float64")}
    labels["binary-label"] = ClassLabel(names=["negative", "positive"])
    words = {key: [text] for key in ("word_form", "lemma", "pos", "deprel")} | {"index": [number], "head": [number]}
    return Features(
        {
            "ynat": {"guid": text, "title": text, "label": ClassLabel(names=list(TASKS["ynat"].labels))},
            "klue-sts": {"guid": text, "sentence1": text, "sentence2": text, "labels": labels},
            "klue-nli": {
                "guid": text,
                "premise": text,
                "hypothesis": text,
                "label": ClassLabel(names=list(TASKS["klue-nli"].labels)),
            },
            "klue-ner": {
                "sentence": text,
                "tokens": Sequence(text),
                "ner_tags": Sequence(ClassLabel(names=sorted(ENTITY_LABELS))),
            },
            "klue-re": {
                "guid": text,
                "sentence": text,
                "subject_entity": entity,
                "object_entity": entity,
                "label": ClassLabel(names=list(RelationExtraction.labels)),
            },
            "klue-dp": {"sentence": text, **words},
            "klue-mrc": {
                **dict.fromkeys(("title", "context", "guid", "question"), text),
                "is_impossible": Value("bool"),
                "answers": Sequence({"answer_start": number, "text": text}),
            },
            "wos": {"guid": text, "dialogue": [{"role": text, "text": text, "state": [text]}]},
        }[name]
    )


def as_on_the_hub(name, record):
    """Return a record of an official file as the hub's dataset has it."""
    record = dict(record)
    if name in ("klue-ner", "klue-dp"):
        for key in {"index", "head"} & record.keys():
            record[key] = [int(number) for number in record[key]]
        return {"sentence": record["head_line"], **record}
    if name == "klue-nli":
        record["label"] = record.pop("gold_label")
    if name == "klue-mrc":
        # the hub's copy has plausible answers in their place
        answers = record["answers"] or record.get("plausible_answers", [])
        record["answers"] = {key: [answer[key] for answer in answers] for key in ("answer_start", "text")}
    return record


def write_hub(official, out):
    """Write the tasks of an official folder as the hub's Parquet files."""
    from datasets import Dataset
    from datasets.utils.logging import disable_progress_bar

    disable_progress_bar()
    for name, task in TASKS.items():
        features = features_of(name)
        for split, called in HUB_SPLITS.items():
            path = find_file(task, official, split)
            if path is None:
                continue
            with path.open("rb") as stream:
                records = [as_on_the_hub(name, record) for record in task.records(stream)]
            rows = [{key: record.get(key) for key in features} for record in records]
            if name == "wos":
                for row in rows:
                    row["dialogue"] = [{k: turn.get(k) for k in ("role", "text", "state")} for turn in row["dialogue"]]
            folder = out / task.hub_config
            folder.mkdir(parents=True, exist_ok=True)
            Dataset.from_list(rows, features=features).to_parquet(folder / f"{called}-00000-of-00001.parquet")
    return out


@pytest.fixture(scope="module")
def hub(sample_benchmark, tmp_path_factory) -> Path:
    return write_hub(sample_benchmark, tmp_path_factory.mktemp("hub"))


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_examples_are_those_of_the_official_files(task, hub, sample_benchmark):
    official, found = (load_splits(task, folder) for folder in (sample_benchmark, hub))
    assert found.counts == official.counts
    # the sample's mark is in the guids, which the hub's NER and DP have not
    assert (found.note == official.note) == (task.name not in ("klue-ner", "klue-dp"))
    assert find_file(task, hub, "dev").suffix == ".parquet" and found.data_hash != official.data_hash
    for mine, other in ((found.train, official.train), (found.dev, official.dev)):
        assert [(e.texts, e.label) for e in mine] == [(e.texts, e.label) for e in other]
        assert [e.given for e in mine] == [e.given for e in other]
        if task.name in ("klue-ner", "klue-dp"):
            split = "train" if mine is found.train else "validation"
            assert mine[0].guid == f"{task.hub_config}-{split}-0"
        else:
            assert [e.guid for e in mine] == [e.guid for e in other]


def test_ceilings_scores_and_benchmark_sentences(hub, sample_benchmark, sample_roberta, tmp_path):
    gold, predictions = hub / "ner" / "validation-00000-of-00001.parquet", tmp_path / "predictions.jsonl"
    rows = [{"guid": e.guid, "prediction": e.label} for e in read_examples(TASKS["klue-ner"], gold)]
    predictions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert score("klue-ner", gold, predictions)["entity_macro_f1"] == 100
    names = ["klue-ner", "klue-mrc"]
    assert ceilings(sample_roberta, hub, names) == ceilings(sample_roberta, sample_benchmark, names)
    sentences = [{(s.task, s.text) for s in load_benchmark(folder)} for folder in (hub, sample_benchmark)]
    assert sentences[0] == sentences[1]


def write(folder, columns, metadata=None):
    table = pa.table(columns)
    path = folder / "ynat" / "validation-00000-of-00001.parquet"
    path.parent.mkdir(exist_ok=True)
    pq.write_table(table.replace_schema_metadata({"huggingface": json.dumps(metadata)} if metadata else None), path)
    return path


def named(names):
    return {"info": {"features": {"label": {"names": names, "_type": "ClassLabel"}}}}


@pytest.mark.parametrize(
    ("label", "metadata", "message"),
    [
        (0, None, "column 'label' holds numbers and the file does not say what they stand for"),
        (0, {"info": {}}, "does not say what they stand for"),
        (-1, named(["경제"]), "'label' holds -1, which stands for none of the 1 names"),
        (None, named(["경제"]), "record 0: field 'label' is missing"),
        (0, named(["날씨"]), "'날씨' is not a label of ynat"),
    ],
)
def test_labels_without_names(tmp_path, label, metadata, message):
    columns = {"title": ["제목"], "label": pa.array([label], pa.int64())}
    with pytest.raises(UserError, match=message):
        read_examples(TASKS["ynat"], write(tmp_path, columns, metadata))


def test_labels_that_are_names_already(tmp_path):
    (example,) = read_examples(TASKS["ynat"], write(tmp_path, {"title": ["제목"], "label": ["경제"]}))
    assert (example.guid, example.label) == ("ynat-validation-0", "경제")
    path = write(tmp_path, {"title": ["제목"], "label": ["경제"], "guid": pa.array([None], pa.string())})
    assert read_examples(TASKS["ynat"], path) == [example]


def test_damaged_and_wrong_files(tmp_path):
    path = write(tmp_path, {"text": ["제목"]})
    with pytest.raises(UserError, match="field 'title' is missing"):
        read_examples(TASKS["ynat"], path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match="is not a file of ynat: it is no whole Parquet file"):
        read_examples(TASKS["ynat"], path)


def test_the_official_file_goes_first_and_shards_are_refused(tmp_path):
    path = write(tmp_path, {"title": ["제목"], "label": ["경제"]})
    assert find_file(TASKS["ynat"], tmp_path, "dev") == path
    path.with_name("validation-00001-of-00002.parquet").write_bytes(path.read_bytes())
    with pytest.raises(UserError, match="holds 2 files for ynat dev"):
        find_file(TASKS["ynat"], tmp_path, "dev")
    official = tmp_path / "ynat-v1.1" / "ynat-v1.1_dev.json"
    official.parent.mkdir()
    official.write_text("[]")
    assert find_file(TASKS["ynat"], tmp_path, "dev") == official
