"""Random numbers as a function of integers: 64-bit keys, and the splitmix64 generator for compiled code."""

from __future__ import annotations

import numba
import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""Increment of splitmix64's state: 2**64 divided by the golden ratio, made odd."""


def mix(values: np.ndarray) -> np.ndarray:
    """Return uint64 values scrambled by the splitmix64 finaliser (a bijection on 64 bits), element by element."""
    z = values.astype(np.uint64, copy=True)
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def key_of(*parts: int) -> int:
    """Return a 64-bit key for a tuple of integers, e.g. (seed, epoch, sample): every part is mixed in full."""
    key = np.zeros(1, np.uint64)
    with np.errstate(over="ignore"):
        for part in parts:
            key = mix(key + GOLDEN + np.uint64(part % 2**64))
    return int(key[0])


@numba.njit(cache=True, inline="always")
def next_bits(state):  # type: ignore[no-untyped-def]
    """Return (new state, 64 random bits): splitmix64."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, z ^ (z >> np.uint64(31))


@numba.njit(cache=True, inline="always")
def below(bits, bound):  # type: ignore[no-untyped-def]
    """Return an integer in [0, bound) from 32 of the bits (multiply-shift; the bias is below bound / 2**32)."""
    return np.int64(((bits >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@numba.njit(cache=True, inline="always")
def unit(bits):  # type: ignore[no-untyped-def]
    """Return a float64 in [0, 1) from 53 of the bits."""
    return np.float64(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)
