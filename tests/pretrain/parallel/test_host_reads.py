"""How often the host reads a value of the device in a step, by engine and stage: each would be a wait on a GPU."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_tokens import make_tokenizer, make_tokens
from training_runs import finish, start

pytestmark = pytest.mark.slow

WATCH = """
import json, os, traceback
import pretrain.trainer as e
from torch.utils._python_dispatch import TorchDispatchMode

inner, seen = e.Trainer.step, []
class Spy(TorchDispatchMode):
    reads = ()
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if str(func) in ("aten._local_scalar_dense.default", "aten.equal.default", "aten.is_nonzero.default",
                         "aten.nonzero.default"):
            frames = [f for f in traceback.extract_stack() if "dispatch" not in f.filename]
            self.reads += (f"{os.path.basename(frames[-2].filename)}:{frames[-2].name}",)
        return func(*args, **(kwargs or {}))
def stepping(self, number, *a, **k):
    with Spy() as spy:
        found = inner(self, number, *a, **k)
        if number == 0:
            float(found.stop_votes)  # what the test rests on: such a read is seen
    seen.append(spy.reads)
    if number == 5 and self.loader.rank == 0:
        json.dump(seen, open(PATH, "w"))
    return found
e.Trainer.step = stepping
"""


@pytest.mark.parametrize(
    ("engine", "zero", "processes"),
    [
        ("torch", 0, 1),
        ("torch", 0, 2),
        ("deepspeed", 0, 2),
        pytest.param("deepspeed", 1, 2, marks=pytest.mark.drill),
        pytest.param("deepspeed", 2, 2, marks=pytest.mark.drill),
        ("deepspeed", 3, 2),
    ],
)
def test_a_step_reads_nothing(engine: str, zero: int, processes: int, tmp_path: Path) -> None:
    tokens, tokenizer = make_tokens(tmp_path / "tokens"), make_tokenizer(tmp_path / "tokenizer")
    path = tmp_path / "reads.json"
    changes = {"engine": engine, "zero_stage": zero, "steps": 8, "optimizer": {"warmup_steps": 2}}
    run = tmp_path / "run"
    code, errors = finish(
        start(run, tokens, tokenizer, processes, patch=WATCH.replace("PATH", repr(str(path))), **changes)
    )
    assert code == 0, errors
    steps = json.loads(path.read_bytes())
    assert steps[0]
    assert steps[2:] == [[]] * 4, steps  # in its first two steps stage 3 learns in which order weights are wanted
