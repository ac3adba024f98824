"""Sentencepiece's unigram model (Kudo 2018) on whole words, in the form of HF tokenizers, to compare vocabularies with.

The trainer is sentencepiece itself (an extra): that of the tokenizers library gives other scores on every run.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from common.errors import UserError

UNKNOWN = "[UNK]"


def train_unigram(
    words: Iterable[Mapping[str, int]], special: list[str], alphabet: list[str], size: int, work: Path
) -> Tokenizer:
    """Return a unigram tokenizer (model, pre-tokenizer and decoder) of `size` entries, `special` first.

    Args:
        words: whole words and how often each occurs, in parts that have no word in common.

    Raises:
        UserError: sentencepiece is not installed, the words do not yield that many entries, or a piece is a user
            token, too.
    """
    try:
        import sentencepiece
    except ImportError:
        raise UserError(
            "sentencepiece is not installed", "tokenizer.model=unigram needs the package", "pip install sentencepiece"
        ) from None
    lines = work / "unigram.tsv"
    with lines.open("w", encoding="utf-8") as stream:
        for part in words:
            stream.writelines(f"{word}\t{count}\n" for word, count in part.items())
    trained = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            input=str(lines),
            input_format="tsv",
            model_writer=trained,
            model_type="unigram",
            vocab_size=size - len(special) + 1,  # and its own <unk>, which gives way to ours
            required_chars="".join(alphabet),
            character_coverage=1.0,
            normalization_rule_name="identity",
            bos_id=-1,
            eos_id=-1,
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise UserError(
            f"no unigram vocabulary of {size} entries comes of this corpus: {str(error).splitlines()[0]}",
            "the words yield enough distinct pieces, and every character covered is one",
            "give another vocab_size, or more text",
        ) from None
    finally:
        lines.unlink()
    model = sentencepiece.SentencePieceProcessor(model_proto=trained.getvalue())
    pieces = [(model.id_to_piece(i), model.get_score(i)) for i in range(len(model)) if not model.is_unknown(i)]
    if doubled := {piece for piece, _ in pieces}.intersection(special):
        raise UserError(
            f"{sorted(doubled)} would be in the vocabulary twice: as user tokens, and as pieces of words",
            "every entry has one id",
            "leave them out of tokenizer.user_tokens (--token), or train tokenizer.model=wordpiece (--model)",
        )
    vocabulary = [*((token, 0.0) for token in special), *pieces]
    built = Tokenizer(models.Unigram(vocabulary, unk_id=special.index(UNKNOWN), byte_fallback=False))
    built.pre_tokenizer = pre_tokenizers.Metaspace()
    built.decoder = decoders.Metaspace()
    return built
