"""`hunmin tokenizer …`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table

from common.progress import console, say
from hunmin.commands.run import AsJson

app = typer.Typer(no_args_is_help=True, help="Morpheme-aware WordPiece vocabularies: train, compare, show.")

Folders = Annotated[list[str], typer.Argument(metavar="DIR...", help="Tokenizer folders.")]


@app.command(epilog="Example: hunmin tokenizer train --corpus runs/x/corpus --vocab-size 32000 --out tok")
def train(
    corpus: Annotated[
        str, typer.Option("--corpus", help="Finished corpus folder, text file (a document a line) or glob of such.")
    ],
    vocab_size: Annotated[int, typer.Option("--vocab-size", min=10, help="Exact number of entries.")],
    out: Annotated[str, typer.Option("--out", help="Folder to write.")],
    pretokenizer: Annotated[
        Literal["morpheme", "none"], typer.Option("--pretokenizer", help="morpheme: mecab-ko; none: words as they are.")
    ] = "morpheme",
    special: Annotated[
        Literal["roberta", "bert"], typer.Option("--special", help="Order of the special tokens.")
    ] = "roberta",
    seed: Annotated[int, typer.Option("--seed", help="Seed of the corpus sample.")] = 42,
    workers: Annotated[int | None, typer.Option("--workers", min=1, help="Processes; default: the cores.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train a vocabulary and save it so that transformers loads it."""
    from hunmin.standalone import train_tokenizer_folder
    from tokenizer.train import TokenizerSettings

    settings = TokenizerSettings(
        vocab_size=vocab_size, pretokenizer=pretokenizer, special=special, seed=seed, workers=workers
    )
    counts = train_tokenizer_folder(settings, corpus, Path(out))
    if as_json:
        print(json.dumps(counts, ensure_ascii=False, indent=1))
    else:
        say(f"{out}: {vocab_size:,} entries; AutoTokenizer.from_pretrained loads it", style="green")


@app.command(epilog="Example: hunmin tokenizer compare tok-a tok-b --text held-out.txt")
def compare(
    folders: Folders,
    text: Annotated[str, typer.Option("--text", help="Text the vocabularies were not built from, a document a line.")],
    as_json: AsJson = False,
) -> None:
    """Fertility, continued words, unknowns and morpheme boundaries of tokenizers (KLUE paper, Table 35)."""
    from tokenizer.compare import compare as compare_tokenizers

    rows = compare_tokenizers([Path(folder) for folder in folders], Path(text))
    if as_json:
        print(json.dumps(rows, ensure_ascii=False, indent=1))
        return
    table = Table()
    for name in rows[0]:
        table.add_column(name.replace("_", " "), justify="left" if name == "tokenizer" else "right")
    for row in rows:
        table.add_row(*(f"{v:.4f}" if isinstance(v, float) else f"{v:,}" if isinstance(v, int) else str(v)
                        for v in row.values()))  # fmt: skip
    console(stderr=False).print(table)


@app.command(epilog='Example: hunmin tokenizer show tok "조경현은 인공지능 분야의 저명한 연구자이다."')
def show(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Tokenizer folder.")],
    sentence: Annotated[str, typer.Argument(help="Sentence to cut.")] = "조경현은 인공지능 분야의 저명한 연구자이다.",
    more: Annotated[list[str] | None, typer.Option("--with", help="Another tokenizer folder beside it.")] = None,
    as_json: AsJson = False,
) -> None:
    """How tokenizers cut a sentence (KLUE paper, Table 30)."""
    from tokenizer.show import show as show_sentence

    rows = show_sentence([Path(f) for f in [folder, *(more or [])]], sentence)
    if as_json:
        print(json.dumps(rows, ensure_ascii=False, indent=1))
        return
    table = Table("tokenizer", "words / pieces")
    for row in rows:
        table.add_row(row["tokenizer"], row["line"])
    console(stderr=False).print(table)
