"""In which numbers gradients are averaged, by engine and stage: what is sent is watched, not what was asked for."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from training_runs import finish, losses, start

pytestmark = pytest.mark.slow

WATCH = """
import json
import torch.distributed as dist
import pretrain.trainer as trainer

sent, stepping = {}, []
def watched(name):
    inner = getattr(dist, name)
    def call(*args, **kwargs):
        for tensor in (*args, *kwargs.values()):
            # weights have over a hundred numbers; totals and norms a dozen at most
            if stepping and hasattr(tensor, "numel") and tensor.numel() > 100:
                sent.setdefault(str(tensor.dtype), set()).add(name)
        return inner(*args, **kwargs)
    setattr(dist, name, call)
for name in ("all_reduce", "reduce", "reduce_scatter", "reduce_scatter_tensor"):
    watched(name)
def overlaps(engine):
    return not hasattr(engine, "_engine") or engine._engine.zero_overlap_comm()
inner_step = trainer.Trainer.step
def step(self, *args, **kwargs):
    stepping.append(1)
    found = inner_step(self, *args, **kwargs)
    stepping.clear()
    if self.loader.rank == 0:
        with open(PATH, "w") as stream:
            json.dump([{kind: sorted(names) for kind, names in sent.items()}, overlaps(self.engine)], stream)
    return found
trainer.Trainer.step = step
"""


@pytest.mark.parametrize(
    ("engine", "stage"),
    [("torch", 0), pytest.param("deepspeed", 1, marks=pytest.mark.drill), ("deepspeed", 2), ("deepspeed", 3)],
)
def test_bf16_is_what_is_sent(engine: str, stage: int, tokens: Path, tokenizer: Path, tmp_path: Path) -> None:
    dtypes: dict[str, Any] = {}
    for kind in ("fp32", "bf16"):
        seen = tmp_path / f"{kind}.json"
        changes = {"engine": engine, "zero_stage": stage, "grad_reduce_dtype": kind, "steps": 12, "log_every": 1}
        run = start(tmp_path / kind, tokens, tokenizer, 2, WATCH.replace("PATH", repr(str(seen))), **changes)
        code, errors = finish(run)
        assert code == 0, errors
        sent, overlaps = json.loads(seen.read_text())
        dtypes[kind] = set(sent)
        assert overlaps is True  # DeepSpeed was told to; on a CPU it has nothing to do it with
    # torch's own averaging of fp32 is inside its C++
    assert dtypes["fp32"] == (set() if engine == "torch" else {"torch.float32"})
    assert dtypes["bf16"] == {"torch.bfloat16"}
    pairs = list(zip(losses(tmp_path / "fp32"), losses(tmp_path / "bf16"), strict=True))
    assert all(abs(first - other) < 5e-3 for (_, first), (_, other) in pairs)
    assert any(first != other for (_, first), (_, other) in pairs)
