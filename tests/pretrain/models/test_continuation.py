"""Further pretraining: the weights come along, new entries begin as their pieces, and what does not fit is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, RobertaForMaskedLM

from common.errors import UserError
from pretrain.models.continuation import check_model, cut, load_model
from pretrain.models.encoder import build_config, build_model
from pretrain.settings import ModelSettings, PretrainSettings
from tests.pretrain.small_tokens import SPECIAL
from tokenizer.save import build_tokenizer, save_tokenizer

SHAPE = ModelSettings(layers=2, hidden=16, heads=2)
ENTRIES = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]", "가", "나", "##가", "##나", "나가"]
LENGTH = 20


def publish(folder: Path, entries: list[str] = ENTRIES, **changes: Any) -> str:
    """Write a small model and its tokenizer, as one publishes them."""
    folder.mkdir()
    run = PretrainSettings(model=SHAPE, max_seq_len=LENGTH, seed=7)
    config = build_config(run, len(entries), SPECIAL)
    for name, value in changes.items():
        setattr(config, name, value)
    build_model(run, config).save_pretrained(folder)
    save_tokenizer(build_tokenizer(entries, "roberta"), "roberta", LENGTH, folder)
    return str(folder)


def load(
    source: str,
    entries: list[str],
    length: int = LENGTH,
    shape: ModelSettings = SHAPE,
    tell: Callable[[str], None] = lambda _: None,
) -> RobertaForMaskedLM:
    run = PretrainSettings(model=shape, max_seq_len=length)
    return load_model(source, build_config(run, len(entries), SPECIAL), run, entries, tell)


def test_the_same_vocabulary_keeps_every_weight(tmp_path: Path) -> None:
    source = publish(tmp_path / "model")
    published = RobertaForMaskedLM.from_pretrained(source).state_dict()
    for length in (LENGTH, 8):
        loaded = load(source, ENTRIES, length).state_dict()
        assert loaded.keys() == published.keys()
        assert all(torch.equal(loaded[name], weight) for name, weight in published.items())


def test_new_entries_begin_as_the_mean_of_their_pieces(tmp_path: Path) -> None:
    source = publish(tmp_path / "model")
    published = RobertaForMaskedLM.from_pretrained(source)
    published.lm_head.bias.data.copy_(torch.arange(10.0))
    published.save_pretrained(source)
    entries = [*ENTRIES, "나가나", "##가가", "漢"]
    loaded = load(source, entries)
    old, new = published.get_input_embeddings().weight, loaded.get_input_embeddings().weight
    assert torch.equal(new[:10], old)
    assert torch.allclose(new[10], (old[9] + old[8]) / 2) and torch.allclose(new[11], old[7])
    assert torch.allclose(new[12], old.mean(0))  # no piece of it is known
    assert torch.allclose(loaded.lm_head.bias, torch.tensor([*range(10), 8.5, 7.0, 4.5]))
    assert loaded.lm_head.decoder.weight is new and loaded.config.vocab_size == 13
    assert loaded.lm_head.decoder.bias is loaded.lm_head.bias


def test_positions_of_a_longer_run_begin_as_those_of_the_model(tmp_path: Path) -> None:
    source = publish(tmp_path / "model")
    messages: list[str] = []
    published, loaded = RobertaForMaskedLM.from_pretrained(source), load(source, ENTRIES, 50, tell=messages.append)
    assert messages == [f"{source} has {LENGTH} positions, the run 50: they are repeated"]
    old, new = (m.roberta.embeddings.position_embeddings.weight for m in (published, loaded))
    assert len(old) == 2 + LENGTH and len(new) == 52 == loaded.config.max_position_embeddings
    assert torch.equal(new[:22], old) and torch.equal(new[22:42], old[2:]) and torch.equal(new[42:], old[2:12])
    ids = torch.randint(5, 10, (2, LENGTH), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        assert torch.equal(published.eval()(ids).logits, loaded.eval()(ids).logits)
        assert torch.isfinite(loaded(ids.repeat(1, 2)[:, :50]).logits).all()
    assert loaded.lm_head.decoder.weight is loaded.get_input_embeddings().weight


@pytest.mark.parametrize("objective", ["mlm", "mlm+nsp"])
def test_a_published_bert_goes_on_with_either_objective(objective: str, tmp_path: Path) -> None:
    shape = SHAPE.model_copy(update={"type": "bert"})
    pairs = {"objective": "mlm+nsp", "packing": "sentence-pairs"}
    published = PretrainSettings(model=shape, max_seq_len=LENGTH, seed=7, **pairs)
    config = build_config(published, len(ENTRIES), SPECIAL)
    original = build_model(published, config)
    original.save_pretrained(tmp_path / "m")
    save_tokenizer(build_tokenizer(ENTRIES, "bert"), "bert", LENGTH, tmp_path / "m")
    run = PretrainSettings(model=shape, max_seq_len=30, **(pairs if objective == "mlm+nsp" else {}))
    entries = [*ENTRIES, "나가나"]
    loaded = load_model(str(tmp_path / "m"), build_config(run, len(entries), SPECIAL), run, entries)
    weights = {name: weight for name, weight in loaded.state_dict().items() if "position_ids" not in name}
    published_weights = original.state_dict()
    assert ("cls.seq_relationship.weight" in weights) == (objective == "mlm+nsp")
    for name, weight in weights.items():
        assert torch.equal(weight[: len(published_weights[name])], published_weights[name]), name
    assert loaded.get_output_embeddings().weight is loaded.get_input_embeddings().weight
    assert len(loaded.bert.embeddings.position_embeddings.weight) == 30
    out = loaded(torch.randint(5, 11, (2, 30)))
    assert out[0].shape == (2, 30, 11) and torch.isfinite(out[0]).all()


def test_pieces_of_an_entry() -> None:
    ids = {entry: index for index, entry in enumerate(ENTRIES)}
    assert (
        cut("나가나", ids) == [9, 8] and cut("##나가", ids) == [8, 7] and cut("가다", ids) == [] and cut("", ids) == []
    )


def spoilt(folder: Path, *names: str, content: bytes | None = None) -> str:
    """Publish a model of which some files are gone, or hold something else."""
    source = publish(folder)
    for name in names:
        (folder / name).unlink() if content is None else (folder / name).write_bytes(content)
    return source


def headless(folder: Path) -> str:
    """Publish a model as another task leaves it: without the head of a language model."""
    source = publish(folder)
    RobertaForMaskedLM.from_pretrained(source).roberta.save_pretrained(source)
    return source


def of_bert(folder: Path) -> str:
    config = BertConfig(vocab_size=10, hidden_size=16, num_hidden_layers=1, num_attention_heads=2)
    BertForMaskedLM(config).save_pretrained(folder)
    return str(folder)


TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda path: load(publish(path / "m"), [*ENTRIES[:5], "나", "가", *ENTRIES[7:]]), "not the beginning"),
        (lambda path: load(publish(path / "m"), ENTRIES[:9]), "not the beginning"),
        (
            lambda path: load(publish(path / "m"), ENTRIES, shape=ModelSettings(layers=3, hidden=16, heads=4)),
            r"pretrain.model.layers=2 pretrain.model.heads=2",
        ),
        (lambda path: load(publish(path / "m", pad_token_id=0), ENTRIES), "pad_token_id = 0, the run 1"),
        (lambda path: load(str(path / "none"), ENTRIES), r"none has no config\.json"),
        (lambda path: load(spoilt(path / "m", "model.safetensors"), ENTRIES), "m has no weights"),
        (lambda path: load(spoilt(path / "m", *TOKENIZER), ENTRIES), "m has no tokenizer"),
        (
            lambda path: load(spoilt(path / "m", "model.safetensors", content=b"\0" * 100), ENTRIES),
            r"model\.safetensors is damaged or cut short",
        ),
        (lambda path: load(headless(path / "m"), ENTRIES), r"lacks \d+ weights of a RobertaForMaskedLM: lm_head"),
        (lambda path: load(of_bert(path / "m"), ENTRIES), "is a bert"),
    ],
)
def test_what_does_not_fit_is_refused(act: Callable[[Path], object], message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        act(tmp_path)


def test_a_model_with_code_of_its_own_is_refused_and_nothing_of_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """transformers asks on the terminal, and runs the code on y: nobody may be asked."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "own", "auto_map": {"AutoConfig": "own.C"}}')
    (folder / "own.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w')\nfrom transformers import RobertaConfig\n"
        "class C(RobertaConfig):\n    model_type = 'own'\n"
    )
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    with pytest.raises(UserError, match="Python code of its own"):
        check_model(str(folder), PretrainSettings(model=SHAPE))
    assert not (tmp_path / "ran").exists()


def test_weights_as_a_pickle_that_does_more_than_weights_are_refused(tmp_path: Path) -> None:
    source = publish(tmp_path / "model")

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return open, (str(tmp_path / "ran"), "w")

    (tmp_path / "model" / "model.safetensors").unlink()
    torch.save({"x": Evil()}, tmp_path / "model" / "pytorch_model.bin")
    with pytest.raises(UserError, match="has its weights as a pickle alone"):
        load(source, ENTRIES)
    assert not (tmp_path / "ran").exists()
