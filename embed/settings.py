"""Settings of the embed stage."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from common.errors import UserError, nearest
from common.extras import require
from common.settings import Settings, load_yaml, place, runtime
from pretrain.settings import Tracking, Wandb

Use = Literal["klue-nli", "kornli", "klue-sts", "korsts", "question_pair", "klue-mrc", "korquad"]
TASKS: dict[str, Any] = load_yaml(Path(__file__).with_name("tasks.yaml"))["tasks"]
"""Name of each task that is scored → where its data are; see the file."""
RETRIEVAL = [name for name, task in TASKS.items() if "columns" not in task]
"""Tasks of queries and documents, which alone have prompts, an index, and scores of multi-vector models."""


class PromptSettings(Settings):
    """Texts put before each query and each document. The model saves them, and scoring puts them there too."""

    query: str = ""
    """Text put before each query; "" adds nothing."""
    document: str = ""
    """Text put before each positive and negative; "" adds nothing."""


class EmbedDataSettings(Settings):
    """A data set to tune on: a file of JSON Lines, or one that is built in."""

    path: str | None = place(None)
    """JSON Lines (plain, .gz, .zst): `{query, positive, negatives?, scores?}` or `{text_a, text_b, score}` a line."""
    use: Use | None = None
    """Built-in set, read from the authors' files in `embed.sources`."""
    split: Literal["train", "dev"] = "train"
    """Split of a built-in set. Scores on a split that was trained on are meaningless."""
    weight: float = Field(1.0, gt=0)
    """Passes over the set in an epoch: 0.5 takes half of its batches, 2 takes each row twice."""
    prompts: PromptSettings = PromptSettings()
    """Prompts of queries and documents. All sets with queries have the same ones."""
    range: tuple[float, float] = (0.0, 1.0)
    """Lowest and highest `score` of a file of scored pairs. Built-in sets have their own."""
    distill: Literal["margin-mse", "kl"] = "margin-mse"
    """Loss of rows with a teacher's `scores`, each -1 to 1 like the cosines that learn from them: squared error of the
    margins, or KL divergence at `embed.temperature`."""
    licence: str = ""
    """Licence of the file, for the card. Built-in sets have their own."""

    @model_validator(mode="after")
    def _one_source(self) -> EmbedDataSettings:
        if (self.path is None) == (self.use is None):
            raise ValueError("give path or use, and not both")
        if not self.range[0] < self.range[1]:
            raise ValueError(f"range {list(self.range)} is empty: the lowest score comes first")
        return self


class MineSettings(Settings):
    """Documents close to a query that do not answer it."""

    model: str | None = place(None)
    """Model that finds candidates: a folder of sentence embeddings, an encoder, a run, or hf:OWNER/NAME@COMMIT. None is
    the model that this recipe has tuned. `rerank score` reorders its ranking."""
    negatives: int = Field(3, ge=1)
    """Negatives per row. Rows with fewer candidates are left out and counted."""
    margin: float = Field(0.05, ge=0, lt=1)
    """Share of the positive's score by which a negative must score lower. Raise it if true answers are among the
    negatives."""
    reranker: str | None = place(None)
    """Cross-encoder that scores the candidates: a folder, a run, or hf:OWNER/NAME@COMMIT. None keeps the cosines."""
    max_score: float | None = None
    """Highest score of a negative: a reranker's (0 to 1), else a cosine. None sets no limit."""
    scores: bool = False
    """Write the scores as well. Rows with scores are trained by `distill`, rows without by ranking."""


class RerankSettings(Settings):
    """A cross-encoder: query and document together to one score."""

    model: str | None = place(None)
    """Cross-encoder that `score` and `teach` use: a folder, a run, or hf:OWNER/NAME@COMMIT. None is the one that this
    recipe has tuned."""
    max_seq_len: int = Field(256, ge=8)
    """Maximum tokens of query and document together; the longer one is truncated."""
    batch: int = Field(32, ge=2)
    """Pairs per step over all processes."""
    learning_rate: float | None = Field(None, gt=0)
    """Peak learning rate; it falls linearly to 0. None is `embed.learning_rate`, which suits the size of the base, or
    3e-4 if that is lower: small cross-encoders stall at 1e-3."""
    epochs: int = Field(1, ge=1)
    """Passes over the pairs."""
    steps: int | None = Field(None, ge=1)
    """Optimizer steps, instead of epochs."""
    first: int = Field(50, ge=2)
    """Documents of the embedder's ranking that `score` reorders."""


class EmbedSettings(Settings):
    """An encoder and data sets to a model of sentence embeddings."""

    base: str | None = place(None)
    """Encoder to tune: a transformers folder or hf:OWNER/NAME@COMMIT, loaded without remote code. None is the export of
    this recipe's run."""
    sources: tuple[str, ...] = place(())
    """Folders of the authors' sets, for `use` and `score`: KLUE's layout, or one folder per set. Subfolders are
    searched. If the recipe has a klue section, its folders are the default."""
    data: list[EmbedDataSettings] = Field(min_length=1)
    """Data sets to tune on. Their batches are mixed in proportion to size × weight; each batch comes from one set."""
    kind: Literal["dense", "multi-vector"] = "dense"
    """`dense`: one vector per text. `multi-vector`: one vector per token, compared by MaxSim (late interaction), for
    retrieval alone. Its index is many times as large."""
    pooling: Literal["mean", "cls"] = "mean"
    """Vector of a text: the mean over its tokens, or the first token's."""
    token_width: int = Field(128, ge=1)
    """Width of each vector of a multi-vector model. The index grows with it."""
    max_seq_len: int = Field(128, ge=4)
    """Maximum tokens of a text, at most the base's positions; longer texts are truncated and counted."""
    batch: int = Field(64, ge=2)
    """Rows per step over all processes. In the ranking loss all other rows are negatives, so make it as large as time
    allows."""
    mini_batch: int | None = Field(None, ge=1)
    """Texts that a process encodes at once for the cached ranking loss, which gives the same gradients in less memory.
    None keeps the whole batch in memory."""
    learning_rate: float = Field(2e-5, gt=0)
    """Peak learning rate; it falls linearly to 0. Small models need up to 1e-3."""
    warmup_share: float = Field(0.1, ge=0, lt=1)
    """Share of all steps in which the rate rises from 0."""
    epochs: int = Field(1, ge=1)
    """Passes over the data sets, before their weights are applied."""
    steps: int | None = Field(None, ge=1)
    """Optimizer steps, instead of epochs."""
    temperature: float = Field(0.05, gt=0)
    """Temperature of the cosines in the ranking and CoSENT losses, and in `kl` of the teacher's scores too. Lower ones
    weigh the hardest negatives more."""
    matryoshka: tuple[int, ...] = ()
    """Smaller widths at which truncated vectors shall work too. Each adds a loss; () trains the full width alone."""
    guide: str | None = place(None)
    """Sentence-transformers model, folder or hf:OWNER/NAME@COMMIT, that drops false negatives: candidates that it ranks
    closer to the query than the positive. It reads the texts with its own tokenizer, prompts and length."""
    score: tuple[str, ...] = ()
    """Tasks to score the tuned model on, by mteb's names. Training rows that contain a scored pair are removed."""
    mine: MineSettings = runtime(MineSettings())
    """Hard negatives of `hunmin embed mine`: documents close to a query that do not answer it."""
    rerank: RerankSettings = runtime(RerankSettings())
    """Cross-encoder of `hunmin embed rerank`, tuned on `embed.data` from `embed.base`. What is not set here is as in
    `embed`; prompts are not used."""
    seed: int = Field(42, ge=0, lt=2**32)
    """Seed of batches and dropout."""
    dtype: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    """Type of the computation; weights are fp32. `auto`: bf16 on a GPU that has it, else fp32."""
    processes: int = runtime(1, ge=1)
    """Processes on this machine, one per GPU. They share a batch, and negatives are gathered from all. A run must
    resume with the number that it began with."""
    threads: int | None = runtime(None, ge=1)
    """CPU threads per process; None divides the cores. On a CPU, bit-equal reruns need the same number."""
    checkpoint_every: int = runtime(200, ge=1)
    """Steps between checkpoints; a kill loses at most this many."""
    keep_last: int = runtime(2, ge=1)
    """Checkpoints kept. With one, nothing is left to resume from where it is damaged."""
    log_every: int = runtime(10, ge=1)
    """Steps between two lines of metrics."""
    tracking: Tracking = runtime([])
    """Trackers that show the metrics: `wandb` (as `wandb: auto`), `trackio`, `tensorboard` (files in the stage's
    `logs/tensorboard`). trackio and tensorboard are extras of these names. `metrics.jsonl` is written in any case."""
    wandb: Wandb = runtime("off")
    """`auto`: online when logged in, else offline. `off`: nothing is sent unless `tracking` names wandb; metrics go to
    JSON Lines in any case."""
    wandb_project: str = runtime("hunmin")
    """Project name in wandb and trackio."""

    @field_validator("matryoshka")
    @classmethod
    def _widths(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if min(value, default=1) < 1 or len(set(value)) < len(value):
            raise ValueError("widths are different whole numbers above 0")
        return value

    @field_validator("score")
    @classmethod
    def _tasks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in TASKS:
                raise ValueError(f"no task '{name}'{nearest(name, list(TASKS))}; there are {', '.join(TASKS)}")
        return value

    @model_validator(mode="after")
    def _fit(self) -> EmbedSettings:
        if (self.mini_batch or self.guide) and self.dtype == "fp16":
            raise ValueError(
                "the cached loss (mini_batch, guide) gives NaN in fp16: use dtype=bf16, or neither of them"
            )
        if self.batch % self.processes:
            raise ValueError(f"batch ({self.batch}) must be a multiple of processes ({self.processes})")
        if self.steps and "epochs" in self.model_fields_set and self.epochs > 1:
            raise ValueError("give steps or epochs, and not both")
        if self.kind == "multi-vector":
            self._refuse_dense_settings()
        if self.prompts != PromptSettings() and self.score and not {*RETRIEVAL} & {*self.score}:
            raise ValueError("prompts are trained but not scored: add a retrieval task to score (SQuADKorV1Retrieval)")
        return self

    def _refuse_dense_settings(self) -> None:
        rated = next((entry.use for entry in self.data if entry.use in ("klue-sts", "korsts")), None)
        single = next((name for name in self.score if name not in RETRIEVAL), None)
        for name, value in (
            ("pooling", self.pooling if self.pooling != "mean" else None),
            ("matryoshka", [*self.matryoshka] or None), ("guide", self.guide), ("data[].use", rated), ("score", single),
        ):  # fmt: skip
            if value is not None:
                raise ValueError(
                    f"{name}={value} needs one vector per text, and kind=multi-vector gives one per token: take it out,"
                    " or set kind=dense"
                )

    @property
    def prompts(self) -> PromptSettings:
        """Return the prompts of the sets with queries, which have the same ones."""
        return next((data.prompts for data in self.data if data.prompts != PromptSettings()), PromptSettings())


TABLE = "table.json"
"""File in a folder of scores: the table of the last command; results of other settings stand beside."""
GRAPHS = {"onnx": "onnx/encoder.onnx", "onnx-int8": "onnx/encoder_qint8.onnx"}
"""Back end → its graph in a model's folder, as `hunmin export MODEL --onnx --int8` writes it."""
GGUF = "model-f32.gguf"
"""A model as llama.cpp loads it, in its folder, as `hunmin export MODEL --gguf` writes it."""


def require_mteb() -> None:
    """Raise a UserError where mteb cannot score: an older Python, or no mteb."""
    if sys.version_info < (3, 11):
        problem = (
            f"mteb, which scores embeddings, needs Python 3.11; this is {'.'.join(map(str, sys.version_info[:2]))}"
        )
        raise UserError(problem, fix="use a newer one")
    require("mteb", "scoring embeddings", "embed")
