"""Break the code in ten places of each room, one after the other, and print which test catches each fault.

    make mutations                                                all rooms: hours on two cores
    python scripts/mutations.py --rooms klue common [--only 2]    some rooms; the first two mutations of each

Each mutation is made in a copy of git's index. The tests named after the file run first, then the room's fast ones,
then its slow ones, up to the first failure. A fault that no test catches is "NOT CAUGHT", and the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MUTATIONS = [  # file, text that it holds once, what replaces it
    ("common/files.py", "temporary.unlink(missing_ok=True)", "pass"),
    ("common/globs.py", 'part.startswith(".")', 'part.startswith("~")'),
    ("common/files.py", "(errno.ENOSPC, errno.EDQUOT)", "(errno.EDQUOT,)"),
    ("common/files.py", "    if old is not None:\n        remove_folder(old)", "    del old"),
    ("common/manifest.py", "path.stat().st_size != facts", "path.stat().st_size < facts"),
    ("common/manifest.py", "manifest is not None and manifest.stage == stage", "manifest is not None"),
    ("common/manifest.py", 'return xxh3_file(path) == facts["xxh3"]', "return path.is_file()"),
    ("common/settings.py", 'extra="forbid"', 'extra="ignore"'),
    ("common/settings.py", "isinstance(extra, dict) and extra.get(drop)", "False"),
    ("common/safe_yaml.py", """_NAMED.sub(rf"\\1 '{MASK}'", part)""", "part"),
    ("data/deduplicate/exact.py", "places[firsts[np.cumsum(~again)[again] - 1]]", "places[again]"),
    ("data/deduplicate/exact.py", "keep[dropped] = False", "keep[dropped[1:]] = False"),
    ("data/deduplicate/near.py", "SHINGLE = 5", "SHINGLE = 4"),
    ("data/deduplicate/decide.py", '(paragraphs["characters"] >= shortest)', '(paragraphs["characters"] >= 0)'),
    ("data/decontaminate/bm25.py", "= -(-round(threshold * PARTS) *", "= (round(threshold * PARTS) *"),
    ("data/decontaminate/containment.py", "_facts(terms - missing, d, missing)", "_facts(terms, d, missing)"),
    ("data/decontaminate/containment.py", "if not passed[lightest]:", "if passed[lightest]:"),
    ("data/decontaminate/normalise.py", "folded = character.casefold()", "folded = character"),
    ("data/mixture/shares.py", "** settings.alpha", "** 1.0"),
    ("data/pii/checks.py", "-total % 10", "total % 10"),
    ("data/cleaning/joints.py", "return letters or left.isdigit() or right.isdigit()", "return letters"),
    ("data/splitting/scan.py", "return not (len(letters) == 1 or", "return not (len(letters) == 0 or"),
    ("tokenizer/morphemes.py", 'return surfaces if "".join(surfaces) == word else [word]', "return surfaces"),
    ("tokenizer/counts.py", "total.get(key, 0) + count", "count"),
    ("tokenizer/trie.py", "covered = characters <= longest", "covered = True"),
    ("tokenizer/trie.py", "used = before + 1", "used = used + 1"),
    ("tokenizer/wordpiece.py", "if 2 * len(alphabet) + len(taken) > size:", "if len(alphabet) + len(taken) > size:"),
    ("tokenizer/wordpiece.py", "text[1:].translate(forms[1])", "text[1:].translate(forms[0])"),
    ("tokenizer/sampling.py", "left -= taken", "left -= 0"),
    ("tokenizer/sampling.py", "self._draw(key) >= 1 - self.held_out", "self._draw(key) < self.held_out"),
    ("tokenizer/shards.py", "if vocab_size <= UINT16_VOCABULARY", "if vocab_size < UINT16_VOCABULARY"),
    ("tokenizer/coverage.py", "if share > REFUSED:", "if share > 1 - REFUSED:"),
    ("pretrain/batches/masking.py", "if taken + size > budget:", "if taken > budget:"),
    ("pretrain/batches/masking.py", "if whole_word and continues[token]", "if continues[token]"),
    ("pretrain/batches/masking.py", "if unmaskable[b, starts[w]]:", "if False:"),
    ("pretrain/optim/schedules.py", "return (step + 1) / warmup", "return step / warmup"),
    ("pretrain/batches/order.py", "key_of(self.seed, 1, int(epoch))", "key_of(self.seed, 1)"),
    ("pretrain/callbacks/guard.py", "torch.where(self._average.isnan(), loss,", "torch.where(sound, loss,"),
    ("pretrain/callbacks/guard.py", "fault = ~(accepted | overflow | empty)", "fault = ~accepted"),
    ("pretrain/kernels/cross_entropy.py", "counted_C1 / total_C1", "1.0 / total_C1"),
    ("pretrain/callbacks/checkpoint_metadata.py", " or (path / name).stat().st_size != size", ""),
    ("pretrain/batches/packing.py", "left = size\n", "left = size + 1\n"),
    ("klue/metrics/dependencies.py", "kind if g == p else WRONG_HEAD", "kind"),
    ("klue/metrics/dependencies.py", "OTHERS_FROM = 15", "OTHERS_FROM = 16"),
    ("klue/metrics/entities.py", "if label == inside:", "if inside and label[2:] == inside[2:]:"),
    ("klue/metrics/entities.py", "mean_f1(bounded, absent=1.0)", "mean_f1(bounded, absent=0.0)"),
    ("klue/metrics/relations.py", "(g == p != NO_RELATION, ", "(g == p, "),
    ("klue/metrics/reading.py", "for answer in answers or", "for answer in answers[:1] or"),
    ("klue/metrics/sets.py", "wrong = sum(entry not in gold for entry in predicted)", "wrong = 0"),
    ("klue/metrics/sentence.py", "SIMILAR_FROM = 3.0", "SIMILAR_FROM = 3.1"),
    ("klue/features.py", "default_rng([seed, epoch])", "default_rng([seed])"),
    ("klue/results.py", "/ (n - 1)) if n > 1", "/ n) if n > 1"),
    ("embed/batches.py", "positives.isdisjoint(candidates)", "True"),
    ("embed/batches.py", "own.isdisjoint(texts)", "True"),
    ("embed/data.py", "(read.score - low) / (high - low)", "read.score"),
    ("embed/data.py", 'if leak == "pair":', "if False:"),
    ("embed/trainer.py", '"gather_across_devices": world > 1}', '"gather_across_devices": False}'),
    ("embed/trainer.py", "for path in set_files(s)]", "for path in []]"),
    ("pretrain/export/graphs.py", "if not measured[figure] >= least:", "if False:"),
    ("leaderboard/correlate.py", "if not score.limited]", "]"),
    ("leaderboard/correlate.py", "len(frame[[first, second]].dropna())", "len(frame)"),
    ("leaderboard/ifeval.py", "return count < bound if", "return count <= bound if"),
    ("leaderboard/ifeval.py", "lines, lines[1:], lines[:-1], lines[1:-1]", "lines, lines[1:], lines[:-1]"),
    ("leaderboard/report.py", "and not by_task[task].limited", ""),
    ("leaderboard/report.py", "abs(v - c) < 0.006", "abs(v - c) < 0"),
    ("leaderboard/rows.py", "if len({choice.strip() for choice in choices}) < len(choices):", "if False:"),
    ("leaderboard/rows.py", "if index not in range(count):", "if index > count:"),
    ("leaderboard/suites.py", "if test_keys & shot_keys:", "if False:"),
    ("leaderboard/tasks/functions.py", "0.7477 * sum(", "0.7 * sum("),
    ("common/facts.py", "(content == content_now or UNKNOWN in (content, content_now))", "content == content_now"),
    ("common/facts.py", "read_as == read_as_now and", ""),
    ("common/once.py", "if any(not fnmatch(path.name, \".*.tmp\") for path in folder.iterdir()):", "if False:"),
    ("hunmin/pipeline/state.py", "known[:2] != [facts.st_size, facts.st_mtime_ns]", "known[:1] != [facts.st_size]"),
    ("hunmin/pipeline/state.py", "    if whole and not force and not whole.missing:", "    if whole and not force:"),
    ("hunmin/pipeline/redo.py", "seconds is None or seconds > LONG_SECONDS or", "seconds is None or"),
    ("hunmin/pipeline/redo.py", "verdict.done or verdict.resumes or", "verdict.done or"),
    ("hunmin/pipeline/run.py", "unfinished = None if anew else verdict.folder", "unfinished = verdict.folder"),
    ("common/current.py", "tree[UNFINISHED].pop(stage, None)", "pass"),
    ("hunmin/verify.py", "    return damaged_files(checkpoint)", "    return []"),
    ("hunmin/recipes/preflight.py", "if share and (first or last != SHARED_STAGE):", "if False:"),
    ("hunmin/clean.py", "return name not in others if manifest else", "return True if manifest else"),
]  # fmt: skip
TESTED_IN = {  # where the tests bear another name
    "data/cleaning/joints.py": "test_rules.py", "data/splitting/scan.py": "../test_splitting.py",
    "pretrain/batches/packing.py": "test_layouts.py", "hunmin/pipeline/state.py": "test_run.py",
    "hunmin/recipes/preflight.py": "../pipeline/test_run.py", "tokenizer/wordpiece.py": "test_train.py",
    "klue/metrics/sentence.py": "test_metrics.py", "klue/features.py": "test_batches.py",
    "leaderboard/suites.py": "test_rows.py",
    "embed/trainer.py": "test_train.py", "leaderboard/tasks/functions.py": "../test_formulas.py",
    "pretrain/export/graphs.py": "../../embed/test_onnx.py",  # the floors above use it
}  # fmt: skip


def failed_test(copy: Path, tests: list[Path], marks: str = "not drill") -> str:
    """Return the first test of these files or folders that fails in a copy of the tree, "" where none does."""
    command = [sys.executable, "-m", "pytest", "-x", "-n", "0", "-m", f"{marks} and not gpu", *map(str, tests)]
    environment = {**os.environ, "PYTHONPATH": str(copy), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    if done.returncode in (0, 5):  # 5: no test bears the marks
        return ""
    if -done.returncode in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE):  # of compiled code
        return f"{tests[0].relative_to(copy)}, signal {-done.returncode}"
    match = re.search(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
    return match[1] if match else sys.exit(done.stdout + done.stderr)


def caught_by(copy: Path, file: str) -> str:
    """Return the test that fails: of those that bear the file's name first, then of its room; "" for none."""
    path, room = Path(file), copy / "tests" / Path(file).parts[0]
    near = copy / "tests" / path.parent
    first = [(near / TESTED_IN[file]).resolve()] if file in TESTED_IN else [*near.glob(f"test_*{path.stem}.py")]
    failed = failed_test(copy, first) if first else ""
    return failed or failed_test(copy, [room], "not slow and not drill") or failed_test(copy, [room], "slow")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rooms", nargs="+", default=sorted({file.split("/")[0] for file, *_ in MUTATIONS}))
    parser.add_argument("--only", type=int, help="mutations of each room, from its first; 0 only checks the table")
    options = parser.parse_args()
    for file, old, _ in MUTATIONS:
        if (count := (ROOT / file).read_text("utf-8").count(old)) != 1:
            parser.error(f"{file} holds {old!r} {count} times, not once: change MUTATIONS")
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        subprocess.run(["git", "checkout-index", "-a", f"--prefix={copy}/"], cwd=ROOT, check=True)
        for room in options.rooms:
            for file, old, new in [row for row in MUTATIONS if row[0].startswith(f"{room}/")][: options.only]:
                text = (copy / file).read_text("utf-8")
                (copy / file).write_text(text.replace(old, new), "utf-8")
                test = caught_by(copy, file)
                (copy / file).write_text(text, "utf-8")
                missed += not test
                print(f"{file}: {old.strip()!r} → {new.strip()!r}: {test or 'NOT CAUGHT'}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
