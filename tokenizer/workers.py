"""temporary"""
from __future__ import annotations
from collections.abc import Callable, Iterator, Sequence
from typing import Any
import os
from concurrent.futures import ProcessPoolExecutor
import multiprocessing

def _call(pair):
    return pair[0](*pair[1])

def run_tasks(function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], workers: int | None) -> Iterator[Any]:
    workers = min(workers or os.cpu_count() or 1, len(tasks))
    if workers <= 1:
        for t in tasks:
            yield function(*t)
        return
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("fork")) as pool:
        yield from pool.map(_call, [(function, t) for t in tasks])
