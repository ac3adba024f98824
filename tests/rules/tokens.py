"""What tokenizer and encode make of fixed text: entries, normaliser and pre-tokenizer; ids and boundaries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

from data.shards import shard_name, write_shard_manifest
from tokenizer.encode import encode_corpus
from tokenizer.extend import continue_tokenizer
from tokenizer.save import build_tokenizer, save_tokenizer
from tokenizer.settings import SPECIAL_TOKENS, EncodeSettings, TokenizerSettings
from tokenizer.shards import TokenShards
from tokenizer.train import train_tokenizer

from ..tokenizer.conftest import write_corpus
from ..tokenizer.made_up_text import made_up_lines

TOKENIZER_CODE = tuple(
    f"tokenizer/{name}.py"
    for name in (
        *("counting", "counts", "extend", "morphemes", "pipeline", "sampling", "save", "settings", "train", "unigram"),
        *("wordpiece", "words"),
    )
)
ENCODE_CODE = tuple(
    f"tokenizer/{name}.py"
    for name in ("encode", "encoder", "pipeline", "save", "settings", "shards", "table", "trie", "words")
)
INPUT = ("tests/rules/tokens.py", "tests/tokenizer/made_up_text.py", "tests/tokenizer/conftest.py")
TRAININGS: dict[str, dict[str, Any]] = {
    "morpheme": {"unused": 3, "user_tokens": ["<글>"]},
    "bert": {"special": "bert", "pretokenizer": "none", "vocab_size": 200},
    "few characters": {"min_character_count": 40, "min_pair_count": 5, "vocab_size": 180},
    "sample": {"sample_mb": 0.02, "vocab_size": 200, "seed": 7},
}
NOT_TRAINED = ("kiwi", "unigram")
"""Choices whose vocabulary an extra decides, that is not everywhere."""
EDGES = ["\u1100\u1161\u11a8 café漢字 ab\u200bc.", "가" * 101 + " 끝", "", "\u0001", "학교에서  학교에서는\u3000왔다"]


def tokenizer_output(folder: Path) -> dict[str, Any]:
    """Train the vocabularies, and extend one, below a folder; return their entries in order and how they cut text."""
    lines = made_up_lines(600, seed=3)
    documents = [[*lines[start : start + 3], *EDGES[:1]] for start in range(0, 600, 3)]
    documents += [["쥐가 벽을 갉는다."], ["갉은 벽이다."]]  # a character just as often as it must occur
    corpus = write_corpus(folder / "corpus", [documents[:120], documents[120:]])
    output = {}
    for name, changes in TRAININGS.items():
        settings = TokenizerSettings(**{"vocab_size": 240, "min_character_count": 2, "workers": 1, **changes})
        output[name] = _described(folder / name, train_tokenizer, settings, corpus)
    base = TokenizerSettings(base=str(folder / "bert"), vocab_size=230, min_character_count=2, workers=1)
    return output | {"extended": _described(folder / "extended", continue_tokenizer, base, corpus)}


def _described(out: Path, make: Any, settings: TokenizerSettings, corpus: Path) -> dict[str, Any]:
    out.mkdir()
    counts = make(settings, corpus, out)
    tree = json.loads((out / "tokenizer.json").read_bytes())
    config = json.loads((out / "tokenizer_config.json").read_bytes())
    names = ("normalizer", "pre_tokenizer", "post_processor", "added_tokens")
    config_keys = ("model_max_length", "model_input_names", "do_lower_case", "strip_accents")
    return {
        "entries": (out / "vocab.txt").read_text(encoding="utf-8").split("\n"),
        **{name: tree[name] for name in names},
        "config": {name: config.get(name) for name in config_keys},
        "counts": {name: value for name, value in counts.items() if isinstance(value, int)},
    }


def unhit_by_tokenizer(output: dict[str, Any]) -> list[str]:
    """Return the choices of the tokenizer's settings that no training takes."""
    fields = TokenizerSettings.model_fields
    taken = {value for changes in TRAININGS.values() for value in changes.values() if isinstance(value, str)}
    taken |= {field.default for field in fields.values() if isinstance(field.default, str)} | set(NOT_TRAINED)
    choices = [*SPECIAL_TOKENS, *get_args(fields["model"].annotation), *get_args(fields["pretokenizer"].annotation)]
    left_out = [name for name in ("characters_left_out",) if not output["few characters"]["counts"].get(name)]
    return [f"choice {name}" for name in choices if name not in taken] + left_out


def encode_output(folder: Path) -> dict[str, Any]:
    """Encode a fixed corpus by a fixed vocabulary below a folder, and return ids, boundaries and facts."""
    lines = made_up_lines(240, seed=4)
    documents = [lines[start : start + 1 + start % 4] for start in range(0, 240, 4)]
    documents += [[edge, lines[n]] for n, edge in enumerate(EDGES)] + [[], ["\u0001"]]
    corpus = write_corpus(folder / "corpus", [documents[:40], documents[40:60], documents[60:]])
    path = corpus / "shards" / shard_name(1)
    write_shard_manifest(path, {"copies": 3})
    tokenizer, out = folder / "tokenizer", folder / "tokens"
    for made_folder in (tokenizer, out):
        made_folder.mkdir()
    save_tokenizer(build_tokenizer(vocabulary(), "roberta"), "roberta", 64, tokenizer)
    counts = encode_corpus(EncodeSettings(workers=1), corpus, tokenizer, out)
    shards = TokenShards(out)
    return {
        "counts": counts,
        "special": shards.special_ids,
        "shards": [
            {
                "ids": shards.tokens(n),
                "documents": shards.documents(n),
                "sentences": shards.sentences(n),
                "copies": shards.copies(n),
            }
            for n in range(len(shards.shards))
        ],
    }


def vocabulary() -> list[str]:
    """Return a fixed vocabulary: characters of the made-up text but for a few, and some of its pieces."""
    text = "".join(made_up_lines(240, seed=4))
    characters = sorted(set(text) - set(" 漢"))
    pieces = ["학교", "학교에", "##에서", "연구", "##자", "인공", "##지능", "먹었", "##습니다", "GP", "##U"]
    entries = [*SPECIAL_TOKENS["roberta"], *characters, *(f"##{character}" for character in characters), *pieces]
    return list(dict.fromkeys(entries))


def unhit_by_encode(output: dict[str, Any]) -> list[str]:
    """Return what the encoded text lacks: unknown words, empty documents, shards with copies."""
    copies = {shard["copies"] for shard in output["shards"]}
    return [*(name for name in ("unk", "empty_documents") if not output["counts"][name]),
            *(["copies"] if copies != {1, 3} else [])]  # fmt: skip
