"""The files of a model or tokenizer folder, checked before any of them is used; no weight is loaded, no code run.

Every command that takes a model goes through here. A file whose bytes differ from its manifest is damage (exit code 1);
any other fault is one of the folder that the user named (exit code 2).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from common.errors import HunminError, UserError
from common.file_facts import file_fact
from common.files import read_bytes, xxh3_file
from common.manifest import MANIFEST, Manifest
from common.names import TOKENIZERS
from common.noted_manifest import manifests_above
from common.weights import check_header, first_not_finite

RULE = "a model is a folder with config.json, weights in safetensors and a tokenizer, as `hunmin export` writes it"
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
HEAD_FILE = "head.safetensors"
"""Weights of a head that transformers lacks, in a fine-tuned model's folder."""
MODULES = "modules.json"
"""The parts of a model of sentence-transformers, each with a folder."""
MEASURED = "onnx/measured.json"
"""Size, speed and nearness to the model of each ONNX graph, beside them."""
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.h5", "*.msgpack")
"""Weights that are not read: loading a pickle runs what is in it."""
READ = (
    *("config.json", "generation_config.json", WEIGHTS, INDEX, HEAD_FILE, "adapter_config.json", *TOKENIZERS),
    *("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "merges.txt", "chat_template.jinja"),
    *(MODULES, "sentence_bert_config.json", "config_sentence_transformers.json", "klue.json", "hunmin-embed.json"),
)
"""Files that decide what a model gives."""
DEEPEST = 32
"""Levels of a JSON file; libraries walk deeper ones until Python's stack is full."""
STEPS = ("normalizer", "pre_tokenizer", "decoder")
"""Parts of a tokenizer.json that may put text in the place of other text."""
MOST_BYTES = 100_000_000
"""Bytes of a configuration, tokenizer or template; the largest on the hub, of 256,000 entries, have a third of it."""
MOST_GROWTH = 1_000
"""Characters that a tokenizer may make of one."""
MOST_PADDED = 1_000_000
"""Tokens up to which a tokenizer may pad every text."""
HIGHEST = 4
"""Folders above a model's in which a manifest may describe it: made/klue-…/jobs/NAME/model."""


def check_small_files(folder: Path, changed: bool = False) -> None:
    """Refuse a folder whose configuration or tokenizer is damaged; weights are looked at for their manifest alone.

    Args:
        folder: of a model or tokenizer.
        changed: its files may differ from its manifest.

    Raises:
        UserError: a JSON file is damaged, or nested too deep; a file is a pipe, a device or a folder, or too large; or
            the tokenizer puts long texts in the place of characters.
        HunminError: files are not those of its manifest.
    """
    named = [path for name in READ for path in sorted(folder.glob(name))]
    beside = [path for pattern in ("*", "*/*") for path in folder.glob(pattern) if not path.is_dir()]
    for path in (*named, *beside):
        _refuse_odd(path, path in named)
    if not changed:
        _refuse_changed(folder, named)
    for path in named:
        if path.suffix == ".json" and path.name != MODULES:
            tree = read_object(path)
            if path.name == TOKENIZERS[0]:
                growth = _growth([tree.get(part) for part in STEPS])
                _refuse_more(path, growth, MOST_GROWTH, "characters of one")
                _refuse_more(path, _largest(tree.get("padding")), MOST_PADDED, "tokens of a text")


def _refuse_more(path: Path, size: int, most: int, what: str) -> None:
    if size > most:
        rule = f"a tokenizer makes {most:,} at most"
        raise UserError(f"{path} makes up to {size:,} {what}", rule, "fetch or export the folder again")


def _refuse_odd(path: Path, small: bool = True) -> None:
    """Raise a UserError for a pipe, a device or a folder in the place of a file, or for a `small` file that is none."""
    if path.exists() and not path.is_file():
        raise UserError(f"{path} is no file", RULE, "remove it, and fetch or export the folder again")
    if small and path.suffix != ".safetensors" and path.exists() and (size := path.stat().st_size) > MOST_BYTES:
        rule = f"a configuration or tokenizer has {MOST_BYTES:,} at most"
        raise UserError(f"{path} has {size:,} bytes", rule, "fetch or export the folder again")


def _growth(steps: Any) -> int:
    """Return how many characters replacements, each of what the one before it made, may make of one."""
    if not isinstance(steps, dict):
        return math.prod(map(_growth, steps)) if isinstance(steps, list) else 1
    own = (len(text) for key, text in steps.items() if key in ("content", "prepend") and isinstance(text, str))
    return max((1, *own)) * math.prod(map(_growth, steps.values()))


def _largest(padding: Any) -> int:
    """Return the largest number in a tokenizer's section on padding: a fixed length, or one to pad to a multiple of."""
    if isinstance(padding, dict):
        return max(map(_largest, padding.values()), default=0)
    return padding if isinstance(padding, int) else 0


def read_config(folder: Path) -> dict[str, Any]:
    """Return what a model's config.json states. Raises UserError where there is none, it names a file of weights, or
    the folder is an adapter."""
    if (folder / "adapter_config.json").is_file():
        raise UserError(f"{folder} is an adapter", RULE, "merge it into its base, and name the merged model")
    config = read_object(folder / "config.json")
    if "transformers_weights" in config:
        raise UserError(f"{folder}/config.json names a file of weights", f"weights are {WEIGHTS}", "remove the entry")
    return config


def check_weight_files(folder: Path, changed: bool = False) -> None:
    """Refuse a model without whole weights and a tokenizer.

    Args:
        folder: of the model.
        changed: its files may differ from its manifest.

    Raises:
        UserError: there are none but pickles, a file is damaged, cut short or outside the folder, a weight is not
            finite, or a module of sentence-transformers is code of its own.
        HunminError: files are not those of its manifest.
    """
    if not any(path.is_file() for pattern in TOKENIZERS for path in folder.glob(pattern)):
        raise UserError(f"{folder} has no tokenizer ({', '.join(TOKENIZERS)})", RULE, "save the model's into it")
    weights = weight_files(folder)
    parts = _module_files(folder)
    heads = list(folder.glob(HEAD_FILE))
    if not changed:
        _refuse_changed(folder, [*weights, *parts])
    for path in parts:
        if path.suffix == ".json":
            read_object(path)
    paths = [*weights, *heads, *(path for path in parts if path.suffix == ".safetensors")]
    for path in paths:
        try:
            check_header(path)
        except (OSError, ValueError) as error:
            raise UserError(
                f"{path} is damaged or cut short: {error}",
                "a header describes all of its file",
                "fetch or export the model again",
            ) from None
        if name := file_fact(path, "not finite", first_not_finite):
            raise UserError(
                f"{path}: {name} holds NaN or infinity", "every weight is a finite number", "train or fetch it again"
            )


def read_object(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file of a model or tokenizer folder.

    Raises:
        UserError: the file is absent or damaged, nested too deep, or holds something else.
    """
    tree = _json(path)
    if not isinstance(tree, dict):
        raise UserError(f"{path} holds no JSON object", RULE, "fetch or export the folder again")
    return tree


def home_of(folder: Path, changed: bool = False) -> tuple[Path, Manifest] | None:
    """Return the folder whose manifest describes a model or tokenizer folder, itself or one above it, and the manifest;
    None where there is none.

    Args:
        folder: of a model or tokenizer.
        changed: the manifest may be another than the one that the run wrote.

    Raises:
        HunminError: the manifest is damaged, or another one.
    """
    whole = folder.resolve()
    for home, manifest in manifests_above(whole, HIGHEST, changed):
        if home == whole or any((home / name).parent == whole for name in manifest.outputs):
            return home, manifest
    return None


def differing_files(folder: Path, home: Path, manifest: Manifest, paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the files of a folder that are not as its manifest describes them: changed, added, or gone.

    Args:
        folder: of a model or tokenizer.
        home: the folder that the manifest lies in.
        manifest: describes the folder's files.
        paths: the files that are read.
    """
    whole = folder.resolve()
    for path in paths:
        facts = manifest.outputs.get((whole / path.relative_to(folder)).relative_to(home).as_posix())
        if (
            facts is None
            or path.stat().st_size != facts["bytes"]
            or file_fact(path, "xxh3", xxh3_file) != facts["xxh3"]
        ):
            yield path
    for name in manifest.outputs:
        path = home / name
        if path.parent == whole and not path.is_file() and any(fnmatchcase(path.name, pattern) for pattern in READ):
            yield path


def _refuse_changed(folder: Path, paths: Sequence[Path]) -> None:
    """Raise a HunminError where files are not as the folder's manifest describes them."""
    if (home := home_of(folder)) and (path := next(differing_files(folder, *home, paths), None)):
        raise HunminError(
            f"{path} is damaged or was changed: its bytes are not those that were written",
            f"a finished folder is read only as its {MANIFEST} describes it",
            f"restore the file from a copy, or make {home[0]} again; of a folder changed on purpose: hunmin verify "
            f"{folder} --accept",
        )


def weight_files(folder: Path) -> list[Path]:
    """Return the files of weights that transformers reads of a folder.

    Raises:
        UserError: there are none but pickles, or the index does not name files of the folder.
    """
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    index = folder / INDEX
    if not index.is_file():
        if pickles := sorted({path.name for pattern in PICKLES for path in folder.glob(pattern)}):
            raise UserError(
                f"{folder} has its weights as a pickle alone ({pickles[0]})",
                "weights are safetensors: no code is run",
                "where you trust it: AutoModel.from_pretrained(FOLDER).save_pretrained(FOLDER), with its own class",
            )
        raise UserError(f"{folder} has no weights ({WEIGHTS}, or {INDEX})", RULE, "fetch or export the model again")
    names = read_object(index).get("weight_map")
    if not isinstance(names, dict) or not names or not all(isinstance(name, str) for name in names.values()):
        raise UserError(f"{index} has no weight_map", RULE, "fetch or export the model again")
    for name in sorted(set(names.values())):
        if Path(name).name != name or not name.endswith(".safetensors"):
            raise UserError(f"{index} names {name!r}", "an index names safetensors files of its own folder", "fix it")
        if not (folder / name).is_file():
            raise UserError(f"{folder / name} is missing; {INDEX} names it", RULE, "fetch or export the model again")
    return [folder / name for name in sorted(set(names.values()))]


def _module_files(folder: Path) -> list[Path]:
    """Return the files in the folders of a model's modules; [] of a model that is not of sentence-transformers."""
    path, files = folder / MODULES, list[Path]()
    modules = _json(path) if path.is_file() else []
    rule = "a module is a class of sentence-transformers with a folder in the model's"
    if not isinstance(modules, list):
        raise UserError(f"{path} holds no list", rule, "fetch or export the model again")
    for module in modules:
        place, kind = (module.get("path"), module.get("type")) if isinstance(module, dict) else (None, None)
        if not isinstance(place, str) or not isinstance(kind, str) or not kind.startswith("sentence_transformers."):
            raise UserError(f"{path} names the module {kind!r}", rule, "name a model without code of its own")
        if Path(place).is_absolute() or ".." in Path(place).parts:
            raise UserError(f"{path} names {place!r}", rule, "fetch or export the model again")
        own = sorted(file for file in (folder / place).glob("*") if file.is_file()) if place else []
        if kind.endswith(".Transformer") and (folder / place).resolve() != folder.resolve():
            raise UserError(
                f"{path} has the encoder in {place!r}", "the encoder lies in the model's own folder", "move it"
            )
        if not any(file.name == WEIGHTS for file in own) and (
            pickles := [file for file in own for pattern in PICKLES if fnmatchcase(file.name, pattern)]
        ):
            raise UserError(f"{pickles[0]} is a pickle", "weights are safetensors: no code is run", "save it again")
        files += own
    return files


def _json(path: Path) -> Any:
    _refuse_odd(path)
    try:
        tree = json.loads(read_bytes(path).decode())
        # no lone surrogates, which cannot be printed, and no NaN or infinity, which a model would compute with
        json.dumps(tree, ensure_ascii=False, allow_nan=False).encode()
    except FileNotFoundError:
        raise UserError(f"{path.parent} has no {path.name}", RULE, "name an exported model's folder") from None
    except (OSError, ValueError, RecursionError) as error:
        reason = "it is nested too deep" if isinstance(error, RecursionError) else error
        raise UserError(f"{path} cannot be read: {reason}", "it is JSON", "fetch or export the folder again") from None
    level = [tree] if isinstance(tree, dict | list) else []
    for _ in range(DEEPEST):
        inner = (value for each in level for value in (each.values() if isinstance(each, dict) else each))
        level = [value for value in inner if isinstance(value, dict | list)]
    if level:
        raise UserError(f"{path} is nested too deep", f"it has {DEEPEST} levels at most", "fetch or export it again")
    return tree
