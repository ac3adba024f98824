"""The instruction sample: data sets and tasks by the templates of `instruct.yaml`, and a tiny decoder beside them."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
from pathlib import Path
from typing import Any

from common.files import atomic_write
from common.settings import load_yaml
from hunmin.sample.inflect import Register
from hunmin.sample.josa import josa
from hunmin.sample.lexicon import TOPICS, general
from hunmin.sample.scene import Scene, invent_name
from hunmin.sample.sentences import NARRATIVE
from hunmin.sample.tasks.common import rng_for
from hunmin.sample.template import text_of

SLOT = re.compile(r"\{([a-z]+)(\d*)(?:\.(\d))?(?::(\w+))?\}")
BOARD_ROWS = 24
END = "<|endoftext|>"
VOCABULARY, POSITIONS = 3000, 512
SHAPE = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 512}


class Draw:
    """The values of a row's slots, each drawn once.

    Args:
        rng: of every choice.
        words: lists of `instruct.yaml`.
        number: of the row.
    """

    def __init__(self, rng: random.Random, words: dict[str, list[Any]], number: int) -> None:
        self.rng, self.words = rng, words
        self.drawn: dict[str, Any] = {"n": number, "odd": number % 2, "half": number // 2 % 2}

    def filled(self, value: Any) -> Any:
        """Return a template with its slots filled, whatever it is nested in."""
        if isinstance(value, str):
            return SLOT.sub(self._slot, value)
        if isinstance(value, list):
            return [self.filled(one) for one in value]
        return {key: self.filled(one) for key, one in value.items()} if isinstance(value, dict) else value

    def _slot(self, found: re.Match[str]) -> str:
        name, which, entry, particle = found.groups()
        value = self._value(name, which)
        text = str(value[int(entry)] if entry else value)
        return josa(text, particle) if particle else text

    def _value(self, name: str, which: str) -> Any:
        if name + which not in self.drawn:
            taken = [value for key, value in self.drawn.items() if key.rstrip("0123456789") == name]
            while (value := self._new(name, which)) in taken:
                pass
            self.drawn[name + which] = value
        return self.drawn[name + which]

    def _new(self, name: str, which: str) -> Any:
        rng, topic = self.rng, self.rng.choice(TOPICS)
        if name == "name":
            return invent_name(rng)
        if name == "number":
            return rng.randint(2, 60)
        if name == "sum":
            return self._value("number", "") + self._value("number", "2")
        if name in ("sentence", "polite"):  # of one content in two registers
            scene, template = Scene(rng, topic), rng.choice(NARRATIVE)
            self.drawn[f"sentence{which}"] = scene.say(template)
            self.drawn[f"polite{which}"] = text_of(scene.segments(template, Register.POLITE, keep=True))
            return self.drawn.pop(name + which)
        nouns = {"thing": topic.things, "noun": topic.things, "people": topic.people, "role": topic.people}
        known = {**nouns, "org": topic.orgs, "city": general.CITIES, **self.words}
        before = {"thing": general.MODIFIERS, "people": general.CITIES}.get(name)
        value = rng.choice(known[name])
        return f"{rng.choice(before)} {value}" if before else value


def sample_files(seed: int) -> dict[str, str]:
    """Return path → content of every data set and task, and of a README.

    Args:
        seed: of every choice; each file has a generator of its own.
    """
    tree = load_yaml(Path(__file__).with_suffix(".yaml"))
    files = {name: _file(name, one, tree["words"], seed) for name, one in tree["files"].items()}
    files["README.md"] = tree["readme"]
    return files


def _file(name: str, file: dict[str, Any], words: dict[str, list[Any]], seed: int) -> str:
    rng, kinds, rows = rng_for(seed, "instruct", name), file["kinds"], []
    for number in range(file.get("rows", BOARD_ROWS)):
        row = Draw(rng, words, number).filled(kinds[number % len(kinds)])
        rows += row if isinstance(row, list) and isinstance(row[0], list) else [row]
    rows += file.get("also", [])
    if file.get("numbered"):
        text = json.dumps({str(number): row for number, row in enumerate(rows, 1)}, ensure_ascii=False, indent=1)
    elif isinstance(rows[0], dict):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    else:
        rows = [*([file["header"]] if "header" in file else []), *rows]
        if name.endswith(".csv"):
            stream = io.StringIO()
            csv.writer(stream, lineterminator="\n").writerows(rows)
            text = stream.getvalue()
        else:
            text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
    return "\ufeff" * bool(file.get("bom")) + text


def write_instruct_sample(out: Path, seed: int = 42) -> dict[str, int]:
    """Write the instruction sample into the folder `out` and return counts; the same seed and versions of libraries
    give the same bytes.

    Args:
        out: folder; created if missing.
        seed: of every random choice.
    """
    files = sample_files(seed)
    for name, text in files.items():
        with atomic_write(out / name) as stream:
            stream.write(text)
    parameters = write_decoder(out / "base", list(files.values()), seed)
    return {"files": len(files), "parameters": parameters}


def write_decoder(out: Path, texts: list[str], seed: int) -> int:
    """Write a GPT-NeoX of random weights whose end mark is its padding, as Polyglot-Ko's, and return its parameters.

    Args:
        out: folder for transformers.
        texts: that its tokenizer is trained on.
        seed: of the weights.
    """
    os.environ.setdefault("DS_ACCELERATOR", "cpu")  # DeepSpeed, which transformers imports, warns without a GPU
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM, PreTrainedTokenizerFast
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[END], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )  # fmt: skip
    tokenizer.train_from_iterator(texts, trainer)
    end = tokenizer.token_to_id(END)
    config = GPTNeoXConfig(
        vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=POSITIONS, bos_token_id=end, eos_token_id=end,
        initializer_range=0.05, **SHAPE,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = GPTNeoXForCausalLM(config)
    model.save_pretrained(out)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=END, pad_token=END, model_max_length=POSITIONS
    ).save_pretrained(out)
    return sum(weights.numel() for weights in model.parameters())
