"""Which operators are called, and which of them have the host read a value of the device."""

from __future__ import annotations

from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

HOST_READS = {"aten._local_scalar_dense.default", "aten.item.default", "aten.is_nonzero.default", "aten.equal.default"}


class Spy(TorchDispatchMode):
    """Notes the operators that are called."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))
