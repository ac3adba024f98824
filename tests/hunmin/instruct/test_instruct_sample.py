"""The instruction sample: the same bytes, the layouts of spec section 2, labels that are balanced, planted rows."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path

import pytest

from common.manifest import describe_outputs
from hunmin.sample.folder import make_sample
from hunmin.sample.instruct import sample_files

FILES = sample_files(42)
# file → (separator, columns that every row has), by hand from the table of spec section 2
TABLES = {
    "unsmile/unsmile_train_v1.0.tsv": ("\t", ["문장", "여성/가족", "남성", "성소수자", "인종/국적", "연령", "지역",
                                              "종교", "기타 혐오", "악플/욕설", "clean", "개인지칭"]),
    "boolq/BoolQ/train.tsv": ("\t", ["ID", "Text", "Question", "Answer"]),
    "copa/COPA/train.tsv": ("\t", ["ID", "sentence", "question", "1", "2", "Answer"]),
    "kornli/multinli.train.ko.tsv": ("\t", ["sentence1", "sentence2", "gold_label"]),
    "kornli/snli_1.0_train.ko.tsv": ("\t", ["sentence1", "sentence2", "gold_label"]),
    "hellaswag/HellaSwag/train.tsv": ("\t", ["context", "choice1", "choice2", "choice3", "choice4", "label"]),
    "korsts/sts-train.tsv": ("\t", ["genre", "filename", "year", "id", "score", "sentence1", "sentence2"]),
    "pawsx/translated_train.tsv": ("\t", ["id", "sentence1", "sentence2", "label"]),
    "wic/WiC/train.tsv": ("\t", ["ID", "Target", "SENTENCE1", "SENTENCE2", "ANSWER"]),
    "stylekqc/sts/train.tsv": ("\t", ["similarity", "sentence1", "sentence2"]),
    "question-pair/train.txt": ("\t", ["", "question1", "question2", "is_duplicate"]),
    "nsmc/ratings_train.txt": ("\t", ["id", "document", "label"]),
}  # fmt: skip


def rows(name: str) -> list[list[str]]:
    return [line.split("\t") for line in FILES[f"instruct/{name}"].removesuffix("\n").split("\n")]


@pytest.mark.parametrize("name", TABLES)
def test_tables_have_their_authors_columns(name: str) -> None:
    head, *body = rows(name)
    assert head == TABLES[name][1]
    assert all(len(row) == len(head) for row in body) and len(body) >= 50


def test_the_other_layouts() -> None:
    apeach = list(csv.DictReader(io.StringIO(FILES["instruct/apeach/APEACH/test.csv"])))
    assert Counter(row["class"] for row in apeach) == {"Spoiled": 400, "Default": 400}
    assert any("\n" in row["text"] for row in apeach), "quoted fields with line ends"
    hate = Counter(row["macrolabel"] for row in csv.DictReader(io.StringIO(FILES["instruct/hatescore/HateScore.csv"])))
    assert set(hate) == {"Clean", "혐오발언", "단순 악플"}
    groups = [row[:2] for row in rows("parakqc/data/paraKQC_v1.txt")]
    assert len(groups) % 10 == 0 and all(
        len({*map(tuple, groups[at : at + 10])}) == 1 for at in range(0, len(groups), 10)
    )
    for name in ("sae4k/data/sae4k_v1.txt", "math/public_mwp_data.json"):
        assert FILES[f"instruct/{name}"].startswith("\ufeff"), name
    assert {row[2] for row in rows("sae4k/data/sae4k_v1.txt")} == set("012345")
    math = json.loads(FILES["instruct/math/public_mwp_data.json"].removeprefix("\ufeff"))
    assert set(math["1"]) == {"class", "question", "answer", "equation"}
    assert all(eval(one["equation"], {"__builtins__": {}}) == int(one["answer"]) for one in math.values())
    petition = json.loads(FILES["instruct/petitions/petitions_2017-08"].splitlines()[0])
    assert [*petition] == ["category", "begin", "end", "content", "num_agree", "petition_idx", "status", "title"]
    assert set(json.loads(FILES["instruct/lbox/train.jsonl"].splitlines()[0])) == {"id", "precedent", "summary"}
    assert FILES["instruct/kowikitext/kowikitext_train.txt"].startswith("\n = ")


def test_traps_of_the_layouts() -> None:
    answers = Counter(row[3] for row in rows("boolq/BoolQ/train.tsv")[1:])
    assert set(answers) == {"TRUE", "True", "FALSE", "False"}
    assert any("NS" in row for row in rows("pawsx/translated_train.tsv")), "a missing sentence"
    assert ["800", "", "1"] in rows("nsmc/ratings_train.txt"), "an empty document"
    for name, target in (("wic/WiC/train.tsv", 1),):
        assert all(f"[{row[target]}]" in row[2] and f"[{row[target]}]" in row[3] for row in rows(name)[1:])
    for first, second, label in (row[1:] for row in rows("question-pair/train.txt")[1:]):
        asked = [next(one for one in ("언제", "값이", "어디", "누가") if one in text) for text in (first, second)]
        assert (asked[0] == asked[1]) == (label == "0"), "0 = the same"


def test_copa_repeats_test_rows_of_the_suite() -> None:
    test = [json.loads(line) for line in FILES["kit19/kobest_copa.jsonl"].splitlines()]
    texts = {tuple(str(value) for value in [*row.values()][:4]): row["label"] for row in test}
    repeated = [row for row in rows("copa/COPA/train.tsv") if tuple(row[1:5]) in texts]
    assert len(repeated) == 3 and all(int(row[5]) == texts[tuple(row[1:5])] + 1 for row in repeated)


def test_every_task_of_both_suites_has_rows() -> None:
    from leaderboard.suites import SUITES, load_rows  # noqa: F401

    for suite in ("kit19", "leaderboard2"):
        assert {f"{suite}/{task}.jsonl" for task in SUITES[suite]} <= set(FILES)
    shares = [json.loads(line)["shares"] for line in FILES["leaderboard2/kornat_social.jsonl"].splitlines()]
    assert all(abs(sum(one) - 1) < 1e-9 and len(one) == 5 for one in shares)


def test_the_same_bytes_again_and_others_of_another_seed() -> None:
    assert sample_files(42) == FILES
    assert sample_files(43) != FILES


def test_the_folder(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    state = torch.get_rng_state()
    make_sample(tmp_path / "a", 42, instruct=True)
    make_sample(tmp_path / "b", 42, instruct=True)
    assert torch.equal(state, torch.get_rng_state())
    assert describe_outputs(tmp_path / "a") == describe_outputs(tmp_path / "b")
    base = tmp_path / "a" / "base"
    tokenizer = AutoTokenizer.from_pretrained(base, trust_remote_code=False)
    assert tokenizer.eos_token == tokenizer.pad_token == "<|endoftext|>" and tokenizer.bos_token is None
    text = "처음 보는 글 %$ ㅋㅋ"
    assert tokenizer.decode(tokenizer.encode(text)) == text, "byte-level"
    model = AutoModelForCausalLM.from_pretrained(base, trust_remote_code=False)
    assert model.config.model_type == "gpt_neox" and not list(base.glob("*.bin"))
    assert model.config.vocab_size == len(tokenizer)


def test_the_other_sample_keeps_its_manifests_settings(tmp_path: Path) -> None:
    from common.manifest import Manifest, write_manifest
    from hunmin.sample import folder

    done = Manifest(
        stage="sample", settings={"seed": 42}, inputs={}, outputs={}, counts={"documents": 1},
        versions=folder.package_versions("hunmin"),
    )  # fmt: skip
    write_manifest(tmp_path, done)
    assert make_sample(tmp_path, 42) == {"documents": 1}
