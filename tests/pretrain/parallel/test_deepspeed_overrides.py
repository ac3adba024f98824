"""What is used of DeepSpeed's insides: each test fails when a new version changes it, and the version is bounded."""

import ast
import configparser
import importlib
import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import deepspeed
import torch
from deepspeed.runtime.zero import partition_parameters, stage3, stage_1_and_2
from packaging.specifiers import SpecifierSet

from pretrain.parallel import zero as deepspeed_engine
from pretrain.parallel.zero import OVERRIDES, DeepSpeedEngine, deepspeed_config
from pretrain.settings import PretrainSettings


def test_the_version_is_bounded() -> None:
    setup = configparser.ConfigParser()
    setup.read(Path(__file__).parents[3] / "setup.cfg")
    (line,) = [line for line in setup["options"]["install_requires"].splitlines() if line.startswith("deepspeed")]
    accepted = SpecifierSet(line.removeprefix("deepspeed"))
    assert deepspeed.__version__ in accepted
    assert not accepted.contains("0.20.0") and not accepted.contains("0.18.9")


def test_every_override_is_listed() -> None:
    """Whatever the engine touches of DeepSpeed that is not of its public interface."""
    public = {"initialize", "init_distributed", "ops", "zero", "register_external_parameter"}
    touched: set[str] = set()
    for node in ast.walk(ast.parse(inspect.getsource(deepspeed_engine))):
        if isinstance(node, ast.Attribute):
            base = ast.unparse(node.value)
            if base in ("deepspeed", "stage3", "zero", "self._engine.optimizer") or base.startswith("deepspeed."):
                touched.add(node.attr)
    assert {"__compatible_ops__", "is_invalid_grad_norm"} <= touched  # what the test rests on
    own_norm = {"scaled_global_norm"}  # of the optimizer's interface, by which clipping is done elsewhere
    for name in touched - public - own_norm:
        assert any(key.endswith(f".{name}") for key in OVERRIDES), name


def test_stage_3_keeps_the_parts_that_are_updated_by_that_name() -> None:
    assert "self.fp32_partitioned_groups_flat = []" in inspect.getsource(stage3.DeepSpeedZeroOptimizer_Stage3)


def test_stage_3_cuts_weights_as_checkpoints_are_cut() -> None:
    """7 numbers over 4 processes: 8 with what fills them up, 2 a process."""
    init = partition_parameters.Init
    owner: Any = SimpleNamespace(_partition_world_size=lambda _: 4)
    assert [init._padding_size(owner, SimpleNamespace(ds_numel=size)) for size in (7, 8, 1)] == [1, 0, 3]
    said = "partition_size = tensor_size // self._partition_world_size(param)"
    assert said in inspect.getsource(partition_parameters)
    own: Any = DeepSpeedEngine.__new__(DeepSpeedEngine)
    parts = []
    for rank in range(4):
        with (
            patch("torch.distributed.is_initialized", lambda: True),
            patch("torch.distributed.get_world_size", lambda: 4),
            patch("torch.distributed.get_rank", lambda rank=rank: rank),
        ):
            parts.append(own._own_part(torch.arange(1.0, 8.0)).tolist())
    assert parts == [[1, 2], [3, 4], [5, 6], [7, 0]]


def test_the_shared_memory_all_reduce_is_looked_up_where_it_is_switched_off() -> None:
    backend = importlib.import_module("deepspeed.comm.torch")

    asked = "not deepspeed.ops.__compatible_ops__.get(builder.NAME, False)"
    assert asked in inspect.getsource(backend.build_shm_op)


def test_stage_3_asks_for_the_norm_by_the_name_that_is_replaced() -> None:
    step = inspect.unwrap(stage3.DeepSpeedZeroOptimizer_Stage3.step)
    assert "is_invalid_grad_norm" in step.__code__.co_names or "if is_invalid_grad_norm(scaled_global_grad_norm):" in (
        inspect.getsource(stage3)
    )


def test_stages_1_and_2_leave_norm_clipping_and_overflow_alone_when_told_so() -> None:
    """Without them their step has nothing to wait for."""
    zero = deepspeed_config(PretrainSettings(zero_stage=1, engine="deepspeed"), 1, 10**6)["zero_optimization"]
    assert zero["compute_grad_norm"] is False
    source = inspect.getsource(stage_1_and_2.DeepSpeedZeroOptimizer.step)
    assert "if self.check_grad_overflow:" in source and "if self.compute_grad_norm and not self.overflow:" in source
    unscale = inspect.getsource(stage_1_and_2.DeepSpeedZeroOptimizer.unscale_and_clip_grads)
    assert "if self.clip_grad == 0.0 and self.loss_scale == 1.0:\n            return" in unscale


def test_moments_are_linked_by_the_method_that_is_called() -> None:
    source = inspect.getsource(stage_1_and_2.DeepSpeedZeroOptimizer._lazy_init_hp_params_optimizer_state)
    assert "_hp_optimizer_states_linked" in source


def test_a_fused_optimizer_takes_divisor_and_flag_by_the_names_that_are_set() -> None:
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.AdamW([weight], lr=0.1, weight_decay=0.0, fused=True)
    weight.grad = torch.full((3,), 8.0)
    optimizer.grad_scale, optimizer.found_inf = torch.tensor(4.0), torch.tensor(1.0)  # type: ignore[attr-defined]
    optimizer.step()
    assert torch.equal(weight.data, torch.ones(3)) and float(optimizer.state[weight]["step"]) == 0
    assert not optimizer.state[weight]["exp_avg"].any()
    weight.grad = torch.full((3,), 8.0)
    optimizer.found_inf = torch.tensor(0.0)  # type: ignore[attr-defined]
    optimizer.step()
    assert float(optimizer.state[weight]["step"]) == 1
    torch.testing.assert_close(optimizer.state[weight]["exp_avg"], torch.full((3,), 0.1 * 8.0 / 4.0))
