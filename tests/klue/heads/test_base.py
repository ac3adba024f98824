"""Families of encoders that a task is not served with end with one message that names family and task."""

import json
import shutil

import pytest
import torch
from transformers import AutoConfig, AutoModel

from common.errors import UserError
from klue.finetune import finetune
from klue.heads import build_head
from klue.heads.base import served
from klue.model_folder import read_model_folder
from klue.runner import plan_stage
from klue.settings import KlueSettings
from tests.klue.heads.test_heads import make_job
from tests.klue.names import KLUE_TASKS as TASKS

SHAPE = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32,
         "max_position_embeddings": 66, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}  # fmt: skip
MORE = {"longformer": {"attention_window": 16}}


@pytest.fixture(scope="module")
def family(sample_bert, tmp_path_factory):
    """A function that writes a small random model of a family, with the tokenizer of `sample_bert`."""

    def write(name):
        folder = tmp_path_factory.mktemp(name)
        for file in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(sample_bert / file, folder / file)
        entries = read_model_folder(sample_bert).vocab_size
        config = AutoConfig.for_model(name, **{**SHAPE, **MORE.get(name, {}), "vocab_size": entries})
        torch.manual_seed(1)
        AutoModel.from_config(config).save_pretrained(folder)
        return folder

    return write


def message(name, task):
    return f"models of the family {name} are not served for {TASKS[task].title}: "


@pytest.mark.parametrize(("name", "task"), [("esm", "klue-mrc"), ("layoutlm", "klue-mrc"), ("bros", "klue-nli")])
def test_without_a_class_of_the_librarys_nothing_begins(name, task, family, sample_benchmark, tmp_path):
    settings = KlueSettings(data=str(sample_benchmark), tasks=[task], training={"max_seq_len": 64})
    with pytest.raises(UserError, match=message(name, task) + "the library has no class for it"):
        plan_stage(settings, family(name), tmp_path / "klue")


@pytest.mark.parametrize(
    ("name", "task"),
    [("lilt", "klue-nli"), ("longformer", "klue-mrc"), ("canine", "wos"), ("ibert", "klue-re"), ("ibert", "wos"),
     ("bros", "klue-dp")],
)  # fmt: skip
def test_what_the_library_raises_becomes_one_message(name, task, family, sample_benchmark, tmp_path):
    job, _, _ = make_job(task, sample_benchmark, family(name), tmp_path, train=4, dev=2)
    with pytest.raises(UserError, match=message(name, task)):
        finetune(job)


def test_faults_elsewhere_pass_through(sample_benchmark, sample_bert, tmp_path):
    job, _, _ = make_job("ynat", sample_benchmark, sample_bert, tmp_path, train=4, dev=2)
    with pytest.raises(KeyError), served(job):
        raise KeyError("a fault of ours")
    with pytest.raises(torch.OutOfMemoryError), served(job):
        raise torch.OutOfMemoryError("full")
    with served(job):
        build_head(job, TASKS["ynat"], {})


def test_a_configuration_that_states_too_little_names_the_family(family, tmp_path):
    folder = family("canine")
    config = json.loads((folder / "config.json").read_text())
    del config["vocab_size"]
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(
        UserError, match="of the family canine, which is not served: its configuration has no vocab_size"
    ):
        read_model_folder(folder)
