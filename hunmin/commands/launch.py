"""`hunmin launch`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from hunmin import completion
from hunmin.commands.options import Overrides, RecipePath

EPILOG = (
    "Examples: hunmin launch RECIPE --launcher slurm --nodes 4 --devices 8 --time 24:00:00; on "
    "each of two machines: hunmin launch RECIPE --launcher torchrun --nodes 2 --devices 8 --address HOST:29500 --node 0"
)


def register(app: typer.Typer) -> None:
    app.command("launch", epilog=EPILOG)(launch)


def launch(
    recipe: RecipePath,
    overrides: Overrides = None,
    launcher: Annotated[
        str,
        typer.Option(
            "--launcher",
            help="local, torchrun, deepspeed, slurm, kubernetes, kubeflow or xla (TPUs).",
            autocompletion=completion.launchers,
        ),
    ] = "local",
    nodes: Annotated[
        str, typer.Option("--nodes", help="Number of nodes; MIN:MAX continues with fewer when some fail (torchrun).")
    ] = "1",
    devices: Annotated[
        int, typer.Option("--devices", min=1, help="Devices (GPUs, TPU chips) per node, one process each.")
    ] = 1,
    cpu: Annotated[bool, typer.Option("--cpu", help="Train on CPUs; the nodes have no GPUs.")] = False,
    node: Annotated[
        int | None, typer.Option("--node", min=0, help="Rank of this node, from 0 (torchrun, deepspeed, xla).")
    ] = None,
    address: Annotated[
        str, typer.Option("--address", help="Address of node 0: HOST:PORT or [IPV6]:PORT (torchrun, deepspeed).")
    ] = "",
    hosts: Annotated[
        str, typer.Option("--hosts", help="Comma-separated host names of the nodes (deepspeed, xla, torchrun).")
    ] = "",
    restarts: Annotated[
        int,
        typer.Option("--restarts", min=0, help="Maximum restarts after failures (torchrun, slurm, kubernetes, xla)."),
    ] = 3,
    grace_period: Annotated[
        int,
        typer.Option(
            "--grace-period",
            min=30,
            max=65535,
            help="Seconds to save the final checkpoint after a stop signal; Slurm sends it so long before --time ends.",
        ),
    ] = 300,
    partition: Annotated[str, typer.Option("--partition", help="Slurm partition.")] = "",
    account: Annotated[str, typer.Option("--account", help="Slurm account.")] = "",
    time: Annotated[str, typer.Option("--time", help="Time limit of each Slurm job, e.g. 24:00:00.")] = "",
    scheduler_option: Annotated[
        list[str] | None,
        typer.Option(
            "--scheduler-option",
            help="Scheduler option, repeatable. Slurm: sbatch option (--scheduler-option=--qos=high). Kubernetes: pod "
            "resource (--scheduler-option=cpu=32). Prefix corpus:, train: or scores: for one job.",
        ),
    ] = None,
    env_file: Annotated[
        str,
        typer.Option(
            "--env-file", help="Environment: file of NAME=VALUE lines (Slurm), or name of a Secret (Kubernetes)."
        ),
    ] = "",
    image: Annotated[str, typer.Option("--image", help="Container image (Slurm: with pyxis).")] = "",
    volume_claim: Annotated[str, typer.Option("--volume-claim", help="Shared volume in Kubernetes: CLAIM:/PATH.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the files and commands; start nothing.")] = False,
) -> None:
    """Launch a recipe on a cluster: the corpus on one node, training on all, scores on one."""
    from common.progress import say, shown
    from hunmin.launch.checks import check_run, warning
    from hunmin.launch.cluster import Cluster, Job, parse_nodes
    from hunmin.launch.start import emit, show, start
    from hunmin.recipes.recipe import load_recipe

    fewest, most = parse_nodes(nodes)
    cluster = Cluster(
        most, devices, cpu, node, address, tuple(filter(None, hosts.split(","))), restarts, grace_period, partition,
        account, time, tuple(scheduler_option or ()), env_file, image, volume_claim,
        "python" if image else sys.executable, fewest,
    )  # fmt: skip
    job = Job(load_recipe(recipe, overrides or []), recipe, tuple(overrides or ()), cluster)
    launched = emit(launcher, job)
    if said := warning(launcher, job):
        say(said, style="yellow")
    if not dry_run:
        start(launcher, job, launched)
        return
    print(shown(show(launched)), end="", flush=True)
    check_run(launcher, job)
