"""Invented Korean-looking documents, and copies of them with a share of the characters changed."""

import random

SYLLABLES = [chr(code) for code in range(0xAC00, 0xAC00 + 1200)]


def document(rng: random.Random, size: int = 300) -> str:
    """Return a document of about `size` syllables in words of two to four."""
    words, left = [], size
    while left > 0:
        words.append("".join(rng.choices(SYLLABLES, k=rng.randint(2, 4))))
        left -= len(words[-1])
    return " ".join(words)


def edited(rng: random.Random, text: str, share: float) -> str:
    """Return the text with a share (0 to 1) of its characters replaced."""
    letters = list(text)
    for place in rng.sample(range(len(letters)), round(share * len(letters))):
        letters[place] = rng.choice(SYLLABLES)
    return "".join(letters)


def shingles(text: str) -> set[str]:
    """Return the slow way's set of 5-character shingles."""
    solid = "".join(text.split())
    return {solid[at : at + 5] for at in range(max(len(solid) - 4, 1))}


def jaccard(text: str, other: str) -> float:
    """Return the exact similarity of two texts."""
    a, b = shingles(text), shingles(other)
    return len(a & b) / len(a | b)


def planted(count: int, shares: tuple[float, ...], seed: int = 3) -> list[str]:
    """Return invented documents and edited copies of half of them, mixed."""
    rng = random.Random(seed)
    texts = [document(rng, rng.randint(80, 500)) for _ in range(count)]
    texts += [edited(rng, text, rng.choice(shares)) for text in texts[: count // 2] for _ in range(2)]
    rng.shuffle(texts)
    return texts
