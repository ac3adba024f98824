"""A folder of KF-DeBERTa's form, random weights, from `hunmin run`: continued, exported, fine-tuned and scored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from transformers import AutoModelForMaskedLM, AutoTokenizer, BertTokenizer, DebertaV2Config, DebertaV2ForMaskedLM

from hunmin.main import run_command
from pretrain.callbacks.checkpoint_metadata import checkpoints_by_size
from pretrain.callbacks.metrics import read_metrics
from pretrain.export.checkpoint import load_checkpoint
from pretrain.models.encoder import MaskedRowsModel
from tests.runs import copy_stages

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TEXTS = ["오늘 서울에서 회의가 열렸다.", "내일은 비가 온다고 한다.", "가 나 다"]
SHAPE = {"type": "deberta-v2", "layers": 2, "hidden": 32, "heads": 2, "feed_forward": 64, "initializer_range": 0.1}


def publish(folder: Path, vocabulary: Path) -> Path:
    """Write what the hub has of KF-DeBERTa: a configuration in its words, weights, a BERT tokenizer, [PAD] first."""
    entries = [*SPECIAL, *(set(vocabulary.read_text("utf-8").split("\n")) - {*SPECIAL, ""})]
    entries[5:] = sorted(entries[5:])
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(entries) + "\n", "utf-8")
    BertTokenizer(str(folder / "vocab.txt"), do_lower_case=False).save_pretrained(folder)
    config = DebertaV2Config(
        vocab_size=len(entries), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=512, relative_attention=True, position_buckets=256, norm_rel_ebd="layer_norm",
        share_att_key=True, pos_att_type="p2c|c2p", position_biased_input=False, max_relative_positions=-1,
        type_vocab_size=0, layer_norm_eps=1e-7, pad_token_id=0, initializer_range=0.1,
    )  # fmt: skip
    torch.manual_seed(4)
    DebertaV2ForMaskedLM(config).save_pretrained(folder)
    written = json.loads((folder / "config.json").read_text())
    written |= {"pos_att_type": "p2c|c2p"}
    written.pop("legacy")
    (folder / "config.json").write_text(json.dumps(written))
    return folder


def side_by_side(hf_model: DebertaV2ForMaskedLM, texts: list[Tensor]) -> list[Tensor]:
    """The logits of texts as training computes them, packed into one sample."""
    run, number = MaskedRowsModel(hf_model), torch.arange(len(texts))
    segments = number.repeat_interleave(torch.tensor([len(text) for text in texts]))
    hidden = run.encode(torch.cat(texts)[None], segment_ids_BS=segments[None]).last_hidden_state[0]
    decoder = hf_model.get_output_embeddings()
    logits = functional.linear(run.architecture.features(hf_model, hidden), decoder.weight, decoder.bias)
    return [logits[segments == text] for text in number]


@pytest.mark.slow
def test_it_is_continued_exported_and_scored(mini_run: Path, tmp_path: Path) -> None:
    base, out = publish(tmp_path / "base", mini_run / "run" / "tokenizer" / "vocab.txt"), tmp_path / "run"
    copy_stages(mini_run / "run", out, "corpus")
    size = len((base / "vocab.txt").read_text("utf-8").split("\n")) - 1
    changes = {
        "out": str(out), "tokenizer.base": str(base), "tokenizer.vocab_size": size, "pretrain.init_from": str(base),
        "pretrain.model": SHAPE, "pretrain.packing": "packed", "klue.tasks": ["ynat"],
        "klue.baseline_random": False, "klue.workers": 0,
    }  # fmt: skip
    overrides = [f"{key}={json.dumps(value)}" for key, value in changes.items()]
    assert run_command(["run", str(mini_run / "recipe.yaml"), *overrides]) == 0
    rows = [row["loss"] for row in read_metrics(out / "pretrain" / "logs" / "metrics.jsonl") if "loss" in row]
    assert rows[-1] < rows[0]

    ours = load_checkpoint(checkpoints_by_size(out / "pretrain" / "checkpoints")[-1][1])
    theirs = AutoModelForMaskedLM.from_pretrained(out / "export").eval()
    tokenizer, before = (AutoTokenizer.from_pretrained(folder) for folder in (out / "export", base))
    ids = [before(text)["input_ids"] for text in TEXTS]
    assert [tokenizer(text)["input_ids"] for text in TEXTS] == ids and before.unk_token_id not in ids[0]
    assert ids[0][0] == before.cls_token_id == 2 and len(tokenizer) == size
    texts = [torch.tensor(text_ids) for text_ids in ids]
    with torch.no_grad():
        alone = [theirs(input_ids=text[None]).logits[0] for text in texts]
        for order in ([0, 1, 2], [1, 0], [2, 0, 1]):
            for place, logits in zip(order, side_by_side(ours, [texts[n] for n in order]), strict=True):
                torch.testing.assert_close(logits, alone[place], atol=1e-4, rtol=1e-4)
        first = AutoModelForMaskedLM.from_pretrained(base).eval()
        assert (first(input_ids=texts[0][None]).logits[0] - alone[0]).abs().max() > 0.01  # it has learnt something

    names = ("position_buckets", "norm_rel_ebd", "share_att_key", "pos_att_type", "position_biased_input")
    configs = [json.loads((folder / "config.json").read_bytes()) for folder in (base, out / "export")]
    assert configs[1]["pos_att_type"] == ["p2c", "c2p"] and configs[1]["architectures"] == ["DebertaV2ForMaskedLM"]
    assert all(configs[0][name] == configs[1][name] for name in names if name != "pos_att_type")
    (score,) = json.loads((out / "report" / "report.json").read_bytes())["klue"]
    assert (score["task"], score["init"]) == ("ynat", "pretrained") and score["best"]["macro_f1"] > 0
