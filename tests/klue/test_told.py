"""What is cut for want of room, and records that contradict themselves, are counted and told."""

import json

import pytest

from hunmin.estimates.seconds import klue_seconds
from hunmin.main import run_command
from hunmin.recipes.recipe import Recipe
from klue.examples import find_file, load_splits, read_examples
from klue.features import load_tokenizer, make_features
from klue.job import run_job
from klue.model_folder import read_model_folder
from klue.predict import read_texts
from klue.synthetic import is_synthetic
from tests.klue.heads.test_heads import make_job
from tests.klue.names import KLUE_TASKS as TASKS


@pytest.mark.parametrize("name", TASKS)
def test_inputs_that_are_cut_are_counted(name, sample_benchmark, sample_roberta):
    task = TASKS[name]
    examples = read_examples(task, find_file(task, sample_benchmark, "dev"))[:30]
    facts = read_model_folder(sample_roberta)
    lengths = make_features(task, examples, load_tokenizer(sample_roberta), facts, 4096).lengths
    room = int(sorted(lengths)[len(lengths) // 2])
    found = make_features(task, examples, load_tokenizer(sample_roberta), facts, room)
    assert make_features(task, examples, load_tokenizer(sample_roberta), facts, 4096).cut == 0
    # the passage of a question is read in windows, and a question is cut only where it takes half of one
    assert found.cut == (0 if name == "klue-mrc" else (lengths > room).sum()) and found.lengths.max() <= room


def test_a_long_question_is_cut(sample_benchmark, sample_roberta):
    task, facts = TASKS["klue-mrc"], read_model_folder(sample_roberta)
    examples = task.unlabelled({"question": "시장은 " * 100, "context": "시장이다."}, "a")
    assert make_features(task, examples, load_tokenizer(sample_roberta), facts, 200).cut == 1


def test_fine_tuning_prediction_and_ceilings_say_so(benchmark, tiny_roberta, tmp_path, capsys):
    job, _, _ = make_job("klue-nli", benchmark, tiny_roberta, tmp_path, train=8, dev=8, max_seq_len=10)
    told = "8 of 8 train, 8 of 8 dev inputs cut at 10 tokens"
    assert f"KLUE-NLI: {told}" in capsys.readouterr().err and job.data_note.endswith(told)
    row = run_job(job.model_copy(update={"save_model": True}))
    assert row["data_note"].endswith(told)
    given = tmp_path / "given.jsonl"
    given.write_text(json.dumps({"premise": "서울에 책 있다." * 9, "hypothesis": "책 있다."}) + "\n", "utf-8")
    model = f"{job.folder}/model"
    assert (
        run_command(["klue", "predict", model, "nli", "--in", str(given), "--out", str(tmp_path / "o"), "--json"]) == 0
    )
    out, err = capsys.readouterr()
    assert json.loads(out)["cut"] == 1 and "1 of 1 inputs cut at 10 tokens" in err


def entity(word, start, end):
    return {"word": word, "start_idx": start, "end_idx": end}


ROWS = [
    ("klue-re", {"sentence": "이순신은 장군이다.", "label": "per:title", "subject_entity": entity("이순신", 0, 2),
                 "object_entity": entity("장군", 5, 6)}, ""),
    ("klue-re", {"sentence": "이순신은 장군이다.", "label": "per:title", "subject_entity": entity("이순신", 0, 3),
                 "object_entity": entity("장군", 5, 6)}, "subject_entity is '이순신', at 0 to 3 stands '이순신은'"),
    ("klue-sts", {"sentence1": "가", "sentence2": "나", "labels": {"real-label": 3.2, "label": 3.2, "binary-label": 1}},
     ""),
    ("klue-sts", {"sentence1": "가", "sentence2": "나", "labels": {"real-label": 3.2, "binary-label": 0}},
     "real-label is 3.2, binary-label 0"),
    ("wos", {"dialogue": [{"role": "user", "text": "네", "state": ["식당-지역-서울", "식당-지역-서울"]}]}, ""),
    ("wos", {"dialogue": [{"role": "user", "text": "네", "state": ["식당-지역-서울", "식당-지역-부산"]}]},
     "식당-지역 is both '서울' and '부산'"),
]  # fmt: skip
TABLES = [
    ("klue-ner", "## a\t<이순신:PS>은\n이\tB-PS\n순\tI-PS\n신\tI-PS\n은\tO\n", ""),
    ("klue-ner", "## a\t<이순신:PS>은\n이\tB-PS\n순\tI-PS\n싱\tI-PS\n은\tO\n",
     "the head line says '이순신은', the rows '이순싱은'"),
    ("klue-ner", "## a\t이순신은\n이\tO\n순\tI-PS\n신\tI-PS\n은\tO\n", "I-PS stands behind O"),
    ("klue-dp", "## a\t0.9% 준다\n1\t0.9%\tx\tSN\t2\tNP_AJT\n2\t준다\tx\tVV\t0\tVP\n", ""),
    ("klue-dp", "## a\t0.9% 준다\n1\t0.90%\tx\tSN\t2\tNP_AJT\n2\t준다\tx\tVV\t0\tVP\n",
     "the head line says '0.9% 준다', the rows '0.90% 준다'"),
    ("klue-dp", "## a\t가 나 다\n1\t가\tx\tNNG\t2\tNP\n2\t나\tx\tNNG\t1\tNP\n3\t다\tx\tNNG\t0\tNP\n",
     "the arcs of word 1 go in a circle"),
    ("klue-dp", "## a\t가 나\n1\t가\tx\tNNG\t0\tNP\n2\t나\tx\tNNG\t0\tNP\n", "2 words hang on the root"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "wanted"), ROWS + TABLES)
def test_records_that_contradict_themselves_are_told(name, content, wanted, tmp_path, capsys):
    text = content if isinstance(content, str) else json.dumps([{**content, "guid": "a"}], ensure_ascii=False)
    path = tmp_path / f"some.{TASKS[name].suffix}"
    path.write_text(text, "utf-8")
    assert len(read_examples(TASKS[name], path)) == 1
    err = " ".join(capsys.readouterr().err.split())
    assert (f"1 of 1 records contradict themselves; a{'-0' if name == 'wos' else ''}: {wanted}" in err) is bool(wanted)


def test_texts_without_labels_are_looked_at_too(tmp_path, capsys):
    path = tmp_path / "given.jsonl"
    record = {k: v for k, v in ROWS[1][1].items() if k != "label"}
    path.write_text(json.dumps(record, ensure_ascii=False) + "\n", "utf-8")
    read_texts(TASKS["klue-re"], path)
    assert "1 of 1 records contradict themselves" in capsys.readouterr().err


@pytest.mark.slow
def test_the_real_files_are_read_with_few_contradictions(shared_klue, capsys):
    for name, most in (("klue-re", 0), ("klue-sts", 0), ("klue-ner", 0), ("klue-dp", 10), ("wos", 0)):
        for split in ("train", "dev"):
            if path := find_file(TASKS[name], shared_klue, split):
                assert not any(is_synthetic(e.guid) for e in read_examples(TASKS[name], path))
                err = capsys.readouterr().err
                assert not err or int(err.split(": ")[1].split()[0]) <= most, err


def test_a_file_that_is_read_twice_is_told_of_once(tmp_path, capsys):
    name, content, _ = ROWS[1]
    path = tmp_path / f"some.{TASKS[name].suffix}"
    path.write_text(json.dumps([{**content, "guid": "a"}], ensure_ascii=False), "utf-8")
    for _ in range(2):
        read_examples(TASKS[name], path)
    assert capsys.readouterr().err.count("contradict themselves") == 1


def test_an_estimate_does_not_tell_of_records_that_contradict_themselves(tmp_path, capsys):
    """`hunmin init`, `plan` and a dry run read the files too; the stage tells."""
    name, content, _ = ROWS[1]
    for split in ("train", "dev"):
        path = tmp_path / str(TASKS[name].file(split))
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps([{**content, "guid": split, "sentence": f"{content['sentence']} {split}"}]), "utf-8")
    tree = {"name": "t", "out": "o", "corpus": {"inputs": ["x"]}, "klue": {"data": str(tmp_path), "tasks": [name]}}
    assert klue_seconds(Recipe.model_validate(tree), 1e12)
    assert capsys.readouterr().err == ""
    load_splits(TASKS[name], tmp_path)
    assert capsys.readouterr().err.count("contradict themselves") == 2
