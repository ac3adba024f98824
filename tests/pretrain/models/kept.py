"""What a computation keeps for its backward pass."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


@contextmanager
def saved_for_backward(known: Iterable[Tensor]) -> Iterator[dict[int, int]]:
    """Give place → bytes of the storages that are saved within the block, those of known tensors left out."""
    bytes_by_storage: dict[int, int] = {}
    apart = {tensor.untyped_storage().data_ptr() for tensor in known}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in apart:
            bytes_by_storage[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        yield bytes_by_storage
