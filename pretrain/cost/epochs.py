"""Epochs of a training, and how many suit a masked language model."""

from __future__ import annotations

BYTES_PER_TOKEN = 4.7
"""Bytes a token of Korean UTF-8 text in a vocabulary of 32,000 entries; of the embedded sample 4.8."""
EPOCHS = 40
"""Epochs of a new recipe at most: BERT's (Devlin et al., 2019, A.2)."""
MANY = 100
"""More epochs than this are warned of."""
LEAST_STEPS = 100
"""Steps of a new recipe at least, however little text there is."""


def epochs_of(tokens: float, text_bytes: float) -> float:
    """Return about how often training on so many tokens reads a text."""
    return tokens * BYTES_PER_TOKEN / text_bytes


def fitting_steps(text_bytes: float, tokens_per_step: int, most: int) -> int:
    """Return steps, `most` of them at most, that read a text about `EPOCHS` times; two digits are not zero."""
    steps = EPOCHS * text_bytes / BYTES_PER_TOKEN / tokens_per_step
    return most if steps >= most else max(LEAST_STEPS, int(float(f"{steps:.1e}")))
