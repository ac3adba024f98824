"""What a kill costs: the training of a recipe is killed and resumed, and its model scored, all by `hunmin run`.

    python scripts/kill_and_resume.py RECIPE [KEY=VALUE ...] [--until export] [--out FILE.json]

Training starts, is killed with all its processes (SIGKILL) at the first line of its log after its first checkpoint, and
starts again by the same command. Seconds count from the command to a line of the log that was not there yet: log_every
steps are in it, and whatever had to be compiled. The run then goes on to its KLUE scores. Stages that are done are not
done again, so a run whose corpus, tokenizer and token shards were made elsewhere only trains here. A run that has
trained already is refused: it would be resumed, not begun.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from gpu_report import conditions_of, device, read_report, write_report
from timing import Row, as_dicts, parser_of, print_rows

from common.errors import HunminError
from hunmin.recipes.recipe import load_recipe

LOG = Path("logs") / "metrics.jsonl"
ROOT = Path(__file__).parents[1]


def logged(run: Path) -> list[dict[str, Any]]:
    """Return the whole lines of a run's training log that tell of steps."""
    logs = [run / folder / LOG for folder in ("pretrain.partial", "pretrain")]  # while the stage works, and after it
    text = next((log.read_text() for log in logs if log.exists()), "")
    lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
    return [line for line in lines if "tokens_per_second" in line]


def start(command: list[str]) -> subprocess.Popen[bytes]:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(command, start_new_session=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)})


def wait_for(process: subprocess.Popen[bytes], run: Path, step: int) -> float:
    """Return the seconds until the log holds a step beyond `step`. Raises SystemExit where the process ends before."""
    began = time.monotonic()
    while not any(line["step"] > step for line in logged(run)):
        if process.poll() is not None:
            raise SystemExit(f"the run has ended (exit code {process.returncode}) before step {step + 1} was logged")
        time.sleep(0.05)
    return time.monotonic() - began


def finish(process: subprocess.Popen[bytes]) -> None:
    if code := process.wait():
        raise SystemExit(code)


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("recipe", type=Path)
    parser.add_argument("changes", nargs="*", metavar="KEY=VALUE", help="settings that override the recipe's")
    parser.add_argument("--until", choices=["export", "klue"], default="klue", help="the last stage (default klue)")
    parser.add_argument("--out", type=Path, help="JSON file for the figures, and a Markdown file beside it")
    options = parser.parse_args()
    try:
        recipe = load_recipe(options.recipe, options.changes)
    except HunminError as error:
        raise SystemExit(str(error)) from None
    run, every = Path(recipe.out), recipe.pretrain.checkpoint_every
    if logged(run):
        raise SystemExit(f"{run} has trained already: name another out=FOLDER")
    command = [sys.executable, "-c", "from hunmin.main import main; main()", "run", str(options.recipe)]
    command += options.changes
    finish(start([*command, "--until", "encode"]))
    process = start([*command, "--until", "export"])
    fresh = wait_for(process, run, 0)
    wait_for(process, run, every)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    killed = logged(run)[-1]["step"]
    process = start([*command, "--until", "export"])
    resumed = wait_for(process, run, killed)
    finish(process)
    finish(start([*command, "--until", options.until]))

    lines = logged(run)
    steps = [line["step"] for line in lines]
    if steps != sorted(set(steps)) or steps[-1] != recipe.pretrain.steps:
        raise SystemExit(f"the log of the resumed run tells of the steps {steps}")
    rate = statistics.median(line["tokens_per_second"] for line in lines)
    mfu = statistics.median(line["mfu"] for line in lines)
    rows = [
        Row("from the command to the first line of the log", fresh, "s"),
        Row(f"killed after step {killed}, from the command to the next line", resumed, "s"),
        Row("training", rate, "tokens/s", note=f"MFU {mfu:.0%}, {steps[-1]} steps"),
    ]
    summary = run / "klue" / "summary.json"
    for task in json.loads(summary.read_text()) if options.until == "klue" else []:
        name = f"{task['task']}, {task['init']}"
        rows += [Row(f"{name}: {metric}", score["mean"], "") for metric, score in task["best"].items()]
    print_rows(device(), rows)
    if options.out:
        report = read_report(options.out)
        model = recipe.pretrain.model
        shape = f"{model.layers} layers × {model.hidden}, {recipe.pretrain.max_seq_len} tokens"
        conditions = conditions_of(f"{shape}, {recipe.pretrain.global_batch} samples a step")
        report["run"] = {"date": time.strftime("%Y-%m-%d"), "conditions": conditions, "rows": as_dicts(rows)}
        write_report(options.out, report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
