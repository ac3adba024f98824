"""DeBERTa-v2: continued from folders of either head, longer and with more words; resumed; reckoned; compiled."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor
from transformers import DebertaV2ForMaskedLM

from pretrain.batches.inputs import RECTANGLES, prepare
from pretrain.callbacks.checkpoint_metadata import checkpoints_by_size
from pretrain.export import export_checkpoint
from pretrain.kernels.compile import compile_layers, compile_whole
from pretrain.models.continuation import check_model, load_model
from pretrain.models.encoder import MaskedRowsModel, build_config, build_model
from pretrain.models.registry import ARCHITECTURES
from pretrain.settings import ModelSettings, PretrainSettings
from tests.pretrain.models.kept import saved_for_backward
from tests.pretrain.small_batches import LENGTH, batch_of
from tests.pretrain.small_tokens import SPECIAL, objective_of
from tokenizer.save import build_tokenizer, save_tokenizer

sys.path.insert(0, str(Path(__file__).parents[1]))
from training_runs import assert_same_run, signal_at, train

CPU = torch.device("cpu")
DEBERTA = ARCHITECTURES["deberta-v2"]
SHAPE: dict[str, Any] = {
    "type": "deberta-v2", "layers": 2, "hidden": 32, "heads": 2, "dropout": 0.0, "initializer_range": 0.3,
}  # fmt: skip
LETTERS = [chr(code) for code in range(ord("가"), ord("가") + 20)]
VOCABULARY = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]", *LETTERS, *(f"##{letter}" for letter in LETTERS)]


def make(model: dict[str, Any] | None = None, **changes: Any) -> tuple[MaskedRowsModel, PretrainSettings]:
    settings = PretrainSettings.model_validate({"model": {**SHAPE, **(model or {})}, "max_seq_len": LENGTH, **changes})
    return MaskedRowsModel(build_model(settings, build_config(settings, 50, SPECIAL))), settings


def publish(
    folder: Path, legacy: bool = True, stated: bool = True, entries: list[str] = VOCABULARY, **changes: Any
) -> Path:
    """Write a model as people publish it: with the head of transformers, or under the names of the authors' code."""
    run = PretrainSettings.model_validate({"model": SHAPE, "max_seq_len": LENGTH})
    config = build_config(run, len(entries), SPECIAL)
    for name, value in {"legacy": legacy, **changes}.items():
        setattr(config, name, value)
    torch.manual_seed(5)
    model = DebertaV2ForMaskedLM(config)
    bias = model.cls.predictions.bias if legacy else model.lm_predictions.lm_head.bias
    bias.data.copy_(torch.randn(len(entries)))
    model.save_pretrained(folder)
    if not stated:
        written = json.loads((folder / "config.json").read_text())
        written.pop("legacy")
        (folder / "config.json").write_text(json.dumps(written))
    save_tokenizer(build_tokenizer(entries, "roberta"), "roberta", LENGTH, folder)
    return folder


def go_on(source: Path, entries: list[str] = VOCABULARY, tell: Callable[[str], None] = print, **changes: Any) -> Any:
    run = PretrainSettings.model_validate({"model": SHAPE, "max_seq_len": LENGTH, "init_from": str(source), **changes})
    check_model(str(source), run)
    return load_model(str(source), build_config(run, len(entries), SPECIAL), run, entries, tell)


def logits_of(model: Any, ids: Tensor) -> Tensor:
    with torch.no_grad():
        logits: Tensor = model.eval()(input_ids=ids).logits
    return logits


IDS = torch.randint(5, len(VOCABULARY), (2, LENGTH), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(("legacy", "stated"), [(True, True), (True, False), (False, True), (False, False)])
def test_a_head_under_either_name_goes_on(legacy: bool, stated: bool, tmp_path: Path) -> None:
    """Microsoft's folders have `lm_predictions` and do not say so: transformers would begin another head at random."""
    source = publish(tmp_path / "m", legacy, stated)
    theirs = DebertaV2ForMaskedLM.from_pretrained(source, legacy=legacy)
    loaded = go_on(source)
    assert loaded.config.legacy and "cls.predictions.bias" in dict(loaded.named_parameters())
    torch.testing.assert_close(logits_of(loaded, IDS), logits_of(theirs, IDS), atol=1e-5, rtol=1e-5)
    loaded.save_pretrained(tmp_path / "again")
    again = DebertaV2ForMaskedLM.from_pretrained(tmp_path / "again")
    assert torch.equal(logits_of(again, IDS), logits_of(loaded, IDS))


@pytest.mark.parametrize("buckets", [256, 6, -1])
def test_a_longer_run_with_more_words_computes_the_same_of_what_was_there(buckets: int, tmp_path: Path) -> None:
    source, notes = publish(tmp_path / "m", position_buckets=buckets), list[str]()
    before = logits_of(DebertaV2ForMaskedLM.from_pretrained(source), IDS)
    loaded = go_on(source, [*VOCABULARY, "가각", "##각가"], notes.append, max_seq_len=3 * LENGTH)
    assert notes[1] == f"{source} has {LENGTH} positions, the run {3 * LENGTH}: the others are computed, as those are"
    assert (loaded.config.max_position_embeddings, loaded.config.max_relative_positions) == (3 * LENGTH, LENGTH)
    torch.testing.assert_close(logits_of(loaded, IDS)[..., :-2], before, atol=1e-5, rtol=1e-5)
    table = loaded.get_input_embeddings().weight
    assert loaded.get_output_embeddings().weight is table and loaded.config.vocab_size == len(table) == 47
    pieces = [VOCABULARY.index("가"), VOCABULARY.index("##각")]
    torch.testing.assert_close(table[45], table[pieces].mean(0))
    bias = loaded.cls.predictions.bias
    assert loaded.get_output_embeddings().bias is bias and torch.allclose(bias[45], bias[pieces].mean())
    assert logits_of(loaded, IDS.repeat(1, 3)).isfinite().all()


def test_learned_positions_of_a_published_model_go_on_as_those_of_others(tmp_path: Path) -> None:
    messages: list[str] = []
    loaded = go_on(publish(tmp_path / "m", position_biased_input=True), VOCABULARY, messages.append, max_seq_len=40)
    assert "they are repeated" in messages[0]
    table = loaded.deberta.embeddings.position_embeddings.weight
    assert len(table) == 40 and torch.equal(table[LENGTH:], table[: 40 - LENGTH])


def test_a_fresh_model_has_the_shape_of_the_published_base_models() -> None:
    """12 × 768 and 128,100 entries are microsoft/deberta-v3-base: 183,831,552 parameters of the encoder."""
    model = ModelSettings.model_validate({"type": "deberta-v2"})
    config = build_config(PretrainSettings(model=model), 128_100, SPECIAL)
    with torch.device("meta"):
        encoder = DebertaV2ForMaskedLM(config).deberta
    assert encoder.num_parameters() == 183_831_552
    assert DEBERTA.parameters(model, 128_100, 512) == 183_831_552 + 768 * 768 + 3 * 768 + 128_100


def test_cost_by_hand() -> None:
    base = ModelSettings.model_validate({"type": "deberta-v2", "dropout": 0.0})
    # a token sees 512 positions and twice the 512 rows of the table, of which each is half of what a position costs
    assert DEBERTA.spans(base, 512) == 12 * (512 + 512)
    # 6·12·(4·768² + 2·768·3072) = 509,607,936; 12·768·12,288 = 113,246,208; 6·.15·(32,000·768 + 768²) = 22,649,241.6
    assert DEBERTA.flops_per_token(base, 32_000, 512, 0.15) == pytest.approx(645_503_385.6)
    # 2·12·512 + 2·768 + 2·2·768·512/512 + 512; uncompiled 2·2·12·512 more
    assert DEBERTA.score_bytes(base, 2, 1, 512, compiled=True) == 12_288 + 1_536 + 3_072 + 512
    assert DEBERTA.score_bytes(base, 2, 1, 512, compiled=False) == 17_408 + 24_576


@pytest.mark.parametrize(("dropout", "half"), [(0.0, False), (0.1, False), (0.0, True)])
def test_what_a_layer_keeps_is_what_is_reckoned(dropout: float, half: bool) -> None:
    """Storages that a layer saves for its backward pass, for a batch of which what it keeps once is a small part."""
    samples, length = 16, 64
    model, settings = make({"hidden": 64, "heads": 4, "dropout": dropout}, max_seq_len=length)
    encoder = model.hf_model.deberta.encoder.train()
    layer, x = encoder.layer[0], torch.randn(samples, length, 64, requires_grad=True)
    positions = {"relative_pos": encoder.get_rel_pos(x), "rel_embeddings": encoder.get_rel_embedding()}
    known = (*layer.parameters(), *positions.values())
    with saved_for_backward(known) as saved, torch.autocast("cpu", torch.bfloat16, enabled=half):
        layer(x, encoder.get_attention_mask(torch.ones(samples, length)), **positions)
    w, mask = (2 if half else 4), 4 if dropout else 0
    reckoned = DEBERTA.layer_bytes(settings.model, w, w, mask)
    reckoned += DEBERTA.score_bytes(settings.model, w, mask, length, compiled=False)
    assert sum(saved.values()) / (samples * length) == pytest.approx(reckoned, rel=0.06)


@pytest.mark.parametrize(("by_layers", "graphs"), [(False, 1), (True, 3)])
@pytest.mark.parametrize("packing", ["packed", "full-sentences"])
def test_it_is_compiled_without_a_break(packing: str, by_layers: bool, graphs: int) -> None:
    """By layers: embeddings, head, and the layers' one."""
    (model, _), (plain, _) = make(), make()
    counted: list[int] = []
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    (compile_layers if by_layers else compile_whole)(model.eval(), lambda graph, _: counted.append(1) or graph)
    with torch.no_grad():
        for seed in range(3):
            sizes = [[8, 9], [24], [3, 4, 5]] if packing == "packed" else [[20], [24], [3]]
            made = prepare(*batch_of(packing, sizes, seed), packing, RECTANGLES, objective_of(packing))
            torch.testing.assert_close(model(**made.inputs)["loss"], plain.eval()(**made.inputs)["loss"])
    assert len(counted) == graphs and not torch._dynamo.utils.counters["graph_break"]
    torch._dynamo.reset()


CARRIED: dict[str, Any] = {"hidden_act": "relu", "position_buckets": 6, "share_att_key": False}


@pytest.mark.slow
@pytest.mark.parametrize("zero_stage", [0, 3])
def test_a_resumed_run_keeps_what_the_published_model_has(
    zero_stage: int, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    """Stopped and resumed, without the published folder: the run that was not stopped, and transformers' logits."""
    entries = (tokenizer / "vocab.txt").read_text(encoding="utf-8").split()
    source = publish(tmp_path / "m", entries=entries, **CARRIED)
    changes = {"model": {**SHAPE, "dropout": 0.1}, "init_from": str(source), "packing": "packed", "steps": 12,
               "max_seq_len": LENGTH, "checkpoint_every": 6, "zero_stage": zero_stage}  # fmt: skip
    train(tmp_path / "straight", tokens, tokenizer, **changes)
    train(tmp_path / "stopped", tokens, tokenizer, patch=signal_at(6, "SIGTERM"), **changes)
    assert not (tmp_path / "stopped" / "model").exists()
    (tmp_path / "stopped" / "sitecustomize.py").unlink()
    source.rename(tmp_path / "moved")
    assert "resuming at step" in train(tmp_path / "stopped", tokens, tokenizer, **changes)
    assert_same_run(tmp_path / "straight", tmp_path / "stopped")
    config = json.loads((tmp_path / "stopped" / "model" / "config.json").read_text())
    assert {name: config[name] for name in CARRIED} == CARRIED
    _, checkpoint = checkpoints_by_size(tmp_path / "stopped" / "checkpoints")[-1]
    exported = export_checkpoint(checkpoint, tmp_path / "export")
    saved = DebertaV2ForMaskedLM.from_pretrained(tmp_path / "stopped" / "model")
    assert torch.equal(logits_of(exported, IDS), logits_of(saved, IDS))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": {**SHAPE, "initialisation": "local"}}, "model.type=deberta-v2, whose positions are computed"),
        ({"objective": "mlm+nsp", "packing": "sentence-pairs"}, "deberta-v2 has no head"),
        ({"model": {**SHAPE, "modernbert": {"window": 64}}}, "is of model.type=modernbert"),
    ],
)
def test_what_does_not_go_together_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        PretrainSettings.model_validate({"model": SHAPE, **changes})
