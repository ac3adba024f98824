"""Functions for scripts (`from hunmin import …`): the commands' own, with paths and Python values in and out.

Wrong values raise `HunminError` with the value, the rule and the fix, as the commands print them. What starts
processes (`run_recipe`, `finetune`) belongs under `if __name__ == "__main__":`, as with Python's multiprocessing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

Document = str | Sequence[str]
"""Text of a document, or its sentences."""


class TextEncoder:
    """Turns text into ids of a tokenizer folder, as the encode stage does: exactly `AutoTokenizer`'s, faster.

    Args:
        tokenizer: folder that `hunmin tokenizer train`, a run, or an export has written; a run's folder; or a name on
            the hub (OWNER/NAME[@REVISION]).

    Raises:
        HunminError: there is none, or it is not WordPiece with BERT's pre-tokenizer.
    """

    def __init__(self, tokenizer: str | Path) -> None:
        from common.names import find
        from tokenizer.encoder import Encoder
        from tokenizer.save import load_tokenizer

        folder = find(tokenizer, "tokenizer")
        self._encoder = Encoder(load_tokenizer(folder), folder)
        self.special_ids: dict[str, int] = self._encoder.special_ids
        """Ids of "cls", "pad", "sep", "unk" and "mask"."""
        self.vocab_size: int = self._encoder.vocab_size

    def encode(self, documents: Sequence[Document]) -> list[np.ndarray]:
        """Return the ids of each document, unsigned, (T,), ended by [SEP] and without [CLS]; of one that holds no
        token, an empty array.

        Args:
            documents: any number; a sentence more or less changes no id, as words are never cut across whitespace.
        """
        lists = [[document] if isinstance(document, str) else list(document) for document in documents]
        ids = self._encode(lists)
        if len(ids) == len(lists):
            return ids
        alone = [self._encode([each]) for each in lists]  # the encoder leaves out those without a token
        return [ids[0] if ids else np.empty(0, self._encoder.dtype) for ids in alone]

    def _encode(self, lists: list[list[str]]) -> list[np.ndarray]:
        import pyarrow as pa

        batch = self._encoder.encode(pa.array(lists, pa.list_(pa.string())))
        return [batch.tokens_T[start:end] for start, end in pairwise(batch.documents.tolist())]


def read_documents(tokens: str | Path) -> Iterator[np.ndarray]:
    """Yield the ids of each document of a token folder, unsigned, (T,), ended by [SEP]; mapped from disk, not copied.

    Args:
        tokens: folder that the encode stage has written (RUN/tokens).

    Raises:
        HunminError: the folder holds no token shards, or they are damaged.
    """
    from tokenizer.shards import TokenShards

    shards = TokenShards(tokens)
    for index in range(len(shards.shards)):
        tokens_T = shards.tokens(index)
        for start, end in pairwise(shards.documents(index).tolist()):
            yield tokens_T[start:end]


def run_recipe(recipe: str | Path, *overrides: str, first: str | None = None, last: str | None = None) -> Path:
    """Do every stage of a recipe that is not done, as `hunmin run` does, with its page and the pushes that `hub:` in it
    asks for, and return the run's folder; called again, it continues where it was stopped.

    Args:
        recipe: its file, or the name of one that comes with hunmin ("quickstart").
        overrides: settings, each "key=value".
        first: stage to do again, with those that depend on it.
        last: stage to stop after.

    Raises:
        HunminError: a setting, an input or a stage is wrong, or the script has no guard (see above).
        KeyboardInterrupt: training received a stop signal; its state is saved.
    """
    from common.process import refuse_unguarded
    from hunmin.pipeline.run_and_publish import run_whole
    from hunmin.recipes.load import load_any_recipe

    refuse_unguarded()
    loaded = load_any_recipe(recipe, overrides, fetch=True)
    run_whole(loaded, first, last)
    return Path(loaded.out)


def finetune(
    model: str | Path, data: str | Path, out: str | Path, *overrides: str, tasks: Sequence[str] = (), seeds: int = 1
) -> list[dict[str, Any]]:
    """Fine-tune a model on KLUE tasks and return a row for each job: "task", "seed", "best" and "last" scores × 100,
    and more ("one_answer": what a collapsed one predicts for all or nearly all examples); called again, it does
    what is not done.

    Args:
        model: folder of an encoder that transformers loads, a run's folder, or a name on the hub
            (OWNER/NAME[@REVISION]).
        data: folder with the benchmark's files, or a data set on the hub (klue/klue).
        out: folder to write.
        overrides: settings of a recipe's `klue` section, each "key=value" ("training.epochs=2").
        tasks: names as in the benchmark ("klue-nli"); none stands for all eight.
        seeds: jobs a task, with seeds 42, 43, …

    Raises:
        HunminError: a setting is wrong, files are missing, a job has failed, or the script has no guard.
    """
    from common.destinations import claim_folder
    from common.names import find, read_commits, write_commits
    from common.process import refuse_unguarded
    from common.settings import apply_overrides, inside, parse_settings
    from klue.job import refuse_edited
    from klue.result_rows import read_rows
    from klue.runner import run_klue
    from klue.settings import KlueSettings

    refuse_unguarded()
    commits = read_commits(Path(out))
    folder = find(model, "model", commits)
    tree: dict[str, Any] = {"data": str(find(data, "dataset", commits)), "seeds": seeds} | (
        {"tasks": list(tasks)} if tasks else {}
    )
    settings = parse_settings(KlueSettings, apply_overrides(tree, inside(overrides, "klue")), "finetune")
    claim_folder(Path(out), "KLUE scores")
    refuse_edited(Path(out))
    write_commits(Path(out), commits)
    run_klue(settings, folder, Path(out))
    return read_rows(Path(out))
