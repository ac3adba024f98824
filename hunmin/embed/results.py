"""Results of `hunmin embed mine` and `rerank` in a run's folder, made once: each a folder with its manifest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from common.current import make_current, refuse_taken_name
from common.destinations import refuse_folder
from common.errors import UserError
from common.facts import Facts
from common.lock import locked
from common.names import find
from common.once import Work
from common.results import manifest_of
from common.rules import rules_number
from common.settings import dump_settings
from common.stage_folders import MADE, folder_of, links_of
from embed.mine import mine
from embed.settings import EmbedSettings
from hunmin.embed.recipe import WithEmbed
from hunmin.embed.stages import base_of, set_inputs, settings_of, train_on
from hunmin.pipeline.inputs import model_inputs
from hunmin.pipeline.outside_run import publish_result
from hunmin.pipeline.stage import Counts
from hunmin.pipeline.state import RunFolder


def tuned_model(recipe: WithEmbed, name: str | None, part: str = "embed") -> Path:
    """Return the folder of a model, the recipe's own where none is named.

    Args:
        recipe: the run.
        name: a folder, a run, whose tuned model is meant, or a name on the hub.
        part: "embed", or "rerank" for a cross-encoder.

    Raises:
        UserError: the recipe has not tuned its own, or the name is of none.
    """
    folder = folder_of(Path(name or recipe.out), part) / "model"
    if folder.is_dir():
        return folder
    if name is None:
        command, key = ("rerank train", "rerank.model") if part == "rerank" else ("train", "mine.model")
        rule = "without a name, the recipe's own tuned model is used"
        raise UserError(f"{folder} is missing", rule, f"run hunmin embed {command} first, or set embed.{key}")
    return find(name, "model")


def mine_negatives(recipe: WithEmbed, out: str | None) -> Counts:
    """Return the counts of the mined rows in `out`, None is RUN/mined, which are mined where they are not there."""
    from embed.rerank import open_reranker

    s = settings_of(recipe)
    model = tuned_model(recipe, s.mine.model)
    reranker = tuned_model(recipe, s.mine.reranker, "rerank") if s.mine.reranker else None
    used = dump_settings(s) | {"mine": dump_settings(s.mine)}
    models = {model: _open_encoder, **({reranker: open_reranker} if reranker else {})}
    return _made(recipe, "mined", out, used, models, lambda folder: mine(s, model, reranker, folder))


def train_reranker(recipe: WithEmbed, out: str | None) -> Counts:
    """Return the counts of the reranker in `out`, None is RUN/rerank, which is tuned, or resumes, where it is absent.

    Raises:
        UserError: data and base do not fit.
        Interrupted: it received a stop signal; the state is saved.
    """
    from embed.base import read_base
    from embed.rerank import reranker_settings

    settings = reranker_settings(settings_of(recipe))
    base = base_of(recipe)
    read_base(base, settings)
    used, models = dump_settings(settings), {base: _open_encoder}
    return _made(recipe, "rerank", out, used, models, lambda folder: train_on(recipe, settings, folder, True))


def teach_rows(recipe: WithEmbed, out: str | None) -> Counts:
    """Return the counts of the rows with a reranker's scores in `out`, None is RUN/taught, which are written where they
    are not there."""
    from embed.rerank import open_reranker, teach

    s = settings_of(recipe)
    reranker = tuned_model(recipe, s.rerank.model, "rerank")
    models = {reranker: open_reranker}
    return _made(recipe, "taught", out, dump_settings(s), models, lambda folder: teach(s, reranker, folder))


def _open_encoder(model: Path) -> object:
    from embed.base import load_model
    from pretrain.model_folder import open_model

    return (load_model if (model / "modules.json").is_file() else open_model)(model)


def _made(
    recipe: WithEmbed, name: str, out: str | None, settings: dict[str, Any],
    models: Mapping[Path, Callable[[Path], object]], work: Callable[[Path], Counts],
) -> Counts:  # fmt: skip
    """Return the counts of a result of these settings, data and models, which `work` makes where it is not there.

    Without `out` it is done once; results of other settings keep their own folders below RUN/made.

    Args:
        models: what the work reads → what opens it, and refuses it before anything is written.

    Raises:
        UserError: its folder, or its name in the run, holds something else.
    """
    if out is not None:
        refuse_folder(Path(out))
    for model, opens in models.items():
        opens(model)
    run = Path(recipe.out)
    packages = ("torch", "transformers", "sentence-transformers")
    with locked(run):
        inputs = set_inputs(settings_of(recipe))
        for number, model in enumerate(models, 1):
            inputs += model_inputs(f"model {number}", str(model), "model")
        digests = RunFolder(run).digests(inputs)
        if out is not None:
            return publish_result(Path(out), name, work, lambda _: (settings, digests), *packages)
        refuse_taken_name(links_of(run, name)[0], name)
        facts = Facts(settings, digests, rules_number("embed"))
        current = folder_of(run, name)
        folder = Work(run / MADE, name, name, EmbedSettings, packages, rules="embed").once(facts, work, current)
        make_current(run, name, folder)
        manifest = manifest_of(folder)
        assert manifest
        return manifest.counts
