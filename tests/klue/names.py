"""Names of the tasks that the small benchmark of the tests holds, KLUE's tasks by name, a job's folder by its name."""

from pathlib import Path

from klue.tasks import KLUE

SENTENCE_TASKS = ("ynat", "klue-sts", "klue-nli")
KLUE_TASKS = {task.name: task for task in KLUE}


def job_folder(out: Path, task: str, init: str = "pretrained", seed: int = 42) -> Path:
    """Return the folder of the only job of a task, initialisation and seed below a folder of results."""
    [folder] = (out / "jobs").glob(f"{task}-{init}-{seed}-*")
    return folder
