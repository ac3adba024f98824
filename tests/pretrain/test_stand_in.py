"""A step on a device that stands for a GPU: tensors without values, so any figure that the host reads is an error.

`torch.device("meta")` computes shapes alone: `.item()`, `float()`, `.tolist()`, `.cpu()` and every branch on a value
raise. Between two lines of the log a run must get by without them. The process group beside it knows that device only,
as NCCL knows `cuda` only.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from pretrain.batches.loader import Loader, plan_samples
from pretrain.callbacks.guard import StepGuard
from pretrain.callbacks.training_log import LogWindow
from pretrain.kernels.attention import NAME
from pretrain.kernels.compile import compile_layers, compile_whole, speed_up
from pretrain.models.encoder import MaskedRowsModel, build_config, build_model, recompute_layers
from pretrain.parallel.ddp import TorchEngine
from pretrain.trainer import VOTE_STEPS, Trainer, TrainingRun
from tests.pretrain.small_tokens import small_run
from tests.pretrain.spy import HOST_READS, Spy
from tokenizer.shards import TokenShards

META = torch.device("meta")
KINDS = ["full-sentences", "doc-sentences", "contiguous", "packed", "sentence-pairs"]


def trainer_of(samples: str, tokens: Path, tokenizer: Path, plans: Path, **changes: Any) -> Trainer:
    settings = small_run(samples, **changes)
    plan_samples(settings, tokens, plans)
    shards = TokenShards(tokens)
    hf_model = build_model(settings, build_config(settings, shards.vocab_size, shards.special_ids))
    model = MaskedRowsModel(hf_model)  # autocast does not know the stand-in
    speed_up(model, settings, META)
    model.unpadded = True
    hf_model.set_attn_implementation(NAME)
    loader = Loader(settings, tokens, tokenizer, plans, 0, 1, form=model.input_form(META))
    # its list of devices with a fused kernel lacks the stand-in, for which the kernel has shapes nevertheless
    importlib.import_module("torch.optim.adam").__dict__["_device_dtype_check_for_fused"] = lambda *_, **__: None
    engine = TorchEngine(model, settings, META, None)
    return Trainer(engine, loader, StepGuard(settings, settings.dtype == "fp16", META))


@pytest.mark.parametrize(("samples", "recomputed"), [*((kind, False) for kind in KINDS), ("packed", True)])
def test_between_lines_of_the_log_the_host_reads_nothing(
    samples: str, recomputed: bool, tokens: Path, tokenizer: Path, tmp_path: Path
) -> None:
    trainer = trainer_of(samples, tokens, tokenizer, tmp_path)
    if recomputed:
        recompute_layers(trainer.engine.model.hf_model)
    with Spy() as spy:
        for step in range(2):
            result = trainer.step(step, 1e-3, trainer.loader.micro_batches(step))
        totals = trainer.validate(0)
    assert result.totals.device == totals.device == META
    assert result.totals.shape == totals.shape == (len(trainer.names),)
    assert sum(name in HOST_READS for name in spy.names) == 0
    forwards = 4 + trainer.loader.validation_batches()
    kernel = "aten._flash_attention_forward.default"
    dense = [name for name in spy.names if "scaled_dot_product" in name or "aten._softmax." in name]
    if samples == "contiguous":
        assert kernel not in spy.names or spy.names.count(kernel) < 2 * forwards  # rectangles, without a mask
    else:
        assert not dense and spy.names.count(kernel) == 2 * (forwards + (4 if recomputed else 0))
        assert spy.names.count("aten._flash_attention_backward.default") == 2 * 4


def test_between_lines_of_the_log_the_loop_reads_nothing(tokens: Path, tokenizer: Path, tmp_path: Path) -> None:
    """What stands around the steps, of two processes: the window of the log, votes to stop, the clocks."""
    trainer = trainer_of("full-sentences", tokens, tokenizer, tmp_path)
    loop, votes = cast(Any, TrainingRun.__new__(TrainingRun)), []
    trainer.engine.later = lambda value: lambda: votes.append(value) or 0.0  # type: ignore[method-assign, func-returns-value]
    process = SimpleNamespace(world=2, first=False, monitor=SimpleNamespace(follow=lambda progress: None))
    Trainer.__init__(loop, trainer.engine, trainer.loader, trainer.guard)
    loop._run, loop._training_log = SimpleNamespace(process=process), None
    loop._window, loop._done, loop._saved, loop._votes = LogWindow(META, loop.names, {}), 1, 0, deque()
    trainer.settings.__dict__.update(log_every=100, validate_every=100, checkpoint_every=100)

    class Enough(Exception):
        pass

    def asked() -> bool:
        if loop._done == 9:
            raise Enough
        return False

    with Spy() as spy, pytest.raises(Enough):
        loop.run(asked)
    assert loop._done == 9 and len(votes) == 7 - VOTE_STEPS
    assert not HOST_READS & set(spy.names)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:aten..nll_loss")  # of the stand-in
@pytest.mark.parametrize(
    ("samples", "by_layers"), [(kind, number % 2 == 0) for number, kind in enumerate(KINDS)] + [(KINDS[0], False)]
)
def test_training_compiles_nothing_after_its_first_steps(
    samples: str, by_layers: bool, tokens: Path, tokenizer: Path, tmp_path: Path
) -> None:
    """Forward and backward, with the real kernel for texts of any length; batches differ in size."""
    trainer = trainer_of(samples, tokens, tokenizer, tmp_path)
    model = trainer.engine.model
    model.compiles = True
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    if by_layers:
        compile_layers(model, backend="aot_eager")
    else:
        compile_whole(model, "aot_eager")
    graphs, sizes = [], set()
    for step in range(8):
        batches = trainer.loader.micro_batches(step)
        sizes |= {batch.inputs["ids_BS"].shape for batch in batches}
        trainer.step(step, 1e-3, batches)
        graphs.append(torch._dynamo.utils.counters["stats"]["unique_graphs"])
    assert not torch._dynamo.utils.counters["graph_break"]
    assert graphs[2:] == [graphs[2]] * 6 and graphs[-1] <= (6 if by_layers else 2), (graphs, sizes)
    torch._dynamo.reset()


def test_no_step_copies_the_weights(tokens: Path, tokenizer: Path, tmp_path: Path) -> None:
    """Once at ZeRO 0 a step had 505 copies: two a weight. They are as many in a model of twice the layers now."""

    def copies(layers: int) -> int:
        model = {"layers": layers, "hidden": 32, "heads": 2}
        trainer = trainer_of("full-sentences", tokens, tokenizer, tmp_path / str(layers), model=model)
        with Spy() as spy:
            trainer.step(0, 1e-3, trainer.loader.micro_batches(0))
        assert any("_fused_adamw_" in name for name in spy.names)
        return sum(name.startswith(("aten.copy_", "aten._foreach_copy", "aten._to_copy")) for name in spy.names)

    assert copies(2) == copies(4)


def test_a_read_on_the_stand_in_is_an_error() -> None:
    """What the test above rests on."""
    value = torch.zeros((), device=META)
    for read in (float, bool, torch.Tensor.item, torch.Tensor.tolist, torch.Tensor.cpu):
        with pytest.raises((RuntimeError, NotImplementedError)):
            read(value)


GROUP = """
import sys
from pathlib import Path
import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

dist.init_process_group("meta:fake", rank=0, world_size=2, store=FakeStore())
try:
    dist.all_reduce(torch.zeros(1))
except RuntimeError as error:
    assert "No backend type associated with device type cpu" in str(error), error
else:
    sys.exit("the group takes tensors of the CPU")
import torch.nn.parallel
from contextlib import nullcontext

class Shared(torch.nn.Module):
    # DistributedDataParallel's C++ reads weights: what it averages is sent here
    def __init__(self, module, **options):
        super().__init__()
        assert options["gradient_as_bucket_view"]
        self.module = module
    def no_sync(self):
        return nullcontext()
    def forward(self, **inputs):
        return self.module(**inputs)

import pretrain.parallel.ddp as engine
engine.DistributedDataParallel = Shared
sys.path[:0] = [sys.argv[1], str(Path(sys.argv[1]).parents[1])]
from test_stand_in import trainer_of
trainer = trainer_of("full-sentences", *map(Path, sys.argv[2:5]))
trainer.loader.world = 2
sent = []
inner = dist.all_reduce
dist.all_reduce = lambda tensor, *a, **k: (sent.append(tensor.device.type), inner(tensor, *a, **k))[1]
for step in range(2):
    trainer.step(step, 1e-3, trainer.loader.micro_batches(step), stop_requested=True)
trainer.validate(0)
assert sent == ["meta"] * 3, sent  # a step's sums, in one; the validation's
print("ok")
"""


@pytest.mark.slow
def test_a_group_that_knows_the_device_alone_is_given_nothing_else(
    tokens: Path, tokenizer: Path, tmp_path: Path
) -> None:
    """NCCL: "No backend type associated with device type cpu", at the validation of step 0 (the old code's end)."""
    here = Path(__file__).parent
    command = [sys.executable, "-c", GROUP, str(here), str(tokens), str(tokenizer), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=here.parents[1], timeout=120)
    assert done.returncode == 0 and done.stdout.strip().endswith("ok"), done.stderr[-2000:]


def test_a_vote_to_stop_is_read_when_the_device_has_more_to_do() -> None:
    """On a GPU the host reads the count of the step before last; each process reads the same one."""
    read: list[int] = []

    def later(vote: tuple[int, float]) -> Any:
        return lambda: (read.append(vote[0]), vote[1])[1]

    loop = cast(Any, TrainingRun.__new__(TrainingRun))
    loop.engine = SimpleNamespace(device=torch.device("meta"), later=later)
    loop._run = SimpleNamespace(process=SimpleNamespace(world=2))
    loop._votes = deque()
    answers, unread = [], []
    for step in range(7):
        answers.append(loop._stop_is_asked(False, (step, float(step >= 3))))
        unread.append(step - len(read) + 1)
    assert read == list(range(7 - VOTE_STEPS)) and unread[-1] == VOTE_STEPS
    assert answers.index(True) == 3 + VOTE_STEPS


def test_a_value_of_a_gpu_is_waited_for_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its copy may not have arrived yet: read at once it would be anything, and another thing on each process."""
    order: list[str] = []
    event = SimpleNamespace(record=lambda: order.append("record"), synchronize=lambda: order.append("wait"))
    monkeypatch.setattr(torch.cuda, "Event", lambda: event)

    class Copied(float):
        def __float__(self) -> float:
            order.append("read")
            return 3.0

    class Value:
        def to(self, where: str, non_blocking: bool) -> Any:
            assert where == "cpu" and non_blocking
            order.append("copy")
            return Copied()

    engine = cast(Any, TorchEngine.__new__(TorchEngine))
    engine.device = torch.device("cuda", 0)
    read = engine.later(Value())
    assert order == ["copy", "record"] and read() == 3.0 and order[2:] == ["wait", "read"]
