"""How tokenizers write spaces and the inside of words, so that features mean the same with each of them.

WordPiece marks a token inside a word (##). SentencePiece and byte-level BPE mark the space before a word (▁,
Ġ), as a part of its first token or as a token of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tokenizers import pre_tokenizers

from data.nfc import composed, origins

SIGNS = "▁Ġ"
"""What stands for a space before a word."""
ANCHOR = "가"
"""A word that other text is put behind, to see how it is written in running text."""
BARE = {"add_special_tokens": False, "return_attention_mask": False}
"""How text is tokenised that is put together with other text."""
_BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


class Piece(NamedTuple):
    """A token of a text that was tokenised as a whole."""

    id: int
    start: int
    """First character that it stands for; a space before it does not count."""
    end: int
    """Behind its last character; equal to `start` where it is only a space sign."""


def marks_continuations(tokenizer: Any) -> bool:
    """Return whether the tokenizer is WordPiece: a token inside a word has a form of its own."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return any(token.startswith("##") for token in tokenizer.get_vocab())
    return type(backend.model).__name__ == "WordPiece"


def only_space(rows: Iterable[Sequence[int]], tokenizer: Any) -> set[int]:
    """Return which of the ids in some rows stand for a space and nothing else."""
    ids = sorted(set().union(*rows))
    texts = (tokenizer.decode([token], clean_up_tokenization_spaces=False) for token in ids)
    return {token for token, text in zip(ids, texts, strict=True) if not text.strip(" ")}


def ids_of(texts: Iterable[str], tokenizer: Any) -> dict[str, list[int]]:
    """Return the ids of each text by itself, without special tokens."""
    ordered = sorted(set(texts))
    return dict(zip(ordered, tokenizer(ordered, **BARE)["input_ids"], strict=True))


def in_running_text(texts: Sequence[str], tokenizer: Any) -> list[list[int]]:
    """Return the ids of texts, without special tokens, as they are behind another word and a space. Byte-level BPE
    writes a word behind a space in another way than at the beginning."""
    anchor = tokenizer([ANCHOR], **BARE)["input_ids"][0]
    behind = tokenizer([f"{ANCHOR} {text}" for text in texts], **BARE)["input_ids"]
    if any(ids[: len(anchor)] != anchor for ids in behind):  # the anchor is not written alike: text as it begins
        return list(tokenizer(list(texts), **BARE)["input_ids"])
    return [ids[len(anchor) :] for ids in behind]


def with_places(texts: Sequence[str], tokenizer: Any, **how: Any) -> Any:
    """Return what the tokenizer makes of the composed texts; its offsets are in characters of the texts as given."""
    whole = [composed(text) for text in texts]
    encoded = tokenizer(whole, return_offsets_mapping=True, **{"return_attention_mask": False, **how})
    for number, text in enumerate(texts):
        if whole[number] is not text:
            at = origins(text)
            encoded["offset_mapping"][number] = [(at[a], at[b]) for a, b in encoded["offset_mapping"][number]]
    return encoded


def encode(texts: Sequence[Sequence[str]], tokenizer: Any, max_length: int, token_types: bool) -> dict[str, list[Any]]:
    """Return `input_ids`, `token_type_ids` where they are asked for, and `cut`, whether some text is left out.

    Args:
        texts: one column of texts, or two, a pair an input, which is cut from its longer text.
        max_length: tokens at most, special ones included.
    """
    encoded = tokenizer(
        *map(list, texts),
        truncation=True,
        max_length=max_length,
        return_attention_mask=False,
        return_token_type_ids=token_types,
    )
    ids = {name: encoded[name] for name in ("input_ids", "token_type_ids") if name in encoded}
    return {"cut": cut_rows(ids["input_ids"], texts, tokenizer, max_length), **ids}


def cut_rows(rows: Sequence[Sequence[int]], texts: Sequence[Sequence[str]], tokenizer: Any, room: int) -> list[bool]:
    """Return which inputs a tokenizer has cut; `rows` are their ids, `room` tokens at most."""
    full = [number for number, row in enumerate(rows) if len(row) >= room]
    is_cut = [False] * len(rows)
    if full:
        columns = [[column[number] for number in full] for column in texts]
        whole = tokenizer(*columns, return_attention_mask=False, verbose=False)["input_ids"]
        for number, row in zip(full, whole, strict=True):
            is_cut[number] = len(row) > len(rows[number])
    return is_cut


def pieces(text: str, ids: Sequence[int], offsets: Sequence[tuple[int, int]], spaces: set[int]) -> list[Piece]:
    """Return the tokens of a text with the characters that they stand for."""
    tokens = []
    for token, (start, end) in zip(ids, offsets, strict=True):
        while start < end and text[start].isspace():
            start += 1
        tokens.append(Piece(token, start, start if token in spaces else end))
    return tokens


def cut(tokens: list[Piece], places: Iterable[int], text: str, tokenizer: Any) -> list[Piece]:
    """Return the tokens, those over one of the characters `places` cut in two, where the vocabulary allows."""
    for place in places:
        whole: list[Piece] = []
        for piece in tokens:
            halves = _halves(piece, place, text, tokenizer) if piece.start < place < piece.end else None
            whole += halves or [piece]
        tokens = whole
    return tokens


def _halves(piece: Piece, place: int, text: str, tokenizer: Any) -> list[Piece] | None:
    """Return the tokens of both sides, or None where a side would be unknown, or is not a part of the token's text."""
    token = tokenizer.convert_ids_to_tokens(piece.id)
    bare = token.lstrip(SIGNS)
    left, right = text[piece.start : place], text[place : piece.end]
    by_characters = bare == left + right
    if not by_characters:  # of bytes, of which the first or last character may have some in other tokens
        left, right = _in_bytes(left), _in_bytes(right)
        if not ((left + right).startswith(bare) or (left + right).endswith(bare)):
            return None
    at = len(token) - len(right) if (left + right).endswith(bare) else len(token) - len(bare) + len(left)
    if not 0 < at < len(token):
        return None
    parts: list[Piece] = []
    for side, start, end in ((token[:at], piece.start, place), (token[at:], place, piece.end)):
        made = tokenizer.backend_tokenizer.model.tokenize(side)
        if not made or tokenizer.unk_token_id in [part.id for part in made]:
            return None
        for part in made:
            reached = start + len(part.value.lstrip(SIGNS)) if by_characters else end
            parts.append(Piece(part.id, start, reached))
            start = reached if by_characters else start
    return parts


def _in_bytes(text: str) -> str:
    """Return the characters that byte-level BPE has for the bytes of a text."""
    return "".join(part for part, _ in _BYTES.pre_tokenize_str(text))


def place_of(tokens: Sequence[Piece], character: int, begins: bool) -> int:
    """Return before which token a marker stands that opens (`begins`) or closes at a character. A token that stands on
    both sides is left inside. A space sign belongs to the word behind it."""
    owning = [i for i, piece in enumerate(tokens) if piece.end > piece.start]
    if begins:
        place = next((i for i in owning if tokens[i].end > character), len(tokens))
        while place and tokens[place - 1].end == tokens[place - 1].start:
            place -= 1
        return place
    return 1 + max((i for i in owning if tokens[i].start < character), default=-1)
