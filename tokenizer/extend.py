"""More entries for a WordPiece vocabulary that exists, for further pretraining of a model that was trained with it.

New entries come after the old ones, so every old id keeps its meaning, and the model's embeddings only grow at their
end. Entries are words that are named, and what a vocabulary trained on a new corpus would hold beyond the old one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unicodedata import normalize

from tokenizers import Tokenizer

from common.errors import HunminError, UserError
from common.files import atomic_write
from common.names import find, pinned_name, with_prefix
from common.settings import dump_settings
from tokenizer.card import write_card
from tokenizer.counting import Counted, count_corpus
from tokenizer.pipeline import CONTINUATION, keeps_plain_words
from tokenizer.save import CONFIG_FILE, TOKENIZER_FILE, VOCABULARY_FILE, entries, read_tokenizer, vocabulary_size
from tokenizer.settings import TokenizerSettings
from tokenizer.train import WORK, covered
from tokenizer.wordpiece import learn_entries

KEPT_FILES = (CONFIG_FILE, "special_tokens_map.json", "added_tokens.json")


def continue_tokenizer(settings: TokenizerSettings, corpus: str | Path, out: Path) -> dict[str, Any]:
    """Write the tokenizer of `settings.base` into `out`, with entries learnt from the corpus up to the size asked for.

    Args:
        corpus: text to learn entries from; not read where the base has the size.

    Raises:
        UserError: as `extend_tokenizer`; or the size asked for is below that of the base.
    """
    assert settings.base is not None
    folder = find(with_prefix(settings.base), "tokenizer")
    base = read_tokenizer(folder)
    size = vocabulary_size(base, folder)
    if settings.vocab_size < size:
        raise UserError(
            f"vocab_size {settings.vocab_size} is below the {size} entries of {settings.base}",
            "a vocabulary that exists is taken whole, or extended",
            f"set tokenizer.vocab_size to {size}, or to more",
        )
    if settings.vocab_size > size:
        return extend_tokenizer(folder, out, (), corpus, settings)
    _write(base, folder, out)
    counts = {"vocab_size": size, "entries_before": size, "named": 0, "learnt": 0}
    write_card(out, stated(settings, folder, size, False), _origin(folder, None), counts, ())
    return counts


def extend_tokenizer(
    folder: str | Path,
    out: Path,
    words: Sequence[str] = (),
    corpus: str | Path | None = None,
    settings: TokenizerSettings = TokenizerSettings(),
) -> dict[str, Any]:
    """Write the tokenizer of `folder` with more entries into `out`, and return how many came from where.

    Args:
        words: entries to add, first of all; one that begins with ## continues a word.
        corpus: text to learn further entries from, until the vocabulary has `settings.vocab_size` entries.

    Raises:
        UserError: the tokenizer is no WordPiece, a word is cut by its normalizer or pre-tokenizer, the size asked for
            is not above the present one, or the corpus does not reach it.
    """
    base = read_tokenizer(folder)
    parts = json.loads(base.to_str())
    if parts["model"]["type"] != "WordPiece" or parts["model"]["continuing_subword_prefix"] != CONTINUATION:
        raise UserError(
            f"the tokenizer in {folder} is {parts['model']['type']}",
            f"only WordPiece vocabularies with the prefix {CONTINUATION} can be extended",
            "train a tokenizer with: hunmin tokenizer train",
        )
    vocabulary_size(base, folder)
    ids = base.get_vocab()
    known = set(ids)
    new = [word for word in dict.fromkeys(_whole(base, word, folder) for word in words) if word not in known]
    named = len(new)
    counted = None
    if corpus is not None:
        room = settings.vocab_size - len(known) - named
        if room <= 0:
            raise UserError(
                f"vocab_size {settings.vocab_size} leaves no room: there are {len(known) + named} entries already",
                "an extended vocabulary is larger than the one it extends",
                f"set it above {len(known) + named}",
            )
        _refuse_other_words(parts, folder)
        counted = count_corpus(settings, corpus, out / WORK)
        new += _learn(counted, known.union(new), room, settings)
    if not new:
        raise UserError(
            "nothing to add: every word is in the vocabulary", "an extension has a new entry", "name others"
        )
    # tokens that were added later stand beside the model, and would be numbered anew after its last entry
    parts["model"]["vocab"].update({token["content"]: token["id"] for token in parts["added_tokens"]})
    parts["model"]["vocab"].update({entry: len(known) + place for place, entry in enumerate(new)})
    extended = Tokenizer.from_str(json.dumps(parts))
    if vocabulary_size(extended, out) != len(known) + len(new) or any(extended.token_to_id(t) != ids[t] for t in ids):
        raise HunminError(
            f"the ids of {folder} would not stay as they are", "an extension keeps every id", "report this tokenizer"
        )
    _write(extended, folder, out)
    counts = {
        "vocab_size": extended.get_vocab_size(),
        "entries_before": len(known),
        "named": named,
        "learnt": len(new) - named,
    }
    facts = counts | (counted.facts if counted else {})
    described = stated(settings, folder, counts["vocab_size"], counted is not None)
    figures = write_card(out, described, _origin(folder, counted), facts, counted.held_out if counted else ())
    shutil.rmtree(out / WORK, ignore_errors=True)
    return facts | ({"corpus": counted.corpus} if counted else {}) | figures


def stated(settings: TokenizerSettings, folder: str | Path, size: int, learns: bool) -> dict[str, Any]:
    """Return the settings that an extended tokenizer is made by; all others are those of its base."""
    learning = ("pretokenizer", "min_character_count", "min_pair_count", "sample_mb", "seed")
    values = dump_settings(settings)
    return {
        "base": _named(folder),
        "vocab_size": size,
        **{name: values[name] for name in learning if learns},
    }


def _refuse_other_words(parts: dict[str, Any], folder: str | Path) -> None:
    """Raise a UserError when a tokenizer sees other words in a text than those that entries are learnt from."""
    if (parts["pre_tokenizer"] or {}).get("type") != "BertPreTokenizer" or not keeps_plain_words(parts["normalizer"]):
        raise UserError(
            f"the tokenizer in {folder} changes words (lower case, accents, jamo) or cuts them otherwise than BERT's",
            "entries are learnt from words as they are written; there they could never occur",
            "name entries (--words), or train a vocabulary of your own with: hunmin tokenizer train",
        )


def _origin(folder: str | Path, counted: Counted | None) -> str:
    corpus = f" Corpus: `{counted.corpus or 'of a version nobody knows'}`." if counted else ""
    return f"It continues from `{_named(folder)}`, all of whose ids it keeps.{corpus}"


def _named(folder: str | Path) -> str:
    """Return the name of a base: on the hub with its commit, else its folder's."""
    return pinned_name(folder) or Path(folder).resolve().name


def _write(tokenizer: Tokenizer, folder: str | Path, out: Path) -> None:
    for name in KEPT_FILES:
        if (Path(folder) / name).is_file():
            shutil.copyfile(Path(folder) / name, out / name)
    with atomic_write(out / TOKENIZER_FILE, as_given=True) as stream:
        stream.write(tokenizer.to_str(pretty=True) + "\n")
    with atomic_write(out / VOCABULARY_FILE, as_given=True) as stream:
        stream.writelines(entry + "\n" for entry in entries(tokenizer))


def _whole(base: Tokenizer, word: str, folder: str | Path) -> str:
    """Return a word as WordPiece would see it; UserError where it would see more than one, or none."""
    word = normalize("NFC", word)  # as corpora are; of decomposed Hangul, a base without NFC would take each letter
    prefix, text = (CONTINUATION, word[len(CONTINUATION) :]) if word.startswith(CONTINUATION) else ("", word)
    normalized = base.normalizer.normalize_str(text) if base.normalizer else text
    seen = (
        [piece for piece, _ in base.pre_tokenizer.pre_tokenize_str(normalized)] if base.pre_tokenizer else [normalized]
    )
    if len(seen) != 1:
        raise UserError(
            f"{word!r} is no word to the tokenizer in {folder}: it cuts it into {seen}",
            "an entry holds no whitespace and no punctuation beside other characters",
            "name its parts, or train with tokenizer.user_tokens",
        )
    return prefix + seen[0]


def _learn(counted: Counted, known: set[str], room: int, settings: TokenizerSettings) -> list[str]:
    alphabet = covered(counted, settings)
    forms = {form for character in alphabet for form in (character, CONTINUATION + character)} - known
    if len(forms) > room:
        raise UserError(
            f"vocab_size {settings.vocab_size} leaves {room} entries for what is new: {len(forms)} are needed for the "
            "characters alone",
            "a character is covered in both its forms, at a word's beginning and after it",
            f"set vocab_size above {settings.vocab_size - room + len(forms)}, or raise min_character_count",
        )
    size = max(len(known) + room, 2 * len(alphabet))
    while True:
        learnt = learn_entries(counted.pieces, alphabet, size, settings.min_pair_count, settings.seed)
        new = [entry for entry in learnt if entry not in known]
        if len(new) >= room:
            return new[:room]
        if len(learnt) < size:
            reachable = len(known) + len(new)
            raise UserError(
                f"the corpus is too small for a vocabulary of {settings.vocab_size}: it reaches {reachable} entries",
                "a merge needs a pair of pieces that occurs at least min_pair_count times",
                f"set vocab_size to {reachable} or less, or give more text",
            )
        size += 2 * (room - len(new))  # entries that are known already took the places
