"""What goes to the model hub: a checkpoint with its run, a tokenizer, a fine-tuned model; checked before it goes."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from common.errors import UserError
from common.files import write_text
from common.manifest import refuse_damaged
from common.model_files import home_of
from common.progress import say, show
from common.results import refuse_unfit
from common.stage_folders import folder_of, run_and_stage
from hunmin.hub.card import Language, metadata, states_license, with_license, write_card
from hunmin.hub.facts import read_facts
from hunmin.hub.private import refuse_private
from hunmin.hub.push import REFUSALS, Files, check_name, describe, push
from hunmin.hub.scrub import hub_base, public_recipe
from hunmin.page.words import Words
from klue.card import write_card as write_job_card
from klue.graphs import FILES as GRAPHS
from klue.model_folder import BESIDE_TOKENIZER
from klue.model_folder import TOKENIZER_FILES as ANY_TOKENIZER
from klue.model_index import hub_task
from klue.plan import Job
from klue.result_rows import RESULTS as RESULT_ROWS
from klue.result_rows import check_row, read_rows
from klue.saved import FACTS, REST
from klue.saved import read_facts as read_job
from klue.tasks import get_task
from pretrain.callbacks.checkpoint_metadata import TOKENIZER_FILES, read_metadata
from pretrain.export import EXPORT_FILES
from pretrain.export.checkpoint import checkpoints_to_average
from pretrain.export.onnx import FILE as ONNX_FILE
from pretrain.export.sentence_embeddings import FILES as EMBEDDING_FILES
from pretrain.model_folder import open_model
from pretrain.phase import learned
from tokenizer.save import read_tokenizer

MODEL_FILES = (*EXPORT_FILES, *TOKENIZER_FILES, *EMBEDDING_FILES, ONNX_FILE)
"""Files of an export that leave for the hub; anything else in its folder stays."""
CARD = "README.md"
RECIPE = "recipe.yaml"
RESULTS = "klue/results.jsonl"
NO_LICENSE = (
    "warning: the card states no licence: give --license NAME, by the hub's names (cc-by-sa-4.0, say), or set "
    "hub.license in the recipe"
)
FINETUNED = ("config.json", REST, FACTS, *ANY_TOKENIZER, *BESIDE_TOKENIZER, "model*.safetensors*", *GRAPHS.values())
"""Files of a fine-tuned model, its graphs among them; weights are one file, or parts with their index."""


def run_of(checkpoint: Path) -> Path | None:
    """Return the run folder that a checkpoint stands in, None where it stands alone."""
    run, _ = run_and_stage(checkpoint.resolve().parents[1])
    return run if (run / "recipe.yaml").is_file() else None


def no_encoder(checkpoint: Path) -> str:
    """Return why a checkpoint is no encoder as transformers computes it; "" where it is one."""
    saved = read_metadata(checkpoint)
    last = learned(saved["settings"], int(saved["step"]))[-1] if saved else None
    if last is None or last.scored:
        return ""
    return f"{checkpoint} has learned pretrain.objective={last.name} last: its tokens have not seen what follows them"


def refuse_no_encoder(checkpoint: Path) -> None:
    """Refuse a checkpoint that is no encoder as transformers computes it.

    Raises:
        UserError: it is not.
    """
    if fault := no_encoder(checkpoint):
        raise UserError(
            fault,
            "a pushed model is loaded as a masked language model",
            f"continue with pretrain.branch_from={checkpoint} pretrain.objective=mlm, then push that run",
        )


def refuse_damaged_model(folder: Path) -> None:
    """Refuse a model or tokenizer folder whose files, or others that its manifest describes, are not those that were
    written; every byte is read.

    Raises:
        HunminError: a file is damaged or was changed, or the manifest is.
    """
    if home := home_of(folder):
        refuse_damaged(home[0], f"make it again; of a folder changed on purpose: hunmin verify {folder} --accept")


def publish(
    folder: Path, run: Path, repository: str, private: bool = True, language: Language | None = None,
    dry_run: bool = False, checkpoint: Path | None = None, license: str | None = None, average: int | None = None,
) -> str | None:  # fmt: skip
    """Push an export with its card, which stays in it where it has none, and return the repository's address (None of a
    dry run).

    Args:
        folder: the export.
        run: its run folder.
        repository: OWNER/NAME.
        private: see `push`.
        language: of the card; None: as the recipe says.
        dry_run: only print what would be pushed, and the card.
        checkpoint: that was exported; None: the last one.
        license: of the model; None: as the recipe says.
        average: number of checkpoints, the last one `checkpoint`, whose mean was exported; None: no mean.

    Raises:
        UserError: a file holds a secret or personal data.
        HunminError: as `read_facts` and `push`.
    """
    averaged = [*checkpoints_to_average(checkpoint, average)] if checkpoint and average else []
    facts = read_facts(run, read_metadata(checkpoint), averaged) if checkpoint else read_facts(run)
    card = write_card(facts, repository, language or facts.recipe.hub.language)
    files: dict[str, str | Path] = {**there(folder, MODEL_FILES), CARD: card, RECIPE: public_recipe(facts.recipe)}
    if facts.scores:
        files[RESULTS] = folder_of(run, "klue") / Path(RESULTS).name
    message = f"Step {facts.step:,}, {facts.tokens:,} tokens"
    ours = (*MODEL_FILES, CARD, RECIPE, RESULTS)
    key = facts.recipe.corpus.pii.key_env
    url = send(files, repository, message, private, dry_run, ours, f"step-{facts.step}", key, license)
    if url and not (folder / CARD).exists():  # a user's own stays
        write_text(folder / CARD, card)
    return url


def publish_tokenizer(
    folder: Path, repository: str, private: bool = True, dry_run: bool = False, license: str | None = None
) -> str | None:
    """Push a tokenizer with its card and return the repository's address (None of a dry run).

    Args:
        folder: written by `hunmin tokenizer train`; it holds tokenizer.json.
        repository, private, dry_run: of `publish`.
        license: of the tokenizer; None: none is stated.

    Raises:
        UserError: the folder holds a secret or personal data.
        HunminError: as `push`.
    """
    read_tokenizer(folder)  # refuses one that does not load
    files = there(folder, TOKENIZER_FILES)
    if (folder / CARD).is_file():
        files[CARD] = metadata(tags=["hunmin", "tokenizer", "korean"]) + (folder / CARD).read_text("utf-8")
    return send(files, repository, "Tokenizer", private, dry_run, (*TOKENIZER_FILES, CARD), license=license)


def publish_finetuned(
    folder: Path, repository: str, private: bool = True, dry_run: bool = False, license: str | None = None,
    other: Path | None = None, language: Language = "en",
) -> str | None:  # fmt: skip
    """Push a fine-tuned model with its head, labels and card, and return the repository's address (None of a dry run).

    Args:
        folder: that `--save-model best` of `hunmin klue finetune` left; the scores of the jobs beside it go along.
        repository, private, dry_run: of `publish`.
        license: of the model; None: none is stated.
        other: folder with the results of another model, which stand beside.
        language: of the card.

    Raises:
        UserError: the folder holds no fine-tuned model, or a secret or personal data; or `other` holds no results.
        HunminError: as `push`.
    """
    open_model(folder)
    facts = read_job(folder)
    job, scores = Job.model_validate(facts["job"]), facts["scores"]
    row = {
        **{name: getattr(job, name) for name in ("task", "init", "seed", "data_note", "examples")},
        "settings": job.training.values, "model": job.model_name, "best": scores, "last": scores,
    }  # fmt: skip
    refuse_unfit(folder / FACTS, lambda: check_row(row), "fine-tune it again")
    front = metadata(
        repository.partition("/")[2],
        [row] if job.init == "pretrained" else [],
        library_name="transformers",
        pipeline_tag=hub_task(get_task(job.task)),
        tags=["hunmin", "korean", "fine-tuned", job.task],
        base_model=hub_base(facts["base"]) if job.init == "pretrained" else None,
    )
    places = [folder.resolve().parents[2], *([other] if other else [])]
    known = [place for place in places if place == other or (place / RESULT_ROWS).is_file()]
    beside = [row for place in known for row in read_rows(place) if row["task"] == job.task]
    named = (job.model_name, job.init, job.seed)
    if same := [row for row in beside if (row["model"], row["init"], row["seed"]) == named]:
        # a message, which can be said in Korean
        job = job.model_copy(update={"data_note": same[0]["data_note"]})
    card = write_job_card(
        job, scores, repository, facts["classes"], facts["base"], beside, facts["seconds"], Words(language)
    )
    files = {**there(folder, FINETUNED), CARD: front + card}
    message, ours = f"Fine-tuned for {job.task}", (*FINETUNED, CARD)
    return send(files, repository, message, private, dry_run, ours, license=license)


def there(folder: Path, names: Collection[str]) -> dict[str, str | Path]:
    """Return the files of a folder that have such names or match such patterns."""
    return {str(path.relative_to(folder)): path for name in names for path in sorted(folder.glob(name))}


def send(
    files: Files, repository: str, message: str, private: bool, dry_run: bool, ours: Collection[str],
    tag: str | None = None, key_variable: str | None = None, license: str | None = None,
) -> str | None:  # fmt: skip
    """Check the repository's name, and files for secrets, and push them; of a dry run, print them and the card."""
    from huggingface_hub import get_token

    check_name(repository)
    card = str(files.get(CARD, ""))
    if license and card:
        files = {**files, CARD: with_license(card, license)}
    elif not states_license(card):
        say(NO_LICENSE, style="yellow")
    refuse_private(files, key_variable)
    if dry_run:
        if get_token() is None:
            say(f"warning: there is no token to push to {repository} with: {REFUSALS[401][1]}", style="yellow")
        show(f"{describe(files, repository, tag, private)}\n\n{files.get(CARD, '')}")
        return None
    return push(files, repository, message, tag, private, ours)
