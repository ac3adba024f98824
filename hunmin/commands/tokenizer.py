"""`hunmin tokenizer …`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from common.plots import plot_file
from common.progress import console, print_json, say
from hunmin.commands.options import AsJson, Overwrite

app = typer.Typer(no_args_is_help=True, help="Morpheme-aware WordPiece vocabularies: train, extend, compare, show.")

Folders = Annotated[
    list[str], typer.Argument(metavar="DIR", help="Tokenizer folders, run folders, or names on the hub.")
]


Corpus = Annotated[
    str,
    typer.Option("--corpus", help="Training text: corpus folder, file, or glob."),
]
Segmentation = Literal["morpheme", "kiwi", "none"]


def _pretokenizer(default: str) -> Any:
    """Return the option that says how words are cut; a recipe's class knows its default."""
    text = "Word segmentation before training: mecab-ko morphemes, kiwi (an extra), or none."
    return typer.Option("--pretokenizer", help=text, show_default=default)


SampleMb = Annotated[float, typer.Option("--sample-mb", help="Sample size in megabytes, balanced over sources.")]
MinCharacterCount = Annotated[
    int,
    typer.Option("--min-character-count", min=1, help="Minimum character frequency; rarer characters become [UNK]."),
]
MinPairCount = Annotated[int, typer.Option("--min-pair-count", min=1, help="Minimum pair frequency for a merge.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the corpus sample.")]
Workers = Annotated[int | None, typer.Option("--workers", min=1, help="Number of processes; default: one per core.")]
Out = Annotated[str, typer.Option("--out", help="Output folder.")]


@app.command(epilog="Example: hunmin tokenizer train --corpus runs/x/corpus --vocab-size 32000 --out tok")
def train(
    corpus: Corpus,
    vocab_size: Annotated[int, typer.Option("--vocab-size", help="Vocabulary size, reached exactly.")],
    out: Out,
    pretokenizer: Annotated[Segmentation | None, _pretokenizer("morpheme; none for --model unigram")] = None,
    model: Annotated[
        Literal["wordpiece", "unigram"],
        typer.Option("--model", help="Model type; unigram is for comparison only, on whole words."),
    ] = "wordpiece",
    special: Annotated[
        Literal["roberta", "bert"], typer.Option("--special", help="Order of special tokens.")
    ] = "roberta",
    unused: Annotated[int, typer.Option("--unused", help=r"Number of \[unused0] … slots for tokens added later.")] = 0,
    token: Annotated[
        list[str] | None, typer.Option("--token", help="Token that is never split, e.g. <URL>; repeatable.")
    ] = None,
    max_seq_len: Annotated[
        int, typer.Option("--max-seq-len", min=8, help="Maximum input length in tokens (model_max_length).")
    ] = 512,
    sample_mb: SampleMb = 1000.0,
    min_character_count: MinCharacterCount = 20,
    min_pair_count: MinPairCount = 2,
    seed: Seed = 42,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Train a vocabulary and save it as a transformers tokenizer."""
    from common.settings import parse_settings
    from hunmin.pipeline.outside_run import train_tokenizer_folder
    from tokenizer.train import TokenizerSettings

    settings = parse_settings(
        TokenizerSettings,
        {
            "vocab_size": vocab_size,
            "pretokenizer": pretokenizer or ("none" if model == "unigram" else "morpheme"),
            "model": model,
            "special": special,
            "unused": unused,
            "user_tokens": token or [],
            "max_seq_len": max_seq_len,
            "sample_mb": sample_mb,
            "min_character_count": min_character_count,
            "min_pair_count": min_pair_count,
            "seed": seed,
            "workers": workers,
        },
        "the options",
        "see hunmin tokenizer train --help",
        {"user_tokens": "--token"},
    )
    counts = train_tokenizer_folder(settings, corpus, Path(out))
    if as_json:
        print_json(counts)
    else:
        say(
            f"{out}: {vocab_size:,} entries; card: README.md. Load it with AutoTokenizer.from_pretrained",
            style="green",
        )


@app.command(
    epilog="Examples: hunmin tokenizer extend tok --words terms.txt --out tok2 · "
    "hunmin tokenizer extend tok --corpus law/corpus --vocab-size 36000 --out tok2"
)
def extend(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="WordPiece tokenizer: a folder, run folder, or name on the hub.")
    ],
    out: Out,
    words: Annotated[
        str | None, typer.Option("--words", help="Text file with one entry per line; ##x continues a word.")
    ] = None,
    corpus: Annotated[
        str | None, typer.Option("--corpus", help="Text to learn new entries from: corpus folder, file, or glob.")
    ] = None,
    vocab_size: Annotated[
        int | None, typer.Option("--vocab-size", help="Total vocabulary size, with --corpus.")
    ] = None,
    pretokenizer: Annotated[Segmentation | None, _pretokenizer("morpheme")] = None,
    sample_mb: SampleMb = 1000.0,
    min_character_count: MinCharacterCount = 20,
    min_pair_count: MinPairCount = 2,
    seed: Seed = 42,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Extend a vocabulary; existing ids stay, so a model continues with larger embeddings."""
    from common.compressed import decompression_errors
    from common.errors import UserError
    from common.files import open_bytes
    from common.settings import parse_settings
    from hunmin.pipeline.outside_run import extend_tokenizer_folder
    from tokenizer.train import TokenizerSettings

    if (corpus is None) != (vocab_size is None) or (words is None and corpus is None):
        raise UserError(
            "nothing to add",
            "entries come from --words FILE, or from --corpus PATH up to --vocab-size N, or from both",
            "see hunmin tokenizer extend --help",
        )
    tree = {
        "pretokenizer": pretokenizer or "morpheme",
        "sample_mb": sample_mb,
        "min_character_count": min_character_count,
        "min_pair_count": min_pair_count,
        "seed": seed,
        "workers": workers,
    }
    settings = parse_settings(
        TokenizerSettings, {**tree, **({"vocab_size": vocab_size} if vocab_size else {})}, "the options",
        "see hunmin tokenizer extend --help", {},
    )  # fmt: skip
    named: list[str] = []
    if words:
        with open_bytes(words) as stream, decompression_errors(words):
            try:
                read = stream.read().decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise UserError(
                    f"{words} is not UTF-8: byte {error.start}",
                    "words are UTF-8 text, one per line",
                    "convert it: iconv -f cp949 -t utf-8",
                ) from None
            named = [line for raw in read.splitlines() if (line := raw.strip())]
    counts = extend_tokenizer_folder(folder, named, corpus, settings, Path(out))
    if as_json:
        print_json(counts)
    else:
        say(
            f"{out}: {counts['vocab_size']:,} entries, {counts['named']:,} from the list and "
            f"{counts['learnt']:,} learned; enlarge a model with resize_token_embeddings",
            style="green",
        )


@app.command(epilog="Example: hunmin tokenizer compare tok-a tok-b --text held-out.txt --plot tokenizers.png")
def compare(
    folders: Folders,
    text: Annotated[str, typer.Option("--text", help="Held-out text, one document per line.")],
    plot: Annotated[str | None, typer.Option("--plot", help="Bar chart file: .png, .svg or .pdf.")] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Compare tokenizers: fertility, continued words, unknowns, morpheme boundaries (KLUE paper, Table 35)."""
    from tokenizer.compare import compare as compare_tokenizers
    from tokenizer.compare import shown, without_unused_share

    file = plot_file(Path(plot), "--plot", overwrite) if plot else None
    rows = compare_tokenizers(folders, text)
    if file:
        from tokenizer.show import draw_comparison

        draw_comparison(rows, file)
        say(f"drawn: {plot}")
    if as_json:
        print_json(rows)
        return
    table = Table("", *(str(row["tokenizer"]) for row in rows))
    for column in table.columns[1:]:
        column.justify = "right"
    for name in list(rows[0])[1:]:
        values = (row[name] for row in rows)
        table.add_row(name.replace("_", " "), *(f"{v:,}" if isinstance(v, int) else shown(v) for v in values))
    console(stderr=False).print(table)
    for row in rows:
        if why := without_unused_share(row):
            say(f"{row['tokenizer']}: {why}")


@app.command(epilog='Example: hunmin tokenizer show tok "조경현은 인공지능 분야의 저명한 연구자이다."')
def show(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="Tokenizer folder, run folder, or name on the hub: OWNER/NAME.")
    ],
    sentence: Annotated[
        str, typer.Argument(help="Sentence to tokenize.")
    ] = "조경현은 인공지능 분야의 저명한 연구자이다.",
    more: Annotated[list[str] | None, typer.Option("--with", help="Tokenizer to compare with; repeatable.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show how tokenizers split a sentence (KLUE paper, Table 30)."""
    from tokenizer.show import show as show_sentence

    rows = show_sentence([folder, *(more or [])], sentence)
    if as_json:
        print_json(rows)
        return
    table = Table("tokenizer", "words / pieces")
    for row in rows:
        table.add_row(row["tokenizer"], row["line"])
    console(stderr=False).print(table)
