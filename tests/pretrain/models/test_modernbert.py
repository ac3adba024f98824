"""ModernBERT: computed as its definition says in every form of a batch, exported, continued, fine-tuned, reckoned."""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor
from transformers import AutoModelForMaskedLM, AutoTokenizer, ModernBertConfig, ModernBertForMaskedLM

from common.errors import UserError
from hunmin.sample import write_sample
from klue.examples import load_splits
from klue.finetune import finetune
from klue.model_folder import read_model_folder
from klue.plan import plan_jobs
from klue.runner import write_features
from klue.settings import KlueSettings
from klue.tasks import TASKS
from pretrain.batches.inputs import RECTANGLES, InputForm, prepare
from pretrain.batches.predictions import IGNORE, MaskedBatch
from pretrain.batches.samples import Batch
from pretrain.callbacks.checkpoint_metadata import checkpoints_by_size
from pretrain.export import export_checkpoint, save_hf_model
from pretrain.export.check import check_folder
from pretrain.kernels.attention import NAME
from pretrain.kernels.compile import compile_layers, compile_whole, speed_up
from pretrain.models.continuation import check_model, load_model
from pretrain.models.encoder import MaskedRowsModel, build_config, build_model, recompute_layers
from pretrain.models.registry import ARCHITECTURES
from pretrain.objectives.registry import OBJECTIVES
from pretrain.settings import ModelSettings, PretrainSettings
from tests.pretrain.models.kept import saved_for_backward
from tests.pretrain.small_batches import LENGTH, batch_of, one_operator
from tests.pretrain.small_tokens import SPECIAL
from tokenizer.save import build_tokenizer, save_tokenizer

sys.path.insert(0, str(Path(__file__).parents[1]))
from training_runs import train

ENTRIES = 50
WINDOW = 6
SHAPE: dict[str, Any] = {
    "type": "modernbert", "layers": 4, "hidden": 32, "heads": 2, "dropout": 0.0, "modernbert": {"window": WINDOW},
}  # fmt: skip
"""Global, local, local, global; texts are longer than the window."""
SPREAD = 0.3
"""Initial weights with which scores differ enough for attention to choose."""
MODERNBERT = ARCHITECTURES["modernbert"]
UNPADDED = InputForm(True)
CPU = torch.device("cpu")
Run = tuple[MaskedRowsModel, PretrainSettings]


def make(objective: str = "mlm", model: dict[str, Any] | None = None, **changes: Any) -> Run:
    shape = {**SHAPE, "initializer_range": SPREAD, **(model or {})}
    settings = PretrainSettings(**{"model": shape, "max_seq_len": LENGTH, "steps": 10**5, **changes})
    hf_model = build_model(settings, build_config(settings, ENTRIES, SPECIAL))
    return MaskedRowsModel(hf_model, objective=OBJECTIVES[objective]), settings


def normed(x_SH: Tensor, weight_H: Tensor) -> Tensor:
    centred_SH = x_SH - x_SH.mean(-1, keepdim=True)
    return centred_SH / (centred_SH.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight_H


def gelu(x: Tensor) -> Tensor:
    return x * (1 + torch.erf(x / 2**0.5)) / 2


def turned(x_SAD: Tensor, theta: float) -> Tensor:
    """RoPE by complex numbers: component i and i + D/2 of position p turn by p · theta^(−2i / D)."""
    half = x_SAD.shape[-1] // 2
    places_S1I = torch.arange(len(x_SAD), dtype=torch.float64)[:, None, None]
    angles_S1I = places_S1I * theta ** (-torch.arange(half, dtype=torch.float64) / half)
    out = torch.complex(x_SAD[..., :half], x_SAD[..., half:]) * torch.polar(torch.ones_like(angles_S1I), angles_S1I)
    return torch.cat([out.real, out.imag], -1)


def defined(hf_model: ModernBertForMaskedLM, ids: Any, causal: bool = False, window: int = WINDOW) -> Tensor:
    """Logits of one text by ModernBERT's definition, (S, V) float64."""
    config = hf_model.config
    w = {name: weight.double() for name, weight in hf_model.named_parameters()}
    table = w["model.embeddings.tok_embeddings.weight"]
    x_SH = normed(table[torch.as_tensor(ids)], w["model.embeddings.norm.weight"])
    at_S = torch.arange(len(x_SH))
    away_SS = at_S - at_S[:, None]
    for layer in range(config.num_hidden_layers):
        prefix = f"model.layers.{layer}."
        near_SH = normed(x_SH, w[prefix + "attn_norm.weight"]) if layer else x_SH
        parts = (near_SH @ w[prefix + "attn.Wqkv.weight"].T).view(len(x_SH), 3, config.num_attention_heads, -1)
        query, key, value = parts.unbind(1)
        wide = layer % 3 == 0
        query, key = (turned(part, 160_000.0 if wide else 10_000.0) for part in (query, key))
        scores = torch.einsum("qad,kad->aqk", query, key) / query.shape[-1] ** 0.5
        unseen_SS = (away_SS > 0) if causal else torch.zeros_like(away_SS, dtype=torch.bool)
        if not wide:
            unseen_SS = unseen_SS | (away_SS.abs() > window // 2)
        seen = scores.masked_fill(unseen_SS, float("-inf")).softmax(-1)
        x_SH = x_SH + torch.einsum("aqk,kad->qad", seen, value).flatten(1) @ w[prefix + "attn.Wo.weight"].T
        both = normed(x_SH, w[prefix + "mlp_norm.weight"]) @ w[prefix + "mlp.Wi.weight"].T
        first, gate = both.split(config.intermediate_size, -1)
        x_SH = x_SH + (gelu(first) * gate) @ w[prefix + "mlp.Wo.weight"].T
    x_SH = normed(x_SH, w["model.final_norm.weight"])
    head_SH = normed(gelu(x_SH @ w["head.dense.weight"].T), w["head.norm.weight"])
    return head_SH @ table.T + w["decoder.bias"]


def each_alone(run: MaskedRowsModel, batch: Batch, masked: MaskedBatch, window: int = WINDOW) -> Tensor:
    """The loss, one text at a time."""
    total = torch.zeros((), dtype=torch.float64)
    for b in range(len(batch.ids_BS)):
        for text in sorted({*batch.segment_ids_BS[b].tolist()} - {-1}):
            at = np.flatnonzero(batch.segment_ids_BS[b] == text)
            odds = defined(run.hf_model, masked.ids_BS[b, at], run.objective.causal, window).log_softmax(-1)
            for row, label in zip(masked.rows_BM[b], masked.labels_BM[b], strict=True):
                if label != IGNORE and row in at:
                    total = total - odds[int(row - at[0]), label]
    return total


def test_the_model_of_transformers_is_the_definition() -> None:
    model, _ = make()
    ids = torch.randint(5, ENTRIES, (1, LENGTH), generator=torch.Generator().manual_seed(0))
    logits = model.hf_model.eval()(ids).logits[0].double()
    torch.testing.assert_close(logits, defined(model.hf_model, ids[0]), atol=1e-4, rtol=1e-4)
    for other in (LENGTH * 2, WINDOW + 2):
        assert (logits - defined(model.hf_model, ids[0], window=other)).abs().max() > 0.1


FORMS = [
    ("full-sentences", [[24], [20], [3]]),
    ("contiguous", [[24], [24]]),
    ("packed", [[7, 17], [9, 4, 9], [24], [1, 1, 1]]),
]


@pytest.mark.parametrize("objective", ["mlm", "clm"])
@pytest.mark.parametrize("form", [RECTANGLES, UNPADDED], ids=["rectangles", "unpadded"])
@pytest.mark.parametrize(("packing", "sizes"), FORMS)
def test_every_form_of_a_batch_is_each_text_alone(
    packing: str, sizes: list[list[int]], form: InputForm, objective: str
) -> None:
    model, _ = make(objective)
    batch, masked = batch_of("packed", sizes)
    truth = each_alone(model, batch, masked)
    truth.backward()
    expected = {name: weight.grad.clone() for name, weight in model.named_parameters()}
    swallowed = each_alone(model, batch, masked, 2 * LENGTH)
    assert (truth - swallowed).abs() > 1e-2  # a window that is ignored shows
    for again in (False, True):
        model.zero_grad()
        if again:
            recompute_layers(model.hf_model)
            model.train()
        if form is UNPADDED:
            model.hf_model.set_attn_implementation(NAME)
        sums = model(**prepare(batch, masked, packing, form, model.objective).inputs)
        sums["loss"].backward()
        torch.testing.assert_close(sums["loss"].double(), truth.detach(), atol=1e-3, rtol=1e-5)
        for name, weight in model.named_parameters():
            torch.testing.assert_close(weight.grad, expected[name], atol=2e-3, rtol=1e-3, msg=name)


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_padding_beyond_the_window_is_finite(dtype: str) -> None:
    """Rows of padding that see no token, in layers with local attention: in training and as transformers masks them."""
    model, settings = make(dtype=dtype)
    model.half = torch.bfloat16 if dtype == "bf16" else None
    speed_up(model, settings, CPU)
    batch, masked = batch_of("packed", [[1], [24], [2]])
    real_BS = torch.from_numpy(batch.segment_ids_BS >= 0)
    for mask in MODERNBERT.padding(model.hf_model, real_BS).values():
        assert mask.any(-1).all()  # kernels differ in what they give for a row that sees nothing
    sums = model(**prepare(batch, masked, "full-sentences", RECTANGLES, model.objective).inputs)
    sums["loss"].backward()
    assert sums["loss"].isfinite() and all(weight.grad.isfinite().all() for weight in model.parameters())
    hf_model, ids = make()[0].hf_model, torch.from_numpy(batch.ids_BS)
    for kind in ("sdpa", "eager"):
        hf_model.zero_grad()
        hf_model.set_attn_implementation(kind)
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bf16"):
            logits = hf_model(ids, attention_mask=(ids != SPECIAL["pad"]).long()).logits
        logits.float().logsumexp(-1).sum().backward()
        assert logits.isfinite().all() and all(weight.grad.isfinite().all() for weight in hf_model.parameters())


@pytest.mark.parametrize(("by_layers", "graphs"), [(False, 1), (True, 5)])
def test_one_graph_serves_batches_of_all_sizes(by_layers: bool, graphs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By layers: embeddings, head, and the layers of three kinds, of which the first has one norm."""
    one_operator(monkeypatch)
    model, _ = make()
    model.hf_model.set_attn_implementation(NAME)
    model.unpadded = model.compiles = True
    plain, _ = make()
    counted = []
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    (compile_layers if by_layers else compile_whole)(model.eval(), lambda graph, _: counted.append(1) or graph)
    with torch.no_grad():
        for seed, size in enumerate((20, 24, 5)):
            batch, masked = batch_of("packed", [[size // (2 + seed)] * (2 + seed)] * 12, seed)
            inputs = prepare(batch, masked, "packed", UNPADDED, model.objective).inputs
            truth = plain(**prepare(batch, masked, "packed", RECTANGLES, model.objective).inputs)["loss"]
            torch.testing.assert_close(model(**model.on_device(inputs, CPU))["loss"], truth, atol=1e-3, rtol=1e-5)
    assert len(counted) == graphs and not torch._dynamo.utils.counters["graph_break"]
    torch._dynamo.reset()


def test_the_defaults_are_the_published_models() -> None:
    """22 × 768 and 50,368 entries are answerdotai/ModernBERT-base: 149,655,232 parameters."""
    model = ModelSettings(type="modernbert", layers=22, dropout=0.0)
    config = build_config(PretrainSettings(model=model, max_seq_len=8192), 50_368, SPECIAL).to_dict()
    published = ModernBertConfig().to_dict()
    differing = {name for name in config if config[name] != published.get(name)}
    assert {name for name in differing if not name.endswith("_token_id")} <= {"architectures", "tokenizer_class"}
    assert {name: config[f"{name}_token_id"] for name in ("pad", "cls", "sep", "bos", "eos")} == {
        "pad": 1, "cls": 0, "sep": 2, "bos": 0, "eos": 2,
    }  # fmt: skip
    assert MODERNBERT.parameters(model, 50_368, 8192) == 149_655_232
    assert [MODERNBERT.feed_forward(width) for width in (768, 1024, 32, 40)] == [1152, 1536, 48, 64]


def test_cost_by_hand() -> None:
    base = ModelSettings(type="modernbert", layers=22, dropout=0.0)
    # 8 global layers and 14 of 129 positions; shorter texts are seen whole
    assert MODERNBERT.spans(base, 512) == 8 * 512 + 14 * 129 and MODERNBERT.spans(base, 100) == 2200
    # 6 · 22 · (4 · 768² + 3 · 768 · 1152) = 661,782,528; 12 · 768 · 5902 = 54,392,832;
    # 1.8 · (32,000 · 768 + 768²) = 45,298,483.2
    assert MODERNBERT.flops_per_token(base, 32_000, 512, 0.3) == pytest.approx(761_473_843.2)
    # 8·2·768 + 2·2·768 + 4·2·1152 + 4·12; with dropout 1152 + 768 more
    assert MODERNBERT.layer_bytes(base, 2, 2, 1) == 12_288 + 3_072 + 9_216 + 48
    dropped = base.model_copy(update={"dropout": 0.1})
    assert MODERNBERT.layer_bytes(dropped, 2, 2, 1) == 24_624 + 1_920


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_what_a_layer_keeps_is_what_is_reckoned(dropout: float) -> None:
    """Storages that a layer saves for its backward pass; attention dropout would keep the weights on a CPU."""
    changes = {"hidden": 64, "heads": 4, "dropout": dropout, "attention_dropout": 0.0}
    model, settings = make(model=changes)
    inner = model.hf_model.model.train()
    layer = inner.layers[3]
    x = torch.randn(2, LENGTH, 64, requires_grad=True)
    turn = inner.rotary_emb(x, torch.arange(LENGTH)[None], "full_attention")
    with saved_for_backward((*layer.parameters(), *turn)) as saved:
        layer(x, position_embeddings=turn)
    assert sum(saved.values()) / (2 * LENGTH) == pytest.approx(
        MODERNBERT.layer_bytes(settings.model, 4, 4, 4 if dropout else 0), rel=0.05
    )


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"type": "roberta", "modernbert": {"window": 64}}, "model.modernbert is of model.type=modernbert, and this"),
        ({**SHAPE, "initialisation": "local"}, "whose positions are computed"),
        ({**SHAPE, "hidden": 30, "heads": 10}, r"hidden \(30\) / heads \(10\) = 3 is odd"),
        ({**SHAPE, "modernbert": {"windows": 64}}, "windows"),
    ],
)
def test_what_does_not_go_together_is_refused(model: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        PretrainSettings(model=model)


LETTERS = [chr(code) for code in range(ord("가"), ord("가") + 40)]
VOCABULARY = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]", *LETTERS, *(f"##{letter}" for letter in LETTERS)]


def publish(folder: Path, **changes: Any) -> Path:
    """Write a model as the hub has ModernBERT: its configuration in the words of the transformers of 2024."""
    config = ModernBertConfig(
        vocab_size=len(VOCABULARY), hidden_size=32, intermediate_size=48, num_hidden_layers=4, num_attention_heads=2,
        local_attention=WINDOW, max_position_embeddings=LENGTH, initializer_range=SPREAD, classifier_pooling="mean",
        pad_token_id=1, cls_token_id=0, sep_token_id=2, bos_token_id=0, eos_token_id=2,
    )  # fmt: skip
    torch.manual_seed(3)
    ModernBertForMaskedLM(config).save_pretrained(folder)
    written = json.loads((folder / "config.json").read_text())
    for name in ("layer_types", "rope_parameters"):
        written.pop(name, None)
    written |= {
        "global_attn_every_n_layers": 3, "global_rope_theta": 160000.0, "local_rope_theta": 10000.0,
        "layer_norm_eps": 1e-5, "position_embedding_type": "absolute", "reference_compile": None, **changes,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(written))
    save_tokenizer(build_tokenizer(VOCABULARY, "roberta"), "roberta", LENGTH, folder)
    return folder


def go_on(source: Path, entries: list[str] = VOCABULARY, tell: Callable[[str], None] = print, **changes: Any) -> Any:
    run = PretrainSettings(**{"model": SHAPE, "max_seq_len": LENGTH, "init_from": str(source), **changes})
    check_model(str(source), run)
    return load_model(str(source), build_config(run, len(entries), SPECIAL), run, entries, tell)


def test_a_published_model_goes_on_also_longer_and_with_more_words(tmp_path: Path) -> None:
    source, notes = publish(tmp_path / "published"), list[str]()
    published = ModernBertForMaskedLM.from_pretrained(source).eval()
    entries = [*VOCABULARY, "가가"]
    dropped = {**SHAPE, "dropout": 0.2, "attention_dropout": 0.1}
    loaded = go_on(source, entries, notes.append, model=dropped, max_seq_len=3 * LENGTH).eval()
    assert notes[1] == f"{source} has {LENGTH} positions, the run {3 * LENGTH}: the others are computed, as those are"
    config = loaded.config
    assert (config.embedding_dropout, config.mlp_dropout, config.attention_dropout) == (0.2, 0.2, 0.1)
    assert config.max_position_embeddings == 3 * LENGTH and config.classifier_pooling == "mean"
    ids = torch.randint(5, len(VOCABULARY), (2, LENGTH), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.equal(loaded(ids).logits[..., :-1], published(ids).logits)
        long = ids.repeat(1, 3)[:1]
        torch.testing.assert_close(loaded(long).logits[0].double(), defined(loaded, long[0]), atol=1e-4, rtol=1e-4)
    assert loaded.get_output_embeddings().weight is loaded.get_input_embeddings().weight


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"local_attention": 128}, r"local_attention = 128, the run 6.*\n.*\n.*set pretrain.model.modernbert.window"),
        ({"global_attn_every_n_layers": 2}, r"layer_types.*\n.*\n.*set pretrain.model.modernbert.global_every"),
        ({"global_rope_theta": 10000.0}, r"rope_parameters.*\n.*\n.*modernbert.global_theta and local_theta"),
        ({"mlp_bias": True}, "lacks 8 weights"),
        ({"num_hidden_layers": 3}, "layer 3 is there, config.json has 3 layers"),
    ],
)
def test_a_published_model_that_computes_otherwise_is_refused(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        go_on(publish(tmp_path / "published", **changes))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, tokens: Path, tokenizer: Path) -> Path:
    """The newest checkpoint of a run."""
    folder = tmp_path_factory.mktemp("vocabulary")
    entries = (tokenizer / "vocab.txt").read_text(encoding="utf-8").split()
    save_tokenizer(build_tokenizer(entries, "roberta"), "roberta", LENGTH, folder)
    out = tmp_path_factory.mktemp("run")
    train(out, tokens, folder, model={**SHAPE, "dropout": 0.1}, packing="packed", max_seq_len=LENGTH, steps=8)
    return checkpoints_by_size(out / "checkpoints")[-1][1]


@pytest.mark.slow
def test_a_run_is_exported_as_it_was_trained(trained: Path, tmp_path: Path) -> None:
    hf_model = export_checkpoint(trained, tmp_path / "model", sentence_embeddings=True)
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    assert config["local_attention"] == WINDOW and config["architectures"] == ["ModernBertForMaskedLM"]
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model", local_files_only=True)
    assert tokenizer.model_max_length == LENGTH and "token_type_ids" not in tokenizer("w1 w2")
    exported = AutoModelForMaskedLM.from_pretrained(tmp_path / "model", local_files_only=True).eval()
    model = MaskedRowsModel(hf_model)
    model.hf_model.set_attn_implementation(NAME)
    rows = torch.arange(LENGTH)[None]
    for number in range(3):
        batch, masked = batch_of("packed", [[LENGTH]], number)
        ids = torch.from_numpy(batch.ids_BS)
        with torch.no_grad():
            odds = exported(ids).logits[0].log_softmax(-1)
            inputs = prepare(batch, masked, "packed", UNPADDED, model.objective).inputs
            inputs |= {"rows_BM": rows, "labels_BM": ids}
            loss = model(**inputs)["loss"]
        torch.testing.assert_close(loss, -odds[torch.arange(LENGTH), ids[0]].sum(), atol=1e-4, rtol=1e-5)


@pytest.mark.slow
def test_its_graph_is_checked(trained: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    export_checkpoint(trained, tmp_path / "model", onnx=True)
    assert (tmp_path / "model" / "onnx" / "model.onnx").is_file()


@pytest.mark.slow
def test_it_is_fine_tuned_on_headlines(tmp_path: Path) -> None:
    write_sample(tmp_path / "sample")
    benchmark = tmp_path / "sample" / "klue"
    splits = {"ynat": load_splits(TASKS["ynat"], benchmark)}
    letters = sorted({letter for example in splits["ynat"].train for letter in str(example) if letter.isalnum()})
    entries = [*VOCABULARY[:5], *letters, *(f"##{letter}" for letter in letters)]
    (tmp_path / "tokenizer").mkdir()
    save_tokenizer(build_tokenizer(entries, "roberta"), "roberta", 64, tmp_path / "tokenizer")
    run = PretrainSettings(model={**SHAPE, "initializer_range": 0.02}, max_seq_len=64)
    hf_model = build_model(run, build_config(run, len(entries), SPECIAL)).eval()
    folder = tmp_path / "model"
    save_hf_model(hf_model, tmp_path / "tokenizer", folder, partial(check_folder, model=hf_model))
    training = {"max_seq_len": 64, "epochs": 4, "learning_rate": 5e-3, "max_train_examples": 256, "global_batch": 16}
    settings = KlueSettings(data=str(benchmark), tasks=["ynat"], training={**training, "evaluations_per_epoch": 1})
    facts = read_model_folder(folder)
    assert (facts.family, facts.max_positions, facts.token_types) == ("modernbert", 64, False)
    jobs = plan_jobs(settings, facts, splits, "cpu", tmp_path / "out")
    (job,) = write_features(jobs, splits, facts, tmp_path / "features")
    outcome = finetune(job)
    history = [json.loads(line) for line in job.history.read_text().splitlines()]
    history = [entry for entry in history if "epoch" in entry]
    assert history[-1]["loss"] < history[0]["loss"] and outcome.best["macro_f1"] > 30
