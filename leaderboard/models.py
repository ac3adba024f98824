"""The models that are scored: a decoder by lm-eval's HFLM, which counts the prompts that it cuts, and constants."""

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from lm_eval.api.model import LM
from lm_eval.models.huggingface import HFLM

from common.errors import UserError
from leaderboard.settings import LeaderboardSettings
from pretrain.decoders.prompts import encode_pair
from pretrain.model_folder import refused


class CountingLM(HFLM):
    """A decoder; `cut` holds the prompts that lost their beginning for want of positions."""

    cut: set[str]
    chat = False
    """Whether prompts are those of the chat template: an answer then follows the ids that the prompt has in use, also
    where it ends in a blank, which lm-eval would move into the answer."""

    def _encode_pair(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
        theirs = super()._encode_pair(context, continuation)
        ours = encode_pair(self.tokenizer, context, continuation) if self.chat else theirs
        return theirs if [*chain(*ours)] == [*chain(*theirs)] else ours

    def _loglikelihood_tokens(self, requests: Any, *args: Any, **options: Any) -> list[tuple[float, bool]]:
        if longest := [answer for (_, answer), _, ids in requests if len(ids) > self.max_length]:
            problem = f"answer {longest[0][:40]!r} … exceeds {self.max_length:,} positions"
            raise UserError(problem, fix="use another model")
        self.cut |= {prompt for (prompt, _), *ids in requests if sum(map(len, ids)) > self.max_length + 1}
        return super()._loglikelihood_tokens(requests, *args, **options)

    def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
        for prompt, generation in (request.args for request in requests):
            room = self.max_length - generation["max_gen_toks"]
            if room < 1:
                problem = (
                    f"answers of {generation['max_gen_toks']:,} tokens leave no room in {self.max_length:,} positions"
                )
                raise UserError(problem, fix="lower leaderboard.max_gen_toks")
            self.cut |= {prompt} if len(self.tok_encode(prompt)) > room else set()
        return super().generate_until(requests, disable_tqdm)


class ConstantLM(LM):
    """A model that does not read the prompt: it takes the choice of a number, or of a row's label, or writes a text."""

    def __init__(self, choice: int | Callable[[Any], int] = 0, text: str = "") -> None:
        super().__init__()
        self.choice, self.text = choice, text

    def loglikelihood(self, requests: Any) -> list[tuple[float, bool]]:
        choices = [self.choice if isinstance(self.choice, int) else self.choice(request.doc) for request in requests]
        return [(0.0 if request.idx == k else -1.0, False) for request, k in zip(requests, choices, strict=True)]

    def loglikelihood_rolling(self, requests: Any) -> list[float]:
        raise NotImplementedError  # no task asks for it

    def generate_until(self, requests: Any) -> list[str]:
        return [self.text] * len(requests)


def load_model(folder: Path, settings: LeaderboardSettings) -> CountingLM:
    """Return the decoder in a folder that `open_decoder` takes, ready to be scored. Raises UserError for an unknown
    device, and for a tokenizer that ends prompts with a mark."""
    gpus = range(torch.cuda.device_count())
    device = ("cuda" if gpus else "cpu") if settings.device == "auto" else settings.device
    if device not in ("cpu", *(["cuda"] if gpus else []), *(f"cuda:{number}" for number in gpus)):
        raise UserError(f"there is no device {device!r} here", "", "set leaderboard.device to cpu, or to a GPU's name")
    with refused(folder, "lm-eval does not load it"):
        lm = CountingLM(
            pretrained=str(folder),
            backend="causal",
            tokenizer=str(folder),
            device=device,
            dtype=settings.dtype,
            batch_size=settings.batch_size,
            trust_remote_code=False,
        )
    lm.cut, last = set(), lm.tokenizer("가").input_ids[-1:]
    if last and last[0] in lm.tokenizer.all_special_ids:
        problem = f"the tokenizer of {folder} ends prompts with {lm.tokenizer.decode(last)}"
        raise UserError(problem, "an answer follows its prompt directly", "save the tokenizer without that mark")
    return lm
