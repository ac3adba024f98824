"""The card of a corpus: its columns, and by its front matter which files `datasets.load_dataset` reads."""

from __future__ import annotations

from pathlib import Path

from common.files import atomic_write
from common.settings import settings_hash
from data.shards import COPIES, SHARDS, read_shard_manifest, shard_paths

CARD = "README.md"
_TRAIN, _HELD_OUT = "train", "validation"
"""Names of splits."""
_TEXT = """\
# Corpus

`datasets.load_dataset("FOLDER")` reads the shards: one document a row, with `id`, `source`, `licence` and `sentences`.
{splits}`statistics.json` counts what was read, changed and left out; the other files list it.
"""


def write_card(folder: Path) -> None:
    """Write the card of a corpus with all its shards; held-out documents become a split of their own."""
    shards = shard_paths(folder)
    manifests = [read_shard_manifest(shard) for shard in shards]
    copies = [manifest.get(COPIES, 1) for manifest in manifests]
    # datasets tells corpora of equal folder names apart in its cache by this name alone
    content = settings_hash([manifest["sha256"] for manifest in manifests])
    held_out = [shard.name for shard, count in zip(shards, copies, strict=True) if not count]
    train = [shard.name for shard, count in zip(shards, copies, strict=True) if count]
    splits = {_TRAIN: train if held_out else ["shard-*.parquet"], **({_HELD_OUT: held_out} if held_out else {})}
    notes = f"Documents held out for validation are the split `{_HELD_OUT}`. " if held_out else ""
    if any(count > 1 for count in copies):
        notes += f"A document stands here once, also where training repeats it (`{COPIES}` in `{SHARDS}/*.json`). "
    lines = ["---", "language: [ko]", "configs:", f"- config_name: corpus-{content}", "  data_files:"]
    for split, names in splits.items():
        lines += [f"  - split: {split}", "    path:", *(f"    - {SHARDS}/{name}" for name in names)]
    with atomic_write(folder / CARD) as stream:
        stream.write("\n".join([*lines, "---", "", _TEXT.format(splits=notes and notes.rstrip() + "\n")]))
