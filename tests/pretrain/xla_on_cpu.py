"""TorchTPU's compiler without a TPU: its own lowering to StableHLO, run by XLA on the CPU (jax) or compiled for a TPU.

TorchTPU lowers a graph without a device and asks one to compile it; that last call is replaced here, and with it what
draws random numbers, which needs the device: there is no dropout. The graph is of a model on the CPU, as nothing else
could hold its values: before TorchTPU sees it, all in it is put on a "tpu", so that autograd's graphs, the
decompositions, autocast and attention are those of a TPU.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
os.environ.setdefault("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_ENABLE_X64", "1")

import jax
import torch
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax.experimental.topologies import get_topology_desc
from jax.extend.backend import get_backend
from jaxlib._jax import DeviceList
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from torch._guards import detect_fake_mode
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.node import map_aggregate
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._pytree import tree_flatten, tree_unflatten
from torch_tpu._internal import export
from torch_tpu._internal.compile import TpuBackend, compiler, tpu_torch_compile
from torch_tpu._internal.compile.torch_tpu_compiled_executable import CompiledArtifact
from torch_tpu._internal.execution_mode import EagerMode, set_eager_mode
from torch_tpu._internal.export.export import EagerLikeFxInterpreter, ExportedMlir
from torch_tpu._loader import _init_device

PRIVATE_USE = 20
"""Number of `c10::DeviceType::PrivateUse1`."""
modules: list[bytes] = []
"""Each graph that was compiled: StableHLO, as a portable artifact."""
_state = SimpleNamespace(lowers_only=False)


def load(artifact: bytes) -> Any:
    """Return a module as an executable of XLA on the CPU.

    Args:
        artifact: portable StableHLO.
    """
    client = get_backend("cpu")
    devices = DeviceList(tuple(client.local_devices()[:1]))
    module = mlir.module_to_bytecode(without_composites(artifact))
    return client.compile_and_load(module, devices, xla_client.CompileOptions())


def compiled_for_tpu(artifact: bytes, topology: str = "v5e:2x2") -> dict[str, int]:
    """Return what a module takes of a chip's memory, in bytes, by the compiler of libtpu: no TPU is needed for that.

    Args:
        artifact: portable StableHLO.
        topology: of the chips.
    """
    device = get_topology_desc(platform="tpu", topology_name=topology).devices[0]
    options = xla_client.CompileOptions()
    compiled = device.client.compile(without_composites(artifact), DeviceList((device,)), options)
    memory = compiled.get_compiled_memory_stats()
    return {part: getattr(memory, f"{part}_size_in_bytes") for part in ("argument", "output", "temp", "alias")}


def without_composites(artifact: bytes) -> ir.Module:
    """Return a module whose composite operations are calls of what they are made of; XLA's CPU compiler aborts on them,
    and jax does not hand them to libtpu.

    Args:
        artifact: portable StableHLO.
    """
    module = stablehlo.deserialize_portable_artifact(mlir.make_ir_context(), artifact)
    composites: list[ir.Operation] = []

    def look(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == "stablehlo.composite":
            composites.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(look)
    for old in composites:
        with ir.InsertionPoint(old), old.location:
            new = ir.Operation.create(
                "func.call",
                results=[result.type for result in old.results],
                operands=list(old.operands),
                attributes={"callee": old.attributes["decomposition"]},
            )
        for old_value, new_value in zip(old.results, new.results, strict=True):
            old_value.replace_all_uses_with(new_value)
        old.erase()
    return module


def execute(executable: Any, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return what an executable gives for tensors of the CPU.

    Args:
        executable: see `load`.
        tensors: its arguments.
    """
    arrays = [jax.dlpack.from_dlpack(tensor.detach().contiguous()) for tensor in tensors]
    outputs = executable.execute_sharded(arrays).disassemble_into_single_device_arrays()
    return [torch.from_dlpack(array[0]).clone() for array in outputs]


def as_it_lies(value: torch.Tensor, shape: torch.Size, stride: tuple[int, ...], offset: int) -> torch.Tensor:
    """Return an argument as TorchTPU's modules take it: by its place in memory; results have their own dimensions.

    Args:
        value: the argument, which may lie otherwise than where the graph was traced.
        shape: there.
        stride: there.
        offset: there, in what it is a part of.
    """
    value = value.reshape(shape)
    extent = 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    if extent == value.numel() and not offset:
        return value.permute(sorted(range(len(shape)), key=stride.__getitem__, reverse=True))
    flat = value.new_zeros(offset + extent)  # a part of something larger
    flat.as_strided(shape, stride, offset).copy_(value)
    return flat


class OnCpu(CompiledArtifact):
    """In the place of TorchTPU's executable."""

    def __init__(
        self,
        executable: Any,
        reconstruct_fx_outputs_fn: Any,
        updates_default_generator_state: bool,
        dynamic_outputs: Any = None,
        unique_output_indices: Any = None,
    ) -> None:
        super().__init__()
        self.executable, self.rebuild = executable, reconstruct_fx_outputs_fn
        self.random = updates_default_generator_state

    def __call__(self, *inputs: Any) -> Any:
        """Return the graph's outputs, of its inputs or a list of them."""
        if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)):
            inputs = tuple(inputs[0])
        tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
        executable, layouts = self.executable
        tensors = [as_it_lies(value, *layout) for value, layout in zip(tensors, layouts, strict=True)]
        return self.rebuild(inputs, None if executable is None else execute(executable, tensors))

    def __reduce__(self) -> Any:
        raise TypeError("is not kept")


def build(result_tensors: Any, argument_tensors: Any, **_: Any) -> SimpleNamespace:
    """Do what `tpu_torch_compile.traverse_and_compile` does, for the CPU."""
    module = tpu_torch_compile.build_mlir(result_tensors, argument_tensors)
    modules.append(tpu_torch_compile.serialize_mlir_portable_artifact(module))
    return SimpleNamespace(module=module, executable=None if _state.lowers_only else load(modules[-1]))


def lower(graph: torch.fx.GraphModule, args: list[Any], **_: Any) -> ExportedMlir:
    """Do what TorchTPU's `fx_to_mlir` does, but for random numbers, whose generator needs a device.

    Args:
        graph: after autograd.
        args: its inputs, as TorchTPU's placeholders.
    """
    tensors = [value for value in args if isinstance(value, torch.Tensor)]
    with set_eager_mode(EagerMode._INTERNAL_COMPILE_FX_GRAPH):
        copies = [value.clone() if isinstance(value, torch.Tensor) else value for value in args]
        outputs = EagerLikeFxInterpreter(graph).run(*copies)
        flat, tree = tree_flatten(outputs)
        results = [value for value in flat if isinstance(value, torch.Tensor)]
        built = build(results, tensors)
    layouts = [(value.shape, value.stride(), value.storage_offset()) for value in tensors]

    shapes = [(value.shape, value.dtype) for value in results]

    def rebuild(_: Any, outputs: list[torch.Tensor] | None) -> Any:
        left = iter([torch.zeros(shape, dtype=dtype) for shape, dtype in shapes] if outputs is None else outputs)
        return tree_unflatten([next(left) if isinstance(value, torch.Tensor) else value for value in flat], tree)

    return ExportedMlir(built.module, (built.executable, layouts), results, rebuild, False)


def on_tpu(graph: torch.fx.GraphModule, inputs: Any) -> list[Any]:
    """Put a graph of dynamo's on a TPU, in place, and return its inputs there, without values."""
    tpu = torch.device("tpu", 0)

    def moved(value: Any) -> Any:
        return tpu if isinstance(value, torch.device) else value

    for part in graph.modules():  # those of an autograd.Function are graphs of their own
        if not isinstance(part, torch.fx.GraphModule):
            continue
        for node in part.graph.nodes:
            node.args, node.kwargs = map_aggregate(node.args, moved), map_aggregate(node.kwargs, moved)
            if node.target is torch.amp.autocast_mode._enter_autocast:
                node.args = ("tpu", *node.args[1:])
        part.recompile()
    mode = detect_fake_mode(inputs) or FakeTensorMode()

    def there(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        with mode:
            empty = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=tpu)
        return empty.requires_grad_(value.requires_grad)

    return [there(value) for value in inputs]


def by_torch_tpu(graph: torch.fx.GraphModule, inputs: Any) -> Any:
    """Lower a graph as TorchTPU does and run nothing: results are zeros; a backend of `torch.compile`."""
    _state.lowers_only = True
    return TpuBackend()(graph, on_tpu(graph, inputs), options={"serializable": False})


def on_cpu(graph: torch.fx.GraphModule, inputs: Any) -> Any:
    """Compile a graph as TorchTPU does, for XLA on the CPU; a backend of `torch.compile`.

    Attention is what TorchTPU makes of it without its kernel, which is one of a TPU's own.
    """
    with sdpa_kernel(SDPBackend.MATH):
        return TpuBackend()(graph, on_tpu(graph, inputs), options={"serializable": False})


class Guard(torch._C._acc.DeviceGuard):
    """One device that is always there."""

    def type_(self) -> Any:
        return torch._C._autograd.DeviceType.PrivateUse1  # type: ignore[attr-defined]


def pretend_one_device() -> Guard:
    """Have torch's autograd count one TPU, and return what must be kept; TorchTPU's own guard counts none.

    torch takes no second guard for a type, so the place of the first in its table is emptied before.
    """
    library = Path(torch.__file__).parent / "lib" / "libc10.so"
    kinds = ctypes.c_void_p * (PRIVATE_USE + 1)
    kinds.in_dll(ctypes.CDLL(str(library)), "_ZN3c104impl26device_guard_impl_registryE")[PRIVATE_USE] = None
    guard = Guard()
    assert torch._C._acc.register_python_privateuseone_device_guard(guard)
    return guard


_init_device("tpu")
_guard = pretend_one_device()
export.fx_to_mlir = lower
compiler.TorchTpuCompiledExecutable = OnCpu


def count_into(path: str) -> None:
    """Write the size of each module that is compiled, as JSON, when the process ends."""
    atexit.register(lambda: Path(path).write_text(json.dumps([len(module) for module in modules])))
