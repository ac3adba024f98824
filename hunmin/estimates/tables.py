"""The tables that `hunmin plan` prints."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from common import units
from common.progress import console
from common.tables import facts_table, rows_table
from hunmin.estimates.seconds import START_SECONDS

PARTS = {
    "weights": "weights",
    "gathered": "weights gathered for computing",
    "gradients": "gradients",
    "moments": "optimizer moments",
    "communication": "all-reduce buckets",
    "activations": "activations",
    "head": "head and logits",
    "gaps": "allocator overhead",
}
"""Part of the memory → its name for people."""


UNKNOWN = "not known before the corpus is encoded"
TEXT = ("corpus", "tokenizer", "encode")
"""Stages before training."""
LEFT_OUT = "without compilation in the first run, validation, checkpoints"
Rows = list[tuple[str, str]]


def print_cost(plan: dict[str, Any]) -> None:
    """Print a plan of `hunmin.estimates.cost.cost_plan` as tables on stdout."""
    out = console(stderr=False)
    memory = f"Memory per device, ZeRO stage {plan['zero_stage']}, micro-batch of {plan['micro_batch']} samples"
    facts = {"The run": _run(plan), memory: _memory(plan), "Disk": _disk(plan), "Time": _time(plan)}
    for title, rows in facts.items():
        out.print(facts_table(title, rows))
    out.print(_scaling_table(plan))
    out.print(Text(plan["scaling_verdict"]))
    for note in plan["notes"]:
        out.print(Text(note, style="yellow"))


def _run(plan: dict[str, Any]) -> Rows:
    epoch = f"{units.count(plan['epoch_tokens'])} tokens" if plan["epoch_tokens"] else UNKNOWN
    devices = f"{plan['named_devices']} × {plan['device_name']}"
    devices += f" = {plan['devices']} devices" if plan["devices"] != plan["named_devices"] else ""
    devices += f" in {plan['nodes']} nodes" if plan["nodes"] > 1 else ""
    return [
        ("parameters", units.count(plan["parameters"])),
        ("training tokens", units.count(plan["tokens"])),
        ("tokens in an epoch", epoch),
        ("epochs", _epochs(plan)),
        ("FLOPs per token, forward + backward", f"{plan['flops_per_token'] / 1e6:.1f} M"),
        ("FLOPs in all", f"{plan['flops']:.2e}"),
        ("devices", devices),
        ("precision", plan["arithmetic"]),
    ]


def _epochs(plan: dict[str, Any]) -> str:
    if plan["epoch_tokens"]:
        return f"{plan['epochs']:,.1f}" + " at most" * (plan["packing"] != "contiguous")  # less with padding
    about = plan["epochs_about"]
    return f"about {about:,.0f}, by {units.size(plan['text_bytes'])} of text" if about else UNKNOWN


def _memory(plan: dict[str, Any]) -> Rows:
    shown = {part: units.size(plan["memory"][part]) for part in PARTS if plan["memory"][part]}
    instead = "with layers kept" if plan["gradient_checkpointing"] else "with gradient checkpointing"
    shown["activations"] += f" ({units.size(plan['memory_other']['activations'])} {instead})"
    device, room = (units.size(plan[key]) for key in ("device_memory_bytes", "usable_memory_bytes"))
    total = units.size(plan["memory_bytes_per_device"])
    return [
        *((PARTS[part], size) for part, size in shown.items()),
        ("in all", f"{total}: {'fits' if plan['fits'] else 'DOES NOT FIT'} ({room} of {device} usable)"),
        ("largest micro-batch", _largest(plan["largest_micro_batch"], plan)),
        ("… with gradient checkpointing", _largest(plan["largest_micro_batch_checkpointing"], plan)),
    ]


def _largest(largest: dict[str, int], plan: dict[str, Any]) -> str:
    if not largest["fits"]:
        return "none fits"
    if largest["divides"] != largest["fits"]:
        return f"{largest['fits']}; {largest['divides']} to divide the global batch"
    share = plan["micro_batch"] * plan["micro_batches_per_step"]
    return f"{largest['fits']}" + (" (a device's whole share of the global batch)" if largest["fits"] >= share else "")


def _disk(plan: dict[str, Any]) -> Rows:
    disk = plan["disk"]
    number = disk["checkpoints"] // disk["checkpoint"]
    known = disk["tokens"] is not None
    return [
        ("token shards", units.size(disk["tokens"]) if known else UNKNOWN),
        ("checkpoints, at most", f"{number:,} × {units.size(disk['checkpoint'])} = {units.size(disk['checkpoints'])}"),
        ("exported model", units.size(disk["export"])),
        ("in all" if known else "in all, without the tokens", units.size(plan["disk_bytes"])),
    ]


def _time(plan: dict[str, Any]) -> Rows:
    training = plan["stage_seconds"]["pretrain"]
    rate = plan["flops_per_second"] / 1e12
    share = plan["micro_batches_per_step"]
    step = f"{share:.4g} micro-batch{'' if share == 1 else 'es'} per device"
    if plan["devices"] > 1:
        compute, waiting = (units.time(plan[f"step_{part}_seconds"]) for part in ("compute", "waiting"))
        step += f"; {compute} computing, {waiting} waiting"
    rows = [
        ("rate", f"{rate:{',.0f' if rate >= 100 else '.3g'}} TFLOP/s ({plan['basis']})"),
        ("time per step", f"{units.time(plan['step_seconds'])} ({step})"),
    ]
    if plan["devices"] > 1:
        rows.append(
            ("communication per step", f"{units.time(plan['step_communication_seconds'])}, over {_links(plan)}")
        )
    rows += [
        ("tokens per second", units.count(plan["tokens_per_second"])),
        ("training time", f"{units.time(training)}, {START_SECONDS:.0f} s of them to start; {LEFT_OUT}"),
    ]
    if plan["text_core_hours"] is not None:
        took = units.span(sum(plan["stage_seconds"][stage] for stage in TEXT))
        cores = f"{plan['cores']} core{'s' * (plan['cores'] > 1)}"
        basis = f"{units.size(plan['text_bytes'])} of text, at rates measured on one machine"
        left_out = "with the benchmark's index, without compilation in the first run (half a minute)"
        rows.append(("corpus, vocabulary, encoding", f"{took} on {cores} for {basis}; {left_out}"))
    if plan["klue_hours"] is not None:
        took = units.span(plan["stage_seconds"]["klue"])
        rows.append(("KLUE fine-tuning", took if took.startswith("under") else f"about {took}"))
    if plan["cost"] is not None:
        total = units.money(plan["cost"])
        price = units.money(plan["price_per_hour"])
        rows.append(("cost", f"{total}, at {price} an hour for one {plan['device_name']}"))
    return rows


def _links(plan: dict[str, Any]) -> str:
    """Return the links between devices, and the bandwidth that the plan assumes of them."""
    links = []
    if plan["nodes"] > 1:
        how = "stated" if plan["network_stated"] else "assumed, see --network"
        hop = units.time(plan["hop_seconds"]["between_nodes"])
        links.append(f"{units.size(plan['network_bytes_per_second'])}/s per node ({how}; {hop} a hop)")
    if plan["devices"] > plan["nodes"]:
        hop = units.time(plan["hop_seconds"]["in_node"])
        links.append(f"{units.size(plan['link_bytes_per_second'])}/s per device in a node ({hop} a hop)")
    return f"{', '.join(links)}, of which {plan['link_share']:.0%} assumed reachable"


def _scaling_table(plan: dict[str, Any]) -> Table:
    columns = ["devices", "nodes", "micro-batch", "memory per device", "time", "efficiency"]
    rows = []
    for row in plan["scaling"]:
        cells = [f"{row['devices']:,}", f"{row['nodes']:,}"]
        if row["micro_batch"]:
            memory = units.size(row["memory"]) + ("" if row["fits"] else ", too much")
            cells += [str(row["micro_batch"]), memory, units.time(row["hours"] * 3600), f"{row['efficiency']:.0%}"]
            cells += [units.money(row["cost"])] if plan["cost"] is not None else []
        else:
            cells.append("does not divide")
        rows.append(cells)
    return rows_table("Other numbers of devices", [*columns, *(["cost"] if plan["cost"] is not None else [])], rows)
