"""Tuning of a multi-vector model (late interaction) by sentence-transformers: losses, checkpoints, its folder.

Scores are means over a query's tokens, so temperature and a teacher's scores mean what they do for cosines.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sentence_transformers import MultiVectorEncoderTrainer
from sentence_transformers.base.modules import Dense
from sentence_transformers.multi_vector_encoder import losses
from sentence_transformers.multi_vector_encoder.data_collator import MultiVectorEncoderDataCollator
from sentence_transformers.multi_vector_encoder.scoring import (
    mean_colbert_kd_scores,
    mean_colbert_scores,
    mean_colbert_scores_pairwise,
)
from sentence_transformers.multi_vector_encoder.training_args import MultiVectorEncoderTrainingArguments

from common.files import write_text
from embed.base import TOKEN_SIMILARITY, begin_model, begin_token_modules, load_encoder
from embed.card import loss_name, write_card
from embed.data import TrainingSet, load_sets
from embed.settings import EmbedSettings, PromptSettings
from embed.trainer import ExactTrainer
from pretrain.export.old_names import save_tokenizer

PROJECTION = "1_Dense"
"""Folder of the projection in a model's folder and in a checkpoint."""


def token_loss_of(dataset: TrainingSet, model: Any, s: EmbedSettings, world: int) -> Any:
    """Return the loss of a set, by its shape."""
    name = loss_name(dataset.shape, dataset.settings.distill, None, s.mini_batch, s.kind)
    options: Any = {
        "MultiVectorMarginMSELoss": {"similarity_fct": mean_colbert_scores_pairwise},
        "MultiVectorDistillKLDivLoss": {  # its student_temperature would scale the loss by the square
            "similarity_fct": lambda *vectors, **masks: mean_colbert_kd_scores(*vectors, **masks) / s.temperature,
            "teacher_temperature": s.temperature,
        },
    }.get(name)
    if options is None:
        options = {"similarity_fct": mean_colbert_scores, "scale": 1 / s.temperature}
        options |= {"gather_across_devices": world > 1}
        options |= {"mini_batch_size": s.mini_batch} if s.mini_batch else {}
    return getattr(losses, name)(model, **options)


def load_projection(checkpoint: Path) -> Dense:
    """Return the projection in a checkpoint, or in a model's folder."""
    return Dense.load(str(checkpoint), subfolder=PROJECTION, local_files_only=True)


def write_multi_vector(
    folder: Path, checkpoint: Path, tokenizer: Any, s: EmbedSettings, facts: dict[str, Any], name: str, *_: Any
) -> None:
    """Write a checkpoint as a folder that `MultiVectorEncoder` loads, with its card."""
    encoder = load_encoder(checkpoint)
    encoder.save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    rows = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"}]
    modules = begin_token_modules(encoder.config.hidden_size, s.token_width, s.seed)
    modules[0] = load_projection(checkpoint)
    for number, module in enumerate(modules, 1):
        place = f"{number}_{type(module).__name__}"
        (folder / place).mkdir()
        module.save(str(folder / place))
        kind = f"{type(module).__module__}.{type(module).__name__}"
        rows.append({"idx": number, "name": str(number), "path": place, "type": kind})
    prompts = s.prompts.model_dump() if s.prompts != PromptSettings() else {}
    states = {"model_type": "MultiVectorEncoder", "similarity_fn_name": TOKEN_SIMILARITY, "prompts": prompts}
    contents = {
        "modules.json": rows, "config_sentence_transformers.json": states,
        "sentence_bert_config.json": {"max_seq_length": s.max_seq_len, "do_lower_case": False},
    }  # fmt: skip
    for file, content in contents.items():
        write_text(folder / file, json.dumps(content, ensure_ascii=False, indent=1) + "\n")
    write_text(folder / "README.md", write_card(facts, name))


class TokenTuner(ExactTrainer, MultiVectorEncoderTrainer):
    """The Trainer of a multi-vector model; see `embed.trainer.Tuner`."""

    arguments: Any = MultiVectorEncoderTrainingArguments
    within = ""
    data_collator_class = MultiVectorEncoderDataCollator
    read_sets = staticmethod(load_sets)
    begin = staticmethod(begin_model)
    load_weights = staticmethod(load_encoder)
    save_folder = staticmethod(write_multi_vector)
    loss_of = staticmethod(token_loss_of)

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        super()._save(output_dir)
        place = Path(str(output_dir), PROJECTION)
        place.mkdir(exist_ok=True)
        self.model[1].save(str(place))

    def _load_from_checkpoint(self, checkpoint_path: str) -> None:
        super()._load_from_checkpoint(checkpoint_path)
        self.model[1].load_state_dict(load_projection(Path(checkpoint_path)).state_dict())
