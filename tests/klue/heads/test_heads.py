"""Heads: what padding must not change, TRADE against its definition, and that each learns."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from klue.examples import Splits, load_splits
from klue.features import load_features
from klue.finetune import batch_tensors, finetune, predict
from klue.heads import build_head
from klue.heads.base import encoder_inputs
from klue.model_folder import read_model_folder
from klue.plan import plan_jobs
from klue.runner import write_features
from klue.settings import KlueSettings
from klue.tasks.klue.ner import IGNORED
from klue.tasks.klue.wos import GATES, SLOTS
from tests.klue.families import write_family
from tests.klue.names import KLUE_TASKS as TASKS

CPU = torch.device("cpu")


def make_job(name, data, model, out, train=40, dev=20, width=24, **training):
    """One job on some examples, with its features written; the parser is `width` wide."""
    values = {"max_seq_len": 64, "epochs": 1, "evaluations_per_epoch": 1, **training}
    settings = KlueSettings(data=str(data), tasks=[name], training=values, per_task={"dp": {"parser_width": width}})
    whole = load_splits(TASKS[name], data)
    splits = {name: Splits(whole.train[:train], whole.dev[:dev], whole.note, {**whole.counts, "train": train})}
    facts = read_model_folder(model)
    (job,) = write_features(plan_jobs(settings, facts, splits, "cpu", out), splits, facts, out / "features")
    return job, *(load_features(Path(job.features), split) for split in ("train", "dev"))


@pytest.mark.parametrize("name", ["klue-ner", "klue-re", "klue-dp", "klue-mrc", "wos"])
def test_outputs_do_not_depend_on_the_batch(name, sample_benchmark, tiny_bert, tmp_path):
    job, _, dev = make_job(name, sample_benchmark, tiny_bert, tmp_path)
    task = TASKS[name]
    model = build_head(job, task, dev.shared).eval()
    together = predict(model, dev, task, job, CPU)
    for i in (0, 5, len(dev.owner) - 1):
        with torch.inference_mode():
            alone = model.predict(batch_tensors(dev, np.array([i]), task, job, CPU))
        for key, values in alone.items():
            mine = values[0].numpy()
            assert np.allclose(together[key][i][: len(mine)], mine, atol=1e-4), key


@pytest.mark.parametrize("name", TASKS)
def test_the_loss_does_not_see_padding_to_a_multiple_of_8(name, sample_benchmark, tiny_bert, tmp_path):
    job, train, _ = make_job(name, sample_benchmark, tiny_bert, tmp_path, max_seq_len=61)
    task = TASKS[name]
    model = build_head(job, task, train.shared).eval()
    losses, widths = [], []
    for multiple in (1, 8):
        inputs = batch_tensors(train, np.arange(3), task, job, CPU, multiple)
        assert not set(task.decoding) & set(inputs)
        widths.append(inputs["input_ids"].shape[1])
        torch.manual_seed(0)  # TRADE draws whether it is told the gold tokens
        losses.append(model.loss(inputs).item())
    assert widths[0] % 8 and widths[1] % 8 == 0, "the examples show nothing"
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)


def test_same_job_same_outcome(sample_benchmark, tiny_roberta, tmp_path):
    """Of the task whose training draws most: TRADE draws whether it is told the gold tokens."""
    job, _, dev = make_job("wos", sample_benchmark, tiny_roberta, tmp_path)
    first = finetune(job)
    assert first == finetune(job)
    json.dumps(first.predictions)
    assert [*first.predictions["dev"]] == [example.guid for example in dev.examples]


@pytest.mark.parametrize(
    ("name", "count", "epochs", "least"),
    [
        ("klue-sts", 16, 40, 90),
        ("klue-ner", 24, 25, 85),
        ("klue-dp", 8, 25, 60),
        pytest.param("klue-mrc", 8, 20, 90, marks=pytest.mark.slow),
        pytest.param("wos", 4, 160, 50, marks=pytest.mark.slow),
    ],
)
def test_learns_the_examples_it_sees(name, count, epochs, least, sample_benchmark, tiny_reader, tmp_path):
    """What is learnt by heart comes out again: heads and decoding speak of the same tokens, words and slots."""
    training = {"epochs": epochs, "learning_rate": 3e-3, "global_batch": 2 if name == "wos" else 4, "max_seq_len": 64}
    training["patience"] = 0
    job, _, _ = make_job(name, sample_benchmark, tiny_reader, tmp_path, train=count, width=96, **training)
    (Path(job.features) / "dev").rename(tmp_path / "other")
    (Path(job.features) / "dev").symlink_to(Path(job.features) / "train")
    assert finetune(job).best[TASKS[name].selection] > least


def test_parser_never_picks_a_word_that_is_not_there(sample_benchmark, tiny_bert, tmp_path):
    job, _, dev = make_job("klue-dp", sample_benchmark, tiny_bert, tmp_path, dev=50)
    found = predict(build_head(job, TASKS["klue-dp"], dev.shared), dev, TASKS["klue-dp"], job, CPU)
    for heads, first in zip(found["heads"], dev.columns["first"], strict=True):
        assert heads[: len(first)].max() <= len(first)


def taken_from(scores, at):
    """−log softmax of one entry of a row of scores, in numpy."""
    scores = np.asarray(scores, np.float64)
    highest = scores.max()
    return highest + np.log(np.exp(scores - highest).sum()) - scores[at]


@pytest.mark.parametrize("name", ["ynat", "klue-sts", "klue-ner", "klue-mrc"])
def test_losses_are_what_they_are_defined_as(name, sample_benchmark, tiny_roberta, tmp_path):
    job, train, _ = make_job(name, sample_benchmark, tiny_roberta, tmp_path)
    task = TASKS[name]
    model = build_head(job, task, train.shared).eval()
    inputs = batch_tensors(train, np.arange(9), task, job, CPU)
    with torch.inference_mode():
        loss = float(model.loss(inputs))
        outputs = {key: value.numpy() for key, value in model.model(**encoder_inputs(inputs)).items()}
    given = {key: value.numpy() for key, value in inputs.items()}
    there = given["attention_mask"].sum(1)
    if name == "klue-sts":
        wanted = np.mean((outputs["logits"][:, 0] - given["labels"]) ** 2)
    elif name == "ynat":
        wanted = np.mean([taken_from(row, i) for row, i in zip(outputs["logits"], given["labels"], strict=True)])
    elif name == "klue-ner":
        places = np.argwhere(given["labels"] != IGNORED)
        wanted = np.mean([taken_from(outputs["logits"][i, j], given["labels"][i, j]) for i, j in places])
    else:
        sides = [("start_logits", "start_positions"), ("end_logits", "end_positions")]
        wanted = np.mean(
            [taken_from(outputs[o][i, :n], given[p][i]) for o, p in sides for i, n in enumerate(there)]
        )  # fmt: skip
    assert loss == pytest.approx(wanted, rel=1e-5)


def test_the_parsers_loss_and_scores_are_what_they_are_defined_as(sample_benchmark, tiny_roberta, tmp_path):
    """The sum of both cross entropies over all words, by their count; scores as a sum over pairs of features."""
    job, train, _ = make_job("klue-dp", sample_benchmark, tiny_roberta, tmp_path)
    task = TASKS["klue-dp"]
    model = build_head(job, task, train.shared).eval()
    inputs = batch_tensors(train, np.arange(4), task, job, CPU)
    with torch.inference_mode():
        loss = float(model.loss(inputs))
        arcs, read, written = model._read(inputs)
        sides = [
            {name: F.elu(getattr(model, f"{kind}_{name}")(states)).double().numpy()
             for name, states in (("head", read), ("word", written))}
            for kind in ("arc", "label")
        ]  # fmt: skip
    arc, labels = model.arc.detach().double().numpy(), model.labels.detach().double().numpy()
    total = count = 0
    for i, (heads, relations) in enumerate(zip(inputs["heads"].tolist(), inputs["relations"].tolist(), strict=True)):
        words = int((inputs["first"][i] > 0).sum())
        for word, (head, relation) in enumerate(zip(heads[:words], relations[:words], strict=True)):
            if head == IGNORED:
                continue
            scores = []
            for other in range(words + 1):
                w, h = sides[0]["word"][i, word], sides[0]["head"][i, other]
                scores.append(w @ arc[:-1, :-1] @ h + w @ arc[:-1, -1] + arc[-1, :-1] @ h + arc[-1, -1])
            assert arcs[i, word, : words + 1].tolist() == pytest.approx(scores, abs=1e-4)
            w, h = sides[1]["word"][i, word], sides[1]["head"][i, head]
            of_labels = [w @ m[:-1, :-1] @ h + w @ m[:-1, -1] + m[-1, :-1] @ h + m[-1, -1] for m in labels]
            total += taken_from(scores, head) + taken_from(of_labels, relation)
            count += 1
    assert count > 10 and loss == pytest.approx(total / count, rel=1e-4)


@pytest.mark.parametrize(
    ("asked", "lstm", "arc", "label"), [({}, 768, 512, 256), ({"parser_width": 96}, 96, 64, 32)]
)  # by default the shapes of the authors' parser
def test_how_wide_a_parser_is(asked, lstm, arc, label, sample_benchmark, tiny_bert, tmp_path):
    job, _, dev = make_job("klue-dp", sample_benchmark, tiny_bert, tmp_path, width=asked.get("parser_width"))
    model = build_head(job, TASKS["klue-dp"], dev.shared)
    shapes = {name: tuple(part.shape) for name, part in model.named_parameters()}
    assert shapes["reader.weight_hh_l0_reverse"] == shapes["writer.weight_hh_l0"] == (4 * lstm, lstm)
    assert shapes["to_writer.weight"] == shapes["to_start.weight"] == (lstm, 2 * lstm)
    assert shapes["arc"] == (arc + 1, arc + 1) and shapes["labels"] == (38, label + 1, label + 1)
    assert shapes["arc_head.weight"] == (arc, 2 * lstm) and shapes["label_word.weight"] == (label, lstm)
    found = predict(model, dev, TASKS["klue-dp"], job, CPU)
    assert len(found["heads"]) == len(dev.lengths)
    # a width that nobody asked for leaves the fingerprints of earlier jobs as they were
    assert job.training.values.get("parser_width") == asked.get("parser_width")
    assert ("parser_width" in job.training.values) == bool(asked)


def test_parser_without_gold_parts_of_speech(sample_benchmark, tiny_bert, tmp_path):
    job, _, dev = make_job("klue-dp", sample_benchmark, tiny_bert, tmp_path)
    job = job.model_copy(update={"training": job.training.model_copy(update={"pos_tags": False})})
    model = build_head(job, TASKS["klue-dp"], dev.shared).eval()
    assert model.tags is None
    inputs = batch_tensors(dev, np.arange(4), TASKS["klue-dp"], job, CPU)
    with torch.inference_mode():
        before = model.predict(inputs)["heads"]
        assert torch.equal(before, model.predict({**inputs, "tags": torch.zeros_like(inputs["tags"])})["heads"])


@pytest.mark.parametrize(
    ("name", "family"), zip(TASKS, 2 * ["bert", "electra", "deberta-v2", "modernbert"], strict=True)
)
def test_dropout_is_what_the_setting_says(name, family, sample_benchmark, tmp_path):
    folder = write_family(family, tmp_path / "model")
    for asked in (0.0, 0.5):
        job, _, dev = make_job(name, sample_benchmark, folder, tmp_path / str(asked), train=2, dev=2, dropout=asked)
        model = build_head(job, TASKS[name], dev.shared)
        found = {part.p for part in model.modules() if isinstance(part, torch.nn.Dropout)}
        assert found == {asked}


def test_parser_is_drawn_as_the_authors_draw_it(sample_benchmark, tiny_roberta, tmp_path):
    """Their shapes, (1, 512, 512) and (1, 512), (38, 256, 256) and (38, 256), with Glorot's rule as torch has it."""
    job, _, dev = make_job("klue-dp", sample_benchmark, tiny_roberta, tmp_path, width=None)
    model = build_head(job, TASKS["klue-dp"], dev.shared)
    arc, labels = model.arc.detach(), model.labels.detach()
    parts = {
        "arc product": (arc[:512, :512], (6 / (512 * 512 + 512)) ** 0.5),  # .0048
        "arc, word": (arc[:512, 512], (6 / 513) ** 0.5),
        "arc, head": (arc[512, :512], (6 / 513) ** 0.5),
        "label product": (labels[:, :256, :256], (6 / (256 * 256 + 38 * 256)) ** 0.5),  # .0089
        "label, word": (labels[:, :256, 256], (6 / (256 + 38)) ** 0.5),  # .143
        "label, head": (labels[:, 256, :256], (6 / (256 + 38)) ** 0.5),
    }
    for name, (values, bound) in parts.items():
        assert values.abs().max() <= bound, name
        assert values.std().item() == pytest.approx(bound / 3**0.5, rel=0.1), name  # uniform up to the bound
    assert arc[512, 512] == 0 and not labels[:, 256, 256].any()


def slow_trade(model, inputs, steps, teacher=None):
    """TRADE by its definition: every slot alone, the whole distribution over the vocabulary at every step."""
    hidden = model.encoder(**{k: inputs[k] for k in ("input_ids", "attention_mask") if k in inputs})
    memory, embed = hidden.last_hidden_state, model.encoder.get_input_embeddings().weight
    gates, chances = [], []
    for j in range(len(SLOTS)):
        word = sum(embed[i] for i in model.slots[j] if i != model.pad).expand(len(memory), -1)
        state, per_step = hidden.pooler_output, []
        for k in range(steps):
            state = model.decoder(word, state)
            scores = torch.einsum("bsd,bd->bs", memory, state).masked_fill(inputs["attention_mask"] == 0, -1e9)
            copied = scores.softmax(-1)
            context = torch.einsum("bs,bsd->bd", copied, memory)
            if k == 0:
                gates.append(model.gate(context))
            mixed = model.mix(torch.cat([word, state, context], -1)).sigmoid()
            whole = mixed * (state @ embed.T).softmax(-1)
            whole = whole.scatter_add(1, inputs["input_ids"], (1 - mixed) * copied)
            per_step.append(whole)
            word = embed[whole.argmax(-1) if teacher is None else teacher[:, j, k]]
        chances.append(torch.stack(per_step, 1))
    return torch.stack(gates, 1), torch.stack(chances, 1)


@pytest.mark.parametrize("texts_only", [False, True])
@pytest.mark.parametrize("forced", [True, False])
def test_trade_equals_its_definition(forced, texts_only, sample_benchmark, tiny_roberta, tmp_path, monkeypatch):
    import klue.heads.trade as trade
    from klue.heads import written

    job, train, _ = make_job("wos", sample_benchmark, tiny_roberta, tmp_path)
    job = job.model_copy(update={"training": job.training.model_copy(update={"texts_only": texts_only})})
    monkeypatch.setitem(written.BLOCK, "cpu", 7 * 1000)  # some rows at a time
    model = build_head(job, TASKS["wos"], train.shared).eval()
    inputs = batch_tensors(train, np.array([0, 3, 7]), TASKS["wos"], job, CPU)
    values = inputs["values"].view(3, len(SLOTS), -1)
    gates, chances = slow_trade(model, inputs, values.size(-1), values if forced else None)
    monkeypatch.setattr(trade, "TEACHER_FORCING", 1.0 if forced else 0.0)
    there = values != model.pad
    if texts_only:
        there &= (inputs["gates"] == GATES.index("ptr"))[..., None]
    assert there.any()
    likelihood = chances.gather(-1, values.unsqueeze(-1)).squeeze(-1).clamp_min(1e-12).log()
    wanted = -(likelihood * there).sum() / there.sum() + F.cross_entropy(gates.flatten(0, 1), inputs["gates"].flatten())
    with torch.no_grad():
        assert model.loss(inputs).item() == pytest.approx(wanted.item(), rel=1e-5)
    wanted.backward()
    gradients = {name: part.grad for name, part in model.named_parameters()}
    model.zero_grad(set_to_none=True)
    model.loss(inputs).backward()
    for name, part in model.named_parameters():
        if gradients[name] is None:
            assert part.grad is None, name
        else:
            size = max(gradients[name].abs().max().item(), 1e-6)  # some are 0 but for rounding
            assert torch.allclose(part.grad, gradients[name], rtol=0, atol=1e-5 * size), name
    model.zero_grad(set_to_none=True)
    if forced:
        return
    with torch.no_grad():  # so that some of the slots are to be written
        model.gate.weight.zero_()
        model.gate.bias.zero_()
        model.gate.weight[GATES.index("ptr")].normal_(std=100)
        scores = slow_trade(model, inputs, 1)[0][..., GATES.index("ptr")].flatten().sort().values
        gap = int(scores.diff().argmax())  # the widest: elsewhere a processor's rounding decides
        model.gate.bias[GATES.index("ptr")] = -(scores[gap] + scores[gap + 1]) / 2
    with torch.no_grad():
        gates, chances = slow_trade(model, inputs, model.steps)
        found = model.predict(inputs)
    assert torch.equal(found["gates"], gates.argmax(-1))
    held = gates.argmax(-1) == GATES.index("ptr")
    assert 0 < held.sum() < held.numel()
    written = found["values"].view(3, len(SLOTS), -1)
    assert torch.equal(written[held], chances.argmax(-1)[held]) and (written[~held] == model.pad).all()


@pytest.mark.parametrize("forced", [True, False])
def test_inputs_without_any_text_teach_the_gates_alone(forced, sample_benchmark, tiny_roberta, tmp_path, monkeypatch):
    import klue.heads.trade as trade

    job, train, _ = make_job("wos", sample_benchmark, tiny_roberta, tmp_path)
    job = job.model_copy(update={"training": job.training.model_copy(update={"texts_only": True})})
    model = build_head(job, TASKS["wos"], train.shared).eval()
    inputs = batch_tensors(train, np.array([0, 3, 7]), TASKS["wos"], job, CPU)
    inputs["gates"] = torch.full_like(inputs["gates"], GATES.index("yes"))
    monkeypatch.setattr(trade, "TEACHER_FORCING", 1.0 if forced else 0.0)
    gates, _ = slow_trade(model, inputs, 1)
    loss = model.loss(inputs)
    assert loss.item() == pytest.approx(
        F.cross_entropy(gates.flatten(0, 1), inputs["gates"].flatten()).item(), rel=1e-5
    )
    loss.backward()
    assert all(part.grad is None or part.grad.isfinite().all() for part in model.parameters())


def test_no_vocabulary_where_no_gate_says_text(sample_benchmark, tiny_roberta, tmp_path, monkeypatch):
    import klue.heads.trade as trade

    job, train, _ = make_job("wos", sample_benchmark, tiny_roberta, tmp_path)
    model = build_head(job, TASKS["wos"], train.shared).eval()
    inputs = batch_tensors(train, np.array([0, 3, 7]), TASKS["wos"], job, CPU)
    with torch.no_grad():
        model.gate.weight.zero_()
        model.gate.bias.copy_(torch.eye(len(GATES))[0])
        monkeypatch.setattr(trade, "choice", None)
        found = model.predict(inputs)
    assert not found["gates"].any() and (found["values"] == model.pad).all()


def test_trade_in_reduced_precision_learns_nearly_the_same(sample_benchmark, tiny_roberta, tmp_path):
    job, train, _ = make_job("wos", sample_benchmark, tiny_roberta, tmp_path)
    model = build_head(job, TASKS["wos"], train.shared).eval()
    inputs = batch_tensors(train, np.array([0, 3, 7]), TASKS["wos"], job, CPU)
    losses, gradients = [], []
    for enabled in (False, True):
        torch.manual_seed(0)
        model.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            loss = model.loss(inputs)
        loss.backward()
        losses.append(loss.item())
        gradients.append(model.encoder.get_input_embeddings().weight.grad)
    assert losses[1] == pytest.approx(losses[0], rel=0.02) and gradients[1].dtype == torch.float32
    assert torch.cosine_similarity(gradients[0].flatten(), gradients[1].flatten(), dim=0) > 0.98
