"""What `hunmin plan` prints."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from common import units
from common.progress import console
from common.tables import facts_table, rows_table

PARTS = {
    "weights": "weights",
    "gathered": "weights gathered for computing",
    "gradients": "gradients",
    "moments": "optimizer moments",
    "communication": "communication buckets",
    "activations": "activations",
    "head": "head and logits",
    "gaps": "kept by the allocator",
}
"""Part of the memory → its name for people."""


def print_cost(plan: dict[str, Any]) -> None:
    """Print a plan of `hunmin.cost.cost_plan` as tables on stdout."""
    out = console(stderr=False)
    for table in (_run_table(plan), _memory_table(plan), _disk_table(plan), _time_table(plan), _scaling_table(plan)):
        out.print(table)
    out.print(Text(plan["scaling_verdict"]))
    for note in plan["notes"]:
        out.print(Text(note, style="yellow"))


def _run_table(plan: dict[str, Any]) -> Table:
    epoch = "not known before the corpus is encoded"
    if plan["epoch_tokens"]:
        epoch = f"{units.count(plan['epoch_tokens'])} tokens; the run goes over them {plan['epochs']:,.1f} times"
    rows = [
        ("parameters", units.count(plan["parameters"])),
        ("the run", f"{units.count(plan['tokens'])} tokens"),
        ("an epoch", epoch),
        ("FLOPs a token, forward + backward", f"{plan['flops_per_token'] / 1e6:.1f} M"),
        ("FLOPs in all", f"{plan['flops']:.2e}"),
        ("devices", _devices(plan)),
        ("computing in", plan["arithmetic"]),
    ]
    return facts_table("The run", rows)


def _devices(plan: dict[str, Any]) -> str:
    named = f"{plan['named_devices']} × {plan['device_name']}"
    if plan["devices"] != plan["named_devices"]:
        named += f" = {plan['devices']} devices"
    if plan["nodes"] > 1:
        return f"{named} in {plan['nodes']} nodes"
    return named


def _memory_table(plan: dict[str, Any]) -> Table:
    memory, other = plan["memory"], plan["memory_other"]
    again = plan["gradient_checkpointing"]
    rows = []
    for part, name in PARTS.items():
        if not memory[part]:
            continue
        shown = units.size(memory[part])
        if part == "activations":
            instead = "with layers kept" if again else "with gradient checkpointing"
            shown += f" ({units.size(other[part])} {instead})"
        rows.append((name, shown))
    device, room = (units.size(plan[key]) for key in ("device_memory_bytes", "usable_memory_bytes"))
    total = units.size(plan["memory_bytes_per_device"])
    fits = "fits" if plan["fits"] else "DOES NOT FIT"
    rows += [
        ("in all", f"{total}: {fits} ({room} of {device} can be used)"),
        ("largest micro-batch", _largest(plan["largest_micro_batch"], plan)),
        ("… with gradient checkpointing", _largest(plan["largest_micro_batch_checkpointing"], plan)),
    ]
    title = f"Memory a device, ZeRO stage {plan['zero_stage']}, micro-batch of {plan['micro_batch']} samples"
    return facts_table(title, rows)


def _largest(largest: dict[str, int], plan: dict[str, Any]) -> str:
    if not largest["fits"]:
        return "none fits"
    if largest["divides"] == largest["fits"]:
        share = plan["micro_batch"] * plan["micro_batches_per_step"]
        return f"{largest['fits']}" + (" (a device's whole share of a step)" if largest["fits"] >= share else "")
    return f"{largest['fits']}; {largest['divides']} to divide the global batch"


def _disk_table(plan: dict[str, Any]) -> Table:
    disk = plan["disk"]
    number = disk["checkpoints"] // disk["checkpoint"]
    tokens = "not known before the corpus is encoded" if disk["tokens"] is None else units.size(disk["tokens"])
    rows = [
        ("token shards", tokens),
        ("checkpoints, at most", f"{number:,} × {units.size(disk['checkpoint'])} = {units.size(disk['checkpoints'])}"),
        ("exported model", units.size(disk["export"])),
        ("in all" if disk["tokens"] is not None else "in all, without the tokens", units.size(plan["disk_bytes"])),
    ]
    return facts_table("Disk", rows)


def _time_table(plan: dict[str, Any]) -> Table:
    rows = [
        ("rate", f"{_teraflops(plan['flops_per_second'])} TFLOP/s ({plan['basis']})"),
        ("a step", _step(plan)),
    ]
    if plan["devices"] > 1:
        rows.append(("communication a step", f"{units.time(plan['step_communication_seconds'])}, over {_links(plan)}"))
    rows += [
        ("tokens a second", units.count(plan["tokens_per_second"])),
        ("training time, without validation and checkpoints", units.time(plan["hours"] * 3600)),
    ]
    if plan["text_core_hours"] is not None:
        took = units.time(plan["text_core_hours"] * 3600)
        of = f"{units.size(plan['text_bytes'])} of text, at rates measured on one machine"
        rows.append(("corpus, vocabulary and token shards", f"{took} of one core for {of}"))
    if plan["cost"] is not None:
        total, price = units.money(plan["cost"]), units.money(plan["price_per_hour"])
        rows.append(("cost", f"{total}, at {price} an hour for one {plan['device_name']}"))
    return facts_table("Time", rows)


def _links(plan: dict[str, Any]) -> str:
    """Return what gradients and weights travel over, and what of it is reckoned with."""
    links = []
    if plan["nodes"] > 1:
        how = "stated" if plan["network_stated"] else "assumed, see --network"
        hop = units.time(plan["hop_seconds"]["between_nodes"])
        links.append(f"{units.size(plan['network_bytes_per_second'])}/s a node ({how}; {hop} a hop)")
    if plan["devices"] > plan["nodes"]:
        hop = units.time(plan["hop_seconds"]["in_node"])
        links.append(f"{units.size(plan['link_bytes_per_second'])}/s a device in a node ({hop} a hop)")
    return f"{', '.join(links)}, of which {plan['link_share']:.0%} are assumed to be reached"


def _step(plan: dict[str, Any]) -> str:
    share = plan["micro_batches_per_step"]
    parts = f"{share:.4g} micro-batch{'' if share == 1 else 'es'} a device"
    if plan["devices"] > 1:
        compute, waiting = (units.time(plan[f"step_{part}_seconds"]) for part in ("compute", "waiting"))
        parts += f"; {compute} computing, {waiting} waiting"
    return f"{units.time(plan['step_seconds'])} ({parts})"


def _teraflops(rate: float) -> str:
    value = rate / 1e12
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _scaling_table(plan: dict[str, Any]) -> Table:
    columns = ["devices", "nodes", "micro-batch", "memory a device", "time", "efficiency"]
    rows = []
    for row in plan["scaling"]:
        cells = [f"{row['devices']:,}", f"{row['nodes']:,}"]
        if row["micro_batch"]:
            memory = units.size(row["memory"]) + ("" if row["fits"] else ", too much")
            cells += [str(row["micro_batch"]), memory, units.time(row["hours"] * 3600), f"{row['efficiency']:.0%}"]
            cells += [units.money(row["cost"])] if plan["cost"] is not None else []
        else:
            cells.append("none divides")
        rows.append(cells)
    return rows_table("On other numbers of devices", [*columns, *(["cost"] if plan["cost"] is not None else [])], rows)
