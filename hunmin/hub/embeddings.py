"""A tuned model of sentence embeddings on the model hub: its card, `model-index`, `.eval_results/TASK.yaml`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from huggingface_hub import EvalResult

from common.errors import UserError
from common.results import ROUNDING, read_result, unfit
from embed.base import load_model
from embed.card import FACTS, read_facts, write_card
from embed.score import as_markdown, model_revision, published
from embed.settings import GGUF, GRAPHS, TABLE
from embed.tables import FIX, check_main, read_table
from hunmin.hub.card import Language
from hunmin.hub.publish import CARD, send, there
from hunmin.hub.push import check_name
from klue.model_folder import BESIDE_TOKENIZER
from klue.model_folder import TOKENIZER_FILES as ANY_TOKENIZER
from pretrain.export.sentence_embeddings import FILES as EMBEDDING_FILES

MODEL = ("config.json", "model*.safetensors*", *ANY_TOKENIZER, *BESIDE_TOKENIZER, *EMBEDDING_FILES,
         "[1-9]_*/config.json", "[1-9]_*/model.safetensors", *GRAPHS.values(), GGUF, FACTS)  # fmt: skip
"""Files of a tuned model that leave for the hub."""
RESULTS = ".eval_results/*.yaml"
MTEB = "https://github.com/embeddings-benchmark/mteb"


def publish_embeddings(
    folder: Path, repository: str, scores: Path | None = None, private: bool = True, language: Language = "en",
    dry_run: bool = False, license: str | None = None,
) -> str | None:  # fmt: skip
    """Push a tuned model with its card and scores and return the repository's address (None of a dry run).

    Args:
        folder: of the model.
        repository, private, dry_run: of `hunmin.hub.publish.publish`.
        scores: folder that `embed.score.score_models` wrote for it; None pushes none.
        language: of the card.
        license: of the model; None: none is stated.

    Raises:
        UserError: the folder holds no tuned model, the scores are of another model, or a file holds a secret or
            personal data.
        HunminError: as `push`.
    """
    check_name(repository)
    for name in (FACTS, "modules.json"):
        if not (folder / name).is_file():
            rule = "a tuned model is what hunmin embed train writes"
            raise UserError(f"{folder} holds no {name}", rule, "name RUN/embed/model")
    load_model(folder, "cpu")
    facts = read_facts(folder)
    name = repository.partition("/")[2]
    table = ""
    index = []
    files = there(folder, MODEL)
    if scores:
        table = as_markdown(read_table(scores), language)
        for path, content, results in hub_scores(folder, scores):
            files[path] = content
            index += results
    more = {"model_name": name, "eval_results": index} if index else {}
    files[CARD] = write_card(facts, name, table, language, repository, **more)
    ours = (*MODEL, CARD, RESULTS)
    return send(files, repository, "Sentence embeddings", private, dry_run, ours, license=license)


def hub_scores(model: Path, scores: Path) -> Iterator[tuple[str, str, list[EvalResult]]]:
    """Yield path and content of `.eval_results/TASK.yaml`, and entries of `model-index`, of each task whose data are
    those of mteb; none of a model whose vectors were truncated.

    Args:
        model: folder of the tuned model.
        scores: folder that `embed.score.score_models` wrote for it.

    Raises:
        UserError: the scores are of another model.
        HunminError: they are damaged or were edited.
    """
    from mteb.results import TaskResult

    table = read_table(scores)
    row, truncate = table["rows"][0], table["rows"][0]["truncate"]
    for name, facts in table["tasks"].items():
        if row["revision"] != model_revision(model, truncate):
            raise UserError(f"{scores} holds no scores of {model}", fix=f"hunmin embed score {model} --out {scores}")
        if truncate or facts["differs"] or name not in published()["tasks"]:
            continue
        path = scores / row["results"][name]
        read_result(path, partial(check_main, facts["metric"]), FIX, sealed=True)
        result = TaskResult.from_disk(path)
        if abs(100 * float(result.get_score()) - row["scores"][name]) > ROUNDING:
            raise unfit(scores / TABLE, f"its score of {name} is not that of {path}", FIX)
        data = result.task.metadata
        yield f".eval_results/{name}.yaml", result._to_hf_benchmark_result().to_yaml(), [
            EvalResult(
                task_type=data._hf_task_type()[0], task_name=data.type, dataset_type=data.dataset["path"],
                dataset_name=f"MTEB {name}", dataset_config=row["hf_subset"], dataset_split=split,
                dataset_revision=data.dataset["revision"], metric_type=data.main_score,
                metric_value=round(100 * row["main_score"], 4), source_name="MTEB", source_url=MTEB,
            )
            for split, rows in result.scores.items() for row in rows
        ]  # fmt: skip
