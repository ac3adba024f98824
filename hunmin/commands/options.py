"""Arguments and options that several commands have, with the same help everywhere."""

from __future__ import annotations

from typing import Annotated

import typer

from hunmin import completion

RecipePath = Annotated[
    str,
    typer.Argument(
        metavar="RECIPE",
        help="Recipe file, or a built-in recipe's name (hunmin recipes lists them).",
        autocompletion=completion.recipes,
    ),
]
Overrides = Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Settings that override the recipe.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace an earlier output of this command; otherwise it is refused.")
]
DecoderName = Annotated[
    str,
    typer.Argument(metavar="MODEL", help=r"Decoder: folder, run, or name on the hub (OWNER/NAME\[@REVISION])."),
]
CONTRACT = (
    "Replaces only what Hunmin made, of this kind, unchanged since (files: only with --overwrite); never an input or "
    "a link."
)
"""Stands in the help of every option that names an output."""
