"""The tokenizer folder: written so that transformers loads it, cased and with NFC, and read back by the encoder.

The saved class is PreTrainedTokenizerFast, which takes tokenizer.json as it is. BertTokenizer would rebuild the
pipeline from the vocabulary alone and lose the NFC step (and lower-case by default), so it is not named.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, processors

from common.errors import UserError
from common.files import atomic_write
from common.model_files import check_small_files
from tokenizer.pipeline import CONTINUATION, MAX_WORD_CHARACTERS, normalizer, pre_tokenizer
from tokenizer.settings import SPECIAL_TOKENS

TOKENIZER_FILE = "tokenizer.json"
CONFIG_FILE = "tokenizer_config.json"
VOCABULARY_FILE = "vocab.txt"
PROBE = "훈민 abc 1\U00013080"
"""Text that any tokenizer encodes; its last letter, of ancient Egypt, is in no vocabulary."""
_ROLES = {"cls": "[CLS]", "pad": "[PAD]", "sep": "[SEP]", "unk": "[UNK]", "mask": "[MASK]"}


def build_tokenizer(vocabulary: list[str], special: str, user_tokens: Sequence[str] = ()) -> Tokenizer:
    """Return the WordPiece tokenizer of a vocabulary.

    Args:
        vocabulary: entries in the order of their ids, special and user tokens included.
        special: preset of `SPECIAL_TOKENS`; "bert" gives a second sentence token type 1, "roberta" 0.
    """
    ids = {token: index for index, token in enumerate(vocabulary)}
    built = Tokenizer(
        models.WordPiece(
            ids,
            unk_token="[UNK]",
            max_input_chars_per_word=MAX_WORD_CHARACTERS,
            continuing_subword_prefix=CONTINUATION,
        )
    )
    built.pre_tokenizer = pre_tokenizer()
    built.decoder = decoders.WordPiece(prefix=CONTINUATION, cleanup=False)
    return frame(built, special, user_tokens)


def frame(built: Tokenizer, special: str, user_tokens: Sequence[str] = ()) -> Tokenizer:
    """Return a tokenizer with the project's normalizer, special tokens and what stands around a text, set in place."""
    built.normalizer = normalizer()
    ids = built.get_vocab()
    second = 1 if special == "bert" else 0
    built.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair=f"[CLS] $A [SEP] $B:{second} [SEP]:{second}",
        special_tokens=[(token, ids[token]) for token in ("[CLS]", "[SEP]")],
    )
    built.add_special_tokens(list(SPECIAL_TOKENS[special]))
    # found in the text as it is, before the normalizer
    built.add_tokens([AddedToken(token, normalized=False) for token in user_tokens])
    return built


def save_tokenizer(built: Tokenizer, special: str, max_length: int, out: Path) -> None:
    """Write tokenizer.json, tokenizer_config.json (`max_length`: tokens), special_tokens_map.json and vocab.txt."""
    roles = {f"{role}_token": token for role, token in _ROLES.items()}
    inputs = ["input_ids", "token_type_ids", "attention_mask"] if special == "bert" else ["input_ids", "attention_mask"]
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": max_length,
        "model_input_names": inputs,
        "clean_up_tokenization_spaces": False,
        "do_lower_case": False,
        "strip_accents": False,
        "tokenize_chinese_chars": True,
        **roles,
    }
    with atomic_write(out / TOKENIZER_FILE, as_given=True) as stream:
        stream.write(built.to_str(pretty=True) + "\n")
    for name, content in ((CONFIG_FILE, config), ("special_tokens_map.json", roles)):
        with atomic_write(out / name) as stream:
            json.dump(content, stream, ensure_ascii=False, indent=1, sort_keys=True)
            stream.write("\n")
    with atomic_write(out / VOCABULARY_FILE, as_given=True) as stream:
        stream.writelines(token + "\n" for token in entries(built))


def entries(built: Tokenizer) -> list[str]:
    """Return the vocabulary of a tokenizer in the order of its ids."""
    ids = built.get_vocab()
    return sorted(ids, key=ids.__getitem__)


def load_tokenizer(folder: str | Path) -> Tokenizer:
    """Return the tokenizer of a folder for plain text: literal "[MASK]" and the like are split like any other text.

    Raises:
        UserError, HunminError: as `read_tokenizer`.
    """
    loaded = read_tokenizer(folder)
    loaded.encode_special_tokens = True
    loaded.no_truncation()
    loaded.no_padding()
    return loaded


def read_tokenizer(folder: str | Path, changed: bool = False) -> Tokenizer:
    """Return the tokenizer of a folder as it is saved there: in tokenizer.json, or as BERT's vocab.txt.

    Args:
        changed: its files may differ from its manifest.

    Raises:
        UserError: the folder holds neither, a file that does not load, or a WordPiece vocabulary without its unknown
            token.
        HunminError: files are not those of the folder's manifest.
    """
    path = Path(folder) / TOKENIZER_FILE
    check_small_files(Path(folder), changed)
    if not path.is_file():
        if (path.with_name(VOCABULARY_FILE)).is_file() and (path.with_name(CONFIG_FILE)).is_file():
            from transformers import BertTokenizer

            try:
                tokenizer = BertTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
                return tokenizer.backend_tokenizer
            except Exception as error:  # of many kinds, by what is wrong
                raise UserError(
                    f"{folder} is damaged: {error}", f"{VOCABULARY_FILE} and {CONFIG_FILE} are whole", "restore them"
                ) from None
        raise UserError(
            f"{folder} holds no {TOKENIZER_FILE}",
            f"a tokenizer is a folder in the form of transformers ({TOKENIZER_FILE}; or BERT's {VOCABULARY_FILE} with "
            f"{CONFIG_FILE}, which says whether it is cased)",
            "make one with: hunmin tokenizer train",
        )
    try:
        loaded = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises bare Exception for a file it cannot parse
        raise UserError(f"{path} is damaged: {error}", "tokenizer.json is whole", "train it again") from None
    model = loaded.model
    if isinstance(model, models.WordPiece) and model.token_to_id(model.unk_token) is None:
        raise UserError(
            f"the vocabulary in {folder} lacks {model.unk_token}",
            "a WordPiece vocabulary has an entry for words that it cannot cut",
            "add it to tokenizer.json, or train a vocabulary with: hunmin tokenizer train",
        )
    check_encoding(lambda *texts: loaded.encode(*texts).ids, folder, 1 + max(loaded.get_vocab().values(), default=-1))
    return loaded


def check_encoding(encode: Callable[..., Sequence[int]], folder: str | Path, rows: int) -> None:
    """Refuse a tokenizer that cannot encode, or gives an id that has no entry, or no embedding.

    Args:
        encode: from a text, or two, to ids, with the marks around them.
        folder: of the tokenizer.
        rows: ids that there are.

    Raises:
        UserError: it is one.
    """
    try:
        largest = max((*encode(PROBE), *encode(PROBE, PROBE)), default=0)
    except Exception as error:  # of many kinds
        raise UserError(
            f"the tokenizer of {folder} cannot encode {PROBE!r}: {' '.join(str(error).split())[:300]}",
            "a tokenizer encodes any text",
            "fix tokenizer.json, or fetch the folder again",
        ) from None
    if largest >= rows:
        raise UserError(
            f"the tokenizer of {folder} gives the id {largest:,}, there are {rows:,}",
            "each id of a tokenizer has an entry, and a row of the model's embeddings",
            "put the tokenizer that the model was trained with into the folder",
        )


def vocabulary_size(loaded: Tokenizer, folder: str | Path) -> int:
    """Return the number of entries, which are numbered from 0 without gaps.

    Raises:
        UserError: there are gaps (a model of that many entries would have no row for the largest ids), or entries
            share an id.
    """
    ids = loaded.get_vocab().values()
    size, last = len(ids), max(ids, default=-1)
    if len(set(ids)) < size:
        raise UserError(
            f"entries of the tokenizer in {folder} share an id: {size:,} entries have {len(set(ids)):,} ids",
            "every entry has an id of its own",
            "renumber its added tokens in tokenizer.json",
        )
    if last + 1 != size:
        raise UserError(
            f"the ids of the tokenizer in {folder} have gaps: {size:,} entries, the last with id {last:,}",
            "entries are numbered from 0 without gaps, as the lines of vocab.txt are",
            "renumber its added tokens in tokenizer.json",
        )
    return size


def special_ids(loaded: Tokenizer, folder: str | Path) -> dict[str, int]:
    """Return the ids of cls, pad, sep, unk and mask.

    Raises:
        UserError: the vocabulary lacks one of them.
    """
    by_role = {role: loaded.token_to_id(token) for role, token in _ROLES.items()}
    ids = {role: index for role, index in by_role.items() if index is not None}
    lacking = [token for role, token in _ROLES.items() if role not in ids]
    if lacking:
        raise UserError(
            f"the vocabulary in {folder} lacks {', '.join(lacking)}",
            f"a vocabulary holds {', '.join(_ROLES.values())}",
            "train the tokenizer with hunmin, or add the tokens to its vocabulary",
        )
    return ids
