"""The pretraining benchmark compares what its rows say that it compares."""

from __future__ import annotations

import sys
from pathlib import Path
from unittest import mock

import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from bench_pretrain import PlainAdamW

from pretrain.engines import interface
from pretrain.settings import PretrainSettings


def test_the_row_without_a_fused_optimizer_has_none() -> None:
    """Patched after it had been taken as a base class, it once compared a loop with itself."""
    model = torch.nn.Linear(3, 2)
    settings = PretrainSettings()
    assert interface.make_optimizer(model, settings).defaults["fused"] is True
    with mock.patch.object(interface.torch.optim, "AdamW", PlainAdamW):
        plain = interface.make_optimizer(model, settings)
    assert plain.defaults["fused"] is False and type(plain) is PlainAdamW


def test_without_fusing_the_update_is_the_same() -> None:
    weights = []
    for kind in (torch.optim.AdamW, PlainAdamW):
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 2)
        with mock.patch.object(interface.torch.optim, "AdamW", kind):
            optimizer = interface.make_optimizer(model, PretrainSettings())
        for skip in (0.0, 1.0, 0.0):
            model(torch.ones(1, 3)).sum().backward()
            interface.prepare_update(optimizer, 1e-2, torch.tensor(4.0), torch.tensor(skip))
            optimizer.step()
            optimizer.zero_grad()
        weights.append(model.weight.detach())
    torch.testing.assert_close(*weights)
